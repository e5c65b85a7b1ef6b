"""Lights, floor, camera and theme of the browser view."""

from __future__ import annotations

import time
from statistics import median

import numpy as np
import viser

from multi_qp_viewer.camera import Camera
from multi_qp_viewer.following import WORLD
from multi_qp_viewer.scene_view import DrawableScene, scene_bounds

BLUE = (61, 133, 227)
FLOOR = f"{WORLD}/floor"
SLOW_FRAME = 0.2  # frame time above which a page is drawn without shadows [s]
FRAME_PROBES, PROBE_PAUSE, PROBE_TIMEOUT = 5, 0.5, 3.0  # of its measurement; the last two in [s]


def set_up_page(server: viser.ViserServer, scene: DrawableScene) -> None:
    """Add theme, lights, floor and a view of the scene to an empty page."""
    server.gui.configure_theme(show_logo=False, show_share_button=False, brand_color=BLUE)
    server.gui.main_panel.dock_right()
    server.scene.set_up_direction("+z")
    _add_lights(server)
    server.scene.add_frame(WORLD, show_axes=False)
    _add_floor(server)
    frame_scene(server, scene)


def frame_scene(server: viser.ViserServer, scene: DrawableScene) -> None:
    """Set a three-quarter front view of the scene, on open pages too."""
    lower, upper = scene_bounds(scene, scene.q0)
    camera = Camera.framing(lower, upper, aspect=1.4)
    server.initial_camera.position = camera.position
    server.initial_camera.look_at = camera.target
    server.initial_camera.fov = camera.fov
    for client in server.get_clients().values():
        client.camera.position, client.camera.look_at = np.array(camera.position), np.array(camera.target)


def simplify_if_slow(server: viser.ViserServer, client: viser.ClientHandle) -> None:
    """Disable shadows for one page that renders slowly, as without a GPU; input is processed between its frames.

    Takes some seconds. The frame time is measured by requests to local storage, which a page answers at the start of
    its next frame.
    """
    waits = []
    try:
        for _ in range(FRAME_PROBES):
            time.sleep(PROBE_PAUSE)
            if client.client_id not in server.get_clients():
                return
            start = time.monotonic()
            client.local_storage.get_item("multi_qp", timeout=PROBE_TIMEOUT)
            waits.append(time.monotonic() - start)
    except TimeoutError:
        waits.append(PROBE_TIMEOUT)
    except RuntimeError:  # the page was closed, or has no local storage
        return
    if median(waits) > SLOW_FRAME:
        _add_key_light(client.scene, cast_shadow=False)  # replaces the shared light


def _add_lights(server: viser.ViserServer) -> None:
    """Replace viser's light from straight above, under which all sides look alike.

    Without an environment map, which has little visible effect and doubles the frame time in software rendering.
    """
    server.scene.configure_default_lights(False)
    server.scene.configure_environment_map(None)
    _add_key_light(server.scene, cast_shadow=True)
    server.scene.add_light_hemisphere(
        "/lights/sky", sky_color=(240, 246, 255), ground_color=(190, 186, 180), intensity=1.8
    )


def _add_key_light(scene: viser.SceneApi, *, cast_shadow: bool) -> None:
    scene.add_light_directional(
        "/lights/key", color=(255, 246, 235), intensity=2.4, cast_shadow=cast_shadow, position=(3.0, -2.0, 5.0)
    )


def _add_floor(server: viser.ViserServer) -> None:
    server.scene.add_grid(
        FLOOR,
        width=40.0,
        height=40.0,
        cell_size=0.5,
        section_size=1.0,
        cell_color=(222, 225, 230),
        section_color=(203, 208, 215),
        infinite_grid=True,
        fade_distance=25.0,
        plane_color=(243, 244, 246),
        plane_opacity=1.0,
        shadow_opacity=0.3,
    )
