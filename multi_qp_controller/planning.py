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
from multi_qp_controller.planned_states import with_states
from multi_qp_controller.planned_tasks import com_of
from multi_qp_controller.state_parts import Pace
from multi_qp_scene.configuration import set_joint_angles
from multi_qp_scene.contact_sequence import ContactSequence
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.forest import Forest, place_frames
from multi_qp_scene.placement import place_flush, pose_of
from multi_qp_scene.resources import model_path
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.plan import PlanGoalSpec, PlanSpec
from multi_qp_scene.subsystem import Subsystem

if TYPE_CHECKING:  # OMPL takes a while to load, and who plans nothing does not need it
    from contact_planner.planner import ContactPlanner
    from contact_planner.problem import Goal
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
    from contact_planner.moves import SearchSettings
    from contact_planner.planner import ContactPlanner
    from contact_planner.problem import PlanningProblem

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
        helpers=tuple(spec.helpers),
        least=spec.least,
        low=(*spec.bounds.xyz_min, *spec.bounds.rpy_min),
        high=(*spec.bounds.xyz_max, *spec.bounds.rpy_max),
        clearance=spec.clearance,
        own=self_distance(scenario, spec.character),
        budget=spec.budget if budget is None else budget,
        seed=spec.seed if seed is None else seed,
        taste=Taste(),
        search=SearchSettings(margin=spec.margin, stretch=spec.stride),
        model=model_of(scenario, spec.character),
    )
    return ContactPlanner(scenario.scene, problem, equilibrium_region, q=q)


def model_of(scenario: Scenario, name: str) -> str:
    """Return a subsystem's model: a shipped one by its name, else as a path that holds from anywhere."""
    model = scenario.spec.subsystems[name].model
    if "/" in model or model.endswith((".yaml", ".yml")):
        return str(model_path(model, relative_to=scenario.path.parent).resolve())
    return model


def self_distance(scenario: Scenario, name: str) -> float:
    """Return what the controller keeps between a character's own bodies [m]: feet that stand nearer cannot obey it."""
    collisions = scenario.spec.collisions
    return collisions.security if name in collisions.self_collisions else 0.0


def goal_of(scenario: Scenario) -> pin.SE3:
    """Return the pose of the base at the last goal of a scenario's plan.

    Raises:
        MultiQpError: the scenario has no `plan`.
    """
    return goals_of(scenario)[-1].X_world_base


def goals_of(scenario: Scenario) -> list[Goal]:
    """Return what a scenario's plan is to reach, in order.

    Raises:
        MultiQpError: the scenario has no `plan`.
    """
    from contact_planner.problem import Goal

    spec, scene = scenario.spec.plan, scenario.scene
    if spec is None:
        raise MultiQpError(f"{scenario.name} has no `plan`")
    body = scene.subsystems[spec.character]
    found = []
    for goal in spec.goals:
        liked = _posture(scene, body, spec.posture if goal.posture is None else goal.posture)
        contacts = None if goal.contacts is None else frozenset(goal.contacts)
        found.append(Goal(_base_at(scene, spec, goal, liked), liked[7:], contacts))
    return found


def _posture(scene: Scene, body: Subsystem, posture: str | Mapping[str, float]) -> Array:
    if isinstance(posture, str):
        return body.postures[posture].copy()
    q = pin.neutral(scene.model)
    set_joint_angles(scene.model, q, body.name, dict(posture))
    scene.couplings.put_in_place(q)
    return np.asarray(q[body.q_slice])


def _base_at(scene: Scene, spec: PlanSpec, goal: PlanGoalSpec, liked: Array) -> pin.SE3:
    """Return the pose of the base at a goal, for the posture that is liked there, (nq,)."""
    if goal.pose is not None:
        return pose_of(goal.pose)
    body = scene.subsystems[spec.character]
    q = scene.q0.copy()
    q[body.q_slice] = liked
    onto = scene.surfaces[str(goal.onto)]
    data = place_frames(scene.model, q)
    heading = pin.rpy.matrixToRpy(data.oMf[onto.frame_id].rotation)[2]
    limbs = [scene.surfaces[f"{spec.character}/{spec.limbs[limb]}"] for limb in goal.by or spec.needed]
    return place_flush(
        Forest(scene.model), q, body.q_slice.start, limbs, onto, xy=goal.xy, yaw=goal.yaw - float(heading)
    )


def plan_scenario(scenario: Scenario) -> PlannedScenario:
    """Plan the contacts of a scenario with a goal, and write the states that go through them.

    Raises:
        MultiQpError: the scenario has no `plan`, or there is nothing to stand on.
    """
    plan = make_planner(scenario).plan(goals_of(scenario))
    return PlannedScenario(plan, carried_out(scenario, plan))


def carried_out(scenario: Scenario, plan: Plan) -> Scenario:
    """Return the scenario with the states that go through a plan."""
    polytopes = polytopes_of(scenario, plan.sequence.subsystems[0])
    if plan.moves == 0 or polytopes is None:
        return with_states(scenario, plan.sequence, plan.postures, pace=_pace(scenario))
    return along(scenario, plan.sequence, plan.postures, trajectory_through(plan.sequence, polytopes))


def along(
    scenario: Scenario, sequence: ContactSequence, postures: Sequence[Array], trajectory: ComTrajectory
) -> Scenario:
    """Return the scenario with the states that go along a trajectory through a planned sequence.

    Args:
        scenario: with a `plan`.
        sequence: of the plan.
        postures: one for each of its phases, (nq,) each.
        trajectory: through its phases, joined as by `joined`.
    """
    kept = kept_postures(sequence, postures)
    return with_states(scenario, joined(sequence), kept, pace=_pace(scenario), trajectory=trajectory)


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


def joined(sequence: ContactSequence) -> ContactSequence:
    """Return a planned sequence with neighbouring phases of the same contacts, a landing and a rest, as one phase."""
    return replace(sequence, phases=tuple(sequence.phases[group[-1]] for group in _alike(sequence)))


def kept_postures(sequence: ContactSequence, postures: Sequence[Array]) -> list[Array]:
    """Return the postures of the phases of `joined`, (nq,) each: of those that became one the last one's."""
    return [postures[group[-1]] for group in _alike(sequence)]


def _alike(sequence: ContactSequence) -> list[list[int]]:
    """Return the numbers of phases, those together that follow one another with the same contacts."""
    groups = [[0]]
    for number, (before, phase) in enumerate(zip(sequence.phases, sequence.phases[1:], strict=False), 1):
        if before.made(phase) or before.broken(phase):
            groups.append([number])
        else:
            groups[-1].append(number)
    return groups


def trajectory_through(sequence: ContactSequence, polytopes: Mapping[str, Polytope]) -> ComTrajectory:
    """Return the 2PAC trajectory through the contacts of a plan, joined as by `joined`.

    Its transition points are the centres of mass of the planner's postures, which are in balance and in reach: into a
    phase that of the posture with which it begins.

    Source: [Tonneau2018] sections 5, 6.
    """
    name = sequence.subsystems[0]
    points = {number: sequence.phases[group[0]].com[name] for number, group in enumerate(_alike(sequence)[1:])}
    return plan_com(joined(sequence), polytopes, options=PlanOptions(points=points))


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
