"""What a change of state would have to wait for, done before the first tick."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from multi_qp_controller.activity import Activity
from multi_qp_controller.conditions import Situation, holds, parts_of
from multi_qp_controller.contact import ActiveContact
from multi_qp_controller.formulations import Formulation
from multi_qp_controller.formulations.condensed import CondensedFormulation
from multi_qp_controller.fsm import Phase
from multi_qp_controller.kinematics import Kinematics
from multi_qp_controller.motion_table import Pair
from multi_qp_controller.rehearsal import Foreseen, Rehearsal
from multi_qp_controller.statement import Statement
from multi_qp_controller.tasks import Task
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.jit import COMPILED


def lay_out_states(
    phases: tuple[Phase, ...],
    now: Situation,
    activity: Activity,
    kinematics: Kinematics,
    statement: Statement,
    formulation: Formulation,
    *,
    dt: float,
) -> Rehearsal:
    """Have the QP of each state laid out: who shares what with whom, and room for it, takes as long as some ticks.

    Every contact is made where everything stands at the start. Which rows depend on each other, where subsystems are
    eliminated in another way, is found from these Jacobians too; where it turns out otherwise, the tick lays out anew.
    Returns what goes through the coming state before it comes, `dt` [s] a tick.
    """
    if not COMPILED or not isinstance(formulation, CondensedFormulation):
        return Rehearsal(activity, kinematics, statement, None, {}, dt)
    foreseen: dict[tuple[str, tuple[str, ...]], Foreseen] = {}
    kinematics.update(kinematics.scene.initial_state())
    for phase, before in _changes(phases):
        try:
            contacts, tasks = activity.foreseen(phase, before, kinematics)
        except (MultiQpError, KeyError, ValueError):  # the state may want what is not there yet; nothing depends on it
            continue
        kinematics.watch(pairs_of(contacts, tasks))
        statement.set_tasks(tuple(tasks))
        statement.set_contacts(tuple(contacts), kinematics)
        statement.contacts.update(kinematics, 1.0)
        statement.M, statement.N = kinematics.M, kinematics.N.copy()
        formulation.prepare()
        formulation.blocks.eliminate()
        statement.foresee_tasks(kinematics)
        if (laid_out := formulation.blocks.laid_out) is not None:
            names = tuple(contact.name for contact in contacts)
            foreseen[phase.name, names] = Foreseen(laid_out, statement.tasks, kinematics.motions)
        _try_out(tasks, kinematics)
        now.tasks = {task.name: task for task in tasks}
        _ask(phase, now)
    kinematics.watch(())
    statement.set_tasks(())
    statement.set_contacts((), kinematics)
    formulation.prepare()
    return Rehearsal(activity, kinematics, statement, formulation.blocks, foreseen, dt)


def _try_out(tasks: Iterable[Task], kinematics: Kinematics) -> None:
    """Start tasks once: what that loads or imports is then there. They are started anew when their state comes."""
    for task in tasks:
        with suppress(MultiQpError, KeyError, ValueError):
            task.start(kinematics, 0.0)


def _ask(phase: Phase, now: Situation) -> None:
    """Ask all conditions of a state once, those too that are only asked where others hold."""
    for transition in phase.spec.transitions:
        for part in parts_of(transition.when):
            with suppress(MultiQpError, KeyError, ValueError):
                holds(part, now)


def pairs_of(contacts: Iterable[ActiveContact], tasks: Iterable[Task]) -> list[Pair]:
    """Return the pairs of frames whose relative motions contacts and tasks need, those of contacts first."""
    pairs: list[Pair] = [contact.frames for contact in contacts]
    for task in tasks:
        pairs += task.pairs
    return pairs


def _changes(phases: tuple[Phase, ...]) -> Iterator[tuple[Phase, Phase | None]]:
    """Return every state, and every one with what may come before it."""
    named = {phase.name: phase for phase in phases}
    for phase in phases:
        yield phase, None
        for transition in phase.spec.transitions:
            if set(phase.contacts) - set(named[transition.to].contacts):
                yield named[transition.to], phase
