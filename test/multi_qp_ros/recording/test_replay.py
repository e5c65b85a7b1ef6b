"""Replay of recorded ticks to the last bit from the recording alone, and with other solvers and settings."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from multi_qp_cli.main import main
from multi_qp_controller.qp import QPProblem
from multi_qp_ros.recording import Bag, Replay
from multi_qp_ros.recording.replay import same_bits
from multi_qp_scene import load_scenario
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.resources import scenario_path


@pytest.fixture(scope="module")
def bag(recorded):
    with Bag(recorded.path) as opened:
        yield opened


@pytest.fixture(scope="module")
def replay(bag) -> Replay:
    return Replay(bag, 0)


@given(data=st.data())
@settings(max_examples=15)
def test_any_tick_comes_out_the_same(recorded, bag, replay, data) -> None:
    given_, command = recorded.ticks[data.draw(st.integers(0, len(recorded.ticks) - 1), label="tick")]
    tick = bag.tick(given_.time)
    assert tick.given.time == given_.time
    assert tick.given.state.q.tobytes() == given_.state.q.tobytes()
    again = replay.step(tick).command
    assert same_bits(tick, again)
    assert again.tau.tobytes() == command.tau.tobytes()
    assert again.a.tobytes() == command.a.tobytes()
    for name, wrench in command.wrenches.items():
        assert again.wrenches[name].tobytes() == wrench.tobytes()


@pytest.mark.parametrize(
    ("name", "dt", "duration"),
    [("door", 0.02, 3.0), ("walk", 0.01, 2.0), pytest.param("king", None, 2.5, marks=pytest.mark.slow)],
)
def test_other_scenes_too(name, dt, duration, tmp_path, make_recording) -> None:
    ticks = make_recording(tmp_path / "run.mcap", load_scenario(name), duration, dt=dt)
    with Bag(tmp_path / "run.mcap") as bag:
        replay = Replay(bag, 0)
        for given_, _ in ticks[:: len(ticks) // 8]:
            tick = bag.tick(given_.time)
            assert same_bits(tick, replay.step(tick).command)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["acrobats", "box", "door", "funambulist", "king", "lever", "sword", "valve"])
def test_every_scene(name, tmp_path, make_recording) -> None:
    ticks = make_recording(tmp_path / "run.mcap", load_scenario(name), 15.0)
    with Bag(tmp_path / "run.mcap") as bag:
        replay = Replay(bag, 0)
        for given_, _ in ticks[:: len(ticks) // 40]:
            tick = bag.tick(given_.time)
            assert same_bits(tick, replay.step(tick).command), given_.time


def test_a_computed_initial_configuration_is_recorded(tmp_path, make_recording) -> None:
    """Tasks on the posture "initial" depend on it; that of a followed contact sequence is in no file."""
    scenario = load_scenario("box")
    q = scenario.scene.q0.copy()
    q[scenario.scene.model.joints[scenario.scene.model.getJointId("humanoid/R_ELBOW_P")].idx_q] -= 0.1
    moved = replace(scenario, scene=scenario.scene.with_initial_configuration(q))
    ticks = make_recording(tmp_path / "run.mcap", moved, 0.2, dt=0.02)
    with Bag(tmp_path / "run.mcap") as bag:
        replay = Replay(bag, 0)
        assert replay.scenario.scene.q0.tobytes() == q.tobytes()
        for given_, _ in ticks:
            tick = bag.tick(given_.time)
            assert same_bits(tick, replay.step(tick).command)


@pytest.mark.parametrize(
    ("formulation", "solver"), [("condensed", "active_set"), ("reduced", "quadprog"), ("full", "daqp")]
)
def test_each_way_of_solving_is_repeated_and_agrees_with_the_others(
    formulation, solver, tmp_path, make_recording, bag, replay
) -> None:
    scenario = load_scenario("box", parameters={"path.duration": 2.0})
    ticks = make_recording(tmp_path / "run.mcap", scenario, 0.8, dt=0.02, formulation=formulation, solver=solver)
    with Bag(tmp_path / "run.mcap") as other:
        again = Replay(other, 0)
        for given_, _ in ticks[::7]:
            tick = other.tick(given_.time)
            assert same_bits(tick, again.step(tick).command)
    tick = bag.tick(4.0)
    otherwise = replay.step(tick, formulation=formulation, solver=solver).command
    np.testing.assert_allclose(otherwise.tau, tick.command["tau"], atol=1e-3)  # a trace of cost on Λ is not in all


def test_a_task_of_greater_weight_is_done_better(bag, replay) -> None:
    tick = bag.tick(4.0)
    as_it_was = replay.step(tick)
    heavier = replay.step(tick, settings={"balance.weight": 1e6})
    assert heavier.residuals["balance"] < 0.1 * as_it_was.residuals["balance"]
    assert not np.allclose(heavier.command.tau, as_it_was.command.tau)
    assert same_bits(tick, replay.step(tick).command), "nothing of it is left"


def test_a_parameter_of_the_scenario_can_be_another(bag, replay) -> None:
    tick = bag.tick(1.0)  # the box stands on the table
    table = replay.step(tick, settings={"box.mass": 5.0}).command.wrenches["box_on_table"]
    assert abs(table[2]) == pytest.approx(5.0 * 9.81, rel=1e-3)
    assert abs(tick.command["wrenches"]["box_on_table"][2]) == pytest.approx(3.0 * 9.81, rel=1e-3)


def test_active_limits_of_the_solution_are_named(bag, replay) -> None:
    named = {name for time in (3.4, 4.0, 5.0) for name in replay.step(bag.tick(time)).active}
    assert any(
        name.startswith(("collision", "friction cone", "torque limit", "joint limit", "balance")) for name in named
    )
    assert not any("root_joint" in name for name in named), "nothing limits a free base"


def test_a_scenario_names_its_files_each_time_it_is_loaded() -> None:
    """Also those that were read before in this process: a recording lacked them, and took this machine's."""
    first, second = (load_scenario("box").files for _ in range(2))
    assert first == second and any("templates" in file.parts for file in second)


