"""Turn-based planning for several characters: one step of one character at a time, with the others as obstacles.

The interactive use of [Tonneau2018] sections 7.1 and 8: "at each turn, an effector is selected [...] If no such
solution is found, a new effector is randomly selected."
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import thread_time

import numpy as np

from contact_planner.planner import ContactPlanner
from contact_planner.problem import PlanningProblem
from contact_planner.reach import LimbReach
from contact_planner.stance import ContactPlan, Stance
from multi_qp_scene.arrays import Array
from multi_qp_scene.equilibrium import EquilibriumTest
from multi_qp_scene.scene import Scene


@dataclass(frozen=True, eq=False)
class Turn:
    """One step of one limb of one character.

    Attributes:
        player: name of the character.
        limb: name of the limb.
        color: colour of the surface that it touches.
        q: configuration of the whole scene before the step, (nq,).
        plan: plan of the player: the stance before and the one after.
        draws: number of pairs of limb and colour that were drawn.
        seconds: CPU time of planning [s].
    """

    player: str
    limb: str
    color: str
    q: Array
    plan: ContactPlan
    draws: int
    seconds: float


@dataclass(frozen=True, eq=False)
class TurnSequence:
    """Result of `TurnPlanner.plan`.

    Attributes:
        turns: in order.
        first: initial stance of each player.
        complete: whether all requested turns were planned.
        reason: message if not.
    """

    turns: tuple[Turn, ...]
    first: Mapping[str, Stance]
    complete: bool
    reason: str


class TurnPlanner:
    """Planner of the turns of several characters in one scene.

    Attributes:
        q: configuration of the whole scene, (nq,).
        stances: of each player.
    """

    def __init__(
        self,
        scene: Scene,
        problems: Sequence[PlanningProblem],
        colors: Mapping[str, Sequence[str]],
        equilibrium: EquilibriumTest,
        *,
        seed: int = 0,
    ) -> None:
        """Start from the initial configuration of the scene.

        Args:
            scene: the scene.
            problems: planning problem of each player, in the order of turns; their faces are those of all colours.
            colors: full names of the surfaces of each colour.
            equilibrium: test of static equilibrium.
            seed: of the random draws.

        Raises:
            MultiQpError: a name is unknown, there is no suitable surface, or a player has no contact.
        """
        self._scene, self._colors, self._equilibrium = scene, colors, equilibrium
        self._problems = {problem.character: problem for problem in problems}
        self._rng = np.random.default_rng(seed)
        self._reaches: dict[str, Mapping[str, LimbReach]] = {}
        self.q = scene.q0.copy()
        self.stances = {name: self._planner(name).start_stance() for name in self._problems}

    def _planner(self, player: str) -> ContactPlanner:
        """Return the planner of one player, with the others at their present configuration."""
        planner = ContactPlanner(
            self._scene,
            self._problems[player],
            self._equilibrium,
            q=self.q,
            reaches=self._reaches.get(player),
        )
        self._reaches[player] = planner.reaches
        return planner

    def plan(self, count: int) -> TurnSequence:
        """Plan `count` turns, or as many as there are steps for."""
        first, names = dict(self.stances), list(self._problems)
        turns: list[Turn] = []
        for number in range(count):
            player = names[number % len(names)]
            turn = self.turn(player)
            if turn is None:
                return TurnSequence(tuple(turns), first, False, f"turn {number + 1}: there is no step for {player}")
            turns.append(turn)
        return TurnSequence(tuple(turns), first, True, "")

    def turn(self, player: str) -> Turn | None:
        """Plan one randomly drawn step of a player; None if no limb has one within the time budget."""
        began = thread_time()
        planner, stance = self._planner(player), self.stances[player]
        for draws, (limb, color) in enumerate(self._drawn(player), 1):
            step = planner.step_to(stance, limb, on=self._elsewhere(stance, limb, color))
            if step is not None:
                before = self.q.copy()
                self.stances[player] = step
                self.q[self._scene.subsystems[player].q_slice] = step.q
                plan = planner.as_plan([replace(stance, moved=None, lifted=None), step])
                return Turn(player, limb, color, before, plan, draws, thread_time() - began)
            if thread_time() - began > self._problems[player].budget:
                break
        return None

    def _drawn(self, player: str) -> list[tuple[str, str]]:
        """Return pairs of limb and colour in random order."""
        pairs = [(limb, color) for limb in self._problems[player].limbs for color in self._colors]
        return [pairs[k] for k in self._rng.permutation(len(pairs))]

    def _elsewhere(self, stance: Stance, limb: str, color: str) -> list[str]:
        """Return the surfaces of a colour that no limb of any player touches; each has space for one contact."""
        taken = {contact.other for other in self.stances.values() for contact in other.contacts.values()}
        return [face for face in self._colors[color] if face not in taken]
