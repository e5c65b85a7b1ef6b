"""Reference motion at the time steps of the control."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from modal_control.character import ModalCharacter, displaced, displacement
from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.motions.reference import ReferenceMotion


class StepReference(ABC):
    """States and contacts of a motion at the steps of a control."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of steps."""

    @abstractmethod
    def state(self, step: int) -> tuple[Array, Array]:
        """Return configuration, (nq,), and velocity in the coordinates of `character`, (nv,), at a step."""

    def configuration(self, step: int) -> Array:
        """Return the configuration at a step, (nq,)."""
        return self.state(step)[0]

    @abstractmethod
    def planted(self, step: int) -> NDArray[np.bool_]:
        """Return which surfaces are planted at a step, (surfaces,)."""

    @abstractmethod
    def follow(self, step: int, q: Array, v: Array, forces: Array, *, blind: bool) -> None:
        """Process the state at a step.

        Args:
            step: index.
            q: configuration, (nq,).
            v: velocity, (nv,).
            forces: of the last step on each surface, world frame, (surfaces, 3) [N].
            blind: whether a push is not yet sensed.
        """


@dataclass(frozen=True)
class Reference(StepReference):
    """Configurations, velocities and contacts at each step; the last pose is held at rest.

    Attributes:
        q: (n, nq).
        v: in the coordinates of `character`, (n, nv).
        contacts: whether each surface of the character is planted, (n, surfaces).
    """

    q: Array
    v: Array
    contacts: NDArray[np.bool_]

    def __len__(self) -> int:
        """Return the number of steps."""
        return len(self.q)

    def state(self, step: int) -> tuple[Array, Array]:
        """Return configuration and velocity at a step."""
        if step < len(self.q):
            return self.q[step], self.v[step]
        return self.q[-1], np.zeros(self.v.shape[1])

    def follow(self, step: int, q: Array, v: Array, forces: Array, *, blind: bool) -> None:
        """Do nothing: the motion does not depend on the state."""

    def planted(self, step: int) -> NDArray[np.bool_]:
        """Return which surfaces are planted at a step, (surfaces,)."""
        return np.asarray(self.contacts[min(step, len(self.contacts) - 1)])

    @classmethod
    def of(cls, motion: ReferenceMotion, character: ModalCharacter, *, prefix: str, dt: float) -> Reference:
        """Sample a motion.

        Args:
            motion: of the character.
            character: the robot.
            prefix: of its names, "<subsystem>/".
            dt: time step [s].

        Raises:
            MultiQpError: when the motion is of another robot.
        """
        names = [str(name).removeprefix(prefix) for name in list(character.model.names)[2:]]
        missing = [name for name in names if name not in motion.joints]
        if missing or len(names) != len(motion.joints):
            raise MultiQpError(f"the motion of '{motion.robot}' is of another robot: its joints differ")
        times = dt * np.arange(int(np.floor(motion.times[-1] / dt + 1e-9)) + 1)
        order = [7 + motion.joints.index(name) for name in names]
        rows = motion.q[:, [*range(7), *order]]
        q = np.array([_between(motion.times, rows, time) for time in times])
        v = np.zeros((len(q), character.model.nv))
        if len(q) > 2:
            v[1:-1] = [displacement(a, b) / (2.0 * dt) for a, b in zip(q[:-2], q[2:], strict=True)]
            v[0], v[-1] = displacement(q[0], q[1]) / dt, displacement(q[-2], q[-1]) / dt
        at = np.minimum(np.searchsorted(motion.times, times + 1e-9, side="right") - 1, len(motion.times) - 1)
        own = {name.removeprefix(prefix): k for k, name in enumerate(character.surfaces)}
        contacts = np.zeros((len(times), len(own)), dtype=bool)
        for column, surface in enumerate(motion.surfaces):
            if surface in own:
                contacts[:, own[surface]] = motion.contacts[at, column]
        return cls(q, v, contacts)


def _between(times: Array, rows: Array, time: float) -> Array:
    """Return the configuration at a time, on the straight path between two samples."""
    k = min(int(np.searchsorted(times, time, side="right")), len(times) - 1)
    share = float(np.clip((time - times[k - 1]) / (times[k] - times[k - 1]), 0.0, 1.0))
    if share > 1.0 - 1e-9:
        q = rows[k].copy()
        q[3:7] = pin.Quaternion(q[3:7].copy()).normalized().coeffs()
        return q
    return displaced(rows[k - 1], share * displacement(rows[k - 1], rows[k]))
