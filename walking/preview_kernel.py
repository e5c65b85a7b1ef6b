"""Compiled kernel of the step preview: next footstep, touchdown time and shift of the zero-moment point."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from multi_qp_scene.arrays import Array
from multi_qp_scene.jit import compiled, compiled_part

#: Iterations of the search along a line of support: to 1e-4 of its length.
LINE_SEARCH = 22


class StepChoice(NamedTuple):
    """Optimum of the preview.

    Attributes:
        remaining: time until touchdown [s].
        x: next place along x, relative to the stance centre, in its heading [m].
        y: the same along y.
        shift_x: shift of the zero-moment point from the stance centre [m].
        shift_y: the same along y.
        error: deviation of the divergent component from its nominal offset at the end of the step [m].
        cost: value of the cost.
    """

    remaining: float
    x: float
    y: float
    shift_x: float
    shift_y: float
    error: float
    cost: float


@compiled_part
def axis_cost(u: float, s: float, nominal: float, k: float, d: float, weights: Array) -> float:
    """Return the cost of footstep u and shift s along one axis."""
    r = d + k * s - u
    return weights[0] * (u - nominal) ** 2 + weights[1] * s**2 + weights[2] * r**2


@compiled_part
def solve_axis(
    growth: float,
    xi: float,
    nominal: float,
    offset: float,
    u_low: float,
    u_high: float,
    s_low: float,
    s_high: float,
    weights: Array,
) -> tuple[float, float, float]:
    """Minimise w_u (u − u_nom)² + w_s s² + w_b (E ξ + (1 − E) s − u − b)² over a box; return u, s and the cost.

    A convex quadratic function of two variables has its optimum in a box inside, or on the best of the four edges.
    """
    w_u, w_s, w_b = weights[0], weights[1], weights[2]
    k, d = 1.0 - growth, growth * xi - offset
    a11, a12, a22 = w_u + w_b, -w_b * k, w_s + w_b * k * k
    g1, g2 = w_u * nominal + w_b * d, -w_b * k * d
    determinant = a11 * a22 - a12 * a12
    u, s = (a22 * g1 - a12 * g2) / determinant, (a11 * g2 - a12 * g1) / determinant
    if u_low <= u <= u_high and s_low <= s <= s_high:
        return u, s, axis_cost(u, s, nominal, k, d, weights)
    best = math.inf
    best_u, best_s = 0.0, 0.0
    for edge in range(4):
        if edge < 2:
            u = u_low if edge == 0 else u_high
            s = min(max((g2 - a12 * u) / a22, s_low), s_high)
        else:
            s = s_low if edge == 2 else s_high
            u = min(max((g1 - a12 * s) / a11, u_low), u_high)
        cost = axis_cost(u, s, nominal, k, d, weights)
        if cost < best:
            best, best_u, best_s = cost, u, s
    return best_u, best_s, best


@compiled_part
def solve_on_line(
    line: Array, d: Array, k: float, nominal: Array, low: Array, high: Array, weights: Array
) -> tuple[float, float]:
    """Minimise the cost of both axes over footsteps in a box and a shift σ line, |σ| ≤ 1; return σ and the cost.

    The minimum over the footsteps is a convex function of σ: golden-section search.
    """
    ratio = 0.5 * (math.sqrt(5.0) - 1.0)
    left, right = -1.0, 1.0
    a, b = right - ratio * (right - left), left + ratio * (right - left)
    cost_a = _line_cost(a, line, d, k, nominal, low, high, weights)
    cost_b = _line_cost(b, line, d, k, nominal, low, high, weights)
    for _ in range(LINE_SEARCH):
        if cost_a < cost_b:
            right, b, cost_b = b, a, cost_a
            a = right - ratio * (right - left)
            cost_a = _line_cost(a, line, d, k, nominal, low, high, weights)
        else:
            left, a, cost_a = a, b, cost_b
            b = left + ratio * (right - left)
            cost_b = _line_cost(b, line, d, k, nominal, low, high, weights)
    return (a, cost_a) if cost_a < cost_b else (b, cost_b)


@compiled_part
def footstep(s: float, d: float, k: float, nominal: float, low: float, high: float, weights: Array) -> float:
    """Return the best footstep along one axis for a given shift s."""
    u = (weights[0] * nominal + weights[2] * (d + k * s)) / (weights[0] + weights[2])
    return min(max(u, low), high)


@compiled_part
def _line_cost(
    share: float, line: Array, d: Array, k: float, nominal: Array, low: Array, high: Array, weights: Array
) -> float:
    cost = 0.0
    for axis in range(2):
        s = share * line[axis]
        u = footstep(s, d[axis], k, nominal[axis], low[axis], high[axis], weights)
        cost += axis_cost(u, s, nominal[axis], k, d[axis], weights)
    return cost


@compiled
def best_step(
    xi: Array,
    omega: float,
    times: Array,
    lead: float,
    nominal_time: float,
    nominal: Array,
    velocity: Array,
    offset: Array,
    box: Array,
    shifts: Array,
    line: Array,
    foot: Array,
    swing_speed: float,
    weights: Array,
) -> StepChoice:
    """Return the best footstep, touchdown time and shift of the zero-moment point.

    For each candidate of the time, places have a closed form within their bounds, and a line search where two points
    carry the robot: no QP solver is needed.

    Args:
        xi: divergent component relative to the stance centre, in the stance heading, (2,) [m].
        omega: natural frequency of the pendulum [1/s].
        times: candidates of the time until touchdown, (k,) [s].
        lead: time from touchdown until the weight is transferred [s].
        nominal_time: nominal time until touchdown [s].
        nominal: next place at the nominal time, relative to the stance centre, (2,) [m].
        velocity: of the body, by which the nominal place moves with the time until touchdown, (2,) [m/s].
        offset: nominal offset of the divergent component from the next place, (2,) [m].
        box: bounds of the next place, (2, 2) [m]: lower, upper of x, then of y.
        shifts: bounds of the zero-moment point, (2, 2) [m].
        line: half of the line between two supporting points, on which the zero-moment point may be, instead of in
            `shifts`, (2,) [m]; 0 if there is none.
        foot: present place of the swing foot relative to the stance centre, (2,) [m].
        swing_speed: largest mean speed of a swing foot relative to `velocity`, along each axis [m/s].
        weights: of footstep, shift, divergent component and time, (4,).
    """
    best = StepChoice(times[0], nominal[0], nominal[1], 0.0, 0.0, 0.0, math.inf)
    place, shift, low, high, wanted, d = np.zeros(2), np.zeros(2), np.zeros(2), np.zeros(2), np.zeros(2), np.zeros(2)
    on_line = line[0] != 0.0 or line[1] != 0.0
    for k in range(len(times)):
        time = times[k]
        growth, reach = math.exp(omega * (time + lead)), swing_speed * time
        cost = weights[3] * (time - nominal_time) ** 2
        for axis in range(2):
            lower, upper, carried = box[axis, 0], box[axis, 1], foot[axis] + velocity[axis] * time
            # what the swing foot can reach in this time; its nearest place in the box where it cannot reach the box
            low[axis] = min(max(lower, carried - reach), upper)
            high[axis] = max(min(upper, carried + reach), lower)
            wanted[axis] = nominal[axis] + velocity[axis] * (time - nominal_time)
            d[axis] = growth * xi[axis] - offset[axis]
        if on_line:
            share, part = solve_on_line(line, d, 1.0 - growth, wanted, low, high, weights)
            cost += part
            for axis in range(2):
                shift[axis] = share * line[axis]
                place[axis] = footstep(shift[axis], d[axis], 1.0 - growth, wanted[axis], low[axis], high[axis], weights)
        else:
            for axis in range(2):
                place[axis], shift[axis], part = solve_axis(
                    growth,
                    xi[axis],
                    wanted[axis],
                    offset[axis],
                    low[axis],
                    high[axis],
                    shifts[axis, 0],
                    shifts[axis, 1],
                    weights,
                )
                cost += part
        squared = 0.0
        for axis in range(2):
            squared += (d[axis] + (1.0 - growth) * shift[axis] - place[axis]) ** 2
        if cost < best.cost:
            best = StepChoice(time, place[0], place[1], shift[0], shift[1], math.sqrt(squared), cost)
    return best
