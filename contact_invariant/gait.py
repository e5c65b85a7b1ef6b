"""Figure for the gait of a motion: which limbs are in contact together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def agreement(contacts: NDArray[np.bool_], pairs: Sequence[tuple[int, int]]) -> float:
    """Return how often both of a pair are in contact, or neither is, while any limb of the pairs swings, 0..1.

    A trot has 1 for diagonal pairs and 0 for those of a side (pace) and of an end (bound), but for phases in which one
    limb swings alone; NaN without swings.

    Args:
        contacts: whether each limb is in contact, by phases of even duration or on an even grid, (K, N).
        pairs: indices of limbs.
    """
    limbs = sorted({limb for pair in pairs for limb in pair})
    swinging = contacts[~contacts[:, limbs].all(axis=1)]
    if not len(swinging):
        return float("nan")
    return float(np.mean([swinging[:, a] == swinging[:, b] for a, b in pairs]))
