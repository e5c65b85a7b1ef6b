"""One recorded run of `box`, and its ticks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from multi_qp_controller import Controller
from multi_qp_controller.command import Command
from multi_qp_controller.controller_state import TickInput
from multi_qp_ros.recording import BagRecorder
from multi_qp_scene import load_scenario
from multi_qp_scene.scenario import Scenario
from multi_qp_simulator.runner import Run, make_backend

DT = 0.02


@dataclass(frozen=True)
class Recorded:
    """A bag, and the ticks that it should hold."""

    path: Path
    scenario: Scenario
    ticks: list[tuple[TickInput, Command]]


def record(
    path: Path, scenario: Scenario, duration: float, *, dt: float | None = None, **settings
) -> list[tuple[TickInput, Command]]:
    """Record a run and return its ticks."""
    ticks: list[tuple[TickInput, Command]] = []

    def keep(controller: Controller, command: Command) -> None:
        assert controller.last_input is not None
        ticks.append((controller.last_input, command))

    controller = Controller(scenario, dt=dt, **settings)
    recorder = BagRecorder(path, scenario, backend="integrator")
    recorder.attach(controller)
    Run(
        scenario, controller, make_backend("integrator", scenario), duration=duration, observers=[recorder, keep]
    ).execute()
    recorder.close()
    return ticks


@pytest.fixture(scope="session")
def recorded(tmp_path_factory) -> Recorded:
    path = tmp_path_factory.mktemp("bag") / "box.mcap"
    scenario = load_scenario("box", parameters={"path.duration": 2.0}, seed=3)
    return Recorded(path, scenario, record(path, scenario, 5.5, dt=DT))


@pytest.fixture(scope="session")
def make_recording():
    return record
