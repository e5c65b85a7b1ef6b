"""Centre of mass and soles of a humanoid at given configurations."""

from __future__ import annotations

import numpy as np
import pinocchio as pin


def centres(model, configurations):
    """Return the centre of mass of each configuration, (n, 3) [m]."""
    data = model.createData()
    return np.array([pin.centerOfMass(model, data, q).copy() for q in configurations])


def soles(scenario, configurations):
    """Return the poses of the left and the right sole at each configuration."""
    scene, data = scenario.scene, scenario.scene.model.createData()
    frames = [scene.surfaces[f"humanoid/{side}_sole"].frame_id for side in ("left", "right")]
    found = []
    for q in configurations:
        pin.framesForwardKinematics(scene.model, data, q)
        found.append([data.oMf[frame].copy() for frame in frames])
    return found


def sole_places(scenario, configurations):
    """Return the places of the soles, (n, 2, 3) [m]."""
    return np.array([[X.translation for X in pair] for pair in soles(scenario, configurations)])