def test_it_needs_none_of_the_files(tmp_path, make_recording) -> None:
    """A scenario and a model that were changed, or deleted, since: the bag has them as they were."""
    text = scenario_path("box").read_text(encoding="utf-8")
    data = yaml.safe_load(text)
    data["subsystems"]["box"]["model"] = "./my_box.yaml"
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "mine.yaml").write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    root = scenario_path("box").parents[2]
    shutil.copy(root / "config/models/box.yaml", mine / "my_box.yaml")
    ticks = make_recording(tmp_path / "run.mcap", load_scenario(mine / "mine.yaml"), 0.4, dt=0.02)
    (mine / "mine.yaml").write_text("description: quite another\n", encoding="utf-8")
    (mine / "my_box.yaml").unlink()
    with Bag(tmp_path / "run.mcap") as bag:
        tick = bag.tick(0.2)
        assert same_bits(tick, Replay(bag, 0).step(tick).command)
    assert ticks


@pytest.fixture(scope="module")
def failing(tmp_path_factory, make_recording) -> Path:
    """Return a bag in which the box is too heavy to lift."""
    path = tmp_path_factory.mktemp("failing") / "heavy.mcap"
    scenario = load_scenario("box", parameters={"box.mass": 200.0, "path.duration": 2.0})
    make_recording(path, scenario, 5.0, dt=0.02)
    return path


