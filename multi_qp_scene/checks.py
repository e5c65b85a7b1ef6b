"""What the checks of a scenario file share: valid names, and reports of errors with their place."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from multi_qp_scene.names import Names
from multi_qp_scene.problems import Problems
from multi_qp_scene.schema import tasks as tk
from multi_qp_scene.schema.scenario_file import ScenarioFile
from multi_qp_scene.yaml_document import YamlDocument

Key = tuple[str | int, ...]


class ScenarioChecker:
    """Cross-reference checks of one scenario; each unknown name or inconsistent value is reported.

    The `check` methods of the parts of a scenario receive it.

    Attributes:
        document: the file.
        spec: its valid parts.
        names: valid names of links, joints, surfaces and subsystems that are controlled, and of the environment.
        all_names: valid names of all subsystems.
    """

    def __init__(self, document: YamlDocument, spec: ScenarioFile, names: Names, problems: Problems) -> None:
        self.document = document
        self.spec = spec
        self.all_names = names
        self._uncontrolled = {name for name, one in spec.subsystems.items() if not one.controlled}
        self._unknown = {name for name, one in spec.environment.items() if one.unknown_part_of is not None}
        self.names = names.without(self._uncontrolled | self._unknown)
        self._problems = problems

    def known(self, key: Key, kind: str, name: str, valid: Iterable[str]) -> None:
        """Report a name that is not one of the valid names."""
        if name in (valid := set(valid)) or self.names.excused(name):
            return
        if name.split("/")[0] in self._uncontrolled:
            self.report_error(key, f"'{name}' is of a subsystem with `controlled: false`, which the QP does not have")
        elif name.split("/")[0] in self._unknown:
            self.report_error(key, f"'{name}' is of a piece with `unknown_part_of`, which the controller does not know")
        else:
            self._problems.unknown(self.document.location(key), kind, name, sorted(valid))

    def written(self, *section: str) -> set[str]:
        """Return the names of a section's entries in the file, including invalid entries that were removed."""
        content: Any = self.document.data
        for part in section:
            content = content.get(part) if isinstance(content, dict) else None
        return set(content) if isinstance(content, dict) else set()

    def report_error(self, key: Key, message: str) -> None:
        """Report an error at a key."""
        self._problems.add(self.document.location(key), message)

    def joints_of(self, subsystem: str) -> set[str]:
        """Return the joints of a subsystem, without its prefix."""
        prefix = f"{subsystem}/"
        return {joint.removeprefix(prefix) for joint in self.all_names.joints if joint.startswith(prefix)}

    def surfaces_of(self, subsystem: str) -> set[str]:
        """Return the surfaces of a subsystem, without its prefix."""
        prefix = f"{subsystem}/"
        return {surface.removeprefix(prefix) for surface in self.all_names.surfaces if surface.startswith(prefix)}

    def check_target(self, task: tk.CoMTaskSpec | tk.PoseTaskSpec, key: Key, choices: str) -> None:
        """Report a target without content."""
        if "target" not in task.model_fields_set:
            self.report_error(key, f"the key 'target' is missing; give in it {choices}")
        elif not task.target.model_fields_set:
            self.report_error((*key, "target"), f"the target is empty; give {choices}")

    def check_axes(self, axes: Sequence[str], key: Key) -> None:
        """Report repeated axes, and an empty list."""
        if not axes:
            self.report_error((*key, "axes"), "name at least one axis")
        self.check_repeated((*key, "axes"), "axis", axes)

    def check_repeated(self, key: Key, kind: str, names: Sequence[str]) -> None:
        """Report each repeated name."""
        for k, name in enumerate(names):
            if name in names[:k]:
                self.report_error((*key, k), f"the {kind} '{name}' is named twice")

    def check_patterns(self, key: Key, kind: str, patterns: Iterable[str], valid: set[str]) -> None:
        """Report each pattern that matches no valid name."""
        for pattern in patterns:
            if not fnmatch.filter(valid, pattern) and not self.names.excused(pattern):
                self._problems.unknown(self.document.location(key), kind, pattern, sorted(valid))

    def check_posture(
        self, key: Key, subsystem: str, posture: str | Mapping[str, float] | None, also: Iterable[str] = ("initial",)
    ) -> None:
        """Report an unknown posture of a subsystem, or unknown joints of one that is given by its angles."""
        if isinstance(posture, str):
            self.known(key, "posture", posture, self.names.postures[subsystem] | set(also))
        elif posture is not None:
            for joint in posture:
                self.known((*key, joint), "joint", joint, self.joints_of(subsystem))

    @property
    def all_tasks(self) -> set[str]:
        """Names of the tasks of the scenario and of its states."""
        return self.written("tasks").union(*(self.written("states", s, "tasks") for s in self.written("states")))

    def check_pose_task(self, name: str, key: Key) -> None:
        """Report a goal that refers to a task of another type than `pose`."""
        everywhere: list[Mapping[str, Any]] = [self.spec.tasks, *(s.tasks for s in self.spec.states.values())]
        found = [tasks[name] for tasks in everywhere if tasks.get(name) is not None]
        if found and not any(isinstance(task, tk.PoseTaskSpec) for task in found):
            self.report_error(key, f"expected a task of type pose, and '{name}' is of type {found[0].type}")
