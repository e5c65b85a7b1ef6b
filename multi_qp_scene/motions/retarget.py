"""Retargeting of a skeleton's motion to a robot by inverse kinematics: directions of limbs, planted feet."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.ndimage import gaussian_filter1d

from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.motions.contacts import GRAVITY, SIDES, detected, intervals, planted
from multi_qp_scene.motions.dynamics_correction import BalanceError, DynamicsCorrection
from multi_qp_scene.motions.feet import displacement, sole_path
from multi_qp_scene.motions.reach import lowered
from multi_qp_scene.motions.skeleton import LEG, SkeletonMotion
from multi_qp_scene.motions.targets import LIMBS, LandmarkTargets, heading
from multi_qp_scene.motions.timing import Clip, Timing
from multi_qp_scene.scene import Scene
from multi_qp_scene.whole_body_ik import Placement, WholeBodyIk

#: Width of the smoothing of the joint angles [s].
SMOOTH = 0.02
#: Weight of the soles beside the directions of limbs.
FEET = 10.0
#: Weight of the knees of a body that is moved with its feet: soles and pelvis determine all but the turn of the leg.
KNEE = 0.2
#: Weight of its elbows and wrists, which must not move the trunk where an arm lags behind.
ARM = 0.3
#: Share of the limits of joint velocities, and most times that the motion is slowed down for it.
SHARE, TIMINGS = 0.9, 4
#: Largest distance of the ZMP outside of the soles with which a correction is kept [m].
OUTSIDE = 0.05
#: Largest displacement of planted soles with which it is kept [m].
PLACED = 0.01
#: Most corrections, each slower than the last one where joints are too fast or the ZMP is too far outside.
CORRECTIONS = 4
#: Largest factor by which one of them is slower for the ZMP, and distance of the ZMP outside of the soles from which on
#: it is not slowed down, as feet would have to be elsewhere [m].
SLOWER, HOPELESS = 1.3, 0.3
#: Part by which joints may exceed their velocity limits.
SPEED = 0.02
#: Angle of the knees at a take-off [rad].
TAKE_OFF = 0.6


@dataclass(frozen=True)
class RetargetedMotion:
    """Configurations of a robot, and what remains between them and the recording.

    Attributes:
        times: from 0, (n,) [s].
        q: configurations of the subsystem, base first, (n, nq).
        contacts: whether each sole is planted, left and right, (n, 2).
        direction_errors: angle between the direction of each limb and that of the recording, without the pauses at both
            ends, (k, limbs) [rad].
        skate: largest horizontal displacement of a planted sole during one contact [m].
        depth: largest depth of a sole under the ground [m].
        speed: largest ratio of a joint's velocity to its limit.
    """

    times: Array
    q: Array
    contacts: NDArray[np.bool_]
    direction_errors: Array
    skate: float
    depth: float
    speed: float


@dataclass(frozen=True)
class Retargeted:
    """A motion as recorded, and with its timing and dynamics corrected for the robot.

    Attributes:
        recorded: the motion with the timing and the contacts of the person.
        corrected: the motion that begins and ends at rest, within the joints' velocity limits.
        before: balance of the corrected motion without the correction of its dynamics.
        after: the same with it.
    """

    recorded: RetargetedMotion
    corrected: RetargetedMotion
    before: BalanceError
    after: BalanceError

    @property
    def failure(self) -> str | None:
        """Why the corrected motion is of no use; None if it is."""
        far, found = float(self.after.unsmoothed.max(initial=0.0)), self.corrected
        if far > OUTSIDE:
            return f"the ZMP is up to {100.0 * far:.1f} cm outside of the soles"
        if max(found.skate, found.depth) > PLACED:
            return f"the feet are up to {1e3 * max(found.skate, found.depth):.0f} mm beside their places"
        if found.speed > 1.0 + SPEED:
            return f"a joint has {100.0 * found.speed:.0f} % of its largest velocity"
        return None

    @property
    def motion(self) -> RetargetedMotion:
        """The corrected motion, or the recorded one where no correction was found."""
        return self.corrected if self.failure is None else self.recorded


@dataclass(frozen=True)
class Nominal:
    """Recorded postures with the timing and the contacts of a robot, whatever its dynamics.

    Attributes:
        clip: landmarks and contacts, n samples.
        q: configurations of the scene, (n, nq).
        soles: poses of both soles.
        dt: time between two samples [s].
    """

    clip: Clip
    q: Array
    soles: list[list[pin.SE3]]
    dt: float


class Retargeting:
    """Postures of a robot with the directions of the limbs of a skeleton."""

    def __init__(self, scene: Scene, subsystem: str, landmarks: Mapping[str, str]) -> None:
        """Find the landmarks of the robot.

        Args:
            scene: the scene.
            subsystem: a robot with a floating base.
            landmarks: joints and soles by landmark, see `ModelFile.landmarks`.

        Raises:
            MultiQpError: when a landmark is missing or is no joint or surface of the robot.
        """
        self._scene, self._part, model = scene, scene.subsystems[subsystem], scene.model
        self._ik = WholeBodyIk(scene, subsystem)
        self._data = model.createData()
        needed = ["chest", *(f"{s}_{p}" for s in SIDES for p in ("hip", "knee", "ankle", "shoulder", "elbow", "wrist"))]
        if missing := [name for name in (*needed, "left_sole", "right_sole") if name not in landmarks]:
            raise MultiQpError(f"the model of '{subsystem}' has no landmark {', '.join(missing)}: see `landmarks`")
        self._frames: dict[str, int] = {}
        for name in needed:
            full = f"{subsystem}/{landmarks[name]}"
            if not model.existJointName(full):
                raise MultiQpError(f"landmark '{name}' of '{subsystem}': it has no joint '{landmarks[name]}'")
            self._frames[name] = int(model.getFrameId(full))
        for side in SIDES:
            surface = scene.surfaces.get(f"{subsystem}/{landmarks[f'{side}_sole']}")
            if surface is None:
                raise MultiQpError(f"landmark '{side}_sole' of '{subsystem}': it has no such surface")
            self._frames[f"{side}_sole"] = surface.frame_id
        self._base = int(model.getFrameId(f"{model.names[self._part.root_joints[0]]}"))
        self._nominal = self._poses(scene.q0)
        self._targets = LandmarkTargets(self._nominal)
        self._fastest = self._arm_speeds(f"{subsystem}/{landmarks['chest']}")
        soles = [f"{subsystem}/{landmarks[f'{side}_sole']}" for side in SIDES]
        self._correction = DynamicsCorrection(
            scene,
            subsystem,
            soles,
            self._frames["chest"],
            np.isfinite(self._fastest),
            [self._frames[f"{side}_hip"] for side in SIDES],
            self._targets.leg,
        )

    def _arm_speeds(self, chest: str) -> Array:
        """Return the largest velocity of each limited joint beyond the chest; infinity of others [rad/s]."""
        model, limits, part = self._scene.model, self._scene.limits, self._part
        own = (limits.v_index >= part.v_slice.start) & (limits.v_index < part.v_slice.stop)
        beyond = {model.joints[joint].idx_v for joint in model.subtrees[model.getJointId(chest)]}
        free = np.array([int(k) not in beyond for k in limits.v_index[own]])
        return np.where(free, np.inf, SHARE * limits.velocity[own])

    def _poses(self, q: Array) -> dict[str, pin.SE3]:
        pin.framesForwardKinematics(self._scene.model, self._data, q)
        poses = {name: self._data.oMf[frame].copy() for name, frame in self._frames.items()}
        return poses | {"base": self._data.oMf[self._base].copy()}

    def retarget(self, recorded: SkeletonMotion, *, rate: float = 60.0, stride: float = 1.0) -> Retargeted:
        """Return the motion of the robot, as recorded, and with its timing and dynamics corrected.

        Args:
            recorded: motion of a skeleton.
            rate: frames per second of the result.
            stride: length of the steps of the corrected motion, relative to the recorded one.

        Raises:
            MultiQpError: when the skeleton lacks a landmark, or its units are not metres.
        """
        dt = 1.0 / rate
        points, leg = _points(recorded, dt)
        scale = self._targets.leg / leg
        resting = detected({name: p for name, p in points.items() if "toe" not in name}, leg, dt)
        clip = Clip(points, resting, resting, np.arange(len(resting), dtype=float))
        soles = self._soles(clip, scale, dt, carried=False)
        whole = self._smooth(self._postures(points, soles, scale, None, dt), soles, SMOOTH / dt)
        rests = detected(points, leg, dt)
        points = with_stride(points, stride)
        timing = Timing(points, rests, planted(rests, points["pelvis"], dt), dt)
        timing.shorten_flights(self._take_off())
        for attempt in range(CORRECTIONS):
            timed, own, soles = self._timed(timing, scale, dt)
            moved, before, after = self._correction.correct(own, timed.planted, soles, self._ankles(soles), dt)
            excess = self._too_quick(moved, after, dt)
            hopeless = after.unsmoothed.max(initial=0.0) > HOPELESS
            if excess.max() <= 1.0 or hopeless or attempt == CORRECTIONS - 1:
                break
            timing.slow_down(timed, excess)
        return Retargeted(self._measured(whole, clip, dt), self._measured(moved, timed, dt), before, after)

    def nominal(
        self,
        recorded: SkeletonMotion,
        *,
        rate: float = 60.0,
        stride: float = 1.0,
        flight: float | None = None,
        slower: float = 1.0,
    ) -> Nominal:
        """Return the recorded postures with the timing and the contacts of the robot.

        Args:
            recorded: motion of a skeleton.
            rate: frames per second of the result.
            stride: length of the steps, relative to the recorded one.
            flight: longest flight [s]; by default, as long as the robot can jump.
            slower: duration of all but the flights, relative to the recorded one.

        Raises:
            MultiQpError: as `retarget`.
        """
        dt = 1.0 / rate
        points, leg = _points(recorded, dt)
        scale = self._targets.leg / leg
        rests = detected(points, leg, dt)
        points = with_stride(points, stride)
        timing = Timing(points, rests, planted(rests, points["pelvis"], dt), dt)
        timing.factors *= slower
        timing.shorten_flights(self._take_off() if flight is None else 0.5 * GRAVITY * flight)
        clip = timing.clip()
        resting = self._soles(replace(clip, planted=clip.rests), scale, dt, carried=False)
        q = self._smooth(self._postures(clip.points, resting, scale, None, dt), resting, SMOOTH / dt)
        soles = self._soles(clip, scale, dt, carried=False)
        return Nominal(clip, q, self._wider(soles, clip.planted), dt)

    def _wider(self, soles: list[list[pin.SE3]], planted: NDArray[np.bool_]) -> list[list[pin.SE3]]:
        """Return soles that stand at the start as far apart aside as in the nominal posture, at least."""
        width = self._nominal["left_sole"].translation[1] - self._nominal["right_sole"].translation[1]
        between = soles[0][0].translation - soles[1][0].translation
        aside = np.array([-soles[0][0].rotation[1, 0], soles[0][0].rotation[0, 0], 0.0])  # to the left
        lack = max(0.0, float(width - aside @ between))
        found = [list(path) for path in soles]
        for j, sign in enumerate((0.5, -0.5)):
            end = intervals(planted[:, j])[0][1]
            found[j][:end] = [pin.SE3(X.rotation, X.translation + sign * lack * aside) for X in soles[j][:end]]
        return found

    def measured(self, nominal: Nominal, q: Array) -> RetargetedMotion:
        """Return a motion with the timing of a nominal one, and what remains between it and the recording."""
        return self._measured(q, nominal.clip, nominal.dt)

    def _timed(self, timing: Timing, scale: float, dt: float) -> tuple[Clip, Array, list[list[pin.SE3]]]:
        """Return a motion within the joints' velocity limits, its configurations and the poses of its soles."""
        for attempt in range(TIMINGS):
            clip = timing.clip()
            soles = self._soles(clip, scale, dt)
            shifts = self._shifts(clip, soles, scale, dt)
            whole = self._smooth(self._postures(clip.points, soles, scale, shifts, dt), soles, SMOOTH / dt)
            excess = self._speeds(whole, dt) / SHARE
            if excess.max() <= 1.0 or attempt == TIMINGS - 1:
                break
            timing.slow_down(clip, excess)
        return clip, whole, soles

    def _too_quick(self, moved: Array, balance: BalanceError, dt: float) -> Array:
        """Return by how much each sample should be slower, (n,); up to 1 where it may remain."""
        found = self._speeds(moved, dt)
        found = np.where(found > 1.0, found / SHARE, found)
        far = balance.unsmoothed / OUTSIDE
        found[balance.samples] = np.maximum(found[balance.samples], np.where(far > 1.0, np.minimum(far, SLOWER), 0.0))
        return np.asarray(found)

    def _take_off(self) -> float:
        """Return the largest vertical velocity at a take-off: knees bent by `TAKE_OFF` extend at their limit [m/s]."""
        thigh, shank = (self._targets.length("left", a, b) for a, b in LIMBS[:2])
        leg = math.sqrt(thigh**2 + shank**2 + 2.0 * thigh * shank * math.cos(TAKE_OFF))
        knee = self._scene.model.joints[self._scene.model.frames[self._frames["left_knee"]].parentJoint].idx_v
        limits = self._scene.limits
        return float(limits.velocity[limits.v_index == knee][0] * thigh * shank * math.sin(TAKE_OFF) / leg)

    def _speeds(self, whole: Array, dt: float) -> Array:
        """Return the largest ratio of a joint's velocity to its limit at each sample, (n,)."""
        limits, part = self._scene.limits, self._part
        own = (limits.v_index >= part.v_slice.start) & (limits.v_index < part.v_slice.stop)
        angles = whole[:, limits.q_index[own]]
        rates = np.abs(np.diff(angles, axis=0)) / dt
        largest = np.maximum(np.vstack([rates, rates[-1:]]), np.vstack([rates[:1], rates]))  # before and after each
        return np.asarray((largest / limits.velocity[own]).max(axis=1))

    def _soles(self, clip: Clip, scale: float, dt: float, *, carried: bool = True) -> list[list[pin.SE3]]:
        """Return the poses of the soles, level at their recorded places, on the ground and at rest while planted."""
        here, n = self._nominal, len(clip.planted)
        result = []
        yaws = np.unwrap([heading(clip.points, k) for k in range(n)])
        targets = [self._targets.at(clip.points, k, scale) for k in range(n)]
        for j, side in enumerate(SIDES):
            ankles = np.array([target[f"{side}_ankle"] for target in targets])
            ankles = gaussian_filter1d(ankles, SMOOTH / dt, axis=0)
            level = here[f"{side}_sole"].rotation
            offset = here[f"{side}_sole"].translation - here[f"{side}_ankle"].translation
            recorded, height = np.column_stack([ankles, yaws]), self._targets.ankle_height
            path = sole_path(recorded, clip.planted[:, j], clip.rests[:, j], height, dt, carried=carried)
            turns = [pin.utils.rotate("z", float(yaw)) for yaw in path[:, 3]]
            result.append([pin.SE3(R @ level, p[:3] + R @ offset) for R, p in zip(turns, path, strict=True)])
        return result

    def _shifts(self, clip: Clip, soles: list[list[pin.SE3]], scale: float, dt: float) -> Array:
        """Return how far the body is beside the recorded one: with its feet, and lower to reach them, (n, 3)."""
        targets = [self._targets.at(clip.points, k, scale) for k in range(len(clip.planted))]
        recorded = np.array([[target[f"{side}_ankle"][:2] for side in SIDES] for target in targets])
        hips = np.array([[target[f"{side}_hip"] for side in SIDES] for target in targets])
        ankles = self._ankles(soles)
        found = np.zeros((len(targets), 3))
        found[:, :2] = displacement(recorded, ankles[..., :2], clip.planted & clip.rests, dt)
        found[:, 2] = -lowered(hips + found[:, None], ankles, self._targets.leg, dt)
        return found

    def _ankles(self, soles: list[list[pin.SE3]]) -> Array:
        """Return the places of the ankles over soles, (n, 2, 3)."""
        here = self._nominal
        offsets = [here[f"{side}_sole"].actInv(here[f"{side}_ankle"].translation) for side in SIDES]
        return np.array([[X.act(p) for X, p in zip(both, offsets, strict=True)] for both in zip(*soles, strict=True)])

    def _postures(
        self, points: Mapping[str, Array], soles: list[list[pin.SE3]], scale: float, shifts: Array | None, dt: float
    ) -> Array:
        """Return the configurations of the scene with the directions of limbs, chest and base of each frame."""
        q, rest, found = self._scene.q0.copy(), self._scene.q0, []
        turn = dt * self._fastest  # arms may reach singular postures, at which their joints would jump
        for k in range(len(soles[0])):
            target = self._targets.at(points, k, scale, None if shifts is None else shifts[k])
            placements = self._planted(soles, k)
            placements += [Placement(self._base, target["base"]), Placement(self._frames["chest"], target["chest"])]
            for side in SIDES:
                for part in ("knee", "elbow", "wrist"):
                    name = f"{side}_{part}"
                    weight = 1.0 if shifts is None else KNEE if part == "knee" else ARM
                    place = pin.SE3(np.eye(3), target[name])
                    placements.append(Placement(self._frames[name], place, turns=True, weight=weight))
            if k == 0:
                q[self._part.q_slice][:7] = pin.SE3ToXYZQUAT(target["base"])
            angles = q[self._ik.limited]
            within = None if k == 0 or shifts is None else (angles - turn, angles + turn)
            q = self._ik.solve(q, placements, rest=rest, within=within, iterations=60 if k == 0 else 8).q
            found.append(q)
        return np.array(found)

    def _planted(self, soles: list[list[pin.SE3]], k: int) -> list[Placement]:
        return [Placement(self._frames[f"{side}_sole"], soles[j][k], weight=FEET) for j, side in enumerate(SIDES)]

    def _smooth(self, whole: Array, soles: list[list[pin.SE3]], width: float) -> Array:
        """Smooth configurations of the scene, and put the soles back."""
        own = whole[:, self._part.q_slice].copy()
        turned = (own[1:, 3:7] * own[:-1, 3:7]).sum(axis=1) < 0.0
        own[1:, 3:7] *= np.cumprod(np.where(turned, -1.0, 1.0))[:, None]
        own = gaussian_filter1d(own, width, axis=0, mode="nearest")
        own[:, 3:7] /= np.linalg.norm(own[:, 3:7], axis=1)[:, None]
        found = whole.copy()
        found[:, self._part.q_slice] = own
        for k, start in enumerate(found):
            base = pin.XYZQUATToSE3(own[k, :7])
            placements = [*self._planted(soles, k), Placement(self._base, base, weight=0.1)]
            found[k] = self._ik.solve(start, placements, rest=start, iterations=6).q
        return found

    def _measured(self, whole: Array, clip: Clip, dt: float) -> RetargetedMotion:
        errors, places, planted = [], [], clip.planted
        moving = np.gradient(clip.source) > 0.0
        for k, q in enumerate(whole):
            poses = self._poses(q)
            errors.append([_angle(poses, clip.points, side, a, b, k) for side in SIDES for a, b in LIMBS])
            places.append([poses[f"{side}_sole"].translation for side in SIDES])
        soles = np.array(places)
        skate = max(
            (
                float(np.ptp(soles[first:last, j, :2], axis=0).max())
                for j in range(2)
                for first, last in intervals(planted[:, j])
            ),
            default=0.0,
        )
        depth = max(0.0, -float(soles[:, :, 2].min()))
        own = whole[:, self._part.q_slice]
        speed = float(self._speeds(whole, dt).max())
        times = np.asarray(dt * np.arange(len(whole)), dtype=np.float64)
        return RetargetedMotion(times, own, planted, np.array(errors)[moving], skate, depth, speed)


