"""Compiled accumulation of MuJoCo's forces by contact of the scenario."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from multi_qp_scene.arrays import Array
from multi_qp_scene.jit import compiled, compiled_part

Indices = NDArray[np.integer]


@compiled
def add_contacts(
    geoms: Indices,
    address: Indices,
    frame: Array,
    position: Array,
    efc_force: Array,
    owner: Indices,
    total: Array,
    largest: Array,
    largest_time: Array,
    time: float,
) -> None:
    """Add the forces between touching shapes, and update the largest ones of shapes without a contact.

    Args:
        geoms: the two shapes of each of MuJoCo's contacts, (n, 2).
        address: of its force in `efc_force`, -1 if it has none, (n,).
        frame: axes of each, rows, the normal first, flattened, (n, 9).
        position: world [m], (n, 3).
        efc_force: along those axes, on the second shape's body [N].
        owner: of two shapes: 0 without a contact of the scenario, else its number from 1, negative if the second
            shape is not on the body on which its wrench acts, (shapes, shapes).
        total: accumulated in place: force and moment about the world's origin, world axes, (contacts, 6).
        largest: largest force between two shapes without a contact of the scenario, updated, (shapes, shapes) [N].
        largest_time: its time, updated, (shapes, shapes) [s].
        time: present time [s].
    """
    f = np.empty(3)
    for n in range(len(address)):
        of, row = owner[geoms[n, 0], geoms[n, 1]], address[n]
        if row < 0:
            continue
        if of == 0:
            force = math.sqrt(efc_force[row] ** 2 + efc_force[row + 1] ** 2 + efc_force[row + 2] ** 2)
            if force > largest[geoms[n, 0], geoms[n, 1]]:
                largest[geoms[n, 0], geoms[n, 1]], largest_time[geoms[n, 0], geoms[n, 1]] = force, time
            continue
        sign = 1.0 if of > 0 else -1.0
        for j in range(3):
            f[j] = 0.0
            for i in range(3):
                f[j] += sign * efc_force[row + i] * frame[n, 3 * i + j]
        _add_force(total[abs(of) - 1], position[n], f)


@compiled
def add_welds(
    rows: int,
    efc_id: Indices,
    efc_type: Indices,
    equality: int,
    efc_force: Array,
    contact_of: Indices,
    settings: Array,
    bodies: Indices,
    xpos: Array,
    xmat: Array,
    total: Array,
) -> None:
    """Add the forces of closed grasps.

    Args:
        rows: number of equality rows, which come first.
        efc_id: the equality that each row belongs to.
        efc_type: what each row is.
        equality: the type of rows that are equalities.
        efc_force: multipliers, three of translation and three of rotation a weld.
        contact_of: the scenario's contact of each equality, or -1.
        settings: MuJoCo's `eq_data`, (equalities, 11).
        bodies: the two bodies of each contact, (contacts, 2).
        xpos: of all bodies, (bodies, 3).
        xmat: of all bodies, flattened, (bodies, 9).
        total: accumulated in place: force and moment about the world's origin, world axes, (contacts, 6).
    """
    row = 0
    at = np.empty(3)
    while row < rows:
        weld = efc_id[row]
        if efc_type[row] != equality or contact_of[weld] < 0:
            row += 1
            continue
        k = contact_of[weld]
        one, other = bodies[k, 0], bodies[k, 1]
        # the rows of the rotation are half the relative one, in the second body's axes
        scale = 0.5 * settings[weld, 10]
        for i in range(3):
            at[i] = xpos[one, i]
            for j in range(3):
                at[i] += xmat[one, 3 * i + j] * settings[weld, 3 + j]
                total[k, 3 + i] += scale * xmat[other, 3 * i + j] * efc_force[row + 3 + j]
        _add_force(total[k], at, efc_force[row : row + 3])
        row += 6


@compiled
def mean_wrenches(
    total: Array,
    steps: int,
    first: Indices,
    offset: Array,
    axes: Array,
    xpos: Array,
    xmat: Array,
    mean: Array,
    touched: NDArray[np.bool_],
) -> None:
    """Write the mean wrench of each contact, at the first surface's origin, in its frame.

    Args:
        total: force and moment about the world's origin, world axes, summed over the steps, (contacts, 6).
        steps: their number.
        first: the body of the first surface, (contacts,).
        offset: of the surface's origin in that body [m], (contacts, 3).
        axes: of the surface in that body, columns, (contacts, 3, 3).
        xpos: of all bodies, (bodies, 3).
        xmat: of all bodies, flattened, (bodies, 9).
        mean: output: force and moment, (contacts, 6).
        touched: output: whether there was any force, (contacts,).
    """
    at, moment = np.empty(3), np.empty(3)
    for c in range(len(first)):
        body = first[c]
        touched[c] = np.any(total[c] != 0.0)
        for i in range(3):
            at[i] = xpos[body, i]
            for j in range(3):
                at[i] += xmat[body, 3 * i + j] * offset[c, j]
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            moment[i] = total[c, 3 + i] - (at[j] * total[c, k] - at[k] * total[c, j])
        for i in range(3):
            mean[c, i] = mean[c, 3 + i] = 0.0
            for j in range(3):
                along = 0.0  # entry j of the surface's axis i, in the world
                for k in range(3):
                    along += xmat[body, 3 * j + k] * axes[c, k, i]
                mean[c, i] += along * total[c, j] / steps
                mean[c, 3 + i] += along * moment[j] / steps


@compiled_part
def _add_force(total: Array, at: Array, force: Array) -> None:
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        total[i] += force[i]
        total[3 + i] += at[j] * force[k] - at[k] * force[j]
