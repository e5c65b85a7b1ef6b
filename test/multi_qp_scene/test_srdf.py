"""Reading of SRDF files through a model file: postures and disabled pairs."""

from __future__ import annotations

import logging

import pytest

from multi_qp_scene.errors import ConfigError
from multi_qp_scene.scenario import load_scenario

_INERTIA = '<inertial><mass value="1"/><inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>'
_SHAPE = '<collision><geometry><sphere radius="0.03"/></geometry></collision>'


def urdf() -> str:
    links = "".join(f'<link name="{name}">{_INERTIA}{_SHAPE}</link>' for name in ("a", "b", "c", "d", "tool"))
    joints = [
        ("j1", "a", "b", ""),
        ("j2", "b", "c", ""),
        ("j3", "c", "d", ""),
        ("follows", "d", "tool", '<mimic joint="j1"/>'),
    ]
    parts = [
        f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/><axis xyz="0 1 0"/>'
        f'<limit lower="-2" upper="2" effort="5" velocity="5"/>{mimic}</joint>'
        for name, parent, child, mimic in joints
    ]
    return f'<robot name="arm">{links}{"".join(parts)}</robot>'


SRDF = """\
<robot name="arm">
  <group_state name="home" group="arm">
    <joint name="root_joint" value="0 0 1 0 0 0 1"/>
    <joint name="j1" value="0.5"/>
    <joint name="follows" value="0.7"/>
  </group_state>
  <group_state name="home" group="wrist"><joint name="j3" value="-0.25"/></group_state>
  <group_state name="bent" group="arm"><joint name="j2" value="1.5"/></group_state>
  <rotor_params><joint name="j1" mass="1e-5" gear_ratio="100"/><joint name="j2" mass="2" gear_ratio="1"/></rotor_params>
  <disable_collisions link1="c" link2="a" reason="Never"/>
</robot>
"""
MODEL = "urdf: arm.urdf\nsrdf: arm.srdf\n"
SCENE = """\
description: an arm
subsystems:
  arm: {model: arm.yaml, posture: home}
collisions: {self_collisions: [arm]}
initial_state: only
states:
  only: {hold: 1}
"""


def load(folder, srdf=SRDF, model=MODEL):
    for name, text in {"arm.urdf": urdf(), "arm.srdf": srdf, "arm.yaml": model, "scene.yaml": SCENE}.items():
        (folder / name).write_text(text)
    return load_scenario(folder / "scene.yaml")


def test_group_states_are_postures_of_all_groups_together(tmp_path):
    scenario = load(tmp_path)
    scene = scenario.scene
    angles = dict(zip(scene.joint_names[1:], scene.q0[7:], strict=True))
    assert angles == pytest.approx({"arm/j1": 0.5, "arm/j2": 0.0, "arm/j3": -0.25, "arm/follows": 0.5})
    assert {"zero", "home", "bent"} <= scene.subsystems["arm"].postures.keys()
    assert tmp_path / "arm.srdf" in scenario.files, "recordings contain it"


def test_a_posture_of_the_model_file_replaces_one_of_the_same_name(tmp_path):
    scene = load(tmp_path, model=MODEL + "postures: {home: {j1: -1}}\n").scene
    assert scene.q0[7] == -1.0 and scene.q0[9] == 0.0
    assert scene.subsystems["arm"].postures["bent"][8] == 1.5


def test_all_pairs_but_neighbours_and_disabled_ones_are_self_collisions(tmp_path):
    pairs = {frozenset(pair) for pair in load(tmp_path).scene.self_collisions["arm"]}
    expected = [("a", "d"), ("a", "tool"), ("b", "d"), ("b", "tool"), ("c", "tool")]
    assert pairs == {frozenset(f"arm/{link}" for link in pair) for pair in expected}
    pairs = load(tmp_path, model=MODEL + "self_collisions: [[a, c]]\n").scene.self_collisions["arm"]
    assert pairs == (("arm/a", "arm/c"),), "the model file's own list is used alone"


def test_rotors_are_motors_unless_the_model_file_has_them(tmp_path):
    model = load(tmp_path, model=MODEL + "motors: {j2: {rotor_inertia: 3}}\n").scene.model
    assert model.armature[6:] == pytest.approx([0.1, 3.0, 0.0, 0.0])


def test_names_that_the_urdf_lacks_are_left_out_with_a_warning(tmp_path, caplog):
    srdf = SRDF.replace('name="j2"', 'name="gripper"').replace('link2="a"', 'link2="palm"')
    with caplog.at_level(logging.WARNING):
        scene = load(tmp_path, srdf).scene
    assert scene.subsystems["arm"].postures["bent"][8] == 0.0
    (message,) = [record.getMessage() for record in caplog.records if "arm.srdf" in record.getMessage()]
    assert "names 2 joints and links" in message and "joint 'gripper', link 'palm'" in message


@pytest.mark.parametrize(
    ("srdf", "message"),
    [
        (SRDF.replace('"1.5"', '"x"'), "arm.srdf:8: joint 'j2': value: expected one number, got 'x'"),
        (SRDF.replace('"1.5"', '"1 2"'), "arm.srdf:8: joint 'j2': value: expected one number, got '1 2'"),
        (SRDF.replace('"1.5"', '"nan"'), "arm.srdf:8: joint 'j2': value: expected a finite number, got 'nan'"),
        (SRDF.replace('"1.5"', '"1e9"'), "arm.srdf:8: joint 'j2': 1000000000 is outside"),
        (SRDF.replace('mass="2"', ""), "arm.srdf:9: rotor of joint 'j2': mass: expected one number, got ''"),
        (SRDF.replace('mass="2"', 'mass="-2"'), "arm.srdf:9: rotor of joint 'j2': "),
        (SRDF.replace("robot", "robots"), "not an SRDF: its top element is <robots>, expected <robot>"),
        (SRDF[:-10], "not valid XML"),
        ('<!DOCTYPE robot [<!ENTITY a "x">]>' + SRDF, "a <!DOCTYPE> is not allowed here"),
        (None, "the SRDF arm.srdf does not exist"),
    ],
)
def test_invalid_files_give_one_message(srdf, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = MODEL
    if srdf is None:
        model = MODEL.replace("srdf: arm.srdf", "srdf: missing.srdf")
        message = message.replace("arm.srdf", "missing.srdf")
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, srdf or SRDF, model)
    assert message in str(raised.value) and len(raised.value.problems) == 1
