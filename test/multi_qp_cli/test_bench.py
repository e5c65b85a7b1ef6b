"""Tests of `multi-qp bench`: consistency of the figures, and refusal of invalid options."""

from __future__ import annotations

import json

import numpy as np
import pinocchio as pin
import pytest

from multi_qp_cli.benches.crowd import load_chain
from multi_qp_cli.benches.modal import scaled_pushes
from multi_qp_cli.benches.qp_growth import measure_growth
from multi_qp_cli.benches.qp_infeasible import measure_infeasible
from multi_qp_cli.benches.qp_scenes import SceneTimes
from multi_qp_cli.benches.qp_tsid import measure_single
from multi_qp_cli.benches.result import spread
from multi_qp_cli.main import main
from multi_qp_simulator.runner import run_scenario


def test_spread_of_times():
    found = spread([1.0, 2.0, 3.0, 4.0, 100.0])
    assert found["count"] == 5
    assert (found["median"], found["iqr"], found["max"]) == (3.0, 2.0, 100.0)
    assert spread([]) == {"count": 0}


def test_bench_of_a_scene(tmp_path, capsys):
    data, plot = tmp_path / "bench.json", tmp_path / "bench.png"
    arguments = ["bench", "--scene", "lever", "--solver", "daqp", "--solver", "quadprog", "--ticks", "40"]
    assert main([*arguments, "--samples", "2", "--repeats", "2", "--json", str(data), "--plot", str(plot)]) == 0
    assert plot.stat().st_size > 1000
    scene = json.loads(data.read_text())["scenes"]["lever"]
    assert scene["tick_ms"]["count"] == 30
    own = scene["tick_own_ms"]
    assert (own["runs"], own["count"]) == (2, 30)
    assert own["max"] <= scene["tick_cpu_ms"]["max"]
    assert own["median"] <= scene["tick_cpu_ms"]["median"]
    solves = {(entry["formulation"], entry["solver"], entry["start"]): entry for entry in scene["solves"]}
    assert {("reduced", "daqp", "warm"), ("full", "quadprog", "cold")} <= set(solves)
    for entry in solves.values():
        assert entry["failures"] == 0
        assert entry["ms"]["count"] == 2
        assert entry["difference"] < 1e-6
    assert "quadprog" in capsys.readouterr().out


def test_bench_of_walking(tmp_path, capsys):
    data = tmp_path / "bench.json"
    assert main(["bench", "walking", "--walk-scene", "walk", "--seconds", "1.8", "--json", str(data)]) == 0
    parts = json.loads(data.read_text())["scenes"]["walk"]
    assert parts["generator"]["count"] == parts["tick"]["count"] == 340  # without the first 20
    assert 50 < parts["preview"]["count"] <= 340  # while it steps
    assert parts["preview"]["median"] < parts["generator"]["median"] < parts["tick"]["median"]
    assert "preview" in capsys.readouterr().out


def test_bench_of_modal_control(tmp_path, capsys):
    data = tmp_path / "bench.json"
    assert (
        main(
            [
                "bench",
                "modal",
                "--window",
                "12",
                "--push",
                "0",
                "--steps",
                "40",
                "--tick-seconds",
                "0.3",
                "--json",
                str(data),
            ]
        )
        == 0
    )
    found = json.loads(data.read_text())
    rows, ticks = found["tracking"], found["ticks"]["swing, window 12"]
    assert ticks["generator"]["count"] == ticks["tick"]["count"] == 40  # without the first 20
    assert ticks["generator"]["median"] < ticks["tick"]["median"]
    assert all(6 <= low <= high <= 20 for low, high in (row["low_modes"] for row in rows))
    assert {row["weights"] for row in rows} == {"as printed", "W3 = 0.001", "feed-forward"}
    assert all(row["fallen"] is None and row["unsolved"] == 0 and row["worst_m"] < 0.05 for row in rows)
    assert all(sum(row["parts_ms"].values()) < row["step_ms"] and len(row["parts_ms"]) == 3 for row in rows)
    assert "a step" in capsys.readouterr().out.replace("\n", " ")


