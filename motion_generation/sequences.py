"""Scenarios with a contact sequence: states that follow a 2PAC trajectory through it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np

from com_trajectory.costs import Cost, CostInput, QuadraticCost
from com_trajectory.kinematics import load_polytopes
from com_trajectory.planner import PlanOptions, plan_com
from com_trajectory.polytope import Polytope
from com_trajectory.trajectory import ComTrajectory
from motion_generation.planned_states import with_states
from motion_generation.planned_tasks import com_of
from motion_generation.planning import CONTACT_MARGIN
from motion_generation.state_parts import least_durations
from motion_generation.whole_body_check import REACHED, Fault, WholeBodyCheck, WholeBodyResult
from multi_qp_scene.arrays import Array
from multi_qp_scene.contact_sequence import Contact, ContactPhase, ContactSequence
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.files import is_file
from multi_qp_scene.kinematic_trees import place_frames
from multi_qp_scene.resources import model_path
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.plan import FollowSpec
from multi_qp_scene.sequence_file import load_contact_sequence
from multi_qp_scene.suggestions import unknown_name

_PLACED = 1e-3  # [m, rad] tolerance of the first posture at its contacts
_MAX_GAP, _MAX_MISALIGNMENT = 5e-3, 0.02  # [m], [-] tolerances of a contact on a surface
_TOWARDS_CENTRE = 0.03  # [m] step of an unreachable transition point
_MOVED_IN = 1e-3  # [m] tolerance of the projection of a point into its polytope
_HALVINGS = 6  # bisections of the loss of height of a phase's centre of mass
_LOWEST = 0.5  # minimum height relative to the start


@dataclass(frozen=True, eq=False)
class FollowedSequence:
    """A contact sequence, its trajectory, and the scenario that executes them.

    Attributes:
        scenario: contains the states.
        trajectory: of the centre of mass.
        whole_body: result of the whole-body check along it.
        repairs: moved transition points with reasons, in plain English.
    """

    scenario: Scenario
    trajectory: ComTrajectory
    whole_body: WholeBodyResult
    repairs: tuple[str, ...]


def follow_sequence(scenario: Scenario) -> FollowedSequence:
    """Plan the centre of mass through a scenario's contact sequence, and write the states that follow it.

    The character is placed on the contacts of the first phase. Transition points are moved until inverse kinematics
    finds a motion whose root is free of collisions, or the budget is used up.

    Raises:
        MultiQpError: the scenario has no `contact_sequence`, or it does not match the scene.

    Source: [Tonneau2018] 7.2.
    """
    spec, sequence, polytopes = _loaded(scenario)
    name = sequence.subsystems[0]
    check = WholeBodyCheck(scenario.scene, name)
    scenario = _standing(scenario, name, sequence, check)
    q0 = scenario.scene.q0
    sequence = with_centres(sequence, name, com_of(scenario.scene, name, q0), check, q0)
    cost, least = spec.cost or towards_the_smaller(name), partial(least_durations, spec.pace)
    options = PlanOptions("polyline" if spec.curve == "dynamic" else spec.curve, cost=cost, least=least)
    if spec.curve == "dynamic":
        options = replace(options, dynamic=True, contact_margin=CONTACT_MARGIN)
    trajectory, result, repairs = repaired(sequence, polytopes, options, check, q0, budget=spec.budget)
    done = with_states(scenario, sequence, pace=spec.pace, trajectory=trajectory)
    return FollowedSequence(done, trajectory, result, tuple(repairs))


def check_sequence(scenario: Scenario) -> ContactSequence:
    """Return the contact sequence of a scenario after a check of its first posture, without planning.

    Raises:
        MultiQpError: the scenario has no `contact_sequence`, or it does not match the scene.
    """
    _, sequence, _ = _loaded(scenario)
    name = sequence.subsystems[0]
    _standing(scenario, name, sequence, WholeBodyCheck(scenario.scene, name))
    return sequence


def _loaded(scenario: Scenario) -> tuple[FollowSpec, ContactSequence, dict[str, Polytope]]:
    """Return the sequence's specification, the sequence, and the polytopes of its subsystem."""
    spec, scene = scenario.spec.contact_sequence, scenario.scene
    if spec is None:
        raise MultiQpError(f"{scenario.name} has no `contact_sequence`")
    sequence = load_contact_sequence(_file(spec.file, scenario.path))
    if len(sequence.subsystems) != 1 or sequence.subsystems[0] not in scene.subsystems:
        named = ", ".join(sequence.subsystems)
        raise MultiQpError(f"{spec.file}: expected a sequence of one subsystem of {scenario.name}, it has {named}")
    name = sequence.subsystems[0]
    sequence = touched(sequence, scene).of(name)
    for contact in dict.fromkeys(contact for phase in sequence.phases for contact in phase.contacts):
        if contact.surface not in scene.surfaces:
            own = [surface for surface in scene.surfaces if surface.startswith(f"{name}/")]
            raise MultiQpError(f"{spec.file}: {unknown_name('surface', contact.surface, own)}")
    model = model_path(scenario.spec.subsystems[name].model, relative_to=scenario.path.parent)
    effectors = load_polytopes(model).effectors
    return spec, sequence, {surface: effector.polytope for surface, effector in effectors.items()}


