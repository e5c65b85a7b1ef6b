"""Errors in a scenario or model file: all reported at once, in order, with exit status 2 and no traceback."""

from __future__ import annotations

import pytest

DONE = "done: {type: state, state: end}"


def test_the_files_are_valid_and_run_as_they_are(folder):
    status, out, err = folder.multi_qp("check", "scene.yaml")
    assert (status, err) == (0, "")
    assert out.startswith("scene: valid; 2 subsystems, 8 degrees of freedom, 2 actuated, 2 contacts")
    assert folder.multi_qp("run", "scene.yaml", "--headless")[0] == 0


def test_all_errors_of_a_file_are_reported_at_once_in_its_order(folder):
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


def test_invalid_values_neither_hide_nor_cause_errors_of_names(folder):
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


def test_names_are_checked_in_a_model_with_invalid_values(folder):
    folder.edit("arm.yaml", "root: fixed", "root: loose")
    folder.edit("arm.yaml", "link: hand", "link: hnd")
    assert [problem.split(": ")[1] for problem in folder.refused()] == ["root", "surfaces.palm.link"]


def test_references_to_an_unreadable_model_are_not_reported(folder):
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


def test_a_folder_is_refused(folder):
    (folder.path / "folder.yaml").mkdir()
    assert folder.refused("check", "folder.yaml") == ["folder.yaml: this is a folder"]
    assert folder.refused("check", "nothing.yaml") == ["nothing.yaml: no such file"]
    hint = "box.yaml: no such file; did you mean the shipped scenario 'box'?"
    assert folder.refused("check", "box.yaml") == [hint]


def test_an_unknown_scenario_is_reported_with_a_suggestion(folder):
    (said,) = folder.refused("run", "bxo", "--headless")
    assert said.startswith("unknown scenario 'bxo'; did you mean 'box'? (")


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


def test_a_parameter_that_counts_in_twos(folder):
    folder.edit("scene.yaml", "max: 10, unit: kg", "max: 10, multiple_of: 2, unit: kg")
    line = folder.line_of("scene.yaml", "load:")
    assert folder.refused("check", "scene.yaml", "--set", "load=3") == [
        f"scene.yaml:{line}: parameters.load: 3 is not a multiple of 2"
    ]
    assert folder.multi_qp("check", "scene.yaml", "--set", "load=4")[0] == 0
