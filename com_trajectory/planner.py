"""Planner of centre-of-mass trajectories through contact phases.

Example::

    sequence = load_contact_sequence("stairs")
    trajectory = plan_com(sequence, polytopes)
    trajectory.position(0.5), trajectory.velocity(0.5), trajectory.acceleration(0.5)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from com_trajectory.bezier import Bezier
from com_trajectory.costs import COSTS, Cost, CostInput, QuadraticCost
from com_trajectory.dynamic import plan_dynamic
from com_trajectory.phases import PRELOAD, ContactMargin, PlannedPhase, planned_phases
from com_trajectory.polyline import polyline, smooth
from com_trajectory.polytope import Polytope
from com_trajectory.switching import PARTS
from com_trajectory.timing import SHORTEST, empirical_duration, shortest_duration, slowdown
from com_trajectory.trajectory import ComTrajectory, deviations
from com_trajectory.transition import TransitionPoint, transition_by_loads
from com_trajectory.windows import PhaseWindow, WindowCurve, joined, windows_of
from multi_qp_scene import former_names
from multi_qp_scene.arrays import Array
from multi_qp_scene.contact_sequence import ContactPhase, ContactSequence
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.former_names import present_name
from multi_qp_scene.suggestions import unknown_name

CurveKind = Literal["2pac", "polyline", "smooth"]
Timing = Literal["feasible", "empirical"]


@dataclass(frozen=True)
class PlanOptions:
    """Options of the planner.

    Attributes:
        curve: "2pac": windows of (8) and (9); "polyline": exact, with stops; "smooth": one curve, (10), (11).
        sliding: whether windows are joined without a stop.
        largest_window: phases in a window, 2 or 3.
        timing: "feasible": shortest for which (1) holds; "empirical": proportional to the distances.
        cost: of the transition points: a name from `COSTS` or a function.
        preload: share of the weight spread evenly over all friction rays at transition points, where possible.
        points: transition points by their index, (3,) [m]; each is projected into its polytope.
        dynamic: satisfy (1) at every instant without static equilibrium; on failure use `curve` and add a note.
        least: returns the minimum duration of each phase [s], for limbs that need their time; none if None.
        contact_margin: what is left unused of each contact.
    """

    curve: CurveKind = "2pac"
    sliding: bool = True
    largest_window: int = 3
    timing: Timing = "feasible"
    cost: str | Cost = "nearest"
    preload: float = PRELOAD
    points: Mapping[int, ArrayLike] = field(default_factory=dict)
    dynamic: bool = False
    least: Callable[[Sequence[ContactPhase]], Sequence[float]] | None = None
    contact_margin: ContactMargin = field(default_factory=ContactMargin)


def plan_com(
    sequence: ContactSequence,
    polytopes: Mapping[str, Polytope],
    *,
    subsystem: str | None = None,
    options: PlanOptions | None = None,
) -> ComTrajectory:
    """Return a centre-of-mass trajectory through the contact phases of one subsystem.

    Infeasible transitions are relaxed by the least violation, which the trajectory's transition points report. Where
    (1) or (4) is violated along the curve, its notes say so.

    Args:
        sequence: the contact phases.
        polytopes: of the centre of mass in the frame of each effector's surface, by its name.
        subsystem: name; may be left out if the sequence has only one.
        options: see `PlanOptions`.

    Raises:
        MultiQpError: unknown subsystem, invalid option, or consecutive phases without a common contact.

    Source: [Tonneau2018] sections 5, 6.
    """
    trajectory = _planned(sequence, polytopes, subsystem, options or PlanOptions())
    return replace(trajectory, notes=(*trajectory.notes, *deviations(trajectory)))


def _planned(
    sequence: ContactSequence, polytopes: Mapping[str, Polytope], subsystem: str | None, options: PlanOptions
) -> ComTrajectory:
    """Return the trajectory, with notes on its transition points."""
    phases = planned_phases(sequence, _chosen(sequence, subsystem), polytopes, options.contact_margin)
    least = np.zeros(len(phases)) if options.least is None else np.array(options.least([p.phase for p in phases]))
    transitions = transition_points(phases, options)
    notes = _notes(phases, transitions, options)
    if len(phases) == 1:
        return _at_rest(phases[0], options, notes)
    if options.dynamic:
        found = plan_dynamic(phases, transitions, notes, least)
        if isinstance(found, ComTrajectory):
            return found
        notes.append(f"not dynamic: {found}")
    if options.curve == "2pac":
        windows = windows_of(phases, largest=options.largest_window)
        return _not_shorter(_two_pac(windows, phases, transitions, options, notes), least)
    if options.curve == "polyline":
        return polyline(phases, transitions, notes, least, feasible=options.timing == "feasible")
    if options.curve == "smooth":
        return _not_shorter(smooth(phases, transitions, notes, feasible=options.timing == "feasible"), least)
    raise MultiQpError(unknown_name("curve", options.curve, ("2pac", "polyline", "smooth")))


def _not_shorter(trajectory: ComTrajectory, least: Array) -> ComTrajectory:
    """Return a trajectory without stops, slowed down as a whole so that no phase is shorter than its minimum."""
    durations = np.diff(trajectory.phase_ends, prepend=0.0)
    factor = max(1.0, float((least / np.maximum(durations, 1e-3)).max()))
    pieces = tuple(piece.moved_to(factor * piece.start, slower=factor) for piece in trajectory.pieces)
    return replace(trajectory, pieces=pieces, phase_ends=factor * trajectory.phase_ends)


def transition_points(phases: Sequence[PlannedPhase], options: PlanOptions) -> list[TransitionPoint]:
    """Return the transition point between each phase and the next.

    The equilibrium is that of the contacts common to both phases, the reach that of the contacts of either: the
    following phase and this one where a contact is broken, the reverse where one is made.

    Source: [Tonneau2018] (13).
    """
    cost = _cost(options.cost)
    found: list[TransitionPoint] = []
    for index, (before, after) in enumerate(zip(phases[:-1], phases[1:], strict=True)):
        fewer = after if not before.phase.made(after.phase) else before
        more = before if fewer is after else after
        if index in options.points:
            place = np.asarray(options.points[index], dtype=float)
            if place.shape != (3,) or not np.isfinite(place).all():
                raise MultiQpError(f"points[{index}]: expected 3 finite numbers, got {place.tolist()}")
            objective, preload = QuadraticCost.towards(place), 0.0
        else:
            context = CostInput(before.rest.point, before.phase, after.phase, before.facing, index)
            objective, preload = cost(context), options.preload
        point = transition_by_loads(fewer.cone, more.reach, objective, preload=preload)
        found.append(point)
    unknown = [index for index in options.points if not 0 <= index < len(found)]
    if unknown:
        raise MultiQpError(f"points: no transition {unknown[0]}; they are numbered 0 to {len(found) - 1}")
    return found


def _two_pac(
    windows: Sequence[PhaseWindow],
    phases: Sequence[PlannedPhase],
    transitions: Sequence[TransitionPoint],
    options: PlanOptions,
    notes: Sequence[str],
) -> ComTrajectory:
    feasible = options.timing == "feasible"
    durations = [empirical_duration(window, phases, transitions, final=not feasible) for window in windows]
    curves = joined(windows, phases, transitions, durations, sliding=options.sliding)
    pieces, ends = _in_time(curves, len(phases))
    if feasible:
        pieces, ends = _retimed(curves, pieces, ends, phases)
    return ComTrajectory(tuple(pieces), tuple(phases), ends, tuple(transitions), "2pac", tuple(notes))


def _retimed(
    curves: Sequence[WindowCurve], pieces: Sequence[Bezier], ends: Array, phases: Sequence[PlannedPhase]
) -> tuple[list[Bezier], Array]:
    """Return the pieces retimed, with one factor for all joined without a stop, so that paths are unchanged."""
    factors = [_slowdown_of(each, phases) for each in curves]
    first = 0
    for last, each in enumerate(curves):
        if each.share == 1.0:  # at rest
            factors[first : last + 1] = [max(factors[first : last + 1])] * (last + 1 - first)
            first = last + 1
    result: list[Bezier] = []
    retimed = ends.copy()
    start = 0.0
    for piece, factor, each in zip(pieces, factors, curves, strict=True):
        for number in range(each.window.first, each.window.last):
            retimed[number] = start + (ends[number] - piece.start) * factor
        result.append(piece.moved_to(start, slower=factor))
        start = result[-1].end
    retimed[-1] = start
    return result, retimed


def _slowdown_of(each: WindowCurve, phases: Sequence[PlannedPhase]) -> float:
    """Return the factor on the duration of the used part of a window's curve."""
    used = each.curve.part(0.0, each.share) if each.share < 1.0 else each.curve
    own = phases[each.window.first : each.window.last + 1]
    ends = [*(cut / PARTS * each.curve.duration for cut in each.switching.cuts), used.duration]
    shortest = shortest_duration(each.window) / each.curve.duration
    return max(slowdown(used, own, ends, at_least=shortest), shortest)


