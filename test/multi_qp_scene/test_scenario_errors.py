"""Every mistake in a scenario or model file: one clear line with file, line and key, exit status 2, no traceback."""

from __future__ import annotations

import pytest

REACH = "reach: {type: pose, frame: arm/palm, axes: [x, z], target: {position: [0.4, 0, -0.1], duration: 0.1}}"
WHEN = "{type: reference_done, task: reach}"
PAIR = "{bodies: [arm/*, crate/crate]}"
DONE = "done: {type: state, state: end}"
POSTURE = "posture: {type: posture, subsystem: arm}"

# file, what is replaced, by what, a text on the line that is blamed, key, what is said of it
MISTAKES = {
    "unknown link": (
        "scene.yaml",
        "frame: arm/palm,",
        "frame: arm/plam,",
        "reach:",
        "states.wait.tasks.reach.frame",
        "unknown link or surface 'arm/plam'; did you mean 'arm/palm'? (links or surfaces: arm/base, arm/hand, "
        "arm/palm, arm/upper, crate/bottom, crate/crate, crate/side, floor/slab, floor/spot, floor/top)",
    ),
    "unknown surface in a contact": (
        "scene.yaml",
        "[arm/palm, crate/side]",
        "[arm/palm, crate/sid]",
        "touch:",
        "contacts.touch.surfaces[1]",
        "unknown surface 'crate/sid'; did you mean 'crate/side'? (surfaces: arm/palm, crate/bottom, crate/side, "
        "floor/spot, floor/top)",
    ),
    "negative mass": (
        "scene.yaml",
        "mass: ${load}",
        "mass: -3",
        "mass:",
        "subsystems.crate.mass",
        "expected a positive number, got -3",
    ),
    "surface on a link that does not exist": (
        "arm.yaml",
        "link: hand",
        "link: hnd",
        "palm:",
        "surfaces.palm.link",
        "unknown link 'hnd'; did you mean 'hand'? (links: base, upper, hand)",
    ),
    "surface named like a link": (
        "arm.yaml",
        "  palm: {",
        "  hand: {type: point, link: hand}\n  palm: {",
        "hand: {",
        "surfaces.hand",
        "'hand' is already the name of a link",
    ),
    "surface named like a joint": (
        "crate.yaml",
        "  side: {",
        "  root_joint: {type: point, link: crate}\n  side: {",
        "root_joint",
        "surfaces.root_joint",
        "'root_joint' is already the name of a joint",
    ),
    "missing URDF": (
        "arm.yaml",
        "arm.urdf",
        "amr.urdf",
        "urdf:",
        "urdf",
        "unknown URDF 'amr.urdf'; did you mean 'arm.urdf'?",
    ),
    "missing model file": (
        "scene.yaml",
        "model: arm.yaml",
        "model: amr.yaml",
        "arm: {model",
        "subsystems.arm.model",
        "amr.yaml: no such file",
    ),
    "unknown shipped model": (
        "scene.yaml",
        "model: arm.yaml",
        "model: humaniod",
        "arm: {model",
        "subsystems.arm.model",
        "unknown model 'humaniod'; did you mean 'humanoid'? (models: ",
    ),
    "pose task without a target": (
        "scene.yaml",
        REACH,
        "reach: {type: pose, frame: arm/palm}",
        "reach:",
        "states.wait.tasks.reach",
        "the key 'target' is missing; give in it `position`, `rpy` or `random_path`, or `frame: entry` to stay",
    ),
    "pose task with an empty target": (
        "scene.yaml",
        REACH,
        "reach: {type: pose, frame: arm/palm, target: {}}",
        "reach:",
        "states.wait.tasks.reach.target",
        "the target is empty; give `position`",
    ),
    "CoM task without a target": (
        "scene.yaml",
        POSTURE,
        "posture: {type: com, subsystems: [arm]}",
        "posture: {type: com",
        "tasks.posture",
        "the key 'target' is missing; give in it `over_contacts`, `position` or `offset`",
    ),
    "joint task without a target": (
        "scene.yaml",
        POSTURE,
        "posture: {type: joint_angle, joint: arm/elbow}",
        "posture: {type: joint",
        "tasks.posture",
        "the key 'target' is missing (required: type, joint, target; optional: ",
    ),
    "task without a type": (
        "scene.yaml",
        "{type: pose, frame",
        "{frame",
        "reach:",
        "states.wait.tasks.reach",
        "the key 'type' is missing, which says what this is (one of: posture, com, pose, ",
    ),
    "unknown type of task": (
        "scene.yaml",
        "{type: pose, frame",
        "{type: poze, frame",
        "reach:",
        "states.wait.tasks.reach.type",
        "unknown type 'poze'; did you mean 'pose'? (types: posture, com, pose, ",
    ),
    "task without a required key": (
        "scene.yaml",
        "frame: arm/palm, ",
        "",
        "reach:",
        "states.wait.tasks.reach",
        "the key 'frame' is missing (required: type, frame; optional: weight, ",
    ),
    "unknown key": (
        "scene.yaml",
        "axes: [x, z]",
        "axis: [x, z]",
        "reach:",
        "states.wait.tasks.reach.axis",
        "unknown key 'axis'; did you mean 'axes'? (keys: ",
    ),
    "transition to a state that is not there": (
        "scene.yaml",
        "to: end",
        "to: edn",
        "to: edn",
        "states.wait.transitions[0].to",
        "unknown state 'edn'; did you mean 'end'? (states: end, wait)",
    ),
    "initial state that is not there": (
        "scene.yaml",
        "initial_state: wait",
        "initial_state: start",
        "initial_state",
        "initial_state",
        "unknown state 'start' (states: end, wait)",
    ),
    "condition on a task of another state": (
        "scene.yaml",
        "  end:\n    contacts: [rest]",
        f"  end:\n    contacts: [rest]\n    transitions: [{{to: wait, when: {WHEN}}}]",
        "to: wait",
        "states.end.transitions[0].when.task",
        "unknown task of this state 'reach' (tasks of this state: posture)",
    ),
    "condition on a task that is dropped here": (
        "scene.yaml",
        "task: reach}}",
        "task: posture}}\n    description: x",
        "to: end",
        "states.wait.transitions[0].when.task",
        "unknown task of this state 'posture' (tasks of this state: reach)",
    ),
    "drops a task that is not there": (
        "scene.yaml",
        "  end:\n",
        "  end:\n    tasks: {balance: null}\n",
        "balance",
        "states.end.tasks.balance",
        "unknown task of the scenario 'balance' (tasks of the scenario: posture)",
    ),
    "condition of nothing": (
        "scene.yaml",
        WHEN,
        "{type: any, of: []}",
        "to: end",
        "states.wait.transitions[0].when.of",
        "give at least one condition",
    ),
    "condition deep inside": (
        "scene.yaml",
        WHEN,
        "{type: any, of: [{type: time, after: 1}, {type: not, of: {type: touching, contact: rst}}]}",
        "to: end",
        "states.wait.transitions[0].when.of[1].of.contact",
        "unknown contact 'rst'; did you mean 'rest'? (contacts: rest, touch)",
    ),
    "condition that bounds nothing": (
        "scene.yaml",
        WHEN,
        "{type: task, task: reach}",
        "to: end",
        "states.wait.transitions[0].when",
        "give `error`, `speed` or both",
    ),
    "unknown contact in a state": (
        "scene.yaml",
        "contacts: [rest]",
        "contacts: [rst]",
        "contacts: [rst]",
        "states.wait.contacts[0]",
        "unknown contact 'rst'; did you mean 'rest'? (contacts: rest, touch)",
    ),
    "contact named twice": (
        "scene.yaml",
        "contacts: [rest]",
        "contacts: [rest, rest]",
        "contacts: [rest, rest]",
        "states.wait.contacts[1]",
        "the contact 'rest' is named twice",
    ),
    "goal on an unknown task": (
        "scene.yaml",
        DONE,
        "done: {type: tracking, task: raech, position: 0.1}",
        "done:",
        "goals.done.task",
        "unknown task 'raech'; did you mean 'reach'? (tasks: posture, reach)",
    ),
    "goal on a task without a pose": (
        "scene.yaml",
        DONE,
        "done: {type: tracking, task: posture, position: 0.1}",
        "done:",
        "goals.done.task",
        "expected a task of type pose, and 'posture' is of type posture",
    ),
    "goal without a tolerance": (
        "scene.yaml",
        DONE,
        "done: {type: tracking, task: reach}",
        "done:",
        "goals.done",
        "give a tolerance: `position` [m], `rotation` [rad] or both",
    ),
    "goal on an unknown state": (
        "scene.yaml",
        DONE,
        "done: {type: state, state: edn}",
        "done:",
        "goals.done.state",
        "unknown state 'edn'; did you mean 'end'? (states: end, wait)",
    ),
    "unknown posture": (
        "scene.yaml",
        "posture: bent",
        "posture: bnt",
        "posture: bnt",
        "subsystems.arm.posture",
        "unknown posture 'bnt'; did you mean 'bent'? (postures: bent, zero)",
    ),
    "unknown joint in a posture": (
        "scene.yaml",
        "posture: bent",
        "posture: {elbo: 1}",
        "elbo:",
        "subsystems.arm.posture.elbo",
        "unknown joint 'elbo'; did you mean 'elbow'? (joints: elbow, shoulder)",
    ),
    "unknown joint in a model's posture": (
        "arm.yaml",
        "{shoulder: 0.5,",
        "{shoudler: 0.5,",
        "bent:",
        "postures.bent.shoudler",
        "unknown joint 'shoudler'; did you mean 'shoulder'? (joints: shoulder, elbow)",
    ),
    "unknown joint in a task": (
        "scene.yaml",
        POSTURE,
        "posture: {type: joint_angle, joint: arm/elbo, target: 1}",
        "posture: {type: joint",
        "tasks.posture.joint",
        "unknown joint 'arm/elbo'; did you mean 'arm/elbow'? (joints: arm/elbow, arm/shoulder)",
    ),
    "unknown effort limits": (
        "scene.yaml",
        "posture: bent",
        "effort_limits: weak",
        "effort_limits",
        "subsystems.arm.effort_limits",
        "unknown set of effort limits 'weak' (sets of effort limits: strong)",
    ),
    "contact within the environment": (
        "scene.yaml",
        "[arm/palm, crate/side]",
        "[floor/spot, floor/top]",
        "touch:",
        "contacts.touch.surfaces",
        "both surfaces belong to the environment",
    ),
    "contact that begins with the environment": (
        "scene.yaml",
        "[arm/palm, crate/side]",
        "[floor/top, crate/side]",
        "touch:",
        "contacts.touch.surfaces",
        "the first surface must belong to a subsystem; put the environment's second",
    ),
    "contact of a link with itself": (
        "scene.yaml",
        "[arm/palm, crate/side]",
        "[crate/side, crate/bottom]",
        "touch:",
        "contacts.touch.surfaces",
        "both surfaces are on the link 'crate/crate'",
    ),
    "security above influence": (
        "scene.yaml",
        "  self_collisions: [arm]",
        "  security: 0.2",
        "security",
        "collisions.security",
        "security (0.2 m) must be below influence (0.08 m)",
    ),
    "security above influence in a pair": (
        "scene.yaml",
        PAIR,
        "{bodies: [arm/*, crate/crate], influence: 0.005}",
        "bodies",
        "collisions.pairs[0].influence",
        "security (0.01 m) must be below influence (0.005 m)",
    ),
    "security above influence of joint limits": (
        "scene.yaml",
        "initial_state",
        "joint_limits: {security: 0.3}\ninitial_state",
        "joint_limits",
        "joint_limits.security",
        "security (0.3 of the range) must be below influence (0.1 of the range)",
    ),
    "collision pair with an unknown link": (
        "scene.yaml",
        "arm/*, crate/crate",
        "arm/*, create/*",
        "bodies",
        "collisions.pairs[0].bodies[1]",
        "unknown link 'create/*'",
    ),
    "placed by surfaces that are not there": (
        "scene.yaml",
        "surfaces: [bottom]",
        "surfaces: [botom]",
        "place:",
        "subsystems.crate.place.surfaces[0]",
        "unknown surface 'botom'; did you mean 'bottom'? (surfaces: bottom, side)",
    ),
    "placed and posed": (
        "scene.yaml",
        "    mass: ${load}",
        "    pose: {}",
        "  crate:",
        "subsystems.crate",
        "give either `pose` or `place`, not both",
    ),
    "places what is fixed": (
        "scene.yaml",
        "posture: bent",
        "place: {surfaces: [palm], onto: floor/top}",
        "arm: {model",
        "subsystems.arm.place",
        "only a subsystem with a free-flyer can be placed; give `pose`",
    ),
    "number that is none": (
        "scene.yaml",
        "duration: 1\n",
        "duration: 1,5\n",
        "duration",
        "duration",
        "expected a positive number, got '1,5'",
    ),
    "number in a list that is none": (
        "arm.yaml",
        "xyz: [0.1, 0, 0]",
        "xyz: [0.1, 0, o]",
        "palm",
        "surfaces.palm.xyz[2]",
        "expected a number, got 'o'",
    ),
    "time step of nothing": ("scene.yaml", "dt: 0.01", "dt: 0", "dt", "dt", "expected a positive number, got 0"),
    "time step that is no number": (
        "scene.yaml",
        "dt: 0.01",
        "dt: .nan",
        "dt",
        "dt",
        "expected a finite number, got nan",
    ),
    "unknown solver": (
        "scene.yaml",
        "dt: 0.01",
        "solver: daqb",
        "solver",
        "solver",
        "unknown solver 'daqb'; did you mean 'daqp'? (solvers: daqp, ",
    ),
    "unknown formulation": (
        "scene.yaml",
        "dt: 0.01",
        "formulation: fast",
        "formulation",
        "formulation",
        "unknown value 'fast' (values: full, reduced)",
    ),
    "unknown parameter in the file": (
        "scene.yaml",
        "${load}",
        "${lod}",
        "mass",
        "subsystems.crate.mass",
        "unknown parameter 'lod'; did you mean 'load'? (parameters: load, seed)",
    ),
    "default outside its range": (
        "scene.yaml",
        "default: 2,",
        "default: 20,",
        "load:",
        "parameters.load.default",
        "the default 20 is outside [0.5, 10]",
    ),
    "default that is no number": (
        "scene.yaml",
        "default: 2,",
        "default: two,",
        "load:",
        "parameters.load.default",
        "expected a number, got 'two'",
    ),
    "no axes": (
        "scene.yaml",
        "axes: [x, z]",
        "axes: []",
        "reach:",
        "states.wait.tasks.reach.axes",
        "name at least one axis",
    ),
    "negative seed": (
        "scene.yaml",
        "{position: [0.4, 0, -0.1], duration: 0.1}",
        "{random_path: {duration: 1, seed: -1}}",
        "reach:",
        "states.wait.tasks.reach.target.random_path.seed",
        "a seed is 0 or above, got -1",
    ),
    "frame relative to itself": (
        "scene.yaml",
        "axes: [x, z]",
        "relative_to: arm/palm",
        "reach:",
        "states.wait.tasks.reach.relative_to",
        "a frame cannot be placed relative to itself",
    ),
    "duplicate key": (
        "scene.yaml",
        "dt: 0.01",
        "dt: 0.01\ndt: 0.02",
        "dt: 0.02",
        "dt",
        "the key 'dt' appears twice, at line 4 and at line 5",
    ),
    "name with a slash": (
        "scene.yaml",
        "environment:\n",
        "environment:\n  a/b: {model: floor.yaml}\n",
        "a/b",
        "environment.a/b",
        "the name 'a/b' must not hold '/' or blanks",
    ),
    "environment named like a subsystem": (
        "scene.yaml",
        "environment:\n",
        "environment:\n  crate: {model: floor.yaml}\n",
        "  crate: {model: floor",
        "environment.crate",
        "'crate' is already the name of a subsystem",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_one_mistake_gives_one_line_with_file_line_and_key(mistake, folder):
    name, old, new, blamed, key, message = MISTAKES[mistake]
    if mistake == "condition on a task that is dropped here":
        folder.edit("scene.yaml", "    tasks:\n", "    tasks:\n      posture: null\n")
    folder.edit(name, old, new)
    (problem,) = folder.refused()
    assert problem.startswith(f"{name}:{folder.line_of(name, blamed)}: {key}: {message}"), problem


def test_the_files_are_valid_and_run_as_they_are(folder):
    status, out, err = folder.multi_qp("check", "scene.yaml")
    assert (status, err) == (0, "")
    assert out.startswith("scene: valid; 2 subsystems, 8 degrees of freedom, 2 actuated, 2 contacts")
    assert folder.multi_qp("run", "scene.yaml", "--headless")[0] == 0


def test_all_mistakes_of_a_file_come_at_once_in_its_order(folder):
    folder.edit("scene.yaml", "posture: bent", "posture: bnt")
    folder.edit("scene.yaml", "[arm/palm, crate/side]", "[arm/plam, crate/sid]")
    folder.edit("scene.yaml", "initial_state: wait", "initial_state: wiat")
    folder.edit("scene.yaml", "to: end", "to: edn")
    folder.edit("scene.yaml", DONE, "done: {type: state, state: ned}")
    folder.edit("arm.yaml", "link: hand", "link: hnd")
    problems = folder.refused()
    keys = [problem.split(": ")[1] for problem in problems]
    assert keys == [
        "surfaces.palm.link",
        "subsystems.arm.posture",
        "contacts.touch.surfaces[0]",
        "contacts.touch.surfaces[1]",
        "initial_state",
        "states.wait.transitions[0].to",
        "goals.done.state",
    ]
    assert problems[0].startswith("arm.yaml:") and all(problem.startswith("scene.yaml:") for problem in problems[1:])
    lines = [int(problem.split(":")[1]) for problem in problems[1:]]
    assert lines == sorted(lines)


def test_wrong_values_do_not_hide_wrong_names_nor_make_new_ones(folder):
    folder.edit("scene.yaml", "description: an arm beside a crate\n", "")
    folder.edit("scene.yaml", "dt: 0.01", "dt: -1")
    folder.edit("scene.yaml", "friction: 0.6", "friction: rough")
    folder.edit("scene.yaml", "frame: arm/palm, axes", "fram: arm/palm, axes")
    folder.edit("scene.yaml", "to: end", "to: edn")
    keys = [problem.split(": ")[1] for problem in folder.refused()]
    assert keys == [
        "the key 'description' is missing (required",
        "dt",
        "contacts.rest.friction",
        "states.wait.tasks.reach",
        "states.wait.tasks.reach.fram",
        "states.wait.transitions[0].to",
    ]


def test_a_model_with_wrong_values_has_its_names_checked_too(folder):
    folder.edit("arm.yaml", "root: fixed", "root: loose")
    folder.edit("arm.yaml", "link: hand", "link: hnd")
    assert [problem.split(": ")[1] for problem in folder.refused()] == ["root", "surfaces.palm.link"]


def test_what_uses_a_model_that_cannot_be_read_is_not_blamed(folder):
    folder.edit("arm.urdf", '<mass value="1"/>', '<mass value="-1"/>')
    (problem,) = folder.refused()
    assert problem.startswith(f"arm.urdf:{folder.line_of('arm.urdf', '-1')}: link 'upper': the mass -1 kg is negative")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "bad.yaml: the file is empty; expected a mapping (key: value)"),
        ("- a\n", "bad.yaml:1: expected a mapping (key: value), got a list"),
        ("a: [1, 2\nb: 3\n", "bad.yaml:2: not valid YAML at column 2: expected ',' or ']', but got ':'"),
        ("a:\n\tb: 1\n", "bad.yaml:2: not valid YAML: a tab at column 1; YAML is indented with spaces only"),
        ("dt 0.1\nb: 1\n", "bad.yaml:2: not valid YAML at column 2: "),
        (b"\xff\xfe", "bad.yaml: not UTF-8 text: the byte at offset 0 is 0xff"),
    ],
)
def test_a_file_that_is_no_yaml_mapping(text, said, folder):
    (folder.path / "bad.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    (problem,) = folder.refused("check", "bad.yaml")
    assert problem.startswith(said), problem


def test_a_file_that_is_none(folder):
    (folder.path / "folder.yaml").mkdir()
    assert folder.refused("check", "folder.yaml") == ["folder.yaml: this is a folder"]
    assert folder.refused("check", "nothing.yaml") == ["nothing.yaml: no such file"]
    hint = "box.yaml: no such file; did you mean the shipped scenario 'box'?"
    assert folder.refused("check", "box.yaml") == [hint]


def test_an_unknown_scenario_is_answered_with_the_one_that_is_meant(folder):
    (said,) = folder.refused("run", "bxo", "--headless")
    assert said.startswith("unknown scenario 'bxo'; did you mean 'box'? (scenarios: ")


def test_parameters(folder):
    line = folder.line_of("scene.yaml", "load:")
    assert folder.refused("check", "scene.yaml", "--set", "lod=3") == [
        f"scene.yaml:{line - 1}: parameters: unknown parameter 'lod'; did you mean 'load'? (parameters: load)"
    ]
    for value, shown in (("30", "30"), ("nan", "nan"), ("-1", "-1")):
        assert folder.refused("check", "scene.yaml", "--set", f"load={value}") == [
            f"scene.yaml:{line}: parameters.load: {shown} kg is outside [0.5, 10] kg"
        ]
    assert folder.refused("check", "scene.yaml", "--set", "load=x") == ["--set load: expected a number, got 'x'"]
    assert folder.refused("check", "scene.yaml", "--set", "load") == ["--set: expected NAME=VALUE, got 'load'"]
    assert folder.multi_qp("check", "scene.yaml", "--set", "load=3")[0] == 0
