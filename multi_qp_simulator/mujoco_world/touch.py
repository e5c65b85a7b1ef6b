"""Wrenches of the scenario's contacts in MuJoCo, and grasps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_scene.arrays import Array
from multi_qp_scene.meeting_pairs import link_of
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene
from multi_qp_scene.surfaces import Surface
from multi_qp_simulator.backend import TouchForce
from multi_qp_simulator.mujoco_world.pads import pad_name
from multi_qp_simulator.mujoco_world.shapes import body_name
from multi_qp_simulator.mujoco_world.touch_kernel import ContactSurfaces, add_contacts, add_welds, mean_wrenches
from multi_qp_simulator.mujoco_world.world import gripping

_EQUALITY = int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)

#: Largest distance between the axes of a hand and a handle at which the grasp closes [m].
REACH = 0.02


class Touch:
    """Contacts of a scenario in MuJoCo: forces summed over the steps of a control period.

    Wrenches are (force, moment) at the first surface's origin, in its frame, on its body.
    """

    def __init__(self, scenario: Scenario, world: Any) -> None:
        scene, contacts = scenario.scene, scenario.spec.contacts
        self._world = world
        self._names = tuple(contacts)
        pairs = [tuple(scene.surfaces[name] for name in contact.surfaces) for contact in contacts.values()]
        self._welds = {
            name: int(world.equality(name).id)
            for name, (first, _) in zip(contacts, pairs, strict=True)
            if first.kind == "grasp"
        }
        self._grips = {
            name: (int(world.actuator(f"grip {name}").id), contacts[name].grip) for name in gripping(scenario)
        }
        self._surfaces = self._contact_surfaces(scene, pairs)
        self._places = [[_in_body(scene.model, surface) for surface in pair] for pair in pairs]
        self._owner = self._owners(world)
        self._largest, self._largest_time = np.zeros(self._owner.shape), np.zeros(self._owner.shape)
        piece_links = {item.name: link_of(scene, k) for k, item in enumerate(scene.collision_model.geometryObjects)}
        piece_links |= {pad_name(name): surface.link for name, surface in scene.surfaces.items()}
        self._link_of = [piece_links[world.geom(k).name] for k in range(world.ngeom)]
        self._settings = world.eq_data  # a view, updated when grasps close
        self._contact_of = np.full(world.neq, -1, dtype=np.intp)
        for name, weld in self._welds.items():
            self._contact_of[weld] = self._names.index(name)
        self._sum = np.zeros((len(self._names), 6))
        self._touched = np.zeros(len(self._names), dtype=np.bool_)
        self._made = np.zeros(len(self._names), dtype=np.bool_)
        self._steps = 0

    def _contact_surfaces(self, scene: Scene, pairs: Sequence[tuple[Surface, ...]]) -> ContactSurfaces:
        """Return the surfaces of all contacts in MuJoCo's bodies; those between the same bodies are linked."""
        bodies = [
            [self._world.body(body_name(scene, s.joint_id, s.name.split("/")[0])).id for s in pair] for pair in pairs
        ]
        places = [[_in_body(scene.model, surface) for surface in pair] for pair in pairs]
        outlines = [[_edges(surface) for surface in pair] for pair in pairs]
        most = max((len(edges) for pair in outlines for edges in pair), default=1)
        edges = [[np.pad(own, ((0, most - len(own)), (0, 0)), mode="edge") for own in pair] for pair in outlines]
        others, last = np.zeros(len(pairs), dtype=np.intp), dict[tuple[int, ...], int]()
        for k, pair in enumerate(bodies):
            if self._names[k] not in self._welds:
                others[k] = last.get(tuple(sorted(pair)), 0)
                last[tuple(sorted(pair))] = k + 1
        return ContactSurfaces(
            np.array(bodies, dtype=np.intp).reshape(-1, 2),
            np.array([[place.translation for place in pair] for pair in places]).reshape(-1, 2, 3),
            np.array([[place.rotation for place in pair] for pair in places]).reshape(-1, 2, 3, 3),
            np.array(edges).reshape(-1, 2, most, 3),
            others,
        )

    def _owners(self, world: Any) -> NDArray[np.intp]:
        """Return the last contact of two shapes, and the sign with which MuJoCo's force enters its wrench."""
        of_bodies = np.zeros((world.nbody, world.nbody), dtype=np.intp)
        for k, (one, other) in enumerate(self._surfaces.bodies):
            if self._names[k] not in self._welds:
                # MuJoCo's force acts on the second shape
                of_bodies[other, one], of_bodies[one, other] = k + 1, -(k + 1)
        return np.ascontiguousarray(of_bodies[np.ix_(world.geom_bodyid, world.geom_bodyid)])

    def hold(self, data: Any, made: Sequence[str]) -> None:
        """Close the grasps of the active contacts at their current poses, and grip with them; open the others."""
        for name, (actuator, _) in self._grips.items():
            data.ctrl[actuator] = float(name in made)
        for name, weld in self._welds.items():
            if name not in made:
                data.eq_active[weld] = 0
            elif not data.eq_active[weld]:
                self._close(data, self._names.index(name), weld)

    def _close(self, data: Any, k: int, weld: int) -> None:
        one, other = self._surfaces.bodies[k]
        R1, R2 = data.xmat[one].reshape(3, 3), data.xmat[other].reshape(3, 3)
        hand = pin.SE3(R1, data.xpos[one]) * self._places[k][0]
        handle = pin.SE3(R2, data.xpos[other]) * self._places[k][1]
        offset = handle.actInv(hand.translation)
        if float(np.hypot(offset[1], offset[2])) > REACH:
            return
        settings = self._world.eq_data[weld]
        settings[0:3] = R2.T @ (hand.translation - data.xpos[other])
        settings[3:6] = R1.T @ (hand.translation - data.xpos[one])
        conjugate = np.empty(4)
        mujoco.mju_negQuat(conjugate, data.xquat[one])
        mujoco.mju_mulQuat(settings[6:10], conjugate, data.xquat[other])
        settings[10] = 1.0
        data.eq_active[weld] = 1

    def begin(self, made: Sequence[str]) -> None:
        """Reset at the start of a control period, in which the controller uses these contacts."""
        for k, name in enumerate(self._names):
            self._made[k] = name in made
        self._sum[:] = 0.0
        self._steps = 0

    def unknown(self) -> list[TouchForce]:
        """Return the largest forces so far between shapes that no contact connects, or far from its surfaces."""
        found = []
        for a, b in np.argwhere(self._largest > 0.0).tolist():
            links = self._link_of[a], self._link_of[b]
            found.append(TouchForce(links, float(self._largest[a, b]), float(self._largest_time[a, b])))
        return found

    def add(self, data: Any, time: float) -> None:
        """Add the forces of the last physics step, at a time [s]."""
        self._steps += 1
        if data.ncon:
            contact = data.contact
            add_contacts(
                contact.geom,
                contact.efc_address,
                contact.frame,
                contact.pos,
                data.efc_force,
                self._owner,
                self._surfaces,
                self._made,
                data.xpos,
                data.xmat,
                self._sum,
                self._largest,
                self._largest_time,
                time,
            )
        if self._welds and data.ne:
            add_welds(
                data.ne,
                data.efc_id,
                data.efc_type,
                _EQUALITY,
                data.efc_force,
                self._contact_of,
                self._settings,
                self._surfaces,
                data.xpos,
                data.xmat,
                self._sum,
            )

    def wrenches(self, made: Sequence[str], data: Any) -> dict[str, Array]:
        """Return the mean wrench of each contact that is active or touches, (6,)."""
        mean = np.empty_like(self._sum)
        mean_wrenches(
            self._sum,
            max(1, self._steps),
            self._surfaces,
            data.xpos,
            data.xmat,
            mean,
            self._touched,
        )
        touched = self._touched.tolist()
        for name, (_, pull) in self._grips.items():
            k = self._names.index(name)
            if touched[k] and name in made:  # what presses the shapes together is no force from outside
                mean[k, 2] += pull
        return {name: mean[k] for k, name in enumerate(self._names) if touched[k] or name in made}


def _in_body(model: pin.Model, surface: Surface) -> pin.SE3:
    """Return the placement of a surface in the body of its joint (in world axes for a fixed one)."""
    return model.frames[surface.frame_id].placement


def _edges(surface: Surface) -> Array:
    """Return the outline of a surface in its plane: N x ≤ d, rows (N, d), (k, 3); of a point, an empty square."""
    if surface.kind != "planar":
        return np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
    normals, distances = surface.edges
    return np.column_stack([normals, distances])