def _in_time(curves: Sequence[WindowCurve], phases: int) -> tuple[list[Bezier], Array]:
    """Return the used parts in sequence, and the ends of all phases [s]."""
    pieces: list[Bezier] = []
    ends = np.zeros(phases)
    start = 0.0
    for each in curves:
        used = each.curve.part(0.0, each.share) if each.share < 1.0 else each.curve
        for number, cut in enumerate(each.switching.cuts):
            ends[each.window.first + number] = start + cut / PARTS * each.curve.duration
        pieces.append(used.moved_to(start))
        start += used.duration
    ends[-1] = start
    return pieces, ends


def _at_rest(phase: PlannedPhase, options: PlanOptions, notes: Sequence[str]) -> ComTrajectory:
    duration = phase.phase.duration or SHORTEST
    piece = Bezier(np.tile(phase.rest.point, (3, 1)), 0.0, duration)
    return ComTrajectory((piece,), (phase,), np.array([duration]), (), options.curve, tuple(notes))


def _chosen(sequence: ContactSequence, subsystem: str | None) -> str:
    names = sequence.subsystems
    if subsystem is None:
        if len(names) > 1:
            raise MultiQpError(f"contact sequence {sequence.name!r}: specify the subsystem, one of {', '.join(names)}")
        return names[0]
    if subsystem not in names:
        raise MultiQpError(unknown_name("subsystem", subsystem, names))
    return subsystem


