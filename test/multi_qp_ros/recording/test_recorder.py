"""Recorder: effect on the control loop, and readability of what was written."""

from __future__ import annotations

import copy
import json
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
from multi_qp_ros.recording import Bag, BagRecorder, Replay
from multi_qp_ros.recording.codec import decode_arrays, encode_json
from multi_qp_ros.recording.replay import same_bits
from multi_qp_scene import load_scenario
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scene import State
from multi_qp_simulator import Integrator

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
        assert same_bits(tick, Replay(bag, 0).step(tick).command)


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
    bags = BagRecorder(tmp_path / "slow.mcap", scenario, backend="test", blocking=False)
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


def tick_until(holds, bags: BagRecorder, controller: Controller, world: Integrator) -> None:
    """ReplayedTick the initial state again and again, until something holds."""
    bags.attach(controller)
    ticks, end = 0, time.monotonic() + 120.0
    while not holds():
        assert time.monotonic() < end
        bags(controller, controller.step(world.state, 0.005 * ticks))
        ticks += 1


def test_a_killed_writer_is_reported_at_once_and_the_run_continues(tmp_path) -> None:
    scenario, errors = load_scenario("box"), []
    controller, world = Controller(scenario), Integrator(scenario)
    bags = BagRecorder(tmp_path / "dead.mcap", scenario, backend="test", on_error=errors.append)
    tick_until(lambda: bags.written > 50, bags, controller, world)
    ticks = bags.offered
    bags.process.kill()
    bags.process.wait()
    bags(controller, controller.step(world.state, 1.0))
    assert (
        len(errors) == 1 and "has ended, the run goes on: the process that writes it ended with status -9" in errors[0]
    )
    bags(controller, controller.step(world.state, 1.0))
    with pytest.raises(MultiQpError, match=r"cannot write '.*dead.mcap': the process that writes it ended with"):
        bags.close()
    assert len(errors) == 1
    assert bags.offered == ticks + 2 and 50 < bags.written <= ticks
    with Bag(tmp_path / "dead.mcap") as bag:
        assert not bag.complete and sum(1 for _ in bag.heads()) == bags.written == bags.offered - bags.lost
    bags.close()  # once is enough


def test_a_stalled_writer_blocks_a_blocking_recorder_for_a_limited_time(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("multi_qp_ros.recording.recorder._PIPE", 1 << 16)
    scenario, errors = load_scenario("box"), []
    controller, world = Controller(scenario), Integrator(scenario)
    bags = BagRecorder(tmp_path / "stalled.mcap", scenario, backend="test", on_error=errors.append)
    tick_until(lambda: bags.written, bags, controller, world)
    os.kill(bags.process.pid, signal.SIGSTOP)
    monkeypatch.setattr("multi_qp_ros.recording.recorder.LONGEST_WAIT", 0.5)
    monkeypatch.setattr("multi_qp_ros.recording.recorder.LONGEST_QUEUE", 20)
    tick_until(lambda: errors, bags, controller, world)
    assert "has taken nothing for 0.5 s" in errors[0]
    with pytest.raises(MultiQpError, match=f"has taken nothing for 0.5 s; {bags.written} of {bags.offered} ticks"):
        bags.close()
    assert bags.process.returncode is not None
    with Bag(tmp_path / "stalled.mcap") as bag:
        assert sum(1 for _ in bag.heads()) == bags.written == bags.offered - bags.lost


def test_a_full_disk_ends_the_recording_and_not_the_run() -> None:
    scenario = load_scenario("box")
    controller, world = Controller(scenario), Integrator(scenario)
    bags = BagRecorder(Path("/dev/full"), scenario, backend="test")
    bags.attach(controller)
    for tick in range(5):
        command = controller.step(world.state, tick * controller.dt)
        bags(controller, command)
        world.step(command, controller.dt)
    with pytest.raises(MultiQpError, match="cannot write '/dev/full': No space left on device; 0 of 5 ticks are in it"):
        bags.close()


def test_a_full_disk_is_reported_and_the_run_continues() -> None:
    scenario, errors = load_scenario("box"), []
    controller, world = Controller(scenario), Integrator(scenario)
    bags = BagRecorder(Path("/dev/full"), scenario, backend="test", on_error=errors.append)
    tick_until(lambda: errors, bags, controller, world)
    assert errors == ["the recording '/dev/full' has ended, the run goes on: No space left on device"]
    with pytest.raises(MultiQpError, match="No space left on device; 0 of"):
        bags.close()
    assert bags.lost == bags.offered > 0


FULL = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))  # as a disk that is full after so many bytes of a file
from multi_qp_cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def test_a_disk_that_becomes_full_is_reported_and_all_ticks_are_counted(tmp_path) -> None:
    """By the console, the exit status, the report; the recording is good up to there, and other files are written."""
    names = {"record": "run.mcap", "log": "run.npz", "report": "run.json", "still": "run.png"}
    outputs = [text for option, name in names.items() for text in (f"--{option}", name)]
    run = ["run", "box", "--headless", "--dt", "0.005", "--duration", "3", *outputs]
    ended = subprocess.run(
        [sys.executable, "-c", FULL, *run],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 2, ended.stderr
    report = json.loads((tmp_path / "run.json").read_text("utf-8"))
    found = report["recording"]
    assert found["failure"] == "File too large" and found["ticks"] + found["lost"] == report["ticks"] == 600
    with Bag(tmp_path / "run.mcap") as bag:
        assert sum(1 for _ in bag.heads()) == found["ticks"] > 20
        tick = bag.tick(0.1)
        assert same_bits(tick, Replay(bag, 0).step(tick).command)
    lines = ended.stderr.splitlines()
    assert f"cannot write 'run.mcap': File too large; {found['ticks']} of 600 ticks are in it" in ended.stderr
    assert "multi-qp: cannot write 'run.npz': File too large" in lines
    assert "Traceback" not in ended.stderr
    assert f"{found['ticks']} of 600 ticks are in run.mcap" in ended.stdout
    assert (tmp_path / "run.png").is_file()


def test_measured_states_and_inputs_of_ticks_are_recorded(tmp_path) -> None:
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
    again = decode_arrays(json.loads(encode_json(data)))
    for found, expected in zip(again["arrays"], arrays, strict=True):
        assert found.tobytes() == np.ascontiguousarray(expected).tobytes() and found.shape == expected.shape
    assert again["number"] == 0.1 + 0.2 and again["scalar"] == data["scalar"] and again["text"] == "τ"
    with pytest.raises(TypeError, match="cannot be recorded"):
        encode_json({"task": object()})
