"""Reference page of the file formats, written from the schema: types, defaults, ranges and docstrings.

`python -m multi_qp_scene.schema.reference > docs/scenario_format.md`
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from multi_qp_scene import limits
from multi_qp_scene.expectations import Expectation
from multi_qp_scene.schema.introduction import LIMITS, MODELS, SCENARIOS
from multi_qp_scene.schema.model_file import ModelFile
from multi_qp_scene.schema.scenario_file import ScenarioFile
from multi_qp_scene.wording import described

Model = type[BaseModel]
Headings = dict[Model, str]

_ATTRIBUTE = re.compile(r"^ {4}(\w+): ")
_KEYS = re.compile(r" with (the keys|type:) .*")


def reference() -> str:
    """Return the page, as Markdown."""
    parts = [SCENARIOS, *_sections(ScenarioFile), MODELS, *_sections(ModelFile), LIMITS, _limits()]
    return "\n".join(part.rstrip() + "\n" for part in parts)


def descriptions(model: Model) -> dict[str, str]:
    """Return the texts of the "Attributes" sections of a model and its bases, by key."""
    base = model.__base__
    found = descriptions(base) if base not in (None, BaseModel) else {}
    _, _, attributes = _docstring(model).partition("\n\nAttributes:\n")
    name = ""
    for line in attributes.splitlines():
        start = _ATTRIBUTE.match(line)
        if start:
            name = start[1]
            found[name] = line[start.end() :]
        elif name and line.strip():
            found[name] += f" {line.strip()}"
    return {key: text.removesuffix(".") for key, text in found.items()}


def models_of(top: Model) -> Headings:
    """Return all models of a file, the top model first, with a heading that gives the location."""
    headings: Headings = {top: ""}
    order: list[Model] = []

    def visit(model: Model, path: str) -> None:
        order.append(model)
        fresh = [part for part in _parts(model, path) if part[1] not in headings]
        headings.update({part: heading for heading, part, _ in fresh})
        for _, part, below in fresh:
            visit(part, below)

    visit(top, "")
    return {model: headings[model] for model in order}


def _limits() -> str:
    rows = ["| limit | range | meaning |", "|---|---|---|"]
    for name, bounds in limits.LIMITS.items():
        rows.append(f"| `{name}` | {bounds.low:g} to {bounds.high:g} | {bounds.meaning} |")
    return "\n".join(rows)


def _sections(top: Model) -> Iterator[str]:
    headings = models_of(top)
    for model, heading in headings.items():
        title = f"### {heading}\n\n" if heading else ""
        yield f"{title}{_summary(model)}\n\n{_keys(model, headings)}"


def _parts(model: Model, path: str) -> Iterator[tuple[str, Model, str]]:
    """Yield heading, model and path of the models directly below a model."""
    for key, child in _children(model).items():
        for steps, tag, inner in _models_in(child):
            place = f"{path}{key}{steps}"
            yield f"`{place}`" + (f" of type `{tag}`" if tag else ""), inner, f"{place}({tag})." if tag else f"{place}."


def _models_in(expected: Expectation, steps: str = "") -> Iterator[tuple[str, str, Model]]:
    """Yield the models of a type, or of the items of a mapping or list, with the path to them and the tag."""
    if expected.tagged_members:
        for tag, member in expected.tagged_members.items():
            yield steps, tag, member.annotation
    elif expected.fields:
        yield steps, "", expected.annotation
    elif expected.members:
        for member in expected.members:
            yield from _models_in(member, steps)
    elif isinstance(expected.items, Expectation):
        yield from _models_in(expected.items, f"{steps}[]")
    elif expected.is_mapping:
        yield from _models_in(expected.child("*"), f"{steps}.*")


def _children(model: Model) -> dict[str, Expectation]:
    """Return the expected type of each key, the discriminator first."""
    whole = Expectation(model)
    return {key: whole.child(key) for key in sorted(whole.keys, key=lambda key: key != "type")}


def _keys(model: Model, headings: Headings) -> str:
    """Return one item of a list for each key: type, default and meaning."""
    words = descriptions(model)
    items = []
    for key, expected in _children(model).items():
        terms = ", ".join(term for term in (_takes(expected, headings), _default(model, key)) if term)
        items.append(wrapped(f"- `{key}` ({terms}): {words.get(key, '')}"))
    return "\n".join(items)


def wrapped(item: str) -> str:
    """Return an item of a list, wrapped at 120 columns."""
    return textwrap.fill(item, 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _takes(expected: Expectation, headings: Headings) -> str:
    """Return the type of a key, with links to its models."""
    text = described(expected)
    links = {tag: f"(#{_anchor(headings[model])})" for _, tag, model in _models_in(expected)}
    if not links:
        return text
    text = _KEYS.sub("", text)
    if list(links) == [""]:
        return f"[{text}]{links['']}"
    return f"{text}: {', '.join(f'[{tag}]{link}' for tag, link in links.items())}"


def _anchor(heading: str) -> str:
    """Return GitHub's anchor of a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _default(model: Model, key: str) -> str:
    field = model.model_fields[key]
    if field.is_required():
        return "*required*"
    value = field.get_default(call_default_factory=True)
    if value is None or isinstance(value, BaseModel) or value in ("", [], {}):
        return ""
    return f"default `{_written(value)}`"


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_written, value))}]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _summary(model: Model) -> str:
    return _docstring(model).partition("\n\nAttributes:\n")[0]


def _docstring(model: Model) -> str:
    return inspect.cleandoc(model.__doc__ or "")


if __name__ == "__main__":
    sys.stdout.write(reference())
