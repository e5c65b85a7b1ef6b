"""Limits of sizes and values: values outside are refused with the name of the limit, and accepted if it is widened."""

from __future__ import annotations

import os
import struct
import textwrap
import time

import pytest
from pydantic import TypeAdapter, ValidationError

from multi_qp_scene.errors import ConfigError, MultiQpError
from multi_qp_scene.limits import LIMITS, VARIABLE, excess, limit
from multi_qp_scene.schema.common import Angle, Friction, Mass, MassOrNone
from multi_qp_scene.urdf import read_urdf
from multi_qp_scene.yaml_document import YamlDocument

INERTIA = '<inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/>'
LIMIT = '<limit lower="-2" upper="2" effort="50" velocity="5"/>'


def test_a_limit_is_widened_to_include_a_value_and_never_narrowed(monkeypatch):
    monkeypatch.setenv(VARIABLE, "friction=50, mass=1e-30 yaml_bytes=5")
    assert limit("friction").high == 50.0
    assert (limit("mass").low, limit("mass").high) == (1e-30, LIMITS["mass"].high)
    assert limit("yaml_bytes") == LIMITS["yaml_bytes"]


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("frictoin=3", "MULTI_QP_LIMITS: unknown limit 'frictoin'; did you mean 'friction'?"),
        ("friction", "MULTI_QP_LIMITS: friction: expected friction=NUMBER, got 'friction'"),
        ("friction=nan", "MULTI_QP_LIMITS: friction: expected a number, got NaN"),
    ],
)
def test_an_invalid_setting_is_refused(setting, said, monkeypatch, folder):
    monkeypatch.setenv(VARIABLE, setting)
    (problem,) = folder.refused()
    assert problem.startswith(said)


def test_ranges():
    assert excess("friction", 10.0) is None
    assert excess("friction", float("nan")) is not None
    assert excess("angle", -5.0, signed=True) is None
    assert excess("mass", 0.0, zero=True) is None
    for kind, right, wrong in ((Friction, 0.5, 11.0), (Mass, 1.0, 0.0), (MassOrNone, 0.0, -1.0), (Angle, -9.0, 1e4)):
        adapter = TypeAdapter(kind)
        assert adapter.validate_python(right) == right
        with pytest.raises(ValidationError):
            adapter.validate_python(wrong)


IMPLAUSIBLE = {
    "friction": ("scene.yaml", "friction: 0.6", "friction: 1.0e+12", "1e+12"),
    "mass": ("scene.yaml", "mass: ${load}", "mass: 1.0e+12", "1e+12"),
    "light mass": ("scene.yaml", "mass: ${load}", "mass: 1.0e-300", "1e-300"),
    "angle": ("arm.yaml", "elbow: 0.5", "elbow: 9000000000000000000", "9e+18"),
    "time": ("scene.yaml", "duration: 1\n", "duration: 1.0e+300\n", "1e+300"),
    "period": ("scene.yaml", "dt: 0.01", "dt: 1.0e-300", "1e-300"),
    "position": ("scene.yaml", "xy: [1, 0]", "xy: [1.0e+100, 0]", "1e+100"),
    "length": ("crate.urdf", 'size="0.2 0.2 0.2"', 'size="0.2 0.2 1e300"', "1e+300"),
    "mass of a link": ("crate.urdf", '<mass value="2"/>', '<mass value="1e308"/>', "1e+308"),
    "light mass of a link": ("crate.urdf", '<mass value="2"/>', '<mass value="1e-300"/>', "1e-300"),
    "inertia": ("crate.urdf", 'ixx="0.02"', 'ixx="1e300"', "1e+300"),
    "position of a joint": ("arm.urdf", 'xyz="0.3 0 0"', 'xyz="1e99 0 0"', "1e+99"),
}


