"""Markers of a tick: shapes and places, constant ids, deletion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from visualization_msgs.msg import Marker

from multi_qp_controller.snapshot import ContactSnapshot, PairSnapshot, Snapshot, TargetSnapshot
from multi_qp_ros import markers
from multi_qp_ros.markers import MarkerMaker

UP = np.array([0.0, 0.0, 1.0])
FOOT = ContactSnapshot(
    "left_foot",
    points=np.array([[0.1, 0.1, 0.0], [0.1, -0.1, 0.0]]),
    forces=np.array([[10.0, 0.0, 100.0], [0.0, 0.0, 0.0]]),
    normals=np.tile(UP, (2, 1)),
    friction=0.5,
)
PAIR = PairSnapshot("a | b", np.zeros(3), np.array([0.0, 0.3, 0.0]), 0.3, 0.2, 0.05, active=False)
SNAPSHOT = Snapshot(
    time=0.0,
    q=np.zeros(7),
    state="stand",
    status="ok",
    tick_ms=1.0,
    contacts=(FOOT, replace(FOOT, name="right_foot")),
    com={"humanoid": np.array([0.0, 0.0, 0.7])},
    com_total=np.array([0.0, 0.0, 0.6]),
    support_polygon=np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
    pairs=(PAIR,),
    targets=(TargetSnapshot("hand", np.ones(3), np.eye(3)), TargetSnapshot("com", np.zeros(3))),
)


def drawn(array):
    return {(m.ns, m.id): m for m in array.markers if m.action == Marker.ADD}


def points(marker):
    return np.array([[p.x, p.y, p.z] for p in marker.points])


def of(array, namespace):
    return [m for m in array.markers if m.ns == namespace and m.action == Marker.ADD]


@pytest.fixture
def maker():
    return MarkerMaker()


def test_every_namespace_is_listed_and_drawn_in_the_world(maker):
    array = maker.markers(SNAPSHOT, 2_500_000_000)
    assert {m.ns for m in array.markers} == set(markers.NAMESPACES)
    assert {m.header.frame_id for m in array.markers} == {"world"}
    assert {(m.header.stamp.sec, m.header.stamp.nanosec) for m in array.markers} == {(2, 500_000_000)}
    assert len(drawn(array)) == len(array.markers)


def test_a_force_is_an_arrow_from_its_point_along_the_force(maker):
    arrows = of(maker.markers(SNAPSHOT, 0), "contact_forces")
    assert len(arrows) == 2  # a point without force has none
    start, end = points(arrows[0])
    np.testing.assert_allclose(start, FOOT.points[0])
    np.testing.assert_allclose(end - start, markers.FORCE_SCALE * FOOT.forces[0])


def test_the_edges_of_a_cone_have_the_slope_of_friction(maker):
    cone = points(of(maker.markers(SNAPSHOT, 0), "friction_cones")[0]).reshape(-1, 3, 3)
    assert len(cone) == 4 * len(FOOT.points)
    edges = cone[:, 1:] - cone[:, :1]
    np.testing.assert_allclose(np.linalg.norm(edges[..., :2], axis=-1) / edges[..., 2], FOOT.friction)


@pytest.mark.parametrize(
    "distance, active, expected",
    [
        (0.3, False, markers.WATCHED),
        (0.2, True, markers.DAMPED),
        (0.05, True, markers.TOO_NEAR),
        (-0.01, True, markers.TOO_NEAR),
        (0.125, True, tuple((np.array(markers.DAMPED) + markers.TOO_NEAR) / 2)),
    ],
)
def test_a_pair_has_the_colour_of_its_damper(maker, distance, active, expected):
    pair = replace(PAIR, distance=distance, active=active)
    array = maker.markers(replace(SNAPSHOT, pairs=(pair,)), 0)
    for namespace in ("watched_pairs", "witness_points", "pair_distances"):
        color = of(array, namespace)[0].color
        np.testing.assert_allclose([color.r, color.g, color.b], expected, atol=1e-6)
    np.testing.assert_allclose(points(of(array, "watched_pairs")[0]), [PAIR.point_a, PAIR.point_b])
    assert of(array, "pair_distances")[0].text == f"{100 * distance:.1f} cm"


def test_pairs_of_pieces_of_the_same_links_have_markers_of_their_own(maker):
    markers = maker.markers(replace(SNAPSHOT, pairs=(PAIR, replace(PAIR, distance=0.5))), 0).markers
    assert len({(marker.ns, marker.id) for marker in markers}) == len(markers)


def test_removed_markers_are_deleted_once_and_keep_their_id(maker):
    before = drawn(maker.markers(SNAPSHOT, 0))
    without = maker.markers(replace(SNAPSHOT, contacts=SNAPSHOT.contacts[1:], pairs=()), 1)
    gone = {(m.ns, m.id) for m in without.markers if m.action == Marker.DELETE}
    assert {namespace for namespace, _ in gone} == {
        "contact_forces",
        "friction_cones",
        "watched_pairs",
        "witness_points",
        "pair_distances",
    }
    assert gone | drawn(without).keys() == before.keys()
    assert not [
        m for m in maker.markers(replace(SNAPSHOT, contacts=SNAPSHOT.contacts[1:], pairs=()), 2).markers if m.action
    ]
    again = drawn(maker.markers(SNAPSHOT, 3))
    assert again.keys() == before.keys()
    for key, marker in again.items():
        np.testing.assert_array_equal(points(marker), points(before[key]))


def test_clearing_deletes_everything(maker):
    before = drawn(maker.markers(SNAPSHOT, 0))
    cleared = maker.clear(1)
    assert {m.action for m in cleared.markers} == {Marker.DELETE}
    assert {(m.ns, m.id) for m in cleared.markers} == before.keys()
    assert not maker.clear(2).markers
