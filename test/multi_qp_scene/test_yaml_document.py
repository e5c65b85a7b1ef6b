import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from multi_qp_scene.config_file import YamlDocument
from multi_qp_scene.errors import ConfigError, Location


def error_of(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        YamlDocument.parse(text)
    return str(caught.value)


def test_scalars_follow_the_yaml_1_2_core_schema() -> None:
    numbers = YamlDocument.parse("a: [1e-3, 1., .5, 0x1F, 0o17, 010, -.inf, 1_0, 12:30, '5']").data["a"]
    words = YamlDocument.parse("a: [yes, no, on, off, y, true, FALSE, ~, null]\non: 1\n").data
    assert numbers == [0.001, 1.0, 0.5, 31, 15, 10, -math.inf, "1_0", "12:30", "5"]
    assert words == {"a": ["yes", "no", "on", "off", "y", True, False, None, None], "on": 1}


def test_keys_are_text() -> None:
    assert YamlDocument.parse("{1: a, true: b, 0.5: c, null: d}").data == {
        "1": "a",
        "true": "b",
        "0.5": "c",
        "null": "d",
    }


def test_anchors_and_merge_keys() -> None:
    text = """base: &base
  a: 1
  b: 2
other: &other {b: 5, c: 6}
x:
  <<: [*base, *other]
  a: 9
y: *base
"""
    document = YamlDocument.parse(text)
    assert document.data["x"] == {"a": 9, "b": 2, "c": 6}
    assert document.data["y"] == {"a": 1, "b": 2}
    assert document.location(("x", "a")).line == 7
    assert document.location(("x", "b")).line == 3


def test_location_falls_back_to_the_nearest_parent() -> None:
    document = YamlDocument.parse("\na:\n  b:\n    - 1\n    - 2\n")
    assert document.location(("a", "b", 1)).line == 5
    assert document.location(("a", "b", 7)).line == 3
    assert document.location(("a", "z", "y")) == Location(None, 2, ("a", "z", "y"))
    assert document.location().line == 2


def test_duplicate_keys_name_both_lines() -> None:
    message = error_of("a:\n  k: 1\n  j: 2\n  k: 3\nb: {x: 1, x: 2}\n")
    assert message.startswith("2 problems:")
    assert "line 4: a.k: the key 'k' appears twice, at line 2 and at line 4" in message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "empty"),
        ("# only a comment\n", "empty"),
        ("- a\n- b\n", "expected a mapping (key: value), got a list"),
        ("hello\n", "got text"),
        ("a:\n\tb: 1\n", "line 2: not valid YAML: a tab at column 1"),
        ("a:\n  b: 1\n   c: 2\n", "line 3: not valid YAML at column 5"),
        ("a: [1, 2\n", "not valid YAML at column"),
        ("a: *nowhere\n", "line 1: not valid YAML at column 4"),
        ("a: &x [*x]\n", "a[0]: an alias refers to a value that contains it"),
        ("a: &x\n  <<: *x\n", "refers to the mapping that it stands in"),
        ("a:\n  <<: 3\n", "'<<' takes mappings, got the value '3'"),
        ("a: !!python/object:os.system x\n", "tag '!!python/object:os.system' is not supported"),
        ("a: !!int five\n", "'five' cannot be read as !!int"),
        ("? [1, 2]\n: 3\n", "a key must be text, got a list"),
        ("a: \x01\n", "line 1: not valid YAML"),
        ("a: 1\n---\nb: 2\n", "line 2: not valid YAML"),
        (
            "a: " + "[" * 3000,
            "line 1: too large: more than the limit 'yaml_depth', 60; MULTI_QP_LIMITS=yaml_depth=120 doubles",
        ),
    ],
)
def test_files_without_a_mapping_are_refused(text: str, expected: str) -> None:
    message = error_of(text)
    assert message.startswith("1 problem:\n")
    assert expected in message


def test_aliases_cannot_fill_the_memory() -> None:
    levels = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    levels += [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]" for k in range(1, 12)]
    assert "too large: more than the limit 'yaml_values'" in error_of("\n".join(levels))


@pytest.mark.parametrize(
    ("content", "expected"),
    [(None, "no such file"), (b"a: \xff\xfe", "not UTF-8 text: the byte at offset 3 is 0xff")],
)
def test_files_that_cannot_be_read(tmp_path: Path, content: bytes | None, expected: str) -> None:
    path = tmp_path / "scene.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=expected) as caught:
        YamlDocument.load(path)
    assert caught.value.problems[0].location.file == path


def test_load_accepts_a_byte_order_mark_and_stores_the_path(tmp_path: Path) -> None:
    path = tmp_path / "scene.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n")
    document = YamlDocument.load(str(path))
    assert document.data == {"a": 1, "b": 2}
    assert document.location(("b",)) == Location(path, 2, ("b",))


_PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec="ascii")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab yn.[1", min_size=1), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text("abcno:#-", min_size=1), _PLAIN, min_size=1))
def test_reads_back_what_pyyaml_writes(data: dict[str, Any]) -> None:
    document = YamlDocument.parse(yaml.safe_dump(data, default_style='"', default_flow_style=False))
    assert document.data == data
    assert all(document.location((key,)).line is not None for key in data)


@given(st.text(st.sampled_from("ab:-[]{}&*!|>'\"%@`#\t\n $<,?1.~"), max_size=40))
def test_any_text_is_a_mapping_or_a_config_error(text: str) -> None:
    try:
        assert isinstance(YamlDocument.parse(text).data, dict)
    except ConfigError as error:
        assert str(error)
