"""Motions that are made again while they are carried out: continuity, a target that moves, checkpoints, errors."""

from pathlib import Path

import numpy as np
import pytest
from standing_behaviour import STANDING

from contact_invariant.timed_plan import TimedPlan
from motion_generation.synthesised_states import synthesise_scenario
from multi_qp_controller.controller import Controller
from multi_qp_controller.motion_generator import GeneratorInput
from multi_qp_ros.parameters import load
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import load_scenario
from multi_qp_simulator.runner import run_scenario

SCENARIO = (
    "description: a humanoid shifts its weight to a target that moves\ndt: 0.01"
    + STANDING
    + """
  effectors: {left_foot: {surface: left_sole}, right_foot: {surface: right_sole}}
  terms: [{type: stand, feet: [left_foot, right_foot], weight: 0.3}, {type: position, target: [0.0, 0.0]}]
  online: {speed: 0.2, moves: [{time: 0.2, by: [0.04, 0.0]}]}
"""
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("replanning")
    (folder / "shift.yaml").write_text(SCENARIO)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield synthesise_scenario(load_scenario(str(folder / "shift.yaml"))).scenario


def given(controller, generator, time):
    kinematics = controller.kinematics
    return generator.update(GeneratorInput(time, 0.01, kinematics, None))


@pytest.fixture(scope="module")
def played(made):
    """Outputs of the generator just before and after the end of the first phase, at which the motion is made again."""
    controller = Controller(made)
    generator = controller.generator("motion")
    generator.start(GeneratorInput(0.0, 0.01, controller.kinematics, None))
    step = 1e-5
    outputs = [given(controller, generator, time) for time in (0.3 - step, 0.3, 0.3 + step)]
    return controller, generator, outputs, step


def test_the_motion_is_made_again(made, played):
    _, generator, _, _ = played
    (replan,) = generator.replans
    assert replan.time == pytest.approx(0.3) and replan.refused == ""
    assert generator.goal.tolist() == pytest.approx([0.04, 0.0])
    first = TimedPlan.load(Path(made.spec.states["motion"].generators["motion"].file))
    assert 0.005 < generator.plan.x[-1, 0] - first.x[-1, 0] < 0.06, "it leads towards the target that has moved"


def test_references_do_not_jump(played):
    """Position and velocity are continuous where the next window begins."""
    _, _, (before, at, _), step = played
    assert before.references.keys() >= {"com", "trunk", "posture"}
    for name in ("com", "posture"):
        old, new = (output.references[name].reshape(-1, 3) for output in (before, at))
        assert np.abs(new[:, 0] - old[:, 0] - step * old[:, 1]).max() < 1e-6, name
        assert np.abs(new[:, 1] - old[:, 1]).max() < 1e-3, name
    moved = at.references["trunk"][12:18] - before.references["trunk"][12:18]  # velocities
    assert np.abs(moved).max() < 1e-3
    np.testing.assert_allclose(at.references["trunk"][:12], before.references["trunk"][:12], atol=1e-4)
    assert before.contacts == at.contacts


def test_a_checkpoint_continues_the_window(made, played):
    _, generator, (_, _, after), _ = played
    other = Controller(made)
    copy = other.generator("motion")
    copy.set_state(generator.get_state())
    output = given(other, copy, 0.3 + 1e-5)
    assert output.contacts == after.contacts
    for name, numbers in after.references.items():
        np.testing.assert_allclose(output.references[name], numbers, atol=1e-6)


def test_it_is_carried_out(made):
    result = run_scenario(made)
    assert result.succeeded and result.report["qp_failures"] == 0


def test_ros_nodes_refuse_it(made):
    settings = {"scenario": str(made.path), "set": "", "seed": 0}
    with pytest.raises(MultiQpError, match="are not made in real time; `multi-qp run shift` waits for them"):
        load(settings)


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("target: [0.0, 0.0]}", "target: [0.0, 0.0], phase: 1}", "one term `position` with x and y"),
        ("  phases: 2", "  refine: true\n  phases: 2", "are not refined"),
    ],
)
def test_a_wrong_behaviour_is_refused(tmp_path, old, new, message):
    assert old in SCENARIO
    (tmp_path / "shift.yaml").write_text(SCENARIO.replace(old, new))
    with pytest.raises(MultiQpError, match=message):
        load_scenario(str(tmp_path / "shift.yaml"))


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["integrator", "mujoco"])
def test_a_target_that_jumps_is_reached(backend, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = synthesise_scenario(load_scenario("walk_to_moving"))
    assert made.passed
    result = run_scenario(made.scenario, backend=backend)
    assert result.succeeded and result.report["qp_failures"] == 0
