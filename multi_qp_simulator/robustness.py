"""Repeated runs under model mismatch and disturbances: success rates, failures, and largest pushes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from time import process_time
from typing import Any

import numpy as np

from motion_generation.state_generation import GeneratedStates, generate_states
from multi_qp_controller.command import Command
from multi_qp_controller.controller import Controller
from multi_qp_scene.arrays import Array
from multi_qp_scene.executor import Executor, Lost
from multi_qp_scene.scenario import load_scenario
from multi_qp_scene.schema.mismatch import MismatchSpec, PushSpec
from multi_qp_simulator.run_monitor import succeeded
from multi_qp_simulator.runner import Run, make_backend, make_controller

#: Default mismatch of randomised runs.
RANDOMISED = MismatchSpec(
    mass_error=0.05,
    friction_error=0.2,
    sensor_delay=0.001,
    encoder_noise=1e-4,
    velocity_noise=1e-2,
    gyro_noise=5e-3,
)

#: Causes of failures of runs that were completed.
MISSED, UNHEALTHY = "missed goals", "not healthy"

#: Period of the check for falls [s].
FALL_CHECK_PERIOD = 0.05


@dataclass(frozen=True)
class RunJob:
    """A run executed by a worker process.

    Attributes:
        scenario: name or path.
        seed: of the scenario and of all random mismatch.
        parameters: scenario parameters, as of `--set`.
        mismatch: model mismatch and disturbances.
        solver: name; the default if None.
        formulation: name; the default if None.
    """

    scenario: str
    seed: int
    parameters: tuple[tuple[str, float], ...]
    mismatch: MismatchSpec
    solver: str | None = None
    formulation: str | None = None


@dataclass(frozen=True)
class RunSummary:
    """Summary of one run.

    Attributes:
        seed: of the run.
        succeeded: whether it completed, reached all its goals and was healthy.
        ended: reason of the end.
        state: last state.
        missed: names of the goals that were not reached.
        problems: why the run was not healthy, first why its plan or motion is not what the scenario asks for.
        slip: largest slip of a contact [m].
        torque_ratio: largest ratio of a torque to its limit.
        qp_failures: number of ticks.
        forces: predicted against simulated, relative RMS by phase.
        sim_time: [s].
        cpu_time: total CPU time [s].
    """

    seed: int
    succeeded: bool
    ended: str
    state: str
    missed: tuple[str, ...]
    problems: tuple[str, ...]
    slip: float
    torque_ratio: float
    qp_failures: int
    forces: dict[str, float | None]
    sim_time: float
    cpu_time: float


def prepare(job: RunJob) -> GeneratedStates:
    """Load the scenario of a job with its mismatch, and generate the states of one without states."""
    generated = generate_states(load_scenario(job.scenario, parameters=dict(job.parameters), seed=job.seed))
    spec = generated.scenario.spec.model_copy(update={"mismatch": job.mismatch})
    return replace(generated, scenario=replace(generated.scenario, spec=spec))


def run_job(job: RunJob) -> RunSummary:
    """Execute one run; one whose plan or motion is not what the scenario asks for does not succeed."""
    began = process_time()
    generated = prepare(job)
    scenario = generated.scenario
    controller = make_controller(scenario, "mujoco", solver=job.solver, formulation=job.formulation)
    run = Run(scenario, controller, make_backend("mujoco", scenario), backend_name="mujoco", logged=False)
    detector = _FallDetector(run)
    run.observe(detector)
    report = run.execute().report
    return _summary(
        job.seed, report, fallen=detector.fallen, failure=generated.failure, cpu_time=process_time() - began
    )


class _FallDetector:
    """Observer that ends a run after a fall, to save time.

    A character falls when its centre of mass drops, in the world and relative to its contacts, as it may walk downhill.
    """

    def __init__(self, run: Run) -> None:
        self._run, self._drop = run, run.scenario.spec.health.drop
        self._heights: dict[str, Array] = {}
        self._support: dict[str, float] = {}
        self._next = 0.0
        self.fallen = ""

    def __call__(self, controller: Controller, command: Command) -> None:
        # a fall takes half a second
        if self.fallen or command.time < self._next:
            return
        passed, self._next = command.time + FALL_CHECK_PERIOD - self._next, command.time + FALL_CHECK_PERIOD
        for character in controller.scenario.scene.characters:
            height = float(controller.kinematics.com(character)[2])
            heights = np.array([height, height - self._support_height(controller, character.name)])
            highest = np.maximum(self._heights.get(character.name, heights), heights)
            # the reference heights follow slow, intended changes
            self._heights[character.name] = highest + (heights - highest) * min(1.0, passed)
            if (heights < self._heights[character.name] - self._drop).all():
                self.fallen = character.name
                self._run.stop()

    def _support_height(self, controller: Controller, name: str) -> float:
        """Return the mean height of a character's active contacts, the last one while it has none [m]."""
        frames = [c.first.frame_id for c in controller.contacts.values() if c.first.name.startswith(f"{name}/")]
        if frames:
            self._support[name] = float(np.mean([controller.kinematics.pose(k).translation[2] for k in frames]))
        return self._support.get(name, 0.0)


