"""Cross-reference checks of a scenario file: existence of names and consistency of numbers."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from multi_qp_scene.mimic import mimic_violations
from multi_qp_scene.names import Names
from multi_qp_scene.plan_checks import check_plan, check_turns
from multi_qp_scene.problems import Problems
from multi_qp_scene.schema import tasks as tk
from multi_qp_scene.schema.conditions import StateNames
from multi_qp_scene.schema.scenario_file import ScenarioFile
from multi_qp_scene.schema.states import StateSpec
from multi_qp_scene.yaml_document import YamlDocument

Key = tuple[str | int, ...]


class ScenarioChecker:
    """Cross-reference checks of one scenario; each unknown name or inconsistent value is reported.

    Attributes:
        names: valid names of links, joints, surfaces and subsystems.
    """

    def __init__(self, document: YamlDocument, spec: ScenarioFile, names: Names, problems: Problems) -> None:
        self._document = document
        self._spec = spec
        self.names = names
        self._problems = problems

    def check(self) -> None:
        """Check everything."""
        self._check_subsystems()
        self._check_contacts()
        self._check_collisions()
        self._check_loads()
        self._check_pushes()
        self._check_tasks(self._spec.tasks, ("tasks",))
        self._check_states()
        self._check_goals()

    def known(self, key: Key, kind: str, name: str, valid: Iterable[str]) -> None:
        """Report a name that is not one of the valid names."""
        if name not in (valid := set(valid)) and not self.names.excused(name):
            self._problems.unknown(self._document.location(key), kind, name, sorted(valid))

    def written(self, *section: str) -> set[str]:
        """Return the names of a section's entries in the file, including invalid entries that were removed."""
        content: Any = self._document.data
        for part in section:
            content = content.get(part) if isinstance(content, dict) else None
        return set(content) if isinstance(content, dict) else set()

    def report_error(self, key: Key, message: str) -> None:
        """Report an error at a key."""
        self._problems.add(self._document.location(key), message)

    def _check_subsystems(self) -> None:
        names = self.names
        for clash in sorted(names.moving & self.written("environment")):
            self.report_error(("environment", clash), f"'{clash}' is already the name of a subsystem")
        for section in ("subsystems", "environment"):
            for name in getattr(self._spec, section):
                if "/" in name or " " in name:
                    self.report_error((section, name), f"the name '{name}' must not contain '/' or blanks")
        for name in sorted(names.fixed & names.floating):
            self.report_error(("environment", name, "model"), "the root of an environment model must be `fixed`")
        for name, spec in self._spec.subsystems.items():
            key: Key = ("subsystems", name)
            if spec.place is not None and spec.pose is not None:
                self.report_error(key, "give either `pose` or `place`, not both")
            if name in names.unreadable:
                continue
            if spec.place is not None:
                if name not in names.floating:
                    self.report_error((*key, "place"), "only a subsystem with a free-flyer can be placed; give `pose`")
                for k, surface in enumerate(spec.place.surfaces):
                    own = {s.removeprefix(f"{name}/") for s in names.surfaces if s.startswith(f"{name}/")}
                    self.known((*key, "place", "surfaces", k), "surface", surface, own)
                fixed_surfaces = {s for s in names.surfaces if s.split("/")[0] in names.fixed}
                self.known((*key, "place", "onto"), "surface of the environment", spec.place.onto, fixed_surfaces)
            if spec.mass is not None and name in names.massless:
                self.report_error((*key, "mass"), "no moving link of its URDF has a mass that could be scaled to this")
            if isinstance(spec.posture, str):
                self.known((*key, "posture"), "posture", spec.posture, names.postures[name])
            elif spec.posture is not None:
                own_joints = self.joints_of(name)
                for joint in spec.posture:
                    self.known((*key, "posture", joint), "joint", joint, own_joints)
                for joint, message in mimic_violations(names.mimics[name], spec.posture):
                    self.report_error((*key, "posture", joint), message)
            if spec.effort_limits is not None:
                self.known((*key, "effort_limits"), "set of effort limits", spec.effort_limits,
                            names.effort_limits[name])  # fmt: skip

    def joints_of(self, subsystem: str) -> set[str]:
        """Return the joints of a subsystem, without its prefix."""
        prefix = f"{subsystem}/"
        return {joint.removeprefix(prefix) for joint in self.names.joints if joint.startswith(prefix)}

    def _check_contacts(self) -> None:
        for name, contact in self._spec.contacts.items():
            key: Key = ("contacts", name, "surfaces")
            for k, surface in enumerate(contact.surfaces):
                self.known((*key, k), "surface", surface, self.names.surfaces)
            first, second = (surface.split("/")[0] for surface in contact.surfaces)
            if first in self.names.fixed and second in self.names.fixed:
                self.report_error(key, "both surfaces belong to the environment")
            elif first in self.names.fixed:
                self.report_error(key, "the first surface must belong to a subsystem; put the environment's second")
            elif contact.surfaces[0] == contact.surfaces[1]:
                self.report_error(key, "a surface cannot touch itself")
            elif (link := self.names.surfaces.get(contact.surfaces[0])) is not None:
                if link == self.names.surfaces.get(contact.surfaces[1]):
                    self.report_error(key, f"both surfaces are on the link '{link}'")

    def _check_collisions(self) -> None:
        collisions = self._spec.collisions
        for k, pair in enumerate(collisions.pairs):
            for j, pattern in enumerate(pair.bodies):
                key: Key = ("collisions", "pairs", k, "bodies", j)
                if not fnmatch.filter(self.names.links, pattern) and not self.names.excused(pattern):
                    self._problems.unknown(self._document.location(key), "link", pattern, sorted(self.names.links))
            if pair.influence is not None or pair.security is not None:
                influence = pair.influence or collisions.influence
                security = collisions.security if pair.security is None else pair.security
                own = "influence" if pair.security is None else "security"
                self._check_security(("collisions", "pairs", k, own), security, influence, " m")
        for k, name in enumerate(collisions.self_collisions):
            self.known(("collisions", "self_collisions", k), "subsystem", name, self.names.moving)
        self._check_security(("collisions", "security"), collisions.security, collisions.influence, " m")
        if (balance := self._spec.balance) is not None:
            self._check_security(("balance", "security"), balance.security, balance.influence, " m")
        limits = self._spec.joint_limits
        self._check_security(("joint_limits", "security"), limits.security, limits.influence, " of the range")

    def _check_security(self, key: Key, security: float, influence: float, unit: str) -> None:
        if security >= influence:
            self.report_error(key, f"security ({security:g}{unit}) must be below influence ({influence:g}{unit})")

    def _check_pushes(self) -> None:
        for k, push in enumerate(self._spec.mismatch.pushes):
            key: Key = ("mismatch", "pushes", k)
            self.known((*key, "link"), "link", push.link, self.names.links)
            if push.state is not None:
                self.known((*key, "state"), "state", push.state, self._spec.states)
            if not any(push.direction):
                self.report_error((*key, "direction"), "a push needs a direction")

    def _check_loads(self) -> None:
        for name, load in self._spec.loads.items():
            self.known(("loads", name, "link"), "link", load.link, self.names.links)
            if not load.min <= load.mass <= load.max:
                self.report_error(("loads", name, "mass"), f"{load.mass} kg is outside [{load.min}, {load.max}] kg")
            if load.link.split("/")[0] in self.names.fixed:
                self.report_error(("loads", name, "link"), "a load on the environment changes nothing")

    def _check_tasks(self, tasks: Mapping[str, Any], key: Key) -> None:
        for name, task in tasks.items():
            if task is not None:
                task.check(self, (*key, name))

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
        self._check_repeated((*key, "axes"), "axis", axes)

    def _check_repeated(self, key: Key, kind: str, names: Sequence[str]) -> None:
        for k, name in enumerate(names):
            if name in names[:k]:
                self.report_error((*key, k), f"the {kind} '{name}' is named twice")

    def check_patterns(self, key: Key, kind: str, patterns: Iterable[str], valid: set[str]) -> None:
        """Report each pattern that matches no valid name."""
        for pattern in patterns:
            if not fnmatch.filter(valid, pattern):
                self._problems.unknown(self._document.location(key), kind, pattern, sorted(valid))

    def check_group(self, subsystems: list[str], key: Key) -> None:
        """Report unknown subsystems of a group, and an empty one."""
        for k, name in enumerate(subsystems):
            self.known((*key, "subsystems", k), "subsystem", name, self.names.moving)
        if not subsystems:
            self.report_error((*key, "subsystems"), "name at least one subsystem")

    def _check_states(self) -> None:
        states = self.written("states")
        top = self._document.data
        if self._spec.plan is not None:
            check_plan(self._spec.plan, self.names, self)
        if self._spec.turns is not None:
            check_turns(self._spec.turns, self.names, self)
        writers = [key_name for key_name in ("plan", "contact_sequence", "turns") if key_name in top]
        if len(writers) > 1:
            self.report_error((writers[1],), f"give either `{writers[0]}` or `{writers[1]}`: both write the states")
        for key_name in ("initial_state", "states"):
            if key_name in top and writers:
                self.report_error((key_name,), f"give either `{writers[0]}` or `{key_name}`: a plan writes the states")
            elif key_name not in top and not writers:
                message = "is missing (required, unless there is a `plan`, a `contact_sequence` or `turns`)"
                self.report_error((), f"the key '{key_name}' {message}")
        if "states" in top and not states and not writers:
            self.report_error(("states",), "expected at least one state")
        if "initial_state" in top:
            self.known(("initial_state",), "state", self._spec.initial_state, states)
        for name, state in self._spec.states.items():
            key: Key = ("states", name)
            self._check_repeated((*key, "contacts"), "contact", state.contacts)
            for k, contact in enumerate(state.contacts):
                self.known((*key, "contacts", k), "contact", contact, self.written("contacts"))
            self._check_tasks(state.tasks, (*key, "tasks"))
            self._check_generators(state, key)
            for task_name, task in state.tasks.items():
                if task is None:
                    self.known((*key, "tasks", task_name), "task of the scenario", task_name, self.written("tasks"))
            own_tasks = self.written("states", name, "tasks")
            active = {n for n in self.written("tasks") | own_tasks if state.tasks.get(n, n) is not None}
            for k, transition in enumerate(state.transitions):
                at: Key = (*key, "transitions", k)
                self.known((*at, "to"), "state", transition.to, states)
                transition.when.check(self, (*at, "when"), StateNames(active, set(state.generators)))

    def _check_generators(self, state: StateSpec, key: Key) -> None:
        """Check the names in generators, and that no contact has two owners."""
        owners = dict.fromkeys(state.contacts, "the state")
        for name, spec in state.generators.items():
            at: Key = (*key, "generators", name)
            if "/" in name:
                self.report_error(at, f"the name '{name}' must not contain '/'")
            spec.check(self, at)
            for contact in spec.owned_contacts:
                self.known(at, "contact", contact, self.written("contacts"))
                if contact in owners:
                    self.report_error(at, f"the contact '{contact}' is owned by {owners[contact]} already")
                owners[contact] = f"the generator '{name}'"

    def _check_goals(self) -> None:
        for name, goal in self._spec.goals.items():
            goal.check(self, ("goals", name))

    @property
    def all_tasks(self) -> set[str]:
        """Names of the tasks of the scenario and of its states."""
        return self.written("tasks").union(*(self.written("states", s, "tasks") for s in self.written("states")))

    def check_states(self, states: Iterable[str], key: Key) -> None:
        """Report unknown states."""
        for k, state in enumerate(states):
            self.known((*key, k), "state", state, self.written("states"))

    def check_pose_task(self, name: str, key: Key) -> None:
        """Report a goal that refers to a task of another type than `pose`."""
        everywhere: list[Mapping[str, Any]] = [self._spec.tasks, *(s.tasks for s in self._spec.states.values())]
        found = [tasks[name] for tasks in everywhere if tasks.get(name) is not None]
        if found and not any(isinstance(task, tk.PoseTaskSpec) for task in found):
            self.report_error(key, f"expected a task of type pose, and '{name}' is of type {found[0].type}")
