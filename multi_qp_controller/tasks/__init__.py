"""Tasks of the QP cost: features of the scene with a desired acceleration, one class a file."""

from multi_qp_controller.tasks.base import Task
from multi_qp_controller.tasks.com import CoMTask
from multi_qp_controller.tasks.joint import JointAngleTask, JointVelocityTask
from multi_qp_controller.tasks.momentum import MomentumTask
from multi_qp_controller.tasks.pose import PoseTask
from multi_qp_controller.tasks.posture import PostureTask
from multi_qp_controller.tasks.registry import register_task
from multi_qp_controller.tasks.tsid_task import TsidTask

__all__ = [
    "CoMTask",
    "JointAngleTask",
    "JointVelocityTask",
    "MomentumTask",
    "PoseTask",
    "PostureTask",
    "Task",
    "TsidTask",
    "register_task",
]
