"""Several starts of a synthesis, each with its audit; the best one is kept, also on disk."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from contact_invariant.audit import Audit, Auditor, Bounds
from contact_invariant.character import behaviour_of
from contact_invariant.surroundings import Surroundings
from contact_invariant.synthesis import Progress, Synthesis, Synthesiser
from contact_invariant.timed_plan import TimedPlan, timed_plan
from multi_qp_scene.errors import MultiQpError
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


def cache_path(scenario: Scenario) -> Path:
    """Return the file for the motion of a scenario: named by a hash of everything that it depends on.

    These are the behaviour, the models of the scene, its initial configuration, and the code of this package.
    """
    scene, found = scenario.scene, hashlib.sha256()
    found.update(json.dumps(behaviour_of(scenario).model_dump(), sort_keys=True).encode())
    found.update(scene.q0.tobytes())
    found.update(scene.model.saveToString().encode())
    for name, surface in sorted(scene.surfaces.items()):
        found.update(repr((name, surface.points.tolist(), surface.X_link_surface)).encode())
    for piece in scene.collision_model.geometryObjects:
        shape = piece.geometry
        shape.computeLocalAABB()
        box = shape.aabb_local
        found.update(repr((piece.name, piece.placement, box.min_.tolist(), box.max_.tolist())).encode())
    for source in sorted(Path(__file__).parent.glob("*.py")):
        found.update(source.read_bytes())
    root = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(root).expanduser() / "multi_qp_controller" / "motions" / f"{found.hexdigest()[:32]}.npz"


def stored(scenario: Scenario) -> TimedPlan | None:
    """Return the motion that was stored for a scenario, if there is a readable one."""
    path = cache_path(scenario)
    if not path.is_file():
        return None
    try:
        return TimedPlan.load(path)
    except MultiQpError:
        return None


def store(scenario: Scenario, plan: TimedPlan, *, passed: bool) -> Path:
    """Store the motion of a scenario, and return its file; `stored` returns only one that passed its audit.

    Raises:
        MultiQpError: it cannot be written.
    """
    path = cache_path(scenario)
    path = path if passed else path.with_suffix(".rejected.npz")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}.part")
        plan.save(partial)
        partial.replace(path)
    except OSError as error:
        raise MultiQpError(f"cannot store the motion in '{path}': {error.strerror}") from None
    return path
