"""Third-party URDFs load; invalid ones are refused with file, line and link."""

from __future__ import annotations

import logging
import math
import re
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_scene.errors import ConfigError, MultiQpError
from multi_qp_scene.scenario import load_scenario
from multi_qp_scene.urdf import read_urdf
from multi_qp_simulator.runner import run_scenario

INERTIA = '<inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/>'
INERTIAL = f'<inertial><origin xyz="0.1 0 0"/><mass value="1"/>{INERTIA}</inertial>'
LIMIT = '<limit lower="-1" upper="1" effort="10" velocity="3"/>'

TETRAHEDRON = """\
solid t
facet normal 0 0 -1
outer loop
vertex 0 0 0
vertex 0 1 0
vertex 1 0 0
endloop
endfacet
facet normal 0 -1 0
outer loop
vertex 0 0 0
vertex 1 0 0
vertex 0 0 1
endloop
endfacet
facet normal -1 0 0
outer loop
vertex 0 0 0
vertex 0 0 1
vertex 0 1 0
endloop
endfacet
facet normal 1 1 1
outer loop
vertex 1 0 0
vertex 0 1 0
vertex 0 0 1
endloop
endfacet
endsolid t
"""


def link(name: str, content: str = INERTIAL) -> str:
    return f'<link name="{name}">{content}</link>\n'


def joint(name: str, parent: str, child: str, kind: str = "revolute", content: str = LIMIT) -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/><origin xyz="0.2 0 0"/><axis xyz="0 1 0"/>'
    return f'<joint name="{name}" type="{kind}">\n{ends}\n{content}</joint>\n'


def robot(*parts: str) -> str:
    return '<robot name="r">\n' + "".join(parts) + "</robot>\n"


TWO_LINKS = robot(link("base"), link("tip"), joint("hinge", "base", "tip"))


@pytest.fixture
def write(tmp_path):
    def write_file(text: str, name: str = "r.urdf") -> Path:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write_file


@pytest.fixture
def run(tmp_path, write):
    """Return a function that runs a URDF for a few ticks as the only subsystem of a scenario."""

    def run_urdf(text: str, *, root: str = "free_flyer", task: str = "{type: posture, subsystem: r}"):
        write(text)
        write(f"urdf: r.urdf\nroot: {root}\n", "r.yaml")
        lines = [
            "description: a robot of another maker",
            "dt: 0.01",
            "subsystems: {r: {model: r.yaml}}",
            f"tasks: {{it: {task}}}",
            "initial_state: only",
            "states: {only: {hold: 0.1}}",
        ]
        scenario = load_scenario(write("\n".join(lines) + "\n", "s.yaml"))
        result = run_scenario(scenario)
        assert result.succeeded and result.report["qp_failures"] == 0
        return scenario, result

    return run_urdf


def problems_of(path: Path, *, free_flyer: bool = True) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read_urdf(path, free_flyer=free_flyer)
    assert all(problem.location.file == path for problem in caught.value.problems)
    return [f"{problem.location.line}: {problem.message}" for problem in caught.value.problems]


