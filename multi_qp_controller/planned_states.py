"""A contact sequence as states of the machine that the controller runs, so that nobody has to write them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from com_trajectory.trajectory import ComTrajectory
from multi_qp_controller.state_parts import Pace, Part, Written
from multi_qp_controller.state_writer import StateWriter
from multi_qp_scene.contact_sequence import ContactSequence
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.scenario_file import CollisionPairSpec, CollisionsSpec, ScenarioFile

Array = NDArray[np.float64]


def with_states(
    scenario: Scenario,
    sequence: ContactSequence,
    postures: Sequence[Array] | None = None,
    *,
    pace: Pace | None = None,
    hold: float = 0.5,
    trajectory: ComTrajectory | None = None,
) -> Scenario:
    """Return the scenario with states that go through a contact sequence.

    What the scenario says of tasks, goals and collisions is kept; what the sequence needs is added.

    Args:
        scenario: the scenario; its own states are replaced.
        sequence: contacts of one of its subsystems, phase by phase.
        postures: for each phase a configuration of that subsystem to be near, (nq,) each; its initial one if left out.
        pace: how fast.
        hold: how long the last state lasts [s].
        trajectory: of the centre of mass through the phases of this sequence, to be followed with its velocity and
            acceleration, slowed down as a whole until limbs can follow; else it goes from rest to rest.

    Raises:
        MultiQpError: the sequence is of several subsystems or of none of the scenario's, does not say what a contact
            touches, or has another number of phases than there are postures.
    """
    written = write_states(scenario, sequence, postures, pace=pace, hold=hold, trajectory=trajectory)
    surfaces = {contact.surface for phase in sequence.phases for contact in phase.contacts}
    return with_written(scenario, written, surfaces, hold=hold)


def write_states(
    scenario: Scenario,
    sequence: ContactSequence,
    postures: Sequence[Array] | None = None,
    *,
    pace: Pace | None = None,
    hold: float = 0.5,
    trajectory: ComTrajectory | None = None,
    part: Part | None = None,
) -> Written:
    """Return the contacts and states that go through a contact sequence.

    Args and errors are those of `with_states`; `part` says what they are part of.
    """
    return StateWriter(scenario, sequence, postures, pace or Pace(), hold, trajectory, part or Part()).write()


def with_written(scenario: Scenario, written: Written, surfaces: Iterable[str], *, hold: float) -> Scenario:
    """Return the scenario with contacts and states that were written, the first one being where it begins.

    Args:
        scenario: the scenario; its own states are replaced.
        written: what it gets.
        surfaces: those that make contacts; their links are kept off what does not move.
        hold: how long the last state lasts [s].
    """
    spec = scenario.spec
    duration = sum((state.timeout or 0.0) for state in written.states.values()) + hold + 1.0
    update = {
        "contacts": {**spec.contacts, **written.contacts},
        "states": written.states,
        "initial_state": next(iter(written.states)),
        "collisions": _collisions(scenario.scene, spec, surfaces),
        "duration": max(spec.duration, duration),
    }
    return replace(scenario, spec=spec.model_copy(update=update))


def _collisions(scene: Scene, spec: ScenarioFile, surfaces: Iterable[str]) -> CollisionsSpec:
    """Return the scenario's pairs, and those of the limbs' ends with everything that does not move."""
    ends = sorted({scene.surfaces[surface].link for surface in surfaces})
    fixed = [link for piece in scene.environment.values() for link in piece.links]
    # the ends come flush to what they touch: these may close to zero, softly
    pairs = [CollisionPairSpec(bodies=(end, link), influence=0.06, security=0.0002) for end in ends for link in fixed]
    return spec.collisions.model_copy(update={"pairs": [*spec.collisions.pairs, *pairs]})
