"""Computing time of the whole framework in the planned scenes: `python benchmarks/framework_times.py stairs chair`.

Plans the contacts of each scene, then the curve of the centre of mass with the states that follow it, and runs them in
the integrator. Prints a Markdown table of CPU times, the planning in a second run, after compilation.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import process_time
from typing import TypeVar

from motion_generation.planning import carried_out, goals_of, make_planner
from motion_generation.turns import turn_planner, with_turns
from multi_qp_cli.main import exit_status
from multi_qp_scene.scenario import Scenario, load_scenario
from multi_qp_simulator.run_monitor import succeeded
from multi_qp_simulator.runner import run_scenario

#: Scenario and parameters of each row.
SCENES: dict[str, tuple[str, dict[str, float]]] = {
    "stairs": ("stairs", {}),
    "uneven_stairs": ("uneven_stairs", {}),
    "slope": ("slope", {}),
    "climb": ("climb", {}),
    "climb_hands": ("climb_hands", {}),
    "rubble": ("rubble", {}),
    "causeway": ("causeway", {}),
    **{f"chair, room {room}": ("chair", {"room": room}) for room in (1, 2, 3)},
    "twister": ("twister", {}),
}
COLUMNS = ("scene", "motion [s]", "contacts [s]", "curve and states [s]", "whole body [s]", "per second of motion [s]")
Result = TypeVar("Result")


def main() -> int:
    """Print the table; return 1 if a run failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", nargs="*", help=f"of {', '.join(SCENES)}; their beginnings suffice (all by default)")
    wanted = tuple(parser.parse_args().scenes) or ("",)
    chosen = [name for name in SCENES if name.startswith(wanted)]
    if not chosen:
        parser.error(f"unknown scenes {', '.join(wanted)} (scenes: {', '.join(SCENES)})")
    print("| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|", flush=True)
    return 0 if all([_row(name) for name in chosen]) else 1


def _row(name: str) -> bool:
    scene, parameters = SCENES[name]
    scenario = load_scenario(scene, parameters=parameters)
    _planned(scenario)  # compiles
    states, contacts, curve = _planned(scenario)
    report, whole_body = _timed(lambda: run_scenario(states, backend="integrator").report)
    motion = report["sim_time"]
    cells = [f"{motion:.1f}", f"{contacts:.2f}", f"{curve:.2f}", f"{whole_body:.1f}"]
    share = (contacts + curve + whole_body) / motion
    well = succeeded(report)
    print("| " + " | ".join([name, *cells, f"{share:.2f}" if well else f"{share:.2f} (failed)"]) + " |", flush=True)
    return well


def _planned(scenario: Scenario) -> tuple[Scenario, float, float]:
    """Return the scenario with its states, and the CPU times of the contacts and of the rest [s]."""
    if scenario.spec.turns is not None:
        planner, count = turn_planner(scenario), scenario.spec.turns.count
        sequence, contacts = _timed(lambda: planner.plan(count))
        states, curve = _timed(lambda: with_turns(scenario, sequence))
        return states, contacts, curve
    planner, goals = make_planner(scenario), goals_of(scenario)
    plan, contacts = _timed(lambda: planner.plan(goals))
    states, curve = _timed(lambda: carried_out(scenario, plan))
    return states, contacts, curve


def _timed(function: Callable[[], Result]) -> tuple[Result, float]:
    began = process_time()
    return function(), process_time() - began


if __name__ == "__main__":
    raise SystemExit(exit_status("framework_times.py", main))
