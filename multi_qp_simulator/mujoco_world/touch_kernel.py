"""Compiled accumulation of MuJoCo's forces by contact of the scenario."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multi_qp_scene.arrays import Array
from multi_qp_scene.jit import compiled, compiled_part

Indices = NDArray[np.integer]
#: Of two contacts, a made one gets the force even if its surfaces are farther by this [m].
AS_NEAR = 1e-3
#: Distance from both surfaces of a contact beyond which a force between its bodies is also listed as a touch [m]: the
#: shapes of hands and feet extend beyond their surfaces by up to 3 cm.
OFF_SURFACE = 0.05


class ContactSurfaces(NamedTuple):
    """The two surfaces of each contact of the scenario, in MuJoCo's bodies.

    Attributes:
        bodies: that carry them, (contacts, 2).
        offset: of their origins in the bodies [m], (contacts, 2, 3).
        axes: of the surfaces in the bodies, columns, (contacts, 2, 3, 3).
        edges: x y with N x ≤ d, rows (N, d) [m], the last one repeated, (contacts, 2, edges, 3).
        others: number, from 1, of another contact between the same bodies, 0 if there is no further one, (contacts,).
    """

    bodies: Indices
    offset: Array
    axes: Array
    edges: Array
    others: Indices


@compiled
def add_contacts(
    geoms: Indices,
    address: Indices,
    frame: Array,
    position: Array,
    efc_force: Array,
    owner: Indices,
    surfaces: ContactSurfaces,
    made: NDArray[np.bool_],
    xpos: Array,
    xmat: Array,
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
        owner: of two shapes: 0 without a contact of the scenario, else the number of one, from 1, negative if the
            second shape is not on the body on which its wrench acts, (shapes, shapes).
        surfaces: of the scenario's contacts; of several between the same bodies, the nearest one gets the force.
        made: which contacts the controller uses, (contacts,).
        xpos: of all bodies, (bodies, 3).
        xmat: of all bodies, flattened, (bodies, 9).
        total: accumulated in place: force and moment about the world's origin, world axes, (contacts, 6).
        largest: largest force between two shapes without a contact of the scenario, or far from the surfaces of theirs,
            updated, (shapes, shapes) [N].
        largest_time: its time, updated, (shapes, shapes) [s].
        time: present time [s].
    """
    f, off = np.empty(3), np.zeros(3)
    for n in range(len(address)):
        of, row = owner[geoms[n, 0], geoms[n, 1]], address[n]
        if n == 0 or geoms[n, 0] != geoms[n - 1, 0] or geoms[n, 1] != geoms[n - 1, 1]:
            for j in range(3):
                off[j] = 0.0  # MuJoCo lists the contacts of two shapes one after another
        if row < 0:
            continue
        sign, k, distance = 1.0 if of > 0 else -1.0, -1, math.inf
        if of != 0:
            k, distance = _nearest(surfaces, abs(of) - 1, made, position[n], xpos, xmat)
            if surfaces.bodies[k, 0] != surfaces.bodies[abs(of) - 1, 0]:
                sign = -sign
        for j in range(3):
            f[j] = 0.0
            for i in range(3):
                f[j] += sign * efc_force[row + i] * frame[n, 3 * i + j]
        if distance > OFF_SURFACE:
            for j in range(3):
                off[j] += sign * f[j]
            force = math.sqrt(off[0] ** 2 + off[1] ** 2 + off[2] ** 2)
            if force > largest[geoms[n, 0], geoms[n, 1]]:
                largest[geoms[n, 0], geoms[n, 1]], largest_time[geoms[n, 0], geoms[n, 1]] = force, time
        if of != 0:
            _add_force(total[k], position[n], f)


@compiled_part
def _nearest(
    surfaces: ContactSurfaces, first: int, made: NDArray[np.bool_], at: Array, xpos: Array, xmat: Array
) -> tuple[int, float]:
    """Return which contact between the same bodies as `first` is nearest to a point, (3,) [m], and its distance [m]."""
    nearest, least, k = first, math.inf, first
    while k >= 0:
        distance = 0.0 if made[k] else AS_NEAR
        for side in range(2):
            distance += _distance(surfaces, k, side, at, xpos, xmat)
        if distance < least:
            nearest, least = k, distance
        k = surfaces.others[k] - 1
    return nearest, least


@compiled_part
def _distance(surfaces: ContactSurfaces, k: int, side: int, at: Array, xpos: Array, xmat: Array) -> float:
    """Return the distance of a point from the plane of a surface, plus that from its outline [m]."""
    body, offset, axes = surfaces.bodies[k, side], surfaces.offset[k, side], surfaces.axes[k, side]
    local, on_surface = np.zeros(3), np.zeros(3)
    for i in range(3):
        for j in range(3):
            local[i] += xmat[body, 3 * j + i] * (at[j] - xpos[body, j])
    for i in range(3):
        for j in range(3):
            on_surface[i] += axes[j, i] * (local[j] - offset[j])
    outside = 0.0
    for edge in surfaces.edges[k, side]:
        outside = max(outside, edge[0] * on_surface[0] + edge[1] * on_surface[1] - edge[2])
    return abs(on_surface[2]) + outside


@compiled
def add_welds(
    rows: int,
    efc_id: Indices,
    efc_type: Indices,
    equality: int,
    efc_force: Array,
    contact_of: Indices,
    settings: Array,
    surfaces: ContactSurfaces,
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
        surfaces: of the scenario's contacts.
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
        one, other = surfaces.bodies[k, 0], surfaces.bodies[k, 1]
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
    surfaces: ContactSurfaces,
    xpos: Array,
    xmat: Array,
    mean: Array,
    touched: NDArray[np.bool_],
) -> None:
    """Write the mean wrench of each contact, at the first surface's origin, in its frame.

    Args:
        total: force and moment about the world's origin, world axes, summed over the steps, (contacts, 6).
        steps: their number.
        surfaces: of the scenario's contacts.
        xpos: of all bodies, (bodies, 3).
        xmat: of all bodies, flattened, (bodies, 9).
        mean: output: force and moment, (contacts, 6).
        touched: output: whether there was any force, (contacts,).
    """
    at, moment = np.empty(3), np.empty(3)
    for c in range(len(total)):
        body, offset, axes = surfaces.bodies[c, 0], surfaces.offset[c, 0], surfaces.axes[c, 0]
        touched[c] = np.any(total[c] != 0.0)
        for i in range(3):
            at[i] = xpos[body, i]
            for j in range(3):
                at[i] += xmat[body, 3 * i + j] * offset[j]
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            moment[i] = total[c, 3 + i] - (at[j] * total[c, k] - at[k] * total[c, j])
        for i in range(3):
            mean[c, i] = mean[c, 3 + i] = 0.0
            for j in range(3):
                along = 0.0  # entry j of the surface's axis i, in the world
                for k in range(3):
                    along += xmat[body, 3 * j + k] * axes[k, i]
                mean[c, i] += along * total[c, j] / steps
                mean[c, 3 + i] += along * moment[j] / steps


@compiled_part
def _add_force(total: Array, at: Array, force: Array) -> None:
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        total[i] += force[i]
        total[3 + i] += at[j] * force[k] - at[k] * force[j]
