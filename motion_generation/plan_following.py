"""Switching to plans received at run time: compiled in a background thread, activated in a safe state."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin

from motion_generation.planned_tasks import com_of
from motion_generation.standing import WAITING, standing, touching
from multi_qp_controller.controller import Controller
from multi_qp_scene.arrays import Array
from multi_qp_scene.contact_sequence import ContactSequence
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.kinematic_trees import KinematicTrees
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State

#: Tolerance between a surface's pose and its pose in a plan's first phase [m, rad].
NEAR = 0.01
#: Tolerance between the centre of mass and that at the start of the plan [m].
BALANCED = 0.02
#: Joint and base velocities below which a character is at rest [rad/s, m/s].
STILL = 0.1


@dataclass(frozen=True, eq=False)
class CompiledPlan:
    """A plan compiled to states.

    Attributes:
        scenario: contains its states.
        sequence: its contacts.
        com: initial centre of mass, (3,) [m].
    """

    scenario: Scenario
    sequence: ContactSequence
    com: Array


@dataclass(frozen=True, eq=False)
class ReadyPlan:
    """A compiled plan with its identifier, the stamp [ns], and the controller of its scenario."""

    stamp: int
    plan: CompiledPlan
    controller: Controller


@dataclass(frozen=True)
class PlanStatus:
    """A controller's status with respect to plans.

    Attributes:
        standing: whether a plan can be activated: the character waits for the first one, or the last one is finished.
        waiting: whether no plan has been activated yet.
        plan: stamp of the current or last plan [ns]; 0 if there is none.
        refused: stamp of the last refused plan [ns]; 0 if there is none.
        reason: reason of the refusal.
    """

    standing: bool = False
    waiting: bool = False
    plan: int = 0
    refused: int = 0
    reason: str = ""


class PlanFollower:
    """Selects the plan that a controller follows.

    A plan is activated while the character is at rest: at the end of another plan, after a halt, or before the first
    plan; and only if its initial contacts are the active ones, at the same poses. The newest plan takes precedence.

    Attributes:
        status: current status.
    """

    def __init__(self, scenario: Scenario, make_controller: Callable[[Scenario], Controller]) -> None:
        """Set up without a plan.

        Args:
            scenario: has a `plan`; see `ready_for_plans`.
            make_controller: makes the controller of a scenario.
        """
        self._scenario, self._make_controller = scenario, make_controller
        self._trees = KinematicTrees(scenario.scene.model)
        self._newest = 0
        self._made: ReadyPlan | tuple[int, str] | None = None
        self._stands = False
        self.status = PlanStatus(waiting=True)

    def begin(self) -> None:
        """Reset at the start of a run; a received plan is retained, since it may still fit."""
        self._stands = False
        self.status = replace(self.status, standing=False, waiting=True, plan=0)

    def offer(self, stamp: int, make: Callable[[], CompiledPlan]) -> None:
        """Compile a plan in a background thread.

        Args:
            stamp: identifier of the plan [ns].
            make: returns the compiled plan; may raise a MultiQpError.
        """
        self._newest = stamp

        def work() -> None:
            made: ReadyPlan | tuple[int, str]
            try:
                plan = make()
                made = ReadyPlan(stamp, plan, self._make_controller(plan.scenario))
            except Exception as error:  # any error refuses this plan only
                made = stamp, str(error) if isinstance(error, MultiQpError) else f"{type(error).__name__}: {error}"
            if self._newest == stamp:
                self._made = made

        threading.Thread(target=work, name="plan", daemon=True).start()

    def controller_for(self, state: State, controller: Controller) -> Controller | None:
        """Return the controller to switch to after a tick, or None to continue with the current one.

        Args:
            state: of this tick.
            controller: current controller.
        """
        machine = controller.machine
        waiting = machine.present.name == WAITING
        if (machine.finished, waiting) != (self.status.standing, self.status.waiting):
            self.status = replace(self.status, standing=machine.finished, waiting=waiting)
        if waiting and not self._stands:
            self._stands = True
            return self._standing_controller(state, controller)
        ready = self._due(state, controller) if machine.finished else None
        return None if ready is None else ready.controller

    def _standing_controller(self, state: State, controller: Controller) -> Controller | None:
        """Return a controller for the contacts that touch, if these differ from the scenario's initial ones."""
        names = [contact.name for contact in touching(self._scenario, state.q)]
        if set(names) == set(controller.contacts):
            return None
        return self._make_controller(standing(self._scenario, names))

    def _due(self, state: State, controller: Controller) -> ReadyPlan | None:
        made = self._made
        if made is None:
            return None
        if isinstance(made, tuple):
            self._refuse(*made)
            return None
        if not self._is_still(state):
            return None
        reason = self._mismatch(made.plan, state, controller)
        if reason:
            self._refuse(made.stamp, reason)
            return None
        self._made = None
        self.status = PlanStatus(plan=made.stamp)
        return made

    def _refuse(self, stamp: int, reason: str) -> None:
        self._made = None
        self.status = replace(self.status, refused=stamp, reason=reason)

    def _is_still(self, state: State) -> bool:
        body = self._scenario.scene.subsystems[self._character]
        return bool(np.abs(state.v[body.v_slice]).max() < STILL)

    @property
    def _character(self) -> str:
        plan = self._scenario.spec.plan
        assert plan is not None
        return plan.character

    def _mismatch(self, plan: CompiledPlan, state: State, controller: Controller) -> str:
        """Return the reason why a plan does not start at the current state; empty if it does."""
        scene, contacts = self._scenario.scene, self._scenario.spec.contacts
        data, starting = self._trees.place(state.q), plan.sequence.phases[0].contacts
        on = {contacts[name].surfaces for name in controller.contacts}
        first = {(contact.surface, contact.other) for contact in starting}
        if on != first:
            active = ", ".join(f"{own} on {other}" for own, other in sorted(on)) or "nothing"
            return f"the plan does not begin with the contacts that are on: {active}"
        for contact in starting:
            pose = data.oMf[scene.surfaces[contact.surface].frame_id]
            away = float(np.abs(pin.log6(pose.actInv(contact.pose)).vector).max())
            if away > NEAR:
                return f"the plan begins {away:.3f} m (rad) away from where {contact.surface} is"
        away = float(np.linalg.norm(plan.com - com_of(scene, self._character, state.q)))
        return f"the plan begins {away:.3f} m away from the centre of mass" if away > BALANCED else ""