def test_a_failing_tick_names_the_rows_that_contradict_each_other(failing, tmp_path, capsys) -> None:
    with Bag(failing) as bag:
        first = next(head for head in bag.heads() if head.failed)
        tick = bag.tick(first.time)
        answer = Replay(bag, 0).step(tick)
        assert same_bits(tick, answer.command)
        later = bag.tick(first.time + 0.1)  # not the first of its failure: its own QP is explained
        assert later.failed
        of_later = Replay(bag, 0).step(later)
    assert answer.explanation is not None and of_later.explanation is not None
    assert any("limit" in member.row for member in answer.explanation.conflict)
    assert all(violation.slack > 0.0 and violation.unit for violation in answer.explanation.violated)
    saved = tmp_path / "qp.npz"
    assert main(["replay", str(failing), "--at", str(first.time), "--save-qp", str(saved)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "the same to the last bit" in shown and "in conflict: " in shown and "violated" in shown
    assert answer.problem is not None
    assert QPProblem.load(saved).H.tobytes() == answer.problem.H.tobytes()


def test_a_state_that_is_not_finite_is_repeated_too(tmp_path, make_recording) -> None:
    from multi_qp_controller import Controller
    from multi_qp_ros.recording import BagRecorder
    from multi_qp_scene.scene import State

    scenario = load_scenario("box")
    controller, recorder = Controller(scenario), BagRecorder(tmp_path / "nan.mcap", scenario, backend="test")
    recorder.attach(controller)
    state = scenario.scene.initial_state()
    for k, bad in enumerate((False, True, False)):
        v = np.where(np.arange(len(state.v)) == 9, np.nan if bad else 0.0, state.v)
        recorder(controller, controller.step(State(state.q, v), 0.1 * k))
    recorder.close()
    with Bag(tmp_path / "nan.mcap") as bag:
        replay, tick = Replay(bag, 0), bag.tick(0.1)
        assert tick.command["status"] == "fallback" and "not finite" in tick.command["message"]
        for time in (0.0, 0.1, 0.2):
            assert same_bits(bag.tick(time), replay.step(bag.tick(time)).command)


def test_another_version_is_refused_unless_wanted(bag, monkeypatch) -> None:
    monkeypatch.setattr("multi_qp_ros.recording.replay.project_version", lambda: "99.0.0")
    with pytest.raises(MultiQpError, match=r"recorded with version .* this is 99\.0\.0"):
        Replay(bag, 0)
    tick = bag.tick(1.0)
    assert same_bits(tick, Replay(bag, 0, other_version=True).step(tick).command)


def test_differences_from_the_recording_are_reported(bag, replay) -> None:
    assert replay.differences() == {}
    changed = replace_identity(replay, numpy="0.1")
    assert changed.differences()["numpy"][0] == "0.1"


def replace_identity(replay: Replay, **values: str) -> Replay:
    other = object.__new__(Replay)
    other.scenario = replay.scenario
    other.recording = {**replay.recording, "identity": {**replay.recording["identity"], **values}}
    return other


def test_the_command_line_shows_what_differs(recorded, capsys) -> None:
    assert main(["replay", str(recorded.path)]) == 0
    overview = capsys.readouterr().out
    assert "275 ticks of 20 ms" in overview and "close" in overview
    assert main(["replay", str(recorded.path), "--at", "4.0", "--set", "balance.weight=1", "--solver", "daqp"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "the same to the last bit" in shown
    for part in ("τ [N m]", "wrench on the first surface", "‖J q̈ − b‖", "as it was", "otherwise"):
        assert part in shown


def test_a_tick_with_another_result_is_reported_with_status_1(recorded, capsys, monkeypatch) -> None:
    from multi_qp_ros.recording.reader import Bag as Reader

    read = Reader.tick

    def tampered(self, time, *, run=None):
        tick = read(self, time, run=run)
        tau = tick.command["tau"].copy()
        tau[3] = np.nextafter(tau[3], np.inf)
        return replace(tick, command={**tick.command, "tau": tau})

    monkeypatch.setattr(Reader, "tick", tampered)
    assert main(["replay", str(recorded.path), "--at", "2.0"]) == 1
    assert "not the same" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (["--at", "99"], "no tick at 99 s; the bag holds 0 s to 5.48 s"),
        (["--at", "-1"], "no tick at -1 s"),
        (["--at", "1", "--run", "4"], "no run 4; there are 1"),
        (["--at", "1", "--solver", "magic"], "unknown solver 'magic'"),
        (["--at", "1", "--formulation", "magic"], "unknown formulation 'magic'"),
        (["--at", "1", "--set", "balance.wieght=2"], "did you mean 'balance.weight'"),
        (["--at", "1", "--set", "balance.weight=-2"], "expected 0 or more"),
        (["--at", "1", "--set", "balance.weight"], "expected NAME=VALUE"),
        (["--at", "1", "--set", "regularisation.magic=2"], "unknown cost 'magic'"),
        (["--at", "1", "--set", "box.mass=-2"], "is outside"),
        (["--at", "1", "--save-qp", "qp.npz"], "the QP of this tick has a solution"),
        (["--at", "1", "--save-qp", "qp.txt"], "expected a file ending in .npz"),
    ],
)
def test_mistakes_have_one_clear_message(recorded, arguments, reported, capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["replay", str(recorded.path), *arguments]) == 2
    error = capsys.readouterr().err
    assert reported in error and "Traceback" not in error


def test_files_that_are_not_recordings_of_this_project_are_refused(recorded, tmp_path, capsys) -> None:
    whole = recorded.path.read_bytes()
    files = {
        "missing.mcap": (None, "cannot be read: No such file"),
        "empty.mcap": (b"", "not an MCAP file"),
        "text.mcap": (b"time,q\n0,1\n" * 50, "not an MCAP file"),
        "stub.mcap": (whole[:400], "cut off before the first tick"),
    }
    for name, (data, reported) in files.items():
        if data is not None:
            (tmp_path / name).write_bytes(data)
        assert main(["replay", str(tmp_path / name), "--at", "1"]) == 2
        assert reported in capsys.readouterr().err, name
    assert main(["replay", str(tmp_path)]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_a_bag_of_other_software_is_refused(tmp_path, capsys) -> None:
    from mcap_ros2.writer import Writer

    with (tmp_path / "other.mcap").open("wb") as file:
        writer = Writer(file)
        writer.write_message(
            "/a", writer.register_msgdef("std_msgs/msg/String", "string data"), {"data": "b"}, log_time=0
        )
        writer.finish()
    assert main(["replay", str(tmp_path / "other.mcap")]) == 2
    assert "holds no recording of multi-qp" in capsys.readouterr().err


def test_a_cut_file_is_good_up_to_the_cut(recorded, tmp_path, capsys) -> None:
    whole = recorded.path.read_bytes()
    cut = tmp_path / "cut.mcap"
    cut.write_bytes(whole[: len(whole) * 2 // 3])
    assert main(["replay", str(cut)]) == 0
    assert "was not closed" in capsys.readouterr().out
    with Bag(cut) as bag:
        assert not bag.complete
        times = [head.time for head in bag.heads()]
        assert 50 < len(times) < 275
        tick = bag.tick(times[-1])
        assert same_bits(tick, Replay(bag, 0).step(tick).command)
    assert main(["replay", str(cut), "--at", "5.4"]) == 2
    assert "no tick at 5.4 s" in capsys.readouterr().err
