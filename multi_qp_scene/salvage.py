"""What is left of a file when its wrong values are taken out, so that the rest can be checked in the same go."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from pydantic import BaseModel

from multi_qp_scene.errors import KeyPath
from multi_qp_scene.problems import Problems
from multi_qp_scene.validation import validate
from multi_qp_scene.yaml_document import YamlDocument

Model = TypeVar("Model", bound=BaseModel)

#: Taking out a value can make what held it wrong in turn; files are not nested deeper than this.
_MOST_ROUNDS = 20


def salvage(document: YamlDocument, data: Any, model: type[Model]) -> Model | None:
    """Build `model` from what is right in a part of a file.

    Lists are kept whole or not at all, so that their items keep their places.

    Args:
        document: the file.
        data: its content, after substitution; stays as it is.
        model: what it should have been.

    Returns:
        The model without what is wrong, or None if too little is left.
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
            _take_out(data, key)
    return None


def _outside_lists(key: KeyPath) -> KeyPath:
    """Return the way to the outermost list on the way to a value, else the way to the value itself."""
    numbers = [k for k, part in enumerate(key) if isinstance(part, int)]
    return key[: numbers[0]] if numbers else key


def _take_out(data: Any, key: KeyPath) -> None:
    *way, last = key
    for part in way:
        if not isinstance(data, dict) or part not in data:
            return
        data = data[part]
    if isinstance(data, dict):
        data.pop(last, None)
