"""Synthesis of a behaviour: continuation in stages, noise between them, several seeds."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from contact_invariant.character import Character, behaviour_of
from contact_invariant.character_builder import character_of
from contact_invariant.contact_schedule import feet_of, touched_at_start
from contact_invariant.least_squares import Fit, levenberg_marquardt
from contact_invariant.motion import Motion
from contact_invariant.postures import postures_of
from contact_invariant.problem import SynthesisProblem
from contact_invariant.quasi_newton import quasi_newton
from contact_invariant.start_pose import check_contact_at_start
from contact_invariant.surroundings import Surroundings, surroundings_of_behaviour
from contact_invariant.timed_plan import rests_at
from contact_invariant.whole_body import features_of
from multi_qp_scene.arrays import Array
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.behaviour import BehaviourSpec

#: Standard deviation of the noise between stages [m], [rad], [body weights].
NOISE = 0.01
#: Largest logit of a contact variable at the start of a stage: further out there is no gradient.
LOGIT = 2.0
#: Logit of the contact variables at the start of the second stage.
FRESH = -1.0
#: The same of patches, other than feet, that touch in the start pose: with that above, what a lying body rests on is
#: found by chance.
LYING = 1.0
#: Least logit at the start of the later stages of these, and of contacts of the object: one that was given up while
#: physics was weak would stay so, as it has no gradient, and the object would be thrown.
OBJECT = 0.0
#: Cost of phases without a contact above which the second stage begins again with other noise, and how often: two limbs
#: that pass an obstacle in the same phase are a local minimum, in which the later stages stay.
FLYING, RETRIES = 0.3, 2
#: Weight of the displacement of the centre of mass by limbs where task terms hold, if the behaviour asks for it [1/m].
BALANCE = 300.0
#: Half of the interval over which velocities of the full model's centre of mass are differences [s].
DIFFERENCE = 0.02
#: Logits of the contacts that the first phase retains from the start pose, and of all others in it, which must be so
#: low that hands far from everything cost nothing.
HELD, NOT_HELD = 3.0, -12.0


@dataclass(frozen=True)
class Stage:
    """Weights of a stage of the continuation, and its largest number of iterations."""

    name: str
    weights: dict[str, float]
    iterations: int = 60
    fresh: bool = False  # whether contact variables begin anew


_COMMON = {"effort": 0.05, "torque": 0.1, "acceleration": 0.02, "prior": 0.03, "posture": 0.3, "creep": 0.0,
           "duration": 30.0}  # fmt: skip
#: First task terms alone, the rest only for uniqueness; then all terms, with rising weights of physics and contacts.
STAGES = (
    Stage("task", {**_COMMON, "contact": 0.1, "physics": 0.01, "kinematics": 3.0, "task": 10.0, "penetration": 3.0,
                   "absent": 0.01, "cone": 1.0, "drag": 0.0, "support": 0.0, "ramp": 10.0,
                   "overload": 0.0}, iterations=20),
    Stage("contacts", {**_COMMON, "contact": 10.0, "physics": 3.0, "kinematics": 10.0, "task": 10.0,
                       "penetration": 10.0, "absent": 2.0, "cone": 3.0, "drag": 0.3,
                       "support": 3.0, "ramp": 20.0, "overload": 1.0}, fresh=True),
    Stage("physics", {**_COMMON, "contact": 30.0, "physics": 10.0, "kinematics": 30.0, "task": 20.0,
                      "penetration": 30.0, "absent": 4.0, "cone": 10.0, "drag": 1.0, "support": 3.0, "ramp": 20.0,
                      "overload": 3.0}),
    Stage("refinement", {**_COMMON, "contact": 300.0, "physics": 60.0, "kinematics": 300.0, "task": 40.0,
                         "penetration": 400.0, "absent": 8.0, "cone": 30.0, "drag": 5.0, "support": 3.0, "ramp": 0.0,
                         "overload": 10.0, "duration": 0.3}),
)  # fmt: skip

#: Name of the further stage of behaviours that ask for `firming`.
FIRMING = "firming"
#: Name of the further stage of behaviours that ask for `exact`, and the factors of the last stage's weights in it.
EXACT = "exact"
EXACTLY = {"physics": 10.0, "kinematics": 10.0, "contact": 5.0, "absent": 4.0, "cone": 4.0, "penetration": 3.0}

#: Optimisers by name, with the largest number of iterations of a stage if it is not that of the stage: ours, and for
#: comparison the published one, with the least of the paper's 250 to 1000.
METHODS: dict[str, tuple[Callable[..., Fit], int | None]] = {
    "lm": (levenberg_marquardt, None),
    "lbfgs": (quasi_newton, 250),
}

Progress = Callable[[str, int, float], None]
"""Called with the stage, the iteration and the cost."""


@dataclass(frozen=True)
class Synthesis:
    """Result of a synthesis.

    Attributes:
        seed: seed of the noise.
        motion: motion and contacts.
        costs: share of each term in the final cost.
        stages: name and course of each stage.
        features: name, unit and final value of each task feature.
        seconds: computing time [s].
        complete: whether all stages ended before the time limit.
    """

    seed: int
    motion: Motion
    costs: dict[str, float]
    stages: list[tuple[str, Fit]]
    features: list[tuple[str, str, float]]
    seconds: float
    complete: bool


class Synthesiser:
    """Contact-invariant optimisation of one behaviour, for any number of seeds.

    Attributes:
        character: simplified character.
        problem: cost.
    """

    def __init__(self, scenario: Scenario, method: str = "lm") -> None:
        """Build the cost.

        Args:
            scenario: with a behaviour.
            method: optimiser, of `METHODS`.

        Raises:
            MultiQpError: there is no behaviour, or the scene does not fit it.
        """
        self._minimise, self._iterations = METHODS[method]
        self._scenario = scenario
        self._behaviour = behaviour_of(scenario)
        self.character: Character = character_of(scenario)
        surroundings = surroundings_of_behaviour(scenario, self.character)
        check_contact_at_start(scenario, self.character, surroundings)
        self.problem = SynthesisProblem(self.character, surroundings, self._behaviour)
        self.problem.weights["balance"] = BALANCE
        q = scenario.scene.q0
        angles = q[self.character.joints.q_index]
        of_object = [effector.of_prop or effector.on_prop for effector in self.character.effectors]
        lying = resting_at_start(scenario.scene, self.character, surroundings, self._behaviour)
        self._fresh = np.where(lying, LYING, FRESH)
        self._least = np.where(lying | np.array(of_object), OBJECT, -LOGIT)
        x = self.character.features_at(scenario.scene, q)
        self._start = self.problem.initial(x, angles)
        self._held: Array | None = None
        if self._behaviour.held_start:
            self.problem.fixed += len(self.character.effectors)
            rests = [rests_at(self.character, surroundings, x, i) for i in range(len(self.character.effectors))]
            self._held = np.where(rests, HELD, NOT_HELD)

    def run(self, seed: int | None = None, *, progress: Progress | None = None) -> Synthesis:
        """Synthesise the motion; with the behaviour's seed if none is given."""
        seed = self._behaviour.seed if seed is None else seed
        begin, problem, rng = time.process_time(), self.problem, np.random.default_rng(seed)
        deadline, z, stages = begin + self._behaviour.time_limit, self._start.copy(), []
        planned = stages_of(self._behaviour)
        with threadpool_limits(1):  # matrices are small
            for number, stage in enumerate(planned):
                problem.weights.update(adapted(stage.weights, self._behaviour))
                if number > 1:
                    problem.weights["support"] *= self._behaviour.support
                if stage.name in {STAGES[-1].name, EXACT}:
                    problem.weights["drag"] *= self._behaviour.drag
                    if self._behaviour.object is not None:
                        problem.weights["creep"] = self._behaviour.object.slip
                noise = number > 0 and planned[number - 1].name != FIRMING and stage.name != EXACT
                fit = self._fit(stage, z, rng if noise else None, deadline, progress)
                for _ in range(RETRIES if stage.fresh else 0):
                    if fit.reason == "time" or problem.breakdown(fit.z)["support"] < FLYING:
                        break
                    again = self._fit(stage, z, rng, deadline, progress)
                    fit = min(fit, again, key=lambda one: one.costs[-1])
                z = fit.z
                stages.append((stage.name, fit))
                if fit.reason == "time":
                    break
        motion = self._motion(z)
        return Synthesis(
            seed=seed,
            motion=motion,
            costs=dict(problem.breakdown(z)),
            stages=stages,
            features=problem.terms.values(self._ends(motion)),
            seconds=time.process_time() - begin,
            complete=len(stages) == len(planned) and stages[-1][1].reason != "time",
        )

    def _fit(
        self, stage: Stage, z: Array, rng: np.random.Generator | None, deadline: float, progress: Progress | None
    ) -> Fit:
        """Return the result of a stage that begins at z, with noise if there is a generator of it."""
        problem, z = self.problem, z.copy()
        if rng is not None:
            z[problem.fixed :] += NOISE * rng.normal(size=len(z) - problem.fixed)
        logits = problem.logits(z)
        if stage.fresh:
            logits[:] = self._fresh
        elif stage.name != EXACT:  # with its weights, forces of contacts that begin in doubt would give some of them up
            logits[:] = np.clip(logits, self._least, LOGIT)
        if self._held is not None:
            logits[0] = self._held
        return self._minimise(
            problem,
            z,
            iterations=self._iterations or stage.iterations,
            deadline=deadline,
            progress=None if progress is None else _named(progress, stage.name),
        )

    def _ends(self, motion: Motion) -> list[tuple[Array, ...]]:
        """Return features, their rates, and the shift of the centre of mass at the end of each phase.

        Where the weight of limbs acts at their places, the centre of mass is that of the full model, which the forces
        balance: one that has its chest bent forward stands with the hips behind the feet.
        """
        last = slice(motion.pieces, None, motion.pieces)
        x, rates = motion.x[last].copy(), motion.rates[last].copy()
        shift = np.zeros((len(x), 3, len(self.character.bodies)))
        if self._behaviour.limb_weights:
            scene, character = self._scenario.scene, self.character
            times = motion.knots[1:, None] + DIFFERENCE * np.array([-1.0, 0.0, 1.0])
            times = np.clip(times, 0.0, motion.duration - 1e-9)
            full = features_of(scene, character, postures_of(scene, character, motion, times.ravel()).q)
            full = full.reshape(len(times), 3, -1)
            for k in range(len(character.names)):
                com = slice(character.body_features(k).start, character.body_features(k).start + 3)
                shift[:, :, k] = full[:, 1, com] - x[:, com]
                x[:, com] = full[:, 1, com]
                rates[:, com] = (full[:, 2, com] - full[:, 0, com]) / (times[:, 2:] - times[:, :1])
        return list(zip(x, rates, shift, strict=True))

    def _motion(self, z: Array) -> Motion:
        problem = self.problem
        x, rates = problem.knot_values(z)
        forces, angles = problem.local_values(z)
        return Motion(
            effectors=tuple(effector.name for effector in self.character.effectors),
            knots=np.append(0.0, np.cumsum(problem.durations(z))),
            x=x.copy(),
            rates=rates.copy(),
            c=1.0 / (1.0 + np.exp(-problem.logits(z)[:, self.character.variables])),
            times=problem.times(z),
            forces=forces.copy(),
            angles=angles.copy(),
        )