def test_bench_of_other_modes_and_of_a_bar(tmp_path):
    data = tmp_path / "bench.json"
    common = ["bench", "modal", "--window", "12", "--steps", "30", "--json", str(data)]
    assert main([*common, "--first-mode", "0", "--first-mode", "10"]) == 0
    rows = json.loads(data.read_text())["modes"]
    assert [row["first"] for row in rows] == [0, 10, 0, 10] and all(row["turned_rad"] < 0.5 for row in rows)
    assert main([*common, "--bar-ahead", "0.15"]) == 0
    rows = {row["weights"]: row for row in json.loads(data.read_text())["bar"]}
    assert rows["W3 = 0.001"]["worst_m"] < rows["feed-forward"]["worst_m"] and rows["feed-forward"]["moved_m"] > 0.0
    assert main([*common, "--bar-ahead", "2"]) == main([*common, "--first-mode", "-1"]) == 2
    assert main([*common, "--low-window", "0"]) == 2


def test_bench_of_a_walk_in_the_linear_simulation(tmp_path):
    data = tmp_path / "bench.json"
    arguments = [
        "--motion",
        "walk",
        "--window",
        "12",
        "--push",
        "0",
        "--steps",
        "200",
        "--tick-seconds",
        "0",
        "--json",
        str(data),
    ]
    assert main(["bench", "modal", *arguments]) == 0
    (row,) = (row for row in json.loads(data.read_text())["tracking"] if row["weights"] == "W3 = 0.001")
    assert row["motion"] == "walk" and row["fallen"] is None and row["worst_m"] < 0.05


@pytest.mark.slow
def test_bench_of_a_jump_into_a_swing_in_the_linear_simulation(tmp_path):
    data = tmp_path / "bench.json"
    form = ["--motion", "jump_to_swing", "--window", "24", "--low-window", "8", "--unit-modes", "--keep-momentum"]
    arguments = [*form, "--tick-seconds", "0", "--json", str(data)]
    assert main(["bench", "modal", *arguments]) == 0
    rows = {row["weights"]: row for row in json.loads(data.read_text())["tracking"]}
    assert rows["W3 = 0.001"]["fallen"] is None and rows["W3 = 0.001"]["worst_m"] < 0.12


def test_bench_of_edits_in_the_linear_simulation(tmp_path, capsys):
    data = tmp_path / "bench.json"
    common = ["bench", "modal-edits", "--unit-modes", "--steps", "20", "--json", str(data)]
    assert main([*common, "--edit", "stride +10 cm"]) == 0
    (row,) = json.loads(data.read_text())["edits"]
    assert row["unit_modes"] and not row["keep_momentum"] and row["fallen"] is None and row["worst_m"] < 0.01
    assert main([*common, "--push", "0"]) == main([*common, "--body-mass", "0"]) == 2
    errors = capsys.readouterr().err
    assert "nothing to run" in errors and "--body-mass: expected 1 to 1000 kg" in errors


def test_pushes_are_scaled_to_the_same_change_of_velocity():
    assert scaled_pushes([0.0, 75.0, 250.0], 78.0) == pytest.approx([37.5, 125.0])
    assert scaled_pushes([75.0], None) == [75.0]


def test_bench_of_random_families(tmp_path, capsys):
    data = tmp_path / "families.json"
    assert main(["bench", "--families", "28", "--solver", "daqp", "--json", str(data)]) == 0
    measured = json.loads(data.read_text())["families"]["daqp"]
    assert len(measured["verdicts"]) == 28
    assert all(sum(counts.values()) == 1 and counts["wrong"] == 0 for counts in measured["verdicts"].values())
    assert "more equalities than unknowns" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ["--scene", "kingdom"],
        ["--solver", "osqp"],
        ["--samples", "0"],
        ["--repeats", "0"],
        ["--families", "0"],
        ["--families", "28", "--solver", "osqp"],
        ["--json", "figures.txt"],
        ["qqp"],
    ],
)
def test_invalid_options_are_refused(arguments, capsys):
    try:
        status = main(["bench", *arguments])
    except SystemExit as exit_:
        status = exit_.code
    assert status == 2
    assert "Traceback" not in capsys.readouterr().err


def test_chain_of_humanoids_stands(tmp_path):
    """The scenario is valid, hand contacts do not slip, and the humanoids stay upright."""
    scenario = load_chain(3, tmp_path)
    result = run_scenario(scenario, duration=0.5)
    assert len(scenario.scene.subsystems) == 3
    assert result.report["qp_failures"] == 0
    assert result.report["worst"]["contact_slip_m"] < 1e-4
    model, data = scenario.scene.model, scenario.scene.model.createData()
    before, after = (pin.centerOfMass(model, data, q).copy() for q in (scenario.scene.q0, result.log.q[-1]))
    assert np.linalg.norm(after - before) < 0.05


