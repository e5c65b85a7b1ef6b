"""Toy scene and motion for viewer tests, without files or a controller."""

from __future__ import annotations

from types import SimpleNamespace

import coal
import numpy as np
import pinocchio as pin
import pytest

from multi_qp_controller.snapshot import ContactSnapshot, PairSnapshot, Snapshot, TargetSnapshot

COLORS = {"red": (0.83, 0.36, 0.29, 1.0), "blue": (0.26, 0.47, 0.75, 1.0)}


def make_scene() -> SimpleNamespace:
    """Return two toy humanoids that face each other, a box between them, a table and the ground."""
    model, visual = pin.Model(), pin.GeometryModel()
    starts = []
    for name, x, yaw in (("red", -0.55, 0.0), ("blue", 0.55, np.pi)):
        model, visual = _append(model, visual, name, _humanoid(name))
        starts.append([x, 0.0, 0.80, 0.0, 0.0, np.sin(yaw / 2), np.cos(yaw / 2)])
    model, visual = _append(model, visual, "box", _box())
    _add_environment(visual)
    q0 = pin.neutral(model)
    for name, start in zip(("red", "blue"), starts, strict=True):
        joint = model.joints[model.getJointId(f"{name}/root_joint")]
        q0[joint.idx_q : joint.idx_q + 7] = start
        for side in "lr":
            q0[model.joints[model.getJointId(f"{name}/{side}_arm_joint")].idx_q] = -0.5
            q0[model.joints[model.getJointId(f"{name}/{side}_forearm_joint")].idx_q] = -0.9
    box = model.joints[model.getJointId("box/root_joint")]
    q0[box.idx_q : box.idx_q + 3] = [0.0, 0.0, 1.08]
    subsystems = {
        name: SimpleNamespace(name=name, color=COLORS.get(name)) for name in ("red", "blue", "box", "table", "ground")
    }
    return SimpleNamespace(
        model=model, visual_model=visual, collision_model=visual.copy(), subsystems=subsystems, q0=q0
    )


def make_snapshots(scene: SimpleNamespace, *, duration: float = 2.0, dt: float = 0.02) -> list[Snapshot]:
    """Return a swaying motion with two states and every kind of overlay."""
    return [_snapshot(scene, time) for time in np.arange(0.0, duration + dt / 2, dt)]


@pytest.fixture(scope="session")
def scene() -> SimpleNamespace:
    """Return the toy scene."""
    return make_scene()


@pytest.fixture(scope="session")
def snapshots(scene: SimpleNamespace) -> list[Snapshot]:
    """Return two seconds of the toy motion."""
    return make_snapshots(scene)


def _append(model, visual, name, part):
    part_model, part_visual = part
    for index, joint in enumerate(part_model.names):
        if index:
            part_model.names[index] = f"{name}/{joint}"
    for index, frame in enumerate(part_model.frames):
        if index:
            frame.name = f"{name}/{frame.name}"
    return pin.appendModel(model, part_model, visual, part_visual, 0, pin.SE3.Identity())


# link: parent, joint origin in the parent, shape, centre of the shape in the link
BODY = {
    "pelvis": (None, (0, 0, 0), coal.Box(0.18, 0.26, 0.16), (0, 0, 0)),
    "torso": ("pelvis", (0, 0, 0.1), coal.Box(0.2, 0.3, 0.38), (0, 0, 0.24)),
    "head": ("torso", (0, 0, 0.48), coal.Sphere(0.11), (0, 0, 0.12)),
}
for _side, _sign in (("l", 1), ("r", -1)):
    BODY |= {
        f"{_side}_thigh": ("pelvis", (0, 0.1 * _sign, -0.06), coal.Capsule(0.065, 0.28), (0, 0, -0.18)),
        f"{_side}_shin": (f"{_side}_thigh", (0, 0, -0.36), coal.Capsule(0.055, 0.26), (0, 0, -0.17)),
        f"{_side}_foot": (f"{_side}_shin", (0, 0, -0.34), coal.Box(0.22, 0.1, 0.04), (0.03, 0, -0.02)),
        f"{_side}_arm": ("torso", (0, 0.2 * _sign, 0.4), coal.Capsule(0.05, 0.2), (0, 0, -0.13)),
        f"{_side}_forearm": (f"{_side}_arm", (0, 0, -0.28), coal.Capsule(0.042, 0.2), (0, 0, -0.13)),
        f"{_side}_hand": (f"{_side}_forearm", (0, 0, -0.28), coal.Cylinder(0.04, 0.09), (0, 0, -0.03)),
    }