def repaired(
    sequence: ContactSequence,
    polytopes: Mapping[str, Polytope],
    options: PlanOptions,
    check: WholeBodyCheck,
    q0: Array,
    *,
    budget: float,
) -> tuple[ComTrajectory, WholeBodyResult, list[str]]:
    """Return a trajectory with a feasible whole-body motion, or the best one found within the budget.

    At a collision of the root, the nearest transition point is moved by α n: by the penetration depth, out of the
    obstacle. At an unreachable posture, it is moved towards the centre of its polytope.

    Args:
        sequence: the contact phases of one subsystem.
        polytopes: of its effectors.
        options: of the trajectory.
        check: of the whole body.
        q0: configuration of the scene on the contacts of the first phase, (nq,).
        budget: time for moving points [s].

    Source: [Tonneau2018] 7.2, 8.2.
    """
    started, repairs = perf_counter(), list[str]()
    trajectory = plan_com(sequence, polytopes, options=options)
    result = check.check(trajectory, q0)
    best = trajectory, result
    points = dict(options.points)
    while result.fault is not None and trajectory.transitions and perf_counter() - started < budget:
        fault = result.fault
        number, wanted = _moved_point(trajectory, fault)
        points[number] = wanted
        sequence = _leaning(sequence, trajectory, number, wanted - trajectory.transitions[number].point)
        trajectory = plan_com(sequence, polytopes, options=replace(options, points=points))
        there, before = trajectory.transitions[number].point, best[0].transitions[number].point
        stopped = fault.kind == "collision" and np.linalg.norm(there - wanted) > _MOVED_IN
        if stopped or np.linalg.norm(there - before) < _MOVED_IN:
            repairs.append(f"transition {number}: its contacts do not allow the move required by {fault.what}")
            break
        result = check.check(trajectory, q0)
        repairs.append(f"transition {number}: moved, for {_description(fault)}")
        if result.faults < best[1].faults:
            best = trajectory, result
    if best[1].fault is not None:
        repairs.append(f"not repaired: {_description(best[1].fault)}, at {best[1].faults} instants")
    return *best, repairs


def _moved_point(trajectory: ComTrajectory, fault: Fault) -> tuple[int, Array]:
    """Return the index of the transition point nearest to a fault, and its corrected position, (3,) [m]."""
    place = trajectory.position(fault.time)
    near = [float(np.linalg.norm(found.point - place)) for found in trajectory.transitions]
    number = int(np.argmin(near))
    point = trajectory.transitions[number].point
    if fault.kind == "collision":
        return number, point + fault.amount * fault.normal
    before, after = trajectory.phases[number], trajectory.phases[number + 1]
    middle, _ = Polytope.intersection([before.reach, after.reach]).chebyshev()
    way = middle - point
    length = float(np.linalg.norm(way))
    return number, point + way * min(1.0, _TOWARDS_CENTRE / max(length, 1e-9))


def _leaning(sequence: ContactSequence, trajectory: ComTrajectory, number: int, way: Array) -> ContactSequence:
    """Return the sequence with the centres of mass on both sides of a transition moved too, except first and last."""
    phases = list(sequence.phases)
    for planned in trajectory.phases[number : number + 2]:
        if planned.source is not None and 0 < planned.source < len(phases) - 1:
            phase = phases[planned.source]
            phases[planned.source] = replace(phase, com={name: com + way for name, com in phase.com.items()})
    return replace(sequence, phases=tuple(phases))


def _description(fault: Fault) -> str:
    if fault.kind == "collision":
        return f"{fault.what} penetrate by {fault.amount:.3f} m at {fault.time:.2f} s"
    return f"the posture misses {fault.what} by {fault.amount:.3f} m at {fault.time:.2f} s"


