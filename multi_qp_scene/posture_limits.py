"""Warnings about postures outside joint limits, usually degrees given for radians or an infeasible zero posture."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import numpy as np
import pinocchio as pin

from multi_qp_scene.errors import Location
from multi_qp_scene.parts import SceneParts
from multi_qp_scene.scalar_joint import ScalarJoint
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.scenario_file import ScenarioFile
from multi_qp_scene.schema.tasks import PostureTaskSpec, TaskSpec
from multi_qp_scene.yaml_document import YamlDocument

_log = logging.getLogger(__name__)

#: Tolerance beyond a limit, for rounding in files [rad], [m].
ROUNDING = 1e-3
#: Widest range of a revolute joint without a warning [rad]: two turns, and rounding.
WIDEST = 4.0 * np.pi + 0.01


def warn_of_postures(document: YamlDocument, spec: ScenarioFile, parts: SceneParts, scene: Scene) -> None:
    """Warn of initial postures and posture tasks outside the limits, and of driven joints that turn more than twice.

    They are valid; joints are driven inside.
    """
    driven = set(scene.actuated_joint_names)
    for name, (loaded, subsystem) in parts.subsystems.items():
        posture = subsystem.posture
        given = posture if isinstance(posture, dict) else loaded.spec.postures.get(posture or "zero", {})
        place, wide = document.location(("subsystems", name, "posture")), list[str]()
        for joint in loaded.urdf.joints:
            full = f"{name}/{joint}"
            if scene.model.joints[scene.model.getJointId(full)].nv == 1:
                if full in driven and (width := _range(scene.model, full)) > WIDEST:
                    wide.append(f"{joint} ({width:.4g} rad)")
                angle = ScalarJoint.of(scene.model, full).angle(scene.q0)
                _warn(place, scene.model, full, angle, "" if joint in given else " (no angle is given)")
        if wide:
            at = document.location(("subsystems", name))
            _log.warning("%s: joint ranges of more than two turns: %s; give limits in the URDF", at, ", ".join(wide))
    _warn_of_tasks(document, ("tasks",), spec.tasks, scene)
    for state, phase in spec.states.items():
        _warn_of_tasks(document, ("states", state, "tasks"), phase.tasks, scene)


def _range(model: pin.Model, joint: str) -> float:
    """Return the width of the range of a revolute joint [rad]; 0 for others and without limits."""
    scalar = ScalarJoint.of(model, joint)
    if scalar.continuous or not model.joints[model.getJointId(joint)].shortname().startswith("JointModelR"):
        return 0.0
    width = float(model.upperPositionLimit[scalar.q_index] - model.lowerPositionLimit[scalar.q_index])
    return width if np.isfinite(width) else 0.0


def _warn_of_tasks(
    document: YamlDocument, key: tuple[str, ...], tasks: Mapping[str, TaskSpec | None], scene: Scene
) -> None:
    for name, task in tasks.items():
        if isinstance(task, PostureTaskSpec) and isinstance(task.posture, dict):
            for joint, angle in task.posture.items():
                place = document.location((*key, name, "posture", joint))
                _warn(place, scene.model, f"{task.subsystem}/{joint}", angle)


def _warn(place: Location, model: pin.Model, joint: str, angle: float, cause: str = "") -> None:
    scalar = ScalarJoint.of(model, joint)
    if scalar.continuous:
        return
    low, high = model.lowerPositionLimit[scalar.q_index], model.upperPositionLimit[scalar.q_index]
    if low - ROUNDING <= angle <= high + ROUNDING:
        return
    degrees = "; angles are in radians" if abs(angle) > 6.3 else ""
    _log.warning(
        "%s: %s at %.4g is outside its limits [%.4g, %.4g]%s%s", place, joint, angle, low, high, cause, degrees
    )
