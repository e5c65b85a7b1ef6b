"""Several characters that move by turns, each planned for one step at a time among the bodies of the others.

The interactive use of [Tonneau2018] sections 7.1 and 8: "at each turn, an effector is selected [...] If no such
solution is found, a new effector is randomly selected."
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import thread_time

import numpy as np
from numpy.typing import NDArray

from contact_planner.planner import ContactPlanner
from contact_planner.problem import PlanningProblem
from contact_planner.reach import LimbReach
from contact_planner.stance import Plan, Stance
from multi_qp_scene.equilibrium import EquilibriumTest
from multi_qp_scene.scene import Scene

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Turn:
    """One limb of one character has moved.

    Attributes:
        player: who.
        limb: which limb.
        color: what it touches.
        q: configuration of the whole scene before, (nq,).
        plan: of the player: the stance before and the one after.
        draws: how many limbs and colours were drawn.
        seconds: what it took of the processor [s].
    """

    player: str
    limb: str
    color: str
    q: Array
    plan: Plan
    draws: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Match:
    """What was played.

    Attributes:
        turns: in order.
        first: where everybody stands at the beginning, by player.
        complete: whether as many turns were taken as were asked for.
        reason: why not.
    """

    turns: tuple[Turn, ...]
    first: Mapping[str, Stance]
    complete: bool
    reason: str


class Game:
    """A game of several characters in one scene.

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
        """Let everybody stand as the scene has them.

        Args:
            scene: the scene.
            problems: of each player, in the order of their turns; their faces are those of all colours.
            colors: full names of the surfaces of each colour.
            equilibrium: test of static equilibrium.
            seed: of what is drawn.

        Raises:
            MultiQpError: a name is unknown, there is nothing to stand on, or a player stands on nothing.
        """
        self._scene, self._colors, self._equilibrium = scene, colors, equilibrium
        self._problems = {problem.character: problem for problem in problems}
        self._rng = np.random.default_rng(seed)
        self._reaches: dict[str, Mapping[str, LimbReach]] = {}
        self.q = scene.q0.copy()
        self.stances = {name: self._planner(name).start_stance() for name in self._problems}

    def _planner(self, player: str) -> ContactPlanner:
        """Return the planner of one player among the others as they are now."""
        planner = ContactPlanner(
            self._scene,
            self._problems[player],
            self._equilibrium,
            q=self.q,
            reaches=self._reaches.get(player),
        )
        self._reaches[player] = planner.reaches
        return planner

    def play(self, count: int) -> Match:
        """Take turns, as many as are asked for or there are steps for."""
        first, names = dict(self.stances), list(self._problems)
        turns: list[Turn] = []
        for number in range(count):
            player = names[number % len(names)]
            turn = self.turn(player)
            if turn is None:
                return Match(tuple(turns), first, False, f"turn {number + 1}: there is no step for {player}")
            turns.append(turn)
        return Match(tuple(turns), first, True, "")

    def turn(self, player: str) -> Turn | None:
        """Let a player take a step that is drawn; None where there is none for any limb, or its time is over."""
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
        """Return limbs and colours in the order in which they are drawn."""
        pairs = [(limb, color) for limb in self._problems[player].limbs for color in self._colors]
        return [pairs[k] for k in self._rng.permutation(len(pairs))]

    def _elsewhere(self, stance: Stance, limb: str, color: str) -> list[str]:
        """Return the surfaces of a colour that no limb of any player touches: there is room for one on each."""
        taken = {contact.other for other in self.stances.values() for contact in other.contacts.values()}
        return [face for face in self._colors[color] if face not in taken]
