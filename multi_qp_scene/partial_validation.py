"""Partial validation of an invalid file: removal of invalid values, so that the rest can be checked as well."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from pydantic import BaseModel

from multi_qp_scene.errors import KeyPath
from multi_qp_scene.problems import Problems
from multi_qp_scene.validation import validate
from multi_qp_scene.yaml_document import YamlDocument

Model = TypeVar("Model", bound=BaseModel)

#: Number of passes: removal of a value may invalidate its parent; files are not nested deeper than this.
_MOST_ROUNDS = 20


def valid_part(document: YamlDocument, data: Any, model: type[Model]) -> Model | None:
    """Build `model` from the valid values of a part of a file.

    A list with an invalid item is removed completely, since the indices of its items would change.

    Args:
        document: the file.
        data: its content, after substitution; not modified.
        model: the model class.

    Returns:
        The model without invalid values, or None if required values are missing.
    """
    data = copy.deepcopy(data)
    for _ in range(_MOST_ROUNDS):
        problems = Problems()
        rest = validate(document, data, model, problems)
        if rest is not None:
            return rest
        keys = [_outside_lists(problem.location.key) for problem in problems]
        if () in keys:
            return None
        for key in keys:
            _remove(data, key)
    return None


def _outside_lists(key: KeyPath) -> KeyPath:
    """Return the path of the outermost list that contains a value, otherwise the path of the value itself."""
    numbers = [k for k, part in enumerate(key) if isinstance(part, int)]
    return key[: numbers[0]] if numbers else key


def _remove(data: Any, key: KeyPath) -> None:
    *way, last = key
    for part in way:
        if not isinstance(data, dict) or part not in data:
            return
        data = data[part]
    if isinstance(data, dict):
        data.pop(last, None)