def _summary(seed: int, report: dict[str, Any], *, fallen: str, failure: str, cpu_time: float) -> RunSummary:
    return RunSummary(
        seed=seed,
        succeeded=succeeded(report) and not fallen and not failure,
        ended=f"{fallen} fell" if fallen else report["ended"],
        state=report["states_visited"][-1],
        missed=tuple(name for name, goal in report["goals"].items() if not goal["reached"]),
        problems=(*((failure,) if failure else ()), *report["health"]["problems"]),
        slip=report["worst"]["contact_slip_m"],
        torque_ratio=report["worst"]["torque_ratio"],
        qp_failures=report["qp_failures"],
        forces={phase: of_phase["relative"] for phase, of_phase in report["contact_forces"].items()},
        sim_time=report["sim_time"],
        cpu_time=cpu_time,
    )


def run_all(jobs: Sequence[RunJob], executor: Executor) -> Iterator[tuple[int, RunSummary]]:
    """Execute all runs and yield the index of the job with each summary, as completed."""
    for k, found in executor.as_completed(run_job, jobs):
        yield k, _lost(jobs[k].seed, found.why) if isinstance(found, Lost) else found


def _lost(seed: int, why: str) -> RunSummary:
    """Return the summary of a run whose worker died."""
    return RunSummary(seed, False, f"lost: {why}", "none", (), (), 0.0, 0.0, 0, {}, 0.0, 0.0)


def _cause(run: RunSummary) -> str:
    if run.ended != "completed":
        return run.ended
    return MISSED if run.missed else UNHEALTHY


def statistics(runs: Sequence[RunSummary]) -> dict[str, Any]:
    """Return the statistics of many runs."""
    failures = [run for run in runs if not run.succeeded]
    return {
        "runs": len(runs),
        "succeeded": len(runs) - len(failures),
        "success_rate": (len(runs) - len(failures)) / len(runs) if runs else math.nan,
        "failed_in": dict(Counter(run.state for run in failures)),
        "failures": dict(Counter(map(_cause, failures))),
        "unhealthy": dict(Counter(problem for run in failures for problem in run.problems)),
        "missed": dict(Counter(name for run in failures for name in run.missed)),
        "cpu_time_s": sum(run.cpu_time for run in runs),
        "worst_slip_m": max((run.slip for run in runs), default=math.nan),
        "worst_torque_ratio": max((run.torque_ratio for run in runs), default=math.nan),
        "forces": {phase: _median(runs, phase) for phase in ("static", "moving", "change")},
        "each": [asdict(run) for run in runs],
    }


def _median(runs: Sequence[RunSummary], phase: str) -> float | None:
    values = [value for run in runs if (value := run.forces.get(phase)) is not None]
    return float(np.median(values)) if values else None


def directions(count: int) -> list[tuple[float, float, float]]:
    """Return evenly spaced horizontal directions, starting with +x."""
    angles = [2.0 * math.pi * k / count for k in range(count)]
    return [(round(math.cos(a), 12), round(math.sin(a), 12), 0.0) for a in angles]


def largest_push(job: RunJob, push: PushSpec, *, upto: float, resolution: float) -> float:
    """Return the largest force [N] of a push with which the run succeeds, by bisection; 0 if there is none.

    Args:
        job: the run; its own pushes are retained.
        push: link, time and duration; its force is ignored.
        upto: upper bound of the search [N].
        resolution: of the result [N].
    """

    def withstands(force: float) -> bool:
        pushes = [*job.mismatch.pushes, push.model_copy(update={"force": force})]
        mismatch = job.mismatch.model_copy(update={"pushes": pushes})
        return run_job(replace(job, mismatch=mismatch)).succeeded

    low, high = 0.0, upto
    if withstands(upto):
        return upto
    while high - low > resolution:
        middle = (low + high) / 2.0
        low, high = (middle, high) if withstands(middle) else (low, middle)
    return low


def largest_pushes(
    searches: Sequence[tuple[RunJob, PushSpec]],
    executor: Executor,
    *,
    upto: float,
    resolution: float,
    done: Callable[[], None] | None = None,
) -> list[float | None]:
    """Return `largest_push` of several pushes; None where the worker died."""
    forces: list[float | None] = [None] * len(searches)
    for k, force in executor.as_completed(partial(_search, upto=upto, resolution=resolution), searches):
        if not isinstance(force, Lost):
            forces[k] = force
        if done is not None:
            done()
    return forces


def _search(search: tuple[RunJob, PushSpec], *, upto: float, resolution: float) -> float:
    return largest_push(*search, upto=upto, resolution=resolution)
