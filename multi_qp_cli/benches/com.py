"""Benchmark of centre-of-mass planning against the authors' C++ library: agreement and times."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from multi_qp_cli.benches.result import BenchResult, BenchTable, spread
from multi_qp_scene.errors import MultiQpError

SUMMARY = "transition points and equilibrium, compared with hpp-bezier-com-traj and hpp-centroidal-dynamics"

_HOW_TO_INSTALL = (
    "python -m venv PEER && PEER/bin/pip install pin==4.1.0 hpp-centroidal-dynamics==9.0.2 hpp-bezier-com-traj==9.0.2, "
    "then --peer-python PEER/bin/python"
)
_SEQUENCES = 100  # of ten phases each
_ROUNDS = 3  # alternating between ours and the peer
_MOST_BY_FORCE = 2  # contacts; with more, the peer takes seconds per problem
_BOUNDARY = 1e-6  # [m], [-]
#: Our times: key and header; the last two include the phases, the timing and the check of the curve.
_COLUMNS = {
    "QP (13)": "QP (13)",
    "QP (6)": "QP (6)",
    "region": "A c ≤ a",
    "transition": "contacts to curve",
    "plan_com": "plan_com",
    "dynamic": "plan_com dynamic",
}


def add_options(group: Any) -> None:
    """Declare the options."""
    group.add_argument("--peer-python", metavar="PYTHON", help="interpreter of an environment with the peer library")
    group.add_argument(
        "--verdicts", type=int, default=2000, help="random contact sets for the equilibrium test (default 2000)"
    )
    group.add_argument(
        "--transitions", type=int, default=40, help="transitions for each number of contacts (default 40)"
    )


def run(options: argparse.Namespace) -> BenchResult:
    """Measure."""
    from multi_qp_cli.benches import com_problems

    if options.verdicts < 1 or options.transitions < 1:
        raise MultiQpError("--verdicts, --transitions: expected 1 or above")
    peer = None if options.peer_python is None else Path(options.peer_python)
    if peer is not None and not peer.is_file():
        raise MultiQpError(f"--peer-python: no such file: {peer}; {_HOW_TO_INSTALL}")
    queries = com_problems.verdicts(options.verdicts, seed=1)
    counts = range(1, com_problems.MOST_CONTACTS + 1)
    by_count = {n: com_problems.transitions(options.transitions, n, seed=2) for n in counts}
    flat = [(n, problem) for n, problems in by_count.items() for problem in problems]
    problems = {
        "verdicts": [query.as_dict() for query in queries],
        "constraints": [problem.after.as_dict() for _, problem in flat],
        "transitions": [{**problem.as_dict(), "small": n <= _MOST_BY_FORCE} for n, problem in flat],
    }
    _measure_ours(by_count[1][:2])  # compiles
    ours: dict[str, list[list[float]]] = {}
    theirs: dict[str, Any] | None = None
    for turn in range(_ROUNDS):
        for key, values in _measure_ours([problem for _, problem in flat]).items():
            ours.setdefault(key, []).append(values)
        if peer is not None:
            again = _run_peer(peer, problems if turn == 0 else {**problems, "verdicts": []})
            theirs = again if theirs is None else _faster(theirs, again)
    fastest = {key: [min(values) for values in zip(*rounds, strict=True)] for key, rounds in ours.items()}
    numbers = [n for n, _ in flat]
    tables = _times(numbers, fastest, theirs)
    data: dict[str, Any] = {"times_ms": _grouped(numbers, fastest)}
    if theirs is not None:
        table, data["verdicts"] = _agreement(queries, theirs["verdicts"])
        tables.append(table)
        data["peer_times_ms"] = _grouped(numbers, _peer_times(theirs))
    sequence = _sequence_times()
    data["sequence_ms"] = sequence
    rows = [[name, *(f"{values[key]:.2f}" for key in ("least", "median", "p99"))] for name, values in sequence.items()]
    tables.append(
        BenchTable("Ten phases of level walking, from contacts to curve, ms", ("", "least", "median", "p99"), rows)
    )
    return BenchResult(tables, data, lambda figure: _draw(figure, data))


def _measure_ours(problems: list[Any]) -> dict[str, list[float]]:
    from com_trajectory.bezier import Bezier
    from com_trajectory.costs import QuadraticCost
    from com_trajectory.equilibrium import equilibrium_region
    from com_trajectory.planner import PlanOptions, plan_com
    from com_trajectory.transition import transition_by_loads, transition_by_region
    from com_trajectory.wrench_cone import WrenchCone
    from multi_qp_cli.benches.com_problems import peer_rays

    times: dict[str, list[float]] = {key: [] for key in _COLUMNS}

    def timed(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        start = time.perf_counter()
        answer = function(*arguments)
        times[name].append(1e3 * (time.perf_counter() - start))
        return answer

    for problem in problems:
        rays = peer_rays(problem.after.normals, problem.after.friction)
        cone = WrenchCone.of_rays(problem.after.points, rays)
        cost = QuadraticCost.towards(problem.start)
        region = timed("region", equilibrium_region, cone)
        timed("QP (13)", transition_by_loads, cone, problem.reach, cost)
        timed("QP (6)", transition_by_region, region, problem.reach, cost)

        def plan(p: Any = problem, cost: Any = cost) -> Any:
            own = WrenchCone.of_rays(p.after.points, peer_rays(p.after.normals, p.after.friction))
            point = transition_by_loads(own, p.reach, cost)
            zero = p.start * 0.0
            return Bezier.between((p.start, zero, zero), point.point[None], (p.goal, zero, zero), 8.0)

        timed("transition", plan)
        sequence, reach = problem.sequence()
        for name, options in (("plan_com", PlanOptions()), ("dynamic", PlanOptions(dynamic=True))):
            timed(name, partial(plan_com, sequence, reach, options=options))
    return times


def _run_peer(peer: Path, problems: dict[str, Any]) -> dict[str, Any]:
    """Run the peer in its own environment; its libraries are found by LD_LIBRARY_PATH only."""
    script = Path(__file__).with_name("com_peer.py")
    root = peer.absolute().parent.parent
    libraries = [str(path) for path in root.glob("lib/python3.*/site-packages/cmeel.prefix/lib")]
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "_ROS_WHEELS"))}
    environment["LD_LIBRARY_PATH"] = os.pathsep.join(libraries)
    with tempfile.TemporaryDirectory() as folder:
        problem_file, answer_file = Path(folder) / "problems.json", Path(folder) / "answers.json"
        problem_file.write_text(json.dumps(problems), encoding="utf-8")
        command = [str(peer), str(script), str(problem_file), str(answer_file)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode or not answer_file.is_file():
            last = (done.stderr.strip().splitlines() or ["no output"])[-1]
            raise MultiQpError(f"--peer-python: the peer failed: {last}; it needs {_HOW_TO_INSTALL}")
        answers: dict[str, Any] = json.loads(answer_file.read_text(encoding="utf-8"))
        return answers


def _faster(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Return the first results with the smaller of both times."""
    constraints = [min(pair) for pair in zip(first["constraints"], second["constraints"], strict=True)]
    transitions = {
        key: [(a[0], min(a[1], b[1]), min(a[2], b[2])) for a, b in zip(values, second["transitions"][key], strict=True)]
        for key, values in first["transitions"].items()
    }
    return {**first, "constraints": constraints, "transitions": transitions}


