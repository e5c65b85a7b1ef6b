from __future__ import annotations

import http.server
import io
import json
import shutil
import threading
import time
import urllib.request
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import viser

from multi_qp_scene.schema.walking import VelocityLimitsSpec
from multi_qp_viewer import BrowserViewer, browser_studio

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
BROWSER_TIMEOUT = 60_000  # for software rendering on a loaded machine [ms]


@pytest.fixture
def viewer(scene):
    with BrowserViewer(scene, title="toy", port=18080) as viewer:
        yield viewer


@pytest.fixture
def finished(viewer, snapshots):
    for snapshot in snapshots:
        viewer.show(snapshot)
    viewer.finish()
    return viewer


def wait_for(condition, *, seconds=3.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def body_position(viewer, name):
    return viewer.drawing.bodies.positions[viewer.drawing.bodies.names.index(name)]


def handle(viewer, name):
    found = viewer._server.scene.get_handle_by_name(name)
    assert found is not None, name
    return found


def test_serves_its_page(viewer):
    with urllib.request.urlopen(viewer.url, timeout=5) as answer:
        assert answer.status == 200
        assert b"<html" in answer.read().lower()


def test_next_free_port_is_used_if_the_requested_one_is_in_use(scene, viewer):
    with BrowserViewer(scene, title="second", port=18080) as second:
        assert second.url != viewer.url


def test_prints_nothing(scene, capsys):
    BrowserViewer(scene, title="quiet", port=18090).close()
    assert capsys.readouterr().out == ""


def test_show_is_cheap_for_the_control_loop(viewer, snapshots):
    costs = []
    for snapshot in snapshots:
        start = time.perf_counter()
        viewer.show(snapshot)
        costs.append(time.perf_counter() - start)
    assert len(viewer.player.history) == len(snapshots)
    assert np.median(costs) < 50e-6


def test_live_view_shows_the_newest_tick(viewer, snapshots):
    viewer.show(snapshots[0])
    assert viewer.refresh() is snapshots[0]
    viewer.show(snapshots[1])
    assert viewer.refresh() is snapshots[1]


def test_viewer_thread_draws(viewer, snapshots):
    before = body_position(viewer, "red/torso_0").copy()
    viewer.show(snapshots[10])
    wait_for(lambda: not np.allclose(body_position(viewer, "red/torso_0"), before))


def test_scrubbing_poses_the_bodies(finished):
    finished.player.seek(0.25)
    shown = finished.refresh()
    assert shown.time == pytest.approx(0.24)
    np.testing.assert_allclose(body_position(finished, "red/pelvis_0"), shown.q[:3], atol=1e-9)
    finished.player.seek(0.76)
    assert finished.refresh().time == pytest.approx(0.76)
    assert body_position(finished, "red/pelvis_0")[1] < 0 < shown.q[1]


def test_scrubbing_works_during_the_run(viewer, snapshots):
    for snapshot in snapshots[:50]:
        viewer.show(snapshot)
    viewer.player.seek(0.1)
    viewer.show(snapshots[50])
    assert viewer.refresh().time == pytest.approx(0.1)
    viewer.player.go_live()
    assert viewer.refresh() is snapshots[50]


def test_play_advances_at_the_selected_speed(finished):
    finished.player.seek(0.5)
    finished.refresh()
    finished.player.set_speed(2.0)
    finished.player.play()
    first = finished.refresh().time
    wait_for(lambda: finished.player.time > first + 0.2)
    finished.player.pause()
    held = finished.refresh().time
    time.sleep(0.1)
    assert finished.refresh().time == held


def test_reset_replays_from_the_start(finished):
    finished.refresh()
    finished.player.reset()
    assert finished.refresh().time < 0.3
    assert finished.player.playing


def test_status_shows_state_status_and_tick(finished):
    finished.player.seek(1.8)
    wait_for(lambda: "1.80 s" in finished.panel._status.content)
    text = finished.panel._status.content
    assert "Carry" in text
    assert "relaxed" in text


def test_state_names_cannot_inject_markup(viewer, snapshots):
    viewer.show(replace(snapshots[0], state="<script>"))
    viewer._next_text = 0.0
    viewer.refresh()
    assert "<script>" not in viewer.panel._status.content


@pytest.mark.parametrize(
    ("title", "node"),
    [
        ("Bodies", "/world/bodies/0"),
        ("Contact forces", "/world/drawings/contact_forces/arrows"),
        ("Friction cones", "/world/drawings/friction_cones/triangles"),
        ("Centre of mass", "/world/drawings/com/balls"),
        ("Support polygon", "/world/drawings/support_polygon/triangles"),
        ("Watched pairs", "/world/drawings/watched_pairs/segments"),
        ("Targets", "/world/drawings/targets/segments"),
    ],
)
def test_hidden_layers_stay_hidden(finished, title, node):
    finished.refresh()
    finished.set_layer(title, True)
    assert handle(finished, node).visible
    finished.set_layer(title, False)
    finished.player.seek(0.3)
    finished.refresh()
    assert not handle(finished, node).visible


def test_unknown_layer_lists_the_known_ones(viewer):
    with pytest.raises(ValueError, match="Contact forces"):
        viewer.set_layer("nonsense", True)


def test_force_arrows_start_at_contact_points(finished, snapshots):
    finished.player.seek(0.0)
    finished.refresh()
    arrows = handle(finished, "/world/drawings/contact_forces/arrows").points
    assert arrows.shape == (8, 2, 3)
    np.testing.assert_allclose(arrows[:4, 0], snapshots[0].contacts[0].points, atol=1e-6)
    assert np.all(arrows[:, 1, 2] > arrows[:, 0, 2])


def test_contact_changes_create_no_new_meshes(viewer, snapshots):
    viewer.set_layer("Friction cones", True)
    viewer.show(snapshots[0])
    viewer.refresh()
    before = handle(viewer, "/world/drawings/friction_cones/triangles")
    viewer.show(replace(snapshots[1], contacts=snapshots[1].contacts[:1], support_polygon=None, pairs=(), targets=()))
    viewer.refresh()
    assert handle(viewer, "/world/drawings/friction_cones/triangles") is before
    assert np.sum(before.vertices[:, 2] > -100) == 4 * 4 * 3  # four sides at each of four points
    assert handle(viewer, "/world/drawings/contact_forces/arrows").points.shape == (4, 2, 3)


def test_pairs_are_coloured_by_distance(finished):
    finished.player.seek(0.0)  # 15 cm: beyond influence; 5 cm: inside
    finished.refresh()
    far, near = handle(finished, "/world/drawings/watched_pairs/segments").colors[:2, 0].astype(int)
    assert np.ptp(far) < 20  # grey
    assert near[0] > near[2] + 100  # yellow to red
    assert handle(finished, "/world/drawings/watched_pairs/word_0").text == "5.0 cm"
    assert finished._server.scene.get_handle_by_name("/world/drawings/watched_pairs/word_1") is None


def test_run_again_clears_the_history_and_calls_back(scene, snapshots):
    called = threading.Event()
    with BrowserViewer(scene, title="again", port=18100, on_restart=called.set) as viewer:
        viewer.show(snapshots[5])
        viewer.finish()
        viewer.restart()
        assert called.is_set()
        assert len(viewer.player.history) == 0
        viewer.show(snapshots[0])
        assert viewer.refresh() is snapshots[0]


def test_target_handles_and_sliders_call_back(viewer):
    heights = []
    slider = viewer.controls.add_slider("height", 0.0, 1.0, 0.5, heights.append)
    slider.value = 0.75
    assert heights == [0.75]
    knob = viewer.controls.add_target_handle("hand", np.array([0.1, 0.2, 0.3]), lambda position: None)
    np.testing.assert_allclose(knob.position, [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="not within"):
        viewer.controls.add_slider("height", 0.0, 1.0, 2.0, heights.append)


def test_wait_returns_when_closed(scene):
    viewer = BrowserViewer(scene, title="wait", port=18110)
    threading.Timer(0.1, viewer.close).start()
    viewer.wait()
    viewer.close()


@pytest.fixture
def browser():
    """Chromium with software rendering."""
    if CHROMIUM is None:
        pytest.skip("no Chromium or Chrome")
    from playwright import sync_api

    flags = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags + quiet)
        yield browser
        browser.close()


def test_page_in_a_real_browser(browser, finished):
    from PIL import Image

    finished.player.seek(0.5)
    page = browser.new_page(viewport={"width": 900, "height": 500})
    page.goto(finished.url)
    page.get_by_text("Lift").wait_for(timeout=BROWSER_TIMEOUT)
    page.locator("canvas").first.wait_for(timeout=BROWSER_TIMEOUT)
    picture = wait_for_picture(page)
    page.get_by_role("button", name="Play").click()
    page.get_by_text("Carry").wait_for(timeout=BROWSER_TIMEOUT)
    pixels = np.asarray(Image.open(io.BytesIO(picture)).convert("RGB")).astype(int)
    red, green, blue = np.moveaxis(pixels[:, :560], 2, 0)
    assert np.sum((red > green + 40) & (red > blue + 40)) > 500  # the red toy
    assert np.sum((blue > red + 40) & (blue > green + 15)) > 500  # the blue toy


def test_page_can_be_reloaded_and_its_buttons_work(browser, finished):
    finished.player.seek(1.8)
    page = browser.new_page(viewport={"width": 900, "height": 500})
    page.goto(finished.url)
    page.get_by_text("Carry").wait_for(timeout=BROWSER_TIMEOUT)
    page.reload()
    page.get_by_text("Carry").wait_for(timeout=BROWSER_TIMEOUT)
    finished.player.set_speed(0.1)
    page.get_by_text("Reset", exact=True).click()
    page.get_by_text("Lift").wait_for(timeout=BROWSER_TIMEOUT)
    assert finished.player.playing
    assert finished.player.time < 1.0
    page.goto(finished.url.split("?")[0])
    assert "Refused" in page.content()


def test_velocity_pad_by_arrow_keys_and_pointer(browser, finished):
    got = []
    limits = VelocityLimitsSpec(ahead=0.8, back=0.5, aside=0.3, turn=1.0)
    finished.controls.add_velocity_pad("gait", limits, lambda *velocity: got.append(velocity))
    page = browser.new_page(viewport={"width": 900, "height": 700})
    page.goto(finished.url)
    page.locator("[data-pad=gait]").wait_for(timeout=BROWSER_TIMEOUT)
    wait_for(lambda: page.evaluate("window.velocityPads?.connected === true"), seconds=60.0)

    def after(act):
        """Return the distinct commands until the pad is at rest again."""
        got.clear()
        act()
        wait_for(lambda: got and got[-1] == (0.0, 0.0, 0.0), seconds=60.0)
        return list(dict.fromkeys(got))

    assert after(lambda: page.keyboard.press("ArrowUp", delay=300)) == [(0.8, 0.0, 0.0), (0.0, 0.0, 0.0)]
    assert after(lambda: page.keyboard.press("ArrowDown")) == [(-0.5, 0.0, 0.0), (0.0, 0.0, 0.0)]
    assert after(lambda: page.keyboard.press("ArrowRight")) == [(0.0, 0.0, -1.0), (0.0, 0.0, 0.0)]
    assert (0.0, 0.3, 0.0) in after(lambda: page.keyboard.press("Shift+ArrowLeft"))

    def drag():
        box = page.locator("[data-pad] [data-part=move]").bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 4)
        page.mouse.up()

    assert max(after(drag)) == pytest.approx((0.4, 0.0, 0.0), abs=0.02)
    page.keyboard.down("ArrowUp")
    assert after(page.close)[-1] == (0.0, 0.0, 0.0)  # while the key is held


