"""Benchmark of the contact planner: time, success rate, validity and execution of plans."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from time import thread_time
from typing import Any

import numpy as np

from multi_qp_cli.benches.result import BenchResult, BenchTable
from multi_qp_cli.options import add_executor_options, executor_from, require_known
from multi_qp_cli.progress import run_progress
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.executor import Lost, in_order
from multi_qp_scene.scenario import Scenario, load_scenario

SUMMARY = "the contact planner: time, success rate, and execution of its plans"
SCENES = ("stairs", "uneven_stairs", "slope", "climb", "climb_hands", "rubble", "causeway", "chair", "twister")
#: Largest slip of a plan that counts as executed [m].
SLIP = 2e-3
_CHAIR_ROOMS = 3  # of `chair`: one per seed, cyclically


@dataclass
class _Tally:
    scene: str
    seconds: list[float] = field(default_factory=list)
    moves: list[int] = field(default_factory=list)
    complete: int = 0
    mistakes: list[str] = field(default_factory=list)
    carried_out: list[bool] = field(default_factory=list)
    why: list[str] = field(default_factory=list)
    seeds: int = 0

    def add(self, seed: int, result: _PlanResult | Lost) -> None:
        """Count the result of a seed."""
        self.seeds += 1
        if isinstance(result, Lost):
            self.why.append(f"seed {seed}: lost: {result.why}")
            return
        self.seconds += result.seconds
        self.moves.append(result.moves)
        self.complete += result.complete
        if not result.complete:
            self.why.append(f"seed {seed}: {result.reason}")
        self.mistakes += [f"seed {seed}: {text}" for text in result.mistakes]
        if result.failure is not None:
            self.carried_out.append(not result.failure)
            self.why += [f"seed {seed}: not carried out: {result.failure}"] if result.failure else []


def add_options(group: Any) -> None:
    """Declare the options."""
    group.add_argument("--plan-scene", action="append", metavar="NAME", help=f"one of {', '.join(SCENES)}; repeatable")
    group.add_argument("--seeds", type=int, default=20, help="number of seeds per scene (default 20)")
    group.add_argument(
        "--carry-out", type=int, default=0, metavar="N", help="run the plans of the first N seeds in the integrator"
    )
    add_executor_options(group, jobs=1, default="1, since processes slow each other down")


def run(options: argparse.Namespace) -> BenchResult:
    """Plan every scene with every seed."""
    scenes = options.plan_scene or list(SCENES)
    for scene in scenes:
        require_known("--plan-scene", "scene", scene, SCENES)
    if options.seeds < 1 or options.carry_out < 0:
        raise MultiQpError("--seeds: expected 1 or above, --carry-out: 0 or above")
    jobs = [_PlanJob(scene, seed, seed < options.carry_out) for scene in scenes for seed in range(options.seeds)]
    tallies = {scene: _Tally(scene) for scene in scenes}
    with executor_from(options, len(jobs)) as executor, run_progress("plan") as progress:
        for done, found in enumerate(in_order(executor.as_completed(_plan_job, jobs))):
            job = jobs[done]
            tallies[job.scene].add(job.seed, found)
            if progress is not None:
                progress((done + 1) / len(jobs), f"{job.scene}, seed {job.seed}")
    return BenchResult([_table(list(tallies.values()))], {"scenes": {k: _data(tally) for k, tally in tallies.items()}})


@dataclass(frozen=True)
class _PlanJob:
    """Planning of a scene with one seed, and execution of the plan in the integrator."""

    scene: str
    seed: int
    carried_out: bool


@dataclass(frozen=True)
class _PlanResult:
    """Result of one seed.

    Attributes:
        complete: whether the goal is reached, or all turns are planned.
        reason: reason for an incomplete plan.
        seconds: CPU time; with `turns`, of each turn [s].
        moves: number of limb moves.
        mistakes: invalid stances.
        failure: of the execution, "" if it succeeds, None if the plan is not executed.
    """

    complete: bool
    reason: str
    seconds: list[float]
    moves: int
    mistakes: list[str]
    failure: str | None = None


def _plan_job(job: _PlanJob) -> _PlanResult:
    _warm_up(job.scene)
    scenario = load_scenario(job.scene, seed=job.seed, parameters=_parameters(job.scene, job.seed))
    result, executed = _plan(scenario)
    if not (job.carried_out and result.complete):
        return result
    return replace(result, failure=_execution_failure(executed()))


@cache
def _warm_up(scene: str) -> None:
    """Build databases and kernels, once in each process."""
    _plan(load_scenario(scene))


def _plan(scenario: Scenario) -> tuple[_PlanResult, Callable[[], Scenario]]:
    """Return the result, and a factory of the scenario that executes the plan."""
    return _planned(scenario) if scenario.spec.turns is None else _played(scenario)


def _planned(scenario: Scenario) -> tuple[_PlanResult, Callable[[], Scenario]]:
    from motion_generation.planning import carried_out, goals_of, make_planner
    from multi_qp_simulator.plan_audit import PlanAudit

    spec = scenario.spec.plan
    assert spec is not None
    planner, goal = make_planner(scenario), goals_of(scenario)
    began = thread_time()
    plan = planner.plan(goal)
    took = thread_time() - began
    wrong = PlanAudit(scenario, spec.character, margin=0.9 * spec.margin).mistakes(plan)
    result = _PlanResult(plan.complete, plan.reason, [took], plan.moves, wrong)
    return result, lambda: carried_out(scenario, plan)


def _played(scenario: Scenario) -> tuple[_PlanResult, Callable[[], Scenario]]:
    from motion_generation.turns import turn_planner, with_turns
    from multi_qp_simulator.plan_audit import PlanAudit

    spec = scenario.spec.turns
    assert spec is not None
    sequence = turn_planner(scenario).plan(spec.count)
    audits = {player: PlanAudit(scenario, player, margin=0.9 * spec.margin) for player in spec.players}
    wrong = [text for turn in sequence.turns for text in audits[turn.player].mistakes(turn.plan, q=turn.q)]
    seconds = [turn.seconds for turn in sequence.turns]
    result = _PlanResult(sequence.complete, sequence.reason, seconds, len(sequence.turns), wrong)
    return result, lambda: with_turns(scenario, sequence)


def _execution_failure(scenario: Scenario) -> str:
    """Run a plan in the integrator; return the reason of a failure, an empty string on success."""
    from multi_qp_simulator.runner import run_scenario

    report = run_scenario(scenario).report
    slip = report["worst"]["contact_slip_m"]
    if report["completed"] and not report["qp_failures"] and slip < SLIP:
        return ""
    failed = report["failure"]["message"] if report["failure"] else report["ended"]
    return f"{failed}; slip {1e3 * slip:.2f} mm"


def _parameters(scene: str, seed: int) -> dict[str, float]:
    """Return the parameters that vary with the seed."""
    return {"room": float(1 + seed % _CHAIR_ROOMS)} if scene == "chair" else {}


def _table(tallies: list[_Tally]) -> BenchTable:
    rows = []
    for tally in tallies:
        well = f"{sum(tally.carried_out)} of {len(tally.carried_out)}" if tally.carried_out else ""
        rows.append(
            [
                tally.scene,
                f"{tally.complete} of {tally.seeds}",
                *(f"{value:.2f}" for value in (np.median(tally.seconds), np.max(tally.seconds, initial=0.0))),
                f"{np.median(tally.moves):.0f}",
                str(len(tally.mistakes)),
                well,
            ]
        )
    notes = ["times are CPU times on one core; of `twister` per turn"]
    notes += [line for tally in tallies for line in (*tally.mistakes[:3], *tally.why[:5])]
    columns = ("scene", "reaches the goal", "median [s]", "max [s]", "moves", "invalid stances", "executed")
    return BenchTable("Contact planning", columns, rows, "\n".join(notes))


def _data(tally: _Tally) -> dict[str, Any]:
    return {
        "seeds": tally.seeds,
        "complete": tally.complete,
        "seconds": tally.seconds,
        "moves": tally.moves,
        "mistakes": tally.mistakes,
        "carried_out": tally.carried_out,
        "why": tally.why,
    }
