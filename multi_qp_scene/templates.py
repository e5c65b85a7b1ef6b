"""ScenarioTemplates of `config/templates/`: parts of scenario files that are used by name.

A mapping `{use: NAME, with: {ARGUMENT: VALUE, ...}}` is replaced by the template's body, in which `${ARGUMENT}` is
replaced by the value; other keys of the mapping replace those of the body.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from multi_qp_scene.errors import KeyPath, MultiQpError
from multi_qp_scene.problems import Problems
from multi_qp_scene.resources import template_path
from multi_qp_scene.sources import note
from multi_qp_scene.suggestions import unknown_name
from multi_qp_scene.yaml_document import YamlDocument

_USE, _WITH = "use", "with"
_ARGUMENT = re.compile(r"\$\{(\w+)\}")
_DEEPEST = 10  # nesting of templates


@dataclass(frozen=True)
class ScenarioTemplate:
    """One template.

    Attributes:
        arguments: description of each argument.
        body: the mapping that replaces its use.
    """

    arguments: dict[str, str]
    body: dict[str, Any]


def use_templates(document: YamlDocument, problems: Problems) -> YamlDocument:
    """Return the document with all templates expanded.

    Args:
        document: a scenario file; expanded values have the line of the key that uses the template.
        problems: list to which unknown templates and arguments are added.
    """
    return replace(document, data=_expanded(document.data, (), document, problems, 0))


def template(name: str) -> ScenarioTemplate:
    """Load a template of `config/templates/` by name.

    Raises:
        MultiQpError: it does not exist, or its file is invalid.
    """
    path = template_path(name)
    note(path)  # also for cached templates: a recording contains all source files of its scenario
    return _read(name, path)


@lru_cache(maxsize=64)
def _read(name: str, path: Path) -> ScenarioTemplate:
    """Read a file, cached; the path distinguishes files of a recording from those of this project."""
    data = YamlDocument.load(path).data
    arguments, body = data.get("arguments"), data.get("body")
    if not isinstance(arguments, dict) or not isinstance(body, dict):
        raise MultiQpError(f"template '{name}': expected the mappings `arguments` and `body`")
    return ScenarioTemplate(arguments, body)


def _expanded(data: Any, key: KeyPath, document: YamlDocument, problems: Problems, depth: int) -> Any:
    if isinstance(data, list):
        return [_expanded(value, (*key, k), document, problems, depth) for k, value in enumerate(data)]
    if not isinstance(data, dict):
        return data
    own = {k: _expanded(v, (*key, k), document, problems, depth) for k, v in data.items() if k not in (_USE, _WITH)}
    if _USE not in data:
        return own if _WITH not in data else {**own, _WITH: data[_WITH]}
    try:
        body = _filled_body(str(data[_USE]), data.get(_WITH), depth)
    except MultiQpError as error:
        problems.add(document.location((*key, _USE)), str(error))
        return own
    return {**_expanded(body, key, document, problems, depth + 1), **own}


def _filled_body(name: str, given: Any, depth: int) -> dict[str, Any]:
    if depth > _DEEPEST:
        raise MultiQpError(f"template '{name}' uses itself")
    found, given = template(name), given or {}
    if not isinstance(given, dict):
        raise MultiQpError(f"expected `with` to be a mapping that gives {', '.join(found.arguments)}")
    for argument in given:
        if argument not in found.arguments:
            raise MultiQpError(f"template '{name}': {unknown_name('argument', argument, found.arguments)}")
    missing = [argument for argument in found.arguments if argument not in given]
    if missing:
        raise MultiQpError(f"template '{name}': `with` has to give {', '.join(missing)}")
    filled: dict[str, Any] = _filled(found.body, given)
    return filled


def _filled(data: Any, given: Mapping[str, Any]) -> Any:
    """Substitute arguments; other `${...}` are parameters of the scenario and remain."""
    if isinstance(data, dict):
        return {name: _filled(value, given) for name, value in data.items()}
    if isinstance(data, list):
        return [_filled(value, given) for value in data]
    if not isinstance(data, str):
        return data
    whole = _ARGUMENT.fullmatch(data)
    if whole is not None and whole[1] in given:
        return given[whole[1]]
    return _ARGUMENT.sub(lambda match: str(given.get(match[1], match[0])), data)
