"""A simulator of one's own for multi_qp_controller: MuJoCo and rclpy, nothing of this project.

    python foreign_simulator.py foreign_arm/world.xml --period 0.005

The contract is docs/foreign_simulator.md. Joints of the MJCF are named `<subsystem>/<joint>`, free joints
`<subsystem>/<root link>`; the first keyframe is the initial state. The controller runs in lock-step:

    ros2 run multi_qp_controller controller_node --ros-args -p scenario:=$PWD/foreign_arm/reach.yaml \
        -p lock_step:=true -p use_sim_time:=true -p closed_loop:=true -p autostart:=true -p exit_at_end:=true
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from functools import partial

import mujoco
import numpy as np
import rclpy
from builtin_interfaces.msg import Time
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import String

STATE = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
COMMAND = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
#: Time after which an unanswered state is sent again, with the same stamp [s].
AGAIN = 0.05


def to_time(stamp: int) -> Time:
    """Return a time in nanoseconds as a message."""
    return Time(sec=stamp // 10**9, nanosec=stamp % 10**9)


class World:
    """The physics: a MuJoCo model whose joints have the names of the controller's subsystems.

    Attributes:
        joints: scalar joints of each subsystem: addresses in qpos and qvel by name.
        free: free joint of each floating subsystem: root link, addresses in qpos and qvel.
    """

    def __init__(self, file: str) -> None:
        self.model = mujoco.MjModel.from_xml_path(file)
        self.data = mujoco.MjData(self.model)
        if self.model.nkey:
            mujoco.mj_resetDataKeyframe(self.model, self.data, 0)
        self.joints: dict[str, dict[str, tuple[int, int]]] = {}
        self.free: dict[str, tuple[str, int, int]] = {}
        for k in range(self.model.njnt):
            subsystem, _, name = self.model.joint(k).name.partition("/")
            at = int(self.model.jnt_qposadr[k]), int(self.model.jnt_dofadr[k])
            if self.model.jnt_type[k] == mujoco.mjtJoint.mjJNT_FREE:
                self.free[subsystem] = (name, *at)
            else:
                self.joints.setdefault(subsystem, {})[name] = at

    def joint_state(self, subsystem: str) -> tuple[list[str], list[float], list[float]]:
        """Return names, positions and velocities of the joints of a subsystem."""
        at = self.joints[subsystem]
        q, v = self.data.qpos, self.data.qvel
        return list(at), [float(q[i]) for i, _ in at.values()], [float(v[j]) for _, j in at.values()]

    def floating_base(self, subsystem: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return position, quaternion (x, y, z, w), linear and angular velocity, both in the root link's own frame.

        MuJoCo's quaternion is (w, x, y, z), and its linear velocity of a free joint is in the world frame.
        """
        _, i, j = self.free[subsystem]
        wxyz = self.data.qpos[i + 3 : i + 7]
        to_world = np.zeros(9)
        mujoco.mju_quat2Mat(to_world, wxyz)
        linear = to_world.reshape(3, 3).T @ self.data.qvel[j : j + 3]
        return self.data.qpos[i : i + 3], np.roll(wxyz, -1), linear, self.data.qvel[j + 3 : j + 6]

    def set_efforts(self, subsystem: str, names: list[str], efforts: list[float]) -> None:
        """Apply efforts to joints until the next command."""
        for name, effort in zip(names, efforts, strict=True):
            self.data.qfrc_applied[self.joints[subsystem][name][1]] = effort

    def advance(self, duration: float) -> None:
        """Simulate a control period with constant efforts."""
        for _ in range(round(duration / self.model.opt.timestep)):
            mujoco.mj_step(self.model, self.data)


