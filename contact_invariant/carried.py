"""Object in the refinement with the full model: its inertia moves with the hands that carry it along a given path."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from contact_invariant.character import Character, RigidBody, behaviour_of
from contact_invariant.motion import Motion, rotations
from multi_qp_scene.arrays import Array
from multi_qp_scene.scenario import Scenario, scene_without
from multi_qp_scene.scene import Scene


@dataclass(frozen=True)
class Carried:
    """The object at the nodes of a refinement.

    Attributes:
        prop: the object.
        mass: of the object [kg].
        poses: of its centre of mass in the world, (M + 1,).
        hands: whether each limb carries it from each node to the next, (M, limbs).
    """

    prop: RigidBody
    mass: float
    poses: list[pin.SE3]
    hands: NDArray[np.bool_]

    @property
    def begin(self) -> int:
        """First node at which a limb carries it."""
        return int(np.argmax(self.hands.any(axis=1))) if self.hands.any() else len(self.hands)

    def later(self, i: int, k: int) -> bool:
        """Return whether a limb does not carry it from a node on, but does later."""
        return not self.carries(i, k) and bool(self.hands[k:, i].any())

    def carries(self, i: int, k: int) -> bool:
        """Return whether a limb carries it from a node on, or at the last one."""
        return bool(self.hands[min(k, len(self.hands) - 1), i])

    def models(self, model: pin.Model, scene: Scene, character: Character, q: Array) -> list[pin.Model]:
        """Return the model of each node, (M + 1,): the object's inertia is shared evenly by the hands that carry it.

        It is where it is relative to each hand in the middle of the time in which the same hands carry it.

        Args:
            model: without the object.
            scene: the same.
            character: the same.
            q: postures at the nodes, (M + 1, nq).
        """
        found, begin, data = [], 0, model.createData()
        inertia = pin.Inertia(self.mass, np.zeros(3), self.mass * self.prop.inertia)
        for k in range(1, len(self.hands) + 1):
            if k < len(self.hands) and (self.hands[k] == self.hands[begin]).all():
                continue
            carriers, middle, loaded = np.flatnonzero(self.hands[begin]), (begin + k) // 2, model
            if len(carriers):
                loaded = pin.Model(model)
                pin.forwardKinematics(model, data, q[middle])
                share = pin.Inertia(inertia.mass / len(carriers), inertia.lever, inertia.inertia / len(carriers))
                for i in carriers:
                    joint = scene.surfaces[character.limbs[i].surface].joint_id
                    loaded.inertias[joint] += data.oMi[joint].actInv(self.poses[middle]).act(share)
            found += [loaded] * (k - begin)
            begin = k
        return [*found, found[-1]]


def without_prop(scenario: Scenario) -> Scenario:
    """Return the scenario with the character alone; the object is a solid where it is at the start."""
    behaviour = behaviour_of(scenario)
    if behaviour.object is None:
        return scenario
    name = behaviour.object.subsystem
    scene, alone = scenario.scene, scene_without(scenario, name)
    data, shapes = scene.model.createData(), scene.collision_model.createData()
    pin.updateGeometryPlacements(scene.model, data, scene.collision_model, shapes, scene.q0)
    solids = alone.collision_model.copy()
    for k, piece in enumerate(scene.collision_model.geometryObjects):
        if piece.name.split("/")[0] == name:
            solids.addGeometryObject(pin.GeometryObject(piece.name, 0, 0, shapes.oMg[k], piece.geometry))
    spec = scenario.spec.model_copy(
        update={
            "behaviour": behaviour.model_copy(update={"object": None}),
            "subsystems": {key: value for key, value in scenario.spec.subsystems.items() if key != name},
        }
    )
    return replace(scenario, spec=spec, scene=replace(alone, collision_model=solids))


def motion_without_prop(motion: Motion, character: Character) -> Motion:
    """Return a motion of a character with an object as that of the character alone."""
    kept = [i for i, effector in enumerate(character.effectors) if not effector.of_prop]
    columns = slice(0, character.prop_features.start)
    return replace(
        motion,
        effectors=tuple(motion.effectors[i] for i in kept),
        x=motion.x[:, columns],
        rates=motion.rates[:, columns],
        c=motion.c[:, kept],
        forces=motion.forces[:, kept],
    )


def carried_at(
    motion: Motion, character: Character, touched: NDArray[np.str_], times: Array, mass: float
) -> Carried | None:
    """Return the object of a motion at nodes, None if the character has none.

    Args:
        motion: simplified motion.
        character: with the object.
        touched: surface that each effector touches in each piece of the splines, (K, N).
        times: of the nodes, (M + 1,) [s].
        mass: of the object [kg].
    """
    if character.prop is None:
        return None
    x = motion.features(np.minimum(times, motion.duration - 1e-9))[0][:, character.prop_features]
    poses = [pin.SE3(R, p) for R, p in zip(rotations(x[:, 3:]), x[:, :3], strict=True)]
    pieces = np.searchsorted(motion.spline_knots, 0.5 * (times[1:] + times[:-1])) - 1
    on_prop = [effector.on_prop for effector in character.limbs]
    rests = (touched[:, [e.of_prop for e in character.effectors]] != "").any(axis=1)
    held = (touched[:, : len(on_prop)] != "") & on_prop & ~rests[:, None]
    return Carried(character.prop, mass, poses, held[pieces])
