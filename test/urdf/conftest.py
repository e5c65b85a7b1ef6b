from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Figure:
    """A model with its model file: configurations, placements and static torques."""

    name: str

    def __post_init__(self) -> None:
        self.urdf = str(ROOT / "urdf" / f"{self.name}.urdf")
        self.file: dict[str, Any] = yaml.safe_load((ROOT / "config/models" / f"{self.name}.yaml").read_text())
        free = self.file["root"] == "free_flyer"
        self.model = (
            pin.buildModelFromUrdf(self.urdf, pin.JointModelFreeFlyer())
            if free
            else (pin.buildModelFromUrdf(self.urdf))
        )
        self.data = self.model.createData()
        self.shapes = pin.buildGeomFromUrdf(self.model, self.urdf, pin.COLLISION)

    @property
    def joints(self) -> list[str]:
        """Actuated joints, in pinocchio's order."""
        return list(self.model.names)[2:]

    def frame(self, q: np.ndarray, name: str) -> pin.SE3:
        pin.framesForwardKinematics(self.model, self.data, q)
        return self.data.oMf[self.model.getFrameId(name)].copy()

    def configuration(self, posture: str) -> np.ndarray:
        """Configuration with the base at the origin, in a posture of the model file, shape (nq,)."""
        q = pin.neutral(self.model)
        for joint, angle in self.file["postures"][posture].items():
            q[self.model.joints[self.model.getJointId(joint)].idx_q] = angle
        return q

    def standing_on_soles(self, angles: dict[str, float]) -> np.ndarray:
        """Configuration with upright base over the origin and the right sole at z = 0, shape (nq,)."""
        q = pin.neutral(self.model)
        for joint, angle in angles.items():
            q[self.model.joints[self.model.getJointId(joint)].idx_q] = angle
        q[2] -= self.frame(q, "r_sole").translation[2]
        return q

    def surface(self, q: np.ndarray, name: str) -> pin.SE3:
        """Placement of a surface in the world."""
        entry = self.file["surfaces"][name]
        local = pin.SE3(pin.rpy.rpyToMatrix(np.array(entry["rpy"], float)), np.array(entry["xyz"], float))
        return self.frame(q, entry["link"]) * local

    def static_torques(self, q: np.ndarray, loads: dict[str, np.ndarray], feet: list[str]) -> dict[str, float]:
        """Joint torques that hold a posture.

        Args:
            q: Configuration, shape (nq,).
            loads: World force on a frame's origin by frame [N].
            feet: Frames that carry the robot; moments at them are shunned.
        """
        model, data = self.model, self.data
        need = pin.computeGeneralizedGravity(model, data, q).copy()
        pin.computeJointJacobians(model, data, q)
        pin.updateFramePlacements(model, data)

        def jacobian(name: str) -> np.ndarray:
            return pin.getFrameJacobian(model, data, model.getFrameId(name), pin.LOCAL_WORLD_ALIGNED)

        for name, force in loads.items():
            need -= jacobian(name)[:3].T @ force
        contact = np.vstack([jacobian(foot) for foot in feet])
        cheap = np.diag(np.tile([1.0, 1.0, 1.0, 0.05, 0.05, 0.05], len(feet)))
        base = contact[:, :6].T
        wrench = cheap @ base.T @ np.linalg.solve(base @ cheap @ base.T, need[:6])
        torque = need - contact.T @ wrench
        return {name: float(torque[model.joints[model.getJointId(name)].idx_v]) for name in self.joints}


@pytest.fixture(scope="session")
def humanoid() -> Figure:
    return Figure("humanoid")


@pytest.fixture(scope="session")
def figure_of() -> Callable[[str], Figure]:
    return Figure


@pytest.fixture(scope="session", params=["box", "table", "ground", "humanoid"])
def figure(request: pytest.FixtureRequest) -> Figure:
    return Figure(request.param)
