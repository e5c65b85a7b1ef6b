"""Compilation of a contact sequence to states of the controller's state machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from com_trajectory.trajectory import ComTrajectory
from motion_generation.state_parts import LAST, Ways, Written
from motion_generation.state_writer import StateWriter
from multi_qp_scene.arrays import Array
from multi_qp_scene.contact_sequence import ContactSequence
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.control import CollisionPairSpec, CollisionsSpec
from multi_qp_scene.schema.plan import PaceSpec
from multi_qp_scene.schema.scenario_file import ScenarioFile


def with_states(
    scenario: Scenario,
    sequence: ContactSequence,
    postures: Sequence[Array] | None = None,
    *,
    pace: PaceSpec | None = None,
    trajectory: ComTrajectory | None = None,
    ways: Ways | None = None,
) -> Scenario:
    """Return the scenario with states that execute a contact sequence.

    The scenario's tasks, goals and collisions are retained; what the sequence requires is added.

    Args:
        scenario: the scenario; its own states are replaced.
        sequence: contacts of one of its subsystems, by phase.
        postures: reference configuration of that subsystem for each phase, (nq,) each; its initial one if None.
        pace: speeds and heights.
        trajectory: of the centre of mass through the phases of this sequence, followed with its velocity and
            acceleration, and slowed down as a whole to the pace of the limbs; if None, the motion is from rest to rest.
        ways: ways of free limbs around obstacles, by phase.

    Raises:
        MultiQpError: the sequence is not of exactly one subsystem of the scenario, does not specify what a contact
            touches, or the number of phases differs from that of postures.
    """
    written = StateWriter(scenario, sequence, postures, pace=pace, trajectory=trajectory, ways=ways).write()
    surfaces = {contact.surface for phase in sequence.phases for contact in phase.contacts}
    if scenario.spec.plan is not None:  # limbs that make no contact are free to collide as well
        surfaces |= {f"{scenario.spec.plan.character}/{surface}" for surface in scenario.spec.plan.limbs.values()}
    return with_written(scenario, written, surfaces)


def with_written(scenario: Scenario, written: Written, surfaces: Iterable[str]) -> Scenario:
    """Return the scenario with generated contacts and states; the first state becomes the initial one.

    Args:
        scenario: the scenario; its own states are replaced.
        written: contacts and states.
        surfaces: those that make contacts; their links avoid the fixed environment.
    """
    spec = scenario.spec
    duration = sum((state.timeout or 0.0) for state in written.states.values()) + LAST + 1.0
    update = {
        "contacts": {**spec.contacts, **written.contacts},
        "states": written.states,
        "initial_state": next(iter(written.states)),
        "collisions": _collisions(scenario.scene, spec, surfaces),
        "duration": max(spec.duration, duration),
    }
    return replace(scenario, spec=spec.model_copy(update=update))


def _collisions(scene: Scene, spec: ScenarioFile, surfaces: Iterable[str]) -> CollisionsSpec:
    """Return the scenario's pairs, and those of the limbs' ends with the fixed environment."""
    ends = sorted({scene.surfaces[surface].link for surface in surfaces})
    fixed = [link for piece in scene.environment.values() for link in piece.links]
    # the ends become aligned with what they touch: their distances may close to zero, fast enough for a landing
    pairs = [
        CollisionPairSpec(bodies=(end, link), influence=0.06, security=0.0002, damping=1.2)
        for end in ends
        for link in fixed
    ]
    return spec.collisions.model_copy(update={"pairs": [*spec.collisions.pairs, *pairs]})
