"""Figures of how `walk` looks at given speeds: stamping, jitter, arms, room between the legs, knees, feet.

python benchmarks/walking_figures.py 0.3 0.8
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_scene.arrays import Array
from multi_qp_scene.scenario import Scenario, load_scenario
from multi_qp_simulator.log import Log
from multi_qp_simulator.runner import Run, make_backend, make_controller
from walking.generator import WalkingGenerator

#: Time of a run, and from which on it is evaluated [s]; time after a touchdown in which its peak of force is [s].
DURATION, FROM, IMPACT = 10.0, 4.0, 0.1
FEET = ("left_foot", "right_foot")


def walked(speed: float, parameters: dict[str, float]) -> tuple[Scenario, Log, Array, dict[str, Any]]:
    """Return scenario, log, simulated normal forces of the feet, (T, 2) [N], and report of a run at a speed [m/s]."""
    scenario = load_scenario("walk", parameters=parameters)
    controller, backend = make_controller(scenario, "mujoco"), make_backend("mujoco", scenario)
    gait, step, forces = controller.generator("gait"), backend.step, []

    def recorded(command: Any, dt: float) -> Any:
        outcome = step(command, dt)
        forces.append([-float(outcome.wrenches.get(foot, np.zeros(6))[2]) for foot in FEET])
        return outcome

    assert isinstance(gait, WalkingGenerator)
    backend.step = recorded  # type: ignore[method-assign]
    run = Run(
        scenario,
        controller,
        backend,
        backend_name="mujoco",
        duration=DURATION,
        observers=[lambda *_: gait.command(speed, 0.0, 0.0)],
    )
    result = run.execute()
    return scenario, result.log, np.array(forces), result.report


def soles(scenario: Scenario, log: Log) -> dict[str, Array]:
    """Return velocity and pitch of both soles, and the distance of the ankles, by tick."""
    scene, kinematics = scenario.scene, Kinematics(scenario.scene)
    model = scene.model
    frames = [scene.surfaces[f"humanoid/{side}_sole"].frame_id for side in ("left", "right")]
    ankles = [model.getJointId(f"humanoid/{side}_ANKLE_R") for side in "LR"]
    found: dict[str, list[Any]] = {"rate": [], "pitch": [], "apart": []}
    state = scene.initial_state()
    for q, v in zip(log.q, log.v, strict=True):
        state.q[:], state.v[:] = q, v
        kinematics.update(state)
        found["rate"].append([kinematics.velocity(frame)[2] for frame in frames])
        # +z of a sole points down: x of the level sole is ahead
        found["pitch"].append([np.arcsin(np.clip(-kinematics.pose(f).rotation[2, 0], -1.0, 1.0)) for f in frames])
        left, right = (kinematics.data.oMi[ankle].translation for ankle in ankles)
        found["apart"].append(np.linalg.norm(left - right))
    return {name: np.array(values) for name, values in found.items()}


def lag(first: Array, second: Array) -> float:
    """Return by how much of a period the second of two periodic signals is later than the first, in (−0.5, 0.5]."""
    a, b = np.fft.rfft(first - first.mean()), np.fft.rfft(second - second.mean())
    k = int(np.abs(a).argmax())
    return float(np.angle(a[k] / b[k]) / (2.0 * np.pi))


def figures(speed: float, parameters: dict[str, float]) -> dict[str, float]:
    """Return the figures of a run, by what they are."""
    scenario, log, forces, report = walked(speed, parameters)
    model, of_sole = scenario.scene.model, soles(scenario, log)
    first, weight = int(np.searchsorted(log.time, FROM)), 9.81 * sum(inertia.mass for inertia in model.inertias)
    ticks = round(IMPACT / (log.time[1] - log.time[0]))
    contacts = [int(np.flatnonzero(log.contact_names == foot)[0]) for foot in FEET]
    peaks, speeds = [], []
    for side, contact in enumerate(contacts):
        active = log.contact_active[:, contact].astype(int)
        for k in np.flatnonzero(np.diff(active) > 0) + 1:
            if first <= k < len(active) - ticks:
                peaks.append(forces[k - 2 : k + ticks, side].max() / weight)
                speeds.append(-of_sole["rate"][k - 2, side])
    angle = {
        name: log.q[first:, model.joints[model.getJointId(f"humanoid/{name}")].idx_q]
        for name in ("L_SHOULDER_P", "L_HIP_P", "R_HIP_P", "L_KNEE_P", "R_KNEE_P")
    }
    knees = np.concatenate([angle["L_KNEE_P"], angle["R_KNEE_P"]])
    dt, pitch = float(np.median(np.diff(log.time))), of_sole["pitch"][first:]
    return {
        "largest force of a foot within 0.1 s of touchdown / weight": max(peaks),
        "mean of it": float(np.mean(peaks)),
        "speed of the sole down 10 ms before touchdown [m/s]": float(np.mean(speeds)),
        "RMS of torque rates [kN m/s]": 1e-3 * float(np.sqrt(np.mean((np.diff(log.tau[first:], axis=0) / dt) ** 2))),
        "left arm after right leg [part of a period]": lag(angle["R_HIP_P"], angle["L_SHOULDER_P"]),
        "left arm after left leg [part of a period]": lag(angle["L_HIP_P"], angle["L_SHOULDER_P"]),
        "least distance of the ankles [m]": float(of_sole["apart"][first:].min()),
        "least knee angle [rad]": float(knees.min()),
        "largest knee angle [rad]": float(knees.max()),
        "largest pitch of a sole, heel up [rad]": float(pitch.max()),
        "largest pitch of a sole, toes up [rad]": float(-pitch.min()),
        "slip [mm]": 1e3 * report["worst"]["contact_slip_m"],
        "failed QPs": float(report["qp_failures"]),
    }


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("speeds", nargs="+", type=float, help="speeds ahead [m/s]")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="parameter of `walk`")
    options = parser.parse_args()
    parameters = {name: float(value) for name, value in (one.split("=") for one in options.set)}
    columns = {speed: figures(speed, parameters) for speed in options.speeds}
    print(f"{'speed [m/s]':60s}" + "".join(f"{speed:10.2f}" for speed in columns))
    for name in columns[options.speeds[0]]:
        print(f"{name:60s}" + "".join(f"{column[name]:10.3f}" for column in columns.values()))


if __name__ == "__main__":
    main()