@pytest.mark.parametrize("case", IMPLAUSIBLE)
def test_implausible_values_are_refused_with_the_setting_that_allows_them(case, folder, monkeypatch):
    name, old, new, value = IMPLAUSIBLE[case]
    folder.edit(name, old, new)
    (problem,) = folder.refused()
    assert f"{name}:" in problem and f"{value} is " in problem
    setting = problem.partition(f"{VARIABLE}=")[2].removesuffix(" allows it")
    assert setting.endswith(f"={value}")
    monkeypatch.setenv(VARIABLE, setting)
    assert f"MULTI_QP_LIMITS={setting}" not in folder.multi_qp("check", "scene.yaml")[2]


def test_a_joint_that_moves_nothing_is_refused(folder, monkeypatch):
    nothing = (
        '<inertial><origin xyz="0 0 0"/><mass value="0.5"/><inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/>'
    )
    folder.edit("arm.urdf", f'<inertial><origin xyz="0.1 0 0"/><mass value="0.5"/>{INERTIA}', nothing)
    (problem,) = folder.refused()
    assert "joint 'elbow': the inertia that it moves: 0 is outside the limit 'joint_inertia'" in problem
    monkeypatch.setenv(VARIABLE, "joint_inertia=0")
    assert folder.multi_qp("check", "scene.yaml")[0] == 0


def test_a_floating_point_mass_is_refused(folder):
    folder.edit("crate.urdf", INERTIA, INERTIA.replace("0.02", "0"))
    (problem,) = folder.refused()
    assert "the floating base: the inertia that it moves" in problem


def test_a_multiplier_of_a_mimicking_joint(folder):
    folder.edit(
        "arm.urdf", '<parent link="upper"/>', '<mimic joint="shoulder" multiplier="1e300"/><parent link="upper"/>'
    )
    (problem,) = folder.refused()
    assert "arm.urdf:" in problem and "limit 'mimic'" in problem


def bomb(lines: int) -> str:
    """Return YAML in which each mapping contains the previous one twice, by merge keys."""
    merges = "".join(f"a{k}: &a{k} {{<<: [*a{k - 1}, *a{k - 1}]}}\n" for k in range(1, lines))
    return "a0: &a0 {x: 1}\n" + merges


def test_merge_keys_cannot_multiply_work():
    assert YamlDocument.parse(bomb(200)).data["a199"] == {"x": 1}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a: [" + "1, " * 50_000 + "1]\n", "yaml_values"),
        ("a: " + "[" * 70 + "]" * 70 + "\n", "yaml_depth"),
        ("x" * 300 + ": 1\n", "name_length"),
    ],
)
def test_large_yaml_names_its_limit(text, name):
    with pytest.raises(ConfigError, match=f"limit '{name}'.*{VARIABLE}={name}="):
        YamlDocument.parse(text)


def test_a_large_file_is_not_read(tmp_path, monkeypatch):
    path = tmp_path / "large.yaml"
    with path.open("wb") as file:
        file.truncate(10**9)
    with pytest.raises(ConfigError, match=r"large\.yaml: 1000000000 is above the limit 'yaml_bytes', 2000000"):
        YamlDocument.load(path)
    monkeypatch.setenv(VARIABLE, "yaml_bytes=3e6")
    path.write_text("# " + "x" * 2_500_000 + "\na: 1\n")
    assert YamlDocument.load(path).data == {"a": 1}


