from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multi_qp_scene.config_file import Problems, YamlDocument, evaluate, substitute


def filled(text: str, **values: Any) -> tuple[Any, list[str]]:
    problems = Problems()
    document = YamlDocument.parse(text)
    data = substitute(document, {name.replace("__", "."): value for name, value in values.items()}, problems)
    return data, [str(problem) for problem in problems]


def test_a_lone_placeholder_keeps_its_type() -> None:
    data, problems = filled("a: ${box.mass}\nb: ${n}\nc: ${s}\nd: ${t}\n", box__mass=2.5, n=3, s="x", t=True)
    assert data == {"a": 2.5, "b": 3, "c": "x", "d": True}
    assert [type(value) for value in data.values()] == [float, int, str, bool]
    assert not problems


def test_placeholders_in_text_and_in_flow_lists() -> None:
    data, problems = filled("a: crate of ${m} kg, $${m}\nb: [0, ${-m / 2}, {z: ${m}}]\nc: '${m}'\n", m=5.0)
    assert data == {"a": "crate of 5.0 kg, ${m}", "b": [0, -2.5, {"z": 5.0}], "c": 5.0}
    assert not problems


def test_substitution_of_a_part_keeps_the_lines_of_the_whole() -> None:
    document, problems = YamlDocument.parse("a: ${nothing}\nb:\n  - x\n  - ${nix}\n"), Problems()
    assert substitute(document, {"nax": 1}, problems, at=("b",)) == ["x", "${nix}"]
    assert [str(problem) for problem in problems] == [
        "line 4: b[1]: unknown parameter 'nix'; did you mean 'nax'? (parameters: nax)"
    ]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("", "empty"),
        ("m +", "cannot compute 'm +'"),
        ("__import__('os').system('true')", "cannot compute"),
        ("m ** 9", "cannot compute"),
        ("[1][0]", "cannot compute"),
        ("m if 1 else 2", "cannot compute"),
        ("'a'", "cannot compute"),
        ("1 / (m - m)", "divides by zero"),
        ("1e300 * 1e300", "not a finite number"),
        ("name + 1", "arithmetic takes numbers, and 'name' is 'text'"),
        ("2 * yes", "arithmetic takes numbers, and 'yes' is true"),
        ("box.mas", "did you mean 'box.mass'?"),
        ("(" * 400 + "1" + ")" * 50, "cannot compute"),
        ("1 + " * 200 + "1", "longer than"),
    ],
)
def test_expressions_that_cannot_be_computed(expression: str, expected: str) -> None:
    with pytest.raises(ValueError) as caught:
        evaluate(expression, {"m": 2, "name": "text", "yes": True, "box.mass": 1.0})
    assert expected in str(caught.value)


def test_an_open_placeholder_is_a_problem() -> None:
    _, problems = filled("a: 'mass ${m'\n", m=1)
    assert problems == ["line 1: a: '${' without its '}' in 'mass ${m' (write '$${' for a literal '${')"]


def test_exact_division_of_integers_gives_an_integer() -> None:
    assert evaluate("n / 2", {"n": 4}) == 2
    assert isinstance(evaluate("n / 2", {"n": 4}), int)
    assert evaluate("n / 2", {"n": 5}) == 2.5


_NUMBERS = st.floats(-1e3, 1e3) | st.integers(-1000, 1000)


@given(_NUMBERS, _NUMBERS, _NUMBERS)
def test_arithmetic_is_that_of_python(a: float, b: float, c: float) -> None:
    values = {"a": a, "b.x": b, "c": c}
    assert evaluate("a * (b.x - 2) + -c", values) == a * (b - 2) + -c
    if abs(c) > 1e-9:  # a quotient beyond the range of floats is an error instead
        assert evaluate("(a + 1.5e0) / c", values) == (a + 1.5) / c


@given(st.text(max_size=30))
def test_any_expression_gives_a_value_or_an_explanation(expression: str) -> None:
    try:
        evaluate(expression, {"a": 1.0})
    except ValueError as error:
        assert str(error)