def test_infeasible_ticks_are_compared_with_regular_ticks():
    found = measure_infeasible(times=2)
    assert found["NaN"]["answers"] == {"fallback": 2}
    for kind, figures in found.items():
        assert sum(figures["answers"].values()) == 2
        assert "solved" not in figures["answers"], kind
        assert 0.0 < figures["recognised_ms"] <= figures["slowest_ms"]
        assert figures["tick_ms"] == found["NaN"]["tick_ms"] > 0.0


def test_own_time_of_a_tick_is_its_minimum_over_the_runs():
    times = SceneTimes("door", 38, cpu=[1.0, 5.0, 2.0], again=[[3.0, 1.0, 2.0], [2.0, 2.0, 1.0]])
    assert times.own() == [1.0, 1.0, 1.0]


def test_own_time_is_independent_of_a_slower_cpu():
    fast, slow = [1.0, 3.0, 1.0, 1.0, 4.0], [2.0, 6.0, 2.0, 2.0, 6.0]
    own = SceneTimes("door", 38, cpu=slow, again=[fast, fast]).own()
    assert own == [1.0, 3.0, 1.0, 1.0, 3.0]


def test_tsid_has_the_same_solution():
    single = measure_single(ticks=60)
    assert single["acceleration_difference"] < 1e-4
    assert single["torque_difference"] < 1e-4
    assert min(single["ours_ms"]["median"], single["tsid_ms"]["median"]) > 0.0


def test_growth_exponent():
    growth = measure_growth([1, 4, 5])
    assert list(growth["ms"]) == ["1", "4", "5"]
    (low, high), ratio = (growth["ms"][n]["median"] for n in ("4", "5")), np.log(5 / 4)
    assert growth["exponent"] == pytest.approx(np.log(high / low) / ratio)


def test_bench_of_limbs_that_meet_obstacles(tmp_path, capsys):
    data = tmp_path / "bench.json"
    assert main(["bench", "upper_body", "--upper-body-seconds", "1", "--json", str(data)]) == 0
    scenes = json.loads(data.read_text())["scenes"]
    assert set(scenes) == {"bag", "thicket"}
    for parts in scenes.values():
        assert parts["generator"]["count"] == parts["tick"]["count"] == 180  # without the first 20
        assert 0.0 < parts["generator"]["median"] < parts["tick"]["median"]
    assert "thicket" in capsys.readouterr().out


def test_bench_of_modal_runs_refuses_pushes_that_are_none(capsys):
    assert main(["bench", "modal-runs", "--modal-push=-5"]) == 2
    assert "--modal-push: expected 0 to 10000 N" in capsys.readouterr().err


def test_bench_of_modal_runs_has_plates_in_mujoco_only(capsys):
    assert main(["bench", "modal-runs", "--modal-plate", "0.02"]) == 2
    assert "--modal-plate: needs --modal-backend mujoco" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("landing", ["touch", "motion"])
def test_bench_of_modal_runs_walks_over_a_plate_by_force_and_by_clock(landing, tmp_path):
    file = tmp_path / "runs.json"
    options = ["--modal-scene", "walk_motion", "--modal-backend", "mujoco", "--modal-push", "0", "--no-edits"]
    options += ["--modal-plate", "0.02", "--modal-landing", landing, "--json", str(file)]
    assert main(["bench", "modal-runs", *options]) == 0
    (row,) = json.loads(file.read_text())["scenes"]["walk_motion"]
    assert row["case"] == "plate 2 cm" and row["stands"] and row["failed_qps"] == 0
    assert 0.005 < row["slip_m"] < 0.05  # soles come to rest across its edges


@pytest.mark.slow
def test_bench_of_modal_runs_compares_pushes_with_what_planted_feet_hold(tmp_path, capsys):
    file = tmp_path / "runs.json"
    arguments = ["--modal-scene", "squat", "--modal-push", "150", "--json", str(file)]
    assert main(["bench", "modal-runs", *arguments]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert len([line for line in lines if line.startswith("squat, integrator: 150 N ")]) == 4
    rows = json.loads(file.read_text())["scenes"]["squat"]
    assert [row["case"] for row in rows] == ["150 N ahead", "150 N left", "150 N back", "150 N right"]
    for row in rows:
        assert 90.0 < row["planted_hold_N"] < 130.0
        assert row["stands"] and row["failed_qps"] == 0 and "step" in row["states"]
