"""Contact planning for scenarios with a `plan`: contacts, then the states that execute them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin

from com_trajectory.equilibrium import equilibrium_region
from com_trajectory.kinematics import load_polytopes
from com_trajectory.phases import ContactMargin, planned_phases
from com_trajectory.planner import PlanOptions, plan_com
from com_trajectory.polytope import Polytope
from com_trajectory.trajectory import ComTrajectory, validate
from motion_generation.planned_states import with_states
from motion_generation.planned_tasks import com_of
from motion_generation.state_parts import least_durations
from multi_qp_scene.arrays import Array
from multi_qp_scene.configuration import set_joint_angles
from multi_qp_scene.contact_sequence import ContactSequence
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.kinematic_trees import KinematicTrees, place_frames
from multi_qp_scene.placement import align_surfaces, pose_of
from multi_qp_scene.resources import model_path
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.plan import PaceSpec, PlanGoalSpec, PlanSpec
from multi_qp_scene.subsystem import Subsystem

if TYPE_CHECKING:  # importing OMPL is slow and only needed for planning
    from contact_planner.planner import ContactPlanner
    from contact_planner.problem import PlanningGoal
    from contact_planner.stance import ContactPlan


#: CPU time for the way of a limb around obstacles [s].
_WAY_BUDGET = 2.0
#: By how much the margin may move a transition point from the centre of mass of its posture [m].
_MOVED = 0.03
#: What trajectories leave unused of each contact.
CONTACT_MARGIN = ContactMargin(edge=0.03, friction=0.7)
#: The same where no curve leaves that much, and on slopes that need more friction.
LESS, STEEP = ContactMargin(edge=0.01, friction=0.7), ContactMargin(edge=0.01, friction=0.85)


@dataclass(frozen=True, eq=False)
class PlannedScenario:
    """A plan and the scenario that executes it.

    Attributes:
        plan: result of the contact planner.
        scenario: contains the states of the plan; only stands for a plan without steps.
    """

    plan: ContactPlan
    scenario: Scenario


def make_planner(scenario: Scenario, *, q: Array | None = None, budget: float | None = None) -> ContactPlanner:
    """Return the contact planner for a scenario with a `plan`.

    Args:
        scenario: has a `plan`.
        q: configuration of the whole scene, (nq,); the initial one if None.
        budget: time for planning [s]; the scenario's if None.

    Raises:
        MultiQpError: the scenario has no `plan`, or no surface to stand on.
    """
    from contact_planner.candidates import CandidateWeights
    from contact_planner.contact_changes import SearchSettings
    from contact_planner.planner import ContactPlanner
    from contact_planner.problem import PlanningProblem

    spec = scenario.spec.plan
    if spec is None:
        raise MultiQpError(f"{scenario.name} has no `plan`: its motion is defined by its states")
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
        seed=spec.seed,
        candidate_weights=CandidateWeights(),
        search=SearchSettings(margin=spec.margin, stretch=spec.stride),
        model=model_of(scenario, spec.character),
    )
    return ContactPlanner(scenario.scene, problem, equilibrium_region, q=q)


def model_of(scenario: Scenario, name: str) -> str:
    """Return a subsystem's model: the name of a shipped one, else an absolute path."""
    model = scenario.spec.subsystems[name].model
    if "/" in model or model.endswith((".yaml", ".yml")):
        return str(model_path(model, relative_to=scenario.path.parent).resolve())
    return model


def self_distance(scenario: Scenario, name: str) -> float:
    """Return the distance that the controller maintains between a character's own bodies [m], a bound for stances."""
    collisions = scenario.spec.collisions
    return collisions.security if name in collisions.self_collisions else 0.0


def goal_of(scenario: Scenario) -> pin.SE3:
    """Return the pose of the base at the last goal of a scenario's plan.

    Raises:
        MultiQpError: the scenario has no `plan`.
    """
    return goals_of(scenario)[-1].X_world_base


def goals_of(scenario: Scenario) -> list[PlanningGoal]:
    """Return the goals of a scenario's plan, in order.

    Raises:
        MultiQpError: the scenario has no `plan`.
    """
    from contact_planner.problem import PlanningGoal

    spec, scene = scenario.spec.plan, scenario.scene
    if spec is None:
        raise MultiQpError(f"{scenario.name} has no `plan`")
    body = scene.subsystems[spec.character]
    found = []
    for goal in spec.goals:
        nominal = _posture(scene, body, spec.posture if goal.posture is None else goal.posture)
        contacts = None if goal.contacts is None else frozenset(goal.contacts)
        found.append(PlanningGoal(_base_at(scene, spec, goal, nominal), nominal[7:], contacts))
    return found


