"""Light, floor, camera and panel colours of the browser view."""

from __future__ import annotations

import viser

from multi_qp_viewer.camera import Camera
from multi_qp_viewer.scene_view import DrawableScene, scene_bounds

BLUE = (61, 133, 227)


def furnish(server: viser.ViserServer, scene: DrawableScene) -> None:
    """Make an empty page a pale studio with a three-quarter front view of the scene."""
    server.gui.configure_theme(show_logo=False, show_share_button=False, brand_color=BLUE)
    server.gui.main_panel.dock_right()
    server.scene.set_up_direction("+z")
    _add_lights(server)
    _add_floor(server)
    lower, upper = scene_bounds(scene, scene.q0)
    camera = Camera.framing(lower, upper, aspect=1.4)
    server.initial_camera.position = camera.position
    server.initial_camera.look_at = camera.target
    server.initial_camera.fov = camera.fov


def _add_lights(server: viser.ViserServer) -> None:
    """Replace viser's light from straight above, under which all sides look alike."""
    server.scene.configure_default_lights(False)
    server.scene.configure_environment_map("studio", environment_intensity=0.1)
    server.scene.add_light_directional(
        "/lights/key", color=(255, 246, 235), intensity=2.4, cast_shadow=True, position=(3.0, -2.0, 5.0)
    )
    server.scene.add_light_hemisphere(
        "/lights/sky", sky_color=(240, 246, 255), ground_color=(190, 186, 180), intensity=1.6
    )


def _add_floor(server: viser.ViserServer) -> None:
    server.scene.add_grid(
        "/floor",
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
