"""What the schema alone cannot see: that the names in a scenario file exist, and that its numbers fit together."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from multi_qp_scene.models import LoadedModel
from multi_qp_scene.problems import Problems
from multi_qp_scene.schema import states as st
from multi_qp_scene.schema import tasks as tk
from multi_qp_scene.schema.scenario_file import ScenarioFile
from multi_qp_scene.yaml_document import YamlDocument

Key = tuple[str | int, ...]


@dataclass
class Names:
    """Every name that a scenario may use. A subsystem whose model failed to load is `unreadable`: its names pass.

    Attributes:
        moving: subsystems.
        fixed: environment pieces.
        unreadable: those without a usable model.
        links: full names of links.
        joints: full names of movable joints.
        surfaces: full names of surfaces.
        kinds: type of each surface.
        characters: subsystems with motors.
        postures: names of postures, by subsystem.
        effort_limits: names of the sets of effort limits, by subsystem.
        floating: subsystems with a free-flyer.
    """

    moving: set[str] = field(default_factory=set)
    fixed: set[str] = field(default_factory=set)
    unreadable: set[str] = field(default_factory=set)
    links: set[str] = field(default_factory=set)
    joints: set[str] = field(default_factory=set)
    surfaces: set[str] = field(default_factory=set)
    postures: dict[str, set[str]] = field(default_factory=dict)
    effort_limits: dict[str, set[str]] = field(default_factory=dict)
    floating: set[str] = field(default_factory=set)

    def add(self, name: str, loaded: LoadedModel | None, *, moving: bool) -> None:
        """Take in the names of one subsystem."""
        (self.moving if moving else self.fixed).add(name)
        if loaded is None:
            self.unreadable.add(name)
            return
        self.links |= {f"{name}/{link}" for link in loaded.urdf.links}
        self.joints |= {f"{name}/{joint}" for joint in list(loaded.urdf.model.names)[1:] if joint != "root_joint"}
        self.surfaces |= {f"{name}/{surface}" for surface in loaded.spec.surfaces}
        self.postures[name] = {"zero", *loaded.spec.postures}
        self.effort_limits[name] = set(loaded.spec.effort_limits)
        if loaded.spec.root == "free_flyer":
            self.floating.add(name)

    @property
    def frames(self) -> set[str]:
        """Everything that has a pose."""
        return self.links | self.surfaces

    def excused(self, name: str) -> bool:
        """Whether a name belongs to a subsystem that could not be read, so that nothing can be said of it."""
        return name.split("/")[0] in self.unreadable


class ScenarioChecker:
    """Walks through a scenario and reports each name that is not there."""

    def __init__(self, document: YamlDocument, spec: ScenarioFile, names: Names, problems: Problems) -> None:
        self._document = document
        self._spec = spec
        self._names = names
        self._problems = problems

    def check(self) -> None:
        """Check everything."""
        self._check_subsystems()
        self._check_contacts()
        self._check_collisions()
        self._check_loads()
        self._check_tasks(self._spec.tasks, ("tasks",))
        self._check_states()
        self._check_goals()

    def _known(self, key: Key, kind: str, name: str, valid: Iterable[str]) -> None:
        if name not in (valid := set(valid)) and not self._names.excused(name):
            self._problems.unknown(self._document.location(key), kind, name, sorted(valid))

    def _complain(self, key: Key, message: str) -> None:
        self._problems.add(self._document.location(key), message)

    def _check_subsystems(self) -> None:
        names = self._names
        for clash in sorted(names.moving & names.fixed):
            self._complain(("environment", clash), f"'{clash}' is already the name of a subsystem")
        for name in [*self._spec.subsystems, *self._spec.environment]:
            if "/" in name or " " in name:
                self._complain(("subsystems", name), f"the name '{name}' must not hold '/' or blanks")
        for name, spec in self._spec.subsystems.items():
            key: Key = ("subsystems", name)
            if spec.place is not None and spec.pose is not None:
                self._complain(key, "give either `pose` or `place`, not both")
            if name in names.unreadable:
                continue
            if spec.place is not None:
                if name not in names.floating:
                    self._complain((*key, "place"), "only a subsystem with a free-flyer can be placed; give `pose`")
                for surface in spec.place.surfaces:
                    own = {s.removeprefix(f"{name}/") for s in names.surfaces if s.startswith(f"{name}/")}
                    self._known((*key, "place", "surfaces"), "surface", surface, own)
                fixed_surfaces = {s for s in names.surfaces if s.split("/")[0] in names.fixed}
                self._known((*key, "place", "onto"), "surface of the environment", spec.place.onto, fixed_surfaces)
            if isinstance(spec.posture, str):
                self._known((*key, "posture"), "posture", spec.posture, names.postures[name])
            elif spec.posture is not None:
                own_joints = self._joints_of(name)
                for joint in spec.posture:
                    self._known((*key, "posture", joint), "joint", joint, own_joints)
            if spec.effort_limits is not None:
                self._known((*key, "effort_limits"), "set of effort limits", spec.effort_limits,
                            names.effort_limits[name])  # fmt: skip

    def _joints_of(self, subsystem: str) -> set[str]:
        prefix = f"{subsystem}/"
        return {joint.removeprefix(prefix) for joint in self._names.joints if joint.startswith(prefix)}

    def _check_contacts(self) -> None:
        for name, contact in self._spec.contacts.items():
            key: Key = ("contacts", name, "surfaces")
            for k, surface in enumerate(contact.surfaces):
                self._known((*key, k), "surface", surface, self._names.surfaces)
            first, second = (surface.split("/")[0] for surface in contact.surfaces)
            if first in self._names.fixed and second in self._names.fixed:
                self._complain(key, "both surfaces belong to the environment")
            elif first in self._names.fixed:
                self._complain(key, "the first surface must belong to a subsystem; put the environment's second")
            elif contact.surfaces[0] == contact.surfaces[1]:
                self._complain(key, "a surface cannot touch itself")

    def _check_collisions(self) -> None:
        collisions = self._spec.collisions
        for k, pair in enumerate(collisions.pairs):
            for j, pattern in enumerate(pair.bodies):
                key: Key = ("collisions", "pairs", k, "bodies", j)
                if not fnmatch.filter(self._names.links, pattern) and not self._names.excused(pattern):
                    self._problems.unknown(self._document.location(key), "link", pattern, sorted(self._names.links))
            influence = pair.influence or collisions.influence
            security = collisions.security if pair.security is None else pair.security
            if security >= influence:
                self._complain(
                    ("collisions", "pairs", k),
                    f"security ({security} m) must be below influence ({influence} m)",
                )
        for k, name in enumerate(collisions.self_collisions):
            self._known(("collisions", "self_collisions", k), "subsystem", name, self._names.moving)
        if collisions.security >= collisions.influence:
            self._complain(("collisions", "security"), "security must be below influence")
        if self._spec.joint_limits.security >= self._spec.joint_limits.influence:
            self._complain(("joint_limits",), "security must be below influence")

    def _check_loads(self) -> None:
        for name, load in self._spec.loads.items():
            self._known(("loads", name, "link"), "link", load.link, self._names.links)
            if not load.min <= load.mass <= load.max:
                self._complain(("loads", name, "mass"), f"{load.mass} kg is outside [{load.min}, {load.max}] kg")
            if load.link.split("/")[0] in self._names.fixed:
                self._complain(("loads", name, "link"), "a load on the environment changes nothing")

    def _check_tasks(self, tasks: Mapping[str, Any], key: Key) -> None:
        for name, task in tasks.items():
            if task is not None:
                self._check_task(task, (*key, name))

    def _check_task(self, task: Any, key: Key) -> None:
        names = self._names
        match task:
            case tk.PostureTaskSpec():
                self._known((*key, "subsystem"), "subsystem", task.subsystem, names.moving)
                self._check_posture(task, key)
            case tk.CoMTaskSpec():
                self._check_group(task.subsystems, key)
                for k, contact in enumerate(task.target.over_contacts or []):
                    self._known((*key, "target", "over_contacts", k), "contact", contact, self._spec.contacts)
                if task.target.over_contacts and task.target.position:
                    self._complain((*key, "target"), "give either `over_contacts` or `position`, not both")
            case tk.PoseTaskSpec():
                self._known((*key, "frame"), "link or surface", task.frame, names.frames)
                if task.relative_to is not None:
                    self._known((*key, "relative_to"), "link or surface", task.relative_to, names.frames)
                if task.target.frame not in ("world", "entry"):
                    self._known((*key, "target", "frame"), "link or surface", task.target.frame, names.frames)
            case tk.JointAngleTaskSpec() | tk.JointVelocityTaskSpec():
                self._known((*key, "joint"), "joint", task.joint, names.joints)
            case tk.MomentumTaskSpec():
                self._check_group(task.subsystems, key)

    def _check_posture(self, task: tk.PostureTaskSpec, key: Key) -> None:
        if task.subsystem not in self._names.postures:
            return
        own_joints = self._joints_of(task.subsystem)
        if isinstance(task.posture, str):
            valid = self._names.postures[task.subsystem] | {"initial", "entry"}
            self._known((*key, "posture"), "posture", task.posture, valid)
        elif task.posture is not None:
            for joint in task.posture:
                self._known((*key, "posture", joint), "joint", joint, own_joints)
        for part, patterns in (("joints", task.joints or []), ("joint_weights", list(task.joint_weights))):
            for pattern in patterns:
                if not fnmatch.filter(own_joints, pattern):
                    self._problems.unknown(self._document.location((*key, part)), "joint", pattern, sorted(own_joints))

    def _check_group(self, subsystems: list[str], key: Key) -> None:
        for k, name in enumerate(subsystems):
            self._known((*key, "subsystems", k), "subsystem", name, self._names.moving)
        if not subsystems:
            self._complain((*key, "subsystems"), "name at least one subsystem")

    def _check_states(self) -> None:
        states = self._spec.states
        self._known(("initial_state",), "state", self._spec.initial_state, states)
        for name, state in states.items():
            key: Key = ("states", name)
            for k, contact in enumerate(state.contacts):
                self._known((*key, "contacts", k), "contact", contact, self._spec.contacts)
            self._check_tasks(state.tasks, (*key, "tasks"))
            for task_name, task in state.tasks.items():
                if task is None:
                    self._known((*key, "tasks", task_name), "task of the scenario", task_name, self._spec.tasks)
            active = {n for n in [*self._spec.tasks, *state.tasks] if state.tasks.get(n, n) is not None}
            for k, transition in enumerate(state.transitions):
                at: Key = (*key, "transitions", k)
                self._known((*at, "to"), "state", transition.to, states)
                self._check_condition(transition.when, (*at, "when"), active)

    def _check_condition(self, condition: Any, key: Key, active_tasks: set[str]) -> None:
        contacts, names = self._spec.contacts, self._names
        match condition:
            case st.TaskCondition() | st.ReferenceCondition():
                self._known((*key, "task"), "task of this state", condition.task, active_tasks)
                if isinstance(condition, st.TaskCondition) and condition.error is None and condition.speed is None:
                    self._complain(key, "give `error`, `speed` or both")
            case st.CoMInsideCondition():
                self._check_group(condition.subsystems, key)
                for k, contact in enumerate(condition.contacts):
                    self._known((*key, "contacts", k), "contact", contact, contacts)
            case st.TouchingCondition() | st.SeparatedCondition():
                self._known((*key, "contact"), "contact", condition.contact, contacts)
            case st.JointCondition():
                self._known((*key, "joint"), "joint", condition.joint, names.joints)
                if condition.above is None and condition.below is None:
                    self._complain(key, "give `above`, `below` or both")
            case st.VisitsCondition():
                self._known((*key, "state"), "state", condition.state, self._spec.states)
            case st.AllCondition() | st.AnyCondition():
                for k, part in enumerate(condition.of):
                    self._check_condition(part, (*key, "of", k), active_tasks)
            case st.NotCondition():
                self._check_condition(condition.of, (*key, "of"), active_tasks)

    def _check_goals(self) -> None:
        tasks = set(self._spec.tasks) | {name for state in self._spec.states.values() for name in state.tasks}
        for name, goal in self._spec.goals.items():
            key: Key = ("goals", name)
            match goal:
                case st.TrackingGoal():
                    self._known((*key, "task"), "task", goal.task, tasks)
                    if goal.position is None and goal.rotation is None:
                        self._complain(key, "give a tolerance: `position` [m], `rotation` [rad] or both")
                case st.PoseGoal():
                    self._known((*key, "frame"), "link or surface", goal.frame, self._names.frames)
                case st.StateGoal() | st.JointVelocityGoal():
                    self._known((*key, "state"), "state", goal.state, self._spec.states)
                case st.PointsGoal():
                    self._known((*key, "task"), "task", goal.task, tasks)
                case st.TiltGoal():
                    self._known((*key, "frame"), "link or surface", goal.frame, self._names.frames)
                case st.BalanceGoal():
                    self._check_group(goal.subsystems, key)
                case st.JointGoal() if goal.state is not None:
                    self._known((*key, "state"), "state", goal.state, self._spec.states)
            if isinstance(goal, st.JointGoal | st.JointVelocityGoal):
                self._known((*key, "joint"), "joint", goal.joint, self._names.joints)
            if isinstance(goal, st.TiltGoal | st.BalanceGoal):
                for k, state in enumerate(goal.states or []):
                    self._known((*key, "states", k), "state", state, self._spec.states)
