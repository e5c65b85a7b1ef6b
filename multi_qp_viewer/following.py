"""View of the browser that follows characters: everything drawn is moved under a camera that stays."""

from __future__ import annotations

import numpy as np
import viser

from multi_qp_scene.arrays import Array
from multi_qp_viewer.browser_bodies import BodyMeshes
from multi_qp_viewer.scene_view import DrawableScene, moving_subsystems, subsystem_of

#: Parent of everything that is drawn, but for the lights.
WORLD = "/world"
#: Choices besides the names of the subsystems.
ALL, NOTHING = "all", "nothing"
#: Distance that bodies may move before the view follows them [m], and time constant of its motion [s].
FREE_DISTANCE, FOLLOW_TIME = 0.4, 0.3
#: Change of the view that is not worth a message [m].
RESOLUTION = 1e-4


def view_shift(server: viser.ViserServer) -> Array:
    """Return the displacement of the camera of a page by the view that follows, (3,) [m]."""
    world = server.scene.get_handle_by_name(WORLD)
    return np.zeros(3) if world is None else -np.asarray(world.position)


class FollowingView:
    """View that follows the moving subsystems, or one of them, at a distance.

    The camera of a page is its user's: moving the camera itself would undo what the user does meanwhile.

    Attributes:
        choices: what can be followed.
        choice: what is followed.
    """

    def __init__(self, server: viser.ViserServer, scene: DrawableScene, bodies: BodyMeshes) -> None:
        """Follow all moving subsystems, from the present configuration of the bodies."""
        world = server.scene.get_handle_by_name(WORLD)
        if world is None:
            world = server.scene.add_frame(WORLD, show_axes=False)
        self._world = world
        self._world.position = np.zeros(3)
        self._bodies = bodies
        owners = np.array([subsystem_of(name) for name in bodies.names])
        self._members = {name: np.flatnonzero(owners == name) for name in moving_subsystems(scene)}
        self._begin = {name: bodies.positions[members].mean(axis=0) for name, members in self._members.items()}
        self.choices = (ALL, *self._members, NOTHING)
        self.choice, self._shift = ALL, np.zeros(3)

    def update(self, elapsed: float) -> None:
        """Move the view by what is due after a time [s]."""
        away = self._displacement()
        distance = float(np.linalg.norm(away))
        goal = away * max(1.0 - FREE_DISTANCE / max(distance, FREE_DISTANCE), 0.0)
        self._shift = self._shift + (1.0 - np.exp(-elapsed / FOLLOW_TIME)) * (goal - self._shift)
        if np.abs(self._shift + self._world.position).max() > RESOLUTION:
            self._world.position = -self._shift

    def _displacement(self) -> Array:
        """Return the mean displacement of what is followed, (3,) [m]."""
        names = [name for name in self._members if self.choice in (ALL, name)]
        moved = [self._bodies.positions[self._members[name]].mean(axis=0) - self._begin[name] for name in names]
        return np.mean(moved, axis=0) if moved else np.zeros(3)
