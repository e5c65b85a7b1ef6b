"""Putting subsystems together into one scene."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_scene.loads import Loads
from multi_qp_scene.models import LoadedModel
from multi_qp_scene.placement import place_flush, pose_of
from multi_qp_scene.scene import JointLimits, Scene
from multi_qp_scene.schema.model_file import GraspSurfaceSpec, PlanarSurfaceSpec, PointSurfaceSpec
from multi_qp_scene.schema.scenario_file import EnvironmentSpec, LoadSpec, SubsystemSpec
from multi_qp_scene.subsystem import PassiveJoints, Subsystem, SubsystemKind
from multi_qp_scene.surfaces import Surface, grasp_points, planar_points, single_point

Array = NDArray[np.float64]
_NEUTRAL_TINT = (0.55, 0.6, 0.66)


@dataclass
class SceneParts:
    """What a scene is built from: models and how they are used, by subsystem name.

    Attributes:
        subsystems: the moving ones.
        environment: the fixed ones.
        loads: masses on their links that may change.
    """

    subsystems: dict[str, tuple[LoadedModel, SubsystemSpec]] = field(default_factory=dict)
    environment: dict[str, tuple[LoadedModel, EnvironmentSpec]] = field(default_factory=dict)
    loads: dict[str, LoadSpec] = field(default_factory=dict)


def build_scene(parts: SceneParts) -> Scene:
    """Build the scene; every name in `parts` must have been checked.

    Environment pieces come first in the model's frames, then the subsystems in their order: then q and v hold exactly
    the subsystems, one after the other.
    """
    assembler = _Assembler()
    for name, (loaded, environment) in parts.environment.items():
        assembler.append(name, loaded, mass=None, placement=pose_of(environment.pose), color=environment.color)
    for name, (loaded, spec) in parts.subsystems.items():
        fixed_at = pose_of(spec.pose) if loaded.spec.root == "fixed" and spec.pose else pin.SE3.Identity()
        assembler.append(name, loaded, mass=spec.mass, placement=fixed_at, color=spec.color)
    model = assembler.model
    surfaces = _add_surface_frames(model, parts)
    limits = _effort_limits(model, parts)
    actuated = [
        f"{name}/{joint}" for name, (loaded, _) in parts.subsystems.items() for joint in loaded.urdf.actuated_joints
    ]
    actuated_v = np.array([model.joints[model.getJointId(joint)].idx_v for joint in actuated], dtype=np.intp)
    q0, postures = _configurations(model, parts)
    subsystems = {
        name: _describe(model, name, loaded, spec.color, actuated, postures[name])
        for name, (loaded, spec) in parts.subsystems.items()
    }
    for name, (_, spec) in parts.subsystems.items():
        _set_initial_pose(model, q0, subsystems[name], spec, surfaces)
    return Scene(
        model=model,
        collision_model=assembler.collision_model,
        visual_model=assembler.visual_model,
        subsystems=subsystems,
        environment={
            name: _describe(model, name, loaded, spec.color, [], {})
            for name, (loaded, spec) in parts.environment.items()
        },
        surfaces=surfaces,
        q0=q0,
        actuated_joint_names=tuple(actuated),
        actuated_v=actuated_v,
        torque_limits=limits[actuated_v],
        limits=_joint_limits(model),
        loads=Loads(model, parts.loads),
        passive=_passive_joints(model, parts, set(actuated)),
        self_collisions={
            name: tuple((f"{name}/{a}", f"{name}/{b}") for a, b in loaded.spec.self_collisions)
            for name, (loaded, _) in parts.subsystems.items()
        },
    )


class _Assembler:
    """Appends models under the universe, prefixing every name."""

    def __init__(self) -> None:
        self.model = pin.Model()
        self.collision_model = pin.GeometryModel()
        self.visual_model = pin.GeometryModel()

    def append(
        self,
        name: str,
        loaded: LoadedModel,
        *,
        mass: float | None,
        placement: pin.SE3,
        color: tuple[float, float, float] | None,
    ) -> None:
        """Append one subsystem with its base at `placement`."""
        urdf = loaded.urdf
        part = urdf.model.copy()
        collision, visual = urdf.collision_model.copy(), urdf.visual_model.copy()
        _tint(visual, urdf.tinted, color or loaded.spec.color or _NEUTRAL_TINT)
        _prefix(part, name)
        for geometry in (collision, visual):
            for item in geometry.geometryObjects:
                item.name = f"{name}/{item.name}"
        if mass is not None:
            _scale_mass(part, mass)
        base = self.model
        self.model, self.collision_model = pin.appendModel(base, part, self.collision_model, collision, 0, placement)
        _, self.visual_model = pin.appendModel(base, part, self.visual_model, visual, 0, placement)


def _prefix(model: pin.Model, name: str) -> None:
    for k in range(1, model.njoints):
        model.names[k] = f"{name}/{model.names[k]}"
    for frame in list(model.frames)[1:]:
        model.frames[model.getFrameId(frame.name, frame.type)].name = f"{name}/{frame.name}"


def _scale_mass(model: pin.Model, mass: float) -> None:
    total = sum(inertia.mass for inertia in model.inertias)
    for k, inertia in enumerate(model.inertias):
        scale = mass / total
        model.inertias[k] = pin.Inertia(inertia.mass * scale, inertia.lever, inertia.inertia * scale)


def _tint(visual: pin.GeometryModel, tinted: frozenset[str], color: tuple[float, float, float]) -> None:
    for item in visual.geometryObjects:
        if item.name in tinted:
            item.meshColor = np.array([*color, 1.0])


def _add_surface_frames(model: pin.Model, parts: SceneParts) -> dict[str, Surface]:
    surfaces = {}
    everything = [(name, loaded) for name, (loaded, _) in parts.environment.items()]
    everything += [(name, loaded) for name, (loaded, _) in parts.subsystems.items()]
    for name, loaded in everything:
        for surface_name, spec in loaded.spec.surfaces.items():
            full_name, link = f"{name}/{surface_name}", f"{name}/{spec.link}"
            parent = model.frames[model.getFrameId(link, pin.FrameType.BODY)]
            X_link_surface = pose_of(spec)
            frame = pin.Frame(
                full_name,
                parent.parentJoint,
                model.getFrameId(link, pin.FrameType.BODY),
                parent.placement * X_link_surface,
                pin.FrameType.OP_FRAME,
            )
            points, normals = _contact_points(spec)
            surfaces[full_name] = Surface(
                name=full_name,
                kind=spec.type,
                link=link,
                frame_id=model.addFrame(frame),
                joint_id=parent.parentJoint,
                X_link_surface=X_link_surface,
                points=points,
                normals=normals,
            )
    return surfaces


def _contact_points(spec: PlanarSurfaceSpec | GraspSurfaceSpec | PointSurfaceSpec) -> tuple[Array, Array]:
    match spec:
        case PlanarSurfaceSpec():
            return planar_points(spec.size)
        case GraspSurfaceSpec():
            return grasp_points(spec.radius, spec.length, encloses=spec.encloses)
        case PointSurfaceSpec():
            return single_point()


def _effort_limits(model: pin.Model, parts: SceneParts) -> Array:
    """Return the effort limit of each entry of v, of the set that each subsystem chose (the first by default)."""
    limits = np.array(model.effortLimit)
    for name, (loaded, spec) in parts.subsystems.items():
        sets = loaded.spec.effort_limits
        chosen = sets.get(spec.effort_limits or next(iter(sets), ""), {})
        for joint, effort in chosen.items():
            limits[model.joints[model.getJointId(f"{name}/{joint}")].idx_v] = effort
    return limits


def _configurations(model: pin.Model, parts: SceneParts) -> tuple[Array, dict[str, dict[str, Array]]]:
    """Return the initial configuration (free-flyers at the origin) and each subsystem's postures."""
    q0 = pin.neutral(model)
    postures: dict[str, dict[str, Array]] = {}
    for name, (loaded, spec) in parts.subsystems.items():
        q_slice, _ = _slices(model, name)
        named: dict[str, dict[str, float]] = {"zero": {}} | dict(loaded.spec.postures)
        postures[name] = {}
        for posture_name, joints in named.items():
            postures[name][posture_name] = _with_joints(model, q0, name, joints)[q_slice]
        if isinstance(spec.posture, dict):
            postures[name]["initial"] = _with_joints(model, q0, name, spec.posture)[q_slice]
        else:
            postures[name]["initial"] = postures[name][spec.posture or "zero"]
    for name in parts.subsystems:
        q0[_slices(model, name)[0]] = postures[name]["initial"]
    return q0, postures


