"""Motion of one robot in the log of a run, as a reference motion."""

from __future__ import annotations

import json

import numpy as np

from multi_qp_scene.errors import MultiQpError, shown_path
from multi_qp_scene.motions.reference import ReferenceMotion
from multi_qp_scene.resources import scenario_path
from multi_qp_scene.scenario import Scenario, load_scenario
from multi_qp_scene.suggestions import unknown_name
from multi_qp_simulator.log import Log


def scenario_of(log: Log, name_or_path: str | None) -> Scenario:
    """Load the scenario of a log with the parameters of its run.

    Args:
        log: of the run.
        name_or_path: the scenario; None for a shipped one, by the name in the log.

    Raises:
        MultiQpError: when there is no such scenario, or the log is of another one.
    """
    about = json.loads(str(log.scenario))
    path = scenario_path(name_or_path or str(about["name"]))
    if path.stem != about["name"]:
        raise MultiQpError(f"the log is of '{about['name']}', not of '{path.stem}'")
    scenario = load_scenario(path, parameters=about["parameters"])
    if scenario.scene.joint_names != tuple(log.joint_names.tolist()) or scenario.scene.nq != log.q.shape[1]:
        raise MultiQpError(
            f"the joints of the log are not those of {shown_path(path)}, which was changed since the run"
        )
    return scenario


def motion_of(log: Log, scenario: Scenario, subsystem: str | None = None) -> ReferenceMotion:
    """Return the motion of one robot, with the contacts of its surfaces.

    Args:
        log: of the run.
        scenario: of the log.
        subsystem: the robot; None where only one has a floating base and joints.

    Raises:
        MultiQpError: when there is no such robot, or the configuration of one of its joints is not a single number.
    """
    scene = scenario.scene
    robots = [name for name, body in scene.subsystems.items() if body.floating and len(body.actuated)]
    if subsystem is None and len(robots) != 1:
        raise MultiQpError(f"--subsystem: name the robot, one of {', '.join(robots) or 'none'}")
    name = subsystem or robots[0]
    if name not in robots:
        raise MultiQpError(unknown_name("robot with a floating base", name, robots))
    if len(log.time) < 2:
        raise MultiQpError("the log has fewer than two ticks: no motion")
    body, prefix = scene.subsystems[name], f"{name}/"
    joints = scene.velocity_names[body.joint_v_slice]
    if (scene.angle_index[body.joint_v_slice] < 0).any():
        raise MultiQpError(f"'{name}' has a continuous joint; the file of a motion has one number a joint")
    active: dict[str, np.ndarray] = {}
    for pair, on in zip(log.contact_surfaces.tolist(), log.contact_active.T, strict=True):
        for surface in pair:
            if surface.startswith(prefix):
                active[surface.removeprefix(prefix)] = active.get(surface.removeprefix(prefix), False) | on
    return ReferenceMotion(
        times=log.time - log.time[0],
        q=log.q[:, body.q_slice],
        joints=tuple(joint.removeprefix(prefix) for joint in joints),
        contacts=np.array(list(active.values()), dtype=bool).reshape(len(active), len(log.time)).T,
        surfaces=tuple(active),
        robot=str(scenario.spec.subsystems[name].model).rpartition("/")[2].removesuffix(".yaml"),
        source=f"run of {scenario.name}",
    )
