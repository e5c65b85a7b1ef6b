"""Runs according to the options of `multi-qp run`, and their snapshots."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace

from multi_qp_controller.command import Command
from multi_qp_controller.controller import Controller
from multi_qp_controller.snapshot import Snapshot
from multi_qp_controller.take_snapshot import take_snapshot
from multi_qp_scene.scenario import Scenario
from multi_qp_simulator.runner import Observer, Run, make_backend, make_controller

#: Snapshots for the viewer and for videos [1/s].
SNAPSHOT_RATE = 50.0


def make_run(scenario: Scenario, options: argparse.Namespace, *, real_time: bool) -> Run:
    """Return a run with a controller of its own; in real time a user is present.

    Raises:
        MultiQpError: when an option does not fit the scenario, or the scenario cannot start.
    """
    controller = make_controller(
        scenario, options.backend, dt=options.dt, solver=options.solver, formulation=options.formulation
    )
    return Run(
        scenario,
        controller,
        make_backend(options.backend, scenario),
        backend_name=options.backend,
        duration=options.duration,
        real_time=real_time,
        interactive=real_time,
    )


def every(rate: float, run: Run, consume: Callable[[Snapshot], None]) -> Observer:
    """Return an observer that takes snapshots of the simulated state, `rate` per second of simulated time."""
    ticks = max(1, round(1.0 / (rate * run.controller.dt)))
    count = 0

    def observe(controller: Controller, command: Command) -> None:
        nonlocal count
        if count % ticks == 0:
            consume(replace(take_snapshot(controller, command), q=run.backend.state.q.copy()))
        count += 1

    return observe
