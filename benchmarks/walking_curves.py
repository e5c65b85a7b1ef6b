"""Success of `walk` under pushes over the horizon of the preview, time of a step, speed, and direction, as a plot.

Each point of a curve: a push of 0.1 s at the chest in 4 directions at 2 instants of the gait (in one direction at 4
instants), walking ahead in MuJoCo with masses, friction, noise and delay of `multi-qp robustness`; a run succeeds when
the robot has not fallen 2.5 s later.

python benchmarks/walking_curves.py horizon step_time speed --plot docs/media/walking_curves.png
python benchmarks/walking_curves.py direction --forces 100 150 200 250 --plot docs/media/walking_directions.png
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from matplotlib.figure import Figure

from multi_qp_scene.scenario import Scenario, load_scenario
from multi_qp_scene.schema.mismatch import PushSpec
from multi_qp_scene.schema.walking import GaitSpec, TimedVelocitySpec, WalkingSpec
from multi_qp_simulator.robustness import RANDOMISED
from multi_qp_simulator.runner import Run, make_backend, make_controller

#: Directions from ahead [deg] and instants of the pushes [s]: half a step apart at the nominal step time.
DIRECTIONS, INSTANTS = (0, 90, 180, 270), (3.0, 3.24)
#: Instants of the curve over the direction: of a step with each foot.
FOUR_INSTANTS = (3.0, 3.24, 3.48, 3.72)
#: Time from a push to the end of a run [s], and height of the base below which the robot has fallen [m].
AFTER, FALLEN = 2.5, 0.6


@dataclass(frozen=True)
class WalkVariant:
    """What a run differs in from `walk`.

    Attributes:
        speed: commanded velocity ahead [m/s].
        step_time: nominal time of a step, of a swing and a double support [s].
        longest_swing: longest swing of the preview [s]; in proportion to the step time if None.
        directions: of the pushes, from ahead to the left [deg].
        instants: of the pushes [s].
    """

    speed: float = 0.3
    step_time: float = 0.48
    longest_swing: float | None = None
    directions: tuple[float, ...] = DIRECTIONS
    instants: tuple[float, ...] = INSTANTS

    @property
    def gait(self) -> GaitSpec:
        """The gait, with the double support of the nominal one."""
        nominal = GaitSpec()
        double = (nominal.duty - 0.5) * nominal.period
        swing = self.step_time - double
        longest = self.longest_swing or nominal.longest_swing * self.step_time / 0.48
        return nominal.model_copy(
            update={
                "period": 2.0 * self.step_time,
                "duty": 0.5 + double / (2.0 * self.step_time),
                "longest_swing": longest,
                "recovery_swing": min(nominal.recovery_swing, swing),
                "landing_speed": 0.2,
            }
        )


#: Axis label, and the walks over its values, of each curve.
CURVES = {
    "horizon": (
        "longest swing of the preview [s]",
        {t: WalkVariant(longest_swing=t) for t in (0.2, 0.25, 0.3, 0.35, 0.4, 0.55, 0.8)},
    ),
    "step_time": ("time of a step [s]", {t: WalkVariant(step_time=t) for t in (0.32, 0.4, 0.48, 0.56, 0.64, 0.8)}),
    "speed": ("speed ahead [m/s]", {v: WalkVariant(speed=v) for v in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)}),
    "direction": (
        "direction of the push [deg]",
        {d: WalkVariant(directions=(d,), instants=FOUR_INSTANTS) for d in range(0, 360, 45)},
    ),
}


def scenario_of(walk: WalkVariant, seed: int) -> Scenario:
    """Return the scenario `walk` with this gait, speed and the default mismatch, always in the state of the gait."""
    scenario = load_scenario("walk", parameters={"landing.speed": 0.2}, seed=seed)
    state = scenario.spec.states["walk"]
    spec = state.generators["gait"]
    assert isinstance(spec, WalkingSpec)
    update = {
        "gait": walk.gait,
        "velocity": [TimedVelocitySpec(at=0.5, velocity=(walk.speed, 0.0, 0.0))],
        "limits": spec.limits.model_copy(update={"ahead": max(spec.limits.ahead, walk.speed)}),
        "random": None,
    }
    generators = {**state.generators, "gait": spec.model_copy(update=update)}
    states = {
        **scenario.spec.states,
        "walk": state.model_copy(update={"generators": generators, "transitions": [], "hold": 60.0}),
    }
    return replace(scenario, spec=scenario.spec.model_copy(update={"states": states, "mismatch": RANDOMISED}))


def withstands(walk: WalkVariant, push: PushSpec, seed: int) -> bool:
    """Run once; return whether the robot stands or walks at the end."""
    scenario = scenario_of(walk, seed)
    mismatch = scenario.spec.mismatch.model_copy(update={"pushes": [push]})
    scenario = replace(scenario, spec=scenario.spec.model_copy(update={"mismatch": mismatch}))
    controller, backend = make_controller(scenario, "mujoco"), make_backend("mujoco", scenario)
    duration = push.at + AFTER
    run = Run(scenario, controller, backend, backend_name="mujoco", duration=duration, logged=False)
    report = run.execute().report
    root = scenario.scene.model.joints[scenario.scene.subsystems["humanoid"].root_joints[0]].idx_q
    return bool(report["sim_time"] > duration - 0.02 and backend.state.q[root + 2] > FALLEN)


def pushes(walk: WalkVariant, force: float) -> Iterator[PushSpec]:
    """Yield the pushes of one point of a curve."""
    for degrees in walk.directions:
        angle = math.radians(degrees)
        for at in walk.instants:
            direction = (math.cos(angle), math.sin(angle), 0.0)
            yield PushSpec(link="humanoid/torso", direction=direction, force=force, at=at)


def measure(names: Iterable[str], forces: Iterable[float]) -> dict[str, dict[float, dict[float, float]]]:
    """Return the share of runs that succeeded by curve, force [N] and value."""
    found: dict[str, dict[float, dict[float, float]]] = {}
    for name in names:
        found[name] = {}
        for force in forces:
            of_force = found[name][force] = {}
            for value, walk in CURVES[name][1].items():
                results = [withstands(walk, push, seed) for seed, push in enumerate(pushes(walk, force))]
                of_force[value] = sum(results) / len(results)
                print(f"{name} {value:g}, {force:g} N: {sum(results)} of {len(results)}", flush=True)
    return found


def plot(path: Path, found: dict[str, dict[float, dict[float, float]]]) -> None:
    """Plot one panel for each curve, one line for each force."""
    figure = Figure(figsize=(max(3.2 * len(found), 4.8), 2.8), layout="constrained")
    panels = figure.subplots(1, len(found), sharey=True, squeeze=False)[0]
    for panel, (name, of_force) in zip(panels, found.items(), strict=True):
        for force, values in of_force.items():
            label = f"push of {force:g} N" if force else "no push"
            panel.plot(list(values), [100.0 * share for share in values.values()], "o-", label=label, markersize=4)
        panel.set(xlabel=CURVES[name][0], ylim=(-3, 103))
        panel.grid(alpha=0.3)
    panels[0].set(ylabel="runs without a fall [%]")
    panels[0].legend(fontsize="small")
    figure.savefig(path, dpi=100)


def main() -> None:
    """Measure the curves that are named, and plot them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("curves", nargs="+", choices=list(CURVES))
    parser.add_argument("--forces", nargs="+", type=float, default=[150.0, 200.0], help="pushes [N] (default 150 200)")
    parser.add_argument("--plot", type=Path, default=Path("walking_curves.png"))
    options = parser.parse_args()
    plot(options.plot, measure(options.curves, options.forces))


if __name__ == "__main__":
    main()
