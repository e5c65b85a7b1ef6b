"""Checks of the sections `plan`, `turns` and `behaviour` of a scenario: existence of names and unambiguous goals."""

from __future__ import annotations

import fnmatch
from collections.abc import Collection

from multi_qp_scene.checks import Key, ScenarioChecker
from multi_qp_scene.schema.behaviour import (
    BehaviourSpec,
    CharacterSpec,
    DirectionTerm,
    HandstandTerm,
    ObjectPositionTerm,
    ObjectSpec,
    PositionTerm,
    StrikeTerm,
)
from multi_qp_scene.schema.name_of import check_names
from multi_qp_scene.schema.plan import PlanGoalSpec, PlanSpec
from multi_qp_scene.schema.turns import TurnsSpec

#: Terms of which two with different values at the same time contradict each other.
SINGLE = (PositionTerm, DirectionTerm, StrikeTerm, ObjectPositionTerm)


def check_plan(plan: PlanSpec, scenario: ScenarioChecker) -> None:
    """Report each error in the section `plan`."""
    names = scenario.names
    scenario.known(("plan", "character"), "subsystem", plan.character, names.moving)
    own = scenario.surfaces_of(plan.character)
    if plan.character in names.moving and plan.character not in names.unreadable:
        for limb, surface in plan.limbs.items():
            scenario.known(("plan", "limbs", limb), "surface", surface, own)
        scenario.known(("plan", "posture"), "posture", plan.posture, names.postures[plan.character])
        if plan.character not in names.floating:
            scenario.report_error(("plan", "character"), "only a character with a free-flyer can be planned for")
    others = {surface for surface in names.surfaces if not surface.startswith(f"{plan.character}/")}
    local: dict[str, Collection[str]] = {"surface": others, "limb": plan.limbs}
    check_names(plan, scenario, ("plan",), local)
    if not plan.needed:
        scenario.report_error(("plan", "helpers"), "at least one limb must not be a helper")
    if plan.least is not None and plan.least > len(plan.needed):
        scenario.report_error(("plan", "least"), f"there are only {len(plan.needed)} limbs that are not helpers")
    for k, goal in enumerate(plan.goals):
        at: Key = ("plan", "goal", k) if isinstance(plan.goal, list) else ("plan", "goal")
        check_names(goal, scenario, at, local)
        _check_goal(goal, at, plan, scenario)


def check_turns(turns: TurnsSpec, scenario: ScenarioChecker) -> None:
    """Report each error in the section `turns`."""
    names = scenario.names
    moving = tuple(f"{player}/" for player in turns.players)
    for player, spec in turns.players.items():
        scenario.known(("turns", "players", player), "subsystem", player, names.moving)
        if player not in names.moving or player in names.unreadable:
            continue
        own = scenario.surfaces_of(player)
        for limb, surface in spec.limbs.items():
            scenario.known(("turns", "players", player, "limbs", limb), "surface", surface, own)
        if player not in names.floating:
            scenario.report_error(("turns", "players", player), "only a character with a free-flyer can be planned for")
    others = {surface for surface in names.surfaces if not surface.startswith(moving)}
    for color, patterns in turns.colors.items():
        for k, pattern in enumerate(patterns):
            if not fnmatch.filter(others, pattern):
                scenario.known(("turns", "colors", color, k), "surface", pattern, others)


