import numpy as np
import pytest
from contacts import wrench_points
from scipy.optimize import linprog

from com_trajectory.bezier import Bezier, parts_between
from com_trajectory.dynamic_window import WindowSearch
from com_trajectory.phases import planned_phases
from com_trajectory.windows import windows_of
from multi_qp_cli.benches.com_problems import peer_rays, transitions

PARTS, BEYOND = 3, 0.03
ZERO = np.zeros(3)


def constraints(phases, start, preferred, ends, pull):
    """(1) and (4) at the control points as equations and inequalities in the displacement x and all ray loads."""
    duration, goal = ends[-1], phases[-1].rest.point
    base = Bezier.between((start, ZERO, ZERO), np.tile(preferred, (pull, 1)), (goal, ZERO, ZERO), duration)
    places = np.array([preferred, start, *(phase.rest.point for phase in phases)])
    low, high = places.min(axis=0) - BEYOND, places.max(axis=0) + BEYOND
    A, b, blocks, turns, wrenches = [], [], [], [], []
    bounds = np.concatenate([[0.0], ends / duration])
    for phase, begin, end in zip(phases, bounds[:-1], bounds[1:], strict=True):
        steps = np.linspace(begin, end, PARTS + 1)
        for first, last in zip(steps[:-1], steps[1:], strict=True):
            matrix = parts_between(np.eye(base.degree + 1), first, last, 1)[0]
            points, shares = matrix @ base.points, matrix[:, 3 : 3 + pull].sum(axis=1)
            for point, share in zip(points, shares, strict=True):
                A += [share * phase.reach.A, share * np.eye(3), -share * np.eye(3)]
                b += [phase.reach.b - phase.reach.A @ point, high - point, point - low]
            at = [
                wrench_points(points + shares[:, None] * axis, (last - first) * duration, phase.cone.origin)
                for axis in (ZERO, *np.eye(3))
            ]
            wrenches += list(at[0])
            turns += list(np.stack([moved - at[0] for moved in at[1:]], axis=-1))
            blocks += [phase.cone.G] * len(at[0])
    return np.vstack(A), np.concatenate(b), blocks, np.array(turns), np.array(wrenches)


def least(cost, A, b, blocks, turns, wrenches):
    """Minimise cost · x over the displacements that satisfy the constraints."""
    from scipy.sparse import block_diag, csr_matrix, hstack

    equations = hstack([csr_matrix(-turns.reshape(-1, 3)), block_diag(blocks)])
    loads = sum(block.shape[1] for block in blocks)
    rows = hstack([csr_matrix(A), csr_matrix((len(A), loads))])
    return linprog(
        np.concatenate([cost, np.zeros(loads)]),
        A_ub=rows,
        b_ub=b,
        A_eq=equations,
        b_eq=wrenches.ravel(),
        bounds=[(None, None)] * 3 + [(0.0, None)] * loads,
    )


@pytest.mark.parametrize("contacts", [1, 3])
def test_the_attractor_is_the_nearest_one_of_a_linear_program(contacts):
    outcomes = set()
    for case in transitions(2, contacts, seed=5):
        sequence, reach = case.sequence()
        phases = planned_phases(sequence, "robot", reach)
        (window,) = windows_of(phases)
        search, preferred = WindowSearch(phases), 0.5 * (case.start + case.goal)
        search.set_ends(window, (case.start, ZERO, ZERO), preferred)
        for duration, pull in ((0.6, 2), (1.0, 4), (1.7, 2)):
            ends = duration * np.array([0.5, 1.0])
            curve = search.curve(ends, pull)
            limits = constraints(phases, case.start, preferred, ends, pull)
            if curve is None:
                assert least(ZERO, *limits).status == 2  # infeasible
            else:
                x = curve.points[3] - preferred
                found = least(x, *limits)  # a projection x on a convex set: x · y ≥ x · x for all its points y
                assert found.status == 0
                assert found.fun == pytest.approx(x @ x, abs=1e-5)
            outcomes.add(curve is None)
    assert outcomes == {True, False}


def test_contacts_of_the_benchmark_have_the_rays_of_the_peer():
    (case,) = transitions(1, 3, seed=2)
    for k, contact in enumerate(case.before.contacts()):
        theirs = peer_rays(case.before.normals, case.before.friction)[4 * k : 4 * k + 4]
        assert np.allclose(contact.points_in_world, case.before.points[4 * k : 4 * k + 4])
        for ours, others in zip(contact.rays(), theirs, strict=True):
            distances = np.linalg.norm(ours[:, None] - others[None], axis=2)
            assert (distances.min(axis=1) < 1e-9).all()
