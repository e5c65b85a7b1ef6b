"""The cost (1) as a sum of squares over knots, contact variables, forces and joint angles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from contact_invariant.character import Character
from contact_invariant.least_squares import NormalBlocks
from contact_invariant.residuals import (
    WEIGHTS,
    Instant,
    Rows,
    dynamic_rows,
    path_rows,
)
from contact_invariant.surroundings import Surroundings
from contact_invariant.symbols import ca
from contact_invariant.task_terms import TaskTerms, state_at
from multi_qp_scene.arrays import Array, Indices
from multi_qp_scene.schema.behaviour import BehaviourSpec

#: Instants of a phase at which dynamics and path are evaluated.
DYNAMIC_SAMPLES, PATH_SAMPLES = 5, 20


def spline_basis(u: Array, T: float) -> Array:
    """Return the weights of x_0, ẋ_0, x_1, ẋ_1 in value and two derivatives of a cubic, (m, 3, 4).

    Args:
        u: places between the knots, 0..1, (m,).
        T: time between the knots [s].
    """
    one, zero = np.ones_like(u), np.zeros_like(u)
    value = [2 * u**3 - 3 * u**2 + 1, T * (u**3 - 2 * u**2 + u), -2 * u**3 + 3 * u**2, T * (u**3 - u**2)]
    first = [(6 * u**2 - 6 * u) / T, 3 * u**2 - 4 * u + one, (-6 * u**2 + 6 * u) / T, 3 * u**2 - 2 * u]
    second = [(12 * u - 6) / T**2, (6 * u - 4) / T, (6 - 12 * u) / T**2, (6 * u - 2) / T + zero]
    return np.stack([np.stack(row, axis=1) for row in (value, first, second)], axis=1)


@dataclass(frozen=True)
class _Instants:
    """A residual function evaluated at all instants of one kind.

    Attributes:
        terms: name, weight, first and last row of each term.
        basis: spline weights of each instant, (m, 3, 4).
        begins: index of the first knot variable that each instant depends on, (m,).
        local: number of local variables of an instant.
        residual: CasADi function of all instants.
        jacobian: with the nonzero entries of the Jacobian.
        where: row and column of these, (2, nnz).
        J: memory of the Jacobians with respect to x, ẋ, ẍ, a and local variables, (m, rows, columns).
    """

    terms: list[tuple[str, str, int, int]]
    basis: Array
    begins: Indices
    local: int
    residual: _Buffered
    jacobian: _Buffered
    where: Indices
    J: Array


class _Buffered:
    """A CasADi function called with numpy arrays as its memory, without conversions."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._buffer, self._call = function.buffer()
        self._inputs = [np.zeros(function.nnz_in(k)) for k in range(function.n_in())]
        self._outputs = [np.zeros(function.nnz_out(k)) for k in range(function.n_out())]
        for k, array in enumerate(self._inputs):
            self._buffer.set_arg(k, array.data)
        for k, array in enumerate(self._outputs):
            self._buffer.set_res(k, array.data)

    def __call__(self, *arguments: Array) -> list[Array]:
        """Return the nonzero entries of each result; valid until the next call."""
        for array, argument in zip(self._inputs, arguments, strict=True):
            array[:] = argument.ravel()
        self._call()
        return self._outputs


