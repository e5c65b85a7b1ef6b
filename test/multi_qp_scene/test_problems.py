from pathlib import Path

import pytest

from multi_qp_scene.errors import ConfigError, ConfigProblem, Location, MultiQpError
from multi_qp_scene.problems import Problems


def test_errors_are_formatted_like_compiler_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    inside = Location(tmp_path / "scenarios" / "box.yaml", 12, ("states", "reach", "contacts", 1))
    assert str(ConfigProblem(inside, "wrong")) == "scenarios/box.yaml:12: states.reach.contacts[1]: wrong"
    assert str(ConfigProblem(Location(Path("/elsewhere/a.yaml")), "wrong")) == "/elsewhere/a.yaml: wrong"
    assert str(ConfigProblem(Location(), "wrong")) == "wrong"


def test_ambiguous_keys_are_quoted() -> None:
    assert str(Location(key=("a.b", "humanoid/R_KNEE", 3))) == "'a.b'.humanoid/R_KNEE[3]"


def test_config_error_counts_and_sorts_its_problems() -> None:
    problems = Problems()
    problems.add(Location(None, 7), "later")
    problems.add(Location(None, 2), "sooner")
    problems.add(Location(None, 7), "later")
    with pytest.raises(MultiQpError) as caught:
        problems.raise_if_any()
    assert str(caught.value) == "2 problems:\nline 2: sooner\nline 7: later"


def test_no_problems_raise_nothing() -> None:
    problems = Problems()
    problems.raise_if_any()
    assert not problems


def test_errors_of_another_file_are_added() -> None:
    problems = Problems()
    problems.extend(
        ConfigError([ConfigProblem(Location(None, 1), "a"), ConfigProblem(Location(None, 2), "b")]).problems
    )
    assert len(problems) == 2


def test_unknown_names_come_with_a_suggestion() -> None:
    problems = Problems()
    problems.unknown(Location(), "contact", "left_hnd", ["left_foot", "left_hand"])
    problems.unknown(Location(), "body", "x", [])
    problems.unknown(Location(), "joint", "J7x", [f"J{k}" for k in range(30)])
    first, second, third = (problem.message for problem in problems)
    assert first == "unknown contact 'left_hnd'; did you mean 'left_hand'? (contacts: left_foot, left_hand)"
    assert second == "unknown body 'x' (there are no bodies)"
    assert third.startswith("unknown joint 'J7x'; did you mean 'J7'? (closest of 30 joints: J7, ")
    assert third.count(",") == 4
