"""Text of the files that describe a model: URDF and the YAML model file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from .robot import JointModel, Link, Robot, SurfaceModel
from .solids import Box, Capsule, Solid, Sphere, Vector

AXES = {"x": "1 0 0", "y": "0 1 0", "z": "0 0 1", "-x": "-1 0 0", "-y": "0 -1 0", "-z": "0 0 -1"}
GENERATED = "Written by urdf/make_models.py; change the figures there and run it again."


def number(value: float, digits: int = 9) -> str:
    """Shortest decimal text of a number, no negative zero."""
    text = f"{round(float(value), digits) + 0.0:.{digits}f}".rstrip("0").rstrip(".")
    return text or "0"


def numbers(values: Iterable[float], separator: str = " ", digits: int = 9) -> str:
    """Several numbers in a row."""
    return separator.join(number(v, digits) for v in values)


def urdf_text(robot: Robot) -> str:
    """The robot's URDF."""
    lines = [
        '<?xml version="1.0"?>',
        f"<!-- {robot.description}. {GENERATED} -->",
        f'<robot name="{robot.name}">',
    ]
    for name, rgb in robot.materials.items():
        lines.append(f'  <material name="{name}"><color rgba="{numbers(rgb)} 1"/></material>')
    for link in robot.links:
        lines += _link_lines(robot, link)
    for joint in robot.joints:
        lines += _joint_lines(joint)
    return "\n".join([*lines, "</robot>"]) + "\n"


def _link_lines(robot: Robot, link: Link) -> list[str]:
    """The <link> element."""
    lines = []
    inertial = link.inertial()
    if inertial:
        inertia = inertial.inertia
        cells = " ".join(f'i{"xyz"[i]}{"xyz"[j]}="{number(inertia[i, j], 10)}"' for i in range(3) for j in range(i, 3))
        lines += [
            "    <inertial>",
            f'      <origin xyz="{numbers(inertial.lever)}"/>',
            f'      <mass value="{number(inertial.mass)}"/>',
            f"      <inertia {cells}/>",
            "    </inertial>",
        ]
    for visual in link.visuals:
        path = f"package://multi_qp_controller/urdf/meshes/{visual.model or robot.name}/{visual.name}.obj"
        lines += [
            f'    <visual name="{visual.name}">',
            f'      <geometry><mesh filename="{path}"/></geometry>',
            f'      <material name="{visual.material}"/>',
            "    </visual>",
        ]
    capsules = []
    for k, solid in enumerate(link.collisions):
        name = f"{link.name}_{k}"
        lines += _collision_lines(name, solid)
        if isinstance(solid, Capsule):
            capsules.append(f'      <capsule name="{name}"/>')
    if capsules:  # pinocchio's extension: the cylinder of that name grows hemispheres at its ends
        lines += ["    <collision_checking>", *capsules, "    </collision_checking>"]
    return [f'  <link name="{link.name}">', *lines, "  </link>"] if lines else [f'  <link name="{link.name}"/>']


def _collision_lines(name: str, solid: Solid) -> list[str]:
    """One <collision> element; a capsule is written as its cylinder."""
    rpy = ""
    if isinstance(solid, Box):
        shape = f'<box size="{numbers(solid.size)}"/>'
    elif isinstance(solid, Sphere):
        shape = f'<sphere radius="{number(solid.radius)}"/>'
    else:
        shape = f'<cylinder radius="{number(solid.radius)}" length="{number(solid.length)}"/>'
        rpy = f' rpy="{numbers(_rpy_of_axis(solid.axis), digits=12)}"'
    return [
        f'    <collision name="{name}">',
        f'      <origin xyz="{numbers(solid.center)}"{rpy}/>',
        f"      <geometry>{shape}</geometry>",
        "    </collision>",
    ]


def _rpy_of_axis(axis: Vector) -> tuple[float, float, float]:
    """Roll and pitch that turn z onto a unit vector."""
    x, y, z = axis if axis[2] >= 0 else -axis  # a capsule is symmetric in the sign of its axis
    return float(np.arctan2(-y, z)), float(np.arcsin(np.clip(x, -1.0, 1.0))), 0.0


def _joint_lines(joint: JointModel) -> list[str]:
    """The <joint> element."""
    kind = "revolute" if joint.axis else "fixed"
    lines = [
        f'  <joint name="{joint.name}" type="{kind}">',
        f'    <parent link="{joint.parent}"/>',
        f'    <child link="{joint.child}"/>',
        f'    <origin xyz="{numbers(joint.xyz)}"/>',
    ]
    if joint.axis:
        limits = f'lower="{number(joint.lower)}" upper="{number(joint.upper)}"'
        bounds = f'velocity="{number(joint.velocity)}" effort="{number(joint.effort)}"'
        lines += [f'    <axis xyz="{AXES[joint.axis]}"/>', f"    <limit {limits} {bounds}/>"]
    return [*lines, "  </joint>"]


def model_text(robot: Robot) -> str:
    """The robot's YAML model file."""
    lines = [
        f"# {GENERATED}",
        f"description: {robot.description}",
        f"urdf: {robot.name}.urdf",
        f"root: {robot.root}",
    ]
    if color := robot.color or robot.materials.get("tint"):
        lines.append(f"color: [{numbers(color, ', ')}]")
    if robot.postures:
        lines += _heading(robot, "postures")
        lines += _nested(robot.postures)
    if robot.surfaces:
        lines += _heading(robot, "surfaces")
        lines += [f"  {name}: {_surface_text(surface)}" for name, surface in robot.surfaces.items()]
    if robot.landmarks:
        lines += _heading(robot, "landmarks")
        lines += [f"  {name}: {place}" for name, place in robot.landmarks.items()]
    if robot.effort_limits:
        lines += _heading(robot, "effort_limits")
        lines += _nested(robot.effort_limits)
    if robot.passive_joints:
        lines += _heading(robot, "passive_joints")
        for joint, values in robot.passive_joints.items():
            inside = ", ".join(f"{key}: {number(value)}" for key, value in values.items())
            lines.append(f"  {joint}: {{{inside}}}")
    if robot.self_collisions:
        lines += _heading(robot, "self_collisions")
        lines += [f"  - [{a}, {b}]" for a, b in robot.self_collisions]
    return "\n".join(lines) + "\n"


def _heading(robot: Robot, key: str) -> list[str]:
    """The key's line, below its comment if it has one."""
    return [*(f"# {line}" for line in robot.notes.get(key, "").splitlines()), f"{key}:"]


def _nested(groups: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Named groups of joint values, one joint a line."""
    lines = []
    for name, values in groups.items():
        lines.append(f"  {name}:" if values else f"  {name}: {{}}")
        lines += [f"    {joint}: {number(value)}" for joint, value in values.items()]
    return lines


def _surface_text(surface: SurfaceModel) -> str:
    """Flow mapping of one surface."""
    kind = surface.kind
    text = f"{{type: {kind}, link: {surface.link}, xyz: [{numbers(surface.xyz, ', ')}]"
    text += f", rpy: [{numbers(surface.rpy, ', ', 12)}]"
    if surface.size:
        return text + f", size: [{numbers(surface.size, ', ')}]}}"
    if kind == "point":
        return text + "}"
    text += f", radius: {number(surface.radius or 0.0)}, length: {number(surface.length or 0.0)}"
    return text + ("}" if surface.encloses else ", encloses: false}")
