"""Checks of a behaviour that need the models of its scene, and its contacts in the start pose."""

from __future__ import annotations

from contact_invariant.character import Character, behaviour_of
from contact_invariant.character_builder import character_of
from contact_invariant.contact_schedule import TOUCHING, gaps_at_start
from contact_invariant.surroundings import Surroundings, surroundings_of_behaviour
from multi_qp_scene.errors import KeyedError
from multi_qp_scene.scenario import Scenario


def check_contact_at_start(scenario: Scenario, character: Character, surroundings: Surroundings) -> None:
    """Check that an effector is in contact in the start pose.

    Raises:
        KeyedError: none is.
    """
    gaps = gaps_at_start(scenario.scene, character, surroundings)
    own = [(gap, e.name, surface) for e, (surface, gap) in zip(character.effectors, gaps, strict=True) if not e.of_prop]
    gap, name, surface = min(own)
    if gap >= TOUCHING:
        place = f"'{name}' is {gap:.3g} m from '{surface}' (contact: less than {TOUCHING:g} m)"
        raise KeyedError(("behaviour", "effectors"), f"none is in contact in the start pose; {place}")


def check_motors(scenario: Scenario, character: Character) -> None:
    """Check that motions of a scene can be refined one character at a time.

    Raises:
        KeyedError: a joint of a character has no motor.
    """
    scene = scenario.scene
    for name in character.names:
        columns = range(*scene.subsystems[name].v_slice.indices(scene.nv))[6:]
        missing = sorted(set(columns) - set(scene.actuated_v.tolist()))
        if missing:
            raise KeyedError(("behaviour", "refine"), f"joint '{scene.velocity_names[missing[0]]}' has no motor")


def start_contacts(scenario: Scenario) -> list[str]:
    """Return a line for each effector, but for hands of an object: whether it is in contact in the start pose.

    Raises:
        KeyedError: the scene does not fit the behaviour.
    """
    character = character_of(scenario)
    surroundings = surroundings_of_behaviour(scenario, character)
    if behaviour_of(scenario).refine:
        check_motors(scenario, character)
    check_contact_at_start(scenario, character, surroundings)
    lines, gaps = [], gaps_at_start(scenario.scene, character, surroundings)
    for effector, (surface, gap) in zip(character.effectors, gaps, strict=True):
        if not (effector.of_prop or effector.on_prop):
            away = f"{1e3 * gap:.1f} mm" if gap < 1.0 else f"{gap:.2f} m"
            touches = "in contact" if gap < TOUCHING else "no contact"
            lines.append(f"effector {effector.name}: {touches} at the start, {away} from {surface}")
    return lines
