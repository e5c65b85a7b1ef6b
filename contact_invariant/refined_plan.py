"""Timed plan of a refined motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.interpolate import CubicSpline

from contact_invariant.character import Character
from contact_invariant.contact_schedule import edges_of, without_redundant
from contact_invariant.refined_audit import RefinedAudit
from contact_invariant.surroundings import Surroundings
from contact_invariant.timed_plan import TimedPlan, of_prop_root, rests_at
from contact_invariant.whole_body import WholeBodyMotion, features_of
from multi_qp_scene.arrays import Array
from multi_qp_scene.scene import Scene


def refined_plan(
    scene: Scene,
    character: Character,
    surroundings: Surroundings,
    motion: WholeBodyMotion,
    audit: RefinedAudit,
    simplified: TimedPlan,
    gains: Array,
) -> TimedPlan:
    """Return the plan of a refined motion.

    Args:
        scene: the scene.
        character: its effectors.
        surroundings: surfaces.
        motion: refined motion; its nodes are the plan's knots.
        audit: its forces and torques on the grid of the audit.
        simplified: plan of the motion that was refined, with what stays in contact after the end; of that, patches that
            swing at the end stay only if they rest on the surface in the refined motion as well.
        gains: at the nodes, as those of the plan.
    """
    x = features_of(scene, character, motion.at(motion.times)[0])
    last = simplified.touched[-1:].copy()
    for i in np.flatnonzero((last[0] != "") & (motion.touched[-1] == "")):
        if not rests_at(character, surroundings, x[-1], int(i)):
            last[0, i] = ""
    last = without_redundant(last, edges_of(scene, character))
    x = of_prop_root(character, x)
    bodies = [scene.subsystems[name] for name in character.names]
    # with both ends: a motion may begin with a jerk, which a spline that is at rest half a step later does not have
    times = np.concatenate([motion.times[:1], audit.postures.times, motion.times[-1:]])
    q, v, _ = motion.at(times)
    return replace(
        simplified,
        touched=np.vstack([motion.touched, last]).astype(str),
        knots=motion.times,
        x=x,
        rates=CubicSpline(motion.times, x, bc_type="clamped")(motion.times, 1),
        times=times,
        postures=np.hstack([q[:, body.q_slice] for body in bodies]),
        velocities=np.hstack([v[:, body.v_slice] for body in bodies]),
        forces=_with_ends(audit.dynamics.forces),
        torques=_with_ends(audit.dynamics.torques),
        gains=gains.astype(np.float32),
    )


def _with_ends(values: Array) -> Array:
    """Return values with the first and the last one repeated, (m, ...) to (m + 2, ...)."""
    return np.concatenate([values[:1], values, values[-1:]])
