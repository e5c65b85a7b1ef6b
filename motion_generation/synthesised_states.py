"""States that carry out the synthesised motion of a scenario with a `behaviour`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from contact_invariant.character import behaviour_of
from contact_invariant.character_builder import character_of
from contact_invariant.store import cache_path, store, stored
from contact_invariant.timed_plan import TimedPlan
from contact_invariant.window import first_window, target_of
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.meeting_pairs import link_of
from multi_qp_scene.overlaps import OverlapSearch
from multi_qp_scene.pairs import UNLISTED_INFLUENCE, UNLISTED_SECURITY, unlisted_pairs, watched_pairs
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.conditions import GeneratorConditionSpec
from multi_qp_scene.schema.control import CollisionPairSpec
from multi_qp_scene.schema.generator_spec import GeneratorSpec
from multi_qp_scene.schema.generators import MotionPlaybackSpec, MotionReplanningSpec
from multi_qp_scene.schema.goals import TaskTermsGoal
from multi_qp_scene.schema.scenario_file import ContactSpec
from multi_qp_scene.schema.states import StateSpec, TransitionSpec

#: Duration of the rest after the motion [s].
HOLD = 1.0


@dataclass(frozen=True)
class SynthesisedScenario:
    """A scenario with the states of its motion.

    Attributes:
        scenario: contains the states.
        passed: whether the motion passed its audit.
        computed: whether it was computed now, instead of read from the store.
        missed: what the audit found, if it did not pass.
    """

    scenario: Scenario
    passed: bool
    computed: bool
    missed: str = ""


def synthesise_scenario(
    scenario: Scenario, *, progress: Callable[[str, int, float], None] | None = None
) -> SynthesisedScenario:
    """Synthesise the motion of a scenario with a `behaviour`, or take the stored one, and write its states.

    A stored motion that did not pass the audit is not used again.

    Raises:
        MultiQpError: the scene does not fit, or the motion ends without a contact.
    """
    window = scenario
    if behaviour_of(scenario).online is not None:
        window = first_window(scenario, character_of(scenario))
    plan = stored(window)
    if plan is not None:
        return SynthesisedScenario(with_motion(scenario, plan, cache_path(window)), True, computed=False)
    from contact_invariant.starts import Starts, best  # imports CasADi

    starts = Starts(window)
    chosen = best(starts.until_one_passes(progress))
    try:
        plan = starts.plan(chosen)
    except MultiQpError as error:
        if chosen.passed:
            raise
        advice = f"`multi-qp synthesize {scenario.name}` says where"
        raise MultiQpError(f"{error}; not met: {chosen.missed}; {advice}") from error
    path = store(window, plan, passed=chosen.passed)
    written = with_motion(scenario, plan, path)
    return SynthesisedScenario(written, chosen.passed, computed=True, missed=chosen.missed)


def with_motion(scenario: Scenario, plan: TimedPlan, path: Path) -> Scenario:
    """Return the scenario with contacts, collision pairs and states that play a motion, and a goal for its task terms.

    Args:
        scenario: has a `behaviour`; its own contacts and tasks are retained.
        plan: the motion.
        path: its file.
    """
    behaviour = behaviour_of(scenario)
    touched = [(k, str(other)) for row in plan.touched.tolist() for k, other in enumerate(row) if other]
    if behaviour.online is not None:  # contacts of later windows are not known yet
        touched = [(k, face) for k in range(len(plan.effectors)) for face in _faces(scenario)]
    given = {name: one for member in behaviour.characters for name, one in member.effectors.items()}
    names: dict[str, dict[str, str]] = {one.character: {} for one in behaviour.characters}
    contacts = {}
    for k, other in dict.fromkeys(touched):
        name = f"{plan.effectors[k]}_on_{other.replace('/', '_')}"
        owner = str(plan.owners[k]) if str(plan.owners[k]) in names else behaviour.character  # it has the object's
        names[owner][f"{plan.effectors[k]} {other}"] = name
        contacts[name] = ContactSpec(
            surfaces=(str(plan.surfaces[k]), other),
            friction=behaviour.friction,
            effort=given[effector].effort if (effector := str(plan.effectors[k])) in given else 1.0,
            grip=given[effector].grip if effector in given else 0.0,
        )
    character, file = behaviour.character, str(path.resolve())
    play: dict[str, GeneratorSpec] = {}
    if behaviour.online is None:
        for k, one in enumerate(behaviour.characters):
            play["motion" if k == 0 else f"motion of {one.character}"] = MotionPlaybackSpec(
                type="motion_playback", subsystem=one.character, file=file, contacts=names[one.character]
            )
    else:
        x, y = target_of(behaviour).tolist()
        play["motion"] = MotionReplanningSpec(
            type="motion_replanning",
            subsystem=character,
            file=file,
            contacts=names[character],
            target=(x, y),
        )
    done = GeneratorConditionSpec(type="generator", generator="motion")
    states = {
        "motion": StateSpec(
            description="plays the synthesised motion",
            generators=play,
            transitions=[TransitionSpec(to="rest", when=done)],
        ),
        "rest": StateSpec(description="holds the last posture", generators=play, hold=HOLD),
    }
    goals = scenario.spec.goals
    if behaviour.online is None:  # targets of later windows are not known yet
        goals = {"task": TaskTermsGoal(type="task_terms"), **goals}
    contacts = {**scenario.spec.contacts, **contacts}
    collisions = scenario.spec.collisions
    pairs = [*collisions.pairs, *_idle(scenario.scene, plan, contacts), *_close(scenario, plan)]
    update = {
        "contacts": contacts,
        "collisions": collisions.model_copy(update={"pairs": pairs}),
        "goals": goals,
        "states": states,
        "initial_state": "motion",
        "duration": max(scenario.spec.duration, float(plan.knots[-1]) + HOLD + 1.0),
    }
    return replace(scenario, spec=scenario.spec.model_copy(update=update))


def _idle(scene: Scene, plan: TimedPlan, contacts: Mapping[str, ContactSpec]) -> list[CollisionPairSpec]:
    """Return pairs of all fixed links and each link with patches that make no contact in a motion.

    Only their joint angles are followed. Those that make one follow paths that clear solids, which a damper would slow.
    """
    pieces = scene.collision_model.geometryObjects
    solids = dict.fromkeys(link_of(scene, k) for k, piece in enumerate(pieces) if piece.parentJoint == 0)
    links = dict.fromkeys(scene.surfaces[str(name)].link for name in plan.surfaces)
    touching = {scene.surfaces[name].link for one in contacts.values() for name in one.surfaces}
    return [
        CollisionPairSpec(bodies=(link, solid), influence=UNLISTED_INFLUENCE, security=UNLISTED_SECURITY)
        for link in links
        for solid in solids
        if link not in touching
    ]


def _close(scenario: Scenario, plan: TimedPlan) -> list[CollisionPairSpec]:
    """Return pairs of links of one character that a motion leads closer than their damper allows; they may touch.

    Of pairs that neither the scenario nor the model lists: chest and thigh, where a trunk is folded.
    """
    scene, spec, bodies = scenario.scene, scenario.spec.collisions, dict[tuple[str, str], None]()
    if spec.self_pairs != "all":
        return []
    for name in (one.character for one in behaviour_of(scenario).characters):
        unlisted = set(unlisted_pairs(scene, name))
        watched = [pair for pair in watched_pairs(scene, spec) if pair.links in unlisted and pair.damper]
        margin = max((pair.security for pair in watched), default=0.0)
        ends = [(pair.first, pair.second) for pair in watched]
        search, q = OverlapSearch(scene.model, scene.collision_model, ends, margin=margin), scene.q0.copy()
        for posture in plan.of(name).postures:
            q[scene.subsystems[name].q_slice] = posture
            near = search.distances(q).items()
            bodies |= dict.fromkeys(watched[k].links for k, distance in near if distance < watched[k].security)
    return [CollisionPairSpec(bodies=pair, influence=UNLISTED_INFLUENCE, security=0.0) for pair in bodies]


def _faces(scenario: Scenario) -> list[str]:
    """Return the full names of all surfaces that can be touched."""
    from contact_invariant.surroundings import surroundings_of  # imports CasADi

    return [
        face.name
        for face in surroundings_of(scenario.scene, *(c.character for c in behaviour_of(scenario).characters)).faces
    ]
