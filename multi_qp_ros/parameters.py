"""Declaration and validation of node parameters, with descriptions and ranges."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException

from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.former_names import present_name
from multi_qp_scene.scenario import Scenario, load_scenario
from multi_qp_scene.suggestions import unknown_name

#: Parameters that rclpy declares by itself.
_BUILT_IN = ("use_sim_time", "start_type_description_service")
#: Prefix of the parameters of motion generators, which a configured node declares.
GENERATORS = "generators."


@dataclass(frozen=True)
class NodeParameter:
    """One parameter.

    Attributes:
        name: name of the parameter.
        default: default value, which determines the type.
        description: one line, with the unit.
        minimum: smallest valid number.
        maximum: largest valid number.
        choices: valid strings; any if empty.
        former: present choices by former ones, which are accepted with a warning.
    """

    name: str
    default: bool | int | float | str
    description: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    former: Mapping[str, str] = field(default_factory=dict)

    def descriptor(self, *, read_only: bool) -> ParameterDescriptor:
        """Return the descriptor, as shown by `ros2 param describe`."""
        descriptor = ParameterDescriptor(description=self.description, read_only=read_only)
        if self.choices:
            descriptor.additional_constraints = "one of: " + ", ".join(repr(choice) for choice in self.choices)
        if self.minimum is not None and self.maximum is not None:
            if isinstance(self.default, float):
                limits = FloatingPointRange(from_value=self.minimum, to_value=self.maximum)
                descriptor.floating_point_range = [limits]
            else:
                descriptor.integer_range = [IntegerRange(from_value=int(self.minimum), to_value=int(self.maximum))]
        return descriptor


#: Parameters of every node that loads a scenario.
SCENARIO_PARAMETERS = (
    NodeParameter("scenario", "", "name of a scenario, or path of its file"),
    NodeParameter("set", "", "parameters of the scenario, as 'box.mass=5, path.duration=2'"),
    NodeParameter("seed", 0, "seed of everything random in the scenario", 0, 2**31 - 1),
    NodeParameter("dt", 0.0, "control period [s]; 0: the scenario's", 0.0, 1.0),
    NodeParameter("closed_loop", False, "torques act on real or simulated dynamics: use the scenario's closed_loop"),
    NodeParameter(
        "lock_step", False, "lock-step: each state waits for the command of the one before; else by the wall clock"
    ),
)


def declare(node: Any, specs: Sequence[NodeParameter], *, read_only: bool = False, generators: bool = False) -> None:
    """Declare the parameters of a node that was created with `automatically_declare_parameters_from_overrides`.

    Args:
        node: the node.
        specs: its parameters.
        read_only: whether they cannot be changed.
        generators: whether parameters of motion generators may be given, see `GeneratorParameters`.

    Raises:
        MultiQpError: when a given parameter is unknown, of the wrong type or out of range.
    """
    known = [spec.name for spec in specs]
    given = [name for name in node.list_parameters([], 0).names if name not in _BUILT_IN]
    for name in _BUILT_IN:  # rclpy only logs an invalid type, and goes on
        if node.has_parameter(name) and not isinstance(value := node.get_parameter(name).value, bool):
            raise MultiQpError(f"parameter '{name}': expected true or false, got {value!r}")
    for name in given:
        if name.startswith("qos_overrides.") or (generators and name.startswith(GENERATORS)):
            continue
        if name not in known:
            raise MultiQpError(unknown_name("parameter", name, known))
        node.undeclare_parameter(name)
    for spec in specs:
        declare_one(node, spec, read_only=read_only)
    if read_only:
        node.add_on_set_parameters_callback(_keep_clock)


def declare_one(node: Any, spec: NodeParameter, *, read_only: bool = False) -> None:
    """Declare a parameter, which has the value that was given at the start of the node.

    Raises:
        MultiQpError: when that value is of the wrong type or out of range.
    """
    try:
        node.declare_parameter(spec.name, spec.default, spec.descriptor(read_only=read_only))
    except (InvalidParameterTypeException, InvalidParameterValueException) as error:
        raise MultiQpError(f"parameter '{spec.name}': {error}") from None
    _check(spec, node.get_parameter(spec.name).value)


def _keep_clock(parameters: Iterable[Any]) -> SetParametersResult:
    """Reject changes of `use_sim_time` for nodes with read-only parameters."""
    changed = any(parameter.name == "use_sim_time" for parameter in parameters)
    return SetParametersResult(successful=not changed, reason="use_sim_time is fixed" if changed else "")


def _check(spec: NodeParameter, value: Any) -> None:
    if isinstance(value, float) and math.isnan(value):  # no range excludes it
        raise MultiQpError(f"parameter '{spec.name}': expected a number, got nan")
    if spec.choices and value not in (*spec.choices, *spec.former):
        raise MultiQpError(f"parameter '{spec.name}': {unknown_name('value', str(value), list(spec.choices))}")


def refuse_changes(parameters: Iterable[Any], specs: Sequence[NodeParameter], *, configured: bool) -> Any:
    """Validate a change of parameters, which is permitted until the node is configured."""
    by_name = {spec.name: spec for spec in specs}
    for parameter in parameters:
        if parameter.name not in by_name and parameter.name != "use_sim_time":
            continue
        if configured:
            return SetParametersResult(successful=False, reason="the node is configured: clean it up first")
        try:
            if parameter.name in by_name:
                _check(by_name[parameter.name], parameter.value)
        except MultiQpError as error:
            return SetParametersResult(successful=False, reason=str(error))
    return SetParametersResult(successful=True)


def values(node: Any, specs: Sequence[NodeParameter]) -> dict[str, Any]:
    """Return the parameters of a node by name."""
    found = {spec.name: node.get_parameter(spec.name).value for spec in specs}
    for spec in specs:
        if spec.former:
            found[spec.name] = present_name(f"parameter '{spec.name}': the value", found[spec.name], spec.former)
    return found


def load(settings: dict[str, Any]) -> Scenario:
    """Load the scenario given by the parameters of a node.

    Raises:
        MultiQpError: when the scenario is missing, or it or one of its parameters is invalid.
    """
    if not settings["scenario"]:
        raise MultiQpError("parameter 'scenario' is empty")
    scenario = load_scenario(settings["scenario"], parameters=assignments(settings["set"]), seed=settings["seed"])
    spec = scenario.spec
    if spec.behaviour is not None and spec.behaviour.online is not None:
        reason = "motions of a `behaviour` with `online` are not made in real time"
        raise MultiQpError(f"{scenario.name}: {reason}; `multi-qp run {scenario.name}` waits for them")
    if spec.plan is not None:
        from motion_generation.standing import ready_for_plans

        return ready_for_plans(scenario)
    from motion_generation.state_generation import generate_states

    answer = generate_states(scenario)  # by every node itself, as the result is deterministic
    if spec.behaviour is not None and answer.failure:
        raise MultiQpError(f"{scenario.name}: {answer.failure}; it is not played")
    return answer.scenario


def control_period(settings: dict[str, Any], scenario: Scenario) -> float:
    """Return the control period for the parameters of a node [s]."""
    in_loop = scenario.spec.closed_loop.dt if settings["closed_loop"] else None
    return float(settings["dt"] or in_loop or scenario.spec.dt)


def assignments(text: str) -> dict[str, float]:
    """Return the values of the parameter `set`, by name.

    Raises:
        MultiQpError: when an assignment is malformed.
    """
    found = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = part.partition("=")
        try:
            found[name.strip()] = float(value)
        except ValueError:
            raise MultiQpError(f"parameter 'set': expected NAME=NUMBER, got '{part}'") from None
    return found
