"""`mujoco`: the torques go to a physics engine, and the state is what comes back."""

from __future__ import annotations

import logging
from collections import deque

import mujoco
import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_controller.command import Command, Status
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State
from multi_qp_scene.schema.reality import RealitySpec
from multi_qp_simulator.backend import Outcome
from multi_qp_simulator.mujoco_world.coordinates import Coordinates
from multi_qp_simulator.mujoco_world.coordinates_kernel import principal_axes
from multi_qp_simulator.mujoco_world.shapes import body_name
from multi_qp_simulator.mujoco_world.touch import Touch
from multi_qp_simulator.mujoco_world.world import PHYSICS_STEP, WorldOptions, build_world
from multi_qp_simulator.reality import Motors, Noise, Pushes, random_friction, random_masses, stream

Array = NDArray[np.float64]

# MuJoCo would write a file MUJOCO_LOG.TXT wherever it is run from
mujoco.set_mju_user_warning(logging.getLogger("multi_qp.mujoco").info)


class MujocoBackend:
    """A world that only torques move; contacts are what the engine makes of the shapes.

    Attributes:
        world: the MuJoCo model.
        data: its state.
        coordinates: from the scene's coordinates to the world's.
        time: [s].
        touch: forces of the contacts, and the hands.
    """

    def __init__(self, scenario: Scenario, reality: RealitySpec | None = None) -> None:
        """Build the world.

        Args:
            scenario: what is there.
            reality: in what the world differs from the model; the scenario's `reality` if None.
        """
        reality = scenario.spec.reality if reality is None else reality
        options = WorldOptions(random_masses(scenario, reality), random_friction(scenario, reality))
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
        self._noise = Noise(scene, reality, scenario.seed)
        self._motors = Motors(reality, scene.na, PHYSICS_STEP)
        self._pushes, self._pushed = Pushes(reality.pushes), bool(reality.pushes)
        self._jitter, self._random = reality.period_jitter, stream(scenario.seed, "jitter")
        self._past: deque[tuple[Array, Array]] = deque(maxlen=1 + round(reality.sensor_delay / PHYSICS_STEP))
        self._weigh()
        self.state = scene.initial_state()

    @property
    def state(self) -> State:
        """The present state."""
        return self._state

    @state.setter
    def state(self, state: State) -> None:
        self.coordinates.to_world(state, self.data.qpos, self.data.qvel)
        mujoco.mj_forward(self.world, self.data)
        self._past.clear()
        if self._past.maxlen != 1:
            self._remember()
        self._state = self.coordinates.to_scene(self.data.qpos, self.data.qvel)

    def measure(self) -> State:
        """Return what the sensors tell of the state: noisy, and late."""
        if self._past.maxlen == 1:
            return self._noise.add(self._state)
        return self._noise.add(self.coordinates.to_scene(*self._past[0]))

    def step(self, command: Command, dt: float) -> Outcome:
        """Let one control period pass under the torques of a command."""
        if command.diagnostics.status is not Status.FALLBACK:
            self._made = tuple(command.wrenches)
        self._weigh()
        self.touch.hold(self.data, self._made)
        self.touch.begin()
        self._pushes.observe(command.diagnostics.state, self.time)
        if self._jitter:
            dt *= 1.0 + self._jitter * float(self._random.uniform(-1.0, 1.0))
        steps = max(1, round(dt / PHYSICS_STEP))
        if dt / steps != self._step:
            self._step = self.world.opt.timestep = dt / steps
        before = self._state
        if command.drive is None and self._motors.prompt and not self._pushed:
            self.data.ctrl[:] = command.tau
            self._pass(steps, dt / steps)
        else:
            self._drive(command, steps, dt / steps)
        self._state = self.coordinates.to_scene(self.data.qpos, self.data.qvel)
        acceleration = (self._state.v - before.v) / dt
        return Outcome(acceleration, self.touch.wrenches(self._made, self.data))

    def _pass(self, steps: int, step: float) -> None:
        """Let physics steps pass under torques that stay as they are."""
        world, data, touch = self.world, self.data, self.touch
        # no more is remembered than the sensors can still tell
        forgotten = steps if self._past.maxlen == 1 else steps - (self._past.maxlen or 0)
        for k in range(steps):
            mujoco.mj_step(world, data)
            touch.add(data)
            if k >= forgotten:
                self._remember()
            self.time += step

    def _drive(self, command: Command, steps: int, step: float) -> None:
        """Let physics steps pass under torques or pushes that change from one to the next."""
        data, drive, tau, begun = self.data, command.drive, command.tau, self.time
        angles = None if drive is None else data.qpos[self._angles]
        for _ in range(steps):
            if self._pushed:
                self._push()
            if drive is not None:
                moved = data.qpos[self._angles] - angles
                tau = command.tau + drive.torque(moved, data.qvel[self._speeds], self.time - begun)
            data.ctrl[:] = self._motors.follow(tau)
            self._pass(1, step)

    def _remember(self) -> None:
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

    def _weigh(self) -> None:
        """Give the bodies that carry loads their present inertia."""
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
