"""Schema of the constraints of the QP, the fallback, the check of states and the closed loop."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from multi_qp_scene.config_file import StrictModel
from multi_qp_scene.schema.common import (
    Distance,
    Duration,
    Force,
    Friction,
    Length,
    NonNegative,
    Period,
    Positive,
    Speed,
    Spread,
    Switch,
    Time,
)
from multi_qp_scene.schema.name_of import SubsystemName

#: Groups of rows of the QP that can get slack.
RelaxedGroup = Literal["collisions", "grips", "limits", "balance", "supports"]


class CollisionPairSpec(StrictModel):
    """Collision avoidance for two bodies; values left out are those of `collisions`.

    Attributes:
        bodies: full names of two links, or patterns with `*`; the first entry that matches a pair of links applies.
        influence: δ_i: the damper acts below this distance [m].
        security: δ_s: minimum distance [m]; below `influence`.
        damping: ξ: approach speed allowed at δ_i [m/s].
        damper: whether the damper is active; with `false` the distance is only measured. May be a parameter: 1, 0.
    """

    bodies: tuple[str, str]
    influence: Length | None = None
    security: Distance | None = None
    damping: Speed | None = None
    damper: Switch = True


class CollisionsSpec(StrictModel):
    """Collision avoidance: pairs of bodies, and the damper's parameters ξ, δ_i, δ_s of (22).

    Attributes:
        influence: δ_i: the damper acts below this distance [m].
        security: δ_s: minimum distance [m]; below `influence`.
        damping: ξ: approach speed allowed at δ_i [m/s].
        pairs: the pairs of bodies; the damper is inactive while an active contact connects the two bodies.
        self_collisions: subsystems whose own links keep apart.
        self_pairs: which pairs of their links. "all": every pair that can meet, found by sampling. Of a model file with
            a list `self_collisions`, pairs that it does not name have δ_i of at most 3 cm and δ_s of at most 2 mm.
            Pairs that are closer than δ_s (without a list: 1 cm) at the start are left out. "listed": only those of the
            list, where the model file has one.
    """

    influence: Length = 0.08
    security: Distance = 0.01
    damping: Speed = 0.4
    pairs: list[CollisionPairSpec] = []
    self_collisions: list[SubsystemName] = []
    self_pairs: Literal["listed", "all"] = "all"


class JointLimitsSpec(StrictModel):
    """Joint limit damper of (31): distances as fractions of each joint's range; ξ as a fraction of its velocity limit.

    Attributes:
        influence: δ_i / range; δ_i is at most 0.3 rad.
        security: δ_s / range; below `influence`, and reduced in proportion where δ_i is.
        damping: ξ / velocity limit; ξ is at most 4 rad/s.
        stretch: distance of a limb in contact from its full length below which a damper slows its stretching, for
            joints whose range passes the straight angle; 0: off [m].
        start: largest distance of a joint beyond its limits at the start [rad], [m]; a run beyond it is refused.
    """

    influence: Positive = 0.1
    security: NonNegative = 0.01
    damping: Positive = 0.5
    stretch: Distance = 0.05
    start: Spread = 0.25


class BalanceSpec(StrictModel):
    """Balance constraint: capture point of each standing character and its held objects inside the support polygon.

    Attributes:
        influence: δ_i: the damper acts below this distance from an edge [m].
        security: δ_s: minimum distance [m]; below `influence`.
        damping: ξ: approach speed of the capture point allowed at δ_i [m/s].
    """

    influence: Length = 0.03
    security: Distance = 0.01
    damping: Speed = 0.3


class RegularisationSpec(StrictModel):
    """Regularisation weights, for a unique optimum.

    Attributes:
        acceleration: weight of ½‖q̈‖².
        torque: weight of ½‖τ‖².
        force: weight of ½‖f‖² of each contact's wrench.
        moment: weight of ½‖m‖² of each contact's wrench, at the first surface's origin.
    """

    acceleration: NonNegative = 1e-4
    torque: NonNegative = 1e-5
    force: NonNegative = 1e-5
    moment: NonNegative = 1e-3


class FallbackSpec(StrictModel):
    """What is given up when the QP has no solution, and safe torques when no command can be computed.

    Safe torques hold the last torques, then damp each joint to rest.

    Attributes:
        relax: groups of rows that get slack, one after the other, until the QP has a solution: `collisions`,
            `grips` (friction cones of contacts between subsystems), `limits` (positions and speeds of joints),
            `balance`, and `supports` (friction cones of contacts with the environment). Groups that are left out
            never get slack.
        restore_after: time with a solution after which a task that was given up is resumed [s].
        hold: how long the last torques are repeated [s].
        time_constant: time constant of the damping [s].
        give_up_after: the run ends after this time without an unrelaxed QP solution [s].
    """

    relax: list[RelaxedGroup] = ["collisions", "grips", "limits", "balance", "supports"]
    restore_after: Duration = 0.5
    hold: Time = 0.05
    time_constant: Duration = 0.1
    give_up_after: Duration = 0.2

    @field_validator("relax")
    @classmethod
    def _once(cls, relax: list[RelaxedGroup]) -> list[RelaxedGroup]:
        twice = sorted({group for group in relax if relax.count(group) > 1})
        if twice:
            raise ValueError(f"{', '.join(twice)}: named twice, expected each group once at most")
        return relax


class StateCheckSpec(StrictModel):
    """Ranges of measured states; states outside are refused.

    Attributes:
        position_margin: allowed distance of a joint beyond its position limits [rad or m]; the integrator has no
            mechanical stops, so that an uncontrolled limb may exceed them.
        velocity_factor: allowed joint velocity relative to its limit.
        unlimited_velocity: maximum speed of joints without a velocity limit [rad/s or m/s].
        base_velocity: maximum speed of floating bases along each axis [m/s].
        base_angular_velocity: maximum angular speed of floating bases about each axis [rad/s].
    """

    position_margin: NonNegative = 3.0
    velocity_factor: Annotated[float, Field(ge=1)] = 5.0
    unlimited_velocity: Positive = 1000.0
    base_velocity: Positive = 100.0
    base_angular_velocity: Positive = 100.0


class ImpedanceSpec(StrictModel):
    """Joint impedance of the drives around the trajectory integrated from the QP's accelerations.

    Attributes:
        stiffness: stiffness relative to the joint's inertia [1/s²].
        damping: damping relative to the joint's inertia [1/s].
        memory: time constant with which this trajectory decays to the measured state [s].
    """

    stiffness: NonNegative = 400.0
    damping: NonNegative = 40.0
    memory: Duration = 0.1


class ClosedLoopSpec(StrictModel):
    """Controller settings for a physics simulation or a robot: `--backend mujoco`.

    Attributes:
        dt: control period [s]; the scenario's if left out.
        contact_stiffness: gain on the position error of a contact [1/s²], instead of the full correction in one period
            of (20).
        contact_damping: gain on the velocity error of a contact [1/s].
        friction: fraction of the contacts' friction coefficients used by the QP, as a safety margin.
        horizon: dampers, joint limits and couplings constrain the velocity after this time [s], at least one period.
        velocity_filter: time constant of a first-order filter on measured velocities [s]; 0 for none.
        disturbance: time constant of the estimator of unmodelled forces [s]; `null` for none.
        lead: prediction time of the state before the command is computed [s]; half a period if left out, since torques
            are constant over a period.
        impedance: impedance of the drives around the QP's trajectory; none if left out.
        landing_force: a planar or point contact is `touching` when its measured normal force reaches this [N], at any
            modelled distance; by distance, angle and speed if left out.
        force_ramp: duration of the ramp of contact forces after a contact is made and before it is broken [s]; 0 for
            none.
    """

    dt: Period | None = None
    contact_stiffness: NonNegative = 0.0
    contact_damping: NonNegative = 20.0
    friction: Friction = 0.7
    horizon: Time = 0.02
    velocity_filter: Time = 0.0
    disturbance: Duration | None = 0.2
    lead: Time | None = None
    impedance: ImpedanceSpec | None = None
    landing_force: Force | None = None
    force_ramp: Time = 0.0
