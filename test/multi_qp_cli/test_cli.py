"""Tests of the command line: output, files and exit status, by calls or in separate processes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from multi_qp_cli.main import COMMANDS, main
from multi_qp_cli.report_view import _goals
from multi_qp_scene.resources import scenario_names

ROOT = Path(__file__).parents[2]

STANDING = """\
description: a humanoid that stands
parameters:
  hold: {default: 0.1, min: 0, max: 100, unit: s, description: for how long}
dt: 0.01
duration: 100
subsystems:
  humanoid: {model: humanoid, place: {surfaces: [left_sole, right_sole], onto: ground/floor}}
environment:
  ground: {model: ground}
contacts:
  left: {surfaces: [humanoid/left_sole, ground/floor]}
  right: {surfaces: [humanoid/right_sole, ground/floor]}
tasks:
  posture: {type: posture, subsystem: humanoid}
initial_state: only
states:
  only: {contacts: [left, right], hold: "${hold}"}
goals:
  stays: {type: pose, frame: humanoid/torso, target: initial, tolerance: 0.05}
"""


@pytest.fixture
def standing(tmp_path, monkeypatch) -> Path:
    """Return the file of a short scenario, in the working directory."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "standing.yaml"
    path.write_text(STANDING)
    return path


@pytest.fixture
def multi_qp(capsys):
    """Return a function that runs a command line in this process: exit status, standard output, standard error."""

    def run(*arguments: str) -> tuple[int, str, str]:
        try:
            status = main(arguments)
        except SystemExit as end:
            status = int(end.code or 0)
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


def environment() -> dict[str, str]:
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "PYTHONUNBUFFERED": "1"}


def start(*arguments: str, cwd: Path, program: Sequence[str] = ("-m", "multi_qp_cli")) -> subprocess.Popen[str]:
    """Start `python -m multi_qp_cli` in a separate process."""
    command = [sys.executable, *program, *arguments]
    return subprocess.Popen(
        command,
        cwd=cwd,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_restore_sigint,
    )


