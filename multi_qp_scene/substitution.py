"""Substitution of parameters in scenario files: `${box.mass}`, `${2 * box.mass + 1}`, `a ${mass} kg box`."""

from __future__ import annotations

import ast
import hashlib
import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from multi_qp_scene.errors import KeyPath, Location
from multi_qp_scene.problems import Problems
from multi_qp_scene.suggestions import unknown_name
from multi_qp_scene.yaml_document import YamlDocument

ParameterValue = float | int | str | bool

_LONGEST_EXPRESSION = 500  # [characters]
_PLACEHOLDER = re.compile(r"\$\$\{|\$\{([^{}]*)\}")  # $${ stands for a literal ${
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}


def _noise(seed: float, index: float) -> float:
    """Return a deterministic pseudo-random number in 0..1 from two integers."""
    digest = hashlib.sha256(f"{int(seed)} {int(index)}".encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2.0**48


def _pick(number: float, *values: float) -> float:
    """Return the first, second, ... of some values."""
    if not 1 <= number <= len(values) or number != int(number):
        raise _Mistake(f"pick: there are {len(values)} numbers to pick from, and none is number {number:g}")
    return values[int(number) - 1]


#: Name, number of arguments (none: two or more), and what it computes.
_FUNCTIONS: dict[str, tuple[int | None, Callable[..., float]]] = {
    "sin": (1, lambda degrees: math.sin(math.radians(degrees))),
    "cos": (1, lambda degrees: math.cos(math.radians(degrees))),
    "rad": (1, math.radians),
    "noise": (2, _noise),
    "pick": (None, _pick),
}


class _Mistake(Exception):
    """Error of an expression that cannot be computed; the text gives the reason."""


def substitute(
    document: YamlDocument,
    values: Mapping[str, ParameterValue],
    problems: Problems,
    *,
    at: KeyPath = (),
) -> Any:
    """Replace every `${...}` in the document's values.

    A value that consists of one `${...}` has the type of the result; inside longer text the result is converted to
    text. The braces contain parameter names, numbers, + - * / and parentheses, and the functions `sin`, `cos` and `rad`
    of an angle in degrees, `noise(seed, k)`, the k-th of a sequence of random numbers in 0..1, and `pick(k, a, b,
    ...)`, the k-th of the numbers after it, counted from 1. `$${` gives a literal `${`. Keys are not substituted.

    Args:
        document: the file.
        values: the parameters by name; names may have dots.
        problems: list to which unknown names and invalid expressions are added, with their locations.
        at: the part of the file to process; the whole file by default.

    Returns:
        A copy of the data with parameters substituted. Invalid expressions remain unchanged.
    """
    data: Any = document.data
    for part in at:
        data = data[part]
    return _Substitution(document, values, problems).filled(data, tuple(at))


def evaluate(expression: str, values: Mapping[str, ParameterValue]) -> ParameterValue:
    """Compute the inside of one `${...}`.

    Raises:
        ValueError: unknown parameter, or not an expression of numbers, names, + - * /, parentheses and functions.
    """
    try:
        return _Arithmetic(values).result(expression)
    except _Mistake as mistake:
        raise ValueError(str(mistake)) from None


class _Substitution:
    def __init__(self, document: YamlDocument, values: Mapping[str, ParameterValue], problems: Problems) -> None:
        self._document = document
        self._arithmetic = _Arithmetic(values)
        self._problems = problems

    def filled(self, data: Any, key: KeyPath) -> Any:
        if isinstance(data, dict):
            return {name: self.filled(value, (*key, name)) for name, value in data.items()}
        if isinstance(data, list):
            return [self.filled(value, (*key, index)) for index, value in enumerate(data)]
        if isinstance(data, str) and "${" in data:
            return self._filled_text(data, self._document.location(key))
        return data

    def _filled_text(self, text: str, location: Location) -> ParameterValue:
        if "${" in _PLACEHOLDER.sub("", text):
            message = f"'${{' without its '}}' in {text!r} (write '$${{' for a literal '${{')"
            self._problems.add(location, message)
            return text
        try:
            whole = _PLACEHOLDER.fullmatch(text)
            if whole is not None and whole[1] is not None:
                return self._arithmetic.result(whole[1])
            return _PLACEHOLDER.sub(self._written, text)
        except _Mistake as mistake:
            self._problems.add(location, str(mistake))
            return text

    def _written(self, match: re.Match[str]) -> str:
        if match[1] is None:
            return "${"
        value = self._arithmetic.result(match[1])
        if isinstance(value, bool):
            return "true" if value else "false"
        return str(value)


class _Arithmetic:
    """Evaluation of expressions from their syntax tree, without execution of code."""

    def __init__(self, values: Mapping[str, ParameterValue]) -> None:
        self._values = values

    def result(self, expression: str) -> ParameterValue:
        text = expression.strip()
        if text in self._values:  # also for names that are not Python identifiers
            return self._values[text]
        if not text:
            raise _Mistake("'${}' is empty; expected a parameter name or an expression")
        if len(text) > _LONGEST_EXPRESSION:
            raise _Mistake(f"the expression is longer than {_LONGEST_EXPRESSION} characters")
        try:
            value = self._value(ast.parse(text, mode="eval").body)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise self._unreadable(text) from None
        except ZeroDivisionError:
            raise _Mistake(f"'${{{text}}}' divides by zero") from None
        except OverflowError:
            raise _Mistake(f"'${{{text}}}' is too large a number") from None
        if isinstance(value, float) and not math.isfinite(value):
            raise _Mistake(f"'${{{text}}}' is not a finite number")
        if isinstance(value, int) and abs(value) >= 2**63:
            raise _Mistake(f"'${{{text}}}' is too large a number")
        return value

    def _value(self, node: ast.expr) -> ParameterValue:
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            return node.value  # type: ignore[return-value]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            return _quotient(self._number(node.left), self._number(node.right))
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            number: float = _OPERATORS[type(node.op)](self._number(node.left), self._number(node.right))
            return number
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            operand = self._number(node.operand)
            return -operand if isinstance(node.op, ast.USub) else operand
        if isinstance(node, ast.Name | ast.Attribute):
            return self._parameter(ast.unparse(node))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            return self._function(node.func.id, [self._number(argument) for argument in node.args])
        raise self._unreadable(ast.unparse(node))

    def _function(self, name: str, arguments: list[float]) -> float:
        if name not in _FUNCTIONS:
            raise _Mistake(unknown_name("function", name, _FUNCTIONS))
        count, compute = _FUNCTIONS[name]
        if count is None and len(arguments) < 2:
            raise _Mistake(f"{name} takes two numbers or more, got {len(arguments)}")
        if count is not None and len(arguments) != count:
            raise _Mistake(f"{name} takes {count} number{'s' if count > 1 else ''}, got {len(arguments)}")
        return compute(*arguments)

    def _number(self, node: ast.expr) -> float:
        value = self._value(node)
        if isinstance(value, bool | str):
            shown = repr(value) if isinstance(value, str) else str(value).lower()
            raise _Mistake(f"arithmetic takes numbers, and {ast.unparse(node)!r} is {shown}")
        return value

    def _parameter(self, name: str) -> ParameterValue:
        if name not in self._values:
            raise _Mistake(unknown_name("parameter", name, self._values))
        return self._values[name]

    def _unreadable(self, text: str) -> _Mistake:
        known = "parameter names, numbers, + - * /, parentheses, sin, cos, rad, noise and pick"
        return _Mistake(f"cannot compute {text!r}; expected {known}")


def _quotient(dividend: float, divisor: float) -> float:
    """Divide; integers that divide exactly stay integers, so that `${count / 2}` is valid as a count."""
    if isinstance(dividend, int) and isinstance(divisor, int) and dividend % divisor == 0:
        return dividend // divisor
    return dividend / divisor
