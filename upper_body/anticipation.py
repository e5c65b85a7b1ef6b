"""Motion generator whose hands meet obstacles that are seen, on antagonistic limbs."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatch
from typing import NamedTuple

import numpy as np

from multi_qp_controller.motion_generator import GeneratorInput, GeneratorOutput, MotionGenerator
from multi_qp_controller.references.minimum_jerk import minimum_jerk
from multi_qp_controller.surroundings import Surroundings
from multi_qp_controller.tasks.impedance import impedance_joints
from multi_qp_scene.arrays import Array
from multi_qp_scene.configuration import posture_configuration
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.schema.generators import AnticipationSpec, ExpectationSpec
from multi_qp_scene.schema.tasks import JointImpedanceTaskSpec
from upper_body.arm_kinematics import ArmKinematics
from upper_body.limbs import AntagonisticLimbs
from upper_body.sight import SeenPoint, Sight

#: Iterations of the inverse kinematics in the tick in which a hand takes a new target, and in the ticks after it.
FIRST_ITERATIONS, ITERATIONS = 12, 1
#: Smallest speed of approach [m/s].
SLOW = 0.02
#: Distance by which another obstacle must be nearer for a hand to change its target [m].
CHANGE = 0.05


class _Meeting(NamedTuple):
    """An obstacle that a hand may meet: where, in how much time, and its distance from the safety region's centre."""

    obstacle: int
    direction: Array
    distance: float
    time: float
    speed: float


