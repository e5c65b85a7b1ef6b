import enum
from typing import Annotated, Any, Literal

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, field_validator

from multi_qp_scene.config_file import Problems, StrictModel, YamlDocument, substitute, validate
from multi_qp_scene.errors import ConfigError

Positive = Annotated[float, Field(gt=0)]


class Mode(enum.Enum):
    FAST = "fast"
    SLOW = "slow"


class Planar(StrictModel):
    type: Literal["planar"]
    link: str
    xyz: tuple[float, float, float] = (0.0, 0.0, 0.0)
    size: tuple[Positive, Positive]


class Point(StrictModel):
    type: Literal["point"]
    link: str


class Scene(StrictModel):
    surfaces: dict[str, Annotated[Planar | Point, Field(discriminator="type")]] = {}
    posture: str | dict[str, float] | None = None
    friction: float = Field(0.5, ge=0, le=1)
    mass: Positive | None = None
    count: int = 1
    enabled: bool = True
    mode: Mode = Mode.FAST
    links: list[str] = Field(["base"], min_length=1)
    start: str = Field("here", alias="from")

    @field_validator("count")
    @classmethod
    def _even(cls, count: int) -> int:
        if count == 13:
            raise ValueError("thirteen is not allowed")
        return count


def problems_of(text: str, model: Any = Scene) -> list[str]:
    """Validate a text and return its errors, one line each."""
    document, problems = YamlDocument.parse(text), Problems()
    result = validate(document, document.data, model, problems)
    assert (result is None) == bool(problems)
    try:
        problems.raise_if_any()
    except ConfigError as error:
        return [str(problem) for problem in error.problems]
    return []


def test_a_valid_file_becomes_a_model() -> None:
    text = """
surfaces:
  sole: {type: planar, link: foot, size: [0.2, 1e-1]}
  tip: {type: point, link: hand}
posture: {knee: 1, hip: -0.5}
mode: slow
mass: ~
from: there
"""
    document, problems = YamlDocument.parse(text), Problems()
    scene = validate(document, document.data, Scene, problems)
    assert not problems
    assert scene is not None
    assert scene.surfaces["sole"] == Planar(type="planar", link="foot", size=(0.2, 0.1))
    assert (scene.posture, scene.mode, scene.start) == ({"knee": 1.0, "hip": -0.5}, Mode.SLOW, "there")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("friction: 3", "friction: expected a number from 0 to 1, got 3"),
        ("mass: -3", "mass: expected a positive number, got -3"),
        ("mass: '5'", "mass: expected a positive number, got '5'"),
        ("mass: .nan", "mass: expected a finite number, got nan"),
        ("posture: {a: .inf}", "posture.a: expected a finite number, got inf"),
        ("count: 2.5", "count: expected an integer, got 2.5"),
        ("count: true", "count: expected an integer, got true"),
        ("count: 13", "count: thirteen is not allowed"),
        ("enabled: yes", "enabled: expected true or false, got 'yes'"),
        ("enabled: 1", "enabled: expected true or false, got 1"),
        ("enabled:", "enabled: expected true or false, got nothing (null)"),
        ("mode: fsat", "mode: unknown value 'fsat'; did you mean 'fast'? (values: fast, slow)"),
        ("mode: 3", "mode: expected one of 'fast', 'slow', got 3"),
        ("links: []", "links: expected a list of strings (at least 1), got an empty list"),
        ("links: base", "links: expected a list of strings (at least 1), got 'base'"),
        ("posture: 3", "posture: expected text or a mapping of names to numbers, got 3"),
        ("posture: {a: b, c: 1}", "posture.a: expected a number, got 'b'"),
        (
            "surfaces: {a: 3}",
            "surfaces.a: expected a mapping with type: planar or point, got 3",
        ),
        (
            "surfaces: {a: {link: x}}",
            "surfaces.a: the key 'type' is missing, which says what this is (one of: planar, point)",
        ),
        (
            "surfaces: {a: {type: pont}}",
            "surfaces.a.type: unknown type 'pont'; did you mean 'point'? (types: planar, point)",
        ),
        ("surfaces: {a: {type: point}}", "surfaces.a: the key 'link' is missing (required: type, link)"),
        (
            "surfaces: {planar: {type: planar, link: x, size: [1, 2, 3]}}",
            "surfaces.planar.size: expected a list of 2 positive numbers, got 3",
        ),
        (
            "surfaces: {a: {type: planar, link: x, size: [1]}}",
            "surfaces.a.size: expected a list of 2 positive numbers, got 1",
        ),
        (
            "surfaces: {a: {type: planar, link: x, size: [1, 0]}}",
            "surfaces.a.size[1]: expected a positive number, got 0",
        ),
    ],
)
def test_error_messages(text: str, expected: str) -> None:
    assert problems_of(text) == [f"line 1: {expected}"]


