"""Schema of `mismatch`: model mismatch, sensor noise, latency and disturbances of the simulation."""

from __future__ import annotations

from pydantic import Field

from multi_qp_scene.config_file import StrictModel
from multi_qp_scene.schema.common import Distance, Duration, ForceOrNone, NonNegative, Time, Vector3
from multi_qp_scene.schema.name_of import AnyLinkName, StateName


class PushSpec(StrictModel):
    """A force on a body for some time, through its centre of mass.

    Attributes:
        link: full name of a link; the force acts on the rigid body to which it belongs.
        direction: direction of the force, world axes; its length has no effect.
        force: magnitude [N].
        duration: duration [s].
        state: the state in which it acts; if left out, `at` is measured from the beginning of the run.
        at: time after that state was entered [s].
    """

    link: AnyLinkName
    direction: Vector3 = (1.0, 0.0, 0.0)
    force: ForceOrNone
    duration: Duration = 0.1
    state: StateName | None = None
    at: Time = 1.0


class MismatchSpec(StrictModel):
    """Differences between the simulation of `--backend mujoco` and the model; noise is given by standard deviations.

    Attributes:
        encoder_noise: noise of joint angles [rad].
        velocity_noise: noise of joint velocities [rad/s].
        gyro_noise: noise of angular velocities of floating bodies [rad/s].
        position_noise: noise of positions of floating bodies [m].
        speed_noise: noise of linear velocities of floating bodies [m/s].
        sensor_delay: delay of the state measurement [s].
        actuation_delay: delay of the torques [s].
        actuation_lag: time constant of the motors [s].
        mass_error: masses and inertias of bodies differ by up to this fraction.
        friction_error: friction of contacts differs by up to this fraction.
        period_jitter: control periods differ by up to this fraction from the nominal one that the controller uses.
        knowledge_delay: delay of each character's state information about the others; each character then solves its
            own QP [s].
        pushes: disturbance forces.
    """

    encoder_noise: NonNegative = 0.0
    velocity_noise: NonNegative = 0.0
    gyro_noise: NonNegative = 0.0
    position_noise: Distance = 0.0
    speed_noise: NonNegative = 0.0
    sensor_delay: Time = 0.0
    actuation_delay: Time = 0.0
    actuation_lag: Time = 0.0
    mass_error: NonNegative = Field(default=0.0, lt=1.0)
    friction_error: NonNegative = Field(default=0.0, lt=1.0)
    period_jitter: NonNegative = Field(default=0.0, lt=1.0)
    knowledge_delay: Time = 0.0
    pushes: list[PushSpec] = []
