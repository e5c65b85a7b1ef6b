"""Loads: random masses, and masses set by a user."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_scene.loads import Loads
from multi_qp_scene.schema.subsystems import LoadSpec, RandomMassSpec

PLACE = (0.3, 0.0, 0.0)


def body() -> pin.Model:
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "body")
    model.appendBodyToJoint(joint, pin.Inertia(2.0, np.zeros(3), 0.01 * np.eye(3)), pin.SE3.Identity())
    model.addBodyFrame("body/link", joint, pin.SE3.Identity(), 0)
    return model


def load(*, rate: float | None = None, random: bool = False) -> LoadSpec:
    profile = RandomMassSpec(seed=4, every=0.5) if random else None
    return LoadSpec(link="body/link", xyz=PLACE, mass=1.0, min=0.5, max=5.0, rate=rate, random=profile)


def test_a_load_is_a_point_mass_of_the_model() -> None:
    model = body()
    loads = Loads(model, {"weight": load()})
    loads.set_mass("weight", 3.0)
    assert loads.masses == {"weight": 3.0}
    assert model.inertias[1].mass == pytest.approx(5.0)
    np.testing.assert_allclose(model.inertias[1].lever, 3.0 / 5.0 * np.array(PLACE))


def test_a_random_load_stays_within_its_limits_and_is_reproducible() -> None:
    first, second = (Loads(body(), {"weight": load(random=True)}) for _ in range(2))
    masses = []
    for time in np.arange(0.0, 20.0, 0.05):
        first.advance(time)
        second.advance(time)
        assert first.masses == second.masses
        masses.append(first.masses["weight"])
    assert masses[0] == 1.0
    assert min(masses) >= 0.5 and max(masses) <= 5.0 and np.ptp(masses) > 2.0


def test_a_load_set_by_a_user_is_constant_until_reset() -> None:
    loads = Loads(body(), {"weight": load(random=True)})
    loads.advance(1.0)
    loads.set_mass("weight", 2.0)
    loads.advance(2.0)
    loads.advance(3.0)
    assert loads.masses == {"weight": 2.0}
    loads.reset()
    assert loads.masses == {"weight": 1.0}
    loads.advance(1.25)
    assert loads.masses["weight"] not in (1.0, 2.0)


def test_a_rate_limits_changes_by_a_user() -> None:
    loads = Loads(body(), {"weight": load(rate=2.0)})
    loads.advance(10.0)
    loads.set_mass("weight", 5.0)
    assert loads.masses == {"weight": 1.0}
    loads.advance(10.5)
    assert loads.masses == {"weight": pytest.approx(2.0)}
    loads.advance(20.0)
    assert loads.masses == {"weight": 5.0}


@pytest.mark.parametrize("mass", [0.4, 5.1, np.nan])
def test_a_mass_outside_the_limits_is_refused(mass: float) -> None:
    loads = Loads(body(), {"weight": load()})
    with pytest.raises(ValueError, match="weight"):
        loads.set_mass("weight", mass)
    assert loads.masses == {"weight": 1.0}
