"""Reconstruction of a trajectory from its samples."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from com_trajectory.bezier import Bezier
from motion_generation.phase_curves import PhaseCurves
from motion_generation.sampled_curve import ACCURACY, curve_through
from multi_qp_scene.contact_sequence import Contact, ContactPhase, ContactSequence
from multi_qp_scene.errors import MultiQpError

CONTACT = Contact.planar("sole", pin.SE3.Identity(), (0.2, 0.1), friction=0.5)
SEQUENCE = ContactSequence((ContactPhase((CONTACT,)),) * 2, {}, "two")
CURVE = Bezier(np.random.default_rng(3).normal(size=(12, 3)), 0.0, 2.0)  # of degree 11
ENDS = np.array([0.8, 2.0])


def samples():
    times = np.concatenate([np.linspace(0.0, 0.8, 40, endpoint=False), np.linspace(0.8, 2.0, 61)])
    return [times, *(curve(times) for curve in (CURVE, CURVE.derivative(1), CURVE.derivative(2)))]


def test_the_curve_matches_the_original_between_samples():
    found = curve_through(*samples(), SEQUENCE, ENDS)
    times = np.linspace(0.0, 2.0, 1777)
    np.testing.assert_allclose(found.position(times), CURVE(times), atol=2.0 * ACCURACY)
    np.testing.assert_allclose(found.velocity(times), CURVE.derivative(1)(times), atol=1e-3)
    assert len(found.pieces) < 50  # not one from each sample to the next
    np.testing.assert_allclose(found.phase_ends, ENDS)
    assert PhaseCurves(found).duration(1) == pytest.approx(1.2)


def test_a_straight_motion_is_one_piece_a_phase():
    times = samples()[0]
    straight = np.outer(times, [1.0, 2.0, 3.0])
    rate = np.tile([1.0, 2.0, 3.0], (len(times), 1))
    assert len(curve_through(times, straight, rate, 0.0 * rate, SEQUENCE, ENDS).pieces) == 2  # one a phase


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda s: s[1].__setitem__((3, 0), np.nan), "finite"),
        (lambda s: s[0].__setitem__(5, 0.0), "increasing"),
        (lambda s: s[0].__iadd__(0.5), "from 0 on"),
        (lambda s: s[0].__setitem__(40, 0.805), "at the end of phase 1"),
    ],
)
def test_wrong_samples_are_refused(spoil, message):
    given = samples()
    spoil(given)
    with pytest.raises(MultiQpError, match=message):
        curve_through(*given, SEQUENCE, ENDS)
