"""Base class of the nodes that load a scenario and run until their process ends."""

from __future__ import annotations

from collections.abc import Sequence

from rclpy.node import Node

from multi_qp_ros import parameters
from multi_qp_ros.health import Health
from multi_qp_ros.parameters import NodeParameter


class ScenarioNode(Node):
    """Node with read-only parameters, a scenario and diagnostics; a `process.Worker`.

    Attributes:
        exit_status: exit status of the process, set when it is to end.
    """

    _health: Health

    def __init__(self, name: str, specs: Sequence[NodeParameter]) -> None:
        """Read the parameters, and load the scenario.

        Args:
            name: of the node.
            specs: its parameters, with those of `parameters.load`.

        Raises:
            MultiQpError: when a parameter or the scenario is invalid.
        """
        super().__init__(name, automatically_declare_parameters_from_overrides=True)
        parameters.declare(self, specs, read_only=True)
        self._settings = parameters.values(self, specs)
        self.exit_status: int | None = None
        self._scenario = parameters.load(self._settings)

    def failed(self, doing: str, error: Exception) -> None:
        """Count and log an exception."""
        self._health.failed(doing, error)

    def close(self, reason: str, patience: float | None) -> None:
        """Publish the end of the process; what a node has published last remains."""
        self._health.end(reason)
