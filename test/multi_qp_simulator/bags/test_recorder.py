"""The recorder stays out of the tick's way, and what it has written survives."""

from __future__ import annotations

import copy
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from mcap_ros2.reader import read_ros2_messages

from multi_qp_cli.main import main
from multi_qp_controller import Controller
from multi_qp_scene import load_scenario
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scene import State
from multi_qp_simulator import Integrator
from multi_qp_simulator.bags import Bag, BagRecorder, Replay
from multi_qp_simulator.bags.codec import decode_json, encode_json
from multi_qp_simulator.bags.replay import same_bits

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("both", [False, True], ids=["the run", "the run and who writes"])
def test_a_killed_run_can_be_read_and_replayed(tmp_path, both) -> None:
    path = tmp_path / "killed.mcap"
    arguments = ["-m", "multi_qp_cli", "run", "box", "--headless", "--dt", "0.02", "--record", str(path)]
    process = subprocess.Popen(
        [sys.executable, *arguments], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        until(lambda: path.exists() and path.stat().st_size > 200_000)
        writers = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text("utf-8").split()
        assert len(writers) == 1
        if both:
            os.kill(int(writers[0]), signal.SIGKILL)
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.wait()
    until(lambda: not Path(f"/proc/{writers[0]}").exists() or "(zombie)" in status(writers[0]))
    with Bag(path) as bag:
        assert bag.complete is not both
        times = [head.time for head in bag.heads()]
        assert len(times) > 20
        np.testing.assert_allclose(np.diff(times), 0.02, atol=1e-9)
        tick = bag.tick(times[-1])
        assert same_bits(tick, Replay(bag, 0).answer(tick).command)


def until(holds) -> None:
    end = time.monotonic() + 120.0
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def status(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/status").read_text("utf-8")
    except OSError:
        return "(zombie)"


def test_writing_is_not_in_the_tick(tmp_path) -> None:
    """A writer that does not answer holds no tick up: what finds no room is counted."""
    scenario = load_scenario("box")
    controller, world = Controller(scenario), Integrator(scenario)
    bags = BagRecorder(tmp_path / "slow.mcap", scenario, backend="test", patient=False)
    os.kill(bags.process.pid, signal.SIGSTOP)
    bags.attach(controller)
    command = controller.step(world.state, 0.0)
    for _ in range(1000):
        controller.last_input = copy.deepcopy(controller.last_input)  # else most of it is passed on but once
        bags(controller, command)
    assert 0 < bags.lost <= 500  # besides those that wait, the pipe has room for some
    os.kill(bags.process.pid, signal.SIGCONT)
    bags.close()
    with Bag(tmp_path / "slow.mcap") as bag:
        assert sum(1 for _ in bag.heads()) == 1000 - bags.lost


def test_a_writer_that_dies_is_told_of_at_the_end(tmp_path) -> None:
    scenario = load_scenario("box")
    controller, world = Controller(scenario), Integrator(scenario)
    bags = BagRecorder(tmp_path / "dead.mcap", scenario, backend="test")
    bags.process.kill()
    bags.process.wait()
    bags.attach(controller)
    bags(controller, controller.step(world.state, 0.0))
    with pytest.raises(MultiQpError, match=r"cannot write '.*dead.mcap': the process that writes it ended with"):
        bags.close()
    bags.close()  # once is enough


def test_a_full_disk_ends_the_recording_and_not_the_run(tmp_path) -> None:
    scenario = load_scenario("box")
    controller, world = Controller(scenario), Integrator(scenario)
    bags = BagRecorder(Path("/dev/full"), scenario, backend="test")
    bags.attach(controller)
    for tick in range(5):
        command = controller.step(world.state, tick * controller.dt)
        bags(controller, command)
        world.step(command, controller.dt)
    with pytest.raises(MultiQpError, match="cannot write '/dev/full': No space left"):
        bags.close()


def test_states_are_told_as_they_were_measured_and_ticks_as_they_were_given(tmp_path) -> None:
    """By the wall clock a tick answers the state that will be when its answer acts."""
    scenario = load_scenario("lever")
    controller, path = Controller(scenario), tmp_path / "predicted.mcap"
    recorder = BagRecorder(path, scenario, backend="test")
    recorder.attach(controller)
    measured = scenario.scene.initial_state()
    ahead = State(measured.q, measured.v + 0.01)
    recorder.record(controller, controller.step(ahead, 0.0), 5, measured=measured)
    recorder.record(controller, controller.step(measured, 0.005), 6)
    recorder.close()
    with Bag(path) as bag:
        np.testing.assert_array_equal(bag.tick(0.0).given.state.v, ahead.v)
    messages = [m for m in read_ros2_messages(path) if m.channel.topic.endswith("/joint_states")]
    assert {m.log_time_ns for m in messages} == {5, 6}
    for message in messages:
        np.testing.assert_array_equal(message.ros_msg.velocity, np.zeros(len(message.ros_msg.name)))


def test_runs_of_one_file_are_counted(tmp_path) -> None:
    scenario = load_scenario("box")
    bags = BagRecorder(tmp_path / "runs.mcap", scenario, backend="test")
    bags.attach(Controller(scenario))  # never ticks
    for ticks in (8, 4):
        controller, world = Controller(scenario, dt=0.01 * ticks), Integrator(scenario)
        bags.attach(controller)
        for tick in range(ticks):
            bags(controller, controller.step(world.state, 0.01 * ticks * tick))
    bags.close()
    with Bag(tmp_path / "runs.mcap") as bag:
        assert [recording["dt"] for recording in bag.recordings] == [0.08, 0.04]
        assert [head.run for head in bag.heads()] == [0] * 8 + [1] * 4
        assert bag.tick(0.08).run == 1, "the last that was as long"
        assert bag.tick(0.08, run=0).run == 0
        assert bag.tick(0.56).run == 0
        with pytest.raises(MultiQpError, match=r"0 s to 0.56 s in run 0; 0 s to 0.12 s in run 1"):
            bag.tick(7.0)


def test_recording_changes_nothing_and_the_option_is_checked(tmp_path, capsys) -> None:
    logs = []
    for name, more in (("with", ["--record", str(tmp_path / "a.mcap")]), ("without", [])):
        log = tmp_path / f"{name}.npz"
        main(["run", "box", "--headless", "--dt", "0.02", "--duration", "0.6", "--log", str(log), *more])
        with np.load(log) as data:
            logs.append({key: data[key].tobytes() for key in ("q", "v", "tau", "contact_wrench")})
    assert logs[0] == logs[1]
    capsys.readouterr()
    assert main(["run", "box", "--record", str(tmp_path / "a.bag")]) == 2
    assert "expected a file ending in .mcap" in capsys.readouterr().err
    assert main(["run", "box", "--headless", "--record", str(tmp_path / "no" / "a.mcap")]) == 2
    assert "does not exist" in capsys.readouterr().err


def test_json_keeps_every_digit() -> None:
    random = np.random.default_rng(1)
    arrays = [
        random.standard_normal((3, 4)) * 10.0 ** random.integers(-300, 300, (3, 4)),
        np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324]),
        np.zeros((0, 3)),
        np.asfortranarray(random.standard_normal((3, 3))),
    ]
    data = {"arrays": arrays, "number": 0.1 + 0.2, "scalar": arrays[0][0, 0], "nothing": None, "text": "τ"}
    again = decode_json(encode_json(data))
    for found, expected in zip(again["arrays"], arrays, strict=True):
        assert found.tobytes() == np.ascontiguousarray(expected).tobytes() and found.shape == expected.shape
    assert again["number"] == 0.1 + 0.2 and again["scalar"] == data["scalar"] and again["text"] == "τ"
    with pytest.raises(TypeError, match="cannot be recorded"):
        encode_json({"task": object()})
