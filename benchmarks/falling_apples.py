"""What falling apples touch in the scene `apples`: hands or forearms first, or head, neck or trunk.

Also the largest joint velocity relative to its limit beside the impacts of apples, within 60 ms after one, and what
rigid impacts without any control, inelastic and elastic, give.

python benchmarks/falling_apples.py --seeds 10
"""

from __future__ import annotations

import argparse
from typing import Any

import coal
import numpy as np
import pinocchio as pin

from multi_qp_scene.arrays import Array
from multi_qp_scene.scenario import Scenario, load_scenario
from multi_qp_simulator.log import Log
from multi_qp_simulator.runner import run_scenario

#: Links that the hands keep free, and names in those of hands and forearms.
BODY = ("head", "neck_yaw_link", "torso", "chest_pitch_link", "shoulder")
ARMS = ("wrist", "elbow")
#: Time after a touch that belongs to the impact [s]: joints are braked with their effort limits.
AFTER = 0.06


def touches(report: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Return, for each apple that touched the humanoid, the time of its hardest touch of each link [s]."""
    found: dict[str, dict[str, float]] = {}
    for touch in report["touches"]:
        own = [one for one in touch["bodies"] if one.startswith("humanoid/")]
        apples = [one for one in touch["bodies"] if one.startswith("apple_")]
        if own and apples:
            time = touch["force_time"] if touch["force_time"] is not None else touch["overlap_time"]
            found.setdefault(apples[0].split("/")[0], {})[own[0].split("/")[1]] = time
    return found


def first(links: dict[str, float], parts: tuple[str, ...]) -> float:
    """Return the time of the first touch of links with one of these parts in their names [s], infinite for none."""
    times = [time for link, time in links.items() if any(part in link for part in parts)]
    return min(times, default=float("inf"))


def velocity_ratios(scenario: Scenario, log: Log, times: list[float]) -> tuple[float, float]:
    """Return the largest joint velocity relative to its limit beside impacts, and after one."""
    limits = scenario.scene.limits
    ratios = (np.abs(log.v[:, limits.v_index]) / limits.velocity).max(axis=1)
    after = np.zeros(len(ratios), dtype=bool)
    for time in times:
        after |= (log.time > time - 0.01) & (log.time < time + AFTER)
    return float(ratios[~after].max()), float(ratios[after].max(initial=0.0))


def rigid_impact(scenario: Scenario, log: Log, apple: str, link: str, time: float) -> Array:
    """Return the largest joint velocity relative to its limit after a rigid impact, inelastic and elastic, (2,).

    From the last logged state in which the apple falls freely: all joints turn freely, M Δq̇ = Jᵀ λ, and J q̇ after it
    is 0 or the opposite of that before.
    """
    scene = scenario.scene
    model, data = scene.model, scene.model.createData()
    k = int(np.searchsorted(log.time, time - 0.011))
    q, v = log.q[k], log.v[k]
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacements(model, data)
    names = [f"humanoid/{link}", f"{apple}/apple"]
    frames = [scene.frame_id(name) for name in names]
    on_hand, on_apple = nearest_points(scenario, data, *frames)
    normal = (on_apple - on_hand) / np.linalg.norm(on_apple - on_hand)
    row = point_row(model, data, frames[1], on_apple, normal) - point_row(model, data, frames[0], on_hand, normal)
    M = pin.crba(model, data, q)
    M = np.triu(M) + np.triu(M, 1).T + np.diag(model.rotorInertia * model.rotorGearRatio**2)
    step = np.linalg.solve(M, row)
    change, limits = step * float(row @ v) / float(row @ step), scene.limits
    after = v[limits.v_index] - np.outer([1.0, 2.0], change[limits.v_index])
    return np.asarray((np.abs(after) / limits.velocity).max(axis=1))


def point_row(model: pin.Model, data: pin.Data, frame: int, point: Array, normal: Array) -> Array:
    """Return the row of the velocity of a point of a link along a direction, (nv,)."""
    J = pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
    lever = point - data.oMf[frame].translation
    return np.asarray(normal @ (J[:3] - pin.skew(lever) @ J[3:]))


def nearest_points(scenario: Scenario, data: pin.Data, hand: int, apple: int) -> tuple[Array, Array]:
    """Return the nearest points of the shapes of two links, in the world, (3,) each [m]."""
    scene, best = scenario.scene, (np.inf, np.zeros(3), np.zeros(3))
    shapes = scene.collision_model.geometryObjects
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    own = [[one for one in shapes if one.parentFrame == frame] for frame in (hand, apple)]
    for one in own[0]:
        for other in own[1]:
            poses = [data.oMi[shape.parentJoint] * shape.placement for shape in (one, other)]
            placed = [coal.Transform3s(pose.rotation, pose.translation) for pose in poses]
            result.clear()
            distance = coal.distance(one.geometry, placed[0], other.geometry, placed[1], request, result)
            if distance < best[0]:
                best = distance, np.array(result.getNearestPoint1()), np.array(result.getNearestPoint2())
    return best[1], best[2]


def main() -> None:
    """Run the scene with and without sight; print a row a run and the shares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--watch", type=int, nargs="*", default=[1, 0], help="with sight (1), without (0)")
    options = parser.parse_args()
    for watch in options.watch:
        apples = met = on_head = healthy = 0
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            scenario = load_scenario("apples", parameters={"watch": watch}, seed=seed)
            result = run_scenario(scenario, backend="mujoco")
            found = touches(result.report)
            in_time = sum(first(links, ARMS) < first(links, BODY) for links in found.values())
            heads = sum("head" in links for links in found.values())
            apples, met, on_head = apples + len(found), met + in_time, on_head + heads
            healthy += result.succeeded
            hits = [(apple, min(links, key=lambda link: links[link])) for apple, links in found.items()]
            rigid = [rigid_impact(scenario, result.log, *hit, found[hit[0]][hit[1]]) for hit in hits]
            bounds = np.max([*rigid, np.zeros(2)], axis=0)
            times = [time for links in found.values() for time in links.values()]
            beside, after = velocity_ratios(scenario, result.log, times)
            worst, problems = result.report["worst"], "; ".join(result.report["health"]["problems"])
            print(
                f"watch {watch} seed {seed}: {in_time} of {len(found)} in time, {heads} on the head; slip "
                f"{1e3 * worst['contact_slip_m']:.1f} mm, velocity {beside:.2f} of its limit beside impacts, "
                f"{after:.2f} after one ({bounds[0]:.2f} and {bounds[1]:.2f} after rigid ones). {problems}",
                flush=True,
            )
        print(
            f"watch {watch}: hands in time for {met} of {apples} apples, {on_head} touched the head, "
            f"{healthy} of {options.seeds} runs healthy",
            flush=True,
        )


if __name__ == "__main__":
    main()