def _with_joints(model: pin.Model, q: Array, subsystem: str, joints: dict[str, float]) -> Array:
    q = q.copy()
    for joint_name, angle in joints.items():
        set_joint_angle(model, q, f"{subsystem}/{joint_name}", angle)
    return q


def set_joint_angle(model: pin.Model, q: Array, joint_name: str, angle: float) -> None:
    """Set one joint of `q` in place: an angle [rad] or position [m]; continuous joints hold (cos, sin)."""
    joint = model.joints[model.getJointId(joint_name)]
    if joint.nq == 2:
        q[joint.idx_q : joint.idx_q + 2] = np.cos(angle), np.sin(angle)
    else:
        q[joint.idx_q] = angle


def _joint_ids(model: pin.Model, subsystem: str) -> list[int]:
    return [k for k in range(1, model.njoints) if model.names[k].startswith(f"{subsystem}/")]


def _slices(model: pin.Model, subsystem: str) -> tuple[slice, slice]:
    joints = [model.joints[k] for k in _joint_ids(model, subsystem)]
    if not joints:
        return slice(0, 0), slice(0, 0)
    first_q, first_v = min(j.idx_q for j in joints), min(j.idx_v for j in joints)
    return (
        slice(first_q, first_q + sum(j.nq for j in joints)),
        slice(first_v, first_v + sum(j.nv for j in joints)),
    )


