"""Types of keys whose values are names in the scenario, and the check that these exist."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_args

from multi_qp_scene.strict_model import StrictModel

if TYPE_CHECKING:
    from multi_qp_scene.checks import Key, ScenarioChecker


@dataclass(frozen=True)
class NameOf:
    """Metadata of a type: the text, each text of a list, or each key of a mapping is the name of something.

    Attributes:
        kind: what is named, for messages.
        valid: returns the valid names of a scenario; None where they are given to `check_names`.
        required: whether a list must have a name.
    """

    kind: str
    valid: Callable[[ScenarioChecker], Iterable[str]] | None = None
    required: bool = False


def check_names(
    spec: StrictModel, scenario: ScenarioChecker, key: Key, local: Mapping[str, Iterable[str]] | None = None
) -> None:
    """Report each name in the keys of a specification that does not exist.

    Args:
        spec: the specification; parts of it that are specifications are not checked.
        scenario: checker of the scenario.
        key: its place in the file.
        local: valid names by kind, of kinds of which they depend on that place.
    """
    for name, field in type(spec).model_fields.items():
        for declared in _declared((field.annotation, *field.metadata)):
            value = getattr(spec, name)
            places = {(name,): value} if isinstance(value, str) else _places(name, value or ())
            if places:
                given = (local or {}).get(declared.kind)
                valid = set(given if given is not None else declared.valid(scenario) if declared.valid else ())
                for place, one in places.items():
                    scenario.known((*key, *place), declared.kind, one, valid)
            elif declared.required and value is not None:
                scenario.report_error((*key, name), f"name at least one {declared.kind}")


def _declared(parts: Iterable[Any]) -> Iterator[NameOf]:
    for part in parts:
        if isinstance(part, NameOf):
            yield part
        yield from _declared(get_args(part))


def _places(name: str, names: Any) -> dict[tuple[str | int, ...], str]:
    """Return the names in a list or mapping by their places."""
    return {(name, one if isinstance(names, dict) else k): one for k, one in enumerate(names)}


StateName = Annotated[str, NameOf("state", lambda scenario: scenario.written("states"))]
ContactName = Annotated[str, NameOf("contact", lambda scenario: scenario.written("contacts"))]
Contacts = Annotated[list[str], NameOf("contact", lambda scenario: scenario.written("contacts"), required=True)]
TaskName = Annotated[str, NameOf("task", lambda scenario: scenario.all_tasks)]
#: Subsystems that are controlled; full names of their joints, links and surfaces, and of those of the environment.
SubsystemName = Annotated[str, NameOf("subsystem", lambda scenario: scenario.names.moving)]
Group = Annotated[list[str], NameOf("subsystem", lambda scenario: scenario.names.moving, required=True)]
JointName = Annotated[str, NameOf("joint", lambda scenario: scenario.names.joints)]
LinkName = Annotated[str, NameOf("link", lambda scenario: scenario.names.links)]
FrameName = Annotated[str, NameOf("link or surface", lambda scenario: scenario.names.frames)]
#: Full names of joints, links and surfaces of all subsystems and of the environment.
AnyJointName = Annotated[str, NameOf("joint", lambda scenario: scenario.all_names.joints)]
AnyLinkName = Annotated[str, NameOf("link", lambda scenario: scenario.all_names.links)]
AnyFrameName = Annotated[str, NameOf("link or surface", lambda scenario: scenario.all_names.frames)]
AnySurfaceName = Annotated[str, NameOf("surface", lambda scenario: scenario.all_names.surfaces)]
