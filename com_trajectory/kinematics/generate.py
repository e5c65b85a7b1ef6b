"""Generation of a robot's kinematic polytopes from sampled configurations, in parallel processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np
from scipy.spatial import QhullError

from com_trajectory.kinematics.inner_hull import hull_points, inner_hull
from com_trajectory.kinematics.sampled_robot import SampledRobot
from com_trajectory.kinematics.store import EffectorPolytope, RobotPolytopes, fingerprint_of
from com_trajectory.polytope import Polytope
from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.executor import Lost, in_order
from multi_qp_scene.processes import LocalExecutor
from multi_qp_scene.resources import model_path

#: Configurations per random stream; the samples do not depend on the number of processes.
CHUNK = 2_000
DEFAULT_SAMPLES, DEFAULT_FACES = 100_000, 100


def generate_polytopes(
    model: str | Path,
    *,
    samples: int = DEFAULT_SAMPLES,
    max_faces: int = DEFAULT_FACES,
    seed: int = 0,
    processes: int | None = None,
    progress: Callable[[float, str], None] | None = None,
) -> RobotPolytopes:
    """Sample a robot's configurations and enclose the centre-of-mass positions seen from each of its surfaces.

    The result depends on the seed and not on the number of processes. Each polytope lies inside the hull of the
    samples, so that simplification never adds a position.

    Args:
        model: name of a shipped model, or path of a model file.
        samples: configurations to draw.
        max_faces: of each polytope.
        seed: of the random numbers.
        processes: number of processes; one for each core if None, the calling process for 1.
        progress: called with the fraction done, 0 to 1, and a label.

    Raises:
        MultiQpError: the model is invalid or not a robot, an argument is out of range, or too few samples are free.

    Source: [Tonneau2018] 4.2.
    """
    if samples < 1 or max_faces < 4 or seed < 0:
        message = "expected at least 1 sample, 4 faces and a seed of 0 or above"
        raise MultiQpError(f"polytopes: {message}, got {samples}, {max_faces}, {seed}")
    path = model_path(model)
    robot = SampledRobot(path)
    report = progress or (lambda fraction, label: None)
    sizes = [min(CHUNK, samples - start) for start in range(0, samples, CHUNK)]
    jobs = [(seed, k, size) for k, size in enumerate(sizes)]
    corners: list[Array] = [np.zeros((0, 3)) for _ in robot.effectors]
    workers = processes or os.cpu_count() or 1
    counts, free = np.zeros(len(corners), dtype=int), 0
    for done, (views, numbers, not_colliding) in enumerate(_results(path, robot, jobs, workers)):
        corners = [np.vstack([old, new]) for old, new in zip(corners, views, strict=True)]
        counts += numbers
        free += not_colliding
        report(0.9 * (done + 1) / len(jobs), f"{free} configurations")
    effectors = {}
    for k, effector in enumerate(robot.effectors):
        effectors[effector.name] = _enclosed(effector.name, corners[k], int(counts[k]), max_faces)
        report(0.9 + 0.1 * (k + 1) / len(robot.effectors), effector.name)
    return RobotPolytopes(path.stem, effectors, fingerprint_of(robot.loaded), seed, samples, free)


def _results(
    path: Path, robot: SampledRobot, jobs: list[tuple[int, int, int]], processes: int
) -> Iterator[tuple[list[Array], Array, int]]:
    """Yield the result of each chunk, in order."""
    with LocalExecutor(min(processes, len(jobs))) as executor:
        work = partial(_chunk, robot) if executor.in_process else partial(_chunk_of, path)
        for found in in_order(executor.as_completed(work, jobs)):
            if isinstance(found, Lost):
                raise MultiQpError(f"polytopes: {found.why}")
            yield found


@cache
def _robot(path: Path) -> SampledRobot:
    return SampledRobot(path)


def _chunk_of(path: Path, job: tuple[int, int, int]) -> tuple[list[Array], Array, int]:
    return _chunk(_robot(path), job)


def _chunk(robot: SampledRobot, job: tuple[int, int, int]) -> tuple[list[Array], Array, int]:
    """Return the hull corners and sample count of each effector, and the number of collision-free configurations."""
    seed, number, size = job
    random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
    views, free = robot.views(random, size)
    return [_corners(view) for view in views], np.array([len(view) for view in views]), free


def _corners(points: Array) -> Array:
    try:
        return hull_points(points) if len(points) > 4 else points
    except QhullError:
        return points  # flat; other chunks may add volume


def _enclosed(name: str, points: Array, samples: int, max_faces: int) -> EffectorPolytope:
    try:
        corners, loss = inner_hull(hull_points(points), max_faces=max_faces)
        polytope = Polytope.hull(corners)
    except (QhullError, ValueError, IndexError):
        raise MultiQpError(f"polytopes: too few samples for {name!r}: {samples} positions span no volume") from None
    centre, _ = polytope.chebyshev()
    return EffectorPolytope(polytope, centre, loss, samples)