def _humanoid(name):
    model, visual = pin.Model(), pin.GeometryModel()
    for link, (parent, origin, shape, center) in BODY.items():
        placement = pin.SE3(np.eye(3), np.array(origin, dtype=float))
        parent_id = model.getJointId(f"{parent}_joint") if parent not in (None, "pelvis") else int(parent is not None)
        kind = pin.JointModelFreeFlyer() if parent is None else pin.JointModelRY()
        joint = model.addJoint(parent_id, kind, placement, "root_joint" if parent is None else f"{link}_joint")
        model.appendBodyToJoint(joint, pin.Inertia.FromSphere(4.0, 0.1), pin.SE3.Identity())
        visual.addGeometryObject(_geometry(f"{name}/{link}_0", joint, center, shape, COLORS[name]))
    return model, visual


def _box():
    model, visual = pin.Model(), pin.GeometryModel()
    inertia = pin.Inertia.FromBox(5.0, 0.3, 0.4, 0.25)
    joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root_joint")
    model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
    visual.addGeometryObject(_geometry("box/body_0", joint, [0, 0, 0], coal.Box(0.3, 0.4, 0.25), [0.87, 0.67, 0.33, 1]))
    return model, visual


def _add_environment(visual):
    table = coal.Box(0.6, 0.9, 0.04)
    brown = [0.62, 0.5, 0.4, 1]
    visual.addGeometryObject(_geometry("table/top_0", 0, [0.0, 1.2, 0.7], table, brown))
    for index, (x, y) in enumerate(((-0.25, 0.8), (0.25, 0.8), (-0.25, 1.6), (0.25, 1.6))):
        leg = coal.Cylinder(0.025, 0.68)
        visual.addGeometryObject(_geometry(f"table/leg_{index}", 0, [x, y, 0.34], leg, brown))
    ground = coal.Box(20.0, 20.0, 0.2)
    visual.addGeometryObject(_geometry("ground/plane_0", 0, [0, 0, -0.1], ground, [0.7, 0.7, 0.7, 1]))


def _geometry(name, joint, position, shape, color):
    geometry = pin.GeometryObject(name, joint, pin.SE3(np.eye(3), np.array(position, dtype=float)), shape)
    geometry.meshColor = np.array(color, dtype=float)
    return geometry


def _snapshot(scene, time):
    sway = 0.05 * np.sin(2 * np.pi * time)
    q = scene.q0.copy()
    tangent = np.zeros(scene.model.nv)
    for name in ("red", "blue"):
        joint = scene.model.joints[scene.model.getJointId(f"{name}/root_joint")]
        tangent[joint.idx_v + 1] = sway
    box = scene.model.joints[scene.model.getJointId("box/root_joint")]
    tangent[box.idx_v + 2] = abs(sway)
    q = pin.integrate(scene.model, q, tangent)
    corners = np.array([[0.1, 0.05, 0], [-0.1, 0.05, 0], [-0.1, -0.05, 0], [0.1, -0.05, 0]])
    feet = [("red left foot", [-0.55, 0.1, 0]), ("red right foot", [-0.55, -0.1, 0])]
    up = np.tile([0.0, 0.0, 1.0], (4, 1))
    contacts = tuple(
        ContactSnapshot(name, corners + center, up * 70 + [10 * sway, 200 * sway, 0], up, 0.7) for name, center in feet
    )
    pairs = tuple(
        PairSnapshot(
            f"{name} hand | box",
            np.array([x, -0.3, 1.0]),
            np.array([x / 2, -0.2, 1.0]),
            d,
            0.1,
            0.02,
            d < 0.1,
        )
        for name, x, d in (("red", -0.3, 0.15 + sway), ("blue", 0.3, 0.05 + 0.5 * sway))
    )
    polygon = np.array([[-0.65, -0.15, 0], [-0.45, -0.15, 0], [-0.45, 0.15, 0], [-0.65, 0.15, 0]])
    return Snapshot(
        time=float(time),
        q=q,
        state="Lift" if time < 1.0 else "Carry",
        status="ok" if time < 1.5 else "relaxed",
        tick_ms=1.6 + 0.4 * np.sin(9 * time) ** 2,
        contacts=contacts,
        com={"red": np.array([-0.55, sway, 0.85]), "blue": np.array([0.55, -sway, 0.85])},
        com_total=np.array([0.0, 0.0, 0.9]),
        support_polygon=polygon,
        pairs=pairs,
        targets=(
            TargetSnapshot("box pose", np.array([0, 0, 1.05]), np.eye(3)),
            TargetSnapshot("gaze", np.array([0.2, 0.4, 1.4])),
        ),
    )
