"""`mujoco` backend: simulation of torques by MuJoCo."""

from __future__ import annotations

import logging
from collections import deque

import mujoco
import pinocchio as pin

from multi_qp_controller.closed_loop.joint_impedance import DriveReference
from multi_qp_controller.command import Command, Status
from multi_qp_controller.state_check import as_state
from multi_qp_scene.arguments import number
from multi_qp_scene.arrays import Array
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_scene.schema.mismatch import MismatchSpec
from multi_qp_simulator.backend import Outcome, TouchForce, torques_of
from multi_qp_simulator.model_mismatch import Motors, Noise, Pushes, random_friction, random_masses, stream
from multi_qp_simulator.mujoco_world.coordinates import Coordinates
from multi_qp_simulator.mujoco_world.coordinates_kernel import principal_axes
from multi_qp_simulator.mujoco_world.shapes import body_name
from multi_qp_simulator.mujoco_world.touch import Touch
from multi_qp_simulator.mujoco_world.world import PHYSICS_STEP, WorldOptions, build_world, hanging_bodies

# prevents MUJOCO_LOG.TXT in the working directory
mujoco.set_mju_user_warning(logging.getLogger("multi_qp.mujoco").info)


class MujocoBackend:
    """MuJoCo simulation driven by torques; contacts follow from the collision shapes.

    Attributes:
        world: MuJoCo model.
        data: MuJoCo state.
        coordinates: maps between the scene's and MuJoCo's coordinates.
        time: [s].
        touch: contact forces and grasps.
    """

    def __init__(self, scenario: Scenario, mismatch: MismatchSpec | None = None) -> None:
        """Build the model.

        Args:
            scenario: the scenario.
            mismatch: model mismatch and disturbances; the scenario's if None.
        """
        mismatch = scenario.spec.mismatch if mismatch is None else mismatch
        options = WorldOptions(random_masses(scenario, mismatch), random_friction(scenario, mismatch))
        scene = scenario.scene
        self._scenario, self._scene = scenario, scene
        self.world = build_world(scenario, options)
        self.data = mujoco.MjData(self.world)
        self.coordinates = Coordinates(scene.model, self.world)
        self._speeds = self.coordinates.dof[scene.actuated_v]
        self._angles = self.world.jnt_qposadr[self.world.dof_jntid[self._speeds]]
        self.time, self._step = 0.0, float(self.world.opt.timestep)
        self.touch = Touch(scenario, self.world)
        self._scales = {k: options.mass_scale.get(scene.model.names[k], 1.0) for k in scene.loads.joint_ids}
        self._bodies = {k: int(self.world.body(body_name(scene, k, "")).id) for k in self._scales}
        self._masses: dict[str, float] = {}
        self._made: tuple[str, ...] = ()
        self._noise = Noise(scene, mismatch, scenario.seed)
        self._motors = Motors(mismatch, scene.na, PHYSICS_STEP)
        self._pushes, self._pushed = Pushes(mismatch.pushes), bool(mismatch.pushes)
        self._jitter, self._random = mismatch.period_jitter, stream(scenario.seed, "jitter")
        self._past: deque[tuple[Array, Array]] = deque(maxlen=1 + round(mismatch.sensor_delay / PHYSICS_STEP))
        self._hanging = {int(self.world.body(name).id): release for name, release in hanging_bodies(scenario).items()}
        self._update_load_inertias()
        self.state = scene.initial_state()

    @property
    def state(self) -> State:
        """Current state; the setter copies.

        Raises:
            MultiQpError: if the value is not a state of the scene.
        """
        return self._state

    @state.setter
    def state(self, state: State) -> None:
        state = as_state(self._scene, state)
        self.data.qacc_warmstart[:] = 0.0  # may be NaN, after a state that was not finite
        self.coordinates.to_world(state, self.data.qpos, self.data.qvel)
        mujoco.mj_forward(self.world, self.data)
        self._past.clear()
        if self._past.maxlen != 1:
            self._record()
        self._state = self.coordinates.to_scene(self.data.qpos, self.data.qvel)

    def measure(self) -> State:
        """Return the measured state, with noise and delay."""
        if self._past.maxlen == 1:
            return self._noise.add(self._state)
        return self._noise.add(self.coordinates.to_scene(*self._past[0]))

    def touch_forces(self) -> list[TouchForce]:
        """Return the largest forces so far between bodies that no contact of the scenario connects."""
        return self.touch.unknown()

    def step(self, command: Command, dt: float) -> Outcome:
        """Simulate one control period under the torques of a command.

        Raises:
            MultiQpError: if a torque is not finite, or their number differs from the motors'.
        """
        dt = number("dt", dt, unit="s", least=0.0)
        torque = torques_of(command, self._scene)
        if command.diagnostics.status is not Status.FALLBACK:
            self._made = tuple(command.wrenches)
        self._update_load_inertias()
        for body in [body for body, release in self._hanging.items() if self.time >= release]:
            self.world.body_gravcomp[body] = 0.0
            del self._hanging[body]
        self.touch.hold(self.data, self._made)
        self.touch.begin(self._made)
        self._pushes.observe(command.diagnostics.state, self.time)
        if self._jitter:
            dt *= 1.0 + self._jitter * float(self._random.uniform(-1.0, 1.0))
        steps = max(1, round(dt / PHYSICS_STEP))
        if dt / steps != self._step:
            self._step = self.world.opt.timestep = dt / steps
        before = self._state
        if command.drive is None and self._motors.prompt and not self._pushed:
            self.data.ctrl[: len(torque)] = torque
            self._advance(steps, dt / steps)
        else:
            self._drive(torque, command.drive, steps, dt / steps)
        self._state = self.coordinates.to_scene(self.data.qpos, self.data.qvel)
        acceleration = (self._state.v - before.v) / dt
        return Outcome(acceleration, self.touch.wrenches(self._made, self.data))

    def _advance(self, steps: int, step: float) -> None:
        """Simulate physics steps under constant torques."""
        world, data, touch = self.world, self.data, self.touch
        # only states within the sensor delay are recorded
        dropped = steps if self._past.maxlen == 1 else steps - (self._past.maxlen or 0)
        for k in range(steps):
            mujoco.mj_step(world, data)
            touch.add(data, self.time)
            if k >= dropped:
                self._record()
            self.time += step

    def _drive(self, torque: Array, drive: DriveReference | None, steps: int, step: float) -> None:
        """Simulate physics steps under torques or pushes that vary between steps."""
        data, tau, begun = self.data, torque, self.time
        angles = None if drive is None else data.qpos[self._angles]
        for _ in range(steps):
            if self._pushed:
                self._push()
            if drive is not None:
                moved = data.qpos[self._angles] - angles
                tau = torque + drive.torque(moved, data.qvel[self._speeds], self.time - begun)
            data.ctrl[: len(tau)] = self._motors.follow(tau)
            self._advance(1, step)

    def _record(self) -> None:
        self._past.append((self.data.qpos.copy(), self.data.qvel.copy()))

    def _push(self) -> None:
        active = self._pushes.active(self.time)
        if active or self.data.xfrc_applied.any():
            self.data.xfrc_applied[:] = 0.0
            for link, force in active:
                self.data.xfrc_applied[self._body_of(link), :3] += force

    def _body_of(self, link: str) -> int:
        model = self._scene.model
        frame = model.frames[model.getFrameId(link, pin.FrameType.BODY)]
        return int(self.world.body(body_name(self._scene, frame.parentJoint, link.split("/")[0])).id)

    def _update_load_inertias(self) -> None:
        """Set the current inertias of bodies with loads."""
        masses = self._scene.loads.masses
        if masses == self._masses:
            return
        self._masses = masses
        for joint_id, body in self._bodies.items():
            self._set_inertia(body, self._scene.model.inertias[joint_id], self._scales[joint_id])

    def _set_inertia(self, body: int, inertia: pin.Inertia, scale: float) -> None:
        world = self.world
        mass = inertia.mass * scale
        added, above = mass - world.body_mass[body], body
        while above:
            world.body_subtreemass[above] += added
            above = world.body_parentid[above]
        world.body_mass[body] = mass
        world.body_ipos[body] = inertia.lever
        principal_axes(inertia.inertia * scale, world.body_inertia[body], world.body_iquat[body])
