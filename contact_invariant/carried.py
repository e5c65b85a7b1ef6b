"""Object in the refinement with the full model: its inertia moves with the hands that carry it along a given path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from contact_invariant.character import Character, RigidBody, behaviour_of
from contact_invariant.motion import Motion, rotations
from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.scenario import Scenario, scene_without
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.behaviour import CharacterSpec


@dataclass(frozen=True)
class Carried:
    """The object at the nodes of a refinement.

    Attributes:
        prop: the object.
        mass: of the object [kg].
        poses: of its centre of mass in the world, (M + 1,).
        touching: whether each limb of the character touches it from each node to the next, (M, limbs).
        hands: whether it carries it as well: it rests on nothing else.
        carriers: number of limbs of all characters that carry it, (M,).
    """

    prop: RigidBody
    mass: float
    poses: list[pin.SE3]
    touching: NDArray[np.bool_]
    hands: NDArray[np.bool_]
    carriers: Indices

    @property
    def begin(self) -> int:
        """First node at which a limb carries it."""
        return int(np.argmax(self.hands.any(axis=1))) if self.hands.any() else len(self.hands)

    def later(self, i: int, k: int) -> bool:
        """Return whether a limb does not carry it from a node on, but does later."""
        return not self.carries(i, k) and bool(self.hands[k:, i].any())

    def released(self, i: int, k: int) -> bool:
        """Return whether a limb does not touch it from a node on, but did before."""
        return not self.touches(i, k) and bool(self.touching[:k, i].any())

    def carries(self, i: int, k: int) -> bool:
        """Return whether a limb carries it from a node on, or at the last one."""
        return bool(self.hands[min(k, len(self.hands) - 1), i])

    def touches(self, i: int, k: int) -> bool:
        """Return whether a limb touches it from a node on, or at the last one."""
        return bool(self.touching[min(k, len(self.touching) - 1), i])

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
            same = k < len(self.hands) and (self.hands[k] == self.hands[begin]).all()
            if same and self.carriers[k] == self.carriers[begin]:
                continue
            own, middle, loaded = np.flatnonzero(self.hands[begin]), (begin + k) // 2, model
            if len(own):
                loaded, count = pin.Model(model), int(self.carriers[begin])
                pin.forwardKinematics(model, data, q[middle])
                share = pin.Inertia(inertia.mass / count, inertia.lever, inertia.inertia / count)
                for i in own:
                    joint = scene.surfaces[character.limbs[i].surface].joint_id
                    loaded.inertias[joint] += data.oMi[joint].actInv(self.poses[middle]).act(share)
            found += [loaded] * (k - begin)
            begin = k
        return [*found, found[-1]]


def alone(scenario: Scenario, name: str) -> Scenario:
    """Return the scenario with one of its characters; the object is a solid where it is at the start."""
    behaviour = behaviour_of(scenario)
    if behaviour.object is None and behaviour.partner is None:
        return scenario
    (own,) = (character for character in behaviour.characters if character.character == name)
    gone = [other for other in scenario.scene.subsystems if other != name]
    scene, left = scenario.scene, scene_without(scenario, *gone)
    solids = left.collision_model.copy()
    if behaviour.object is not None:
        data, shapes = scene.model.createData(), scene.collision_model.createData()
        pin.updateGeometryPlacements(scene.model, data, scene.collision_model, shapes, scene.q0)
        for k, piece in enumerate(scene.collision_model.geometryObjects):
            if piece.name.split("/")[0] == behaviour.object.subsystem:
                solids.addGeometryObject(pin.GeometryObject(piece.name, 0, 0, shapes.oMg[k], piece.geometry))
    pairs = [pair for pair in scenario.spec.collisions.pairs if not any(_names(pair.bodies, other) for other in gone)]
    collisions = scenario.spec.collisions.model_copy(update={"pairs": pairs, "self_collisions": [name]})
    member = {key: getattr(own, key) for key in CharacterSpec.model_fields}
    spec = scenario.spec.model_copy(
        update={
            "behaviour": behaviour.model_copy(update={**member, "object": None, "partner": None}),
            "subsystems": {name: scenario.spec.subsystems[name]},
            "collisions": collisions,
        }
    )
    return replace(scenario, spec=spec, scene=replace(left, collision_model=solids))


def _names(bodies: Sequence[str], subsystem: str) -> bool:
    """Return whether a pair of bodies names one of a subsystem."""
    return any(body.split("/")[0] == subsystem for body in bodies)


def motion_alone(motion: Motion, character: Character, k: int) -> Motion:
    """Return the k-th character's part of a motion; c is zero where an effector makes no contact."""
    kept = own_effectors(character, k)
    limbs = [i for i in kept if character.effectors[i].is_limb]
    columns = np.r_[character.body_features(k), *(slice(6 + 6 * i, 12 + 6 * i) for i in limbs)]
    joints = [j for j, body in enumerate(character.joints.bodies) if body == k]
    return replace(
        motion,
        effectors=tuple(motion.effectors[i] for i in kept),
        x=motion.x[:, columns],
        rates=motion.rates[:, columns],
        c=np.where(motion.contacts, motion.c, 0.0)[:, kept],
        forces=motion.forces[:, kept],
        angles=motion.angles[:, joints],
    )


def own_effectors(character: Character, k: int) -> list[int]:
    """Return the indices of the k-th character's effectors."""
    return [i for i, effector in enumerate(character.effectors) if effector.body == k]


def carried_at(
    motion: Motion, character: Character, k: int, touched: NDArray[np.str_], times: Array, mass: float
) -> Carried | None:
    """Return the object of a motion at nodes for the k-th character, None if there is none.

    Args:
        motion: simplified motion.
        character: with the object.
        k: index of the character.
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
    touching = (touched[:, : len(on_prop)] != "") & on_prop
    held = touching & ~rests[:, None]
    own = [i for i in own_effectors(character, k) if character.effectors[i].is_limb]
    hands = held[pieces]
    return Carried(character.prop, mass, poses, touching[pieces][:, own], hands[:, own], hands.sum(axis=1))