def _points(recorded: SkeletonMotion, dt: float) -> tuple[dict[str, Array], float]:
    """Return the places of the landmarks at equal times, (n, 3) each, and the length of a leg [m]."""
    index = recorded.landmarks()
    hip, knee, ankle = (recorded.positions[0, index[f"left_{part}"]] for part in ("hip", "knee", "ankle"))
    leg = float(np.linalg.norm(knee - hip) + np.linalg.norm(ankle - knee))
    if not LEG[0] <= leg <= LEG[1]:
        raise MultiQpError(
            f"{recorded.source}: a leg is {leg:.3g} m long, expected {LEG[0]:g} to {LEG[1]:g} m: "
            "give the length of one unit of the file (`--scale`)"
        )
    times = np.arange(0.0, recorded.duration + 1e-9, dt)
    spline = CubicSpline(recorded.dt * np.arange(len(recorded.positions)), recorded.positions[:, list(index.values())])
    return _from_the_origin(dict(zip(index, np.moveaxis(spline(times), 1, 0), strict=True))), leg


def with_stride(points: Mapping[str, Array], stride: float) -> dict[str, Array]:
    """Return the places with the path on the ground, and that of the legs against the pelvis, scaled by `stride`."""
    factors, pelvis = np.array([stride, stride, 1.0]), points["pelvis"]
    legs = {name for name in points if name.rpartition("_")[2] in ("knee", "ankle", "toe")}
    return {
        name: factors * pelvis + (factors if name in legs else 1.0) * (places - pelvis)
        for name, places in points.items()
    }


def _from_the_origin(points: Mapping[str, Array]) -> dict[str, Array]:
    """Return the places with the pelvis starting above the origin, heading along x, and planted ankles at height 0."""
    turn = pin.utils.rotate("z", -heading(points, 0))
    lowest = min(np.quantile(points[f"{side}_ankle"][:, 2], 0.05) for side in SIDES)
    start = np.array([*points["pelvis"][0, :2], lowest])
    return {name: (places - start) @ turn.T for name, places in points.items()}


def _angle(poses: Mapping[str, pin.SE3], points: Mapping[str, Array], side: str, a: str, b: str, k: int) -> float:
    own = poses[f"{side}_{b}"].translation - poses[f"{side}_{a}"].translation
    recorded = points[f"{side}_{b}"][k] - points[f"{side}_{a}"][k]
    return float(np.arctan2(np.linalg.norm(np.cross(own, recorded)), own @ recorded))