FOREIGN_PAGE = """<html><body><script>
const attempts = [];
for (const address of ADDRESSES) {
    attempts.push(fetch("http://" + address).then(() => "read", () => "failed"));
    attempts.push(new Promise(done => {
        const socket = new WebSocket("ws://" + address, ["viser-vVERSION"]);
        socket.onopen = () => done("open");
        socket.onclose = () => done("closed");
    }));
    attempts.push(new Promise(done => {
        const frame = document.body.appendChild(document.createElement("iframe"));
        frame.onload = () => done(frame.contentDocument ? "readable" : "opaque");
        frame.src = "http://" + address;
    }));
}
Promise.all(attempts).then(ends => document.title = "ends: " + ends.join(" "));
</script></body></html>"""


def test_page_of_another_origin_is_refused_even_with_the_token(browser, finished, tmp_path):
    address = finished.url.removeprefix("http://")
    addresses = [address, address.split("?")[0], address.replace("127.0.0.1", "localhost")]
    text = FOREIGN_PAGE.replace("ADDRESSES", json.dumps(addresses)).replace("VERSION", viser.__version__)
    (tmp_path / "index.html").write_text(text)
    serve = partial(http.server.SimpleHTTPRequestHandler, directory=tmp_path)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve) as foreign:
        threading.Thread(target=foreign.serve_forever, daemon=True).start()
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{foreign.server_port}/")
        page.wait_for_function("document.title.startsWith('ends:')", timeout=BROWSER_TIMEOUT)
        assert page.title() == "ends: " + " ".join(["failed closed opaque"] * len(addresses))
        assert [frame.url for frame in page.frames[1:]] == ["chrome-error://chromewebdata/"] * len(addresses)
        assert not finished._server.get_clients()
        foreign.shutdown()


