"""Reproduce the tables of [Tonneau2018]: figures of the paper and ours."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any

import numpy as np
from rich.table import Table

from com_trajectory.equilibrium import equilibrium_region
from com_trajectory.kinematics import load_polytopes
from com_trajectory.planner import PlanOptions, plan_com
from com_trajectory.polytope import Polytope
from com_trajectory.trajectory import validate
from multi_qp_cli.com.bodies import PosedRobot
from multi_qp_cli.com.posture_samples import PostureSamples
from multi_qp_cli.com.transition_problems import TransitionProblems
from multi_qp_cli.options import output_path
from multi_qp_cli.output import Console, figures_table
from multi_qp_cli.progress import run_progress
from multi_qp_scene.arrays import Array
from multi_qp_scene.contact_sequence import Contact
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.sequence_file import load_contact_sequence

SUMMARY = "the tables of the 2PAC paper, with its figures and ours"

MODEL = "humanoid"
EFFECTORS = ("left_sole", "right_sole", "left_palm", "right_palm")
#: [Tonneau2018] table 2: time of the constraints by number of contacts [ms].
PAPER_2 = {1: 0.157, 2: 2.11, 3: 5.14, 4: 14.0, 5: 33.7, 6: 68.19}
#: Table 3: scene, our sequences, costs, and the fraction of time at which (1) holds, if it is one of the paper's.
PAPER_3: tuple[tuple[str, tuple[str, ...], tuple[str, ...], float | None], ...] = (
    ("chairs", ("chair",), ("nearest",), 1.00),
    ("silly walks", ("level_walking",), ("short_and_low", "alternating_sides", "far_right", "low"), 1.00),
    ("stairs", ("stairs", "uneven_stairs"), ("nearest",), 0.97),
    ("steep slope", ("steep_slope",), ("nearest",), 0.85),
    ("twister", ("twister",), ("nearest",), 0.82),
    ("climbing (no quasi-static)", ("wall",), ("nearest",), 0.56),
    ("climbing cubes", ("climbing",), ("nearest",), None),
)
PAPER_4 = {1: 0.965, 2: 0.725, 3: 0.386, 4: 0.063}
PAPER_5 = {2: (0.77, 0.97), 3: (0.67, 0.88), 4: (0.42, 0.73)}


_PLACES = 5  # centres of mass for each contact set in table 4
_POSTURES, _STARTS = 20_000, 40  # random configurations, and the largest number of them from which a search starts


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--table", type=int, choices=(2, 3, 4, 5), action="append", help="only this one; can be repeated"
    )
    parser.add_argument(
        "--samples",
        type=int,
        default=40,
        help="contact sets in table 4 and transitions in table 5, per number of contacts (default 40)",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the random numbers (default 0)")
    parser.add_argument("--json", metavar="FILE.json", help="write the results here")


def run(options: argparse.Namespace) -> int:
    """Compute and print the tables."""
    if options.samples < 1 or options.seed < 0:
        raise MultiQpError("--samples: expected 1 or above, --seed: 0 or above")
    path = output_path("--json", options.json, suffixes=(".json",))
    makers: Mapping[int, Callable[[argparse.Namespace], tuple[Table, Any]]] = {
        2: table_2,
        3: table_3,
        4: table_4,
        5: table_5,
    }
    console, data = Console(), {}
    for number in options.table or sorted(makers):
        table, data[str(number)] = makers[number](options)
        console.print(table)
    if path is not None:
        path.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    return 0


def table_2(options: argparse.Namespace) -> tuple[Table, Any]:
    """Return the time of the constraints and of the QPs by the number of contacts."""
    from com_trajectory.costs import QuadraticCost
    from com_trajectory.transition import transition_by_loads, transition_by_region
    from multi_qp_cli.benches.com_problems import transitions

    columns = "contacts", "A c ≤ a, paper", "ours", "QP (6), paper", "ours", "QP (13), paper", "ours"
    table = figures_table(columns, columns[0], title="Table 2: time by the number of contacts [ms, median]")
    data = {}
    for number, paper in PAPER_2.items():
        times: dict[str, list[float]] = {"region": [], "(6)": [], "(13)": []}
        for k, problem in enumerate(transitions(15, number, seed=options.seed)):
            cost = QuadraticCost.towards(problem.start)
            marks = [time.perf_counter()]
            cone = problem.after.cone()
            region = equilibrium_region(cone)
            marks.append(time.perf_counter())
            transition_by_region(region, problem.reach, cost)
            marks.append(time.perf_counter())
            transition_by_loads(cone, problem.reach, cost)
            marks.append(time.perf_counter())
            if k:  # the first one compiles
                for name, value in zip(times, np.diff(marks), strict=True):
                    times[name].append(1e3 * float(value))
        ours = {name: float(np.median(values)) for name, values in times.items()}
        data[number] = {"paper": paper, **ours}
        table.add_row(
            str(number), f"{paper:g}", f"{ours['region']:.2f}", "0.2", f"{ours['(6)']:.3f}", "<1", f"{ours['(13)']:.3f}"
        )
    return table, data


def table_3(_: argparse.Namespace) -> tuple[Table, Any]:
    """Return the fraction of time at which (1) holds, by scene."""
    polytopes = _polytopes()
    columns = "scene", "paper", "2PAC, empirical timing", "2PAC, feasible timing", "dynamic"
    table = figures_table(columns, columns[0], title="Table 3: share of instants at which (1) holds [%]")
    data = {}
    for scene, names, costs, paper in PAPER_3:
        shares = []
        for changes in ({"timing": "empirical"}, {}, {"dynamic": True}):
            satisfied, total = 0.0, 0
            for name in names:
                for cost in costs:
                    plan = PlanOptions(cost=cost, **changes)
                    valid = validate(plan_com(load_contact_sequence(name), polytopes, options=plan))
                    satisfied += valid.dynamic_share * len(valid.times)
                    total += len(valid.times)
            shares.append(satisfied / total)
        data[scene] = {"paper": paper, "empirical": shares[0], "feasible": shares[1], "dynamic": shares[2]}
        table.add_row(
            scene, "–" if paper is None else f"{100 * paper:.0f}", *(f"{100 * share:.1f}" for share in shares)
        )
    return table, data


def table_4(options: argparse.Namespace) -> tuple[Table, Any]:
    """Return how often a posture exists for a centre of mass sampled from the polytopes, by number of contacts."""
    robot, polytopes = PosedRobot(MODEL), _polytopes()
    postures = PostureSamples(robot, EFFECTORS, _POSTURES)
    random = np.random.default_rng(options.seed)
    columns = "contacts", "paper", "ours", "samples"
    table = figures_table(columns, columns[0], title="Table 4: a whole body exists for a uniform sample of K [%]")
    data = {}
    with run_progress("table 4") as progress:
        for column, (number, paper) in enumerate(PAPER_4.items()):
            found: list[bool] = []
            for done in range(options.samples):
                if progress is not None:
                    progress((column + done / options.samples) / len(PAPER_4), f"{number} contacts")
                contacts, q = _contact_set(robot, random, number)
                reach = Polytope.intersection(polytopes[c.effector].transformed(c.pose) for c in contacts)
                for com in _uniform(random, reach, _PLACES):
                    starts = chain([q], postures.near(contacts, com, _STARTS))
                    found.append(robot.reach_from(starts, contacts, com) is not None)
            share = float(np.mean(found))
            data[number] = {"paper": paper, "ours": share, "samples": len(found)}
            table.add_row(str(number), f"{100 * paper:.1f}", f"{100 * share:.1f}", str(len(found)))
    return table, data


def _contact_set(robot: PosedRobot, random: np.random.Generator, number: int) -> tuple[list[Contact], Array]:
    """Return contacts of a random posture, and the posture, (nq,)."""
    while True:
        effectors = [str(name) for name in random.choice(EFFECTORS, size=number, replace=False)]
        drawn = robot.contacts(random, effectors)
        if drawn is not None:
            return drawn


def table_5(options: argparse.Namespace) -> tuple[Table, Any]:
    """Return how often the body can follow a transition trajectory, with and without K, by number of contacts."""
    robot, polytopes = PosedRobot(MODEL), _polytopes()
    problems = TransitionProblems(robot, polytopes)
    random = np.random.default_rng(options.seed)
    columns = "contacts", "paper, without K", "ours", "paper, with K", "ours", "infeasible samples"
    table = figures_table(columns, columns[0], title="Table 5: a whole body follows the transition [%]")
    data = {}
    for number, (without, with_k) in PAPER_5.items():
        followed: list[list[bool]] = [[], []]
        problems.infeasible = 0
        while len(followed[0]) < options.samples:
            found = problems.draw(random, number)
            if found is None:
                continue
            for column, limits in enumerate(({}, polytopes)):
                failed_at = robot.first_unreachable_time(plan_com(found.sequence, limits), (found.start, found.goal))
                followed[column].append(failed_at is None)
        shares = [float(np.mean(each)) for each in followed]
        infeasible = problems.infeasible
        data[number] = {
            "paper": [without, with_k],
            "ours": shares,
            "transitions": len(followed[0]),
            "infeasible": infeasible,
        }
        cells = [without, shares[0], with_k, shares[1]]
        table.add_row(str(number), *(f"{100 * cell:.0f}" for cell in cells), str(infeasible))
    return table, data


def _polytopes() -> dict[str, Polytope]:
    return {name: effector.polytope for name, effector in load_polytopes(MODEL).effectors.items()}


def _uniform(random: np.random.Generator, reach: Polytope, count: int) -> np.ndarray:
    """Return uniform samples of a polytope, (count, 3); none if it has no interior."""
    corners = reach.vertices()
    if len(corners) < 4:
        return np.zeros((0, 3))
    low, high = corners.min(axis=0), corners.max(axis=0)
    found: list[np.ndarray] = []
    for _ in range(200):
        drawn = random.uniform(low, high, (64, 3))
        found.extend(drawn[reach.contains(drawn)])
        if len(found) >= count:
            break
    return np.array(found[:count]).reshape(-1, 3)
