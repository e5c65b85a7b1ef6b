"""Curves on the page: they are those of `multi-qp plot`, in bounded memory, over several runs."""

from __future__ import annotations

import shutil
from dataclasses import fields, replace

import numpy as np
import pytest

from multi_qp_scene import load_scenario
from multi_qp_simulator.runner import run_scenario
from multi_qp_viewer import BrowserViewer
from multi_qp_viewer.curves import RunCurves, Series
from multi_qp_viewer.live_curves import MOST_CHARTS, MOST_TICKS

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
ALONG = ("time", "state", "q", "v", "tau", "contact_active", "contact_wrench", "task_error")  # time


class Source:
    """A run of which `ticks` are over."""

    def __init__(self, scene, series):
        self.scene, self.all, self.ticks = scene, series, 0

    def __len__(self):
        return self.ticks

    def series(self, ticks):
        assert ticks.stop <= self.ticks
        return replace(self.all, **{name: getattr(self.all, name)[ticks] for name in ALONG})


@pytest.fixture(scope="module")
def walking():
    """Return the scene and the series of the first steps of a walk; feet are lifted."""
    scenario = load_scenario("walk")
    log = run_scenario(scenario, duration=2.5).log
    return scenario.scene, Series(**{field.name: getattr(log, field.name) for field in fields(Series)})


@pytest.fixture
def viewer(walking):
    with BrowserViewer(walking[0], title="curves", port=18200) as viewer:
        yield viewer


def test_curves_are_those_of_the_log_in_steps_of_any_size(walking, viewer):
    source = Source(*walking)
    viewer.show_curves(source)
    curves = viewer.curves
    curves.choose(["balance", "force/left_foot/*", "task/gait/com"])
    for source.ticks in (1, 2, 50, 399, 400, 401, 450, len(walking[1].time)):
        curves.update()
    stride = 2
    assert len(walking[1].time) > MOST_TICKS
    np.testing.assert_array_equal(curves._time, walking[1].time[::stride])
    whole = RunCurves(*walking)
    for name in (
        "task/gait/com",
        "balance/humanoid/y/zmp",
        "balance/humanoid/margin/com",
        "force/left_foot/tangential",
    ):
        expected, shown = whole.curve(name), curves._curves[name]
        np.testing.assert_allclose(shown.values, expected.values[::stride], equal_nan=True)
        for side in ("lower", "upper"):
            if getattr(expected, side) is not None:
                np.testing.assert_allclose(getattr(shown, side), getattr(expected, side)[::stride], equal_nan=True)
    force = next(chart for chart in curves._charts if chart.shape[0] == "force/left_foot")
    assert force._plot.series[1]["width"] == 0  # dots: the foot is in the air meanwhile
    assert len(force._plot.data[0]) == len(curves._time)


def test_names_that_match_nothing_and_too_many_charts_give_a_message(walking, viewer):
    source = Source(*walking)
    source.ticks = 10
    viewer.show_curves(source)
    curves = viewer.curves
    curves._text.value = "forc/left"  # as by a user
    assert "unknown curve" in curves._message.content and not curves._charts
    curves._text.value = "joint"
    assert f"{MOST_CHARTS} of " in curves._message.content and len(curves._charts) == MOST_CHARTS
    curves._choice.value = "force"
    assert curves._text.value == "force" and len(curves._charts) == 2 and not curves._message.content
    curves._choice.value = "none"
    assert not curves._charts


def test_the_choice_continues_with_the_next_run(walking, viewer):
    for _ in range(2):
        source = Source(*walking)
        viewer.show_curves(source)
        if not viewer.curves._globs:
            viewer.curves.choose(["cop/left_foot/x"])
        source.ticks = 30
        viewer.curves.update()
        assert len(viewer.curves._time) == 30 and len(viewer.curves._charts) == 1


@pytest.mark.slow
def test_a_chart_in_a_real_browser(walking):
    if CHROMIUM is None:
        pytest.skip("no Chromium or Chrome")
    from playwright import sync_api

    source = Source(*walking)
    source.ticks = len(walking[1].time)
    flags = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    with BrowserViewer(walking[0], title="curves", port=18210) as viewer, sync_api.sync_playwright() as playwright:
        viewer.show_curves(source)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        page = browser.new_page(viewport={"width": 1000, "height": 600})
        page.goto(viewer.url)
        page.locator("xpath=//*[text()='By name']/following::input[1]").fill("balance/humanoid/y/*")
        page.wait_for_function(
            """() => { const chart = Object.values(window.__viserTestpoints?.uplots ?? {})
                .map(each => each.chart).find(chart => chart.root.innerText.includes("balance/humanoid/y"));
                return chart && chart.data[0].length > 200 && chart.scales.y.min < chart.scales.y.max; }""",
            timeout=60_000,
        )
        assert page.get_by_text("capture point").count() == 1
        browser.close()
