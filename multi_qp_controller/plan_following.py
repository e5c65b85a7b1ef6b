"""Plans that come while a controller runs: made ready beside the loop, taken up where and when that is safe."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from multi_qp_controller.controller import Controller
from multi_qp_controller.planned_tasks import com_of
from multi_qp_controller.standing import WAITING, standing, touching
from multi_qp_scene.contact_sequence import Contact, ContactSequence
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.forest import Forest
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import State

Array = NDArray[np.float64]

#: How far from where it is a surface may be in a plan's first phase [m, rad].
NEAR = 0.01
#: How far its centre of mass may be from where the plan's begins [m].
BALANCED = 0.02
#: A character whose joints and base are slower than this stands still [rad/s, m/s].
STILL = 0.1


@dataclass(frozen=True, eq=False)
class Ready:
    """A plan that can be taken up.

    Attributes:
        stamp: that names it [ns].
        scenario: with its states.
        controller: of this scenario.
        contacts: with which it begins.
        com: where its centre of mass begins, (3,) [m].
    """

    stamp: int
    scenario: Scenario
    controller: Controller
    contacts: tuple[Contact, ...]
    com: Array


@dataclass(frozen=True, eq=False)
class Compiled:
    """A plan as states.

    Attributes:
        scenario: with its states.
        sequence: its contacts.
        com: where its centre of mass begins, (3,) [m].
    """

    scenario: Scenario
    sequence: ContactSequence
    com: Array


@dataclass(frozen=True)
class PlanStatus:
    """What a controller makes of plans.

    Attributes:
        standing: whether a plan would be taken up now: the character waits for the first one, or one is done.
        waiting: whether there has been none.
        plan: stamp of the plan that is followed, or was last [ns]; 0 if there is none.
        refused: stamp of the last plan that cannot be followed [ns]; 0 if there is none.
        reason: why it cannot.
    """

    standing: bool = False
    waiting: bool = False
    plan: int = 0
    refused: int = 0
    reason: str = ""


class PlanFollower:
    """Decides which plan a controller follows.

    A plan is taken up while the character stands still: at the end of another plan, where this was halted, or before
    the first; and only if it begins with the contacts that are on, where they are. The newest one counts.

    Attributes:
        status: what is made of plans.
    """

    def __init__(self, scenario: Scenario, make_controller: Callable[[Scenario], Controller]) -> None:
        """Wait for plans.

        Args:
            scenario: with a `plan`, ready for plans.
            make_controller: makes the controller of a scenario.
        """
        self._scenario, self._make_controller = scenario, make_controller
        self._forest = Forest(scenario.scene.model)
        self._newest = 0
        self._made: Ready | tuple[int, str] | None = None
        self._stands = False
        self.status = PlanStatus(waiting=True)

    def begin(self) -> None:
        """Begin anew, as a run does; a plan that has come is not forgotten: it may still fit."""
        self._stands = False
        self.status = replace(self.status, standing=False, waiting=True, plan=0)

    def offer(self, stamp: int, make: Callable[[], Compiled]) -> None:
        """Make a plan ready, in a thread of its own.

        Args:
            stamp: that names it [ns].
            make: returns it as states; may raise a MultiQpError.
        """
        self._newest = stamp

        def work() -> None:
            made: Ready | tuple[int, str]
            try:
                plan = make()
                controller = self._make_controller(plan.scenario)
                made = Ready(stamp, plan.scenario, controller, plan.sequence.phases[0].contacts, plan.com)
            except (MultiQpError, ValueError, np.linalg.LinAlgError) as error:
                made = stamp, str(error)
            if self._newest == stamp:
                self._made = made

        threading.Thread(target=work, name="plan", daemon=True).start()

    def controller_for(self, state: State, controller: Controller) -> Controller | None:
        """Return the controller to go on with after a state has been answered, or None to stay with this one.

        Args:
            state: that was answered.
            controller: that answered it.
        """
        machine = controller.machine
        waiting = machine.phase.name == WAITING
        if (machine.finished, waiting) != (self.status.standing, self.status.waiting):
            self.status = replace(self.status, standing=machine.finished, waiting=waiting)
        if waiting and not self._stands:
            self._stands = True
            return self._on_its_feet(state, controller)
        ready = self._due(state, controller) if machine.finished else None
        return None if ready is None else ready.controller

    def _on_its_feet(self, state: State, controller: Controller) -> Controller | None:
        """Return a controller that stands on what is touched where that is not what the scenario begins with."""
        names = [contact.name for contact in touching(self._scenario, state.q)]
        if set(names) == set(controller.contacts):
            return None
        return self._make_controller(standing(self._scenario, names))

    def _due(self, state: State, controller: Controller) -> Ready | None:
        made = self._made
        if made is None:
            return None
        if isinstance(made, tuple):
            self._refuse(*made)
            return None
        if not self._is_still(state):
            return None
        reason = self._misfit(made, state, controller)
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

    def _misfit(self, ready: Ready, state: State, controller: Controller) -> str:
        """Say why a plan does not begin where the character is; nothing if it does."""
        scene, contacts = self._scenario.scene, self._scenario.spec.contacts
        data = self._forest.place(state.q)
        on = {contacts[name].surfaces for name in controller.contacts}
        first = {(contact.surface, contact.other) for contact in ready.contacts}
        if on != first:
            told = ", ".join(f"{own} on {other}" for own, other in sorted(on)) or "nothing"
            return f"the plan does not begin with the contacts that are on: {told}"
        for contact in ready.contacts:
            pose = data.oMf[scene.surfaces[contact.surface].frame_id]
            away = float(np.abs(pin.log6(pose.actInv(contact.pose)).vector).max())
            if away > NEAR:
                return f"the plan begins {away:.3f} m (rad) away from where {contact.surface} is"
        away = float(np.linalg.norm(ready.com - com_of(scene, self._character, state.q)))
        return f"the plan begins {away:.3f} m away from the centre of mass" if away > BALANCED else ""
