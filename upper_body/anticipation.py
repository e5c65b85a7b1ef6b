"""Motion generator whose hands meet obstacles that are seen, on antagonistic limbs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from multi_qp_controller.motion_generator import GeneratorInput, GeneratorOutput, MotionGenerator
from multi_qp_controller.references.minimum_jerk import minimum_jerk
from multi_qp_controller.tasks.impedance import impedance_joints
from multi_qp_controller.uncontrolled_subsystems import UncontrolledSubsystems
from multi_qp_scene.arrays import Array
from multi_qp_scene.configuration import posture_configuration
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.schema.upper_body import AnticipationSpec, HitsSpec
from upper_body.arm_kinematics import ArmKinematics
from upper_body.expectations import Expectations
from upper_body.grip import Grip, palm_offset
from upper_body.hand_path import HandPath, nearby
from upper_body.hits import Hit, YieldingLimb
from upper_body.legs import Legs
from upper_body.limbs import AntagonisticLimbs, impedance_task, tension_at
from upper_body.mass_estimate import HandPush, MassEstimate
from upper_body.meetings import Approach, Meeting, by_region, choose, meeting
from upper_body.regions import regions_of
from upper_body.sight import Sight, matches

#: Iterations of the inverse kinematics in the tick in which a hand takes a new target, and in the ticks after it.
FIRST_ITERATIONS, ITERATIONS = 12, 1
#: Largest speed of the target of a hinge, relative to the limit of the hinge.
SPEED = 0.6
#: Speed for which obstacles are searched ahead of time [m/s].
FAR = 3.0
#: Time constant of the mean velocity of a safety region, which predicts its motion better than the present one does
#: while the body sways with its steps [s].
MEAN_MOTION = 0.3


class AnticipationGenerator(MotionGenerator):
    """Holds limbs as `AntagonisticGenerator` does, and moves hands to obstacles that come near.

    Attributes:
        rules: the specification, with the settings that a user has changed.
        expectations: what is expected of the obstacles; None before the first tick with surroundings.
        estimate: masses of the obstacles as the hands feel them; None before that tick, and without `adapt`.
        hands: what each hand does.
        grips: where each hand sticks to its obstacle.
        hits: the last hit of each arm, and of each part of `hits.parts`.
        legs: what the legs do; None without `legs`.
        regions: the safety regions.
        motions: mean velocity of each region, world frame, (r, 3) [m/s].
        angles: present target of the hinges, (n,) [rad].
        start_angles: angles of the hinges at the start, (n,) [rad].
        started_at: time of the start [s].
    """

    @dataclass
    class Checkpoint:
        """Targets, paths of the hands, and what is known of the obstacles' masses."""

        motions: Annotated[Array, None, 3]
        angles: Array
        start_angles: Array
        hands: list[HandPath.Checkpoint]
        grips: list[Grip.Checkpoint]
        hits: list[Hit.Checkpoint]
        legs: Legs.Checkpoint | None
        started_at: float
        estimate: MassEstimate.Checkpoint | None

    def __init__(self, name: str, spec: AnticipationSpec, scenario: Scenario) -> None:
        """Create it.

        Raises:
            MultiQpError: when `joints` names none, or one that cannot be held so, or none of the joints of a hand.
        """
        super().__init__(name, spec, scenario)
        scene = scenario.scene
        v_index = impedance_joints(f"generator '{name}", spec.subsystem, spec.joints, scenario)
        reference = posture_configuration(scene, spec.subsystem, spec.reference)
        self._spec = self.rules = spec
        self.limbs = AntagonisticLimbs(scene, v_index, reference)
        joints = self.limbs.joints
        self._rest = posture_configuration(scene, spec.subsystem, spec.posture)[joints.q_index]
        self._sight: Sight | None = None
        self._kept_out: list[Array] = []
        self.expectations: Expectations | None = None
        self.estimate: MassEstimate | None = None
        self._restored: MassEstimate.Checkpoint | None = None
        self._eye = scene.frame_id(f"{spec.subsystem}/{spec.sight.link}")
        self._arms = self._make_arms()
        self.regions = regions_of(spec, scene, self._arms, joints.q_index)
        self.motions = np.zeros((len(self.regions), 3))
        self._free = np.setdiff1d(np.arange(len(joints.v_index)), np.concatenate([arm.hinges for arm in self._arms]))
        self._groups = [
            np.array([bool(set(range(*part)) & set(arm.hinges.tolist())) for part in joints.hinges])
            for arm in self._arms
        ]
        self._rates = SPEED * scene.model.velocityLimit[joints.v_index]
        self.angles = self.start_angles = self._rest.copy()
        self.started_at = 0.0
        self.hands, self.grips = self._at_rest(0.0), [Grip() for _ in self._arms]
        self.tasks["limbs"] = impedance_task(scene, spec, self.limbs)
        self.legs: Legs | None = None
        if spec.legs is not None:
            own = scene.subsystems[spec.subsystem]
            self.legs = Legs(spec.legs, own.root_joints[0], own.v_slice.start)
        self.hits: list[Hit] = []
        self._parts: dict[str, YieldingLimb] = {}
        self._carried: dict[str, list[int]] = {}
        if spec.hits is not None:
            self._make_hits(spec.hits, reference)

    def _make_hits(self, spec: HitsSpec, reference: Array) -> None:
        scene, joints = self.scenario.scene, self.limbs.joints
        own = [(joints.v_index[arm.hinges], joints.q_index[arm.hinges]) for arm in self._arms]
        self.hits = [Hit(spec, scene, *index) for index in own]
        for part, patterns in spec.parts.items():
            where = f"generator '{self.name}': part '{part}"
            v_index = impedance_joints(where, self._spec.subsystem, patterns, self.scenario)
            limb = self._parts[part] = YieldingLimb(self._spec, spec, scene, v_index, reference)
            self._carried[part] = [h for h, arm in enumerate(self._arms) if limb.carries(scene, arm.shoulder)]
            self.hits.append(limb.hit)
            self.tasks[part] = impedance_task(scene, self._spec, limb.limbs)

    def _make_arms(self) -> list[ArmKinematics]:
        scene, spec, arms = self.scenario.scene, self.rules, list[ArmKinematics]()
        for hand, one in spec.hands.items():
            surface = scene.surfaces[f"{spec.subsystem}/{one.palm}"]
            shoulder = scene.frame_id(f"{spec.subsystem}/{one.shoulder}")
            arms.append(ArmKinematics(scene, surface, shoulder, self.limbs.joints.v_index))
            if not len(arms[-1].hinges):
                raise MultiQpError(f"generator '{self.name}': hand '{hand}': none of `joints` moves '{one.palm}'")
        return arms

    def _at_rest(self, time: float) -> list[HandPath]:
        """Return the paths of hands that move from the present angles to the posture."""
        spec = self.rules
        tension = tension_at(spec.tension, 0.0)
        approach = self.regions[0].approach
        return [HandPath(self.angles, approach, time, spec.duration, tension) for _ in self._arms]

    @property
    def targets(self) -> Array:
        """Index of the obstacle of each hand, -1 for none, (h,)."""
        return np.array([hand.target for hand in self.hands])

    @property
    def durations(self) -> Array:
        """Duration of the present path of each hand, (h,) [s]."""
        return np.array([hand.duration for hand in self.hands])

    @property
    def tensions(self) -> Array:
        """Present tension of each hand, 0 to 1, (h,)."""
        return np.array([hand.tension for hand in self.hands])

    def change(self, values: Mapping[str, float]) -> None:
        """Set the values of all settings that a user has changed."""
        super().change(values)
        shortest, longest = self.setting("reaction"), self._spec.reaction[1]
        reaction, radius = (shortest, max(shortest, longest)), self.setting("radius")
        self.rules = self._spec.model_copy(update={"reaction": reaction, "radius": radius})
        self.regions = regions_of(self.rules, self.scenario.scene, self._arms, self.limbs.joints.q_index)
        if self.expectations is not None:
            self.expectations.scale(self.setting("expected_mass"), self.setting("expected_speed"))

    def warm_up(self, now: GeneratorInput) -> None:
        """Compute the torques once, with a hand on its way."""
        self.start(now)
        self.update(now)

    def start(self, now: GeneratorInput) -> None:
        """Start at the present angles; all hands move to the posture."""
        self.started_at = now.time
        self.angles = now.kinematics.q[self.limbs.joints.q_index].copy()
        self.start_angles = self.angles.copy()
        self.hands, self.grips = self._at_rest(now.time), [Grip() for _ in self._arms]

    def set_state(self, saved: Checkpoint) -> None:
        """Restore a saved state."""
        self.motions = saved.motions.copy()
        self.angles, self.start_angles, self.started_at = saved.angles, saved.start_angles, saved.started_at
        self.hands = self._at_rest(saved.started_at)
        parts, states = [*self.hands, *self.grips, *self.hits], [*saved.hands, *saved.grips, *saved.hits]
        for part, one in zip(parts, states, strict=True):
            part.set_state(one)
        if self.legs is not None and saved.legs is not None:
            self.legs.set_state(saved.legs)
        self._restored = saved.estimate
        self._restore_estimate()

    def _restore_estimate(self) -> None:
        """Restore the estimate of masses once there is one: it needs the surroundings of a tick."""
        if self.estimate is not None and self.expectations is not None and self._restored is not None:
            self.estimate.set_state(self._restored)
            self.expectations.learn(self.estimate.masses)
            self._restored = None

    def update(self, now: GeneratorInput) -> GeneratorOutput:
        """Return the impedance of this tick."""
        meetings = self._meetings(now)
        chosen = self.choose(meetings, now)
        angles = self._angles(chosen, now)
        self._feel(now)
        rates, self.angles = (angles - self.angles) / now.dt, angles
        tension = self._tension(now)
        relaxed, tense = self.rules.stiffness
        stiffness = (relaxed + tension * (tense - relaxed)) * self.limbs.efforts
        load = self._load(chosen, now)
        numbers, _ = self.limbs.impedance(
            now.kinematics, angles, rates, stiffness, ratio=self.rules.damping_ratio, load=load
        )
        busy = [hand.target >= 0 or hit.yields(now.time) for hand, hit in zip(self.hands, self.hits, strict=False)]
        parts = {
            part: limb.reference(now, expected=any(busy[h] for h in self._carried[part]))
            for part, limb in self._parts.items()
        }
        references = {"limbs": numbers} | {part: one for part, one in parts.items() if one is not None}
        changes = {}
        if self.legs is not None and self.rules.legs is not None:
            masses = np.zeros(0) if self.expectations is None else self.expectations.masses
            changes[self.rules.legs.gait] = self.legs.update(now, chosen, masses)
        done = all(hand.arrived(now.time) for hand in self.hands)
        return GeneratorOutput((), references, done=done, changes=changes)

    def _load(self, chosen: list[Meeting | None], now: GeneratorInput) -> Array:
        """Return the inertia of obstacles within reach at the hinges, (n,) [kg m²], so that they do not rebound."""
        load, targets = np.zeros(len(self.angles)), self.targets.tolist()
        for arm, one in zip(self._arms, chosen, strict=True):
            if one is not None and self.expectations is not None and one.distance <= self.regions[one.region].reach:
                mass = min(self.expectations.masses[one.obstacle], self.rules.heaviest)
                load[arm.hinges] += arm.load(one.direction, mass / targets.count(one.obstacle), now.kinematics)
        return load

    def _see(self, surroundings: UncontrolledSubsystems) -> tuple[Sight, Expectations]:
        if self._sight is None or self.expectations is None:
            controlled, patterns = self.scenario.scene.subsystems, self.rules.obstacles
            others = [name for name in surroundings.scene.subsystems if name not in controlled]
            own = [name for name in others if matches(name, patterns)]
            self._sight = Sight(surroundings, own, self.rules.sight)
            self._kept_out = [self._sight.shapes_of(region.obstacles) for region in self.regions]
            self.expectations = Expectations(surroundings.scene, own, self.rules.expected)
            self.expectations.scale(self.setting("expected_mass"), self.setting("expected_speed"))
            if self.rules.adapt:
                self.estimate = MassEstimate(surroundings, own)
                self._restore_estimate()
        return self._sight, self.expectations

    def _feel(self, now: GeneratorInput) -> None:
        """Learn the masses of obstacles from the forces on the hands that have one."""
        if self.estimate is None or self.expectations is None or self._sight is None or now.external is None:
            return
        pushes = []
        for hand, arm in zip(self.hands, self._arms, strict=True):
            if hand.target >= 0:
                frame, point = self._sight.touched(hand.target, now.kinematics.pose(arm.palm).translation)
                force = -arm.force_at(point, now.kinematics, now.external)
                pushes.append(HandPush(hand.target, frame, point, force))
        self.estimate.update(pushes, now.time, now.dt)
        self.expectations.learn(self.estimate.masses)

    def _meetings(self, now: GeneratorInput) -> list[list[Meeting]]:
        """Return, for each hand, the obstacles that are in its safety regions or will be, the first ones first."""
        if now.surroundings is None:
            return [[] for _ in self._arms]
        (sight, expectations), spec, kinematics = self._see(now.surroundings), self.rules, now.kinematics
        inside, middles = sight.visible(kinematics.pose(self._eye))
        found: list[list[Meeting]] = [[] for _ in self._arms]
        for k, region in enumerate(self.regions):
            centre, own = region.centre(kinematics), self.motions[k]
            own += min(1.0, now.dt / MEAN_MOTION) * (region.velocity(self.scenario.scene, kinematics) - own)
            within = region.radius + FAR * spec.look_ahead
            for seen in sight.nearest(centre, np.logical_and(inside, self._kept_out[k]), middles, within):
                velocity, falls = expectations.motion(seen.obstacle, seen.velocity)
                approach = Approach(seen.point - centre, seen.distance, velocity - own, falls)
                met = meeting(seen.obstacle, k, region, centre, approach, spec.look_ahead)
                for h in region.hands:
                    found[h] += [] if met is None else [met]
        shared, hands = [region.shared for region in self.regions], zip(found, self.hands, strict=True)
        return [by_region(own, hand.target, hand.region, shared, spec.crowd) for own, hand in hands]

    def choose(self, meetings: list[list[Meeting]], now: GeneratorInput) -> list[Meeting | None]:
        """Return what each hand meets of its obstacles, those met first before others; a subclass may have a rule."""
        if self.expectations is None or not any(meetings):
            return [None] * len(self._arms)
        palms = [now.kinematics.pose(arm.palm).translation for arm in self._arms]
        targets = [hand.target for hand in self.hands]
        shared = [region.shared for region in self.regions]
        return choose(self.rules, meetings, self.expectations.masses, palms, targets, shared)

    def _angles(self, chosen: list[Meeting | None], now: GeneratorInput) -> Array:
        """Return the targets of the hinges, (n,) [rad]: hands on their paths, other hinges to the posture."""
        spec, kinematics, angles, end = self.rules, now.kinematics, self._rest.copy(), now.time + now.dt
        share, _, _ = minimum_jerk(end - self.started_at, spec.duration)
        free, forward = self._free, kinematics.pose(self._eye).rotation[:, 0]
        angles[free] = self.start_angles[free] + share * (self._rest[free] - self.start_angles[free])
        for hand, grip, arm, one in zip(self.hands, self.grips, self._arms, chosen, strict=True):
            region = self.regions[hand.region if one is None else one.region]
            bounds = None if one is None or self.expectations is None else self.expectations.reactions[one.obstacle]
            fresh = hand.assign(spec, one, region, now.time, self.angles, bounds)
            goal = self._rest
            if one is None or fresh:
                grip.release()
            if one is not None:
                centre = region.centre(kinematics)
                sticks = self.expectations is not None and self.expectations.sticks[one.obstacle]
                sight = self._sight if sticks and hand.is_over(now.time) else None
                offset, facing = palm_offset(grip, one, region, centre, now.time, sight, forward)
                palm = centre + offset
                if spec.stray is not None and not region.shared:
                    palm = nearby(arm.place(kinematics.q, self._rest), palm, spec.stray)
                rounds = FIRST_ITERATIONS if fresh else ITERATIONS
                arm.solve(kinematics.q, hand.solution, region.approach, palm, facing, rounds)
                goal = hand.solution
            angles[arm.hinges] = hand.at(end, goal)[arm.hinges]
        self._yield(angles, now)
        step = self._rates * now.dt
        return np.asarray(np.clip(angles, self.angles - step, self.angles + step))

    def _yield(self, angles: Array, now: GeneratorInput) -> None:
        """Replace the targets of arms that yield to a hit by the angles of the impact, from which they return later."""
        for hand, arm, hit in zip(self.hands, self._arms, self.hits[: len(self._arms)], strict=False):
            yielded = hit.yields(now.time - now.dt)
            if hit.update(now, expected=hand.target >= 0):
                angles[arm.hinges] = hit.angles
            elif yielded and hand.target < 0:
                hand.leave(now.time, self.angles, self.rules.duration)

    def _tension(self, now: GeneratorInput) -> Array:
        """Return the tension of each joint, 0 to 1, (j,)."""
        spec = self.rules
        rest = self.changed.get("tension", tension_at(spec.tension, now.time - self.started_at))
        tension = np.full(len(self.limbs.efforts), rest)
        for h, (hand, group) in enumerate(zip(self.hands, self._groups, strict=True)):
            wanted = rest
            if hand.target >= 0 and self.expectations is not None:
                expected = self.expectations.tension(hand.target, spec.heaviest)
                wanted = max(expected, self.regions[hand.region].tension)
            rate = spec.tension_rate
            if spec.hits is not None and self.hits[h].yields(now.time):
                wanted, rate = spec.hits.tension, np.inf
            hand.tense(wanted, rate * now.dt)
            tension[group] = hand.tension
        return tension
