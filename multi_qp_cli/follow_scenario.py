"""Scenario in which a robot starts in the first pose of a reference motion, and follows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pinocchio as pin
import yaml

from multi_qp_scene.motions.reference import ReferenceMotion

#: Friction of soles and ground, and drop of the centre of mass below that of the start that is no fall [m].
FRICTION, DROP = 0.7, 0.4
#: Tilt of the chest at the end [rad].
TILT = 0.5


def write_scenario(path: Path, motion: ReferenceMotion, file: Path, model: str, chest: str) -> None:
    """Write the scenario.

    Args:
        path: the file to write.
        motion: of a robot on level ground.
        file: of the motion.
        model: name or file of the robot's model.
        chest: link of its chest.
    """
    here = file.resolve().parent == path.resolve().parent
    text = yaml.safe_dump(
        _scenario(motion, file.name if here else str(file.resolve()), model, chest), sort_keys=False, width=110
    )
    path.write_text(text, encoding="utf-8")


def _scenario(motion: ReferenceMotion, file: str, model: str, chest: str) -> dict[str, Any]:
    robot = motion.robot
    contacts = {surface: f"{surface}_contact" for surface in motion.surfaces}
    follow = {
        "type": "modal",
        "subsystem": robot,
        "motion": file,
        "contacts": contacts,
        "speed": [{"factor": "${speed}"}],
        "window": "${window}",
    }
    return {
        "description": f"{robot} follows a recorded motion by modal-space control",
        "parameters": {
            "window": {"default": 36, "min": 4, "max": 120, "multiple_of": 1, "description": "steps of the plan"},
            "speed": {"default": 1.0, "min": 0.3, "max": 1.5, "description": "speed of the motion"},
        },
        "dt": 0.005,
        "duration": round(4.0 * float(motion.times[-1]) + 5.0, 1),
        "subsystems": {robot: {"model": model, **_start(motion), "effort_limits": "robot"}},
        "environment": {"ground": {"model": "ground"}},
        "contacts": {
            contact: {"surfaces": [f"{robot}/{surface}", "ground/floor"], "friction": FRICTION}
            for surface, contact in contacts.items()
        },
        "collisions": {"self_collisions": [robot], "damping": 0.8},
        "closed_loop": {"disturbance": None},
        "initial_state": "follow",
        "states": {
            "follow": {
                "generators": {"motion": follow},
                "transitions": [{"to": "stand", "when": {"type": "generator", "generator": "motion"}}],
            },
            "stand": {"generators": {"motion": dict(follow)}, "hold": 1.0},
        },
        "health": {"drop": DROP},
        "goals": {
            "balanced": {"type": "balance", "subsystems": [robot], "states": ["stand"]},
            "upright": {"type": "tilt", "frame": f"{robot}/{chest}", "tolerance": TILT, "states": ["stand"]},
        },
    }


def _start(motion: ReferenceMotion) -> dict[str, Any]:
    """Return the first pose and posture of a motion as keys of a subsystem."""
    q = motion.q[0]
    base = pin.XYZQUATToSE3(q[:7])
    rpy = pin.rpy.matrixToRpy(base.rotation)
    return {
        "posture": {name: round(float(angle), 5) for name, angle in zip(motion.joints, q[7:], strict=True)},
        "pose": {
            "xyz": [round(float(x), 5) for x in base.translation],
            "rpy": [round(float(angle), 5) for angle in rpy],
        },
    }
