"""Runs in the viewer: another scene, parameters, another run, and files, as the page requests them."""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import signal
import threading
import time

import numpy as np
import pytest

from multi_qp_cli import run_command
from multi_qp_cli.viewer_session import ViewerSession
from multi_qp_scene import load_scenario

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")


@pytest.fixture(autouse=True)
def interrupts():
    """Restore the handler of SIGINT, which background jobs of a shell ignore."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def options_of(*arguments):
    parser = argparse.ArgumentParser()
    run_command.add_to(parser.add_subparsers())
    return parser.parse_args(["run", *arguments, "--port", "18300", "--size", "64x48", "--fps", "5"])


def wait_for(condition, *, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def carried_out(session, user):
    """Execute a session, with the user's actions in another thread, until Ctrl-C; return its results."""
    errors = []

    def act():
        try:
            user()
        except BaseException as error:
            errors.append(error)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=act)
    thread.start()
    ended = session.execute()
    thread.join()
    if errors:
        raise errors[0]
    return ended


def offered(session):
    """Return the makers of the files of a finished run."""
    wait_for(lambda: session._viewer.downloads.files)
    return dict(session._viewer.downloads.files)


def test_other_scenes_and_parameters_are_run_and_their_files_offered(caplog):
    options = options_of("lever", "--duration", "0.1")
    session = ViewerSession(load_scenario("lever"), options, None, film=True)
    menu = session._menu

    def user():
        files = offered(session)
        report = json.loads(files["lever_report.json"](lambda _: None))
        assert report["scenario"] == "lever"
        assert np.load(io.BytesIO(files["lever_log.npz"](lambda _: None)))["time"][-1] > 0.05
        fractions = []
        assert files["lever.mp4"](fractions.append)[4:8] == b"ftyp"
        assert fractions[-1] == 1.0

        menu.choice.value = "box"
        wait_for(lambda: "box.mass" in menu._numbers)
        assert "humanoid takes a box" in menu._text.content and menu._picture.image.std() > 10.0
        menu._numbers["box.mass"].value = 1e6  # more than the page accepts
        menu.run()
        assert "box.mass" in menu._text.content and "500" in menu._text.content
        assert session._present.scenario.name == "lever"
        menu._numbers["box.mass"].value = 5.0
        menu.run()
        wait_for(lambda: session._present.scenario.name == "box")
        assert "box_report.json" in offered(session)
        assert session._present.scenario.parameters["box.mass"] == 5.0
        first = session._present
        session._viewer.restart()  # "Run again"
        wait_for(lambda: session._present is not first and session._viewer.downloads.files)
        assert session._present.scenario.parameters["box.mass"] == 5.0

    result, snapshots, scenario = carried_out(session, user)
    assert result.report["scenario"] == scenario.name == "box" and scenario.parameters["box.mass"] == 5.0
    assert len(snapshots[0].q) == scenario.scene.nq
    assert "Traceback" not in caplog.text


def test_a_scene_that_cannot_be_run_leaves_the_present_run_alone():
    session = ViewerSession(
        load_scenario("lever"), options_of("lever", "--duration", "0.1", "--dt", "0.005"), None, film=False
    )
    session._options.mismatch = ["payload.lever/bar=1"]  # a body that the other scene has not
    session._options.backend = "mujoco"

    def user():
        offered(session)
        menu = session._menu
        menu.choice.value = "box"
        wait_for(lambda: "box.mass" in menu._numbers)
        menu.run()
        assert "color:#c23b22" in menu._text.content
        assert session._present.scenario.name == "lever" and session._viewer.downloads.files

    result, _, _ = carried_out(session, user)
    assert result.report["scenario"] == "lever"


@pytest.mark.slow
def test_choice_and_download_in_a_real_browser():
    if CHROMIUM is None:
        pytest.skip("no Chromium or Chrome")
    from playwright import sync_api

    session = ViewerSession(load_scenario("lever"), options_of("lever", "--duration", "0.1"), None, film=False)
    flags = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]

    def user():
        with sync_api.sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
            page = browser.new_page(viewport={"width": 900, "height": 700}, accept_downloads=True)
            page.set_default_timeout(60_000)
            page.goto(session._viewer.url)
            with page.expect_download() as download:
                page.get_by_role("button", name="lever_report.json").click()
            with open(download.value.path()) as file:
                assert json.load(file)["scenario"] == "lever"
            page.get_by_text("Scene", exact=True).first.click()
            page.get_by_role("combobox", name="Scene").click()
            page.get_by_role("option", name="box", exact=True).click()
            page.get_by_text("box.mass").wait_for()
            page.get_by_role("button", name="Run this scene").click()
            page.get_by_text("box_report.json").wait_for()
            browser.close()

    result, _, _ = carried_out(session, user)
    assert result.report["scenario"] == "box"
