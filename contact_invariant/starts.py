"""Several starts of a synthesis, each with its audit; the best one is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from contact_invariant.audit import Audit, Auditor, Bounds
from contact_invariant.character import behaviour_of
from contact_invariant.surroundings import Surroundings
from contact_invariant.synthesis import Progress, Synthesis, Synthesiser
from contact_invariant.timed_plan import TimedPlan, timed_plan
from multi_qp_scene.scenario import Scenario


@dataclass(frozen=True)
class Start:
    """A synthesis from one seed, and its audit."""

    synthesis: Synthesis
    audit: Audit

    @property
    def rank(self) -> tuple[int, float]:
        """The number of bounds that are not met, then the cost: less is better."""
        missed = sum(not finding.met for finding in self.audit.findings)
        return missed, self.synthesis.stages[-1][1].costs[-1]


class Starts:
    """Starts of one scenario's behaviour.

    Attributes:
        maker: synthesises.
        surroundings: of the character.
    """

    def __init__(self, scenario: Scenario) -> None:
        """Prepare.

        Raises:
            MultiQpError: the scenario has no behaviour, or its scene does not fit.
        """
        self._scenario, self._behaviour = scenario, behaviour_of(scenario)
        self.maker = Synthesiser(scenario)
        self.surroundings: Surroundings = self.maker.problem.surroundings
        self._auditor = Auditor(
            scenario.scene,
            self.maker.character,
            self.surroundings,
            friction=self._behaviour.friction,
            bounds=Bounds(),
        )

    def one(self, seed: int, progress: Progress | None = None) -> Start:
        """Return the start of a seed."""
        synthesis = self.maker.run(seed, progress=progress)
        return Start(synthesis, self._auditor.audit(synthesis.motion, synthesis.features))

    def until_one_passes(
        self, *, progress: Progress | None = None, shown: Callable[[Start], None] | None = None
    ) -> list[Start]:
        """Return starts from the behaviour's seed on, until one passes the audit or their number is reached.

        Args:
            progress: called in each iteration.
            shown: called with each start.
        """
        found: list[Start] = []
        for seed in range(self._behaviour.seed, self._behaviour.seed + self._behaviour.starts):
            found.append(self.one(seed, progress))
            if shown is not None:
                shown(found[-1])
            if found[-1].audit.passed:
                break
        return found

    def plan(self, start: Start) -> TimedPlan:
        """Return the timed plan of a start."""
        scene, character = self._scenario.scene, self.maker.character
        return timed_plan(scene, character, self.surroundings, start.synthesis.motion, start.audit.postures)


def best(starts: list[Start]) -> Start:
    """Return the start that misses the fewest bounds, then the one of the lowest cost."""
    return min(starts, key=lambda start: start.rank)
