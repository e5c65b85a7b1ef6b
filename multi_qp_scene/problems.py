"""Collection of the errors of a configuration file, to report all of them at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from multi_qp_scene.errors import ConfigError, ConfigProblem, Location
from multi_qp_scene.suggestions import unknown_name

#: Number of errors that are listed; further ones are only counted.
MOST_PROBLEMS = 50


class Problems:
    """List of errors without duplicates; true if there are any."""

    def __init__(self) -> None:
        """Create an empty list."""
        self._found: dict[ConfigProblem, None] = {}  # ordered set: an aliased YAML node would repeat its problems
        self._more = 0

    def add(self, location: Location, message: str) -> None:
        """Add one error; the same message at the same location is added once."""
        self.extend([ConfigProblem(location, message)])

    def unknown(self, location: Location, kind: str, name: object, valid_names: Iterable[str]) -> None:
        """Add an unknown `name` of a `kind` ("contact"), with the closest valid name."""
        self.add(location, "" if self.full else unknown_name(kind, name, valid_names))

    def extend(self, problems: Iterable[ConfigProblem]) -> None:
        """Add several errors, for example those of another file's ConfigError."""
        for problem in problems:
            if not self.full:
                self._found.setdefault(problem)
            elif problem not in self._found:
                self._more += 1

    def count(self, number: int) -> None:
        """Count errors without their messages, when the list is full."""
        self._more += number

    @property
    def full(self) -> bool:
        """Whether further errors are only counted, so that their messages need not be formatted."""
        return len(self._found) >= MOST_PROBLEMS

    def raise_if_any(self) -> None:
        """Raise a ConfigError with all errors, in the order of the file; do nothing if there are none."""
        if self._found:
            raise ConfigError(sorted(self._found, key=_place_in_file), more=self._more)

    def __bool__(self) -> bool:
        """Whether there are errors."""
        return bool(self._found)

    def __len__(self) -> int:
        """Return the number of errors."""
        return len(self._found)

    def __iter__(self) -> Iterator[ConfigProblem]:
        """Iterate over the errors in the order in which they were added."""
        return iter(self._found)


def _place_in_file(problem: ConfigProblem) -> tuple[str, int]:
    location = problem.location
    return str(location.file or ""), location.line or 0