# replaced text in TWO_LINKS, replacement, line, message
MISTAKES = {
    "negative mass": ('value="1"', 'value="-1"', 2, "link 'base': the mass -1 kg is negative"),
    "mass that is no number": ('value="1"', 'value="one"', 2, "link 'base': <mass value='one'>: expected a number"),
    "mass that is nan": ('value="1"', 'value="nan"', 2, "link 'base': <mass value='nan'>: expected a finite number"),
    "no mass": ('<mass value="1"/>', "", 2, "link 'base': <inertial> has no <mass value=...>"),
    "no inertia": (INERTIA, "", 2, "link 'base': <inertial> has no <inertia ixx=... iyy=... izz=...>"),
    "inertia that is not positive definite": (
        'ixx="0.02"',
        'ixx="-0.02"',
        2,
        "link 'base': the inertia is not positive definite: its principal moments are -0.02, 0.02, 0.02 kg m²",
    ),
    "products of inertia that are too large": (
        'ixy="0"',
        'ixy="0.03"',
        2,
        "link 'base': the inertia is not positive definite: its principal moments are -0.01, 0.02, 0.05 kg m²",
    ),
    "two numbers for three": (
        'xyz="0.2 0 0"',
        'xyz="0.2 0"',
        5,
        "joint 'hinge': <origin xyz='0.2 0'>: expected 3 numbers",
    ),
    "limit that is no number": (
        'effort="10"',
        'effort="1O"',
        6,
        "joint 'hinge': <limit effort='1O'>: expected a number",
    ),
    "negative effort": ('effort="10"', 'effort="-10"', 6, "joint 'hinge': the effort limit -10 is negative"),
    "limits the wrong way round": (
        'lower="-1"',
        'lower="2"',
        6,
        "joint 'hinge': the lower limit 2 is above the upper limit 1",
    ),
    "no axis": ('xyz="0 1 0"', 'xyz="0 0 0"', 5, "joint 'hinge': the axis is zero"),
    "unknown type of joint": (
        '"revolute"',
        '"revolut"',
        4,
        "joint 'hinge': unknown type 'revolut'; did you mean 'revolute'? (types: revolute, continuous, ",
    ),
    "unknown link": (
        'parent link="base"',
        'parent link="bse"',
        5,
        "joint 'hinge': parent unknown link 'bse'; did you mean 'base'? (links: base, tip)",
    ),
    "two roots": (
        "</robot>",
        link("other") + "</robot>",
        1,
        "2 links have no parent joint: 'base', 'other'; a URDF has",
    ),
    "link twice": ("</robot>", link("tip") + "</robot>", 7, "link 'tip': there is another link of this name"),
    "mesh that is not there": (
        INERTIAL,
        INERTIAL + '<visual><geometry><mesh filename="no.stl"/></geometry></visual>',
        2,
        "link 'base': mesh 'no.stl' does not exist (looked for ",
    ),
    "package that is not there": (
        INERTIAL,
        INERTIAL + '<visual><geometry><mesh filename="package://no/no.stl"/></geometry></visual>',
        2,
        "link 'base': mesh 'package://no/no.stl': the package 'no' was not found; set ROS_PACKAGE_PATH",
    ),
    "mesh without a name": (
        INERTIAL,
        INERTIAL + "<visual><geometry><mesh/></geometry></visual>",
        2,
        "link 'base': <mesh> without a filename",
    ),
    "XML that does not close": ("</joint>", "</jiont>", 6, "not valid XML at column "),
    "XML that is no URDF": ("<robot", "<sdf", 7, "not valid XML at column "),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_an_error_is_reported_with_its_line(mistake, write):
    old, new, line, message = MISTAKES[mistake]
    assert old in TWO_LINKS
    problems = problems_of(write(TWO_LINKS.replace(old, new, 1)))
    assert any(problem.startswith(f"{line}: {message}") for problem in problems), problems
    assert len(problems) == 1 or mistake == "unknown link"


def test_all_errors_are_reported_at_once(write):
    text = TWO_LINKS.replace('value="1"', 'value="-1"').replace('effort="10"', 'effort="x"')
    lines = [int(problem.split(":")[0]) for problem in problems_of(write(text))]
    assert lines == [2, 3, 6]


def test_files_that_are_not_urdf(write, tmp_path):
    assert problems_of(write('<sdf version="1.6"/>')) == ["1: not a URDF: its top element is <sdf>, expected <robot>"]
    assert problems_of(write("<robot/>")) == ["1: there are no links"]
    assert problems_of(write(""))[0].startswith("1: not valid XML")
    (problem,) = problems_of(write('<?xml version="1.0" encoding="nonsense"?><robot/>'))
    assert "not valid XML" in problem
    with pytest.raises(MultiQpError, match=r"the URDF .*no\.urdf does not exist"):
        read_urdf(tmp_path / "no.urdf", free_flyer=True)


def test_a_loop_is_refused(write):
    text = robot(link("a"), link("b"), link("c"), joint("x", "b", "c"), joint("y", "c", "b"))
    assert problems_of(write(text)) == ["1: the joints between 'b', 'c' form a loop; a URDF is a tree"]
    text = robot(link("a"), link("b"), link("c"), joint("x", "a", "c"), joint("y", "b", "c"), joint("z", "a", "b"))
    assert all("link 'c' has 2 parent joints; a URDF is a tree" in problem for problem in problems_of(write(text)))


def test_an_invalid_mesh_is_refused_in_one_line(write):
    write("rubbish", "bad.stl")
    text = robot(link("a", INERTIAL + '<collision><geometry><mesh filename="bad.stl"/></geometry></collision>'))
    (problem,) = problems_of(write(text))
    assert "bad.stl: cannot be read as a mesh: Could not load resource" in problem
    assert "\n" not in problem and "Hint" not in problem


def test_a_floating_base_needs_a_mass(write):
    write(robot(link("a", "")))
    write("urdf: r.urdf\n", "r.yaml")
    path = write(
        "description: x\nsubsystems: {r: {model: r.yaml}}\ninitial_state: a\nstates: {a: {}}\n",
        "s.yaml",
    )
    with pytest.raises(
        ConfigError, match=r"r\.yaml:1: urdf: no link of .*r\.urdf has a mass; a floating base needs one"
    ):
        load_scenario(path)


def test_an_inconsistent_inertia_is_accepted_with_a_warning(write, caplog):
    """Published robots have such inertias (iCub, ANYmal, PR2)."""
    with caplog.at_level(logging.WARNING):
        read_urdf(write(TWO_LINKS.replace('ixx="0.02"', 'ixx="0.2"', 1)), free_flyer=True)
    (message,) = caplog.messages
    assert re.search(r"r\.urdf:2: link 'base': no rigid body has this inertia: .* 0\.02, 0\.02, 0\.2 kg m²", message)


def test_massless_and_pointlike_links_load(run):
    """Talos and HyQ have links with a mass and no extent, and most robots have frames without a mass."""
    dot = '<inertial><mass value="0.1"/><inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial>'
    parts = [link("camera", ""), link("sensor", dot)]
    text = robot(
        link("base"),
        link("tip"),
        joint("hinge", "base", "tip"),
        *parts,
        joint("a", "tip", "camera", "fixed", ""),
        joint("b", "tip", "sensor", "fixed", ""),
    )
    scenario, _ = run(text)
    assert scenario.scene.subsystems["r"].mass == pytest.approx(2.1)


def test_mimic_continuous_prismatic_and_unlimited_joints(run):
    text = robot(
        *(link(name) for name in ("base", "a", "b", "c", "d", "e")),
        joint("turn", "base", "a", "continuous", '<limit effort="5" velocity="4"/>'),
        joint("free", "a", "b", "continuous", ""),
        joint("slide", "base", "c", "prismatic", '<limit lower="-0.1" upper="0.1" effort="9" velocity="1"/>'),
        joint("copy", "c", "d", "revolute", LIMIT + '<mimic joint="slide" multiplier="2"/>'),
        joint("bare", "d", "e", "revolute", ""),
    )
    scenario, result = run(text)
    scene = scenario.scene
    assert scene.nv == 6 + 5
    assert scene.actuated_joint_names == ("r/turn", "r/slide"), "a joint that mimics has no motor of its own"
    assert scene.couplings.names == ("r/copy",)
    limits = dict(zip(scene.limits.v_index, scene.limits.upper, strict=True))
    joints = {name: scene.model.joints[scene.model.getJointId(f"r/{name}")] for name in scene_joints(scene)}
    upper = {name: limits[joint.idx_v] for name, joint in joints.items()}
    assert upper == {"turn": math.inf, "free": math.inf, "slide": 0.1, "copy": 1.0, "bare": math.inf}
    assert np.isfinite(result.log.q).all()


def scene_joints(scene) -> list[str]:
    return [name.removeprefix("r/") for name in scene.joint_names if not name.endswith("root_joint")]


TWO_MATERIALS = """\
v 0 0 0\nv 0 1 0\nv 1 0 0\nv 0 0 1\nv 0 0 2\nv 0 1 2\nv 1 0 2\nv 0 0 3\nv 1 1 3
usemtl one\nf 1 2 3\nf 1 3 4\nf 1 4 2\nf 3 2 4
usemtl other\nf 5 6 7\nf 5 7 8\nf 5 8 6\nf 7 6 8\nf 8 7 9
"""


def test_a_mesh_whose_materials_are_confused_is_refused_as_a_collision_shape(write):
    write(TWO_MATERIALS, "two.obj")
    shape = '<geometry><mesh filename="two.obj"/></geometry>'
    (problem,) = problems_of(write(robot(link("a", f"{INERTIAL}<collision>{shape}</collision>"))))
    assert "two.obj: parts of several materials are confused" in problem
    read_urdf(write(robot(link("a", f"{INERTIAL}<visual>{shape}</visual>"))), free_flyer=True)


def test_meshes_by_relative_path_and_package(run, write, tmp_path, monkeypatch):
    write(TETRAHEDRON, "meshes/t.stl")
    write(TETRAHEDRON, "share/my_robot/meshes/u v.stl")
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "share"))
    names = ("meshes/t.stl", "package://my_robot/meshes/u%20v.stl", "package:///my_robot/meshes/u v.stl")
    names += (f"file://{tmp_path}/meshes/t.stl",)
    meshes = "".join(f'<collision><geometry><mesh filename="{name}"/></geometry></collision>' for name in names)
    scenario, _ = run(robot(link("base", INERTIAL + meshes), link("tip"), joint("hinge", "base", "tip")))
    assert scenario.scene.collision_model.ngeoms == 4
    assert scenario.scene.visual_model.ngeoms == 0, "no visuals are no problem"


