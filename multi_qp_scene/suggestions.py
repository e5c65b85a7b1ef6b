"""Error messages for unknown names, with suggestions of similar valid names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

MOST_NAMES_LISTED = 12
CLOSEST_NAMES_LISTED = 5
_MOST_NAMES_COMPARED = 1000
_LONGEST_SHOWN = 80  # [characters] of a name
_LIKENESS_TO_SUGGEST = 0.6  # [-] difflib ratio; less similar names are not suggested


def unknown_name(kind: str, name: object, valid_names: Iterable[str]) -> str:
    """Return a message that a name is unknown, with a suggestion and the valid names.

    Args:
        kind: kind of the named object, in the singular: "contact".
        name: the unknown name.
        valid_names: the valid names; up to 12 are all listed, otherwise the closest 5.

    Returns:
        "unknown contact 'left_hnd'; did you mean 'left_hand'? (contacts: left_foot, left_hand)".
    """
    valid = list(dict.fromkeys(valid_names))
    text = shortened(str(name), _LONGEST_SHOWN)
    message = f"unknown {kind} {text!r}"
    ranked = _ranked(text, valid)
    if ranked and _likeness(text, ranked[0]) >= _LIKENESS_TO_SUGGEST:
        message += f"; did you mean {ranked[0]!r}?"
    return f"{message} ({_listing(kind, ranked, valid)})"


def shortened(text: str, length: int = 40) -> str:
    """Return a text shortened to a maximum number of characters, for messages."""
    return text if len(text) <= length else f"{text[: length - 3]}..."


def plural(noun: str) -> str:
    """Return the plural of an English noun that names a kind of thing: boxes, tasks of this state."""
    for joint in (" or ", " of "):
        first, found, second = noun.partition(joint)
        if found:
            return plural(first) + joint + (plural(second) if joint == " or " else second)
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return noun + "es"
    return noun + "s"


def _listing(kind: str, ranked: list[str], valid: list[str]) -> str:
    if not valid:
        return f"there are no {plural(kind)}"
    if len(valid) <= MOST_NAMES_LISTED:
        return f"{plural(kind)}: {', '.join(valid)}"
    if not ranked:
        return f"there are {len(valid)} {plural(kind)}"
    closest = ", ".join(ranked[:CLOSEST_NAMES_LISTED])
    return f"closest of {len(valid)} {plural(kind)}: {closest}"


def _ranked(name: str, valid: list[str]) -> list[str]:
    """Return the valid names, the most similar first; none if there are too many to compare."""
    if len(valid) > _MOST_NAMES_COMPARED:
        return []
    return sorted(valid, key=lambda candidate: -_likeness(name, candidate))


def _likeness(name: str, candidate: str) -> float:
    return difflib.SequenceMatcher(a=candidate.lower(), b=name.lower()).ratio()
