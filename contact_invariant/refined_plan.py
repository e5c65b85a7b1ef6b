"""Timed plan of a refined motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.interpolate import CubicSpline

from contact_invariant.character import Character
from contact_invariant.refined_audit import RefinedAudit
from contact_invariant.timed_plan import TimedPlan, of_prop_root
from contact_invariant.whole_body import WholeBodyMotion, features_of
from multi_qp_scene.scene import Scene


def refined_plan(
    scene: Scene, character: Character, motion: WholeBodyMotion, audit: RefinedAudit, simplified: TimedPlan
) -> TimedPlan:
    """Return the plan of a refined motion.

    Args:
        scene: the scene.
        character: its effectors.
        motion: refined motion; its nodes are the plan's knots.
        audit: its postures, velocities, forces and torques on the grid of the audit.
        simplified: plan of the motion that was refined, with what stays in contact after the end.
    """
    x = of_prop_root(character, features_of(scene, character, motion.at(motion.times)[0]))
    body = scene.subsystems[character.name]
    return replace(
        simplified,
        touched=np.vstack([motion.touched, simplified.touched[-1:]]).astype(str),
        knots=motion.times,
        x=x,
        rates=CubicSpline(motion.times, x, bc_type="clamped")(motion.times, 1),
        times=audit.postures.times,
        postures=audit.postures.q[:, body.q_slice],
        velocities=audit.velocities[:, body.v_slice],
        forces=audit.dynamics.forces,
        torques=audit.dynamics.torques,
    )
