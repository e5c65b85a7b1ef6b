"""Solution of the problems of `multi-qp bench com` by hpp-centroidal-dynamics and hpp-bezier-com-traj.

Runs in a separate environment without this project. Usage: python com_peer.py PROBLEMS.json ANSWERS.json
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import hpp_bezier_com_traj as bezier
import hpp_centroidal_dynamics as centroidal
import numpy as np

ALGORITHM = centroidal.EquilibriumAlgorithm
RAYS = 4


def _equilibrium(problem: dict[str, Any], algorithm: Any) -> Any:
    # a weight of 1 N makes the robustness comparable to our margins
    equilibrium = centroidal.Equilibrium("peer", 1.0 / 9.81, RAYS)
    points, normals = np.array(problem["points"]), np.array(problem["normals"])
    if not equilibrium.setNewContacts(points, normals, problem["friction"], algorithm):
        return None
    return equilibrium


def verdicts(problems: list[dict[str, Any]]) -> list[float | None]:
    """Return the robustness of each: positive in equilibrium; None if the solver failed."""
    answers = []
    for problem in problems:
        equilibrium = _equilibrium(problem, ALGORITHM.EQUILIBRIUM_ALGORITHM_LP)
        com, acceleration = np.array(problem["com"]), np.array(problem["acceleration"])
        status, robustness = equilibrium.computeEquilibriumRobustness(com, acceleration)
        answers.append(float(robustness) if status == centroidal.LP_status.LP_STATUS_OPTIMAL else None)
    return answers


def constraints(problems: list[dict[str, Any]]) -> list[float]:
    """Return the time of the double description of each problem [ms]."""
    times = []
    for problem in problems:
        start = time.perf_counter()
        _equilibrium(problem, ALGORITHM.EQUILIBRIUM_ALGORITHM_PP)
        times.append(1e3 * (time.perf_counter() - start))
    return times


def _transition(problem: dict[str, Any], representation: Any, algorithm: Any) -> tuple[bool, float, float]:
    start = time.perf_counter()
    flags = bezier.ConstraintFlag
    data = bezier.ProblemData()
    data.c0_, data.c1_ = np.array(problem["c0"]), np.array(problem["c1"])
    data.dc0_ = data.ddc0_ = data.dc1_ = data.ddc1_ = np.zeros(3)
    data.useAngularMomentum_ = False
    data.costFunction_ = bezier.CostFunction.DISTANCE_TRAVELED
    data.GIWCrepresentation_ = representation
    ends = (flags.INIT_POS, flags.INIT_VEL, flags.INIT_ACC, flags.END_POS, flags.END_VEL, flags.END_ACC)
    data.constraints_.flag_ = sum(int(flag) for flag in ends) + int(flags.ONE_FREE_VAR)
    references = []  # the library does not keep the objects alive
    for phase in problem["phases"]:
        equilibrium = _equilibrium(phase, algorithm)
        if equilibrium is None:
            return False, 1e3 * (time.perf_counter() - start), 0.0
        contact = bezier.ContactData(equilibrium)
        contact.setKinematicConstraints(np.array(phase["K"]), np.array(phase["k"]))
        references.append((equilibrium, contact))
        data.addContact(contact)
    middle = time.perf_counter()
    result = bezier.computeCOMTraj(data, np.array(problem["durations"]), -1.0)
    end = time.perf_counter()
    return bool(result.success), 1e3 * (end - start), 1e3 * (end - middle)


def transitions(problems: list[dict[str, Any]]) -> dict[str, list[tuple[bool, float, float]]]:
    """Return success, total time and solution time [ms], by representation of (1)."""
    double, force = bezier.GIWCRepresentation.DOUBLE_DESCRIPTION, bezier.GIWCRepresentation.FORCE
    return {
        "double description": [_transition(p, double, ALGORITHM.EQUILIBRIUM_ALGORITHM_PP) for p in problems],
        "force": [_transition(p, force, ALGORITHM.EQUILIBRIUM_ALGORITHM_LP) for p in problems if p["small"]],
    }


def main() -> None:
    """Solve the problems of one file."""
    with open(sys.argv[1], encoding="utf-8") as file:
        problems = json.load(file)
    answers = {
        "verdicts": verdicts(problems["verdicts"]),
        "constraints": constraints(problems["constraints"]),
        "transitions": transitions(problems["transitions"]),
    }
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump(answers, file)


if __name__ == "__main__":
    main()
