"""Errors in tasks: one message each with file, line, key and expected value."""

from __future__ import annotations

import pytest

REACH = "reach: {type: pose, frame: arm/palm, axes: [x, z], target: {position: [0.4, 0, -0.1], duration: 0.1}}"
POSTURE = "posture: {type: posture, subsystem: arm}"

# file, replaced text, replacement, a text on the reported line, key, message
MISTAKES = {
    "pose task without a target": (
        "scene.yaml",
        REACH,
        "reach: {type: pose, frame: arm/palm}",
        "reach:",
        "states.wait.tasks.reach",
        "the key 'target' is missing; give in it `position`, `rpy` or `random_path`, or `frame: entry` to stay",
    ),
    "pose task with an empty target": (
        "scene.yaml",
        REACH,
        "reach: {type: pose, frame: arm/palm, target: {}}",
        "reach:",
        "states.wait.tasks.reach.target",
        "the target is empty; give `position`",
    ),
    "CoM task without a target": (
        "scene.yaml",
        POSTURE,
        "posture: {type: com, subsystems: [arm]}",
        "posture: {type: com",
        "tasks.posture",
        "the key 'target' is missing; give in it `over_contacts`, `position` or `offset`",
    ),
    "joint task without a target": (
        "scene.yaml",
        POSTURE,
        "posture: {type: joint_angle, joint: arm/elbow}",
        "posture: {type: joint",
        "tasks.posture",
        "the key 'target' is missing (required: type, joint, target; optional: ",
    ),
    "task without a type": (
        "scene.yaml",
        "{type: pose, frame",
        "{frame",
        "reach:",
        "states.wait.tasks.reach",
        "the key 'type' is missing, which says what this is (one of: posture, com, pose, ",
    ),
    "unknown type of task": (
        "scene.yaml",
        "{type: pose, frame",
        "{type: poze, frame",
        "reach:",
        "states.wait.tasks.reach.type",
        "unknown type 'poze'; did you mean 'pose'? (types: posture, com, pose, ",
    ),
    "task without a required key": (
        "scene.yaml",
        "frame: arm/palm, ",
        "",
        "reach:",
        "states.wait.tasks.reach",
        "the key 'frame' is missing (required: type, frame; optional: weight, ",
    ),
    "unknown joint in a task": (
        "scene.yaml",
        POSTURE,
        "posture: {type: joint_angle, joint: arm/elbo, target: 1}",
        "posture: {type: joint",
        "tasks.posture.joint",
        "unknown joint 'arm/elbo'; did you mean 'arm/elbow'? (joints: arm/elbow, arm/shoulder)",
    ),
    "number in a list that is none": (
        "arm.yaml",
        "xyz: [0.1, 0, 0]",
        "xyz: [0.1, 0, o]",
        "palm",
        "surfaces.palm.xyz[2]",
        "expected a number from -100000 to 100000, got 'o'",
    ),
    "no axes": (
        "scene.yaml",
        "axes: [x, z]",
        "axes: []",
        "reach:",
        "states.wait.tasks.reach.axes",
        "name at least one axis",
    ),
    "negative seed": (
        "scene.yaml",
        "{position: [0.4, 0, -0.1], duration: 0.1}",
        "{random_path: {duration: 1, seed: -1}}",
        "reach:",
        "states.wait.tasks.reach.target.random_path.seed",
        "a seed is 0 or above, got -1",
    ),
    "frame relative to itself": (
        "scene.yaml",
        "axes: [x, z]",
        "relative_to: arm/palm",
        "reach:",
        "states.wait.tasks.reach.relative_to",
        "a frame cannot be placed relative to itself",
    ),
    "relative target without a frame": (
        "scene.yaml",
        "axes: [x, z]",
        "relative_to: arm/base",
        "reach:",
        "states.wait.tasks.reach.target.frame",
        "with `relative_to`, name the frame of `position` and `rpy`: arm/base, or world",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_one_error_gives_one_message_with_file_line_and_key(mistake, folder):
    folder.blames(*MISTAKES[mistake])
