"""What planned trajectories leave unused of the contacts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from com_trajectory.phases import ContactMargin, planned_phases
from com_trajectory.trajectory import ComTrajectory, validate
from motion_generation.planning import CONTACT_MARGIN, LESS, STEEP, trajectory_through
from multi_qp_scene.contact_sequence import Contact, ContactPhase, ContactSequence
from multi_qp_scene.schema.plan import PaceSpec

FRICTION, HEIGHT = 0.8, 0.75


def step_on_slope(degrees: float) -> ContactSequence:
    """Lift the left of two feet on a slope about y and put it back, with the weight on the right one."""
    turned = pin.SE3(pin.rpy.rpyToMatrix(0.0, -np.radians(degrees), 0.0), np.zeros(3))
    down = np.diag([1.0, -1.0, -1.0])
    feet = [
        Contact.planar(f"{side}_sole", turned * pin.SE3(down, np.array([0.0, y, 0.0])), (0.22, 0.14), friction=FRICTION)
        for side, y in (("left", 0.1), ("right", -0.1))
    ]
    phases = []
    for contacts, y in ((feet, 0.0), (feet[1:], -0.09), (feet, -0.09)):
        phases.append(ContactPhase(tuple(contacts), "", {"robot": np.array([0.0, y, HEIGHT])}))
    return ContactSequence(tuple(phases), {}, "step")


def balanced_share(found: ComTrajectory, sequence: ContactSequence, contact_margin: ContactMargin) -> float:
    """Return the share of instants at which contacts with a margin balance a trajectory."""
    phases = tuple(planned_phases(sequence, "robot", {}, contact_margin))
    return validate(replace(found, phases=phases)).dynamic_share


@pytest.mark.parametrize(("degrees", "contact_margin"), [(0.0, CONTACT_MARGIN), (15.0, CONTACT_MARGIN), (31.0, STEEP)])
def test_a_trajectory_leaves_the_largest_margin_that_the_slope_allows(
    degrees: float, contact_margin: ContactMargin
) -> None:
    """0.7 of the friction carry no body on 31 degrees; the curve without margin followed the edge of the cone."""
    sequence = step_on_slope(degrees)
    found = trajectory_through(sequence, [np.zeros(7)] * 3, {}, pace=PaceSpec())
    assert found.method == "dynamic"
    assert balanced_share(found, sequence, contact_margin) == 1.0
    if contact_margin is STEEP:
        assert balanced_share(found, sequence, LESS) < 1.0
