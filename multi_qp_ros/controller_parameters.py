"""Parameters of the node `multi_qp_controller`."""

from __future__ import annotations

from multi_qp_controller.qp import solver_names
from multi_qp_controller.qp.formulations import FORMULATIONS
from multi_qp_ros.parameters import SCENARIO_PARAMETERS, ParameterSpec
from multi_qp_ros.real_time import REAL_TIME_PARAMETERS

PARAMETERS = (
    *SCENARIO_PARAMETERS,
    ParameterSpec("solver", "", "QP solver; empty: the scenario's, else the fastest", choices=("", *solver_names())),
    ParameterSpec("formulation", "", "QP formulation", choices=("", *FORMULATIONS)),
    ParameterSpec("max_state_age", 5, "periods after which a state is too old, or a command too late", 1, 1000),
    ParameterSpec(
        "compensate_delay", True, "wall clock: predict the state to the time at which the command takes effect"
    ),
    ParameterSpec("marker_rate", 20.0, "rate of the markers [Hz]; 0: none", 0.0, 200.0),
    ParameterSpec("descriptions", True, "publish the URDF of each part of the scene"),
    ParameterSpec("interactive", False, "a user moves targets and gives commands"),
    ParameterSpec("attended", False, "deprecated name of `interactive`"),
    ParameterSpec("autostart", False, "configure and activate at once"),
    ParameterSpec("duration", 0.0, "longest time of a run [s]; 0: the scenario's", 0.0, 1e6),
    ParameterSpec(
        "exit_at_end", False, "end the process with the run; its exit status says whether the goals were met"
    ),
    ParameterSpec("report", "", "file for the report (JSON) at the end of the run"),
    ParameterSpec("record", "", "file for a recording (MCAP) of every tick, for multi-qp replay"),
    *REAL_TIME_PARAMETERS,
    ParameterSpec("timing", "", "file for the times of every tick (npz), written at the end of the process"),
)
