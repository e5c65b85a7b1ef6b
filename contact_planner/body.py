"""Planning model of one character: its own joints, with the rest of the scene fixed at a configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scene import Scene
from multi_qp_scene.suggestions import unknown_name
from multi_qp_scene.surfaces import Surface

_BASE = 1  # index of the base's joint


@dataclass(frozen=True, eq=False)
class Limb:
    """A contact surface and the joints from the base to it; no joints if the surface belongs to the base (a seat).

    Attributes:
        name: of the limb, also used for its contacts.
        surface: surface at its end, as in the scene.
        frame_id: frame of that surface in the planning model.
        joints: indices in v of its joints, (k,).
        own: those that move no other limb, (j,); an arm excludes the waist.
        links: indices of the joints whose bodies `own` moves.
        end_joint: index of the joint that carries the surface.
        X_joint_surface: placement of the surface in that joint.
    """

    name: str
    surface: Surface
    frame_id: int
    joints: Indices
    own: Indices
    links: tuple[int, ...]
    end_joint: int
    X_joint_surface: pin.SE3


class CharacterModel:
    """Planning model of one character with a floating base.

    Attributes:
        name: of the subsystem.
        model: reduced pinocchio model with the joints of the character only.
        data: pinocchio data, overwritten by every call.
        limbs: by name.
        nominal: nominal configuration, (nq,).
        lower: lower joint limits, (nv,); -inf for the base and for unlimited joints. Of a range of more than a turn,
            the part within half a turn of the nominal posture.
        upper: upper limits, (nv,).
    """

    def __init__(self, scene: Scene, name: str, limbs: Mapping[str, str], *, q: Array, posture: str | Array) -> None:
        """Reduce the model of a scene to one character.

        Args:
            scene: the scene.
            name: of the character.
            limbs: full name of the surface at the end of each limb, by the limb's name.
            q: configuration of the whole scene, (nq,), at which all other joints are fixed.
            posture: nominal configuration: name of a posture, or the configuration, (nq,).

        Raises:
            MultiQpError: the character is unknown or has no floating base, or a surface belongs to another subsystem.
        """
        if name not in scene.subsystems:
            raise MultiQpError(unknown_name("subsystem", name, sorted(scene.subsystems)))
        subsystem = scene.subsystems[name]
        if not subsystem.floating:
            raise MultiQpError(f"'{name}' cannot be planned for: its base does not float")
        self.name = name
        self.scene = scene
        self.subsystem = subsystem
        others = [k for k in range(1, scene.model.njoints) if not scene.model.names[k].startswith(f"{name}/")]
        self.model, (self.geometry,) = pin.buildReducedModel(scene.model, [scene.collision_model], others, q)
        self.data = self.model.createData()
        self.nominal = (subsystem.postures[posture] if isinstance(posture, str) else posture).copy()
        self.lower, self.upper = self._limits()
        self.limbs = {limb: self._limb(limb, surface) for limb, surface in limbs.items()}

    def _limits(self) -> tuple[Array, Array]:
        lower, upper = np.full(self.model.nv, -np.inf), np.full(self.model.nv, np.inf)
        for joint in list(self.model.joints)[1:]:
            if joint.nq == 1:
                low, high = self.model.lowerPositionLimit[joint.idx_q], self.model.upperPositionLimit[joint.idx_q]
                if np.isfinite(high - low) and high - low > 2.0 * np.pi:
                    # the same poses again in other turns, which samples would rarely find near the nominal one
                    nominal = self.nominal[joint.idx_q]
                    low, high = max(low, nominal - np.pi), min(high, nominal + np.pi)
                lower[joint.idx_v], upper[joint.idx_v] = low, high
        return lower, upper

    def _chain(self, name: str, full_name: str) -> tuple[Surface, list[int]]:
        """Return the surface at the end of a limb and the joints from the base to it."""
        own = sorted(s for s in self.scene.surfaces if s.startswith(f"{self.name}/"))
        if full_name not in own:
            raise MultiQpError(f"limb '{name}': {unknown_name('surface', full_name, own)}")
        end = int(self.model.frames[self.model.getFrameId(full_name)].parentJoint)
        chain = [k for k in self.model.supports[end] if k > 1]
        return self.scene.surfaces[full_name], chain

    def _limb(self, name: str, full_name: str) -> Limb:
        surface, chain = self._chain(name, full_name)
        model = self.model
        parents = list(model.parents)
        own: list[int] = []
        for k in reversed(chain):
            if parents.count(k) > 1:
                break
            own.insert(0, k)
        frame_id = model.getFrameId(surface.name)
        return Limb(
            name,
            surface,
            frame_id,
            np.array([model.joints[k].idx_v for k in chain], dtype=np.intp),
            np.array([model.joints[k].idx_v for k in own], dtype=np.intp),
            tuple(k for k in range(2, model.njoints) if set(own) & set(model.supports[k])),
            chain[-1] if chain else _BASE,
            model.frames[frame_id].placement.copy(),
        )

    def place(self, q: Array) -> None:
        """Compute the placements of all frames."""
        pin.framesForwardKinematics(self.model, self.data, q)

    def surface_pose(self, limb: Limb) -> pin.SE3:
        """Return X_world_surface of the limb at the last `place`."""
        return self.data.oMf[limb.frame_id]

    def com(self, q: Array) -> Array:
        """Return the centre of mass, (3,) [m]."""
        return np.array(pin.centerOfMass(self.model, self.data, q))

    def with_base(self, q: Array, X_world_base: pin.SE3) -> Array:
        """Return a copy of q with the base at another pose."""
        moved = q.copy()
        moved[:7] = pin.SE3ToXYZQUAT(X_world_base)
        return moved

    def base_pose(self, q: Array) -> pin.SE3:
        """Return X_world_base."""
        return pin.XYZQUATToSE3(q[:7])
