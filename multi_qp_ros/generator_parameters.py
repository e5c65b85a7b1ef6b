"""Settings of motion generators as parameters of the controller node, `generators.<generator>.<setting>`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rcl_interfaces.msg import SetParametersResult

from multi_qp_controller.controller import Controller
from multi_qp_ros.parameters import GENERATORS, NodeParameter, declare_one, refuse_changes
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.schema.settings import Setting
from multi_qp_scene.suggestions import unknown_name


def settings_of(scenario: Scenario) -> dict[tuple[str, str], Setting]:
    """Return the settings of the generators of all states, by generator and setting."""
    found: dict[tuple[str, str], Setting] = {}
    for state in scenario.spec.states.values():
        for generator, spec in state.generators.items():
            for name, setting in spec.settings.items():
                found.setdefault((generator, name), setting)
    return found


def parameter_name(generator: str, setting: str) -> str:
    """Return the name of the parameter of a setting."""
    return f"{GENERATORS}{generator}.{setting}"


class GeneratorParameters:
    """Parameters of the settings of a scenario; changes apply to the controller from its next tick on."""

    def __init__(self, node: Any, scenario: Scenario) -> None:
        """Declare them.

        Args:
            node: the controller node.
            scenario: its scenario.

        Raises:
            MultiQpError: when a given parameter is no setting of the scenario, of the wrong type or out of range.
        """
        self._node = node
        self._controller: Controller | None = None
        self._settings: dict[str, tuple[str, str]] = {}
        self._specs: list[NodeParameter] = []
        for (generator, setting), one in settings_of(scenario).items():
            name = parameter_name(generator, setting)
            self._settings[name] = generator, setting
            text = f"{one.description}{f' [{one.unit}]' if one.unit else ''}"
            spec = NodeParameter(name, float(one.value), text, float(one.minimum), float(one.maximum))
            self._specs.append(spec)
        given = [name for name in node.list_parameters([], 0).names if name.startswith(GENERATORS)]
        for name in given:
            if name not in self._settings:
                raise MultiQpError(unknown_name("parameter", name, self._settings))
            node.undeclare_parameter(name)
        for spec in self._specs:
            declare_one(node, spec)
        self._values = {name: node.get_parameter(name).value for name in given}
        node.add_on_set_parameters_callback(self._refuse)
        node.add_post_set_parameters_callback(self._apply)

    def attach(self, controller: Controller) -> None:
        """Apply all that were given or changed to a controller, and later changes."""
        self._controller = controller
        for name, value in self._values.items():
            controller.adjust(*self._settings[name], value)

    def destroy(self) -> None:
        """Undeclare them."""
        self._node.remove_on_set_parameters_callback(self._refuse)
        self._node.remove_post_set_parameters_callback(self._apply)
        for spec in self._specs:
            self._node.undeclare_parameter(spec.name)

    def _refuse(self, parameters: Iterable[Any]) -> SetParametersResult:
        return refuse_changes((one for one in parameters if one.name in self._settings), self._specs, configured=False)

    def _apply(self, parameters: Iterable[Any]) -> None:
        for one in parameters:
            if one.name in self._settings:
                self._values[one.name] = one.value
                if self._controller is not None:
                    self._controller.adjust(*self._settings[one.name], one.value)
