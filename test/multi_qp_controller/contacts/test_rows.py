"""Rows of a contact set in a running controller."""

from __future__ import annotations

import numpy as np
import pytest

from multi_qp_controller.command import Status
from multi_qp_controller.controller import Controller
from multi_qp_scene.errors import MultiQpError

TOUCHING = {"type": "planar", "link": "body", "size": [0.2, 0.2]}


def resting(workshop, *names, efforts=()):
    """Return a scenario with a block on the ground, held by contacts of these names between the same surfaces."""
    workshop.block("block", surfaces={"bottom": TOUCHING | {"xyz": [0, 0, -0.1], "rpy": [np.pi, 0, 0]}})
    contact = {"surfaces": ["block/bottom", "ground/floor"]}
    return workshop.load(
        subsystems={"block": {"model": "block", "pose": {"xyz": [0, 0, 0.1]}}},
        environment={"ground": {"model": "ground"}},
        contacts={name: contact | ({"effort": efforts[k]} if efforts else {}) for k, name in enumerate(names)},
        states={"only": {"contacts": list(names), "hold": 1000}},
    )


@pytest.mark.parametrize("names", [("once",), ("once", "again")])
def test_contacts_between_the_same_surfaces_share_the_weight(workshop, names):
    controller = Controller(resting(workshop, *names))
    command = controller.step(controller.scenario.scene.initial_state(), 0.0)
    assert command.diagnostics.status is Status.OK, command.diagnostics.message
    assert np.abs(command.a).max() < 1e-4
    weight = sum(wrench[2] for wrench in command.wrenches.values())
    assert weight == pytest.approx(-2.0 * 9.81, rel=1e-4)


def test_a_contact_of_three_times_the_effort_bears_a_third(workshop):
    controller = Controller(resting(workshop, "once", "again", efforts=(1.0, 3.0)))
    command = controller.step(controller.scenario.scene.initial_state(), 0.0)
    assert command.wrenches["once"][2] == pytest.approx(3.0 * command.wrenches["again"][2], rel=1e-3)
    assert command.wrenches["once"][2] == pytest.approx(-1.5 * 9.81, rel=1e-3)


@pytest.mark.parametrize("formulation", ["condensed", "reduced"])
def test_a_scene_with_one_degree_of_freedom(workshop, formulation):
    workshop.chain("arm", [{"extra": '<limit lower="-2" upper="2" velocity="5" effort="100"/>'}])
    target = {"position": [0.1, 0.0, 0.0]}
    tasks = {"hand": {"type": "pose", "frame": "arm/link1", "axes": ["x"], "target": target}}
    controller = Controller(workshop.load(subsystems={"arm": {"model": "arm"}}, tasks=tasks), formulation=formulation)
    command = controller.step(controller.scenario.scene.initial_state(), 0.0)
    assert command.diagnostics.status is Status.OK, command.diagnostics.message


def test_saved_pairs_of_frames_that_do_not_fit_the_contacts_are_refused(workshop):
    controller = Controller(resting(workshop, "once"))
    controller.step(controller.scenario.scene.initial_state(), 0.0)
    saved = controller.get_state()
    saved.state_manager.watched[0] = saved.state_manager.watched[0][::-1]
    with pytest.raises(MultiQpError, match="the watched pairs of frames do not begin with those of the contacts"):
        controller.set_state(saved)
