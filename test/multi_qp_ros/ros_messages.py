"""Messages of states and commands as ROS objects: the oracle of the serialised templates."""

from __future__ import annotations

import numpy as np
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState

from multi_qp_ros.conversions import WORLD, doubles, to_stamp


def joint_state(joints, state, stamp: int) -> JointState:
    """Return the joint state of a robot at a time [ns]."""
    message = JointState()
    message.header.stamp = to_stamp(stamp)
    message.name = [joint.name for joint in joints]
    message.position = doubles([_angle(joint, state.q) for joint in joints])
    message.velocity = doubles(state.v[[joint.v_index for joint in joints]])
    return message


def _angle(joint, q) -> float:
    if joint.continuous:
        return float(np.arctan2(q[joint.q_index + 1], q[joint.q_index]))
    return float(q[joint.q_index])


def odometry(subsystem, state, stamp: int) -> Odometry:
    """Return the odometry of a floating subsystem at a time [ns]: pose in the world, twist in body frame (REP 105)."""
    q, v = state.q[subsystem.q_slice], state.v[subsystem.v_slice]
    message = Odometry()
    message.header.stamp = to_stamp(stamp)
    message.header.frame_id = WORLD
    message.child_frame_id = subsystem.base_link
    pose, twist = message.pose.pose, message.twist.twist
    pose.position.x, pose.position.y, pose.position.z = q[:3].tolist()
    pose.orientation.x, pose.orientation.y, pose.orientation.z, pose.orientation.w = q[3:7].tolist()
    twist.linear.x, twist.linear.y, twist.linear.z = v[:3].tolist()
    twist.angular.x, twist.angular.y, twist.angular.z = v[3:6].tolist()
    return message


def joint_command(names: list[str], efforts, stamp: int) -> JointState:
    """Return efforts with joint names; `stamp` is that of the state from which they were computed [ns]."""
    message = JointState(name=names, effort=doubles(efforts))
    message.header.stamp = to_stamp(stamp)
    return message
