"""Schema of `reality`: in what the simulated world, sensors and motors differ from what the controller thinks."""

from __future__ import annotations

from pydantic import Field

from multi_qp_scene.config_file import StrictModel
from multi_qp_scene.schema.common import NonNegative, Positive, Vector3


class PushSpec(StrictModel):
    """A force on a body for a while, through its centre of mass.

    Attributes:
        link: full name of a link; all that moves with it is pushed.
        direction: of the force, world axes; its length does not count.
        force: [N].
        duration: [s].
        state: the state in which it comes; if left out, time counts from the beginning of the run.
        at: time after that state was entered [s].
    """

    link: str
    direction: Vector3 = (1.0, 0.0, 0.0)
    force: NonNegative
    duration: Positive = 0.1
    state: str | None = None
    at: NonNegative = 1.0


class RealitySpec(StrictModel):
    """How the world of `--backend mujoco` differs from the model; noises are standard deviations, all drawn by seed.

    Attributes:
        encoder_noise: of joint angles [rad].
        velocity_noise: of joint velocities [rad/s].
        gyro_noise: of angular velocities of floating bodies [rad/s].
        position_noise: of positions of floating bodies [m].
        speed_noise: of linear velocities of floating bodies [m/s].
        sensor_delay: age of what the controller sees [s].
        actuation_delay: time after which a torque acts [s].
        actuation_lag: time constant with which motors follow [s].
        mass_error: masses and inertias of bodies differ by up to this fraction.
        friction_error: friction of contacts differs by up to this fraction.
        period_jitter: control periods differ by up to this fraction, and the controller does not know.
        knowledge_delay: age of what each character knows of the others, who then each solve the QP for themselves [s].
        pushes: forces that come from nowhere.
    """

    encoder_noise: NonNegative = 0.0
    velocity_noise: NonNegative = 0.0
    gyro_noise: NonNegative = 0.0
    position_noise: NonNegative = 0.0
    speed_noise: NonNegative = 0.0
    sensor_delay: NonNegative = 0.0
    actuation_delay: NonNegative = 0.0
    actuation_lag: NonNegative = 0.0
    mass_error: NonNegative = Field(default=0.0, lt=1.0)
    friction_error: NonNegative = Field(default=0.0, lt=1.0)
    period_jitter: NonNegative = Field(default=0.0, lt=1.0)
    knowledge_delay: NonNegative = 0.0
    pushes: list[PushSpec] = []
