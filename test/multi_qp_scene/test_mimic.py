"""`<mimic>` in URDFs: relations, and errors with their lines."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from multi_qp_scene.errors import ConfigError
from multi_qp_scene.mimic import Mimic, mimic_violations, read_mimics
from multi_qp_scene.scenario import load_scenario
from multi_qp_scene.urdf import read_urdf

INERTIAL = '<inertial><mass value="1"/><inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>'
SCENARIO = "description: x\nsubsystems: {r: {model: r.yaml%s}}\ninitial_state: a\nstates: {a: {hold: 1}}\n"


def hand(**mimics: str) -> str:
    """Return the URDF of a base with joints a, b, c and d side by side, joint k from line 5 k; `fixed` is one too."""
    links = "".join(f'<link name="{name}">{INERTIAL}</link>' for name in ("base", "la", "lb", "lc", "ld", "lf"))
    joints = "".join(
        f'<joint name="{name}" type="{"fixed" if name == "f" else "revolute"}">\n'
        f'<parent link="base"/><child link="l{name}"/><axis xyz="0 1 0"/>\n'
        f'<limit lower="-3" upper="3" effort="9" velocity="4"/>\n{mimics.get(name, "")}\n</joint>\n'
        for name in "abcdf"
    )
    return f'<?xml version="1.0"?>\n<robot name="hand">\n{links}\n<!-- -->\n{joints}</robot>\n'


@pytest.fixture
def load(tmp_path: Path):
    def write(urdf: str, *, model: str = "", subsystem: str = ""):
        (tmp_path / "r.urdf").write_text(urdf)
        (tmp_path / "r.yaml").write_text(f"urdf: r.urdf\nroot: fixed\n{model}")
        (tmp_path / "s.yaml").write_text(SCENARIO % subsystem)
        return load_scenario(tmp_path / "s.yaml")

    return write


def test_defaults_and_chains():
    """d mimics c, which mimics b, which mimics a: the leader of all is a."""
    urdf = hand(
        b='<mimic joint="a"/>',
        c='<mimic joint="b" multiplier="-2" offset="0.1"/>',
        d='<mimic joint="c" multiplier="0.5" offset="0.3"/>',
    )
    mimics = read_mimics(ElementTree.fromstring(urdf))
    assert list(mimics) == ["b", "c", "d"]
    assert mimics["b"] == Mimic("a", 1.0, 0.0)
    assert mimics["c"] == Mimic("a", -2.0, 0.1)
    assert mimics["d"].leader == "a"
    assert (mimics["d"].multiplier, mimics["d"].offset) == pytest.approx((-1.0, 0.35))


def test_a_leader_moves_the_inertia_of_the_joints_that_mimic_it(load):
    """Its own link may be massless, as in grippers whose leader is a joint of the mechanism only."""
    massless = hand(b='<mimic joint="a" multiplier="2"/>').replace(f'<link name="la">{INERTIAL}', '<link name="la">')
    assert load(massless).scene.nv == 4
    with pytest.raises(ConfigError) as refused:
        load(massless.replace(f'<link name="lb">{INERTIAL}', '<link name="lb">'))
    (problem,) = refused.value.problems
    assert "joint 'a': the inertia that it moves: 0 is outside the limit" in str(problem)
    assert str(problem).endswith("give the links that it moves an <inertial>, or make it fixed")


def test_mimicking_joints_have_no_motor_and_satisfy_the_coupling_initially(load):
    scene = load(hand(c='<mimic joint="a" multiplier="2" offset="0.1"/>'), subsystem=", posture: {a: 0.4}").scene
    assert scene.actuated_joint_names == ("r/a", "r/b", "r/d")
    assert scene.couplings.names == ("r/c",)
    np.testing.assert_allclose(scene.q0, [0.4, 0.0, 0.9, 0.0])
    np.testing.assert_allclose(scene.subsystems["r"].postures["zero"], [0.0, 0.0, 0.1, 0.0])
    assert (scene.limits.upper == 3.0).all(), "its own limits stay"


def test_friction_of_driven_and_mimicking_joints_is_not_passive(load):
    damped = '<dynamics damping="2"/>'
    scene = load(hand(a=damped, b=damped + '<mimic joint="a"/>')).scene
    assert len(scene.passive) == 0
    urdf = hand(a=damped, b=damped + '<mimic joint="a"/>').replace('effort="9"', 'effort="0"')
    assert load(urdf).scene.passive.v_index.tolist() == [0, 1], "without a motor both resist"


MISTAKES = {
    "unknown": (
        {"b": '<mimic joint="aa"/>'},
        ["13: joint 'b': mimics unknown joint 'aa'; did you mean 'a'? (joints: a, c, d, f)"],
    ),
    "without a joint": ({"b": '<mimic multiplier="2"/>'}, ["13: joint 'b': <mimic> without a joint"]),
    "itself": ({"b": '<mimic joint="b"/>'}, ["13: joint 'b': mimics itself"]),
    "in a ring": (
        {"b": '<mimic joint="c"/>', "c": '<mimic joint="d"/>', "d": '<mimic joint="b"/>'},
        [
            "13: joint 'b': mimics itself through 'c'",
            "18: joint 'c': mimics itself through 'd'",
            "23: joint 'd': mimics itself through 'b'",
        ],
    ),
    "one in a ring": (
        {"a": '<mimic joint="b"/>', "b": '<mimic joint="c"/>', "c": '<mimic joint="b"/>'},
        ["13: joint 'b': mimics itself through 'c'", "18: joint 'c': mimics itself through 'b'"],
    ),
    "what does not move": ({"b": '<mimic joint="f"/>'}, ["13: joint 'b': mimics 'f', which is a fixed joint"]),
    "no number": (
        {"b": '<mimic joint="a" multiplier="two"/>'},
        ["13: joint 'b': <mimic multiplier='two'>: expected a number"],
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_an_error_is_reported_with_its_line(mistake, tmp_path):
    mimics, expected = MISTAKES[mistake]
    path = tmp_path / "r.urdf"
    path.write_text(hand(**mimics))
    with pytest.raises(ConfigError) as caught:
        read_urdf(path, free_flyer=False)
    assert [f"{problem.location.line}: {problem.message}" for problem in caught.value.problems] == expected


def test_mimic_elements_of_fixed_joints_are_ignored(load):
    assert load(hand(f='<mimic joint="a"/>')).scene.couplings.names == ()


def test_a_floating_joint_cannot_mimic(tmp_path):
    path = tmp_path / "r.urdf"
    path.write_text(hand(a='<mimic joint="b"/>').replace('"revolute"', '"floating"', 1))
    with pytest.raises(ConfigError, match=r"r\.urdf:8: joint 'a': a floating joint cannot mimic another"):
        read_urdf(path, free_flyer=False)


def test_postures_that_violate_a_coupling():
    mimics = {"b": Mimic("a", -1.0, 0.1)}
    assert not list(mimic_violations(mimics, {"a": 0.3, "b": -0.2003, "other": 5.0}))
    assert not list(mimic_violations(mimics, {"a": 0.3}))
    assert list(mimic_violations(mimics, {"a": 0.3, "b": 0.3})) == [
        ("b", "'b' mimics 'a': its angle is -0.2 when the leader's is 0.3")
    ]


def test_a_posture_that_violates_a_coupling_is_refused_in_the_model_file_and_in_the_scenario(load):
    urdf = hand(b='<mimic joint="a" multiplier="2"/>')
    with pytest.raises(ConfigError) as caught:
        load(urdf, model="postures:\n  wide: {a: 0.5, b: 0.2}\n", subsystem=", posture: {b: 0.4}")
    said = [(p.location.file.name, p.location.line, p.message) for p in caught.value.problems]
    assert sorted(said) == [
        ("r.yaml", 4, "'b' mimics 'a': its angle is 1 when the leader's is 0.5"),
        ("s.yaml", 2, "'b' mimics 'a': its angle is 0 when the leader's is 0"),
    ]