def touched(sequence: ContactSequence, scene: Scene) -> ContactSequence:
    """Return the sequence with the surface that each contact touches, found by its pose if not specified.

    Raises:
        MultiQpError: there is no surface at a contact.
    """
    data = place_frames(scene.model, scene.q0)
    fixed = [s for s in scene.surfaces.values() if s.joint_id == 0 and s.kind == "planar"]

    def on(contact: Contact) -> Contact:
        if contact.other is not None:
            return contact
        for surface in fixed:
            place = data.oMf[surface.frame_id].actInv(contact.pose)
            edges, offsets = surface.edges
            inside = bool((edges @ place.translation[:2] <= offsets + _MAX_GAP).all())
            if inside and abs(place.translation[2]) <= _MAX_GAP and place.rotation[2, 2] < _MAX_MISALIGNMENT - 1.0:
                return replace(contact, other=surface.name)
        raise MultiQpError(f"contact {contact.name!r}: no surface of the scene at {contact.pose.translation}")

    known: dict[int, Contact] = {}
    phases = []
    for phase in sequence.phases:
        contacts = tuple(known.setdefault(id(contact), on(contact)) for contact in phase.contacts)
        phases.append(replace(phase, contacts=contacts))
    return replace(sequence, phases=tuple(phases))


def with_centres(sequence: ContactSequence, name: str, com: Array, check: WholeBodyCheck, q0: Array) -> ContactSequence:
    """Return the sequence with a centre of mass for each phase.

    A missing one is placed over the centre of the load-bearing contacts, as high above the lowest of them as at the
    start, or as high as inverse kinematics can reach, including the contacts of the neighbouring phases, which are made
    or broken near there.

    Args:
        sequence: of one subsystem.
        name: name of the subsystem.
        com: at the start, (3,) [m].
        check: of the whole body.
        q0: configuration at the start, (nq,).
    """
    first = _carrying(sequence.phases[0])
    foot = np.array([*first[:, :2].mean(axis=0), first[:, 2].min()])
    height = com[2] - foot[2]
    phases, q = [replace(sequence.phases[0], com={name: com})], q0
    for number, phase in enumerate(sequence.phases[1:], start=1):
        if name in phase.com:
            phases.append(phase)
            continue
        near = sequence.phases[number - 1 : number + 2]
        sets = [each.contacts for each in near if not phase.broken(each)]
        places = _carrying(phase)
        over = np.array([*places[:, :2].mean(axis=0), places[:, 2].min()])
        place, q = _highest(check, sets, over, height, (q, check.carried(q0, over - foot)))
        phases.append(replace(phase, com={name: place}))
    return replace(sequence, phases=tuple(phases))


def _highest(
    check: WholeBodyCheck, sets: Sequence[Sequence[Contact]], over: Array, height: float, starts: Sequence[Array]
) -> tuple[Array, Array]:
    """Return the highest position over a point, up to a height [m], that all contacts allow, and a posture there."""

    def posture(share: float) -> Array | None:
        place = over + [0.0, 0.0, share * height]
        for start in starts:  # from the last phase, else from the first
            found, missed = start, 0.0
            for contacts in sets:
                found, miss = check.reach(contacts, start, place)
                missed = max(missed, miss)
            if missed <= REACHED:
                return found
        return None

    low, high, best = _LOWEST, 1.0, posture(1.0)
    if best is not None:
        return over + [0.0, 0.0, height], best
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        found = posture(middle)
        if found is None:
            high = middle
        else:
            low, best = middle, found
    return over + [0.0, 0.0, low * height], starts[0] if best is None else best


def towards_the_smaller(name: str) -> Cost:
    """Return the cost that attracts each transition point to the centre of mass of the phase with fewer contacts."""

    def cost(context: CostInput) -> QuadraticCost:
        smaller = min(context.before, context.after, key=lambda phase: len(phase.contacts))
        return QuadraticCost.towards(smaller.com.get(name, context.start))

    return cost


def _carrying(phase: ContactPhase) -> Array:
    places = [contact.pose.translation for contact in phase.contacts if contact.normal[2] > 0.5]
    return np.array(places or [contact.pose.translation for contact in phase.contacts])


def _standing(scenario: Scenario, name: str, sequence: ContactSequence, check: WholeBodyCheck) -> Scenario:
    """Return the scenario with the character placed on the contacts of the first phase."""
    scene, contacts = scenario.scene, sequence.phases[0].contacts
    q, missed = check.reach(contacts, scene.q0)
    if missed > _PLACED:
        worst = ", ".join(contact.name for contact in contacts)
        raise MultiQpError(f"{name} cannot be placed on {worst}: its posture misses them by {missed:.3f} m")
    return replace(scenario, scene=scene.with_initial_configuration(q))


def _file(given: str, scenario: Path) -> str | Path:
    """Return a sequence's file beside the scenario, else the given name or path."""
    beside = scenario.parent / given
    return beside if is_file(beside) else given
