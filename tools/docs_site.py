"""Hooks of mkdocs: pages generated from the repository and the source code, and links that leave `docs/`.

The site gets README.md as its home page, CONTRIBUTING.md, CHANGELOG.md, a page with the help of each command of
`multi-qp`, and an API page for each package folder. Files outside `docs/` that a page links to are copied to `source/`.
"""

from __future__ import annotations

import contextlib
import io
import os
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

from multi_qp_cli.com import SUBCOMMANDS
from multi_qp_cli.main import COMMANDS, main

ROOT = Path(__file__).resolve().parents[1]
#: Pages of the site that are files of the repository outside `docs/`.
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
PACKAGES = (
    "multi_qp_scene",
    "multi_qp_controller",
    "motion_generation",
    "walking",
    "modal_control",
    "upper_body",
    "contact_planner",
    "com_trajectory",
    "contact_invariant",
    "multi_qp_simulator",
    "multi_qp_viewer",
    "multi_qp_ros",
    "multi_qp_cli",
)

_CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(?<=\]\()([^)\s#]+)|(?<= src=\")([^\"]+)")
#: A list or table right after a paragraph: GitHub's Markdown needs no blank line between them, Python-Markdown does.
_INTERRUPTED = re.compile(r"^(?!(?:[-*]|\d+\.|#+|\|) |\||\s)(.*\S.*\n)(?=(?:[-*]|\d+\.) |\|)", re.MULTILINE)


def on_config(config: Any) -> Any:
    """Replace `api` in the navigation by the API pages."""
    _replace_api(config.nav)
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are not in `docs/`."""
    for source, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text("utf-8")))
    files.append(File.generated(config, "cli.md", content=_command_line_page()))
    for package in PACKAGES:
        for folder in _folders(ROOT / package):
            files.append(File.generated(config, _api_path(folder), content=_api_page(folder)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Redirect links to files outside `docs/`, and separate lists from the paragraphs before them."""
    here = page.file.src_uri
    origin = next((source for source, target in PAGES.items() if target == here), f"docs/{here}")

    def redirected(link: re.Match[str]) -> str:
        target = link[0]
        if "://" in target or target.startswith("mailto:"):
            return target
        place = posixpath.normpath(posixpath.join(posixpath.dirname(origin), target))
        if place in PAGES:
            place = PAGES[place]
        elif place.startswith("docs/"):
            place = place.removeprefix("docs/")
        elif (ROOT / place).is_file() and not here.startswith("api/"):
            place = f"source/{place}"
            if place not in files.src_uris:
                source = (ROOT / place.removeprefix("source/")).read_bytes()
                files.append(File.generated(config, place, content=source))
        else:
            return target
        return posixpath.relpath(place, posixpath.dirname(here) or ".")

    # Code blocks are removed temporarily, so that neither rule changes them.
    code: list[str] = []

    def set_aside(block: re.Match[str]) -> str:
        code.append(block[0])
        return f"\x01{len(code) - 1}\x01"

    text = _CODE.sub(set_aside, markdown)
    text = _LINK.sub(redirected, _INTERRUPTED.sub(r"\1\n", text))
    return re.sub(r"\x01(\d+)\x01", lambda place: code[int(place[1])], text)


def _replace_api(entries: list[Any]) -> None:
    for entry in entries:
        for title, value in entry.items():
            if value == "api":
                entry[title] = [_api_entry(ROOT / package) for package in PACKAGES]
            elif isinstance(value, list):
                _replace_api(value)


def _folders(package: Path) -> Iterator[Path]:
    """Yield the folder of a package, then those of its subpackages."""
    for init in sorted(package.rglob("__init__.py")):
        yield init.parent


def _api_entry(package: Path) -> dict[str, Any]:
    root, *folders = _folders(package)
    if not folders:
        return {package.name: _api_path(root)}
    below = [{folder.relative_to(package).as_posix(): _api_path(folder)} for folder in folders]
    return {package.name: [{"modules": _api_path(root)}, *below]}


def _module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def _api_path(folder: Path) -> str:
    return f"api/{_module_name(folder)}.md"


def _api_page(folder: Path) -> str:
    """Return the page of a package: its docstring, then each of its modules. mkdocstrings reads them statically."""
    name = _module_name(folder)
    modules = sorted(path for path in folder.glob("*.py") if not path.name.startswith("_"))
    parts = [f"# {name}", f"::: {name}\n    options: {{members: false, show_root_heading: false}}"]
    parts += [f"::: {_module_name(path)}" for path in modules]
    return "\n\n".join(parts) + "\n"


def _command_line_page() -> str:
    """Return the help of every command, as `multi-qp COMMAND --help` prints it."""
    calls = [[], *([command] for command in COMMANDS), *(["com", name] for name in [*SUBCOMMANDS, "SEQUENCE"])]
    parts = ["# Command line"]
    for call in calls:
        title = " ".join(["multi-qp", *call])
        parts.append(f"## `{title}`\n\n```text\n{_help(call)}```")
    return "\n\n".join(parts) + "\n"


def _help(call: list[str]) -> str:
    text = io.StringIO()
    columns = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "100"
    try:
        with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
            main([*call, "--help"])
    finally:
        if columns is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = columns
    return text.getvalue()
