"""Gap and angle between the two surfaces of a contact when it is made, and check of the start of a run."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.kinematic_trees import place_frames
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_scene.surfaces import Surface


@dataclass(frozen=True)
class ContactGap:
    """Gap between two surfaces.

    Attributes:
        distance: of the first surface's origin from the second surface, or of the axes of a grasp [m]; 0 where the ball
            of a point touches beside the point.
        angle: between the opposed normals, or between the axes of a grasp [rad]; 0 for a point, which may rotate.
    """

    distance: float
    angle: float

    def __str__(self) -> str:
        return f"{1e3 * self.distance:.3g} mm and {round(np.rad2deg(self.angle), 2):g}° apart"


def contact_gap(first: Surface, second: Surface, X_second_first: pin.SE3) -> ContactGap:
    """Return the gap at a pose of the first surface in the second's frame.

    Beside a planar second surface, the distance includes that from its edges. A ball may touch anywhere between its
    point and its side that is nearest to the second surface.
    The same as `alignment_gap` of `alignment_kernel.py`, without a kernel, as `multi-qp check` must not compile.
    """
    place, R = X_second_first.translation, X_second_first.rotation
    _, y, z = place.tolist()
    if first.kind == "grasp":
        return ContactGap(math.hypot(y, z), math.acos(min(1.0, abs(R[0, 0]))))
    beside = 0.0
    if second.kind == "planar":
        N, d = second.edges
        beside = max(0.0, float((N @ place[:2] - d).max()))
    angle = math.acos(min(max(-R[2, 2], -1.0), 1.0)) if first.kind == "planar" else 0.0
    if first.ball.radius:
        lowest = z + float(R[2] @ first.ball.centre) - first.ball.radius
        z = max(min(lowest, z), -max(lowest, z), 0.0)
    return ContactGap(math.hypot(z, beside), angle)


def within_tolerance(scenario: Scenario, contact: str, gap: ContactGap) -> bool:
    """Return whether a contact may be made at a gap."""
    most = scenario.spec.contact_tolerance
    own = scenario.spec.contacts[contact]
    distance = most.distance if own.tolerance is None else own.tolerance.distance
    angle = most.angle if own.tolerance is None else own.tolerance.angle
    return gap.distance <= distance and gap.angle <= angle


def check_start(scenario: Scenario, state: State | None = None) -> None:
    """Check that the contacts of the initial state are closed, and joints not too far outside their limits.

    Args:
        scenario: the scenario; without states of its own nothing is checked.
        state: start state; the scenario's initial one if None. One that is not finite ends the run at once, and is not
            checked here.

    Raises:
        MultiQpError: naming each contact that is open, with its gap, or each joint.
    """
    scene, spec = scenario.scene, scenario.spec
    _check_limits(scenario, scene.q0 if state is None else state.q)
    if spec.initial_state not in spec.states or (state is not None and not state.is_finite):
        return
    data = place_frames(scene.model, scene.q0 if state is None else state.q)
    open_contacts = []
    for name in spec.states[spec.initial_state].contacts:
        first, second = (scene.surfaces[surface] for surface in spec.contacts[name].surfaces)
        gap = contact_gap(first, second, data.oMf[second.frame_id].actInv(data.oMf[first.frame_id]))
        if not within_tolerance(scenario, name, gap):
            open_contacts.append(f"'{name}' ({first.name} on {second.name}) is {gap}")
    if open_contacts:
        most, listed = spec.contact_tolerance, "; ".join(open_contacts)
        raise MultiQpError(
            f"{scenario.name}: contacts of the initial state '{spec.initial_state}' are open at the start: {listed}. "
            "Place the bodies so that these surfaces touch, or widen `contact_tolerance` "
            f"({1e3 * most.distance:g} mm, {np.rad2deg(most.angle):.2g}°)"
        )


def _check_limits(scenario: Scenario, q: NDArray[np.float64]) -> None:
    """Check that no joint is farther outside its limits than recovers."""
    limits, names = scenario.scene.limits, scenario.scene.velocity_names
    angles, most = q[limits.q_index], scenario.spec.joint_limits.start
    outside = np.maximum(limits.lower - angles, angles - limits.upper)
    wrong = [
        f"{names[limits.v_index[k]]} is at {angles[k]:.4g}, outside [{limits.lower[k]:.4g}, {limits.upper[k]:.4g}]"
        for k in np.flatnonzero(outside > most)
    ]
    if wrong:
        raise MultiQpError(
            f"{scenario.name}: joints are outside their limits at the start by more than {most:g} "
            f"(`joint_limits.start`): {'; '.join(wrong)}. Give a `posture` within the limits; angles are in radians"
        )
