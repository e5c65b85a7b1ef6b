"""Vectorised slip against the slip of each contact."""

from __future__ import annotations

import numpy as np
import pytest

from multi_qp_scene.scenario import load_scenario
from multi_qp_simulator.runner import make_backend, make_controller
from multi_qp_simulator.slip import SlipWatch


@pytest.mark.parametrize("name", ["box", "king"])
def test_it_is_the_worst_of_each(name):
    """Contacts slip in a physics engine; king's contacts also change."""
    scenario = load_scenario(name)
    controller, backend, watch = make_controller(scenario, "mujoco"), make_backend("mujoco", scenario), SlipWatch()
    found = []
    for tick in range(250):
        command = controller.step(backend.measure(), tick * controller.dt)
        slips = np.array([contact.slip() for contact in controller.contacts.values()])
        found.append(watch.worst(controller))
        np.testing.assert_allclose(found[-1], slips.max(axis=0), rtol=1e-9, atol=1e-15)
        backend.step(command, controller.dt)
    assert np.max(found, axis=0).min() > 1e-6