class ForeignSimulator(Node):
    """Publishes clock and states; takes a step when every robot has its command for the present state."""

    def __init__(self, world: World, period: float) -> None:
        super().__init__("foreign_simulator")
        self.world, self.period, self.tick = world, round(period * 1e9), 0
        self.report: dict | None = None
        self._published = 0.0
        self._answered: set[str] = set()
        self._robots: set[str] = set()
        self._clock = self.create_publisher(Clock, "/clock", STATE)
        self._joint_states = {s: self.create_publisher(JointState, f"{s}/joint_states", STATE) for s in world.joints}
        self._odometry = {s: self.create_publisher(Odometry, f"{s}/odom", STATE) for s in world.free}
        for subsystem in world.joints:  # a subsystem without motors has no commands: see `controlled`
            take = partial(self._take_command, subsystem)
            self.create_subscription(JointState, f"{subsystem}/joint_commands", take, COMMAND)
        self.create_subscription(String, "multi_qp/report", self._take_report, LATCHED)

    @property
    def stamp(self) -> int:
        """Time of the present state [ns]."""
        return self.tick * self.period

    def controlled(self) -> set[str]:
        """Return the subsystems for whose commands there is a publisher; they do not change once there is one."""
        if not self._robots:
            self._robots = {s for s in self.world.joints if self.count_publishers(f"{s}/joint_commands")}
        return self._robots

    def _take_command(self, subsystem: str, message: JointState) -> None:
        stamp = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
        if stamp == self.stamp:  # a command for another state is late
            self.world.set_efforts(subsystem, list(message.name), list(message.effort))
            self._answered.add(subsystem)

    def _take_report(self, message: String) -> None:
        self.report = json.loads(message.data)

    def publish_state(self) -> None:
        """Publish the clock and the state, all with one stamp."""
        stamp = to_time(self.stamp)
        self._clock.publish(Clock(clock=stamp))
        for subsystem, publisher in self._joint_states.items():
            joints = JointState()
            joints.header.stamp = stamp
            joints.name, joints.position, joints.velocity = self.world.joint_state(subsystem)
            publisher.publish(joints)
        for subsystem, publisher in self._odometry.items():
            base = Odometry(child_frame_id=self.world.free[subsystem][0])
            base.header.stamp, base.header.frame_id = stamp, "world"
            p, r, v, w = self.world.floating_base(subsystem)
            pose, twist = base.pose.pose, base.twist.twist
            pose.position.x, pose.position.y, pose.position.z = map(float, p)
            pose.orientation.x, pose.orientation.y, pose.orientation.z, pose.orientation.w = map(float, r)
            twist.linear.x, twist.linear.y, twist.linear.z = map(float, v)
            twist.angular.x, twist.angular.y, twist.angular.z = map(float, w)
            publisher.publish(base)
        self._published = time.monotonic()

    def run(self, patience: float) -> int:
        """Simulate until the controller reports the end; return 0 if it completed the scenario.

        Args:
            patience: longest time without a command [s]; 1 is returned after it.
        """
        self.publish_state()
        heard = time.monotonic()
        while self.report is None:
            rclpy.spin_once(self, timeout_sec=AGAIN)
            now = time.monotonic()
            if self.controlled() and self._answered >= self.controlled():
                self.world.advance(self.period * 1e-9)
                self._answered.clear()
                self.tick, heard = self.tick + 1, now
                self.publish_state()
            elif now - heard > patience:
                print(f"no command for {patience:g} s", file=sys.stderr)
                return 1
            elif now - self._published > AGAIN:
                self.publish_state()  # the same stamp and data again: a best-effort message may be lost
        print(self.report["ended"])
        return 0 if self.report["completed"] else 1


def main() -> int:
    """Run the simulator."""
    parser = argparse.ArgumentParser(description="MuJoCo as a simulator of multi_qp_controller.")
    parser.add_argument("world", help="MJCF file")
    parser.add_argument("--period", type=float, required=True, help="control period of the scenario [s]")
    parser.add_argument("--patience", type=float, default=60.0, help="longest time without a command [s]")
    options = parser.parse_args()
    rclpy.init(args=[])
    node = ForeignSimulator(World(options.world), options.period)
    try:
        return node.run(options.patience)
    finally:
        node.destroy_node()
        rclpy.shutdown()


if __name__ == "__main__":
    sys.exit(main())
