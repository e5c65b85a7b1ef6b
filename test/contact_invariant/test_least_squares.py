"""Levenberg-Marquardt method on a chain of knots with local variables."""

import numpy as np
import pytest

from contact_invariant.least_squares import KnotMap, LocalBlocks, NormalBlocks, levenberg_marquardt


class Chain:
    """Linear residuals J z − y of windows of three knot variables with two local variables each.

    With `total`, a shared residual is so many times the sum of all knot variables minus 1.
    """

    def __init__(self, *, slope: float = 0.0, total: float = 0.0):
        rng = np.random.default_rng(0)
        self.size, self.knots, self.fixed = 5 + 2 * 3, 5, 1
        self.begins, self.local = np.array([0, 1, 2]), np.array([5, 7, 9])
        self.J, self.y = rng.normal(size=(3, 7, 5)), rng.normal(size=(3, 7))
        self.slope, self.total = slope, total
        self.columns = np.hstack([self.begins[:, None] + np.arange(3), self.local[:, None] + np.arange(2)])

    def residuals(self, z):
        moved = z + self.slope * z**2
        return [np.einsum("mkj,mj->mk", self.J, moved[self.columns]) - self.y, np.array([[self.shared(z)[0]]])]

    def normal_equations(self, z):
        r, shared = self.residuals(z)
        J = self.J * (1 + 2 * self.slope * z[self.columns])[:, None]
        A, b = J.transpose(0, 2, 1) @ J, np.einsum("mkj,mk->mj", J, r)
        mixed = np.concatenate([A[:, :3, 3:], b[:, None, 3:]], axis=1)
        local = LocalBlocks(self.local, np.arange(3), mixed, A[:, 3:, 3:])
        knots, pairs = KnotMap.identity(self.begins[:, None] + np.arange(3)), np.stack(np.tril_indices(3))
        blocks = NormalBlocks(pairs, A[:, pairs[0], pairs[1]], b[:, :3], knots, local)
        return 0.5 * float((r**2).sum() + (shared**2).sum()), [blocks]

    def shared(self, z):
        return self.total * (z[: self.knots].sum() - 1.0), np.full(self.knots, self.total)

    def dense_solution(self, z0):
        A, b = np.zeros((22, self.size)), np.append(self.y.ravel(), self.total)
        A[21, : self.knots] = self.total
        for m in range(3):
            A[7 * m : 7 * m + 7, self.columns[m]] = self.J[m]
        free = np.arange(self.fixed, self.size)
        z = z0.copy()
        z[free] = np.linalg.lstsq(A[:, free], b - A[:, 0] * z0[0], rcond=None)[0]
        return z


@pytest.mark.parametrize("total", [0.0, 3.0])
def test_a_linear_problem_is_solved_like_by_a_dense_method(total):
    chain, z0 = Chain(total=total), np.full(11, 0.7)
    fit = levenberg_marquardt(chain, z0, iterations=60, tolerance=1e-14)
    np.testing.assert_allclose(fit.z, chain.dense_solution(z0), atol=1e-5)
    assert fit.z[0] == 0.7


def test_the_cost_never_increases():
    fit = levenberg_marquardt(Chain(slope=0.3), np.full(11, 0.5), iterations=40)
    assert all(b < a for a, b in zip(fit.costs, fit.costs[1:], strict=False))
    assert fit.reason in ("converged", "no decrease")


def test_it_ends_at_its_deadline():
    fit = levenberg_marquardt(Chain(slope=0.3), np.full(11, 0.5), iterations=40, deadline=0.0)
    assert fit.reason == "time" and len(fit.costs) <= 2


@pytest.mark.parametrize("iterations", [0, 1])
def test_the_number_of_iterations_is_bounded(iterations):
    assert len(levenberg_marquardt(Chain(), np.full(11, 0.5), iterations=iterations).costs) == iterations + 1


def test_squares_of_knots_are_those_of_a_dense_matrix():
    """Of windows that overlap, with motion variables that depend on several knots, or on one with another one."""
    rng = np.random.default_rng(0)
    knots = np.array([[[0, 1, 4], [3, 2, 4]], [[3, 2, 5], [6, 7, 5]]])  # (W, k, q)
    map_, H = KnotMap(knots, rng.normal(size=(2, 3, 2, 2)), np.array([0, 0, 1])), rng.normal(size=(6, 3, 3))
    H, b = H + H.transpose(0, 2, 1), rng.normal(size=(6, 3))
    first, second = np.tril_indices(3)
    band, gradient = np.zeros((8, 6)), np.zeros(8)
    map_.add_squares(band, first, second, 3 * first + second, H)
    map_.add_gradient(gradient, b)
    J = np.array([map_.moved(unit) for unit in np.eye(8)])  # (knots, m, q)
    dense = np.einsum("amq,mqr,bmr->ab", J, H, J)
    np.testing.assert_allclose(gradient, np.einsum("amq,mq->a", J, b), atol=1e-12)
    for k in range(6):
        np.testing.assert_allclose(band[k:, 5 - k], np.diag(dense, -k), atol=1e-12)
