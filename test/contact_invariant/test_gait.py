"""Which limbs are in contact together."""

import numpy as np
from pytest import approx

from contact_invariant.gait import agreement

DIAGONAL, SIDE = ((0, 3), (1, 2)), ((0, 2), (1, 3))


def test_trot_and_pace_are_told_apart_and_phases_on_all_feet_do_not_count():
    trot = np.array([[1, 1, 1, 1], [0, 1, 1, 0], [1, 0, 0, 1], [1, 1, 1, 1]], dtype=bool)
    pace = np.array([[1, 1, 1, 1], [0, 1, 0, 1], [1, 0, 1, 0]], dtype=bool)
    assert (agreement(trot, DIAGONAL), agreement(trot, SIDE)) == (1.0, 0.0)
    assert (agreement(pace, DIAGONAL), agreement(pace, SIDE)) == (0.0, 1.0)


def test_a_crawl_is_neither_and_standing_has_no_gait():
    crawl = ~np.eye(4, dtype=bool)  # one foot after the other
    assert agreement(crawl, DIAGONAL) == agreement(crawl, SIDE) == approx(0.5)
    assert np.isnan(agreement(np.ones((3, 4), dtype=bool), DIAGONAL))
