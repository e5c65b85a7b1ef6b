"""MCAP recordings of runs with ROS 2 messages, from which every tick can be replayed."""

from __future__ import annotations

from multi_qp_ros.recording.reader import Bag, RecordedTick
from multi_qp_ros.recording.recorder import BagRecorder
from multi_qp_ros.recording.replay import Replay

__all__ = ["Bag", "BagRecorder", "RecordedTick", "Replay"]
