"""Parameters of the node `multi_qp_controller`."""

from __future__ import annotations

from multi_qp_controller.qp.choice import FORMULATION_NAMES, SOLVER_NAMES
from multi_qp_ros.parameters import SCENARIO_PARAMETERS, NodeParameter
from multi_qp_ros.real_time import REAL_TIME_PARAMETERS

PARAMETERS = (
    *SCENARIO_PARAMETERS,
    NodeParameter("solver", "", "QP solver; empty: the scenario's, else the fastest", choices=("", *SOLVER_NAMES)),
    NodeParameter("formulation", "", "QP formulation", choices=("", *FORMULATION_NAMES)),
    NodeParameter("max_state_age", 5, "periods after which a state is too old, or a command too late", 1, 1000),
    NodeParameter(
        "compensate_delay", True, "wall clock: predict the state to the time at which the command takes effect"
    ),
    NodeParameter("stamped_cmd_vel", True, "velocity commands are TwistStamped, else Twist"),
    NodeParameter("marker_rate", 20.0, "rate of the markers [Hz]; 0: none", 0.0, 200.0),
    NodeParameter("descriptions", True, "publish the URDF of each part of the scene"),
    NodeParameter("interactive", False, "a user moves targets and gives commands"),
    NodeParameter("attended", False, "deprecated name of `interactive`"),
    NodeParameter("autostart", False, "configure and activate at once"),
    NodeParameter("duration", 0.0, "longest time of a run [s]; 0: the scenario's", 0.0, 1e6),
    NodeParameter("exit_at_end", False, "end the process with the run; its exit status is 0 if the goals were met"),
    NodeParameter("report", "", "file for the report (JSON) at the end of the run"),
    NodeParameter("record", "", "file for a recording (MCAP) of every tick, for multi-qp replay"),
    *REAL_TIME_PARAMETERS,
    NodeParameter("timing", "", "file for the times of every tick (npz), written at the end of the process"),
)