class SynthesisProblem:
    """The cost of a behaviour, a `Problem` of `least_squares.py`.

    z is (x_0, ẋ_0; a_1, x_1, ẋ_1; …; a_K, x_K, ẋ_K; forces and joint angles of each instant); the start is fixed.

    Attributes:
        character: simplified character.
        behaviour: task terms, phases.
        terms: task terms.
        weights: present weights by name.
        size: number of variables.
        knots: number of those that are not local to an instant.
        fixed: number of those that are constant.
        times: time of each instant of the dynamics [s].
    """

    def __init__(self, character: Character, surroundings: Surroundings, behaviour: BehaviourSpec) -> None:
        self.character, self.surroundings, self.behaviour = character, surroundings, behaviour
        self.terms = TaskTerms(behaviour, character, surroundings)
        self.weights = dict.fromkeys(WEIGHTS, 1.0)
        n, N = character.features, len(character.effectors)
        self._block = 2 * n + N
        self._joints = sum(len(limb.joints) for limb in character.limbs)
        phases = behaviour.phases
        self.fixed, self.knots = 2 * n, 2 * n + phases * self._block
        self._dynamics = self._instants(DYNAMIC_SAMPLES, path=False)
        self._path = self._instants(PATH_SAMPLES, path=True)
        self.size = self.knots + len(self._dynamics.J) * self._dynamics.local
        self.times = behaviour.phase_duration * (np.arange(phases * DYNAMIC_SAMPLES) + 0.5) / DYNAMIC_SAMPLES

    def _instants(self, samples: int, *, path: bool) -> _Instants:
        character, behaviour = self.character, self.behaviour
        n, N = character.features, len(character.effectors)
        x, rate, second = (ca.SX.sym(name, n) for name in ("x", "rate", "second"))
        a, forces, angles = ca.SX.sym("a", N), ca.SX.sym("f", 6 * N), ca.SX.sym("q", self._joints)
        weight, state = ca.SX.sym("w", len(WEIGHTS)), state_at(character, x, rate)
        rows = Rows(dict(zip(WEIGHTS, ca.vertsplit(weight), strict=True)))
        if path:
            path_rows(character, self.surroundings, state, rows)
        else:
            instant = Instant(state, second, 1 / (1 + ca.exp(-a)), a, forces, angles)
            dynamic_rows(character, self.surroundings, instant, rows, behaviour.friction)
        local = ca.vertcat() if path else ca.vertcat(forces, angles)
        y = ca.vertcat(x, rate, second, a, local)
        r = rows.column * np.sqrt(DYNAMIC_SAMPLES / samples)
        J = ca.jacobian(r, y)
        count = behaviour.phases * samples
        u = np.tile((np.arange(samples) + 0.5) / samples, behaviour.phases)
        return _Instants(
            terms=rows.terms,
            basis=spline_basis(u, behaviour.phase_duration),
            begins=np.repeat(np.arange(behaviour.phases) * self._block, samples),
            local=local.numel(),
            residual=_Buffered(ca.Function("r", [y, weight], [r]).map(count)),
            jacobian=_Buffered(ca.Function("j", [y, weight], [r, J]).map(count)),
            where=np.array(J.sparsity().get_triplet(), dtype=np.intp),
            J=np.zeros((count, rows.count, y.numel())),
        )

    def initial(self, x: Array, angles: Array) -> Array:
        """Return the static start as a point: features x of (12), joint angles of the limbs [rad]."""
        z = np.zeros(self.size)
        n, N = self.character.features, len(self.character.effectors)
        z[:n] = x
        for k in range(self.behaviour.phases):
            z[2 * n + k * self._block + N :][:n] = x
        local = z[self.knots :].reshape(len(self._dynamics.J), -1)
        local[:, 2 : 6 * N : 6] = 1.0 / N
        local[:, 6 * N :] = angles
        return z

    def logits(self, z: Array) -> Array:
        """Return the logits of the contact variables, a view, (phases, N)."""
        n, N = self.character.features, len(self.character.effectors)
        return z[2 * n : self.knots].reshape(self.behaviour.phases, -1)[:, :N]

    def knot_values(self, z: Array) -> tuple[Array, Array]:
        """Return x and ẋ at the start and at the end of each phase, (phases + 1, features) each."""
        n, N = self.character.features, len(self.character.effectors)
        blocks = z[2 * n : self.knots].reshape(self.behaviour.phases, -1)[:, N:]
        both = np.vstack([z[: 2 * n], blocks])
        return both[:, :n], both[:, n:]

    def local_values(self, z: Array) -> tuple[Array, Array]:
        """Return forces, (m, N, 6), and joint angles, (m, joints), at each instant of the dynamics."""
        N = len(self.character.effectors)
        local = z[self.knots :].reshape(len(self._dynamics.J), -1)
        return local[:, : 6 * N].reshape(-1, N, 6), local[:, 6 * N :]

    def _arguments(self, group: _Instants, z: Array) -> tuple[Array, Array]:
        """Return x, ẋ, ẍ, logits and local variables of each instant, and the weights."""
        n, N = self.character.features, len(self.character.effectors)
        window = z[group.begins[:, None] + np.arange(4 * n + N)]
        knots = np.hstack([window[:, : 2 * n], window[:, 2 * n + N :]]).reshape(-1, 4, n)
        motion = np.matmul(group.basis, knots).reshape(-1, 3 * n)
        local = z[self.knots :].reshape(len(motion), -1)[:, : group.local] if group.local else motion[:, :0]
        y = np.hstack([motion, window[:, 2 * n : 2 * n + N], local])
        return y, np.tile([self.weights[name] for name in WEIGHTS], (len(y), 1))

    def residuals(self, z: Array) -> list[Array]:
        """Return the residuals of dynamics, path and task terms."""
        found = []
        for group in (self._dynamics, self._path):
            found.append(group.residual(*self._arguments(group, z))[0].reshape(len(group.J), -1).copy())
        return found + [r[None] for r, _, _ in self._task(z)]

    def normal_equations(self, z: Array) -> tuple[float, list[NormalBlocks]]:
        """Return the cost, half the sum of squares, and the blocks JᵀJ and Jᵀr of all groups."""
        cost, found = 0.0, []
        for group in (self._dynamics, self._path):
            r, entries = group.jacobian(*self._arguments(group, z))
            r = r.reshape(len(group.J), -1)
            cost += 0.5 * float(np.einsum("mk,mk->", r, r))
            group.J[:, group.where[0], group.where[1]] = entries.reshape(len(r), -1)
            active = np.flatnonzero(group.J.any(axis=(0, 2)))
            J = group.J[:, active]
            A = np.matmul(J.transpose(0, 2, 1), J)
            b = np.matmul(r[:, None, active], J)[:, 0]
            found.append(self._on_knots(group, A, b))
        empty = np.zeros(1, dtype=np.intp)
        for r, J, begin in self._task(z):
            cost += 0.5 * float(r @ r)
            found.append(NormalBlocks(empty + begin, empty, (J.T @ J)[None], (J.T @ r)[None], J.shape[1]))
        return cost, found

    def _on_knots(self, group: _Instants, A: Array, b: Array) -> NormalBlocks:
        """Convert blocks of x, ẋ, ẍ, a and local variables into those of x_0, ẋ_0, a, x_1, ẋ_1 and local variables."""
        n, N = self.character.features, len(self.character.effectors)
        count, size = len(A), A.shape[1] + n
        places = np.concatenate([np.arange(2 * n), np.arange(2 * n + N, 4 * n + N)])
        rest = np.concatenate([np.arange(2 * n, 2 * n + N), np.arange(4 * n + N, size)])
        B, m = group.basis, 3 * n
        motion = A[:, :m, :m].reshape(count, 3, n, 3, n)
        halves = np.einsum("mij,mipkq->mjpkq", B, motion, optimize=True)
        whole = np.einsum("mjpkq,mkl->mjplq", halves, B, optimize=True).reshape(count, 4 * n, 4 * n)
        cross = np.einsum("mij,mipr->mjpr", B, A[:, :m, m:].reshape(count, 3, n, -1)).reshape(count, 4 * n, -1)
        out, gradient = np.empty((count, size, size)), np.empty((count, size))
        out[:, places[:, None], places] = whole
        out[:, places[:, None], rest] = cross
        out[:, rest[:, None], places] = cross.transpose(0, 2, 1)
        out[:, rest[:, None], rest] = A[:, m:, m:]
        gradient[:, places] = np.einsum("mij,mip->mjp", B, b[:, :m].reshape(count, 3, n)).reshape(count, -1)
        gradient[:, rest] = b[:, m:]
        local = self.knots + group.local * np.arange(count)
        return NormalBlocks(group.begins, local, out, gradient, 4 * n + N)

    def _task(self, z: Array) -> list[tuple[Array, Array, int]]:
        weight, n, N = self.weights["task"], self.character.features, len(self.character.effectors)
        found = []
        for phase, function in zip(self.terms.phases, self.terms.residuals, strict=True):
            begin = 2 * n + phase * self._block + N
            r, J = function(z[begin : begin + n], z[begin + n : begin + 2 * n])
            found.append((weight * np.array(r).ravel(), weight * np.array(J), begin))
        return found

    def breakdown(self, z: Array) -> Mapping[str, float]:
        """Return the share of each named term in the cost, half its sum of squares."""
        found: dict[str, float] = {}
        residuals = self.residuals(z)
        for group, r in zip((self._dynamics, self._path), residuals, strict=False):
            for name, _, first, last in group.terms:
                found[name] = found.get(name, 0.0) + 0.5 * float((r[:, first:last] ** 2).sum())
        found["task"] = 0.5 * sum(float((r**2).sum()) for r in residuals[2:])
        return found