def _peer_times(theirs: dict[str, Any]) -> dict[str, list[float]]:
    times = {f"transition, {key}": [found[1] for found in values] for key, values in theirs["transitions"].items()}
    solution = [found[2] for found in theirs["transitions"]["double description"]]
    return {"constraints": theirs["constraints"], "solution, double description": solution, **times}


def _grouped(numbers: list[int], times: dict[str, list[float]]) -> dict[str, dict[str, dict[str, float]]]:
    return {
        key: {
            str(n): spread([t for m, t in zip(numbers, values, strict=False) if m == n]) for n in sorted(set(numbers))
        }
        for key, values in times.items()
    }


def _times(numbers: list[int], ours: dict[str, list[float]], theirs: dict[str, Any] | None) -> list[BenchTable]:
    mine = _grouped(numbers, ours)
    columns = {title: mine[key] for key, title in _COLUMNS.items()}
    note = f"no peer: {_HOW_TO_INSTALL}" if theirs is None else ""
    tables = [_by_number("Contact break: median times by the number of remaining contacts, ms", numbers, columns, note)]
    if theirs is not None:
        peer = _grouped(numbers, _peer_times(theirs))
        columns = {
            "cone": peer["constraints"],
            "its QP": peer["solution, double description"],
            "contacts to curve": peer["transition, double description"],
            "with forces": peer["transition, force"],
        }
        note = (
            "the same contacts, reach and ends; the best of 3 runs, alternating with ours. The peer's curves satisfy "
            "(1) in 4 s per phase, ours pass near a static point or, if dynamic, satisfy (1) in the shortest time; "
            "with forces: as variables instead of cone facets"
        )
        tables.append(_by_number("The same by hpp-bezier-com-traj, ms", numbers, columns, note))
    return tables


