"""Collects the problems of a configuration file, so that a user sees all of them at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from multi_qp_scene.errors import ConfigError, Location, Problem
from multi_qp_scene.suggestions import unknown_name


class Problems:
    """A growing list of problems; true when there are any."""

    def __init__(self) -> None:
        """Start without problems."""
        self._found: dict[Problem, None] = {}  # ordered set: an aliased YAML node would repeat its problems

    def add(self, location: Location, message: str) -> None:
        """Note one problem. The same message at the same place is noted once."""
        self._found.setdefault(Problem(location, message))

    def unknown(self, location: Location, kind: str, name: object, valid_names: Iterable[str]) -> None:
        """Note that `name` is no valid name of a `kind` ("contact"), with the one that may be meant."""
        self.add(location, unknown_name(kind, name, valid_names))

    def extend(self, problems: Iterable[Problem]) -> None:
        """Note several problems, for example those of another file's ConfigError."""
        for problem in problems:
            self._found.setdefault(problem)

    def raise_if_any(self) -> None:
        """Raise a ConfigError with every problem, in the order of the file; do nothing if there are none."""
        if self._found:
            raise ConfigError(sorted(self._found, key=_place_in_file))

    def __bool__(self) -> bool:
        """Whether there are problems."""
        return bool(self._found)

    def __len__(self) -> int:
        """Return the number of problems."""
        return len(self._found)

    def __iter__(self) -> Iterator[Problem]:
        """Go through the problems in the order in which they were found."""
        return iter(self._found)


def _place_in_file(problem: Problem) -> tuple[str, int]:
    location = problem.location
    return str(location.file or ""), location.line or 0
