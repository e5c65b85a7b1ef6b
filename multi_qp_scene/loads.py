"""Loads: point masses on links, variable at run time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_scene.arguments import number
from multi_qp_scene.errors import ArgumentError
from multi_qp_scene.schema.subsystems import LoadSpec, RandomMassSpec
from multi_qp_scene.stateful import Stateful
from multi_qp_scene.suggestions import unknown_name

#: Random masses are drawn for runs up to this length [s] and constant afterwards.
LONGEST_RUN = 600.0


@dataclass(frozen=True)
class Load:
    """A point mass on a link.

    Attributes:
        name: name in the scenario.
        joint_id: joint that moves it.
        position: in that joint's frame, (3,) [m].
        limits: least and largest mass [kg].
        initial: mass at the beginning [kg].
        rate: rate limit of changes by a user [kg/s], or None for steps.
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
    """A smooth random mass between limits: a monotone spline through random values."""

    def __init__(self, spec: LoadSpec, random_spec: RandomMassSpec) -> None:
        from scipy.interpolate import PchipInterpolator  # slow import, used by few scenes

        knots = np.arange(0.0, LONGEST_RUN + random_spec.every, random_spec.every)
        masses = np.random.default_rng(random_spec.seed).uniform(spec.min, spec.max, len(knots))
        masses[0] = spec.mass
        self._spline = PchipInterpolator(knots, masses)
        self._end = float(knots[-1])

    def at(self, time: float) -> float:
        """Return the mass at `time` [s], in [kg]; it never leaves the limits, as the spline never overshoots."""
        return float(self._spline(min(time, self._end)))


class Loads(Stateful):
    """The loads of a scene, and their present masses.

    A change modifies the inertia in the scene's model, and in those that share the loads. A random mass follows its
    profile until a user sets it; then it is constant until `reset`.

    Attributes:
        masses: present mass of each [kg]; read-only.
        wanted: masses set by a user [kg].
        time: time of the last `advance` [s].
    """

    @dataclass
    class Checkpoint:
        """Masses and time."""

        masses: dict[str, float]
        wanted: dict[str, float]
        time: float

    def __init__(self, model: pin.Model, specs: dict[str, LoadSpec]) -> None:
        self._models = [model]
        self._loads = {name: _load(model, name, spec) for name, spec in specs.items()}
        self._bare = {load.joint_id: model.inertias[load.joint_id].copy() for load in self._loads.values()}
        self.masses = {name: load.initial for name, load in self._loads.items()}
        self.wanted: dict[str, float] = {}
        self.time = 0.0
        for joint_id in self._bare:
            self._apply(joint_id)

    def shared_with(self, model: pin.Model) -> Loads:
        """Change the inertias of another model as well, which has the same joints and more after them; return self."""
        self._models.append(model)
        for joint_id in self._bare:
            self._apply(joint_id)
        return self

    @property
    def limits(self) -> dict[str, tuple[float, float]]:
        """Least and largest mass of each [kg]."""
        return {name: load.limits for name, load in self._loads.items()}

    @property
    def joint_ids(self) -> tuple[int, ...]:
        """The joints whose inertia in the model changes."""
        return tuple(self._bare)

    def set_mass(self, name: str, mass: float) -> None:
        """Set one load by a user command; where it has a rate, `advance` limits the change to it.

        Raises:
            ArgumentError: when there is no such load, or the mass is not a number or outside its limits.
        """
        if not isinstance(name, str) or name not in self._loads:
            raise ArgumentError(unknown_name("load", name, self._loads))
        load, mass = self._loads[name], number(f"mass of load '{name}'", mass, unit="kg")
        if not load.limits[0] <= mass <= load.limits[1]:
            raise ArgumentError(f"load '{name}': {mass} kg is outside {load.limits} kg")
        self.wanted[name] = mass
        if load.rate is None:
            self._put(name, mass)

    def advance(self, time: float) -> None:
        """Update the masses to `time` [s]: random profiles, and rate-limited changes by the user."""
        elapsed, self.time = max(0.0, time - self.time), time
        for name, load in self._loads.items():
            if name in self.wanted:
                step = np.inf if load.rate is None else load.rate * elapsed
                missing = self.wanted[name] - self.masses[name]
                self._put(name, self.masses[name] + float(np.clip(missing, -step, step)))
            elif load.profile is not None:
                self._put(name, load.profile.at(time))

    def set_state(self, saved: Checkpoint) -> None:
        """Restore a saved state, and the inertias of the model."""
        self.wanted, self.time = saved.wanted, saved.time
        for name, mass in saved.masses.items():
            self._put(name, mass)

    def reset(self) -> None:
        """Reset all loads to their initial mass, at time 0."""
        self.wanted.clear()
        self.time = 0.0
        for name, load in self._loads.items():
            self._put(name, load.initial)

    def _put(self, name: str, mass: float) -> None:
        self.masses = self.masses | {name: mass}  # a new mapping: readers compare it with an earlier one
        self._apply(self._loads[name].joint_id)

    def _apply(self, joint_id: int) -> None:
        total = self._bare[joint_id].copy()
        for name, load in self._loads.items():
            if load.joint_id == joint_id and self.masses[name] > 0.0:
                total += pin.Inertia(self.masses[name], load.position, np.zeros((3, 3)))
        for model in self._models:
            model.inertias[joint_id] = total


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
