"""Timed plan of a refined motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.interpolate import CubicSpline

from contact_invariant.character import Character
from contact_invariant.refined_audit import RefinedAudit
from contact_invariant.surroundings import Surroundings
from contact_invariant.timed_plan import TimedPlan, of_prop_root, rests_at
from contact_invariant.whole_body import WholeBodyMotion, features_of
from multi_qp_scene.scene import Scene


def refined_plan(
    scene: Scene,
    character: Character,
    surroundings: Surroundings,
    motion: WholeBodyMotion,
    audit: RefinedAudit,
    simplified: TimedPlan,
) -> TimedPlan:
    """Return the plan of a refined motion.

    Args:
        scene: the scene.
        character: its effectors.
        surroundings: surfaces.
        motion: refined motion; its nodes are the plan's knots.
        audit: its postures, velocities, forces and torques on the grid of the audit.
        simplified: plan of the motion that was refined, with what stays in contact after the end; of that, patches that
            swing at the end stay only if they rest on the surface in the refined motion as well.
    """
    x = features_of(scene, character, motion.at(motion.times)[0])
    last = simplified.touched[-1:].copy()
    for i in np.flatnonzero((last[0] != "") & (motion.touched[-1] == "")):
        if not rests_at(character, surroundings, x[-1], int(i)):
            last[0, i] = ""
    x = of_prop_root(character, x)
    bodies = [scene.subsystems[name] for name in character.names]
    return replace(
        simplified,
        touched=np.vstack([motion.touched, last]).astype(str),
        knots=motion.times,
        x=x,
        rates=CubicSpline(motion.times, x, bc_type="clamped")(motion.times, 1),
        times=audit.postures.times,
        postures=np.hstack([audit.postures.q[:, body.q_slice] for body in bodies]),
        velocities=np.hstack([audit.velocities[:, body.v_slice] for body in bodies]),
        forces=audit.dynamics.forces,
        torques=audit.dynamics.torques,
    )