def _posture(scene: Scene, body: Subsystem, posture: str | Mapping[str, float]) -> Array:
    if isinstance(posture, str):
        return body.postures[posture].copy()
    q = pin.neutral(scene.model)
    set_joint_angles(scene.model, q, body.name, dict(posture))
    scene.couplings.put_in_place(q)
    return np.asarray(q[body.q_slice])


def _base_at(scene: Scene, spec: PlanSpec, goal: PlanGoalSpec, nominal: Array) -> pin.SE3:
    """Return the pose of the base at a goal, for its nominal configuration, (nq,)."""
    if goal.pose is not None:
        return pose_of(goal.pose)
    body = scene.subsystems[spec.character]
    q = scene.q0.copy()
    q[body.q_slice] = nominal
    onto = scene.surfaces[str(goal.onto)]
    data = place_frames(scene.model, q)
    heading = pin.rpy.matrixToRpy(data.oMf[onto.frame_id].rotation)[2]
    limbs = [scene.surfaces[f"{spec.character}/{spec.limbs[limb]}"] for limb in goal.by or spec.needed]
    return align_surfaces(
        KinematicTrees(scene.model), q, body.q_slice.start, limbs, onto, xy=goal.xy, yaw=goal.yaw - float(heading)
    )


def plan_scenario(scenario: Scenario) -> PlannedScenario:
    """Plan the contacts of a scenario with a goal, and write the states that execute them.

    Raises:
        MultiQpError: the scenario has no `plan`, or no surface to stand on.
    """
    plan = make_planner(scenario).plan(goals_of(scenario))
    return PlannedScenario(plan, carried_out(scenario, plan))


def carried_out(scenario: Scenario, plan: ContactPlan) -> Scenario:
    """Return the scenario with the states that execute a plan."""
    if plan.moves == 0:
        return with_states(scenario, plan.sequence, plan.postures, pace=pace_of(scenario))
    polytopes = polytopes_of(scenario, plan.sequence.subsystems[0])
    trajectory = trajectory_through(plan.sequence, plan.postures, polytopes, pace=pace_of(scenario))
    return along_trajectory(scenario, plan.sequence, plan.postures, trajectory)


def along_trajectory(
    scenario: Scenario, sequence: ContactSequence, postures: Sequence[Array], trajectory: ComTrajectory
) -> Scenario:
    """Return the scenario with the states that follow a trajectory through a planned sequence.

    Args:
        scenario: has a `plan`.
        sequence: of the plan.
        postures: one for each of its phases, (nq,) each.
        trajectory: through its phases, joined as by `joined`.
    """
    own, phase_postures = joined(sequence), joined_postures(sequence, postures)
    ways = ways_around(scenario, own, phase_postures)
    return with_states(scenario, own, phase_postures, pace=pace_of(scenario), trajectory=trajectory, ways=ways)


def ways_around(scenario: Scenario, sequence: ContactSequence, postures: Sequence[Array]) -> dict[int, list[Array]]:
    """Return the ways of limbs that are free before they make a contact, where obstacles are between, by phase.

    Limbs that have just broken a contact are not among them: their swing rises from it.
    """
    from contact_planner.limb_path import LimbPaths

    ways: dict[int, list[Array]] = {}
    surfaces = {contact.surface for phase in sequence.phases for contact in phase.contacts}
    paths: LimbPaths | None = None
    for number, (phase, following) in enumerate(pairwise(sequence.phases)):
        made = phase.made(following)
        before = sequence.phases[number - 1].contacts if number else ()
        if len(made) != 1 or made[0].surface in {contact.surface for contact in before}:
            continue
        if paths is None:
            limbs = {surface: surface for surface in sorted(surfaces)}
            paths = LimbPaths(scenario.scene, sequence.subsystems[0], limbs, postures[number])
        start, end = postures[number], postures[number + 1]
        lift = pace_of(scenario).lift
        way = paths.around(made[0].surface, made[0].pose, start, end, lift=lift, budget=_WAY_BUDGET, seed=0)
        if way:
            ways[number] = way
    return ways


def pace_of(scenario: Scenario) -> PaceSpec:
    """Return the speeds and foot heights of a scenario with a `plan` or `turns`; the default ones of another."""
    spec = scenario.spec.plan or scenario.spec.turns
    return PaceSpec() if spec is None else spec.pace


def polytopes_of(scenario: Scenario, name: str) -> dict[str, Polytope]:
    """Return a robot's kinematic polytopes by surface; none if `multi-qp com polytopes` has not been run for it."""
    spec = scenario.spec.subsystems[name]
    try:
        effectors = load_polytopes(model_path(spec.model, relative_to=scenario.path.parent)).effectors
    except MultiQpError:
        return {}
    return {surface: effector.polytope for surface, effector in effectors.items()}