def test_a_fixed_root_may_have_an_inertia_and_several_trees_on_it(run):
    text = robot(
        link("base"),
        *(link(f"{side}{k}") for side in "lr" for k in (1, 2)),
        *(joint(f"{side}_a", "base", f"{side}1") for side in "lr"),
        *(joint(f"{side}_b", f"{side}1", f"{side}2") for side in "lr"),
    )
    scenario, _ = run(text, root="fixed")
    subsystem = scenario.scene.subsystems["r"]
    assert scenario.scene.nv == 4
    assert not subsystem.floating
    assert len(subsystem.root_joints) == 2
    assert subsystem.mass == pytest.approx(4.0), "what does not move does not count"


def test_joint_and_link_of_one_name(run):
    """A name in a scenario refers to the link."""
    text = robot(link("base"), link("tip"), joint("tip", "base", "tip"))
    task = "{type: pose, frame: r/tip, axes: [x], target: {frame: entry}}"
    scenario, _ = run(text, task=task)
    model = scenario.scene.model
    assert model.frames[scenario.scene.frame_id("r/tip")].type == pin.FrameType.BODY
    assert model.existJointName("r/tip")


@pytest.mark.parametrize("root", ["free_flyer", "fixed"])
def test_a_joint_named_as_the_floating_base_is(root, run):
    text = robot(link("base"), link("tip"), joint("root_joint", "base", "tip"))
    scenario, _ = run(text, root=root)
    assert scenario.scene.actuated_joint_names == ("r/root_joint",)
    assert scenario.scene.nv == (7 if root == "free_flyer" else 1)


def test_a_link_named_world(run):
    text = robot(link("world", ""), link("arm"), joint("hinge", "world", "arm"))
    scenario, _ = run(text, root="fixed")
    assert scenario.scene.subsystems["r"].base_link == "r/world"


def test_unknown_urdf_extensions_are_ignored(write):
    extension = '<gazebo reference="tip"><mu1>x</mu1></gazebo><transmission><joint name="hinge"/></transmission>'
    read = read_urdf(write(TWO_LINKS.replace("</robot>", extension + "</robot>")), free_flyer=True)
    assert read.joints == read.actuated_joints == ("hinge",)
    assert read.links == ("base", "tip")
    assert read.mass == pytest.approx(2.0)