def _by_number(
    title: str, numbers: list[int], columns: dict[str, dict[str, dict[str, float]]], note: str
) -> BenchTable:
    rows = [[str(n), *(_shown(column[str(n)]) for column in columns.values())] for n in sorted(set(numbers))]
    return BenchTable(title, ("contacts", *columns), rows, note)


def _shown(times: dict[str, float]) -> str:
    return f"{times['median']:.3f}" if times["count"] else "-"


def _agreement(queries: list[Any], robustness: list[float | None]) -> tuple[BenchTable, dict[str, int]]:
    from com_trajectory.equilibrium import equilibrium_region

    counts = {"tested": len(queries), "agree": 0, "at the boundary": 0, "no answer from the peer": 0, "differ": 0}
    for query, theirs in zip(queries, robustness, strict=True):
        cone = query.contacts.cone()
        violation = cone.violation(cone.wrench(query.com, query.acceleration))
        if theirs is None:
            counts["no answer from the peer"] += 1
        elif (theirs > 0.0) == (violation <= 1e-9):
            counts["agree"] += 1
        elif abs(theirs) <= _BOUNDARY or 0.0 < violation <= _BOUNDARY:
            counts["at the boundary"] += 1
        elif not query.acceleration.any() and abs(equilibrium_region(cone).margin(query.com)) <= _BOUNDARY:
            counts["at the boundary"] += 1
        else:
            counts["differ"] += 1
    rows = [[name, str(value)] for name, value in counts.items()]
    return BenchTable(
        "Equilibrium tests compared with hpp-centroidal-dynamics", ("contact sets", "number"), rows
    ), counts


def _sequence_times() -> dict[str, dict[str, float]]:
    from com_trajectory.kinematics import load_polytopes
    from com_trajectory.planner import PlanOptions, plan_com
    from multi_qp_scene.contact_sequence import ContactSequence
    from multi_qp_scene.sequence_file import load_contact_sequence

    plan = load_contact_sequence("level_walking")
    sequence = ContactSequence(plan.phases[:10], plan.models, plan.name)
    robot = load_polytopes(next(iter(plan.models.values())), allow_stale=True)  # only times are measured
    polytopes = {name: effector.polytope for name, effector in robot.effectors.items()}
    found = {}
    for name, options in {
        "empirical timing": PlanOptions(timing="empirical"),
        "feasible timing": PlanOptions(),
        "polyline": PlanOptions(curve="polyline", timing="empirical"),
    }.items():
        plan_com(sequence, polytopes, options=options)
        times = []
        for _ in range(_SEQUENCES):
            start = time.perf_counter()
            plan_com(sequence, polytopes, options=options)
            times.append(1e3 * (time.perf_counter() - start))
        found[name] = {**spread(times), "least": min(times)}
    return found


def _draw(figure: Any, data: dict[str, Any]) -> None:
    axes = figure.subplots()
    series = {"ours: " + key: value for key, value in data["times_ms"].items()}
    series |= {"peer: " + key: value for key, value in data.get("peer_times_ms", {}).items()}
    for name, by_count in series.items():
        numbers = [int(n) for n in by_count]
        style = "--" if name.startswith("peer") else "-"
        axes.plot(
            numbers, [by_count[str(n)].get("median", float("nan")) for n in numbers], style, marker="o", label=name
        )
    axes.set(xlabel="remaining contacts", ylabel="median time [ms]", yscale="log")
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize=8)