def _describe(
    model: pin.Model,
    name: str,
    loaded: LoadedModel,
    color: tuple[float, float, float] | None,
    actuated: list[str],
    postures: dict[str, Array],
) -> Subsystem:
    joint_ids = _joint_ids(model, name)
    q_slice, v_slice = _slices(model, name)
    motors = [k for k, joint in enumerate(actuated) if joint.startswith(f"{name}/")]
    if not joint_ids:
        kind = SubsystemKind.ENVIRONMENT
    elif motors:
        kind = SubsystemKind.CHARACTER
    elif len(joint_ids) == 1 and loaded.spec.root == "free_flyer":
        kind = SubsystemKind.OBJECT
    else:
        kind = SubsystemKind.ARTICULATED
    return Subsystem(
        name=name,
        kind=kind,
        color=color or loaded.spec.color,
        q_slice=q_slice,
        v_slice=v_slice,
        root_joints=tuple(k for k in joint_ids if model.parents[k] == 0),
        floating=bool(joint_ids) and model.joints[joint_ids[0]].nq == 7,
        mass=float(sum(model.inertias[k].mass for k in joint_ids)),
        actuated=np.array(motors, dtype=np.intp),
        links=tuple(f"{name}/{link}" for link in loaded.urdf.links),
        postures=postures,
        base_link=f"{name}/{_base_link(loaded.urdf.model)}",
    )


def _base_link(model: pin.Model) -> str:
    return next(frame.name for frame in model.frames if frame.type == pin.FrameType.BODY)


def _set_initial_pose(
    model: pin.Model, q0: Array, subsystem: Subsystem, spec: SubsystemSpec, surfaces: dict[str, Surface]
) -> None:
    if not subsystem.floating:
        return
    if spec.place is not None:
        base = place_flush(
            model,
            q0,
            subsystem.q_slice.start,
            [surfaces[f"{subsystem.name}/{name}"] for name in spec.place.surfaces],
            surfaces[spec.place.onto],
            xy=spec.place.xy,
            yaw=spec.place.yaw,
        )
    else:
        base = pose_of(spec.pose) if spec.pose else pin.SE3.Identity()
    q0[subsystem.q_slice.start : subsystem.q_slice.start + 7] = pin.SE3ToXYZQUAT(base)


def _joint_limits(model: pin.Model) -> JointLimits:
    v_index, q_index, lower, upper, velocity = [], [], [], [], []
    for k in range(1, model.njoints):
        joint = model.joints[k]
        if joint.nv != 1:
            continue
        speed = model.velocityLimit[joint.idx_v]
        bounded = joint.nq == 1 and model.lowerPositionLimit[joint.idx_q] < model.upperPositionLimit[joint.idx_q]
        v_index.append(joint.idx_v)
        q_index.append(joint.idx_q)
        lower.append(model.lowerPositionLimit[joint.idx_q] if bounded else -np.inf)
        upper.append(model.upperPositionLimit[joint.idx_q] if bounded else np.inf)
        velocity.append(speed if 0.0 < speed < 1e6 else np.inf)
    return JointLimits(
        v_index=np.array(v_index, dtype=np.intp),
        q_index=np.array(q_index, dtype=np.intp),
        lower=np.array(lower),
        upper=np.array(upper),
        velocity=np.array(velocity),
    )


def _passive_joints(model: pin.Model, parts: SceneParts, actuated: Iterable[str]) -> PassiveJoints:
    """Collect the springs and dampers: of the URDFs' `<dynamics>` on joints without a motor, and of the model files."""
    rows = []
    for name, (loaded, _) in parts.subsystems.items():
        for k in _joint_ids(model, name):
            joint, full_name = model.joints[k], model.names[k]
            if joint.nv != 1:
                continue
            place = (joint.idx_v, joint.idx_q, joint.nq == 2)
            spec = loaded.spec.passive_joints.get(full_name.removeprefix(f"{name}/"))
            if spec is not None:
                rows.append((*place, spec.stiffness, spec.rest, spec.damping, spec.friction))
            elif full_name not in actuated:
                damping, friction = model.damping[joint.idx_v], model.friction[joint.idx_v]
                if damping > 0 or friction > 0:
                    rows.append((*place, 0.0, 0.0, damping, friction))
    columns = list(zip(*rows, strict=True)) or [()] * 7
    return PassiveJoints(
        v_index=np.array(columns[0], dtype=np.intp),
        q_index=np.array(columns[1], dtype=np.intp),
        continuous=np.array(columns[2], dtype=bool),
        stiffness=np.array(columns[3], dtype=float),
        rest=np.array(columns[4], dtype=float),
        damping=np.array(columns[5], dtype=float),
        friction=np.array(columns[6], dtype=float),
    )
