"""Random transition problems from the shipped contact sequences, for table 5 of [Tonneau2018]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin

from com_trajectory.equilibrium import equilibrium_region
from com_trajectory.phases import planned_phases
from com_trajectory.polytope import Polytope
from multi_qp_cli.com.bodies import NAME, PosedRobot
from multi_qp_scene.arrays import Array
from multi_qp_scene.contact_sequence import Contact, ContactPhase, ContactSequence
from multi_qp_scene.sequence_file import load_contact_sequence

SEQUENCES = ("level_walking", "stairs", "uneven_stairs", "steep_slope", "chair", "climbing", "twister")
_SHIFT, _TURN = 0.03, np.radians(10.0)  # largest random displacement of contacts in their planes [m], [rad]
_SWAY = 0.03  # standard deviation of the centres of mass at both ends [m]
_MARGIN = 0.005  # their smallest margin in the equilibrium regions [m]


@dataclass(frozen=True, eq=False)
class TransitionProblem:
    """Contact break or make between two postures.

    Attributes:
        sequence: two phases with their centres of mass.
        start: posture on the contacts of the first phase, (nq,).
        goal: posture on the contacts of the second phase, (nq,).
    """

    sequence: ContactSequence
    start: Array
    goal: Array


@dataclass(frozen=True, eq=False)
class _SequenceTransition:
    before: ContactPhase
    after: ContactPhase
    postures: tuple[Array, Array]


class TransitionProblems:
    """Sampler of the transitions of the shipped sequences, with randomly displaced contacts and centres of mass.

    Attributes:
        infeasible: number of samples without a posture at which the contact can change.
    """

    def __init__(self, robot: PosedRobot, polytopes: Mapping[str, Polytope]) -> None:
        """Compute postures of the robot along all sequences."""
        self._robot = robot
        self._transitions: list[_SequenceTransition] = []
        self.infeasible = 0
        for name in SEQUENCES:
            self._add(load_contact_sequence(name), polytopes)

    def _add(self, sequence: ContactSequence, polytopes: Mapping[str, Polytope]) -> None:
        last: Array | None = None
        phases: list[tuple[ContactPhase, Array | None]] = []
        for planned in planned_phases(sequence, NAME, polytopes):
            com = planned.rest.point
            start = self._robot.rest if last is None else last
            found = self._robot.reach(planned.phase.contacts, com, start)
            phases.append((replace(planned.phase, com={NAME: com}), found))
            last = found if found is not None else last
        for (before, first), (after, second) in zip(phases[:-1], phases[1:], strict=True):
            if first is not None and second is not None:
                self._transitions.append(_SequenceTransition(before, after, (first, second)))

    def draw(self, random: np.random.Generator, number: int) -> TransitionProblem | None:
        """Return a random feasible problem with a number of contacts in the larger phase; None if infeasible.

        A problem is feasible if both ends are in static equilibrium and a posture exists with all contacts, in static
        equilibrium on the remaining ones; all three are collision-free and within the joint limits.
        """
        steps = [s for s in self._transitions if max(len(s.before.contacts), len(s.after.contacts)) == number]
        step = steps[int(random.integers(len(steps)))]
        moved = {
            contact.name: _displaced(contact, random)
            for phase in (step.before, step.after)
            for contact in phase.contacts
        }
        ends: list[tuple[ContactPhase, Array]] = []
        for phase, near in zip((step.before, step.after), step.postures, strict=True):
            com = phase.com[NAME] + random.normal(scale=_SWAY, size=3)
            contacts = tuple(moved[contact.name] for contact in phase.contacts)
            if not equilibrium_region(contacts).margin(com) >= _MARGIN:
                return None
            posture = self._robot.reach(contacts, com, near, tries=2)
            if posture is None:
                return None
            ends.append((ContactPhase(contacts, com={NAME: com}), posture))
        (before, start), (after, goal) = ends
        more, fewer = (before, after) if len(before.contacts) > len(after.contacts) else (after, before)
        if not self._possible(more.contacts, fewer.contacts, [before.com[NAME], after.com[NAME]], (start, goal)):
            self.infeasible += 1
            return None
        return TransitionProblem(ContactSequence((before, after)), start, goal)

    def _possible(
        self, more: Sequence[Contact], fewer: Sequence[Contact], ends: Sequence[Array], postures: Sequence[Array]
    ) -> bool:
        region = equilibrium_region(fewer)
        middle = np.append(region.corners.mean(axis=0), 0.5 * (ends[0][2] + ends[1][2]))
        for share in (0.0, 0.25, 0.5, 0.75, 1.0):
            for goal in (ends[1], middle):
                com = ends[0] + share * (goal - ends[0])
                if region.margin(com) < 0.0:
                    continue
                if self._robot.reach(more, com, postures[0], also=postures[1:], tries=0) is not None:
                    return True
        return False


def _displaced(contact: Contact, random: np.random.Generator) -> Contact:
    shift = np.array([*random.uniform(-_SHIFT, _SHIFT, 2), 0.0])
    turn = pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, random.uniform(-_TURN, _TURN)), shift)
    return replace(contact, pose=contact.pose * turn)
