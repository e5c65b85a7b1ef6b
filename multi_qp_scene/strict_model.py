"""Base class of the pydantic models of configuration files."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, model_validator
from pydantic_core import CoreSchema

_SCALARS = ("str", "int", "float", "bool")
# Keys of mappings are always text in a file, so they may be converted; other entries contain no schemas.
_LEFT_ALONE = ("keys_schema", "default", "metadata", "serialization", "expected")


def _with_strict_scalars(schema: Any) -> Any:
    if isinstance(schema, dict):
        strict = {key: value if key in _LEFT_ALONE else _with_strict_scalars(value) for key, value in schema.items()}
        if schema.get("type") in _SCALARS:
            strict.setdefault("strict", True)
        return strict
    if isinstance(schema, list):
        return [_with_strict_scalars(item) for item in schema]
    if type(schema) is tuple:
        return tuple(_with_strict_scalars(item) for item in schema)
    return schema


def _as_plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


class StrictModel(BaseModel):
    """A frozen model that refuses unknown keys, NaN and infinity.

    Containers are converted, scalars are not: a list may become a tuple and an integer a float, but the text "5" is not
    a number and 1 is not a boolean. Python code may pass numpy arrays and scalars for lists and numbers.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Make the scalars strict; pydantic's own option would make containers strict too."""
        strict: CoreSchema = _with_strict_scalars(handler(source))
        return strict

    @model_validator(mode="before")
    @classmethod
    def _numpy_as_plain(cls, values: Any) -> Any:
        if isinstance(values, dict):
            return {name: _as_plain(value) for name, value in values.items()}
        return values
