"""Snapshot of the controller after a step, for viewers and recorders."""

from __future__ import annotations

import numpy as np

from multi_qp_controller.command import Command
from multi_qp_controller.constraints import PairDistance
from multi_qp_controller.contacts.support_polygon import support_polygon
from multi_qp_controller.controller import Controller
from multi_qp_controller.incidents import described
from multi_qp_controller.snapshot import ContactSnapshot, PairSnapshot, Snapshot, TargetSnapshot
from multi_qp_controller.tasks import Task
from multi_qp_scene.arguments import check_type
from multi_qp_scene.arrays import Array
from multi_qp_scene.subsystem import SubsystemKind
from multi_qp_scene.surfaces import PYRAMID_EDGES


def take_snapshot(controller: Controller, command: Command) -> Snapshot:
    """Return a snapshot of the step that returned `command`; its arrays are copies.

    Raises:
        ArgumentError: when an argument is invalid.
    """
    check_type("controller", controller, Controller, "a Controller")
    check_type("command", command, Command, "a Command, as `Controller.step` returns it")
    kinematics, forces = controller.kinematics, controller.forces
    scene, surroundings = controller.controlled.scene, controller.surroundings
    moving = [s for s in scene.subsystems.values() if s.kind is not SubsystemKind.ARTICULATED]
    com = {s.name: kinematics.com(s) for s in moving}
    mass = sum(kinematics.mass(s) for s in moving)
    on_ground = [c.first for c in controller.contacts.values() if _carries_character(controller, c.name)]
    targets = [_target(controller, task) for task in controller.last_tasks.values()]
    return Snapshot(
        time=command.time,
        q=kinematics.q.copy() if surroundings is None else surroundings.with_controlled(kinematics.q),
        state=command.diagnostics.state,
        status=str(command.diagnostics.status),
        tick_ms=command.diagnostics.tick_ms,
        contacts=tuple(_contact(controller, name, forces.get(name)) for name in controller.contacts),
        com=com,
        com_total=sum((kinematics.mass(s) * com[s.name] for s in moving), np.zeros(3)) / mass if moving else None,
        support_polygon=support_polygon(kinematics, on_ground) if on_ground else None,
        pairs=tuple(
            PairSnapshot(
                name=pair.pair.name,
                point_a=pair.point_a,
                point_b=pair.point_b,
                distance=pair.distance,
                influence=pair.pair.influence,
                security=pair.pair.security,
                active=pair.active,
            )
            for pair in controller.collisions.pairs
            if pair.point_a is not None and pair.point_b is not None and _shown(pair)
        ),
        targets=tuple(target for target in targets if isinstance(target, TargetSnapshot)),
        references={name: q for one in controller.generators.values() for name, q in one.followed().items()},
    )


def _target(controller: Controller, task: Task) -> TargetSnapshot | None:
    """Return the target of a task; None where that fails, as that of a user task may."""
    try:
        return task.target(controller.kinematics)
    except Exception as error:
        controller.incidents.warn(f"the target of task '{task.name}' is unknown: {described(error)}")
        return None


def _shown(pair: PairDistance) -> bool:
    """Return whether a watched pair is within its influence distance and not in contact."""
    return not pair.exempt and pair.distance < pair.pair.influence


def _carries_character(controller: Controller, contact_name: str) -> bool:
    """Return whether a contact supports a character on the environment."""
    scene, contact = controller.controlled.scene, controller.contacts[contact_name]
    if contact.second.joint_id != 0 or contact.first.joint_id == 0:
        return False
    return scene.subsystems[contact.first.name.split("/")[0]].kind is SubsystemKind.CHARACTER


def _contact(controller: Controller, name: str, multipliers: Array | None) -> ContactSnapshot:
    contact = controller.contacts[name]
    X = controller.kinematics.pose(contact.first.frame_id)
    points = contact.first.points
    forces = np.zeros_like(points)
    if multipliers is not None:
        edge_forces = contact.W[:3] * multipliers
        for k in range(len(points)):
            forces[k] = edge_forces[:, PYRAMID_EDGES * k : PYRAMID_EDGES * (k + 1)].sum(axis=1)
    return ContactSnapshot(
        name=name,
        points=points @ X.rotation.T + X.translation,
        forces=forces @ X.rotation.T,
        normals=contact.first.normals @ X.rotation.T,
        friction=contact.friction,
    )
