"""From a scenario with a contact sequence to one with states that follow a 2PAC trajectory through it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from com_trajectory.costs import Cost, QuadraticCost, TransitionContext
from com_trajectory.kinematics import load_polytopes
from com_trajectory.planner import PlanOptions, plan_com
from com_trajectory.polytope import Polytope
from com_trajectory.trajectory import ComTrajectory
from multi_qp_controller.planned_states import with_states
from multi_qp_controller.planned_tasks import com_of
from multi_qp_controller.state_parts import Pace
from multi_qp_controller.whole_body_check import REACHED, Fault, Verdict, WholeBodyCheck
from multi_qp_scene.contact_sequence import Contact, ContactPhase, ContactSequence
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.forest import place_frames
from multi_qp_scene.resources import model_path
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene
from multi_qp_scene.sequence_file import load_contact_sequence

Array = NDArray[np.float64]

_PLACED = 1e-3  # [m, rad] further away than this a first posture does not stand on its contacts
_FLUSH, _ALIGNED = 5e-3, 0.02  # [m], [-] how near a surface a contact must be to be on it
_TOWARDS_CENTRE = 0.03  # [m] a step of a transition point that asked too much
_MOVED_IN = 1e-3  # [m] a point that was moved further than this into its polytope is not where it should be
_HALVINGS = 6  # of the height that a phase's centre of mass may have to give up
_LOWEST = 0.5  # share of the height at the start, above which it stays


@dataclass(frozen=True, eq=False)
class FollowedSequence:
    """A contact sequence, its trajectory, and the scenario that carries them out.

    Attributes:
        scenario: with states.
        trajectory: of the centre of mass.
        verdict: of the whole-body motion along it.
        repairs: what was moved and why, in plain English.
    """

    scenario: Scenario
    trajectory: ComTrajectory
    verdict: Verdict
    repairs: tuple[str, ...]


def follow_sequence(scenario: Scenario) -> FollowedSequence:
    """Plan the centre of mass through a scenario's contact sequence, and write the states that follow it.

    The character is put onto the contacts of the first phase. Transition points are moved until inverse kinematics
    finds a motion whose root is clear of the surroundings, or the time is up.

    Raises:
        MultiQpError: the scenario has no `contact_sequence`, or this does not fit the scene.

    Source: [Tonneau2018] 7.2.
    """
    spec = scenario.spec.contact_sequence
    if spec is None:
        raise MultiQpError(f"{scenario.name} has no `contact_sequence`")
    sequence = touched(load_contact_sequence(_file(spec.file, scenario.path)), scenario.scene)
    if len(sequence.subsystems) != 1 or sequence.subsystems[0] not in scenario.scene.subsystems:
        named = ", ".join(sequence.subsystems)
        raise MultiQpError(f"{spec.file}: expected a sequence of one subsystem of {scenario.name}, it has {named}")
    name = sequence.subsystems[0]
    sequence = sequence.of(name)
    check = WholeBodyCheck(scenario.scene, name)
    scenario = _standing(scenario, name, sequence, check)
    q0 = scenario.scene.q0
    sequence = with_centres(sequence, name, com_of(scenario.scene, name, q0), check, q0)
    model = model_path(scenario.spec.subsystems[name].model, relative_to=scenario.path.parent)
    loaded = load_polytopes(model).effectors
    polytopes = {surface: effector.polytope for surface, effector in loaded.items()}
    options = PlanOptions(curve=spec.curve, cost=spec.cost or towards_the_smaller(name))
    trajectory, verdict, repairs = repaired(sequence, polytopes, options, check, q0, budget=spec.budget)
    pace = Pace(**spec.pace.model_dump())
    done = with_states(scenario, sequence, pace=pace, trajectory=trajectory)
    return FollowedSequence(done, trajectory, verdict, tuple(repairs))


def repaired(
    sequence: ContactSequence,
    polytopes: Mapping[str, Polytope],
    options: PlanOptions,
    check: WholeBodyCheck,
    q0: Array,
    *,
    budget: float,
) -> tuple[ComTrajectory, Verdict, list[str]]:
    """Return a trajectory along which there is a whole-body motion, or the best that was found in time.

    Where the root is in an obstacle, the transition point nearest to that instant is moved by α n: by how deep it is,
    and out of the obstacle. Where a posture cannot be reached, it is moved towards the middle of its polytope.

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
    verdict = check.check(trajectory, q0)
    best = trajectory, verdict
    points = dict(options.points)
    while verdict.fault is not None and trajectory.transitions and perf_counter() - started < budget:
        fault = verdict.fault
        number, wanted = _moved_point(trajectory, fault)
        points[number] = wanted
        sequence = _leaning(sequence, trajectory, number, wanted - trajectory.transitions[number].point)
        trajectory = plan_com(sequence, polytopes, options=replace(options, points=points))
        there, before = trajectory.transitions[number].point, best[0].transitions[number].point
        stopped = fault.kind == "collision" and np.linalg.norm(there - wanted) > _MOVED_IN
        if stopped or np.linalg.norm(there - before) < _MOVED_IN:
            repairs.append(f"transition {number}: its contacts do not let it go where {fault.what} would be well")
            break
        verdict = check.check(trajectory, q0)
        repairs.append(f"transition {number}: moved, for {_said(fault)}")
        if verdict.faults < best[1].faults:
            best = trajectory, verdict
    if best[1].fault is not None:
        repairs.append(f"left as it is: {_said(best[1].fault)}, at {best[1].faults} instants")
    return *best, repairs