def test_unknown_keys_name_the_valid_ones_by_alias() -> None:
    (message,) = problems_of("\nform: x\n")
    assert message.startswith("line 2: form: unknown key 'form'; did you mean 'from'? (keys: surfaces, ")
    assert message.endswith(", from)")


def test_all_errors_are_found_at_once_with_their_lines() -> None:
    text = """
surfaces:
  a:
    type: planar
    lnik: foot
    size: [1, x]
  b: {type: point, link: 3}
friction: 2
"""
    assert [line.split(": ")[:2] for line in problems_of(text)] == [
        ["line 3", "surfaces.a"],
        ["line 5", "surfaces.a.lnik"],
        ["line 6", "surfaces.a.size[1]"],
        ["line 7", "surfaces.b.link"],
        ["line 8", "friction"],
    ]


def test_a_part_of_a_file_is_located_in_the_whole() -> None:
    document, problems = YamlDocument.parse("x:\n  y:\n    friction: 7\n"), Problems()
    assert validate(document, document.data["x"]["y"], Scene, problems, at=("x", "y")) is None
    assert [str(problem) for problem in problems] == ["line 3: x.y.friction: expected a number from 0 to 1, got 7"]


def test_a_parameter_that_is_unknown_is_reported_once() -> None:
    document, problems = YamlDocument.parse("friction: ${mu}\nmass: ${m}\n"), Problems()
    data = substitute(document, {"m": -1.0}, problems)
    assert validate(document, data, Scene, problems) is None
    assert [problem.message for problem in problems] == [
        "unknown parameter 'mu'; did you mean 'm'? (parameters: m)",
        "expected a positive number, got -1.0",
    ]


def test_code_may_pass_numpy_to_a_strict_model() -> None:
    surface = Planar(type="planar", link="foot", xyz=np.zeros(3), size=np.array([1, 2]))  # type: ignore[arg-type]
    assert surface.xyz == (0.0, 0.0, 0.0)
    assert Scene(count=np.int64(4), friction=np.float32(0.5)).count == 4  # type: ignore[arg-type, call-arg]
    with pytest.raises(ValueError):
        surface.link = "hand"


class Leaf(StrictModel):
    type: Literal["leaf"]
    value: float


class Branch(StrictModel):
    type: Literal["branch"]
    of: list["Tree"]


Tree = Annotated[Leaf | Branch, Field(discriminator="type")]
Branch.model_rebuild()


def test_models_may_contain_themselves() -> None:
    text = """
type: branch
of:
  - {type: leaf, value: 1}
  - type: branch
    of: [{type: leaf, value: '2'}]
"""
    assert problems_of(text, Branch) == ["line 6: of[1].of[0].value: expected a number, got '2'"]


_ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats()
    | st.sampled_from(["planar", "point", "x", "${x}"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "link", "size", "xyz", "planar", "a"]), inner, max_size=4)
    ),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from(["surfaces", "posture", "mass", "links", "mode", "zzz"]), _ANYTHING))
def test_errors_have_the_location_of_the_nearest_existing_value(data: dict[str, Any]) -> None:
    document = YamlDocument.parse(yaml.safe_dump(data, default_flow_style=False) if data else "{}")
    problems = Problems()
    assert (validate(document, document.data, Scene, problems) is None) == bool(problems)
    for problem in problems:
        value: Any = document.data
        for part in problem.location.key:
            value = value[part]