def joined(sequence: ContactSequence) -> ContactSequence:
    """Return a planned sequence with consecutive phases of equal contacts, a landing and a rest, merged."""
    return replace(sequence, phases=tuple(sequence.phases[group[-1]] for group in _alike(sequence)))


def joined_postures(sequence: ContactSequence, postures: Sequence[Array]) -> list[Array]:
    """Return the postures of the phases of `joined`, (nq,) each: the last one of each merged group."""
    return [postures[group[-1]] for group in _alike(sequence)]


def _alike(sequence: ContactSequence) -> list[list[int]]:
    """Return the indices of phases, grouped where consecutive ones have equal contacts."""
    groups = [[0]]
    for number, (before, phase) in enumerate(zip(sequence.phases, sequence.phases[1:], strict=False), 1):
        if before.made(phase) or before.broken(phase):
            groups.append([number])
        else:
            groups[-1].append(number)
    return groups


def trajectory_through(
    sequence: ContactSequence, postures: Sequence[Array], polytopes: Mapping[str, Polytope], *, pace: PaceSpec
) -> ComTrajectory:
    """Return the trajectory through the contacts of a plan, with one posture a phase, merged by `joined`.

    Its transition points are the centres of mass of the planner's postures, which are balanced and reachable: the
    transition into a phase uses the posture at its start. The curve is the fastest in equilibrium at every instant that
    gives limbs and postures their time, with the contacts' margin or a smaller one. If there is none, it is the
    polyline within the margin, at rest at each transition point, if it passes the postures and the contacts balance
    it, else the fastest curve without margin: the controller, which is never exact, falls where a curve follows the
    edge of its contacts.

    Source: [Tonneau2018] sections 5, 6; [Fernbach2018].
    """
    name = sequence.subsystems[0]
    points = {number: sequence.phases[group[0]].com[name] for number, group in enumerate(_alike(sequence)[1:])}
    least = partial(least_durations, pace, postures=joined_postures(sequence, postures))
    options = PlanOptions("polyline", points=points, dynamic=True, least=least)
    own, slow = joined(sequence), None
    for contact_margin in (CONTACT_MARGIN, LESS):
        found = plan_com(own, polytopes, options=replace(options, contact_margin=contact_margin))
        if found.method == "dynamic":
            return found
        if slow is None and _passes(found, points) and _is_balanced(found, own, name, polytopes):
            slow = found
    if slow is not None:
        return slow
    found = plan_com(own, polytopes, options=replace(options, contact_margin=STEEP))
    return found if found.method == "dynamic" else plan_com(own, polytopes, options=options)


def _passes(trajectory: ComTrajectory, points: Mapping[int, Array]) -> bool:
    """Return whether a trajectory passes near the requested transition points, (3,) [m] by number.

    Where contacts with a margin have no static equilibrium, the points are moved by decimetres, away from all postures.
    """
    return all(np.linalg.norm(trajectory.transitions[k].point - point) < _MOVED for k, point in points.items())


def _is_balanced(
    trajectory: ComTrajectory, sequence: ContactSequence, name: str, polytopes: Mapping[str, Polytope]
) -> bool:
    """Return whether contacts without margin balance a trajectory at every instant."""
    phases = tuple(planned_phases(sequence, name, polytopes))
    return validate(replace(trajectory, phases=phases)).dynamic_share == 1.0


def schedule(trajectory: ComTrajectory) -> ContactSequence:
    """Return the contacts along a trajectory, with the duration of each phase."""
    begins = np.concatenate([[0.0], trajectory.phase_ends[:-1]])
    phases = tuple(
        replace(planned.phase, duration=float(end - begin))
        for planned, begin, end in zip(trajectory.phases, begins, trajectory.phase_ends, strict=True)
    )
    return ContactSequence(phases, {}, "schedule")


def with_postures(sequence: ContactSequence, postures: Sequence[Array], scenario: Scenario) -> ContactSequence:
    """Return a planned sequence with the centres of mass of its postures, (nq,) each, one a phase.

    Raises:
        MultiQpError: there are several subsystems, or the number of postures differs from that of phases.
    """
    if len(sequence.subsystems) != 1 or len(postures) != len(sequence.phases):
        counts = f"{len(sequence.phases)} phases of {', '.join(sequence.subsystems)} and {len(postures)} postures"
        raise MultiQpError(f"expected a plan of one subsystem with a posture for each phase, got {counts}")
    name, q = sequence.subsystems[0], scenario.scene.q0.copy()
    phases = []
    for phase, posture in zip(sequence.phases, postures, strict=True):
        q[scenario.scene.subsystems[name].q_slice] = posture
        phases.append(replace(phase, com={name: com_of(scenario.scene, name, q)}))
    return replace(sequence, phases=tuple(phases))
