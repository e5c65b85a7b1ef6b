"""View of the browser that follows characters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from multi_qp_viewer import BrowserViewer
from multi_qp_viewer.browser_labels import view_of
from multi_qp_viewer.following import FREE_DISTANCE, view_shift


@pytest.fixture
def viewer(scene):
    with BrowserViewer(scene, title="toy", port=18180) as viewer:
        yield viewer


def moved(scene, snapshot, names, by):
    q = snapshot.q.copy()
    for name in names:
        start = scene.model.joints[scene.model.getJointId(f"{name}/root_joint")].idx_q
        q[start : start + 3] = scene.q0[start : start + 3] + by
    return replace(snapshot, q=q)


def settle(viewer, snapshot):
    viewer.player.begin()
    viewer.show(snapshot)
    viewer.refresh(20.0)
    return view_shift(viewer._server)


NAMES, BY = ("red", "blue", "box"), np.array([3.0, 0.0, 0.0])


def test_the_view_follows_what_walks_away_but_not_what_sways(viewer, scene, snapshots):
    assert np.allclose(settle(viewer, moved(scene, snapshots[0], NAMES, 0.1 * BY)), 0.0)
    assert np.allclose(
        settle(viewer, moved(scene, snapshots[0], NAMES, BY)), [3.0 - FREE_DISTANCE, 0.0, 0.0], atol=0.05
    )


def test_the_view_follows_the_chosen_subsystem_or_nothing(viewer, scene, snapshots):
    snapshot = moved(scene, snapshots[0], ["red"], BY)
    view = viewer.drawing.view
    assert view.choices == ("all", *(name for name in scene.subsystems if name in NAMES), "nothing")
    shifts = {}
    for view.choice in ("red", "blue", "nothing"):
        shifts[view.choice] = float(np.linalg.norm(settle(viewer, snapshot)))
    assert shifts["red"] == pytest.approx(3.0 - FREE_DISTANCE, abs=0.1)
    assert shifts["blue"] == shifts["nothing"] == pytest.approx(0.0, abs=1e-3)


def test_another_scene_is_shown_from_its_own_view(viewer, scene, snapshots):
    settle(viewer, moved(scene, snapshots[0], NAMES, BY))
    viewer.set_scene(scene, title="again")
    assert np.allclose(view_shift(viewer._server), 0.0)
    assert viewer._server.scene.get_handle_by_name("/world/floor") is not None
    assert view_of(viewer._server) is None, "no page is open"
