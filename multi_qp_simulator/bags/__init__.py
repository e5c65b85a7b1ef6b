"""Bags: runs as MCAP files with ROS 2 messages, from which every tick can be made again."""

from __future__ import annotations

from multi_qp_simulator.bags.reader import Bag, RecordedTick
from multi_qp_simulator.bags.recorder import BagRecorder
from multi_qp_simulator.bags.replay import Replay

__all__ = ["Bag", "BagRecorder", "RecordedTick", "Replay"]
