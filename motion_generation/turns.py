"""Scenarios with `turns`: planning turn by turn, and the states that execute it."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin

from com_trajectory.equilibrium import equilibrium_region
from motion_generation.planned_states import with_written
from motion_generation.planned_tasks import Entry, body_tasks, com_of, numbers
from motion_generation.planning import (
    joined,
    joined_postures,
    model_of,
    pace_of,
    polytopes_of,
    self_distance,
    trajectory_through,
)
from motion_generation.state_parts import LAST, SequencePart, Written
from motion_generation.state_writer import StateWriter
from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.schema.scenario_file import ContactSpec
from multi_qp_scene.schema.states import StateSpec
from multi_qp_scene.schema.turns import TurnsSpec

if TYPE_CHECKING:  # importing OMPL is slow and only needed for planning
    from contact_planner.stance import Stance
    from contact_planner.turn_planner import Turn, TurnPlanner, TurnSequence


@dataclass(frozen=True, eq=False)
class PlannedTurns:
    """Planned turns and the scenario that executes them.

    Attributes:
        sequence: the turns.
        scenario: contains their states; all players stand still if there is no turn.
    """

    sequence: TurnSequence
    scenario: Scenario


def turn_planner(scenario: Scenario) -> TurnPlanner:
    """Return the planner of a scenario with `turns`, before the first one.

    Raises:
        MultiQpError: the scenario has no `turns`, or a player does not stand on any of the colours.
    """
    from contact_planner.contact_changes import SearchSettings
    from contact_planner.problem import PlanningProblem
    from contact_planner.turn_planner import TurnPlanner

    spec, scene = _spec(scenario), scenario.scene
    colors = {
        color: [name for pattern in patterns for name in fnmatch.filter(scene.surfaces, pattern)]
        for color, patterns in spec.colors.items()
    }
    problems = [
        PlanningProblem(
            character=name,
            limbs={limb: f"{name}/{surface}" for limb, surface in player.limbs.items()},
            posture=_at_first(scenario, name),
            faces=tuple(name for names in colors.values() for name in names),
            friction=spec.friction,
            clearance=spec.clearance,
            apart=spec.apart,
            own=self_distance(scenario, name),
            budget=spec.budget,
            search=SearchSettings(margin=spec.margin),
            model=model_of(scenario, name),
        )
        for name, player in spec.players.items()
    ]
    return TurnPlanner(scene, problems, colors, equilibrium_region, seed=spec.seed)


def _spec(scenario: Scenario) -> TurnsSpec:
    if scenario.spec.turns is None:
        raise MultiQpError(f"{scenario.name} has no `turns`")
    return scenario.spec.turns


def _at_first(scenario: Scenario, name: str) -> Array:
    """Return the initial posture of a player, (nq,), with the base at the origin and heading along x."""
    q = scenario.scene.q0[scenario.scene.subsystems[name].q_slice].copy()
    rotation = pin.XYZQUATToSE3(q[:7]).rotation
    heading = pin.utils.rotate("z", float(pin.rpy.matrixToRpy(rotation)[2]))
    q[:7] = pin.SE3ToXYZQUAT(pin.SE3(heading.T @ rotation, np.zeros(3)))
    return q


def plan_turns(scenario: Scenario) -> PlannedTurns:
    """Plan the turns of a scenario, and write the states that execute them.

    Raises:
        MultiQpError: the scenario has no `turns`, or a player does not stand on any of the colours.
    """
    sequence = turn_planner(scenario).plan(_spec(scenario).count)
    return PlannedTurns(sequence, with_turns(scenario, sequence))


def with_turns(scenario: Scenario, sequence: TurnSequence) -> Scenario:
    """Return the scenario with the states that execute planned turns, one after the other."""
    stances = [dict(sequence.first)]
    for turn in sequence.turns:
        stances.append({**stances[-1], turn.player: turn.plan.stances[-1]})
    players = _idle_players(scenario, stances[-1])
    last = {"description": "all players stay", "contacts": list(players.on), "tasks": players.tasks, "hold": LAST}
    contacts, states = dict(players.on), {"end": StateSpec.model_validate(last)}
    for number, turn in reversed(list(enumerate(sequence.turns))):
        others = _idle_players(scenario, {name: s for name, s in stances[number].items() if name != turn.player})
        label = f"{number + 1:02d}_{turn.player}_{turn.limb}_"
        part = SequencePart(label, next(iter(states)), turn.player, tuple(others.on), others.tasks)
        written = _turn(scenario, turn, part)
        contacts |= {**others.on, **written.contacts}
        states = {**written.states, **states}
    surfaces = {contact.surface for now in stances for stance in now.values() for contact in stance.contacts.values()}
    return with_written(scenario, Written(contacts, states), surfaces)


def _turn(scenario: Scenario, turn: Turn, part: SequencePart) -> Written:
    """Return the contacts and states of one turn, along a curve of the centre of mass."""
    pace = pace_of(scenario)
    sequence, postures = turn.plan.sequence, turn.plan.postures
    curve = trajectory_through(sequence, postures, polytopes_of(scenario, turn.player), pace=pace)
    phase_postures = joined_postures(sequence, postures)
    return StateWriter(scenario, joined(sequence), phase_postures, pace=pace, trajectory=curve, part=part).write()


@dataclass(frozen=True)
class _IdlePlayers:
    """Contacts and tasks of the players without a turn.

    Attributes:
        on: their contacts, by name.
        tasks: that maintain their positions, by name.
    """

    on: Mapping[str, ContactSpec]
    tasks: Mapping[str, Entry]


def _idle_players(scenario: Scenario, stances: Mapping[str, Stance]) -> _IdlePlayers:
    scene, q = scenario.scene, scenario.scene.q0.copy()
    on: dict[str, ContactSpec] = {}
    tasks: dict[str, Entry] = {}
    for name, stance in stances.items():
        for contact in stance.contacts.values():
            surfaces = (contact.surface, str(contact.other))
            on[SequencePart(stem=name).contact(contact)] = ContactSpec(surfaces=surfaces, friction=contact.friction)
        body = scene.subsystems[name]
        q[body.q_slice] = stance.q
        com = {"position": numbers(com_of(scene, name, q))}
        tasks |= body_tasks(scene, body, com, stance.q, stem=name)
    return _IdlePlayers(on, tasks)
