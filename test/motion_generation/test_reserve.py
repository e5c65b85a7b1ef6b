"""What planned trajectories leave unused of the contacts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from com_trajectory.phases import Reserve, planned_phases
from com_trajectory.trajectory import ComTrajectory, validate
from motion_generation.planning import LESS, RESERVE, STEEP, trajectory_through
from motion_generation.state_parts import Pace
from multi_qp_scene.contact_sequence import Contact, ContactPhase, ContactSequence

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


def balanced_share(found: ComTrajectory, sequence: ContactSequence, reserve: Reserve) -> float:
    """Return the share of instants at which contacts with a reserve balance a trajectory."""
    phases = tuple(planned_phases(sequence, "robot", {}, reserve))
    return validate(replace(found, phases=phases)).dynamic_share


@pytest.mark.parametrize(("degrees", "reserve"), [(0.0, RESERVE), (15.0, RESERVE), (31.0, STEEP)])
def test_a_trajectory_leaves_the_largest_reserve_that_the_slope_allows(degrees: float, reserve: Reserve) -> None:
    """0.7 of the friction carry no body on 31 degrees; the curve without reserve followed the edge of the cone."""
    sequence = step_on_slope(degrees)
    found = trajectory_through(sequence, [np.zeros(7)] * 3, {}, pace=Pace())
    assert found.method == "dynamic"
    assert balanced_share(found, sequence, reserve) == 1.0
    if reserve is STEEP:
        assert balanced_share(found, sequence, LESS) < 1.0