def check_behaviour(behaviour: BehaviourSpec, scenario: ScenarioChecker) -> None:
    """Report each error in the section `behaviour`."""
    _check_character(behaviour, ("behaviour",), scenario)
    local = {
        "effector": {name for character in behaviour.characters for name in character.effectors},
        "character": {character.character for character in behaviour.characters},
    }
    if behaviour.partner is not None:
        _check_character(behaviour.partner, ("behaviour", "partner"), scenario)
        _check_partner(behaviour, behaviour.partner, scenario)
    if behaviour.partner is None and behaviour.touchable:
        scenario.report_error(("behaviour", "touchable"), "there is no `partner` that could touch it")
    elif behaviour.refine and not behaviour.refinable:
        message = "motions of two characters that may touch each other are not refined: expected one `touchable`"
        scenario.report_error(("behaviour", "refine"), message)
    for key, what in (("torque_limits", "static torques need"), ("balanced", "it needs")):
        if getattr(behaviour, key) and not behaviour.limb_weights:
            message = f"{what} the weight of limbs: expected `limb_weights: true` as well"
            scenario.report_error(("behaviour", key), message)
    if behaviour.online is not None and behaviour.duration_factor > 1.0:
        message = "phases of a window have the same duration: expected 1 with `online`"
        scenario.report_error(("behaviour", "duration_factor"), message)
    if behaviour.object is not None:
        check_names(behaviour.object, scenario, ("behaviour", "object"), local)
        _check_object(behaviour, behaviour.object, local["effector"], scenario)
    given: dict[tuple[object, ...], int] = {}
    for k, term in enumerate(behaviour.terms):
        if term.type == "object_position" and behaviour.object is None:
            scenario.report_error(("behaviour", "terms", k), "there is no `object`")
        check_names(term, scenario, ("behaviour", "terms", k), local)
        if term.phase is not None and term.phase > behaviour.phases:
            message = f"there are only {behaviour.phases} phases, got {term.phase}"
            scenario.report_error(("behaviour", "terms", k, "phase"), message)
        if isinstance(term, HandstandTerm) and (both := set(term.hands) & set(term.feet)):
            scenario.report_error(("behaviour", "terms", k, "feet"), f"'{min(both)}' is one of the hands")
        if isinstance(term, SINGLE) and term.weight >= 1.0:
            of = getattr(term, "character", None) or getattr(term, "effector", behaviour.character)
            if (first := given.setdefault((term.type, of, term.phase or behaviour.phases), k)) != k:
                scenario.report_error(("behaviour", "terms", k), f"contradicts terms[{first}], of the same time")
    if behaviour.terms and all(term.weight < 1.0 for term in behaviour.terms):
        message = "expected a term with a weight of at least 1: others are preferences, which no audit judges"
        scenario.report_error(("behaviour", "terms"), message)
    if behaviour.online is not None:
        targets = [term for term in behaviour.terms if term.type == "position"]
        if len(targets) != 1 or targets[0].phase is not None or len(targets[0].target) != 2:
            message = "expected one term `position` with x and y, and without a phase: the target"
            scenario.report_error(("behaviour", "online"), message)
        if behaviour.refine:
            scenario.report_error(("behaviour", "refine"), "motions that are made again `online` are not refined")


def _check_character(character: CharacterSpec, key: Key, scenario: ScenarioChecker) -> None:
    names, name = scenario.names, character.character
    scenario.known((*key, "character"), "subsystem", name, names.moving)
    if name not in names.moving or name in names.unreadable:
        return
    own = scenario.surfaces_of(name)
    owners: dict[str, str] = {}
    for effector, spec in character.effectors.items():
        place = (*key, "effectors", effector, "surface")
        scenario.known(place, "surface", spec.surface, own)
        if (other := owners.setdefault(spec.surface, effector)) != effector:
            scenario.report_error(place, f"'{spec.surface}' is the surface of the effector '{other}'")
        if spec.joined is not None:
            free = {name for name, one in character.effectors.items() if one.joined is None and name != effector}
            scenario.known((*key, "effectors", effector, "joined"), "effector", spec.joined, free)
    if not any(spec.supports for spec in character.effectors.values()):
        scenario.report_error((*key, "effectors"), "expected an effector that `supports` the character")
    check_names(character, scenario, key, {"surface": own})
    scenario.known((*key, "posture"), "posture", character.posture, names.postures[name])
    if name not in names.floating:
        message = "only the motion of a character with a free-flyer can be synthesised"
        scenario.report_error((*key, "character"), message)


def _check_partner(behaviour: BehaviourSpec, partner: CharacterSpec, scenario: ScenarioChecker) -> None:
    key: Key = ("behaviour", "partner")
    if partner.character == behaviour.character:
        scenario.report_error((*key, "character"), f"'{partner.character}' is the first character")
    for name in partner.effectors:
        if name in behaviour.effectors:
            scenario.report_error((*key, "effectors", name), f"'{name}' is an effector of the first character")
    if behaviour.online is not None:
        scenario.report_error(("behaviour", "online"), "motions of two characters are not made again `online`")


def _check_object(
    behaviour: BehaviourSpec, prop: ObjectSpec, effectors: Collection[str], scenario: ScenarioChecker
) -> None:
    key: Key = ("behaviour", "object")
    names = scenario.names
    characters = {character.character for character in behaviour.characters}
    scenario.known((*key, "subsystem"), "other subsystem", prop.subsystem, names.moving - characters)
    if prop.subsystem in names.moving and prop.subsystem not in names.unreadable:
        if prop.subsystem not in names.floating:
            scenario.report_error((*key, "subsystem"), "expected an object with a floating base")
        for name, surface in prop.patches.items():
            scenario.known((*key, "patches", name), "surface", surface, scenario.surfaces_of(prop.subsystem))
            if name in effectors:
                scenario.report_error((*key, "patches", name), f"'{name}' is the name of an effector")
    if behaviour.online is not None:
        scenario.report_error(key, "motions with an object are not made again `online`")


def _check_goal(goal: PlanGoalSpec, at: Key, plan: PlanSpec, scenario: ScenarioChecker) -> None:
    names = scenario.names
    if (goal.pose is None) == (goal.onto is None):
        scenario.report_error(at, "give either `pose` or `onto`")
    if plan.character not in names.moving or plan.character in names.unreadable:
        return
    scenario.check_posture((*at, "posture"), plan.character, goal.posture, ())
