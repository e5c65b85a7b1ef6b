"""Options for model mismatch and disturbances of the simulation."""

from __future__ import annotations

import argparse
import math
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.former_names import present_name
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.schema.mismatch import MismatchSpec, PushSpec
from multi_qp_scene.suggestions import unknown_name

_NUMBERS = [name for name in MismatchSpec.model_fields if name != "pushes"]


class _FormerOption(argparse.Action):
    """Former name of a repeatable option."""

    def __call__(self, parser: argparse.ArgumentParser, options: Any, values: Any, name: str | None = None) -> None:
        """Add the value to that of the present option."""
        present_name("the option", str(name), {str(name): f"--{self.dest}"})
        setattr(options, self.dest, [*getattr(options, self.dest), values])


def add_mismatch_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--mismatch",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help=f"model mismatch, noise or delay in MuJoCo, SI units; can be repeated: {', '.join(_NUMBERS)}",
    )
    parser.add_argument("--reality", dest="mismatch", action=_FormerOption, help=argparse.SUPPRESS)
    parser.add_argument(
        "--push",
        metavar="LINK:X,Y,Z:FORCE:DURATION@TIME",
        action="append",
        default=[],
        help="push a link, as humanoid/torso:1,0,0:100:0.1@2 [N, s]; @STATE+TIME counts from a state; can be repeated",
    )


def mismatch_from(options: argparse.Namespace, base: MismatchSpec) -> MismatchSpec:
    """Return model mismatch and disturbances with the changes of the options.

    Raises:
        MultiQpError: when an option is invalid.
    """
    changes: dict[str, Any] = {}
    for setting in options.mismatch:
        name, equals, value = setting.partition("=")
        if not equals:
            raise MultiQpError(f"--mismatch: expected NAME=VALUE, got '{setting}'")
        if name not in _NUMBERS:
            raise MultiQpError(f"--mismatch: {unknown_name('name', name, _NUMBERS)}")
        changes[name] = value
    if options.push:
        changes["pushes"] = [*base.pushes, *(push_from(text) for text in options.push)]
    try:
        return MismatchSpec.model_validate(base.model_dump() | changes, strict=False)
    except ValidationError as error:
        first = error.errors()[0]
        raise MultiQpError(f"--mismatch {'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def with_mismatch(scenario: Scenario, mismatch: MismatchSpec) -> Scenario:
    """Return a scenario with other model mismatch and disturbances.

    Raises:
        MultiQpError: when a push refers to an unknown link or state.
    """
    links = {link for subsystem in scenario.scene.subsystems.values() for link in subsystem.links}
    for push in mismatch.pushes:
        if push.link not in links:
            raise MultiQpError(f"--push: {unknown_name('link', push.link, sorted(links))}")
        if push.state is not None and push.state not in scenario.spec.states:
            raise MultiQpError(f"--push: {unknown_name('state', push.state, sorted(scenario.spec.states))}")
    return replace(scenario, spec=scenario.spec.model_copy(update={"mismatch": mismatch}))


def push_from(text: str) -> PushSpec:
    """Parse a push.

    Raises:
        MultiQpError: when the text is not a push.
    """
    body, _, when = text.partition("@")
    state, plus, time = when.rpartition("+")
    parts = body.split(":")
    try:
        link, direction, force, duration = parts
        x, y, z = (float(part) for part in direction.split(","))
        numbers = {"force": float(force), "duration": float(duration), "at": float(time) if when else 1.0}
        if not all(math.isfinite(n) for n in (x, y, z, *numbers.values())) or not (x or y or z):
            raise ValueError
        return PushSpec(link=link, direction=(x, y, z), state=state if plus else None, **numbers)
    except ValueError:
        expected = "LINK:X,Y,Z:FORCE:DURATION@TIME, as humanoid/torso:1,0,0:100:0.1@2"
        raise MultiQpError(f"--push: expected {expected}, got '{text}'") from None
