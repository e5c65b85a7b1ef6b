"""Former values of ROS parameters: accepted with a warning, and replaced by the present ones."""

from __future__ import annotations

from types import SimpleNamespace

from multi_qp_ros import parameters
from multi_qp_ros.nodes.com_trajectory_node import PARAMETERS, SMALLER_REGION_CENTRE


def test_the_former_name_of_the_default_cost_is_replaced_with_a_warning(caplog):
    specs = [spec for spec in PARAMETERS if spec.name == "cost"]
    node = SimpleNamespace(get_parameter=lambda name: SimpleNamespace(value="at_ease"))
    change = [SimpleNamespace(name="cost", value="at_ease")]
    assert parameters.refuse_changes(change, specs, configured=False).successful
    assert parameters.values(node, specs) == {"cost": SMALLER_REGION_CENTRE}
    assert "'at_ease' is deprecated" in caplog.text