@pytest.mark.parametrize(("wait", "lights"), [(0.0, 0), (0.3, 1)])
def test_slow_pages_are_drawn_without_shadows(monkeypatch, wait, lights):
    monkeypatch.setattr(browser_studio, "PROBE_PAUSE", 0.0)
    added = []
    client = SimpleNamespace(
        client_id=3,
        local_storage=SimpleNamespace(get_item=lambda key, timeout: time.sleep(wait)),
        scene=SimpleNamespace(add_light_directional=lambda name, **light: added.append((name, light["cast_shadow"]))),
    )
    browser_studio.simplify_if_slow(SimpleNamespace(get_clients=lambda: {3: client}), client)
    assert added == [("/lights/key", False)] * lights
    browser_studio.simplify_if_slow(SimpleNamespace(get_clients=dict), client)  # the page was closed
    assert len(added) == lights


def wait_for_picture(page):
    """Wait until the canvas shows more than the floor."""
    from PIL import Image

    for _ in range(60):
        picture = page.screenshot()
        pixels = np.asarray(Image.open(io.BytesIO(picture)).convert("RGB")).astype(int)[:, :560]
        if np.sum(np.ptp(pixels, axis=2) > 60) > 3000:
            return picture
        page.wait_for_timeout(300)
    pytest.fail("the canvas stayed blank")


def test_error_while_drawing_does_not_stop_the_viewer(viewer, snapshots, caplog):
    viewer.show(replace(snapshots[0], q=np.zeros(3)))
    wait_for(lambda: "cannot draw" in caplog.text)
    viewer.show(snapshots[1])
    assert viewer.refresh() is snapshots[1]
