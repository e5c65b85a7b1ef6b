"""Loads: masses on links that change while a scenario runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_scene.schema.scenario_file import LoadSpec, RandomMassSpec

#: Random masses are drawn for runs up to this length [s]; later they stay as they are.
LONGEST_RUN = 600.0


@dataclass(frozen=True)
class Load:
    """A point mass on a link.

    Attributes:
        name: the scenario's name of it.
        joint_id: joint that moves it.
        position: in that joint's frame, (3,) [m].
        limits: least and largest mass [kg].
        initial: mass at the beginning [kg].
        rate: how fast a user can change it [kg/s], or None for at once.
        profile: mass over time, or None where only a user changes it.
    """

    name: str
    joint_id: int
    position: NDArray[np.float64]
    limits: tuple[float, float]
    initial: float
    rate: float | None
    profile: RandomMass | None


class RandomMass:
    """A mass that wanders smoothly between its limits: a monotone spline through random values."""

    def __init__(self, spec: LoadSpec, random_spec: RandomMassSpec) -> None:
        from scipy.interpolate import PchipInterpolator  # takes long to import, and few scenes need it

        knots = np.arange(0.0, LONGEST_RUN + random_spec.every, random_spec.every)
        masses = np.random.default_rng(random_spec.seed).uniform(spec.min, spec.max, len(knots))
        masses[0] = spec.mass
        self._spline = PchipInterpolator(knots, masses)
        self._end = float(knots[-1])

    def at(self, time: float) -> float:
        """Return the mass at `time` [s], in [kg]; it never leaves the limits, as the spline never overshoots."""
        return float(self._spline(min(time, self._end)))


class Loads:
    """The loads of a scene, and their present masses.

    Changing one changes the inertia in the scene's model, so that everybody who uses the model from then on sees it.
    A random one wanders until a user sets it; from then on, until `reset`, it is the user's.
    """

    def __init__(self, model: pin.Model, specs: dict[str, LoadSpec]) -> None:
        self._model = model
        self._loads = {name: _load(model, name, spec) for name, spec in specs.items()}
        self._bare = {load.joint_id: model.inertias[load.joint_id].copy() for load in self._loads.values()}
        self._masses = {name: load.initial for name, load in self._loads.items()}
        self._wanted: dict[str, float] = {}
        self._time = 0.0
        for joint_id in self._bare:
            self._apply(joint_id)

    @property
    def masses(self) -> dict[str, float]:
        """The present mass of each [kg]."""
        return dict(self._masses)

    @property
    def limits(self) -> dict[str, tuple[float, float]]:
        """Least and largest mass of each [kg]."""
        return {name: load.limits for name, load in self._loads.items()}

    @property
    def joint_ids(self) -> tuple[int, ...]:
        """The joints whose inertia in the model changes."""
        return tuple(self._bare)

    def set_mass(self, name: str, mass: float) -> None:
        """Change one load, as a user; where it has a rate, `advance` brings it there no faster.

        Raises:
            KeyError: when there is no such load.
            ValueError: when the mass is outside its limits.
        """
        load = self._loads[name]
        if not load.limits[0] <= mass <= load.limits[1]:
            raise ValueError(f"load '{name}': {mass} kg is outside {load.limits} kg")
        self._wanted[name] = mass
        if load.rate is None:
            self._put(name, mass)

    def advance(self, time: float) -> None:
        """Give each its mass at `time` [s]: the random ones by themselves, the user's on their way."""
        elapsed, self._time = max(0.0, time - self._time), time
        for name, load in self._loads.items():
            if name in self._wanted:
                step = np.inf if load.rate is None else load.rate * elapsed
                missing = self._wanted[name] - self._masses[name]
                self._put(name, self._masses[name] + float(np.clip(missing, -step, step)))
            elif load.profile is not None:
                self._put(name, load.profile.at(time))

    def memory(self) -> dict[str, Any]:
        """Return the present masses [kg], those that a user wants, and the time of the last `advance` [s]."""
        return {"masses": dict(self._masses), "wanted": dict(self._wanted), "time": self._time}

    def resume(self, memory: dict[str, Any]) -> None:
        """Go on from a memory."""
        self._wanted, self._time = dict(memory["wanted"]), memory["time"]
        for name, mass in memory["masses"].items():
            self._put(name, mass)

    def reset(self) -> None:
        """Give all of them their mass at the beginning, at time 0."""
        self._wanted.clear()
        self._time = 0.0
        for name, load in self._loads.items():
            self._put(name, load.initial)

    def _put(self, name: str, mass: float) -> None:
        self._masses[name] = mass
        self._apply(self._loads[name].joint_id)

    def _apply(self, joint_id: int) -> None:
        total = self._bare[joint_id].copy()
        for name, load in self._loads.items():
            if load.joint_id == joint_id and self._masses[name] > 0.0:
                total += pin.Inertia(self._masses[name], load.position, np.zeros((3, 3)))
        self._model.inertias[joint_id] = total


def _load(model: pin.Model, name: str, spec: LoadSpec) -> Load:
    frame = model.frames[model.getFrameId(spec.link, pin.FrameType.BODY)]
    return Load(
        name=name,
        joint_id=frame.parentJoint,
        position=frame.placement.act(np.array(spec.xyz, dtype=float)),
        limits=(spec.min, spec.max),
        initial=spec.mass,
        rate=spec.rate,
        profile=None if spec.random is None else RandomMass(spec, spec.random),
    )
