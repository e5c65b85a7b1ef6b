"""The cost (1) as a sum of squares over knots, contact variables, forces and joint angles."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from contact_invariant.character import Character
from contact_invariant.instants import Instants
from contact_invariant.least_squares import KnotMap, NormalBlocks
from contact_invariant.residuals import WEIGHTS, Instant, Rows, dynamic_rows, path_rows
from contact_invariant.surroundings import Surroundings
from contact_invariant.symbols import ca
from contact_invariant.task_terms import TaskTerms, state_at
from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.schema.behaviour import BehaviourSpec, StandTerm

#: Cubic pieces of the splines in a phase: with one, a limb that moves between two places at rest moves straight.
PIECES = 2
#: Number of instants of a phase with which residuals have the weights of a stage.
SAMPLES = 8

#: Weights of what durations of phases are beyond their limits, as logarithms, and of the sum of all phases.
DURATION_LIMIT, TOTAL = 30.0, 30.0

Term = tuple[str, str, int, int]
"""Name, weight, first and last row of a term."""


def instants(count: int) -> Array:
    """Return places in a piece, 0..1, (count,), close to both ends, where motions are most extended."""
    return np.linspace(0.5 / 12, 1.0 - 0.5 / 12, count)


class SynthesisProblem:
    """The cost of a behaviour, a `Problem` of `least_squares.py`.

    z is (x_0, ẋ_0; a, τ if durations are free, and `PIECES` times x, ẋ of each phase; forces and joint angles of each
    instant); the start is fixed. A phase lasts e^τ times as long as the behaviour says.

    Attributes:
        character: simplified character.
        behaviour: task terms, phases.
        terms: task terms.
        weights: present weights by name.
        size: number of variables.
        knots: number of those that are not local to an instant.
        fixed: number of those that are constant.
    """

    def __init__(self, character: Character, surroundings: Surroundings, behaviour: BehaviourSpec) -> None:
        self.character, self.surroundings, self.behaviour = character, surroundings, behaviour
        self.terms = TaskTerms(behaviour, character, surroundings)
        self.weights = dict.fromkeys((*WEIGHTS, "duration"), 1.0)
        n, N = character.features, len(character.effectors)
        self._free = int(behaviour.duration_factor > 1.0)
        self._block = N + self._free + PIECES * 2 * n
        self._joints = len(character.joints.indices)
        phases = behaviour.phases
        self.fixed, self.knots = 2 * n, 2 * n + phases * self._block
        dynamic, self._dynamics = self._instants(behaviour.samples, path=False)
        path, self._path = self._instants(behaviour.path_samples, path=True)
        self._terms = [dynamic, path]
        self.size = self.knots + self._dynamics.count * (6 * N + self._joints)

    def _instants(self, samples: int, *, path: bool) -> tuple[list[Term], Instants]:
        character, behaviour = self.character, self.behaviour
        n, N = character.features, len(character.effectors)
        x, rate, second = (ca.SX.sym(name, n) for name in ("x", "rate", "second"))
        a, forces, angles = ca.SX.sym("a", N), ca.SX.sym("f", 6 * N), ca.SX.sym("q", self._joints)
        weight, state = ca.SX.sym("w", len(WEIGHTS)), state_at(character, x, rate)
        rows = Rows(dict(zip(WEIGHTS, ca.vertsplit(weight), strict=True)))
        if path:
            path_rows(character, self.surroundings, state, rows)
        else:
            instant = Instant(state, second, 1 / (1 + ca.exp(-a[character.variables])), a, forces, angles)
            options = {"friction": behaviour.friction, "extent": behaviour.extent, "slip": behaviour.slip_cost}
            if behaviour.object is not None:
                options |= {"together": behaviour.object.together, "level": behaviour.object.level}
            dynamic_rows(character, self.surroundings, instant, rows, **options, balanced=behaviour.balanced)
        local = ca.vertcat() if path else ca.vertcat(forces, angles)
        y = ca.vertcat(x, rate, second, a, local)
        r = rows.column * np.sqrt(SAMPLES / samples)
        places = instants(samples // PIECES), behaviour.phase_duration / PIECES
        sizes = n, N, local.numel(), self._free
        return rows.terms, Instants((y, weight, r), places, self._windows(), sizes, self.knots)

    def _windows(self) -> Indices:
        """Return the indices of x_0, ẋ_0, a, τ, x_1, ẋ_1 of each piece, (phases · PIECES, 4 n + N + D)."""
        n, N, found = self.character.features, len(self.character.effectors) + self._free, []
        for phase in range(self.behaviour.phases):
            a = 2 * n + phase * self._block
            ends = [a - 2 * n, *(a + N + 2 * n * k for k in range(PIECES))]
            for begin, end in zip(ends, ends[1:], strict=False):
                found.append(np.concatenate([begin + np.arange(2 * n), a + np.arange(N), end + np.arange(2 * n)]))
        return np.array(found)

    def initial(self, x: Array, angles: Array) -> Array:
        """Return the static start as a point: features x of (12), joint angles of the limbs [rad]."""
        z = np.zeros(self.size)
        n, N = self.character.features, len(self.character.effectors)
        z[:n] = x
        self._phase_variables(z)[:, N + self._free :].reshape(-1, PIECES, 2, n)[:, :, 0] = x
        local = z[self.knots :].reshape(self._dynamics.count, -1)
        local[:, 2 : 6 * N : 6] = 1.0 / N
        local[:, 6 * N :] = angles
        return z

    def _phase_variables(self, z: Array) -> Array:
        """Return a, τ, x and ẋ of each phase, a view, (phases, N + D + 2 n PIECES)."""
        return z[2 * self.character.features : self.knots].reshape(self.behaviour.phases, -1)

    def logits(self, z: Array) -> Array:
        """Return the logits of the contact variables, a view, (phases, N)."""
        return self._phase_variables(z)[:, : len(self.character.effectors)]

    def durations(self, z: Array) -> Array:
        """Return the duration of each phase, (phases,) [s]."""
        N = len(self.character.effectors)
        logarithms = self._phase_variables(z)[:, N : N + self._free].sum(axis=1)  # without a column, zero
        return np.asarray(self.behaviour.phase_duration * np.exp(logarithms))

    def times(self, z: Array) -> Array:
        """Return the time of each instant of the dynamics, (m,) [s]."""
        behaviour = self.behaviour
        places = np.arange(PIECES)[:, None] + instants(behaviour.samples // PIECES)
        durations = self.durations(z)
        begins = np.cumsum(durations) - durations
        return (begins[:, None] + durations[:, None] / PIECES * places.ravel()).ravel()

    def knot_values(self, z: Array) -> tuple[Array, Array]:
        """Return x and ẋ at the start and at the end of each piece, (phases · PIECES + 1, features) each."""
        n, N = self.character.features, len(self.character.effectors)
        blocks = self._phase_variables(z)[:, N + self._free :]
        both = np.vstack([z[: 2 * n], blocks.reshape(-1, 2 * n)])
        return both[:, :n], both[:, n:]

    def local_values(self, z: Array) -> tuple[Array, Array]:
        """Return forces, (m, N, 6), and joint angles, (m, joints), at each instant of the dynamics."""
        N = len(self.character.effectors)
        local = z[self.knots :].reshape(self._dynamics.count, -1)
        units = np.array([effector.unit for effector in self.character.effectors])
        return local[:, : 6 * N].reshape(-1, N, 6) * units[:, None], local[:, 6 * N :]

    def residuals(self, z: Array) -> list[Array]:
        """Return the residuals of dynamics, path and task terms."""
        found = [group.residuals(z, weights) for group, weights in self._groups()]
        shared = self.shared(z)
        found += [r[None] for r, _, _ in self._others(z)]
        return found if shared is None else [*found, np.array([[shared[0]]])]

    def normal_equations(self, z: Array) -> tuple[float, list[NormalBlocks]]:
        """Return the cost, half the sum of squares, and the blocks JᵀJ and Jᵀr of all groups."""
        parts = [group.normal_equations(z, weights) for group, weights in self._groups()]
        for r, slope, variables in self._others(z):
            J = np.array(slope)  # not in `residuals`: this takes 1 ms in `hand_over`
            rows, columns = np.tril_indices(J.shape[1])
            knots = KnotMap.identity(variables[None])
            H, b = (J.T @ J)[None, rows, columns], (J.T @ r)[None]
            parts.append((0.5 * float(r @ r), NormalBlocks(np.stack([rows, columns]), H, b, knots)))
        shared = self.shared(z)
        cost = sum(cost for cost, _ in parts) + (0.0 if shared is None else 0.5 * shared[0] ** 2)
        return cost, [blocks for _, blocks in parts]

    def shared(self, z: Array) -> tuple[float, Array] | None:
        """Return how far the sum of free durations is from the behaviour's, in phases, and its gradient, (knots,)."""
        if not self._free:
            return None
        gradient = np.zeros(self.knots)
        factors = self.durations(z) / self.behaviour.phase_duration
        self._phase_variables(gradient)[:, len(self.character.effectors)] = TOTAL * factors
        return TOTAL * float(factors.sum() - len(factors)), gradient

    def differences(self, z: Array, step: float) -> tuple[float, Array]:
        """Return the cost and its gradient by central differences, (size,)."""
        cost, gradient = 0.0, np.zeros(self.size)
        for group, weights in self._groups():
            part, slope = group.differences(z, weights, step)
            cost, gradient = cost + part, gradient + slope
        cost += 0.5 * sum(float(r @ r) for r, _, _ in self._others(z))
        if (shared := self.shared(z)) is not None:
            cost += 0.5 * shared[0] ** 2
            gradient[: self.knots] += shared[0] * shared[1]
        for k in {int(k) for _, _, variables in self._others(z) for k in variables}:
            shift = np.zeros(self.size)
            shift[k] = step
            ahead, behind = (sum(float(r @ r) for r, _, _ in self._others(moved)) for moved in (z + shift, z - shift))
            gradient[k] += 0.25 * (ahead - behind) / step
        return cost, gradient

    def _groups(self) -> list[tuple[Instants, Array]]:
        """Return the groups of instants, each with its weights: the same at all instants, or by instant, (m, k)."""
        weights = np.array([self.weights[name] for name in WEIGHTS])
        if not self.behaviour.balanced:
            return [(self._dynamics, weights), (self._path, weights)]
        of_dynamics, last = np.tile(weights, (self._dynamics.count, 1)), self.behaviour.samples
        stands = [(t.phase or self.behaviour.phases) for t in self.behaviour.terms if isinstance(t, StandTerm)]
        other = np.setdiff1d(np.arange(len(of_dynamics)), [phase * last - 1 for phase in stands])
        of_dynamics[other, WEIGHTS.index("balance")] = 0.0
        return [(self._dynamics, of_dynamics), (self._path, weights)]

    def _task(self, z: Array) -> list[tuple[Array, Any, Indices]]:
        weight, n, found = self.weights["task"], self.character.features, []
        for phase, function in zip(self.terms.phases, self.terms.residuals, strict=True):
            begin = (phase + 1) * self._block  # the end of the phase's last piece
            r, J = function(z[begin : begin + n], z[begin + n : begin + 2 * n])
            found.append((weight * np.array(r).ravel(), weight * J, begin + np.arange(2 * n)))
        return found

    def _lasting(self, z: Array) -> list[tuple[Array, Array, Indices]]:
        """Return what contacts that last over a change of phase lack of bearing each character, as `_others`."""
        if self.behaviour.overlap == 0.0:
            return []
        weight = self.behaviour.overlap * self.weights["support"] * math.sqrt(SAMPLES)
        c, first, found = 1.0 / (1.0 + np.exp(-self.logits(z))), 2 * self.character.features, []
        for k in range(len(self.character.names)):
            shares = self.character.shares(k)
            own, share = np.array(list(shares), dtype=int), np.array(list(shares.values()))
            for m, (before, after) in enumerate(pairwise(c[:, own])):
                lasting = share * before * after
                missing = 1.0 - float(lasting.sum())
                slopes = -np.concatenate([lasting * (1.0 - before), lasting * (1.0 - after)])
                variables = first + self._block * m + np.concatenate([own, self._block + own])
                r, J = np.array([weight * max(missing, 0.0)]), weight * (missing > 0.0) * slopes[None]
                found.append((r, J, variables))
        return found

    def _others(self, z: Array) -> list[tuple[Array, Any, Indices]]:
        """Return residuals, their Jacobian, perhaps as a DM, and its variables: of task terms, contacts, durations."""
        found = [*self._task(z), *self._lasting(z)]
        first = 2 * self.character.features + len(self.character.effectors)
        if self._free:
            limit, weight = math.log(self.behaviour.duration_factor), self.weights["duration"]
            for tau_index in range(first, self.knots, self._block):
                tau = z[tau_index]
                excess = abs(tau) - limit
                r = np.array([weight * tau, DURATION_LIMIT * max(excess, 0.0)])
                J = np.array([[weight], [DURATION_LIMIT * np.sign(tau) * (excess > 0.0)]])
                found.append((r, J, np.array([tau_index])))
        return found

    def breakdown(self, z: Array) -> Mapping[str, float]:
        """Return the share of each named term in the cost, half its sum of squares."""
        found: dict[str, float] = {}
        residuals = self.residuals(z)
        for terms, r in zip(self._terms, residuals, strict=False):
            for name, _, first, last in terms:
                found[name] = found.get(name, 0.0) + 0.5 * float((r[:, first:last] ** 2).sum())
        found["task"] = 0.5 * sum(float((r**2).sum()) for r, _, _ in self._task(z))
        found["overlap"] = 0.5 * sum(float((r**2).sum()) for r, _, _ in self._lasting(z))
        if self._free:
            others = sum(float((r**2).sum()) for r in residuals[2:])
            found["durations"] = 0.5 * others - found["task"] - found["overlap"]
        return found
