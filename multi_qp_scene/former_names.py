"""Former names of keys, values and options, accepted with a warning for one release."""

from __future__ import annotations

import logging
from collections.abc import Mapping

_log = logging.getLogger(__name__)

#: Former top-level keys of scenario files, with the present ones.
SCENARIO_KEYS = {"reality": "mismatch"}
#: Former names of the costs of transition points.
COSTS = {"tired": "short_and_low", "groovy": "alternating_sides", "at_ease": "smaller_region_centre"}


def present_name(what: str, name: str, renamed: Mapping[str, str]) -> str:
    """Return the present name of what may be a former name; the latter is warned of.

    Args:
        what: kind of name, with its place, for the warning.
        name: a name.
        renamed: present names by former ones.
    """
    if name not in renamed:
        return name
    _log.warning("%s %r is deprecated and will be refused by the next release: use %r", what, name, renamed[name])
    return renamed[name]
