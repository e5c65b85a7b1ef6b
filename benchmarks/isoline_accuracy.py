"""Equilibrium of antagonistic pairs on the isoline, and continuity of their torques, over random poses of an arm.

From 3° aside, Newton steps of at most 2° on the torques of the pairs against gravity; the arm of the humanoid has
joints of one, two and three degrees of freedom. Continuity: steps of 0.1° of the hinges of each joint, anywhere within
their limits, with another random target.

python benchmarks/isoline_accuracy.py --poses 10000
"""

from __future__ import annotations

import argparse

import numpy as np

from multi_qp_scene.arrays import Array
from multi_qp_scene.configuration import posture_configuration
from multi_qp_scene.scenario import load_scenario
from multi_qp_scene.scene import Scene
from upper_body.limb_kernel import followed
from upper_body.limbs import AntagonisticLimbs

#: Hinges of each number of degrees of freedom.
JOINTS = {1: "elbow", 2: "wrist", 3: "shoulder"}
#: Step of the hinges of a joint [rad].
STEP = np.radians(0.1)


def arm_of(scene: Scene) -> AntagonisticLimbs:
    """Return the left arm; its reference is a T-pose."""
    parts = ("L_SHOULDER", "L_ELBOW", "L_WRIST")
    own = [k for k, name in enumerate(scene.velocity_names) if any(part in name for part in parts)]
    angles = {"L_SHOULDER_P": 0.0, "L_SHOULDER_R": 1.57, "L_SHOULDER_Y": 0.0, "L_ELBOW_P": 0.0}
    return AntagonisticLimbs(scene, np.array(own, dtype=np.intp), posture_configuration(scene, "humanoid", angles))


def distance(arm: AntagonisticLimbs, q: Array, target: Array, stiffness: Array, start: Array, gravity: bool) -> Array:
    """Return how far from the target the arm is in equilibrium, from a start, (n,) each [rad]."""
    n, share = len(target), float(gravity)
    at_target, angles = share * arm.gravity(q, target), start.copy()
    steps = 1e-5 * np.eye(n)
    slope = share * np.array([arm.gravity(q, target + e) - arm.gravity(q, target - e) for e in steps]).T / 2e-5
    for _ in range(60):
        held = arm.torques(angles, target, at_target, stiffness, np.ones(n), ratio=0.7)
        missing = held.torque - share * arm.gravity(q, angles)
        if np.abs(missing).max() < 1e-9:
            break
        angles += np.clip(np.linalg.solve(held.stiffness + slope, missing), -0.035, 0.035)
    return np.abs(angles - target)


def accuracy(scene: Scene, arm: AntagonisticLimbs, poses: int, gravity: bool) -> dict[int, float]:
    """Return the largest distance from the target [deg] by the number of degrees of freedom of the joint."""
    random, joints = np.random.default_rng(1), arm.joints
    low, high = scene.model.lowerPositionLimit[joints.q_index], scene.model.upperPositionLimit[joints.q_index]
    worst = dict.fromkeys(JOINTS, 0.0)
    for _ in range(poses):
        target, tension = random.uniform(low, high), random.uniform()
        start = target + np.radians(3.0) * random.uniform(-1.0, 1.0, len(target))
        found = distance(arm, scene.q0, target, (0.3 + 5.7 * tension) * arm.efforts, start, gravity)
        for first, end in joints.hinges:
            worst[int(end - first)] = max(worst[int(end - first)], float(np.degrees(found[first:end].max())))
    return worst


def continuity(scene: Scene, arm: AntagonisticLimbs, poses: int) -> dict[int, tuple[float, float]]:
    """Return, by degrees of freedom, the largest change of an angle [deg] and of a torque relative to K in a step."""
    random, joints = np.random.default_rng(2), arm.joints
    low, high = scene.model.lowerPositionLimit[joints.q_index], scene.model.upperPositionLimit[joints.q_index]
    n, worst, stiffness = len(low), dict.fromkeys(JOINTS, (0.0, 0.0)), 2.0 * arm.efforts
    for _ in range(poses):
        target, here = random.uniform(low, high, (2, n))
        there, way = here.copy(), random.normal(size=n)
        for first, end in joints.hinges:
            there[first:end] += STEP * way[first:end] / np.linalg.norm(way[first:end])
        change = np.subtract(
            *(arm.torques(at, target, np.zeros(n), stiffness, np.ones(n), ratio=0.7).torque for at in (there, here))
        )
        for i, (first, end) in enumerate(joints.hinges):
            part, k = slice(first, end), int(end - first)
            table = joints.placements[part], joints.axes[part], joints.bases[i], joints.rests[i]
            zero = np.zeros(1 if k == 1 else 3)
            angles = [followed(joints.reference[part], zero, at[part], *table) for at in (there, here)]
            jump = float(np.degrees(np.abs(angles[0] - angles[1]).max()))
            torque = float(np.abs(change[part]).max() / (stiffness[i] * STEP))
            worst[k] = max(worst[k][0], jump), max(worst[k][1], torque)
    return worst


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--poses", type=int, default=10_000)
    options = parser.parse_args()
    scene = load_scenario("hold").scene
    arm = arm_of(scene)
    free, loaded = (accuracy(scene, arm, options.poses, gravity) for gravity in (False, True))
    steps = continuity(scene, arm, options.poses)
    print("| joint | distance without gravity | with gravity | change of an angle | change of torque / (K step) |")
    print("|---|---|---|---|---|")
    for k, name in JOINTS.items():
        jump, torque = steps[k]
        print(f"| {k} DoF, {name} | {free[k]:.1e}° | {loaded[k]:.1e}° | {jump:.2f}° | {torque:.1f} |")


if __name__ == "__main__":
    main()
