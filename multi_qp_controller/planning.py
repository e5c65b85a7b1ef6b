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
from multi_qp_controller.sequences import com_of
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


def make_planner(
    scenario: Scenario, *, q: Array | None = None, budget: float | None = None, seed: int | None = None
) -> ContactPlanner:
    """Return the contact planner for a scenario with a `plan`.

    Args:
        scenario: who is to go, on what.
        q: configuration of the whole scene, (nq,); the initial one if left out.
        budget: time for planning [s]; the scenario's if left out.
        seed: of the search; the scenario's if left out.

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
        budget=spec.budget if budget is None else budget,
        seed=spec.seed if seed is None else seed,
        taste=Taste(),
        search=SearchSettings(margin=spec.margin, stretch=spec.stride),
    )
    return ContactPlanner(scenario.scene, problem, static_equilibrium, q=q)


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
    polytopes = polytopes_of(scenario, plan.sequence.subsystems[0])
    if plan.moves == 0 or polytopes is None:
        return with_states(scenario, plan.sequence, plan.postures, pace=_pace(scenario))
    trajectory = trajectory_through(plan.sequence, polytopes)
    return along(scenario, joined_end(plan.sequence), plan.postures, trajectory)


def along(
    scenario: Scenario, sequence: ContactSequence, postures: Sequence[Array], trajectory: ComTrajectory
) -> Scenario:
    """Return the scenario with the states that go along a trajectory through a planned sequence.

    Args:
        scenario: with a `plan`.
        sequence: with its end joined, see `joined_end`.
        postures: of the plan, one for each phase that it has, (nq,) each.
        trajectory: through the sequence.
    """
    if len(postures) == len(sequence.phases) + 1:
        postures = (*postures[:-2], postures[-1])
    return with_states(scenario, sequence, postures, pace=_pace(scenario), trajectory=trajectory)


def _pace(scenario: Scenario) -> Pace:
    spec = scenario.spec.plan
    return Pace() if spec is None else Pace(**spec.pace.model_dump())


def polytopes_of(scenario: Scenario, name: str) -> dict[str, Polytope] | None:
    """Return a robot's kinematic polytopes, or None where `multi-qp com polytopes` has not been run for it."""
    spec = scenario.spec.subsystems[name]
    try:
        effectors = load_polytopes(model_path(spec.model, relative_to=scenario.path.parent)).effectors
    except MultiQpError:
        return None
    return {surface: effector.polytope for surface, effector in effectors.items()}


def joined_end(sequence: ContactSequence) -> ContactSequence:
    """Return a planned sequence with the landing on its last contacts and the rest on them as one phase."""
    phases = sequence.phases
    if len(phases) < 2 or phases[-2].made(phases[-1]) or phases[-2].broken(phases[-1]):
        return sequence
    return replace(sequence, phases=(*phases[:-2], phases[-1]))


def trajectory_through(sequence: ContactSequence, polytopes: Mapping[str, Polytope]) -> ComTrajectory:
    """Return the 2PAC trajectory through the contacts of a plan, whose end is joined.

    Its transition points are the centres of mass of the planner's postures, which are in balance and in reach.

    Source: [Tonneau2018] sections 5, 6.
    """
    name, joined = sequence.subsystems[0], joined_end(sequence)
    points = {number: phase.com[name] for number, phase in enumerate(sequence.phases[1 : len(joined.phases)])}
    return plan_com(joined, polytopes, options=PlanOptions(points=points))


def schedule(trajectory: ComTrajectory) -> ContactSequence:
    """Return the contacts that a trajectory goes through, with the time that it takes for each phase."""
    begins = np.concatenate([[0.0], trajectory.phase_ends[:-1]])
    phases = tuple(
        replace(planned.phase, duration=float(end - begin))
        for planned, begin, end in zip(trajectory.phases, begins, trajectory.phase_ends, strict=True)
    )
    return ContactSequence(phases, {}, "schedule")


def with_postures(sequence: ContactSequence, postures: Sequence[Array], scenario: Scenario) -> ContactSequence:
    """Return a planned sequence with the centres of mass of its postures, (nq,) each, one a phase.

    Raises:
        MultiQpError: it is of several subsystems, or there is another number of postures.
    """
    if len(sequence.subsystems) != 1 or len(postures) != len(sequence.phases):
        counts = f"{len(sequence.phases)} phases of {', '.join(sequence.subsystems)} and {len(postures)} postures"
        raise MultiQpError(f"a plan is of one subsystem with a posture for each phase, this has {counts}")
    name, q = sequence.subsystems[0], scenario.scene.q0.copy()
    phases = []
    for phase, posture in zip(sequence.phases, postures, strict=True):
        q[scenario.scene.subsystems[name].q_slice] = posture
        phases.append(replace(phase, com={name: com_of(scenario.scene, name, q)}))
    return replace(sequence, phases=tuple(phases))
