"""Friction coefficients that the contact forces of a run need."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array
from multi_qp_scene.scene import Scene
from multi_qp_simulator.log import Log

#: Share of a contact's largest force from which on its forces count: the direction of smaller ones says little.
LOADED = 0.05


def needed_friction(log: Log, scene: Scene) -> dict[str, dict[str, float | None]]:
    """Return, by contact, the Coulomb coefficients that its forces need: tangential over normal force.

    Forces are those of the log, between the surfaces as a whole. Contacts around a cylinder are left out, as their
    points press from all sides.

    Returns:
        `allowed`: coefficient of the scenario; `median`, `largest` and its `time` [s]: over the ticks in which the
        contact is loaded and presses, None without one; `pulled`: share of the loaded ticks in which it pulls.
    """
    pairs = [tuple(scene.surfaces[str(name)] for name in pair) for pair in log.contact_surfaces]
    flat = {c: pair for c, pair in enumerate(pairs) if all(surface.kind != "grasp" for surface in pair)}
    forces = {c: np.zeros((len(log.time), 2)) for c in flat}
    model, data = scene.model, scene.model.createData()
    for k, active in enumerate(log.contact_active):
        shown = [c for c in np.flatnonzero(active).tolist() if c in flat]
        if shown:
            pin.forwardKinematics(model, data, log.q[k])
        for c in shown:
            first, second = flat[c]
            rotation = pin.updateFramePlacement(model, data, first.frame_id).rotation
            # of a point, the normal is that of the face that it touches
            outwards = pin.updateFramePlacement(model, data, second.frame_id).rotation[:, 2]
            normal = outwards if second.kind == "planar" else -rotation[:, 2]
            force = rotation @ log.contact_wrench[k, c, :3]
            pressing = float(normal @ force)
            forces[c][k] = pressing, np.linalg.norm(force - pressing * normal)
    return {
        str(log.contact_names[c]): {"allowed": float(log.contact_friction[c]), **_ratios(log.time, of)}
        for c, of in forces.items()
        if np.nan_to_num(of, nan=0.0, posinf=0.0, neginf=0.0).any()
    }


def _ratios(times: Array, forces: Array) -> dict[str, float | None]:
    """Return the ratios of normal and tangential forces, (T, 2) [N], of a contact."""
    finite = np.isfinite(forces).all(axis=1)  # the last ones of a run that diverges may not be
    times, forces = times[finite], forces[finite]
    sizes = np.hypot(*forces.T)
    loaded = np.flatnonzero(sizes >= LOADED * sizes.max())
    pressing = loaded[forces[loaded, 0] > 0.0]
    pulled = 1.0 - len(pressing) / len(loaded)
    if not len(pressing):
        return {"median": None, "largest": None, "time": None, "pulled": pulled}
    ratios = forces[pressing, 1] / forces[pressing, 0]
    most = int(ratios.argmax())
    return {
        "median": float(np.median(ratios)),
        "largest": float(ratios[most]),
        "time": float(times[pressing[most]]),
        "pulled": pulled,
    }
