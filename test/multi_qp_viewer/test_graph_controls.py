"""Tests of the page controls for a run on a ROS graph."""

from __future__ import annotations

import numpy as np

from multi_qp_scene.schema.settings import Setting
from multi_qp_viewer.graph_controls import GraphControls


class Page:
    def __init__(self):
        self.callbacks = {}

    def add_slider(self, name, low, high, initial, callback):
        self.callbacks[name] = callback

    def add_target_handle(self, name, position, callback):
        self.callbacks[name] = callback

    def add_button(self, name, callback):
        self.callbacks[name] = callback


class UserInputs:
    def __init__(self):
        self.got = []

    def move(self, name, position):
        self.got.append((name, tuple(position)))

    def weigh(self, name, mass):
        self.got.append((name, mass))

    def give(self, name):
        self.got.append(name)

    def adjust(self, name, value):
        self.got.append((name, value))


def test_newest_value_of_each_control_is_sent():
    page, user = Page(), UserInputs()
    tension = Setting(0.5, 0.0, 1.0, "tension")
    controls = GraphControls(page, user, {"barbell": (1.0, 9.0, 2.0)}, {"arms.tension": ("arms: tension", tension)})
    controls.offer({"hand": np.zeros(3)}, ["go_on"])
    for number in range(1000):
        page.callbacks["hand"](np.full(3, number))
        page.callbacks["barbell [kg]"](number / 1000)
        page.callbacks["arms: tension"](number / 1000)
        page.callbacks["go on"]()
    controls.send_pending()
    assert user.got == [("hand", (999, 999, 999)), ("barbell", 0.999), ("arms.tension", 0.999), "go_on"]
    controls.send_pending()
    assert len(user.got) == 4