def _cost(cost: str | Cost) -> Cost:
    if not isinstance(cost, str):
        return cost
    cost = present_name("the cost", cost, former_names.COSTS)
    if cost not in COSTS:
        raise MultiQpError(unknown_name("cost", cost, COSTS))
    return COSTS[cost]


def _notes(phases: Sequence[PlannedPhase], transitions: Sequence[TransitionPoint], options: PlanOptions) -> list[str]:
    notes = []
    for index, found in enumerate(transitions):
        where = f"transition {index}"
        if found.kinematic_slack > 1e-6:
            notes.append(f"{where}: the effectors' reach is exceeded by {found.kinematic_slack:.3f} m")
        if found.unbalanced > 1e-6:
            notes.append(
                f"{where}: no static equilibrium on these contacts; {found.unbalanced:.1%} of the weight is unbalanced"
            )
        elif found.slack > 1e-6:
            notes.append(f"{where}: {found.slack:.3f} m outside the equilibrium region of the contacts")
        if index in options.points:
            requested = np.asarray(options.points[index], dtype=float)
            way = float(np.linalg.norm(found.point - requested))
            if way > 1e-6:
                notes.append(f"{where}: the requested point is {way:.3f} m outside its polytope and was projected")
    bare = sorted({c.effector for p in phases for c in p.phase.contacts} - _limited(phases))
    if bare:
        notes.append(f"no polytope limits the reach of: {', '.join(bare)}")
    return notes


def _limited(phases: Sequence[PlannedPhase]) -> set[str]:
    return {contact.effector for phase in phases for contact in phase.limited}
