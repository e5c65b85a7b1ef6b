"""Report of a run, as written by `--report`."""

from __future__ import annotations

from typing import Any

import numpy as np

from multi_qp_controller.command import Command, Status
from multi_qp_controller.contacts.contact_gap import contact_gap, within_tolerance
from multi_qp_controller.controller import Controller
from multi_qp_scene.pairs import body_pair_count
from multi_qp_scene.scenario import Scenario


class ReportBuilder:
    """Tick statistics of a run, and its report at the end.

    Attributes:
        failures_in_a_row: ticks since the QP was last solved as stated.
        unexplained: whether the current failure has no explanation yet.
    """

    def __init__(self, scenario: Scenario, controller: Controller, backend: str) -> None:
        self._scenario = scenario
        self._controller = controller
        self._backend = backend
        self._tick_ms: list[float] = []
        self._post_update_ms: list[float] = []
        self._failures = 0
        self._relaxed = 0
        self._reduced = 0
        self._given_up: dict[str, dict[str, Any]] = {}
        self._size = {"variables": 0, "equalities": 0, "inequalities": 0}
        self._points = {"planar": 0, "grasp": 0, "point": 0}
        self._counted: set[str] = set()
        self._contacts_made: list[dict[str, Any]] = []
        self._missing: dict[str, dict[str, Any]] = {}
        self._contacts_missed: list[dict[str, Any]] = []
        self._continued = {piece.unknown_part_of for piece in scenario.spec.environment.values()}
        self._failure: dict[str, Any] | None = None
        self.failures_in_a_row = 0
        self.unexplained = True

    def count(self, command: Command) -> None:
        """Add one tick."""
        diagnostics = command.diagnostics
        self._tick_ms.append(diagnostics.tick_ms)
        self._post_update_ms.append(diagnostics.post_update_ms)
        # a QP without a solution as stated counts as failed, even if relaxed limits helped
        failed = diagnostics.status.failed
        self._failures += failed
        self._relaxed += diagnostics.status is Status.RELAXED
        self._reduced += diagnostics.status is Status.REDUCED
        self.failures_in_a_row = self.failures_in_a_row + 1 if failed else 0
        for name in diagnostics.given_up:
            first = {"time": command.time, "state": diagnostics.state, "ticks": 0}
            self._given_up.setdefault(name, first)["ticks"] += 1
        for name in self._size:
            self._size[name] = max(self._size[name], getattr(diagnostics, name))
        contacts = self._controller.contacts
        self._note_missing(command)
        if contacts.keys() != self._counted:
            self._note_new(command)
            self._counted = set(contacts)
            self._count_points()

    def _note_new(self, command: Command) -> None:
        """Store gap, angle and speed of the contacts that this tick has made, and whether they are open.

        Pieces with `unknown_part_of` continue a surface, the controller does not know how far.
        """
        forces = self._controller.measured_forces
        for name, contact in self._controller.contacts.items():
            if name not in self._counted:
                gap = contact_gap(contact.first, contact.second, contact.X_second_first)
                self._contacts_made.append(
                    {
                        "contact": name,
                        "state": command.diagnostics.state,
                        "time": command.time,
                        "gap_m": gap.distance,
                        "angle_rad": gap.angle,
                        "speed": float(np.linalg.norm(contact.motion.twist[:3])),
                        "open": not (
                            within_tolerance(self._scenario, name, gap)
                            or forces.get(name, 0.0) > 0.0
                            or contact.second.name.partition("/")[0] in self._continued
                        ),
                    }
                )

    def _note_missing(self, command: Command) -> None:
        """Store the planned contacts that end without having been made."""
        missing = {name for one in self._controller.generators.values() for name in one.missing()}
        for name in [name for name in self._missing if name not in missing]:
            missed = self._missing.pop(name)
            if name not in self._controller.contacts:  # it has not landed late
                self._contacts_missed.append(missed)
        for name in missing:
            first = {"contact": name, "state": command.diagnostics.state, "time": command.time}
            self._missing.setdefault(name, first)["until"] = command.time

    def _count_points(self) -> None:
        points = dict.fromkeys(self._points, 0)
        for contact in self._controller.contacts.values():
            points[contact.first.kind] += len(contact.first.points)
        self._points = {kind: max(count, points[kind]) for kind, count in self._points.items()}

    def explain(self, controller: Controller, command: Command) -> None:
        """Store the explanation of the first failing tick: the infeasible subset of rows."""
        explanation = controller.explain_failure()
        diagnostics = command.diagnostics
        self._failure = {
            "time": command.time,
            "state": diagnostics.state,
            "status": str(diagnostics.status),
            "message": diagnostics.message,
            "relaxed": [{"row": row, "slack": slack, "unit": unit} for row, (slack, unit) in diagnostics.slack.items()],
        }
        if explanation is not None:
            self._failure |= {"unreconciled": explanation.to_dict()}
        self.unexplained = False

    def report(
        self,
        *,
        ended: str,
        waited_for: str | None,
        sim_time: float,
        wall_time: float,
        worst: dict[str, float],
        touches: list[dict[str, Any]],
        goals: dict[str, dict[str, Any]],
    ) -> dict[str, Any]:
        """Return the report as plain data."""
        scenario, scene, controller = self._scenario, self._scenario.scene, self._controller
        return {
            "scenario": scenario.name,
            "backend": self._backend,
            "solver": controller.solver_name,
            "formulation": controller.formulation_name,
            "seed": scenario.seed,
            "parameters": scenario.parameters,
            "completed": ended == "completed",
            "ended": ended,
            "waited_for": waited_for,
            "sim_time": sim_time,
            "ticks": len(self._tick_ms),
            "dt": controller.dt,
            "subsystems": len(scene.subsystems),
            "dofs": scene.nv,
            "actuated_dofs": scene.na,
            "planar_contact_points": self._points["planar"],
            "grasp_contact_points": self._points["grasp"],
            "collision_pairs": body_pair_count(controller.collisions.watched),
            "qp": dict(self._size),
            "tick_ms": _spread(self._tick_ms),
            "settling_ms": _spread(self._post_update_ms),
            "realtime_factor": sim_time / wall_time,
            "contacts_made": self._contacts_made,
            "contacts_missed": [*self._contacts_missed, *self._missing.values()],
            "states_visited": list(controller.machine.visited),
            "qp_failures": self._failures,
            "relaxed_ticks": self._relaxed,
            "reduced_ticks": self._reduced,
            "given_up": self._given_up,
            "failure": self._failure,
            "worst": worst,
            "touches": touches,
            "goals": goals,
        }


def _spread(milliseconds: list[float]) -> dict[str, float]:
    times = np.array(milliseconds or [0.0])
    return {
        "min": float(times.min()),
        "median": float(np.median(times)),
        "p99": float(np.percentile(times, 99)),
        "max": float(times.max()),
    }