def test_many_problems_are_counted(folder):
    (folder.path / "many.yaml").write_text("".join(f"key_{k}: {k}\n" for k in range(5000)))
    began = time.process_time()
    status, _, err = folder.multi_qp("check", "many.yaml")
    assert status == 2 and len(err.splitlines()) == 51
    assert "problems, of which 50 are listed:" in err.splitlines()[0]
    assert time.process_time() - began < 10.0  # without the bound: a minute


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("dt: 0.01", f"dt: {'9' * 5000}"),
        ("dt: 0.01", f"dt: 0x{'f' * 5000}"),
        ("friction: 0.6", "friction: 1.0e+100"),
        ("model: arm.yaml", f"model: {'m' * 5000}.yaml"),
        ("model: arm.yaml", f"model: {'m/' * 4000}x.yaml"),
        ("model: arm.yaml", "model: ~nobody_of_this_name/x.yaml"),
        ("xy: [1, 0]", "xy: [${1e308 * 10}, 0]"),
        ("load: {default: 2", "load: {default: 1.0e+300"),
        ("frame: arm/palm", f"frame: {'f' * 5000}"),
    ],
)
def test_absurd_values_give_a_short_message(old, new, folder):
    folder.edit("scene.yaml", old, new)
    assert all(len(problem) < 600 for problem in folder.refused())


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "loop"])
@pytest.mark.parametrize("name", ["arm.yaml", "arm.urdf"])
def test_files_that_are_not_regular_are_not_opened(kind, name, folder):
    path = folder.path / name
    path.unlink()
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case "folder":
            path.mkdir()
        case "loop":
            path.symlink_to(path)
    assert folder.refused()


def test_a_file_that_is_no_configuration_is_not_quoted(folder):
    secret = "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:a secret:/usr/sbin\n"
    (folder.path / "passwd").write_text(secret)
    assert not any("secret" in said or "/bin/bash" in said for said in folder.refused("check", "./passwd"))
    folder.edit("scene.yaml", "model: arm.yaml", "model: ./passwd")
    assert not any("secret" in said or "/bin/bash" in said for said in folder.refused())
    folder.edit("arm.yaml", "urdf: arm.urdf", "urdf: passwd")
    folder.edit("scene.yaml", "model: ./passwd", "model: arm.yaml")
    assert not any("secret" in said or "/bin/bash" in said for said in folder.refused())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("<robot name='r'>" + "<a>" * 3000 + "</a>" * 3000 + "</robot>", "limit 'xml_depth'"),
        ('<!DOCTYPE r [<!ENTITY a "aaaa">]><robot name="r">&a;</robot>', "<!DOCTYPE> is not allowed"),
        ('<!DOCTYPE r [<!ENTITY a SYSTEM "/etc/passwd">]><robot name="r">&a;</robot>', "<!DOCTYPE> is not allowed"),
        ("<robot name='r'>" + "".join(f'<link name="l{k}"/>' for k in range(1001)) + "</robot>", "limit 'links'"),
        ("<robot name='r'><link name='l'>" + "<collision/>" * 1001 + "</link></robot>", "limit 'shapes'"),
    ],
)
def test_large_xml_names_its_limit(content, said, tmp_path):
    path = tmp_path / "r.urdf"
    path.write_text(content)
    with pytest.raises(ConfigError) as caught:
        read_urdf(path, free_flyer=False)
    assert said in str(caught.value)


def test_a_chain_of_many_joints_is_refused(tmp_path):
    link = f'<link name="l{{}}"><inertial><mass value="1"/>{INERTIA}</inertial></link>'
    joint = f'<joint name="j{{0}}" type="revolute"><parent link="l{{0}}"/><child link="l{{1}}"/>{LIMIT}</joint>'
    parts = [link.format(k) for k in range(201)] + [joint.format(k, k + 1) for k in range(200)]
    path = tmp_path / "chain.urdf"
    path.write_text(f'<robot name="c">{"".join(parts)}</robot>')
    with pytest.raises(
        MultiQpError, match=r"chain\.urdf: its degrees of freedom: 200 is above .*degrees_of_freedom=200"
    ):
        read_urdf(path, free_flyer=False)