def _restore_sigint() -> None:
    """Restore the handler of SIGINT, which background jobs of a shell ignore."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def wait_for(process: subprocess.Popen[str], pattern: str) -> str:
    """Read standard error until a pattern matches, and return the match."""
    assert process.stderr is not None
    text = ""
    while (found := re.search(pattern, text)) is None:
        line = process.stderr.readline()
        assert line, f"ended with {process.wait()}: {text}"
        text += line
    return found[0]


def finish(process: subprocess.Popen[str], timeout: float = 60.0) -> tuple[int, str, str]:
    try:
        out, err = process.communicate(timeout=timeout)
    finally:
        process.kill()
    return process.returncode, out, err


@pytest.mark.parametrize("arguments", [[], ["list"], ["check"], ["run"], ["robustness"]])
def test_help(arguments, multi_qp):
    status, out, err = multi_qp(*arguments, "--help")
    assert (status, err) == (0, "")
    assert out.startswith("usage: multi-qp") and "%%" not in out
    options = ("--headless", "--backend", "--solver", "--formulation", "--dt", "--duration", "--report", "--log")
    options += ("--video", "--seed", "--set")
    assert arguments != ["run"] or all(option in out for option in options)


def test_version(multi_qp):
    status, out, _ = multi_qp("--version")
    assert status == 0 and out.startswith("multi-qp ")


def test_list_prints_one_line_per_scenario(multi_qp):
    status, out, err = multi_qp("list")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert [line.split()[0] for line in lines] == scenario_names(), "also where it is no terminal of some width"
    (box,) = [line for line in lines if line.startswith("box ")]
    assert "takes a box between two flat hands" in box and "box.mass=3.0" in box


def test_check_prints_the_contents_of_a_scenario(standing, multi_qp):
    status, out, err = multi_qp("check", "standing.yaml")
    assert (status, err) == (0, "")
    assert out.startswith("standing: valid; 1 subsystems, 36 degrees of freedom, 30 actuated, 2 contacts,")
    assert [line.split(":")[0] for line in out.splitlines()[1:]] == [
        "  surface humanoid/left_sole",
        "  surface humanoid/right_sole",
    ]


@pytest.mark.parametrize("scenario", ["box", "stairs_plan"])
def test_check_neither_plans_nor_compiles(scenario, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "multi_qp_cli", "check", scenario],
        env=environment() | {"NUMBA_CACHE_DIR": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and done.stdout.startswith(f"{scenario}: valid; "), done.stderr
    assert not list(tmp_path.rglob("*.nbc")), "kernels were compiled"


def test_run_writes_report_and_log_and_prints_a_summary(standing, multi_qp):
    arguments = ["run", "standing.yaml", "--headless", "--report", "r.json", "--log", "l.npz", "--seed", "3"]
    status, out, err = multi_qp(*arguments, "--set", "hold=0.2")
    assert (status, err) == (0, "")
    assert "standing: goals reached; completed" in out and "reached" in out
    report = json.loads(standing.with_name("r.json").read_text(), parse_constant=pytest.fail)
    assert report["completed"] and report["seed"] == 3 and report["parameters"] == {"hold": 0.2}
    assert report["sim_time"] == pytest.approx(0.21)
    with np.load(standing.with_name("l.npz"), allow_pickle=False) as log:
        assert len(log["time"]) == report["ticks"] == 21


def test_status_is_1_if_goals_are_not_reached(standing, multi_qp):
    standing.write_text(STANDING.replace("target: initial", "target: [5, 0, 0]"))
    status, out, _ = multi_qp("run", "standing.yaml", "--headless", "--report", "r.json")
    assert status == 1
    assert "goals not reached; completed" in out
    report = json.loads(standing.with_name("r.json").read_text())
    assert report["completed"] and not report["goals"]["stays"]["reached"]


def test_a_goal_that_is_not_reached_says_at_what(capsys):
    goal = {"value": "strike: left_hand", "target": None, "error": 0.04, "tolerance": 0.03, "reached": False}
    free = goal | {"value": "strike: velocity", "tolerance": None, "reached": True}
    Console().print(_goals({"task_distance": goal, "upright": goal | {"value": 0.2}, "task_speed": free}))
    first, second, third = (line.split() for line in capsys.readouterr().out.splitlines()[1:4])
    assert first == ["task_distance", "0.04", "0.03", "not", "reached:", "strike:", "left_hand"]
    assert second == ["upright", "0.04", "0.03", "not", "reached"]
    assert third == ["task_speed", "0.04", "not", "bounded:", "strike:", "velocity"]


def test_status_is_1_if_the_duration_is_too_short(standing, multi_qp):
    status, out, _ = multi_qp("run", "standing.yaml", "--headless", "--duration", "0.05")
    assert status == 1
    assert "the duration of 0.05 s is over" in out


def test_options_reach_the_run(standing, multi_qp):
    options = ["--dt", "0.02", "--solver", "quadprog", "--formulation", "full", "--backend", "integrator"]
    status, _, _ = multi_qp("run", "standing.yaml", "--headless", "--report", "r.json", *options)
    assert status == 0
    report = json.loads(standing.with_name("r.json").read_text())
    assert (report["dt"], report["solver"], report["formulation"]) == (0.02, "quadprog", "full")
    assert report["backend"] == "integrator"


REFUSED = {
    "--dt 0": "--dt: expected a positive number of seconds, got 0",
    "--dt nan": "--dt: expected a positive number of seconds, got nan",
    "--dt inf": "--dt: expected a positive number of seconds, got inf",
    "--dt -0.01": "--dt: expected a positive number of seconds, got -0.01",
    "--dt fast": "argument --dt: invalid float value: 'fast'; see multi-qp run --help",
    "--duration 0": "--duration: expected a positive number of seconds, got 0",
    "--duration nan": "--duration: expected a positive number of seconds, got nan",
    "--seed -1": "--seed: expected 0 or above, got -1",
    "--seed x": "argument --seed: invalid int value: 'x'; see multi-qp run --help",
    "--solver nonsense": "--solver: unknown solver 'nonsense' (solvers: active_set, daqp, eiquadprog, piqp, ",
    "--solver dakp": "--solver: unknown solver 'dakp'; did you mean 'daqp'? (solvers: ",
    "--formulation rubbish": "--formulation: unknown formulation 'rubbish' (formulations: ",
    "--backend nonsense": "--backend: unknown backend 'nonsense' (backends: integrator",
    "--report no/r.json": "--report: the folder 'no' does not exist",
    "--report .": "--report: '.' is a folder, expected a file",
    "--log l.txt": "--log: expected a file ending in .npz, got 'l.txt'",
    "--video v.avi": "--video: expected a file ending in .mp4 or .gif, got 'v.avi'",
    "--video v.mp4 --size big": "--size: expected WIDTHxHEIGHT, as 960x540, got 'big'",
    "--fps 0": "--fps: expected a positive number, got 0",
    "--speed nan": "--speed: expected a positive number, got nan",
    "--port 99999": "--port: expected a number from 0 to 65535, got 99999",
    "--set hold": "--set: expected NAME=VALUE, got 'hold'",
    "--set hold=long": "--set hold: expected a number, got 'long'",
    "--set hold=200": "standing.yaml:3: parameters.hold: 200 s is outside [0, 100] s",
    "--set holt=1": "standing.yaml:2: parameters: unknown parameter 'holt'; did you mean 'hold'? (parameters: hold)",
    "--nonsense": "unrecognized arguments: --nonsense; see multi-qp --help",
    "--head": "unrecognized arguments: --head; see multi-qp --help",
}


@pytest.mark.parametrize("options", REFUSED)
def test_invalid_options_give_one_line(options, standing, multi_qp):
    status, out, err = multi_qp("run", "standing.yaml", "--headless", *options.split())
    assert status == 2 and out == ""
    (line,) = err.splitlines()
    assert REFUSED[options] in line
    assert re.match(r"multi-qp( run)?: ", line)
    assert sorted(path.name for path in standing.parent.iterdir()) == ["standing.yaml"], "nothing was written"


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["run"], ["check"], ["check", "a", "b"]])
def test_invalid_commands_give_one_line(arguments, multi_qp):
    status, out, err = multi_qp(*arguments)
    assert (status, out) == (2, "")
    assert len(err.splitlines()) == 1 and "--help" in err


def test_write_error_of_the_report_is_printed_after_the_run(standing, multi_qp, monkeypatch):
    def full(*_args, **_options):
        raise OSError(28, "No space left on device", "r.json")

    monkeypatch.setattr(Path, "write_text", full)
    status, out, err = multi_qp("run", "standing.yaml", "--headless", "--report", "r.json")
    assert status == 2
    assert "goals reached" in out, "the summary is printed despite the error"
    assert err == "multi-qp: cannot write 'r.json': No space left on device\n"


def test_python_m_runs_the_command(standing):
    listing, broken = start("list", cwd=standing.parent), standing.with_name("broken.yaml")
    broken.write_text(STANDING.replace("subsystem: humanoid", "subsystem: humanoit").replace("dt: 0.01", "dt: 0"))
    wrong = start("run", "broken.yaml", "--headless", cwd=standing.parent)
    status, out, err = finish(listing)
    assert (status, err) == (0, "") and len(out.splitlines()) == len(scenario_names())
    status, out, err = finish(wrong)
    assert (status, out) == (2, "")
    assert err.splitlines() == [
        "multi-qp: 2 problems:",
        "broken.yaml:4: dt: expected a positive number of at most 0.5, got 0",
        "broken.yaml:14: tasks.posture.subsystem: unknown subsystem 'humanoit'; did you mean 'humanoid'? "
        "(subsystems: humanoid)",
    ]


def test_closed_pipe_is_no_error(standing):
    script = f"{sys.executable} -m multi_qp_cli list | true"
    ended = subprocess.run(
        ["sh", "-c", script], cwd=standing.parent, env=environment(), capture_output=True, text=True, timeout=60
    )
    assert "Traceback" not in ended.stderr


# `multi-qp` with a message after the first ticks, so that it is not interrupted during imports or warm-up.
ANNOUNCED = """
import sys
from multi_qp_cli.main import main
from multi_qp_simulator.runner import Run