def _moved_point(trajectory: ComTrajectory, fault: Fault) -> tuple[int, Array]:
    """Return the transition point nearest to a fault, by its number, and where it should rather be, (3,) [m]."""
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
    """Return the sequence with the centres of mass on both sides of a transition moved too; first and last stay."""
    phases = list(sequence.phases)
    for planned in trajectory.phases[number : number + 2]:
        if planned.source is not None and 0 < planned.source < len(phases) - 1:
            phase = phases[planned.source]
            phases[planned.source] = replace(phase, com={name: com + way for name, com in phase.com.items()})
    return replace(sequence, phases=tuple(phases))


def _said(fault: Fault) -> str:
    if fault.kind == "collision":
        return f"{fault.what} are {fault.amount:.3f} m in each other at {fault.time:.2f} s"
    return f"the posture misses {fault.what} by {fault.amount:.3f} m at {fault.time:.2f} s"


def touched(sequence: ContactSequence, scene: Scene) -> ContactSequence:
    """Return the sequence with the surface that each contact touches, found by where it is if it does not say.

    Raises:
        MultiQpError: there is no surface where a contact is.
    """
    data = place_frames(scene.model, scene.q0)
    fixed = [s for s in scene.surfaces.values() if s.joint_id == 0 and s.kind == "planar"]

    def on(contact: Contact) -> Contact:
        if contact.other is not None:
            return contact
        for surface in fixed:
            place = data.oMf[surface.frame_id].actInv(contact.pose)
            edges, offsets = surface.edges
            inside = bool((edges @ place.translation[:2] <= offsets + _FLUSH).all())
            if inside and abs(place.translation[2]) <= _FLUSH and place.rotation[2, 2] < _ALIGNED - 1.0:
                return replace(contact, other=surface.name)
        raise MultiQpError(f"contact {contact.name!r}: no surface of the scene is there, at {contact.pose.translation}")

    known: dict[int, Contact] = {}
    phases = []
    for phase in sequence.phases:
        contacts = tuple(known.setdefault(id(contact), on(contact)) for contact in phase.contacts)
        phases.append(replace(phase, contacts=contacts))
    return replace(sequence, phases=tuple(phases))


def with_centres(sequence: ContactSequence, name: str, com: Array, check: WholeBodyCheck, q0: Array) -> ContactSequence:
    """Return the sequence with a centre of mass for each phase that has none.

    It is over the middle of the contacts that carry, as high above the lowest of them as it is at the start, or as high
    as inverse kinematics can have it there, with the contacts of the neighbouring phases too: it is near there that
    these come off or are made.

    Args:
        sequence: of one subsystem.
        name: of the subsystem.
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
    """Return the highest place over a point, up to a height [m], that all contacts allow, and a posture there."""

    def posture(share: float) -> Array | None:
        place = over + [0.0, 0.0, share * height]
        for start in starts:  # from the last phase, else anew from the first
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
    """Return the cost that draws each transition point to the centre of mass of the phase that has fewer contacts."""

    def cost(context: TransitionContext) -> QuadraticCost:
        smaller = min(context.before, context.after, key=lambda phase: len(phase.contacts))
        return QuadraticCost.towards(smaller.com.get(name, context.start))

    return cost


def _carrying(phase: ContactPhase) -> Array:
    places = [contact.pose.translation for contact in phase.contacts if contact.normal[2] > 0.5]
    return np.array(places or [contact.pose.translation for contact in phase.contacts])


def _standing(scenario: Scenario, name: str, sequence: ContactSequence, check: WholeBodyCheck) -> Scenario:
    """Return the scenario with the character on the contacts of the first phase."""
    scene, contacts = scenario.scene, sequence.phases[0].contacts
    q, missed = check.reach(contacts, scene.q0)
    if missed > _PLACED:
        worst = ", ".join(contact.name for contact in contacts)
        raise MultiQpError(f"{name} cannot be put onto {worst}: its posture misses them by {missed:.3f} m")
    part = scene.subsystems[name]
    postures = {**part.postures, "initial": q[part.q_slice].copy()}
    subsystems = {**scene.subsystems, name: replace(part, postures=postures)}
    return replace(scenario, scene=replace(scene, q0=q, subsystems=subsystems))


def _file(given: str, scenario: Path) -> str | Path:
    """Return a sequence's file beside the scenario, else what was given: a name or a path."""
    beside = scenario.parent / given
    return beside if beside.is_file() else given
