"""Document of a model file, with the keys of the model that it extends."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from multi_qp_scene.errors import ConfigError, ConfigProblem, MultiQpError, shown_path
from multi_qp_scene.files import is_file
from multi_qp_scene.resources import model_path
from multi_qp_scene.yaml_document import YamlDocument

_EXTENDS = "extends"


def model_document(path: Path, *, extended_by: tuple[Path, ...] = ()) -> YamlDocument:
    """Read a model file; what it leaves out is that of the model that it extends.

    Mappings are merged level by level, other values replaced, and null removes a key (RFC 7396). Inherited values have
    the line of the mapping that they are merged into.

    Args:
        path: the file.
        extended_by: files that extend it, directly and indirectly.

    Raises:
        ConfigError: a file cannot be read, does not exist, or extends itself.
    """
    document = YamlDocument.load(path)
    name = document.data.get(_EXTENDS)
    if not isinstance(name, str):  # a value of another type is reported by the schema
        return document
    chain = (*extended_by, path)
    try:
        base = model_path(name, relative_to=path.parent)
        if base.resolve() in {each.resolve() for each in chain}:
            raise MultiQpError(f"{shown_path(base)} extends itself: {' → '.join(each.name for each in (*chain, base))}")
    except MultiQpError as error:
        raise ConfigError([ConfigProblem(document.location((_EXTENDS,)), str(error))]) from None
    inherited = _from_folder(model_document(base, extended_by=chain).data, base.parent)
    return replace(document, data=_merged(inherited, document.data))


def _from_folder(data: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the content of a model file with the files beside it as absolute paths."""
    names = {key: data.get(key) for key in ("urdf", "srdf")}
    beside = {key: folder / name for key, name in names.items() if isinstance(name, str)}
    return {**data, **{key: str(path.absolute()) for key, path in beside.items() if is_file(path)}}


def _merged(base: Any, own: Any) -> Any:
    if not isinstance(base, dict) or not isinstance(own, dict):
        return own
    merged = {**base, **{key: _merged(base[key], value) if key in base else value for key, value in own.items()}}
    return {key: value for key, value in merged.items() if value is not None or key not in base}
