"""Which known name did the user mean? One wording for every unknown name in the project."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

MOST_NAMES_LISTED = 12
CLOSEST_NAMES_LISTED = 5
_LIKENESS_TO_SUGGEST = 0.6  # [-] difflib ratio; below it a suggestion puzzles more than it helps


def unknown_name(kind: str, name: object, valid_names: Iterable[str]) -> str:
    """Say that a name is unknown, which one may be meant and which ones there are.

    Args:
        kind: what the name stands for, in the singular: "contact".
        name: what the user wrote.
        valid_names: the names that would be right. Up to 12 are all listed, else the closest 5.

    Returns:
        "unknown contact 'left_hnd'; did you mean 'left_hand'? (contacts: left_foot, left_hand)".
    """
    valid = list(dict.fromkeys(valid_names))
    message = f"unknown {kind} {name!r}"
    meant = closest_name(str(name), valid)
    if meant is not None:
        message += f"; did you mean {meant!r}?"
    return f"{message} ({_listing(kind, str(name), valid)})"


def closest_name(name: str, valid_names: Iterable[str]) -> str | None:
    """Return the valid name most like `name`, in capitals or not, or None if none is like it."""
    ranked = _ranked(name, list(valid_names))
    if not ranked or _likeness(name, ranked[0]) < _LIKENESS_TO_SUGGEST:
        return None
    return ranked[0]


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


def _listing(kind: str, name: str, valid: list[str]) -> str:
    if not valid:
        return f"there are no {plural(kind)}"
    if len(valid) <= MOST_NAMES_LISTED:
        return f"{plural(kind)}: {', '.join(valid)}"
    closest = ", ".join(_ranked(name, valid)[:CLOSEST_NAMES_LISTED])
    return f"closest of {len(valid)} {plural(kind)}: {closest}"


def _ranked(name: str, valid: list[str]) -> list[str]:
    return sorted(valid, key=lambda candidate: -_likeness(name, candidate))


def _likeness(name: str, candidate: str) -> float:
    return difflib.SequenceMatcher(a=candidate.lower(), b=name.lower()).ratio()
