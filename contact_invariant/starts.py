"""Several starts of a synthesis, each with its audit; the best one is kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from contact_invariant.audit import Audit, Auditor, Bounds, Finding
from contact_invariant.character import behaviour_of
from contact_invariant.postures import Postures
from contact_invariant.surroundings import Surroundings
from contact_invariant.synthesis import Progress, Synthesis, Synthesiser
from contact_invariant.timed_plan import TimedPlan, timed_plan
from multi_qp_scene.errors import KeyedError
from multi_qp_scene.scenario import Scenario, load_scenario

if TYPE_CHECKING:  # crocoddyl is an optional dependency
    from contact_invariant.refined_start import RefinedStart, Refining


#: Bounds that a simplified motion may miss and still be refined: the refinement holds such swings as contacts, or keeps
#: them off the ground; it moves contacts onto their surfaces, without overhang, where they do not slip; it keeps all
#: links apart, of which the synthesis knows the listed pairs and those with surroundings alone; contacts that bear
#: nothing for an instant between two samples press; and it closes the dynamics, which moments at the root leave open.
REFINED = {"swing clearance", "contact gap", "contact slip", "own links", "penetration", "flight", "root moment"}


@dataclass(frozen=True)
class Start:
    """A synthesis from one seed, and its audit.

    Attributes:
        synthesis: simplified motion.
        audit: of it.
        refined: the same with the full model, if the behaviour is refined and the simplified motion misses no bound
            but those of `REFINED`.
    """

    synthesis: Synthesis
    audit: Audit
    refined: RefinedStart | None = None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the last audit found: that of the full model if there is one."""
        return self.audit.findings if self.refined is None else self.refined.audit.findings

    @property
    def postures(self) -> Postures:
        """Postures of the last audit."""
        return self.audit.postures if self.refined is None else self.refined.audit.postures

    @property
    def passed(self) -> bool:
        """Whether the last audit met all bounds."""
        return all(finding.met for finding in self.findings)

    @property
    def missed(self) -> str:
        """Names of the figures that are not met."""
        return ", ".join(finding.name for finding in self.findings if not finding.met)

    @property
    def seconds(self) -> float:
        """Computing time [s]."""
        return self.synthesis.seconds + (0.0 if self.refined is None else self.refined.refinement.seconds)

    @property
    def rank(self) -> tuple[bool, int, float]:
        """Whether it stays simplified, the number of bounds that are not met, the cost: less is better."""
        missed = sum(not finding.met for finding in self.findings)
        return self.refined is None, missed, self.synthesis.stages[-1][1].costs[-1]


class Starts:
    """Starts of one scenario's behaviour.

    Attributes:
        scenario: with the behaviour.
        maker: synthesises.
        surroundings: of the character.
    """

    def __init__(self, scenario: Scenario, method: str = "lm") -> None:
        """Prepare.

        Args:
            scenario: with a behaviour.
            method: optimiser of the simplified motions, of `synthesis.METHODS`.

        Raises:
            MultiQpError: the scenario has no behaviour, or its scene does not fit.
        """
        self.scenario, self._behaviour = scenario, behaviour_of(scenario)
        self.maker = Synthesiser(scenario, method)
        self.surroundings: Surroundings = self.maker.problem.surroundings
        self._auditor = Auditor(
            scenario.scene,
            self.maker.character,
            self.surroundings,
            friction=self._behaviour.friction,
            bounds=Bounds(),
        )
        self._refining: Refining | None = None
        if self._behaviour.refine:
            from contact_invariant.refined_start import Refining

            self._refining = Refining(scenario, self.maker)

    def one(self, seed: int, progress: Progress | None = None) -> Start:
        """Return the start of a seed, refined if the behaviour asks for it and the simplified motion may be."""
        synthesis = self.maker.run(seed, progress=progress)
        start = Start(synthesis, self._auditor.audit(synthesis.motion, synthesis.features))
        missed = {finding.name for finding in start.audit.findings if not finding.met}
        if self._refining is None or not missed <= REFINED:
            return start
        return replace(start, refined=self._refining.refine(synthesis.motion, self._simplified_plan(start), progress))

    def until_one_passes(self, progress: Progress | None = None) -> list[Start]:
        """Return starts from the behaviour's seed on, until one passes the audit or their number is reached."""
        found: list[Start] = []
        for seed in range(self._behaviour.seed, self._behaviour.seed + self._behaviour.starts):
            found.append(self.one(seed, progress))
            if found[-1].passed:
                break
        return found

    def plan(self, start: Start) -> TimedPlan:
        """Return the timed plan of a start."""
        return self._simplified_plan(start) if start.refined is None else start.refined.plan

    def _simplified_plan(self, start: Start) -> TimedPlan:
        scene, character = self.scenario.scene, self.maker.character
        return timed_plan(scene, character, self.surroundings, start.synthesis.motion, start.audit.postures)


@dataclass(frozen=True)
class StartJob:
    """A start that any process can make.

    Attributes:
        scenario: name or path.
        parameters: scenario parameters, as of `--set`.
        scenario_seed: `${seed}` of the file.
        method: optimiser, of `synthesis.METHODS`.
        refine: whether to refine; as the behaviour says if None.
        seed: of the start.
    """

    scenario: str
    parameters: tuple[tuple[str, float], ...] = ()
    scenario_seed: int = 0
    method: str = "lm"
    refine: bool | None = None
    seed: int = 0

    @property
    def starts(self) -> Starts:
        """What makes the starts of the same behaviour, once in each process."""
        return _starts(replace(self, seed=0))


@lru_cache(maxsize=1)
def _starts(job: StartJob) -> Starts:
    scenario = load_scenario(job.scenario, parameters=dict(job.parameters), seed=job.scenario_seed)
    return Starts(scenario if job.refine is None else with_refinement(scenario, job.refine), job.method)


def make_start(job: StartJob, progress: Progress | None = None) -> Start:
    """Return the start of a job."""
    return job.starts.one(job.seed, progress)


def with_refinement(scenario: Scenario, refine: bool) -> Scenario:
    """Return a scenario whose motions are, or are not, refined with the full model.

    Raises:
        KeyedError: each of its characters may touch the other one.
    """
    behaviour = behaviour_of(scenario).model_copy(update={"refine": refine})
    if refine and not behaviour.refinable:
        reason = "motions of two characters that may touch each other are not refined: expected one `touchable`"
        raise KeyedError(("behaviour", "refine"), reason)
    return replace(scenario, spec=scenario.spec.model_copy(update={"behaviour": behaviour}))


def best(starts: list[Start]) -> Start:
    """Return the start that misses the fewest bounds, refined ones first, then the one of the lowest cost."""
    return min(starts, key=lambda start: start.rank)
