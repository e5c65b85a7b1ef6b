"""Marker process: results, skipped snapshots, restart."""

from __future__ import annotations

import pytest
from rclpy.serialization import deserialize_message, serialize_message
from visualization_msgs.msg import Marker, MarkerArray

from multi_qp_controller import Controller
from multi_qp_controller.take_snapshot import take_snapshot
from multi_qp_ros.marker_process import MarkerProcess
from multi_qp_ros.markers import MarkerMaker
from multi_qp_scene import load_scenario

PATIENCE = 120.0


@pytest.fixture(scope="module")
def snapshot():
    scenario = load_scenario("box")
    controller = Controller(scenario)
    return take_snapshot(controller, controller.step(scenario.scene.initial_state(), 0.0))


def read(data: bytes) -> MarkerArray:
    return deserialize_message(data, MarkerArray)


def written(markers: MarkerArray) -> MarkerArray:
    """Return markers as they are on the wire, where colours have single precision."""
    return read(serialize_message(markers))


def test_the_process_returns_the_newest_markers_and_is_restarted_if_killed(snapshot):
    process, maker = MarkerProcess(), MarkerMaker()
    process.request(None, 0)
    assert process.result(wait=PATIENCE) is None  # nothing is shown, and nothing was started for it
    for stamp in (1, 2, 3):
        process.request(snapshot, stamp)
    assert read(process.result(wait=PATIENCE)) == written(maker.markers(snapshot, 1))
    assert read(process.result(wait=PATIENCE)) == written(maker.markers(snapshot, 3))  # the second is out of date
    assert process.result() is None
    process.request(None, 4)
    assert {marker.action for marker in read(process.result(wait=PATIENCE)).markers} == {Marker.DELETE}
    process.request(None, 5)
    assert process.result(wait=PATIENCE) == b""

    process._process.kill()
    process._process.wait()
    process.request(snapshot, 6)
    assert process.result(wait=PATIENCE) is None
    process.request(snapshot, 7)
    again = process._process
    assert read(process.result(wait=PATIENCE)) == written(MarkerMaker().markers(snapshot, 7))
    process.close()
    assert again.returncode is not None
