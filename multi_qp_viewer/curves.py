"""Curves of a run by name: balance, contact forces, task errors, torques and joints, with their bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_controller.contacts.support_polygon import distance_inside, hull_corners
from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scene import Scene
from multi_qp_scene.subsystem import Subsystem
from multi_qp_scene.suggestions import unknown_name
from multi_qp_scene.surfaces import Surface

#: Kinds of curves: the first part of each name.
CURVE_KINDS = ("balance", "force", "cop", "task", "torque", "joint", "velocity")
#: Names of the points whose position over the support is plotted.
POINTS = ("com", "zmp", "capture_point")
#: Smallest normal force with a centre of pressure [N].
_LEAST_FORCE = 1.0


@dataclass(frozen=True)
class Series:
    """Part of a log that curves are computed from; shapes as in `multi_qp_simulator.log.Log`."""

    state: NDArray[np.str_]
    time: Array
    q: Array
    v: Array
    tau: Array
    contact_names: NDArray[np.str_]
    contact_surfaces: NDArray[np.str_]
    contact_friction: Array
    contact_active: NDArray[np.bool_]
    contact_wrench: Array
    task_names: NDArray[np.str_]
    task_units: NDArray[np.str_]
    task_error: Array


@dataclass(frozen=True)
class Curve:
    """One quantity over time.

    Attributes:
        name: "<kind>/<of what>/<quantity>".
        panel: curves of the same panel and unit share axes.
        label: in the legend of the panel, empty where the panel has no other curve.
        unit: of the values.
        values: (T,), NaN where the quantity does not exist.
        lower: bound, (T,), or None.
        upper: bound, (T,), or None.
    """

    name: str
    panel: str
    label: str
    unit: str
    values: Array
    lower: Array | None = None
    upper: Array | None = None


@dataclass(frozen=True)
class BalanceSeries:
    """Points of one character over its support polygon; the contacts with the environment support it.

    The zero-moment point (ZMP) is the centre of pressure of the supporting contacts in the horizontal plane at the mean
    height of their points; the capture point is c + ċ √(h/g), with the height h of the CoM c over that plane.

    Attributes:
        points: positions of `POINTS`, (T, 3) each [m]; NaN without support.
        polygons: convex hull of the supporting points, (k, 3) [m], or None without support; one per tick.
    """

    points: dict[str, Array]
    polygons: list[Array | None]


class RunCurves:
    """All curves of a run; a curve is computed when it is asked for.

    Attributes:
        names: of all curves.
    """

    def __init__(self, scene: Scene, series: Series) -> None:
        self._scene, self._series = scene, series
        self._balance: dict[str, BalanceSeries] = {}
        self._makers: dict[str, Callable[[str], Curve]] = {}
        for character in scene.characters:
            for axis in "xyz":
                for point in POINTS if axis != "z" else ("com",):
                    self._makers[f"balance/{character.name}/{axis}/{point}"] = self._position
            for point in POINTS:
                self._makers[f"balance/{character.name}/margin/{point}"] = self._margin
        for k, name in enumerate(series.contact_names):
            surface = self._surface(k, 0)
            if surface is None:
                continue
            for quantity in ("magnitude",) if surface.kind == "grasp" else ("normal", "tangential"):
                self._makers[f"force/{name}/{quantity}"] = self._force
            for axis in "xy" if surface.kind == "planar" else "":
                self._makers[f"cop/{name}/{axis}"] = self._cop
        self._makers |= {f"task/{name}": self._task for name in series.task_names}
        self._makers |= {f"torque/{name}": self._torque for name in scene.actuated_joint_names}
        for kind, maker in (("joint", self._angle), ("velocity", self._velocity)):
            self._makers |= {f"{kind}/{name}": maker for name in self._single_joints}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all curves."""
        return tuple(self._makers)

    def match(self, globs: Sequence[str]) -> list[str]:
        """Return the names that match any of the patterns: a name, with `*`, `?` and `[…]`; `force` means `force/*`.

        Raises:
            MultiQpError: when a pattern matches none.
        """
        found: dict[str, None] = {}
        for glob in globs:
            pattern = f"{glob}/*" if glob in CURVE_KINDS else glob
            matching = [name for name in self.names if fnmatchcase(name, pattern)]
            if not matching:
                raise MultiQpError(unknown_name("curve", glob, [*CURVE_KINDS, *self.names]))
            found |= dict.fromkeys(matching)
        return list(found)

    def curve(self, name: str) -> Curve:
        """Return the curve of a name.

        Raises:
            KeyError: when there is none.
        """
        return self._makers[name](name)

    def balance(self, character: str) -> BalanceSeries:
        """Return the points of a character over its support polygon."""
        if character not in self._balance:
            self._balance[character] = self._balance_of(self._scene.subsystems[character])
        return self._balance[character]

    def _surface(self, contact: int, side: int) -> Surface | None:
        return self._scene.surfaces.get(str(self._series.contact_surfaces[contact, side]))

    def _contact(self, name: str) -> int:
        return list(self._series.contact_names).index(name.split("/", 1)[1].rpartition("/")[0])

    @cached_property
    def _single_joints(self) -> dict[str, pin.JointModel]:
        """Joints with one degree of freedom and one entry of q."""
        joints = zip(self._scene.joint_names, list(self._scene.model.joints)[1:], strict=True)
        return {name: joint for name, joint in joints if joint.nv == joint.nq == 1}

    def _supporting(self, character: Subsystem) -> dict[int, Surface]:
        """Return the contacts of a character with the environment, with its surfaces."""
        found = {}
        for k, (first, second) in enumerate(self._series.contact_surfaces):
            surface = self._surface(k, 0)
            moving = str(second).split("/")[0] in self._scene.subsystems
            if surface is not None and str(first).split("/")[0] == character.name and not moving:
                found[k] = surface
        return found

    def _balance_of(self, character: Subsystem) -> BalanceSeries:
        series, model = self._series, self._scene.model
        data, ticks = model.createData(), len(series.time)
        gravity = float(np.linalg.norm(model.gravity.linear))
        points = {name: np.full((ticks, 3), np.nan) for name in POINTS}
        polygons: list[Array | None] = []
        contacts = self._supporting(character)
        for t in range(ticks):
            pin.centerOfMass(model, data, series.q[t], series.v[t], True)
            weights = np.array([data.mass[j] for j in character.root_joints])
            centres = [data.oMi[j].act(data.com[j]) for j in character.root_joints]
            speeds = [data.oMi[j].rotation @ data.vcom[j] for j in character.root_joints]
            com, speed = weights @ centres / weights.sum(), weights @ speeds / weights.sum()
            points["com"][t] = com
            active = [k for k in contacts if series.contact_active[t, k]]
            if not active:
                polygons.append(None)
                continue
            places = {k: pin.updateFramePlacement(model, data, contacts[k].frame_id) for k in active}
            corners = np.concatenate([contacts[k].points @ X.rotation.T + X.translation for k, X in places.items()])
            polygons.append(corners[hull_corners(corners)] if len(corners) > 1 else corners)
            ground = float(corners[:, 2].mean())
            wrench = sum((X.act(pin.Force(series.contact_wrench[t, k])) for k, X in places.items()), pin.Force.Zero())
            points["zmp"][t] = _zero_moment_point(wrench, ground)
            capture = com + speed * np.sqrt(max(com[2] - ground, 0.0) / gravity)
            points["capture_point"][t] = [capture[0], capture[1], ground]
        return BalanceSeries(points, polygons)

    def _position(self, name: str) -> Curve:
        character, axis, point = name.split("/", 1)[1].rsplit("/", 2)
        balance, k = self.balance(character), "xyz".index(axis)
        lower = upper = None
        if axis != "z":
            extents = [(np.nan, np.nan) if p is None else (p[:, k].min(), p[:, k].max()) for p in balance.polygons]
            lower, upper = np.array(extents).reshape(-1, 2).T
        values = balance.points[point][:, k]
        return Curve(name, f"balance/{character}/{axis}", words(point), "m", values, lower, upper)

    def _margin(self, name: str) -> Curve:
        character, _, point = name.split("/", 1)[1].rsplit("/", 2)
        balance = self.balance(character)
        places = zip(balance.points[point], balance.polygons, strict=True)
        values = np.array([np.nan if polygon is None else distance_inside(polygon, p) for p, polygon in places])
        return Curve(name, f"balance/{character}/margin", words(point), "m", values, np.zeros(len(values)))

    def _force(self, name: str) -> Curve:
        contact, quantity = name.split("/", 1)[1].rsplit("/", 1)
        k = self._contact(name)
        force = np.where(self._series.contact_active[:, k, None], self._series.contact_wrench[:, k, :3], np.nan)
        if quantity == "magnitude":
            return Curve(name, f"force/{contact}", "‖f‖", "N", np.linalg.norm(force, axis=1))
        normal, tangential = self._components(k, force)
        if quantity == "normal":
            return Curve(name, f"force/{contact}", "normal", "N", normal, np.zeros(len(normal)))
        limit = float(self._series.contact_friction[k]) * normal
        return Curve(name, f"force/{contact}", "tangential, at most μ · normal", "N", tangential, None, limit)

    def _components(self, k: int, force: Array) -> tuple[Array, Array]:
        """Return normal and tangential force of a contact, (T,) each; the cone of a point is fixed to the second."""
        first, second = self._surface(k, 0), self._surface(k, 1)
        if first is None or first.kind != "point" or second is None:
            return -force[:, 2], np.linalg.norm(force[:, :2], axis=1)
        model = self._scene.model
        data = model.createData()
        in_second = np.full_like(force, np.nan)
        for t in np.flatnonzero(self._series.contact_active[:, k]):
            pin.forwardKinematics(model, data, self._series.q[t])
            X = [pin.updateFramePlacement(model, data, s.frame_id).rotation for s in (first, second)]
            in_second[t] = X[1].T @ X[0] @ force[t]
        return in_second[:, 2], np.linalg.norm(in_second[:, :2], axis=1)

    def _cop(self, name: str) -> Curve:
        k, axis = self._contact(name), "xy".index(name[-1])
        surface = self._surface(k, 0)
        assert surface is not None  # others have no such curve
        fx, fy, fz, mx, my, _ = self._series.contact_wrench[:, k].T
        pressed = self._series.contact_active[:, k] & (np.abs(fz) > _LEAST_FORCE)
        values = np.divide((-my, mx)[axis], fz, out=np.full(len(fz), np.nan), where=pressed)
        extent = surface.points[:, axis]
        ones = np.where(self._series.contact_active[:, k], 1.0, np.nan)
        panel = name.rpartition("/")[0]
        return Curve(name, f"{panel}/{name[-1]}", "", "m", values, extent.min() * ones, extent.max() * ones)

    def _task(self, name: str) -> Curve:
        task = name.split("/", 1)[1]
        k = list(self._series.task_names).index(task)
        return Curve(name, "task", task, str(self._series.task_units[k]), self._series.task_error[:, k])

    def _torque(self, name: str) -> Curve:
        joint = name.split("/", 1)[1]
        k = self._scene.actuated_joint_names.index(joint)
        limit = np.full(len(self._series.time), self._scene.torque_limits[k])
        return Curve(name, name, "", self._unit(joint, "N m", "N"), self._series.tau[:, k], -limit, limit)

    def _angle(self, name: str) -> Curve:
        joint = name.split("/", 1)[1]
        index, limits = self._single_joints[joint].idx_q, self._scene.limits
        return self._joint_curve(
            name, "rad", "m", self._series.q[:, index], limits.q_index == index, limits.lower, limits.upper
        )

    def _velocity(self, name: str) -> Curve:
        joint = name.split("/", 1)[1]
        index, limits = self._single_joints[joint].idx_v, self._scene.limits
        return self._joint_curve(
            name, "rad/s", "m/s", self._series.v[:, index], limits.v_index == index, -limits.velocity, limits.velocity
        )

    def _joint_curve(
        self, name: str, turning: str, sliding: str, values: Array, row: NDArray[np.bool_], lower: Array, upper: Array
    ) -> Curve:
        unit = self._unit(name.split("/", 1)[1], turning, sliding)
        if not row.any():
            return Curve(name, name, "", unit, values)
        ones = np.ones(len(values))
        return Curve(name, name, "", unit, values, lower[row] * ones, upper[row] * ones)

    def _unit(self, joint: str, turning: str, sliding: str) -> str:
        kind = self._scene.model.joints[self._scene.model.getJointId(joint)].shortname()
        return sliding if kind.startswith("JointModelP") else turning


def _zero_moment_point(wrench: pin.Force, height: float) -> Array:
    """Return the point of a horizontal plane where a wrench at the world's origin has no horizontal moment, (3,)."""
    (fx, fy, fz), (mx, my, _) = wrench.linear, wrench.angular
    if abs(fz) < _LEAST_FORCE:
        return np.full(3, np.nan)
    return np.array([(height * fx - my) / fz, (height * fy + mx) / fz, height])


def words(name: str) -> str:
    """Return one of `POINTS` as a label."""
    return {"com": "CoM", "zmp": "ZMP"}.get(name, name.replace("_", " "))
