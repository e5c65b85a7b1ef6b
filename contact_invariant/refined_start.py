"""Refinement of a start of a synthesis, with its audit and its plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from contact_invariant.audit import Bounds
from contact_invariant.carried import alone, carried_at, motion_alone, own_effectors
from contact_invariant.character import behaviour_of
from contact_invariant.character_builder import character_of
from contact_invariant.contact_schedule import node_times
from contact_invariant.motion import Motion, rotations
from contact_invariant.moving_surfaces import Load, MovingPiece, MovingSurface
from contact_invariant.refined_audit import RATIO, RefinedAudit, RefinedAuditor
from contact_invariant.refined_plan import refined_plan
from contact_invariant.refinement import Refinement, Refiner, continued, together
from contact_invariant.synthesis import Progress, Synthesiser
from contact_invariant.timed_plan import TimedPlan
from contact_invariant.whole_body import WholeBodyMotion
from multi_qp_scene.arrays import Array
from multi_qp_scene.pairs import watched_pairs
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.behaviour import BehaviourSpec, RestTerm, StrikeTerm

#: Distance from a joint limit below which a motion is refined again with firm barriers, although it passes: the dampers
#: of the QP brake there. Joints that start closer are allowed as much beyond [rad].
ROOM = 0.02
#: Most continuations of a refinement for torques alone, while these decrease.
FURTHER = 3


@dataclass(frozen=True)
class RefinedStart:
    """A refined motion.

    Attributes:
        refinement: motion, costs, times.
        before: audit of the simplified motion by the same measures.
        audit: audit of the refined motion.
        plan: what a controller plays.
    """

    refinement: Refinement
    before: RefinedAudit
    audit: RefinedAudit
    plan: TimedPlan


class Refining:
    """Refinement of all starts of a scenario's behaviour."""

    def __init__(self, scenario: Scenario, maker: Synthesiser) -> None:
        """Prepare.

        Raises:
            MultiQpError: crocoddyl is missing, or the scene does not fit.
        """
        self._scene, self._character, self._behaviour = scenario.scene, maker.character, behaviour_of(scenario)
        self._terms, surroundings = maker.problem.terms, maker.problem.surroundings
        self._strict = strict_phases(self._behaviour)
        self._surroundings = surroundings
        self._dampers = [pair for pair in watched_pairs(scenario.scene, scenario.spec.collisions) if pair.damper]
        self._refiners = []
        for name in maker.character.names:
            part = alone(scenario, name)
            character = maker.character if part is scenario else character_of(part)
            self._refiners.append(Refiner(part, character, replace(surroundings, prop=None)))
        friction = self._behaviour.friction
        self._auditor = RefinedAuditor(
            scenario.scene, maker.character, surroundings, friction=friction, bounds=Bounds()
        )

    def refine(self, motion: Motion, simplified: TimedPlan, progress: Progress | None) -> RefinedStart:
        """Return the refinement of a motion, which `simplified` is the plan of."""
        touched = simplified.touched[:-1]
        found = again = self._solved(motion, touched, progress)
        before, after = (self._audited(motion, one) for one in (found.before, found.motion))
        audit, iterations, seconds = after, found.iterations, found.seconds
        # With firm barriers from the start it needs more iterations, or diverges. What comes close only then is kept
        # apart when it continues; torques decrease further.
        low, near, torque = {"own links", "swing clearance"}, {"own links", "penetration", "torque"}, {"torque"}
        highest = float("inf")
        for firm, causes in ((False, low), (True, set()), (True, near), *[(True, torque)] * FURTHER):
            cramped = firm and not causes and _cramped(self._scene, after)
            if (after.passed and not cramped) or (causes and not causes & _missed(audit)):
                continue
            peaks = self._peaks(audit) if firm and causes else {}
            if causes == torque:
                if max(peaks.values()) >= highest:
                    break
                highest = max(peaks.values())
            again = self._solved(motion, touched, progress, again, firm=firm, peaks=peaks)
            audit = self._audited(motion, again.motion)
            iterations, seconds = iterations + again.iterations, seconds + again.seconds
            if audit.missed <= after.missed:
                found, after = again, audit
        found = replace(found, iterations=iterations, seconds=seconds)
        plan = refined_plan(
            self._scene, self._character, self._surroundings, found.motion, after, simplified, self._gains(found)
        )
        return RefinedStart(found, before, after, plan)

    def _gains(self, found: Refinement) -> Array:
        """Return the gains of all characters at the nodes, as those of a plan."""
        parts = [refiner.gains(part) for refiner, part in zip(self._refiners, found.parts, strict=True)]
        return np.hstack([part.reshape(len(part), -1) for part in parts])

    def _peaks(self, audit: RefinedAudit) -> dict[str, float]:
        """Return the largest torque of each motor that goes beyond its limit, relative to it."""
        ratios = np.abs(audit.dynamics.torques).max(axis=0) / self._scene.torque_limits
        named = zip(self._scene.actuated_joint_names, ratios.tolist(), strict=True)
        return {name: ratio for name, ratio in named if ratio > RATIO}

    def _audited(self, motion: Motion, refined: WholeBodyMotion) -> RefinedAudit:
        return self._auditor.audit_refined(refined, motion.knots, self._terms.values)

    def _solved(
        self,
        motion: Motion,
        touched: NDArray[np.str_],
        progress: Progress | None,
        last: Refinement | None = None,
        *,
        firm: bool = False,
        peaks: Mapping[str, float] = MappingProxyType({}),
    ) -> Refinement:
        """Return the refinement, each character by itself, with the path of the object.

        It continues `last` if given, with firmer barriers if `firm`, and less torque of the motors that `peaks` names.
        A character that touches another one follows its surfaces as that moves before, that one bears the forces, and
        the first one follows what this has changed. Each keeps clear of the other one as that moves before.
        """
        count, touchable = len(self._refiners), self._character.touchable
        parts = dict[int, Refinement]() if last is None else dict(enumerate(last.parts))
        bearers = [k for k in range(count) if touchable and touchable[k]]
        others = [k for k in range(count) if k not in bearers]
        times, before = node_times(motion.spline_knots), list[Array]()
        if count > 1:
            alone = [motion_alone(motion, self._character, k) for k in range(count)]
            before = [refiner.postures(one) for refiner, one in zip(self._refiners, alone, strict=True)]

        def now() -> list[Array]:
            """Return the postures of all as they are refined, or in the simplified motion."""
            return [parts[k].motion.q if k in parts else q for k, q in enumerate(before)]

        refined = set[int]()

        def one(k: int, moving: Mapping[str, MovingSurface], loads: tuple[Load, ...] = ()) -> Refinement:
            less = {} if k in refined else peaks  # shares are kept as one is refined once more
            refined.add(k)
            others = tuple(self._others(k, times, now(), before)) if count > 1 else ()
            return self._one(
                motion,
                touched,
                progress,
                k,
                parts.get(k),
                firm=firm,
                peaks=less,
                moving=moving,
                loads=loads,
                others=others,
            )

        moving = self._surfaces(bearers, times, now())
        for k in others:
            parts[k] = one(k, moving)
        for k in bearers:
            pushes = {name: push for other in others for name, push in parts[other].pushes.items()}
            loads = [self._refiners[k].load(moving[name], push) for name, push in pushes.items()]
            parts[k] = one(k, {}, tuple(loads))
        for k in others if bearers else []:
            parts[k] = continued(parts[k], one(k, self._surfaces(bearers, times, now())))
        found = [parts[k] for k in range(count)]
        simplified = self._together([part.before for part in found], motion, touched)
        after = self._together([part.motion for part in found], motion, touched)
        return together(found, simplified, after)

    def _surfaces(self, bearers: Sequence[int], times: Array, postures: Sequence[Array]) -> dict[str, MovingSurface]:
        """Return the surfaces that others touch of characters with postures at the nodes."""
        found = dict[str, MovingSurface]()
        for k in bearers:
            found |= self._refiners[k].surfaces(self._character.touchable[k], times, postures[k])
        return found

    def _others(
        self, k: int, times: Array, postures: Sequence[Array], before: Sequence[Array]
    ) -> Iterator[MovingPiece]:
        """Yield the pieces of all characters but one, which its surfaces that they touch keep no distance from.

        Args:
            k: index of that one.
            times: of the nodes, (M + 1,) [s].
            postures: of each character there, (M + 1, nq).
            before: those of the simplified motion.
        """
        touchable = self._character.touchable
        bears = self._refiners[k].joints(touchable[k]) if touchable else frozenset()
        names = [piece.name for piece in self._scene.collision_model.geometryObjects]
        for other, refiner in enumerate(self._refiners):
            if other == k:
                continue
            touching = refiner.joints(refiner.effectors)
            for joint, pieces in refiner.pieces(times, postures[other], before[other]).items():
                for piece in pieces:
                    index = names.index(piece.name)
                    ends = ((pair, pair.first, pair.second) for pair in self._dampers)
                    dampers = {names[b if a == index else a]: pair for pair, a, b in ends if index in (a, b)}
                    touches = bears if joint in touching else frozenset[int]()
                    yield replace(piece, touches=touches, dampers=dampers)

    def _one(
        self,
        motion: Motion,
        touched: NDArray[np.str_],
        progress: Progress | None,
        k: int,
        before: Refinement | None,
        *,
        firm: bool,
        peaks: Mapping[str, float],
        moving: Mapping[str, MovingSurface],
        loads: tuple[Load, ...],
        others: tuple[MovingPiece, ...],
    ) -> Refinement:
        """Return the refinement of the k-th character, see `Refiner.refine`."""
        character = self._character
        on_prop = [effector.on_prop for effector in character.effectors]
        mass = 0.0 if character.prop is None else character.prop.mass * character.mass
        return self._refiners[k].refine(
            motion_alone(motion, character, k),
            np.where(on_prop, "", touched)[:, own_effectors(character, k)],
            self._strict,
            carried=partial(carried_at, motion, character, k, touched, mass=mass),
            moving=moving,
            loads=loads,
            others=others,
            time_limit=self._behaviour.time_limit,
            progress=progress,
            before=before,
            firm=firm,
            peaks=peaks,
        )

    def _together(self, parts: Sequence[WholeBodyMotion], motion: Motion, touched: NDArray[np.str_]) -> WholeBodyMotion:
        """Return the motion of all characters with the path of the object, and with its contacts."""
        character, scene, times = self._character, self._scene, parts[0].times
        q = np.tile(scene.q0, (len(times), 1))
        for name, part in zip(character.names, parts, strict=True):
            q[:, scene.subsystems[name].q_slice] = part.q
        if character.prop is not None:
            x = motion.features(np.minimum(times, motion.duration - 1e-9))[0][:, character.prop_features]
            R = rotations(x[:, 3:])
            of_prop = scene.subsystems[character.prop.name].q_slice
            q[:, of_prop] = np.hstack([x[:, :3] - R @ character.prop.com, [pin.Quaternion(one).coeffs() for one in R]])
        pieces = np.searchsorted(motion.spline_knots, 0.5 * (times[1:] + times[:-1])) - 1
        touches = touched[pieces].copy()
        for k, part in enumerate(parts):
            own = own_effectors(character, k)
            free = [not character.effectors[i].on_prop for i in own]
            touches[:, np.array(own)[free]] = part.touched[:, free]
        roots = tuple(int(scene.model.joints[body.root].idx_q) for body in character.bodies)
        return WholeBodyMotion(times, q, touches, roots)


def strict_phases(behaviour: BehaviourSpec) -> set[int]:
    """Return the phases at whose end the refinement holds the centre of mass.

    All terms ask for that but `rest`, whose patches contacts hold, and places of limbs on the way that are preferences.
    """
    held = (t for t in behaviour.terms if not isinstance(t, RestTerm))
    return {(t.phase or behaviour.phases) - 1 for t in held if not (isinstance(t, StrikeTerm) and t.weight < 1.0)}


def _cramped(scene: Scene, audit: RefinedAudit) -> bool:
    """Return whether a joint comes so close to a limit that the dampers of the QP keep it from following."""
    limits = scene.limits

    def room(q: Array) -> Array:
        angles = q[..., limits.q_index]
        return np.concatenate([angles - limits.lower, limits.upper - angles], axis=-1)

    return bool((room(audit.postures.q) < np.minimum(ROOM, room(scene.q0) - ROOM)).any())


def _missed(audit: RefinedAudit) -> set[str]:
    return {finding.name for finding in audit.findings if not finding.met}
