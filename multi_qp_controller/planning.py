"""From a scenario with a goal to one with states: contacts, then the states that go through them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from com_trajectory.equilibrium import equilibrium_region
from com_trajectory.kinematics import load_polytopes
from com_trajectory.planner import PlanOptions, plan_com
from com_trajectory.polytope import Polytope
from com_trajectory.trajectory import ComTrajectory
from multi_qp_controller.planned_states import Pace, with_states
from multi_qp_scene.contact_sequence import Contact, ContactSequence
from multi_qp_scene.equilibrium import SupportRegion
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.placement import place_flush, pose_of
from multi_qp_scene.resources import model_path
from multi_qp_scene.scenario import Scenario

if TYPE_CHECKING:  # OMPL takes a while to load, and who plans nothing does not need it
    from contact_planner.planner import ContactPlanner
    from contact_planner.stance import Plan

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PlannedScenario:
    """A plan, and the scenario that carries it out.

    Attributes:
        plan: the contact planner's answer.
        scenario: with the states of the plan; of a plan without a step it only stands.
    """

    plan: Plan
    scenario: Scenario


def static_equilibrium(contacts: Sequence[Contact]) -> SupportRegion:
    """Return where the centre of mass can rest, as the contact planner asks for it. Source: [Tonneau2018] (2)."""
    region = equilibrium_region(contacts)
    return SupportRegion(region.A[:, :2], region.a, region.corners)


def make_planner(scenario: Scenario) -> ContactPlanner:
    """Return the contact planner for a scenario with a `plan`.

    Raises:
        MultiQpError: the scenario has no `plan`, or there is nothing to stand on.
    """
    from contact_planner.candidates import Taste
    from contact_planner.planner import ContactPlanner, PlanningProblem
    from contact_planner.search import SearchSettings

    spec = scenario.spec.plan
    if spec is None:
        raise MultiQpError(f"{scenario.name} has no `plan`: it says itself what happens, by its states")
    problem = PlanningProblem(
        character=spec.character,
        limbs={limb: f"{spec.character}/{surface}" for limb, surface in spec.limbs.items()},
        posture=spec.posture,
        faces=None if spec.faces is None else tuple(spec.faces),
        friction=spec.friction,
        frictions=spec.frictions,
        slope=spec.slope,
        least=spec.least,
        low=(*spec.bounds.xyz_min, *spec.bounds.rpy_min),
        high=(*spec.bounds.xyz_max, *spec.bounds.rpy_max),
        clearance=spec.clearance,
        budget=spec.budget,
        seed=spec.seed,
        taste=Taste(),
        search=SearchSettings(margin=spec.margin, stretch=spec.stride),
    )
    return ContactPlanner(scenario.scene, problem, static_equilibrium)


def goal_of(scenario: Scenario) -> pin.SE3:
    """Return the pose of the base that a scenario's plan is to reach.

    Raises:
        MultiQpError: the scenario has no `plan`.
    """
    spec, scene = scenario.spec.plan, scenario.scene
    if spec is None:
        raise MultiQpError(f"{scenario.name} has no `plan`")
    if spec.goal.pose is not None:
        return pose_of(spec.goal.pose)
    body = scene.subsystems[spec.character]
    q = scene.q0.copy()
    q[body.q_slice] = body.postures[spec.posture]
    onto = scene.surfaces[str(spec.goal.onto)]
    data = scene.model.createData()
    pin.framesForwardKinematics(scene.model, data, q)
    heading = pin.rpy.matrixToRpy(data.oMf[onto.frame_id].rotation)[2]
    limbs = [scene.surfaces[f"{spec.character}/{surface}"] for surface in spec.limbs.values()]
    return place_flush(
        scene.model, q, body.q_slice.start, limbs, onto, xy=spec.goal.xy, yaw=spec.goal.yaw - float(heading)
    )


def plan_scenario(scenario: Scenario) -> PlannedScenario:
    """Plan the contacts of a scenario with a goal, and write the states that go through them.

    Raises:
        MultiQpError: the scenario has no `plan`, or there is nothing to stand on.
    """
    plan = make_planner(scenario).plan(goal_of(scenario))
    return PlannedScenario(plan, carried_out(scenario, plan))


def carried_out(scenario: Scenario, plan: Plan) -> Scenario:
    """Return the scenario with the states that go through a plan."""
    spec = scenario.spec.plan
    pace = Pace() if spec is None else Pace(**spec.pace.model_dump())
    polytopes = _polytopes(scenario, plan)
    if plan.moves == 0 or polytopes is None:
        return with_states(scenario, plan.sequence, plan.postures, pace=pace)
    sequence, postures = _joined_end(plan)
    trajectory = trajectory_through(sequence, polytopes, plan)
    return with_states(scenario, sequence, postures, pace=pace, trajectory=trajectory)


def _polytopes(scenario: Scenario, plan: Plan) -> dict[str, Polytope] | None:
    """Return the robot's kinematic polytopes, or None where `multi-qp com polytopes` has not been run for it."""
    spec = scenario.spec.subsystems[plan.sequence.subsystems[0]]
    try:
        effectors = load_polytopes(model_path(spec.model, relative_to=scenario.path.parent)).effectors
    except MultiQpError:
        return None
    return {surface: effector.polytope for surface, effector in effectors.items()}


def _joined_end(plan: Plan) -> tuple[ContactSequence, tuple[Array, ...]]:
    """Return the sequence with the landing on its last contacts and the rest on them as one phase."""
    phases = plan.sequence.phases
    if phases[-2].made(phases[-1]) or phases[-2].broken(phases[-1]):
        return plan.sequence, plan.postures
    return replace(plan.sequence, phases=(*phases[:-2], phases[-1])), (*plan.postures[:-2], plan.postures[-1])


def trajectory_through(sequence: ContactSequence, polytopes: Mapping[str, Polytope], plan: Plan) -> ComTrajectory:
    """Return the 2PAC trajectory through the contacts of a plan.

    Its transition points are the centres of mass of the planner's postures, which are in balance and in reach.

    Source: [Tonneau2018] sections 5, 6.
    """
    name = sequence.subsystems[0]
    points = {number: phase.com[name] for number, phase in enumerate(plan.sequence.phases[1 : len(sequence.phases)])}
    return plan_com(sequence, polytopes, options=PlanOptions(points=points))
