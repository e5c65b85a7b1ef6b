"""Cross-reference checks of a scenario file: existence of names and consistency of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from multi_qp_scene.checks import Key, ScenarioChecker
from multi_qp_scene.mimic import mimic_violations
from multi_qp_scene.names import Names
from multi_qp_scene.plan_checks import check_behaviour, check_plan, check_turns
from multi_qp_scene.problems import Problems
from multi_qp_scene.schema.conditions import StateNames
from multi_qp_scene.schema.name_of import check_names
from multi_qp_scene.schema.scenario_file import ScenarioFile
from multi_qp_scene.schema.states import StateSpec
from multi_qp_scene.yaml_document import YamlDocument


def check_scenario(document: YamlDocument, spec: ScenarioFile, names: Names, problems: Problems) -> None:
    """Check everything; each unknown name or inconsistent value is added to `problems`.

    Args:
        document: the file.
        spec: its valid parts.
        names: valid names of links, joints, surfaces and subsystems.
        problems: list of problems, to extend.
    """
    scenario = ScenarioChecker(document, spec, names, problems)
    _check_subsystems(scenario)
    _check_contacts(scenario)
    _check_health(scenario)
    _check_collisions(scenario)
    _check_loads(scenario)
    _check_pushes(scenario)
    _check_tasks(scenario, spec.tasks, ("tasks",))
    _check_states(scenario)
    for name, goal in spec.goals.items():
        goal.check(scenario, ("goals", name))


def _check_subsystems(scenario: ScenarioChecker) -> None:
    names = scenario.all_names
    for clash in sorted(names.moving & scenario.written("environment")):
        scenario.report_error(("environment", clash), f"'{clash}' is already the name of a subsystem")
    for section in ("subsystems", "environment"):
        for name in getattr(scenario.spec, section):
            if "/" in name or " " in name:
                scenario.report_error((section, name), f"the name '{name}' must not contain '/' or blanks")
    for name in sorted(names.fixed & names.floating):
        scenario.report_error(("environment", name, "model"), "the root of an environment model must be `fixed`")
    for name, piece in scenario.spec.environment.items():
        if piece.unknown_part_of is not None:
            place = ("environment", name, "unknown_part_of")
            scenario.known(place, "known piece of the environment", piece.unknown_part_of, scenario.names.fixed)
    if not any(spec.controlled for spec in scenario.spec.subsystems.values()):
        scenario.report_error(("subsystems",), "expected at least one subsystem that is controlled")
    for name, spec in scenario.spec.subsystems.items():
        key: Key = ("subsystems", name)
        if spec.place is not None and spec.pose is not None:
            scenario.report_error(key, "give either `pose` or `place`, not both")
        if not spec.controlled and (name in names.motorised or names.mimics.get(name)):
            scenario.report_error((*key, "controlled"), "a subsystem with motors or coupled joints must be controlled")
        if spec.controlled and spec.release > 0.0:
            scenario.report_error((*key, "release"), "only subsystems with `controlled: false` are released")
        if name in names.unreadable:
            continue
        if spec.place is not None:
            if name not in names.floating:
                scenario.report_error((*key, "place"), "only a subsystem with a free-flyer can be placed; give `pose`")
            for k, surface in enumerate(spec.place.surfaces):
                scenario.known((*key, "place", "surfaces", k), "surface", surface, scenario.surfaces_of(name))
            fixed_surfaces = {s for s in names.surfaces if s.split("/")[0] in names.fixed}
            scenario.known((*key, "place", "onto"), "surface of the environment", spec.place.onto, fixed_surfaces)
        if spec.mass is not None and name in names.massless:
            scenario.report_error((*key, "mass"), "no moving link of its URDF has a mass that could be scaled to this")
        scenario.check_posture((*key, "posture"), name, spec.posture, ())
        if isinstance(spec.posture, dict):
            for joint, message in mimic_violations(names.mimics[name], spec.posture):
                scenario.report_error((*key, "posture", joint), message)
        if spec.effort_limits is not None:
            sets = names.effort_limits[name]
            scenario.known((*key, "effort_limits"), "set of effort limits", spec.effort_limits, sets)
        for pattern in spec.motors:
            scenario.check_patterns((*key, "motors", pattern), "joint", [pattern], scenario.joints_of(name))


def _check_health(scenario: ScenarioChecker) -> None:
    for k, pair in enumerate(scenario.spec.health.untouched):
        scenario.check_patterns(("health", "untouched", k), "link", pair, scenario.all_names.links)


def _check_contacts(scenario: ScenarioChecker) -> None:
    for name, contact in scenario.spec.contacts.items():
        key: Key = ("contacts", name, "surfaces")
        for k, surface in enumerate(contact.surfaces):
            scenario.known((*key, k), "surface", surface, scenario.names.surfaces)
        first, second = (surface.split("/")[0] for surface in contact.surfaces)
        if first in scenario.names.fixed and second in scenario.names.fixed:
            scenario.report_error(key, "both surfaces belong to the environment")
        elif first in scenario.names.fixed:
            scenario.report_error(key, "the first surface must belong to a subsystem; put the environment's second")
        elif contact.surfaces[0] == contact.surfaces[1]:
            scenario.report_error(key, "a surface cannot touch itself")
        elif (link := scenario.names.surfaces.get(contact.surfaces[0])) is not None:
            if link == scenario.names.surfaces.get(contact.surfaces[1]):
                scenario.report_error(key, f"both surfaces are on the link '{link}'")


def _check_collisions(scenario: ScenarioChecker) -> None:
    collisions = scenario.spec.collisions
    for k, pair in enumerate(collisions.pairs):
        for j, pattern in enumerate(pair.bodies):
            scenario.check_patterns(("collisions", "pairs", k, "bodies", j), "link", [pattern], scenario.names.links)
        if pair.influence is not None or pair.security is not None:
            influence = pair.influence or collisions.influence
            security = collisions.security if pair.security is None else pair.security
            own = "influence" if pair.security is None else "security"
            _check_security(scenario, ("collisions", "pairs", k, own), security, influence, " m")
    check_names(collisions, scenario, ("collisions",))
    _check_security(scenario, ("collisions", "security"), collisions.security, collisions.influence, " m")
    if (balance := scenario.spec.balance) is not None:
        _check_security(scenario, ("balance", "security"), balance.security, balance.influence, " m")
    limits = scenario.spec.joint_limits
    _check_security(scenario, ("joint_limits", "security"), limits.security, limits.influence, " of the range")


def _check_pushes(scenario: ScenarioChecker) -> None:
    for k, push in enumerate(scenario.spec.mismatch.pushes):
        key: Key = ("mismatch", "pushes", k)
        check_names(push, scenario, key)
        if not any(push.direction):
            scenario.report_error((*key, "direction"), "a push needs a direction")


def _check_loads(scenario: ScenarioChecker) -> None:
    for name, load in scenario.spec.loads.items():
        check_names(load, scenario, ("loads", name))
        if not load.min <= load.mass <= load.max:
            scenario.report_error(("loads", name, "mass"), f"{load.mass} kg is outside [{load.min}, {load.max}] kg")
        if load.link.split("/")[0] in scenario.names.fixed:
            scenario.report_error(("loads", name, "link"), "a load on the environment changes nothing")


def _check_states(scenario: ScenarioChecker) -> None:
    states = scenario.written("states")
    top = scenario.document.data
    if scenario.spec.plan is not None:
        check_plan(scenario.spec.plan, scenario)
    if scenario.spec.turns is not None:
        check_turns(scenario.spec.turns, scenario)
    if scenario.spec.behaviour is not None:
        check_behaviour(scenario.spec.behaviour, scenario)
    writers = [key_name for key_name in ("plan", "contact_sequence", "turns", "behaviour") if key_name in top]
    for section in writers:
        if top[section] is None:
            scenario.report_error((section,), "expected a mapping, got nothing (null)")
    if len(writers) > 1:
        scenario.report_error((writers[1],), f"give either `{writers[0]}` or `{writers[1]}`: both write the states")
    for key_name in ("initial_state", "states"):
        if key_name in top and writers:
            scenario.report_error((key_name,), f"give either `{writers[0]}` or `{key_name}`: a plan writes the states")
        elif key_name not in top and not writers:
            message = "is missing (required, unless there is a `plan`, a `contact_sequence`, `turns` or a `behaviour`)"
            scenario.report_error((), f"the key '{key_name}' {message}")
    if "states" in top and not states and not writers:
        scenario.report_error(("states",), "expected at least one state")
    if "initial_state" in top:
        scenario.known(("initial_state",), "state", scenario.spec.initial_state, states)
    for name, state in scenario.spec.states.items():
        key: Key = ("states", name)
        scenario.check_repeated((*key, "contacts"), "contact", state.contacts)
        check_names(state, scenario, key)
        _check_tasks(scenario, state.tasks, (*key, "tasks"))
        _check_generators(scenario, state, key)
        for task_name, task in state.tasks.items():
            if task is None:
                scenario.known((*key, "tasks", task_name), "task of the scenario", task_name, scenario.written("tasks"))
        own_tasks = scenario.written("states", name, "tasks")
        active = {n for n in scenario.written("tasks") | own_tasks if state.tasks.get(n, n) is not None}
        for k, transition in enumerate(state.transitions):
            at: Key = (*key, "transitions", k)
            check_names(transition, scenario, at)
            transition.when.check(scenario, (*at, "when"), StateNames(active, set(state.generators)))


def _check_generators(scenario: ScenarioChecker, state: StateSpec, key: Key) -> None:
    """Check the names in generators, and that no contact has two owners."""
    owners = dict.fromkeys(state.contacts, "the state")
    for name, spec in state.generators.items():
        at: Key = (*key, "generators", name)
        if "/" in name:
            scenario.report_error(at, f"the name '{name}' must not contain '/'")
        spec.check(scenario, at)
        for contact in spec.owned_contacts:
            scenario.known(at, "contact", contact, scenario.written("contacts"))
            if contact in owners:
                scenario.report_error(at, f"the contact '{contact}' is owned by {owners[contact]} already")
            owners[contact] = f"the generator '{name}'"


def _check_tasks(scenario: ScenarioChecker, tasks: Mapping[str, Any], key: Key) -> None:
    for name, task in tasks.items():
        if task is not None:
            task.check(scenario, (*key, name))


def _check_security(scenario: ScenarioChecker, key: Key, security: float, influence: float, unit: str) -> None:
    if security >= influence:
        scenario.report_error(key, f"security ({security:g}{unit}) must be below influence ({influence:g}{unit})")
