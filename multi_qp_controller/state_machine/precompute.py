"""Symbolic phase of the QP for all states, before the first tick, so that transitions cost no allocation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from multi_qp_controller.contacts.contact import ActiveContact
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.dynamics.motion_table import Pair
from multi_qp_controller.qp.condensed import BlockSolver
from multi_qp_controller.qp.qp_data import QPData
from multi_qp_controller.state_machine.active_setup import ActiveSetup
from multi_qp_controller.state_machine.running_generators import RunningGenerators
from multi_qp_controller.state_machine.state_machine import MachineState
from multi_qp_controller.state_machine.transition_context import TransitionContext
from multi_qp_controller.tasks import Task
from multi_qp_scene.errors import MultiQpError


def precompute_plans(
    states: tuple[MachineState, ...],
    now: TransitionContext,
    active_setup: ActiveSetup,
    generators: RunningGenerators,
    kinematics: Kinematics,
    qp_data: QPData,
    block_solver: BlockSolver,
) -> None:
    """Build the plan of the QP of each state: coupled subsystems, sizes, index maps, arrays.

    All contacts are evaluated at the configuration of `kinematics`, the initial one. Their Jacobians also determine
    which rows are linearly dependent, hence how subsystems are eliminated; where this differs at run time, the tick
    builds a new plan.
    """
    for state, before, generated in _setups(states, generators):
        try:
            contacts, tasks = active_setup.expected(state, before, generated, kinematics)
        except (MultiQpError, KeyError, ValueError):  # a target may refer to a frame that does not exist yet
            continue
        kinematics.watch(pairs_of(contacts, tasks))
        qp_data.set_tasks(tuple(tasks))
        qp_data.set_contacts(tuple(contacts), kinematics)
        qp_data.contacts.update(kinematics, 1.0)
        qp_data.M, qp_data.N = kinematics.M, kinematics.N.copy()
        block_solver.prepare()
        block_solver.eliminate()
        qp_data.cache_tasks(kinematics)
        _start_once(tasks, kinematics)
        now.open_contacts(contact.name for contact in contacts)  # computes the edges of their surfaces
        now.tasks = {task.name: task for task in tasks}
        _evaluate_once(state, now)
    kinematics.watch(())
    qp_data.set_tasks(())
    qp_data.set_contacts((), kinematics)
    block_solver.prepare()


def _start_once(tasks: Iterable[Task], kinematics: Kinematics) -> None:
    """Start tasks once, for imports and compilation; they are started again when their state is entered."""
    for task in tasks:
        with suppress(MultiQpError, KeyError, ValueError):
            task.start(kinematics, 0.0)


def _evaluate_once(state: MachineState, now: TransitionContext) -> None:
    """Evaluate all elementary conditions of a state once, without short-circuit, for imports and compilation."""
    for transition in state.transitions:
        for condition in transition.when.elements:
            with suppress(MultiQpError, KeyError, ValueError):
                condition.holds(now)


def pairs_of(contacts: Iterable[ActiveContact], tasks: Iterable[Task]) -> list[Pair]:
    """Return the pairs of frames whose relative motions contacts and tasks use, those of contacts first."""
    pairs: list[Pair] = [contact.frames for contact in contacts]
    others = dict.fromkeys(pair for task in tasks for pair in task.pairs)
    return [*pairs, *(pair for pair in others if pair not in pairs)]


def _setups(
    states: tuple[MachineState, ...], generators: RunningGenerators
) -> Iterator[tuple[MachineState, MachineState | None, tuple[str, ...]]]:
    """Yield each state with each set of generated contacts, and each transition that breaks a contact.

    Each is (state, previous state or None, active contacts of the state's generators).
    """
    named = {state.name: state for state in states}
    for state in states:
        for generated in generators.contact_sets(state.name):
            yield state, None, generated
        for transition in state.transitions:
            if set(state.contacts) - set(named[transition.to].contacts):
                yield named[transition.to], state, ()