NAN_STL = b"\0" * 80 + struct.pack("<I12fH", 1, 0, 0, 1, 0, 0, float("nan"), 1, 0, 0, 0, 1, 0, 0)
PLY = """ply
format ascii 1.0
element vertex {0}
property float x
property float y
property float z
element face {0}
property list uchar int vertex_indices
end_header
0 0 {1}
1 0 0
0 1 0
3 0 1 2
"""


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("m.stl", b"\0" * 80 + struct.pack("<I", 10**9) + b"\0" * 500, "cannot be read as a mesh"),
        ("m.ply", PLY.format(10**9, 0).encode(), "cannot be read as a mesh"),
        ("m.ply", PLY.format(1, "nan").encode(), ""),
        ("m.stl", NAN_STL, "a vertex is not a finite number"),
        ("m.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 1e30\nf 1 2 3\n", "above the limit 'position'"),
        ("m.obj", b"v 0 0 0\n", "cannot be read as a mesh"),
        (
            "m.dae",
            b"<COLLADA>" + b"<node>" * 100_000 + b"</node>" * 100_000 + b"</COLLADA>",
            "cannot be read as a mesh",
        ),
    ],
)
def test_meshes_with_false_headers_are_refused(name, content, said, folder):
    (folder.path / name).write_bytes(content)
    folder.edit("scene.yaml", "floor: {model: floor.yaml}", f"floor: {{model: floor.yaml}}\n  m: {{mesh: {name}}}")
    (problem,) = folder.refused()
    assert name in problem and said in problem


@pytest.mark.parametrize("scale", ["0 1 1", "1e-300 1 1"])
def test_the_scale_of_a_mesh(scale, folder):
    (folder.path / "m.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    mesh = f'<mesh filename="m.obj" scale="{scale}"/>'
    folder.edit("crate.urdf", '<box size="0.2 0.2 0.2"/>', mesh)
    (problem,) = folder.refused()
    assert "limit 'scale'" in problem
    folder.edit("crate.urdf", scale, "-1 1 1")  # mirrored
    assert folder.multi_qp("check", "scene.yaml")[0] == 0


def test_a_part_of_a_mesh_without_volume_is_refused(folder):
    flat = """\
        v -1 -1 0
        v 1 -1 0
        v 1 1 0
        v -1 1 0
        f 1 2 3
        f 1 3 4
        f 1 3 2
        f 1 4 3
        """
    (folder.path / "m.obj").write_text(textwrap.dedent(flat))
    folder.edit("scene.yaml", "floor: {model: floor.yaml}", "floor: {model: floor.yaml}\n  m: {mesh: m.obj}")
    folder.multi_qp("check", "scene.yaml")  # coal crashed here


def test_a_mesh_that_includes_a_pipe_ends(folder, monkeypatch):
    os.mkfifo(folder.path / "pipe.mtl")
    (folder.path / "m.obj").write_text("mtllib pipe.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    folder.edit("scene.yaml", "floor: {model: floor.yaml}", "floor: {model: floor.yaml}\n  m: {mesh: m.obj}")
    monkeypatch.setattr("multi_qp_scene.mesh_files.WAITS", 1.0)
    (problem,) = folder.refused()
    assert "m.obj: cannot be read as a mesh: loading was blocked for 1 s" in problem


def test_home_folders_of_unknown_users_are_refused(folder):
    (said,) = folder.refused("check", "~nobody_of_this_name/x.yaml")
    assert said == "~nobody_of_this_name/x.yaml: there is no such user, or it has no home folder"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--dt 1e-300", "--dt: 1e-300 is outside the limit 'period'"),
        ("--duration 1e300", "--duration: 1e+300 is outside the limit 'time'"),
        ("--duration 1e6 --dt 1e-5", "limit 'ticks'"),
        (f"--seed {10**30}", "--seed: 1e+30 is above the limit 'seed'"),
        ("--fps 1e300", "--fps: 1e+300 is outside the limit 'speed'"),
        ("--speed 1e-300", "--speed: 1e-300 is outside the limit 'speed'"),
        ("--at nan", "--at: expected a time of 0 s or later, got nan"),
        ("--at -1", "--at: expected a time of 0 s or later, got -1"),
    ],
)
def test_absurd_options_of_a_run(options, said, folder):
    (problem,) = folder.refused("run", "scene.yaml", "--headless", *options.split())
    assert said in problem