class AnticipationGenerator(MotionGenerator):
    """Holds limbs as `AntagonisticGenerator` does, and moves hands to obstacles that come near.

    Attributes:
        angles: present target of the hinges, (n,) [rad].
        solutions: angles at which each hand would meet its obstacle, for all hinges, (h, n) [rad].
        origins: target of the hinges when each hand last changed what it does, (h, n) [rad].
        changed_at: time of that change, by hand, (h,) [s].
        durations: duration of the path since then, by hand, (h,) [s].
        targets: index of the obstacle of each hand, -1 for none, (h,).
        tensions: present tension, 0 to 1, of each hand, (h,).
        started_at: time of the start [s].
    """

    @dataclass
    class Checkpoint:
        """Targets, paths and tensions of the hands."""

        angles: Array
        solutions: list[Array]
        origins: list[Array]
        changed_at: Array
        durations: Array
        targets: Array
        tensions: Array
        started_at: float

    def __init__(self, name: str, spec: AnticipationSpec, scenario: Scenario) -> None:
        """Create it.

        Raises:
            MultiQpError: when `joints` names none, or one that cannot be held so, or none of the joints of a hand.
        """
        super().__init__(name, spec, scenario)
        scene = scenario.scene
        v_index = impedance_joints(f"generator '{name}", spec.subsystem, spec.joints, scenario)
        reference = posture_configuration(scene, spec.subsystem, spec.reference)
        self._spec, self.limbs = spec, AntagonisticLimbs(scene, v_index, reference)
        joints = self.limbs.joints
        self._rest = posture_configuration(scene, spec.subsystem, spec.posture)[joints.q_index]
        approach = spec.posture if spec.approach is None else spec.approach
        self._approach = posture_configuration(scene, spec.subsystem, approach)[joints.q_index]
        self._sight: Sight | None = None
        self._masses: list[tuple[float, float]] = []  # expected mass [kg] and factor of the velocity, by obstacle
        self._eye = scene.frame_id(f"{spec.subsystem}/{spec.sight.link}")
        self._arms: list[ArmKinematics] = []
        for hand, one in spec.hands.items():
            surface = scene.surfaces[f"{spec.subsystem}/{one.palm}"]
            shoulder = scene.frame_id(f"{spec.subsystem}/{one.shoulder}")
            arm = ArmKinematics(scene, surface, shoulder, joints.v_index)
            if not len(arm.hinges):
                raise MultiQpError(f"generator '{name}': hand '{hand}': none of `joints` moves '{one.palm}'")
            self._arms.append(arm)
        self._groups = [
            np.array([bool(set(range(*part)) & set(arm.hinges.tolist())) for part in joints.hinges])
            for arm in self._arms
        ]
        count = len(self._arms)
        self.angles = self._rest.copy()
        self.solutions = [self._approach.copy() for _ in range(count)]
        self.origins = [self._rest.copy() for _ in range(count)]
        self.changed_at, self.durations = np.zeros(count), np.full(count, spec.duration)
        self.targets, self.tensions = np.full(count, -1.0), np.full(count, spec.tension[0].tension)
        self.started_at = 0.0
        prefix = f"{spec.subsystem}/"
        self.tasks["limbs"] = JointImpedanceTaskSpec(
            type="joint_impedance",
            subsystem=spec.subsystem,
            joints=[scene.velocity_names[k].removeprefix(prefix) for k in joints.v_index],
            weight=spec.weight,
        )

    def warm_up(self, now: GeneratorInput) -> None:
        """Compute the torques once, with a hand on its way."""
        self.start(now)
        self.update(now)

    def start(self, now: GeneratorInput) -> None:
        """Start at the present angles; all hands move to the posture."""
        spec, count = self._spec, len(self._arms)
        self.started_at = now.time
        self.angles = now.kinematics.q[self.limbs.joints.q_index].copy()
        self.origins = [self.angles.copy() for _ in range(count)]
        self.solutions = [self._approach.copy() for _ in range(count)]
        self.changed_at, self.durations = np.full(count, now.time), np.full(count, spec.duration)
        self.targets, self.tensions = np.full(count, -1.0), np.full(count, spec.tension[0].tension)

    def update(self, now: GeneratorInput) -> GeneratorOutput:
        """Return the impedance of this tick."""
        spec, kinematics, limbs = self._spec, now.kinematics, self.limbs
        meetings = self._meetings(now)
        chosen = self._choose(meetings, now)
        angles = self._rest.copy()
        for h, (arm, one) in enumerate(zip(self._arms, chosen, strict=True)):
            fresh = self._assign(h, one, now)
            goal = self._rest[arm.hinges]
            if one is not None:
                distance = min(max(spec.hold, one.distance if one.time <= 0.0 else spec.radius), spec.reach)
                palm = kinematics.pose(arm.shoulder).translation + distance * one.direction
                rounds = FIRST_ITERATIONS if fresh else ITERATIONS
                arm.solve(kinematics.q, self.solutions[h], self._approach, palm, one.direction, rounds)
                goal = self.solutions[h][arm.hinges]
            share, _, _ = minimum_jerk(now.time + now.dt - self.changed_at[h], self.durations[h])
            start = self.origins[h][arm.hinges]
            angles[arm.hinges] = start + share * (goal - start)
        free = np.ones(len(angles), dtype=bool)
        for arm in self._arms:
            free[arm.hinges] = False
        if free.any():
            share, _, _ = minimum_jerk(now.time + now.dt - self.started_at, spec.duration)
            angles[free] = self.origins[0][free] + share * (self._rest[free] - self.origins[0][free])
        rates, self.angles = (angles - self.angles) / now.dt, angles
        relaxed, tense = spec.stiffness
        elapsed = now.time - self.started_at
        rest_tension = [one.tension for one in spec.tension if one.at <= elapsed + 1e-9] or [spec.tension[0].tension]
        tension = np.full(len(limbs.efforts), rest_tension[-1])
        step = spec.tension_rate * now.dt
        for h, group in enumerate(self._groups):
            wanted = rest_tension[-1] if self.targets[h] < 0 else self._expected_tension(int(self.targets[h]))
            self.tensions[h] += float(np.clip(wanted - self.tensions[h], -step, step))
            tension[group] = self.tensions[h]
        stiffness = (relaxed + tension * (tense - relaxed)) * limbs.efforts
        present = kinematics.q[limbs.joints.q_index]
        inertia = kinematics.M.diagonal()[limbs.joints.v_index]
        equilibrium = limbs.gravity(kinematics.q, angles)
        held = limbs.torques(present, angles, equilibrium, stiffness, inertia, ratio=spec.damping_ratio)
        beyond = held.torque - limbs.gravity(kinematics.q, present)
        numbers = np.concatenate([present, rates, beyond, held.damping, held.stiffness.ravel()])
        done = bool((self.targets < 0).all() and (now.time - self.changed_at >= self.durations).all())
        return GeneratorOutput((), {"limbs": numbers}, done=done)

    def _see(self, surroundings: Surroundings) -> Sight:
        if self._sight is None:
            controlled, patterns = self.scenario.scene.subsystems, self._spec.obstacles
            others = [name for name in surroundings.scene.subsystems if name not in controlled]
            own = [name for name in others if any(fnmatch(name, pattern) for pattern in patterns)]
            self._sight = Sight(surroundings, own, self._spec.sight)
            model = surroundings.scene.model
            for name in own:
                joints = [k for k in range(1, model.njoints) if model.names[k].split("/")[0] == name]
                expected = ExpectationSpec()
                for pattern, one in self._spec.expected.items():
                    expected = one if fnmatch(name, pattern) else expected
                mass = expected.mass if expected.mass is not None else sum(model.inertias[k].mass for k in joints)
                self._masses.append((float(mass), expected.velocity))
        return self._sight

    def _expected_tension(self, obstacle: int) -> float:
        """Return the tension for an obstacle, (6)."""
        return float(min(self._masses[obstacle][0] / self._spec.heaviest, 1.0))

    def _meetings(self, now: GeneratorInput) -> list[list[_Meeting]]:
        """Return, for each hand, the obstacles that are in its safety region or will be, the nearest first."""
        if now.surroundings is None:
            return [[] for _ in self._arms]
        sight, spec, kinematics = self._see(now.surroundings), self._spec, now.kinematics
        inside, middles = sight.visible(kinematics.pose(self._eye))
        found: list[list[_Meeting]] = []
        for arm in self._arms:
            centre = kinematics.pose(arm.shoulder).translation
            own = arm.shoulder_velocity(kinematics)
            within = spec.radius + FAR * spec.look_ahead
            one = [self._meeting(seen, centre, own) for seen in sight.nearest(centre, inside, middles, within)]
            found.append(sorted((m for m in one if m is not None), key=lambda m: (m.time, m.distance)))
        return found

    def _meeting(self, seen: SeenPoint, centre: Array, own: Array) -> _Meeting | None:
        """Return where and when an obstacle meets the safety region around a centre; None if it does not."""
        spec = self._spec
        velocity = self._masses[seen.obstacle][1] * seen.velocity - own
        way = seen.point - centre
        length = float(np.linalg.norm(way))
        if length < 1e-6:
            return None
        if seen.distance <= spec.radius:
            speed = max(0.0, -float(way @ velocity) / length)
            return _Meeting(seen.obstacle, way / length, max(seen.distance, 0.0), 0.0, speed)
        # |way + t velocity| = radius at the smaller root t
        a, b = float(velocity @ velocity), float(way @ velocity)
        root = b * b - a * (length * length - spec.radius**2)
        if a < SLOW**2 or b >= 0.0 or root < 0.0:
            return None
        time = (-b - np.sqrt(root)) / a
        if time > spec.look_ahead:
            return None
        met = way + time * velocity
        return _Meeting(seen.obstacle, met / spec.radius, seen.distance, float(time), float(np.sqrt(a)))

    def _choose(self, meetings: list[list[_Meeting]], now: GeneratorInput) -> list[_Meeting | None]:
        """Return the obstacle of each hand: that of its own region, by the nearer hand, or by both."""
        spec, kinematics = self._spec, now.kinematics
        chosen: list[_Meeting | None] = [None] * len(self._arms)
        if not any(meetings):
            return chosen
        palms = [kinematics.pose(arm.palm).translation for arm in self._arms]
        for h, own in enumerate(meetings):
            for one in own:
                places = [
                    kinematics.pose(arm.shoulder).translation + spec.hold * m.direction
                    for arm, others in zip(self._arms, meetings, strict=True)
                    for m in others
                    if m.obstacle == one.obstacle
                ]
                point = np.mean(places, axis=0)
                distances = [float(np.linalg.norm(palm - point)) for palm in palms]
                heavy = self._masses[one.obstacle][0] >= spec.both_hands
                if heavy or distances[h] <= min(distances) + spec.tie or self.targets[h] == one.obstacle:
                    chosen[h] = one
                    break
            last = [one for one in own if one.obstacle == self.targets[h]]
            now_chosen = chosen[h]
            if last and now_chosen is not None and last[0].distance < now_chosen.distance + CHANGE:
                chosen[h] = last[0]
        return chosen

    def _assign(self, h: int, one: _Meeting | None, now: GeneratorInput) -> bool:
        """Begin a path of a hand if what it does has changed; return whether it has another obstacle."""
        spec = self._spec
        target = -1 if one is None else one.obstacle
        if target == self.targets[h]:
            return False
        self.targets[h] = target
        self.origins[h] = self.angles.copy()
        self.changed_at[h] = now.time
        if one is None:
            self.durations[h] = spec.duration
            return False
        ahead = max(one.distance - spec.radius, 0.0) / max(one.speed, SLOW)
        self.durations[h] = float(np.clip(spec.safety * ahead, *spec.reaction))
        self.solutions[h] = self._approach.copy()
        return True


#: Speed for which obstacles are searched ahead of time [m/s].
FAR = 3.0
