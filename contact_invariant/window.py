"""Moving window of a motion that is made again while it is carried out: its task terms, and its next guess."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from contact_invariant.character import Character, behaviour_of
from contact_invariant.motion import Motion
from contact_invariant.timed_plan import TimedPlan
from multi_qp_scene.arrays import Array
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.schema.behaviour import BehaviourSpec, OnlineSpec, PositionTerm, TaskTerm

#: Contact variable of a patch that is, or is not, in contact in a motion that was read from a file.
MADE, FREE = 1.0 - 1e-6, 1e-6


def online_of(behaviour: BehaviourSpec) -> OnlineSpec:
    """Return the options of a behaviour whose motion is made again.

    Raises:
        ValueError: it is not.
    """
    if behaviour.online is None:
        raise ValueError("the behaviour has no `online`")
    return behaviour.online


def target_of(behaviour: BehaviourSpec) -> Array:
    """Return the target before its moves, (2,) [m]."""
    (term,) = (term for term in behaviour.terms if isinstance(term, PositionTerm))
    return np.array(term.target[:2])


def place_towards(start: Array, target: Array, reach: float) -> Array:
    """Return the place at most `reach` [m] from a start on the way to a target, (2,) each."""
    way = target - start
    length = float(np.linalg.norm(way))
    return target if length <= reach else start + way * (reach / length)


def window_behaviour(behaviour: BehaviourSpec, start: Array, target: Array) -> BehaviourSpec:
    """Return the task terms of a window.

    The place is that of the end, and as a running cost, with a small weight, that of the end of each other phase.

    Args:
        behaviour: of the scenario.
        start: centre of mass where the window begins, (2,) [m].
        target: (2,) [m].
    """
    online, terms = online_of(behaviour), list[TaskTerm]()
    for term in behaviour.terms:
        if not isinstance(term, PositionTerm):
            terms.append(term)
            continue
        for phase in range(1, behaviour.phases + 1):
            place = place_towards(start, target, online.speed * phase * behaviour.phase_duration).tolist()
            last = phase == behaviour.phases
            update = {"target": place, "phase": phase, "weight": term.weight if last else online.running}
            terms.append(term.model_copy(update=update))
    return behaviour.model_copy(update={"terms": terms})


def first_window(scenario: Scenario, character: Character) -> Scenario:
    """Return a scenario whose behaviour is that of the first window."""
    behaviour = behaviour_of(scenario)
    start = character.features_at(scenario.scene, scenario.scene.q0)[:2]
    window = window_behaviour(behaviour, start, target_of(behaviour))
    return replace(scenario, spec=scenario.spec.model_copy(update={"behaviour": window}))


def shifted(motion: Motion, phases: int) -> Motion:
    """Return a motion without its first phases, followed by as many at rest in its last state, from time 0 on."""
    K = len(motion.c)
    gone, kept = min(phases, K), max(K - phases, 0)
    pieces, samples = motion.pieces, len(motion.times) // K

    def moved(values: Array, size: int) -> Array:
        rest = np.repeat(values[-1:], gone * size, axis=0)
        return np.concatenate([values[len(values) - kept * size :], rest])

    knots = np.concatenate([motion.x[-1 - kept * pieces :], np.repeat(motion.x[-1:], gone * pieces, axis=0)])
    rates = np.concatenate([motion.rates[-1 - kept * pieces :], np.zeros((gone * pieces, motion.x.shape[1]))])
    return replace(
        motion,
        x=knots,
        rates=rates,
        c=moved(motion.c, 1),
        forces=moved(motion.forces, samples),
        angles=moved(motion.angles, samples),
    )


def motion_of(plan: TimedPlan, character: Character, first: int, times: Array, phases: int) -> Motion:
    """Return the motion of a plan that was read from a file, with a guess of what the file does not have.

    Args:
        plan: of a motion that is not refined.
        character: its character.
        first: index of the character's first coordinate in the scene's configuration.
        times: of forces and joint angles, (m,) [s].
        phases: number of phases.
    """
    pieces = (len(plan.knots) - 1) // phases
    touched = (plan.touched[:-1] != "").reshape(phases, pieces, -1).any(axis=1)
    columns = [int(k) - first for limb in character.limbs for k in limb.q_index]
    angles = [np.interp(times, plan.times, plan.postures[:, k]) for k in columns]
    knots = plan.knots[::pieces]
    active = touched[np.clip(np.searchsorted(knots, times, side="right") - 1, 0, phases - 1)]
    forces = np.zeros((len(times), len(plan.effectors), 6))
    forces[:, :, 2] = active / np.maximum(active.sum(axis=1, keepdims=True), 1)
    return Motion(
        effectors=tuple(map(str, plan.effectors)),
        knots=knots,
        x=plan.x,
        rates=plan.rates,
        c=np.where(touched, MADE, FREE),
        times=times,
        forces=forces,
        angles=np.array(angles).T.reshape(len(times), -1),
    )


def joined(motions: list[tuple[Motion, int]]) -> Motion:
    """Return the motion that begins with the given number of phases of each motion, in this order."""
    parts = []
    for motion, phases in motions:
        samples = phases * (len(motion.times) // len(motion.c))
        parts.append((motion, phases, phases * motion.pieces, samples))
    last, _, end, _ = parts[-1]
    T = float(last.knots[1] - last.knots[0])
    begins = T * np.cumsum([0, *(phases for _, phases in motions)])
    return replace(
        last,
        knots=T * np.arange(round(begins[-1] / T) + 1),
        x=np.vstack([*(m.x[:pieces] for m, _, pieces, _ in parts), last.x[end : end + 1]]),
        rates=np.vstack([*(m.rates[:pieces] for m, _, pieces, _ in parts), last.rates[end : end + 1]]),
        c=np.vstack([m.c[:phases] for m, phases, _, _ in parts]),
        times=np.concatenate([b + m.times[:s] for b, (m, _, _, s) in zip(begins, parts, strict=False)]),
        forces=np.vstack([m.forces[:s] for m, _, _, s in parts]),
        angles=np.vstack([m.angles[:s] for m, _, _, s in parts]),
    )
