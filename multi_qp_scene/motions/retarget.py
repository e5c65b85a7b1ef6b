"""Retargeting of a skeleton's motion to a robot by inverse kinematics: directions of limbs, planted feet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.ndimage import gaussian_filter1d, median_filter

from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.motions.skeleton import LEG, SkeletonMotion
from multi_qp_scene.scene import Scene
from multi_qp_scene.whole_body_ik import Placement, WholeBodyIk

SIDES = "left", "right"
LIMBS = (("hip", "knee"), ("knee", "ankle"), ("shoulder", "elbow"), ("elbow", "wrist"))
#: Height and speed of an ankle, relative to a leg's length, below which its foot is on the ground.
LOW, SLOW = 0.06, 0.35
#: Shortest contact and shortest swing [s], and time in which a foot moves from its recorded to its planted place [s].
SHORTEST, BLEND = 0.1, 0.15
#: Width of the smoothing of the joint angles [s].
SMOOTH = 0.02
#: Weight of the soles beside the directions of limbs.
FEET = 10.0


@dataclass(frozen=True)
class RetargetedMotion:
    """Configurations of a robot, and what remains between them and the recording.

    Attributes:
        times: from 0, (n,) [s].
        q: configurations of the subsystem, base first, (n, nq).
        contacts: whether each sole is planted, left and right, (n, 2).
        direction_errors: angle between the direction of each limb and that of the recording, (n, limbs) [rad].
        skate: largest horizontal displacement of a planted sole during one contact [m].
        depth: largest depth of a sole under the ground [m].
    """

    times: Array
    q: Array
    contacts: NDArray[np.bool_]
    direction_errors: Array
    skate: float
    depth: float


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
        here = self._poses(scene.q0)
        self._nominal = here
        self._leg = sum(self._length(here, "left", a, b) for a, b in LIMBS[:2])
        self._ankle_height = float(here["left_ankle"].translation[2] - here["left_sole"].translation[2])

    def _poses(self, q: Array) -> dict[str, pin.SE3]:
        pin.framesForwardKinematics(self._scene.model, self._data, q)
        poses = {name: self._data.oMf[frame].copy() for name, frame in self._frames.items()}
        return poses | {"base": self._data.oMf[self._base].copy()}

    def _length(self, poses: Mapping[str, pin.SE3], side: str, a: str, b: str) -> float:
        return float(np.linalg.norm(poses[f"{side}_{b}"].translation - poses[f"{side}_{a}"].translation))

    def retarget(self, recorded: SkeletonMotion, *, rate: float = 60.0) -> RetargetedMotion:
        """Return the motion of the robot.

        Args:
            recorded: motion of a skeleton.
            rate: frames per second of the result.

        Raises:
            MultiQpError: when the skeleton lacks a landmark, or its units are not metres.
        """
        index = recorded.landmarks()
        hip, knee, ankle = (recorded.positions[0, index[f"left_{part}"]] for part in ("hip", "knee", "ankle"))
        leg = float(np.linalg.norm(knee - hip) + np.linalg.norm(ankle - knee))
        if not LEG[0] <= leg <= LEG[1]:
            raise MultiQpError(
                f"{recorded.source}: a leg is {leg:.3g} m long, expected {LEG[0]:g} to {LEG[1]:g} m: "
                "give the length of one unit of the file (`--scale`)"
            )
        times = np.asarray(np.arange(0.0, recorded.duration + 1e-9, 1.0 / rate), dtype=np.float64)
        spline = CubicSpline(
            recorded.dt * np.arange(len(recorded.positions)), recorded.positions[:, list(index.values())]
        )
        points = _from_the_origin(dict(zip(index, np.moveaxis(spline(times), 1, 0), strict=True)))
        planted = _contacts(points, leg, 1.0 / rate)
        scale = self._leg / leg
        soles = self._soles(points, planted, scale, 1.0 / rate)
        q = self._smooth(self._postures(points, soles, scale), soles, SMOOTH * rate)
        return self._measured(times, q, planted, points)

    def _targets(self, points: Mapping[str, Array], k: int, scale: float) -> dict[str, Array | pin.SE3]:
        """Return the place of each landmark of the robot at a frame; of base and chest, the pose."""
        here, found = self._nominal, {}
        pelvis = _frame(points["left_hip"][k] - points["right_hip"][k], points["chest"][k] - points["pelvis"][k])
        trunk = _frame(
            points["left_shoulder"][k] - points["right_shoulder"][k], points["neck"][k] - points["pelvis"][k]
        )
        middle = 0.5 * (here["left_hip"].translation + here["right_hip"].translation)
        center = scale * 0.5 * (points["left_hip"][k] + points["right_hip"][k])
        center[2] += self._ankle_height
        base = pin.SE3(pelvis @ here["base"].rotation, center + pelvis @ (here["base"].translation - middle))
        chest = base.act(here["base"].actInv(here["chest"]))
        found["base"], found["chest"] = base, pin.SE3(trunk @ here["chest"].rotation, chest.translation)
        upper = found["chest"]
        for side in SIDES:
            place = {f"{side}_hip": base.act(here["base"].actInv(here[f"{side}_hip"].translation))}
            place[f"{side}_shoulder"] = upper.act(here["chest"].actInv(here[f"{side}_shoulder"].translation))
            for a, b in LIMBS:
                start, along = place[f"{side}_{a}"], points[f"{side}_{b}"][k] - points[f"{side}_{a}"][k]
                place[f"{side}_{b}"] = start + self._length(here, side, a, b) * along / np.linalg.norm(along)
            found |= place
        return found

    def _soles(
        self, points: Mapping[str, Array], planted: NDArray[np.bool_], scale: float, dt: float
    ) -> list[list[pin.SE3]]:
        """Return the poses of the soles, level at their recorded places, on the ground and at rest while planted."""
        here = self._nominal
        result = []
        for j, side in enumerate(SIDES):
            ankles = np.array([self._targets(points, k, scale)[f"{side}_ankle"] for k in range(len(planted))])
            ankles = gaussian_filter1d(ankles, SMOOTH / dt, axis=0)
            yaws = np.unwrap([_heading(points, k) for k in range(len(planted))])
            level = here[f"{side}_sole"].rotation
            offset = here[f"{side}_sole"].translation - here[f"{side}_ankle"].translation
            poses = np.column_stack([ankles, yaws])
            planned = poses.copy()
            for first, last in _intervals(planted[:, j]):
                rest = np.median(poses[first:last], axis=0)
                rest[2] = self._ankle_height
                planned[first:last] = rest
                _blend(planned, poses, first, last, rest, round(BLEND / dt), planted[:, j])
            planned[:, 2] = np.maximum(planned[:, 2], self._ankle_height)
            turns = [pin.utils.rotate("z", float(yaw)) for yaw in planned[:, 3]]
            result.append([pin.SE3(R @ level, p[:3] + R @ offset) for R, p in zip(turns, planned, strict=True)])
        return result

    def _postures(self, points: Mapping[str, Array], soles: list[list[pin.SE3]], scale: float) -> Array:
        """Return the configurations of the scene with the directions of limbs, chest and base of each frame."""
        q, rest, found = self._scene.q0.copy(), self._scene.q0, []
        for k in range(len(soles[0])):
            target = self._targets(points, k, scale)
            placements = self._planted(soles, k)
            placements += [Placement(self._base, target["base"]), Placement(self._frames["chest"], target["chest"])]
            for side in SIDES:
                for part in ("knee", "elbow", "wrist"):
                    name = f"{side}_{part}"
                    placements.append(Placement(self._frames[name], pin.SE3(np.eye(3), target[name]), turns=True))
            if k == 0:
                q[self._part.q_slice][:7] = pin.SE3ToXYZQUAT(target["base"])
            q = self._ik.solve(q, placements, rest=rest, iterations=60 if k == 0 else 8).q
            found.append(q)
        return np.array(found)

    def _planted(self, soles: list[list[pin.SE3]], k: int) -> list[Placement]:
        return [Placement(self._frames[f"{side}_sole"], soles[j][k], weight=FEET) for j, side in enumerate(SIDES)]

    def _smooth(self, whole: Array, soles: list[list[pin.SE3]], width: float) -> Array:
        """Smooth configurations of the scene, put the soles back, and return those of the subsystem."""
        own = whole[:, self._part.q_slice].copy()
        own[:, 3:7] *= np.where((own[:, 3:7] * own[:1, 3:7]).sum(axis=1) < 0.0, -1.0, 1.0)[:, None]
        own = gaussian_filter1d(own, width, axis=0, mode="nearest")
        own[:, 3:7] /= np.linalg.norm(own[:, 3:7], axis=1)[:, None]
        for k, q in enumerate(own):
            start = whole[k].copy()
            start[self._part.q_slice] = q
            base = pin.XYZQUATToSE3(q[:7])
            placements = [*self._planted(soles, k), Placement(self._base, base, weight=0.1)]
            own[k] = self._ik.solve(start, placements, rest=start, iterations=6).q[self._part.q_slice]
        return own

    def _measured(
        self, times: Array, q: Array, planted: NDArray[np.bool_], points: Mapping[str, Array]
    ) -> RetargetedMotion:
        whole, errors, places = self._scene.q0.copy(), [], []
        for k, own in enumerate(q):
            whole[self._part.q_slice] = own
            poses = self._poses(whole)
            errors.append([_angle(poses, points, side, a, b, k) for side in SIDES for a, b in LIMBS])
            places.append([poses[f"{side}_sole"].translation for side in SIDES])
        soles = np.array(places)
        skate = max(
            (
                float(np.ptp(soles[first:last, j, :2], axis=0).max())
                for j in range(2)
                for first, last in _intervals(planted[:, j])
            ),
            default=0.0,
        )
        return RetargetedMotion(times, q, planted, np.array(errors), skate, max(0.0, -float(soles[:, :, 2].min())))


def _from_the_origin(points: Mapping[str, Array]) -> dict[str, Array]:
    """Return the places with the pelvis starting above the origin, heading along x, and planted ankles at height 0."""
    turn = pin.utils.rotate("z", -_heading(points, 0))
    lowest = min(np.quantile(points[f"{side}_ankle"][:, 2], 0.05) for side in SIDES)
    start = np.array([*points["pelvis"][0, :2], lowest])
    return {name: (places - start) @ turn.T for name, places in points.items()}


def _heading(points: Mapping[str, Array], k: int) -> float:
    left = points["left_hip"][k] - points["right_hip"][k]
    return float(np.arctan2(-left[0], left[1]))


def _frame(left: Array, up: Array) -> Array:
    """Return the rotation whose y axis is along `left` and whose z axis is near `up`, (3, 3)."""
    y = left / np.linalg.norm(left)
    x = np.cross(y, up)
    x /= np.linalg.norm(x)
    return np.column_stack([x, y, np.cross(x, y)])


def _angle(poses: Mapping[str, pin.SE3], points: Mapping[str, Array], side: str, a: str, b: str, k: int) -> float:
    own = poses[f"{side}_{b}"].translation - poses[f"{side}_{a}"].translation
    recorded = points[f"{side}_{b}"][k] - points[f"{side}_{a}"][k]
    return float(np.arctan2(np.linalg.norm(np.cross(own, recorded)), own @ recorded))


def _contacts(points: Mapping[str, Array], leg: float, dt: float) -> NDArray[np.bool_]:
    """Return when each foot is on the ground, by height and speed of its ankle, (n, 2)."""
    found = []
    width = 2 * max(1, round(0.5 * SHORTEST / dt)) + 1
    for side in SIDES:
        ankle = points[f"{side}_ankle"]
        speed = np.linalg.norm(np.gradient(gaussian_filter1d(ankle, 0.02 / dt, axis=0), dt, axis=0), axis=1)
        height = ankle[:, 2] - np.quantile(ankle[:, 2], 0.05)
        found.append(median_filter(((height < LOW * leg) & (speed < SLOW * leg)).astype(int), width).astype(bool))
    return np.column_stack(found)


def _intervals(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return first and end of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(int)))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def _blend(
    planned: Array, recorded: Array, first: int, last: int, rest: Array, width: int, planted: NDArray[np.bool_]
) -> None:
    """Let a foot leave its recorded path for its planted place before a contact, and return to it after."""
    for step in range(1, width + 1):
        share = 0.5 * (1.0 + np.cos(np.pi * step / (width + 1)))
        for k, edge in ((first - step, first), (last - 1 + step, last - 1)):
            if 0 <= k < len(planned) and not planted[k]:
                planned[k] += share * (rest - recorded[edge])