def resting_at_start(
    scene: Scene, character: Character, surroundings: Surroundings, behaviour: BehaviourSpec
) -> NDArray[np.bool_]:
    """Return which patches of the character, other than feet, touch the surroundings in the start pose, (N,).

    Without a term `stand`, none does, see `feet_of`.
    """
    touching, feet = touched_at_start(scene, character, surroundings) != "", feet_of(behaviour)
    other = [not (e.of_prop or e.on_prop or e.name in feet) for e in character.effectors]
    return np.asarray(touching & np.array(other))


def stages_of(behaviour: BehaviourSpec) -> tuple[Stage, ...]:
    """Return the stages of a behaviour: if it asks for `firming`, one more before the last, with weights between.

    They are the geometric means of those before and after it; of weights that end at 0, those before it. If it asks
    for `exact`, a further stage at the end has larger weights of physics and contacts.
    """
    *_, before, after = STAGES
    weights = {name: weight * EXACTLY.get(name, 1.0) for name, weight in after.weights.items()}
    exact = (Stage(EXACT, weights),) if behaviour.exact else ()
    if not behaviour.firming:
        return *STAGES, *exact
    between = {
        name: weight**0.5 * after.weights[name] ** 0.5 if after.weights[name] > 0.0 else weight
        for name, weight in before.weights.items()
    }
    return *STAGES[:-1], Stage(FIRMING, between), after, *exact


def adapted(weights: dict[str, float], behaviour: BehaviourSpec) -> dict[str, float]:
    """Return the weights of a stage with the factors of a behaviour."""
    return {
        **weights,
        "acceleration": weights["acceleration"] * behaviour.smoothness,
        "posture": weights["posture"] * behaviour.posture_cost,
        "contact": weights["contact"] * behaviour.physics**0.25,
        "physics": weights["physics"] * behaviour.physics,
        "absent": weights["absent"] * math.sqrt(behaviour.physics),
        "overload": weights["overload"] * behaviour.torque_limits,
    }


def _named(progress: Progress, stage: str) -> Callable[[int, float], None]:
    return lambda number, cost: progress(stage, number, cost)
