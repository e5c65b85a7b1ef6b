"""Construction of a scene from its subsystems and environment."""

from __future__ import annotations

import coal
import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array
from multi_qp_scene.assembly import Assembler
from multi_qp_scene.configuration import configurations, set_initial_pose
from multi_qp_scene.couplings import Couplings
from multi_qp_scene.joints import effort_limits, joint_limits, joints_of, passive_joints, set_motors, slices_of
from multi_qp_scene.kinematic_trees import KinematicTrees
from multi_qp_scene.loads import Loads
from multi_qp_scene.mimic import Mimic
from multi_qp_scene.models import LoadedModel
from multi_qp_scene.parts import SceneParts
from multi_qp_scene.placement import pose_of
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.model_file import GraspSurfaceSpec, PlanarSurfaceSpec, PointSurfaceSpec
from multi_qp_scene.subsystem import Subsystem, SubsystemKind
from multi_qp_scene.surfaces import (
    FITTING,
    NO_BALL,
    Ball,
    Surface,
    grasp_points,
    planar_points,
    polygon_points,
    single_point,
)


def build_scene(parts: SceneParts, *, loads: Loads | None = None) -> Scene:
    """Build the scene; every name in `parts` must have been checked.

    Environment models are appended first, then the subsystems in their order, so that q and v contain the subsystems
    only, one after the other.

    Args:
        parts: models and their specifications.
        loads: loads of the scene of the first of these subsystems, which are shared.
    """
    assembler = Assembler()
    for name, (loaded, environment) in parts.environment.items():
        assembler.append(name, loaded, mass=None, placement=pose_of(environment.pose), color=environment.color)
    for name, (loaded, spec) in parts.subsystems.items():
        fixed_at = pose_of(spec.pose) if loaded.spec.root == "fixed" and spec.pose else pin.SE3.Identity()
        assembler.append(name, loaded, mass=spec.mass, placement=fixed_at, color=spec.color)
    model = assembler.model
    set_motors(model, parts)
    surfaces = _add_surface_frames(model, assembler.collision_model, parts)
    limits = effort_limits(model, parts)
    actuated = [
        f"{name}/{joint}" for name, (loaded, _) in parts.subsystems.items() for joint in loaded.urdf.actuated_joints
    ]
    actuated_v = np.array([model.joints[model.getJointId(joint)].idx_v for joint in actuated], dtype=np.intp)
    mimics = _mimics(parts)
    couplings = Couplings(model, mimics)
    q0, postures = configurations(model, parts, couplings)
    subsystems = {
        name: _describe(model, name, loaded, spec.color, actuated, postures[name])
        for name, (loaded, spec) in parts.subsystems.items()
    }
    trees = KinematicTrees(model)
    for name, (_, spec) in parts.subsystems.items():
        set_initial_pose(trees, q0, subsystems[name], spec, surfaces)
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
        limits=joint_limits(model),
        loads=Loads(model, parts.loads) if loads is None else loads.shared_with(model),
        passive=passive_joints(model, parts, _driven(actuated, mimics)),
        couplings=couplings,
        self_collisions={
            name: tuple((f"{name}/{a}", f"{name}/{b}") for a, b in loaded.spec.self_collisions)
            for name, (loaded, _) in parts.subsystems.items()
        },
        disabled_by_srdf=frozenset(name for name, (loaded, _) in parts.subsystems.items() if loaded.spec.srdf),
    )


def _mimics(parts: SceneParts) -> dict[str, Mimic]:
    """Return the mimic relation of each mimicking joint of the scene, by full names."""
    return {
        f"{name}/{joint}": Mimic(f"{name}/{mimic.leader}", mimic.multiplier, mimic.offset)
        for name, (loaded, _) in parts.subsystems.items()
        for joint, mimic in loaded.urdf.mimics.items()
    }


def _driven(actuated: list[str], mimics: dict[str, Mimic]) -> set[str]:
    """Return the joints driven by a motor: their own or, through a coupling, that of their leader."""
    return set(actuated) | {joint for joint, mimic in mimics.items() if mimic.leader in actuated}


def _add_surface_frames(model: pin.Model, shapes: pin.GeometryModel, parts: SceneParts) -> dict[str, Surface]:
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
                ball=_ball(shapes, frame) if spec.type == "point" else NO_BALL,
            )
    return surfaces


def _ball(shapes: pin.GeometryModel, point: pin.Frame) -> Ball:
    """Return the ball on which a point lies, of those that move with it; `NO_BALL` if it lies on none."""
    balls = []
    for item in shapes.geometryObjects:
        if item.parentJoint != point.parentJoint or not isinstance(item.geometry, coal.Sphere | coal.Capsule):
            continue
        half = item.geometry.halfLength if isinstance(item.geometry, coal.Capsule) else 0.0
        for end in {-half, half}:
            centre = point.placement.actInv(item.placement.act(np.array([0.0, 0.0, end])))
            balls.append(Ball(centre, float(item.geometry.radius)))
    on_it = [ball for ball in balls if abs(np.linalg.norm(ball.centre) - ball.radius) <= FITTING]
    return min(on_it, key=lambda ball: abs(np.linalg.norm(ball.centre) - ball.radius), default=NO_BALL)


def _contact_points(spec: PlanarSurfaceSpec | GraspSurfaceSpec | PointSurfaceSpec) -> tuple[Array, Array]:
    match spec:
        case PlanarSurfaceSpec():
            return planar_points(spec.size) if spec.size else polygon_points(np.array(spec.outline))
        case GraspSurfaceSpec():
            return grasp_points(spec.radius, spec.length, encloses=spec.encloses)
        case PointSurfaceSpec():
            return single_point()


def _describe(
    model: pin.Model,
    name: str,
    loaded: LoadedModel,
    color: tuple[float, float, float] | None,
    actuated: list[str],
    postures: dict[str, Array],
) -> Subsystem:
    joint_ids = joints_of(model, name)
    q_slice, v_slice = slices_of(model, name)
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