tick, done = Run._tick, []

def announced(run):
    command = tick(run)
    done.append(1)
    if len(done) == 3:
        print("running", file=sys.stderr, flush=True)
    return command

Run._tick = announced
sys.exit(main(sys.argv[1:]))
"""


def test_ctrl_c_ends_a_headless_run_and_writes_its_outputs(standing):
    """Status 1, no traceback, and report and log of the ticks so far."""
    process = start(
        *["run", "standing.yaml", "--headless", "--set", "hold=90", "--dt", "0.001"],
        *["--report", "r.json", "--log", "l.npz"],
        cwd=standing.parent,
        program=("-c", ANNOUNCED),
    )
    wait_for(process, "running")
    process.send_signal(signal.SIGINT)
    status, out, err = finish(process)
    assert status == 1, err
    assert "Traceback" not in err and "Exception" not in err
    assert "stopped by the user" in out
    report = json.loads(standing.with_name("r.json").read_text())
    assert report["ended"] == "stopped by the user" and report["ticks"] > 0
    assert standing.with_name("l.npz").is_file()


def test_the_viewer_serves_its_page_until_ctrl_c(standing):
    arguments = ["run", "standing.yaml", "--set", "hold=90", "--port", "0"]
    process = start(*arguments, cwd=standing.parent, program=("-c", ANNOUNCED))
    try:
        url = wait_for(process, r"http://\S+")
        with urllib.request.urlopen(url, timeout=30) as page:
            assert page.status == 200
            assert b"<html" in page.read().lower()
        wait_for(process, "running")
    finally:
        process.send_signal(signal.SIGINT)
    status, out, err = finish(process)
    assert status == 1, "it was stopped before its end"
    assert "Traceback" not in err and "Exception" not in err, err
    assert "stopped by the user" in out


def test_ctrl_c_before_the_first_tick_gives_no_traceback(standing):
    process = start("run", "standing.yaml", "--port", "0", cwd=standing.parent)
    wait_for(process, r"http://\S+")
    process.send_signal(signal.SIGINT)
    status, _, err = finish(process)
    assert status == 1
    assert "Traceback" not in err and "Exception" not in err, err


def test_the_help_imports_no_command_and_no_scene():
    """Otherwise it takes seconds: numba and pinocchio alone take one."""
    script = """
import sys
from multi_qp_cli.main import COMMANDS, main
try:
    main(["--help"])
except SystemExit:
    print(*(name for name in ("numpy", "numba", "pinocchio") if name in sys.modules), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr.split() == []
    assert all(summary.split()[0] in done.stdout for summary in COMMANDS.values())


def test_a_benchmark_refuses_a_scenario_in_one_line():
    script = ROOT / "benchmarks" / "trot.py"
    ended = subprocess.run([sys.executable, script, "nosuch"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr.startswith("trot.py: unknown scenario 'nosuch'") and ended.stderr.count("\n") == 1
