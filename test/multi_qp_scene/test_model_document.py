"""Model files that extend others."""

from __future__ import annotations

import pytest

from multi_qp_scene.errors import ConfigError
from multi_qp_scene.model_document import model_document
from multi_qp_scene.models import load_model
from multi_qp_scene.problems import Problems
from multi_qp_scene.resources import model_path
from multi_qp_scene.sources import noted_files

URDF = '<robot name="block"><link name="block"/></robot>'
BASE = """\
urdf: block.urdf
root: fixed
surfaces:
  top: {type: point, link: block, xyz: [0, 0, 1]}
self_collisions: []
"""


def written(folder, **files):
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    (folder / "block.urdf").write_text(URDF)
    return folder


def message(path):
    with pytest.raises(ConfigError) as raised:
        model_document(path)
    return str(raised.value)


def test_mappings_are_merged_and_other_values_replaced(tmp_path):
    own = "extends: base.yaml\ndescription: mine\nsurfaces: {top: {xyz: [0, 0, 2]}, side: {type: point, link: block}}\n"
    last = "extends: own.yaml\ndescription: last\nsurfaces: {side: null}\nself_collisions: null\n"
    folder = written(tmp_path, base=BASE, own=own, last=last)
    problems = Problems()
    with noted_files() as files:
        loaded = load_model(folder / "last.yaml", problems)
    problems.raise_if_any()
    assert loaded.spec.description == "last" and loaded.spec.root == "fixed"
    assert loaded.spec.surfaces.keys() == {"top"}
    assert loaded.spec.surfaces["top"].xyz == (0.0, 0.0, 2.0) and loaded.spec.surfaces["top"].link == "block"
    assert {file.name for file in files} >= {"last.yaml", "own.yaml", "base.yaml"}, "a recording has all of them"


def test_the_urdf_of_another_folder_is_found(tmp_path):
    written(tmp_path / "other", base=BASE)
    (tmp_path / "own.yaml").write_text("extends: other/base.yaml\n")
    problems = Problems()
    assert load_model(tmp_path / "own.yaml", problems).urdf.path == tmp_path / "other" / "block.urdf"


def test_a_shipped_model_differs_from_the_one_that_it_extends_by_its_own_keys():
    def spec(name):
        return load_model(model_path(name), Problems()).spec

    soles, humanoid = spec("humanoid_small_soles"), spec("humanoid")
    assert soles.surfaces.keys() - humanoid.surfaces.keys() == {"left_mid_sole", "right_mid_sole"}
    assert "left_sole" in soles.surfaces and "left_knee" not in soles.surfaces
    assert {key for key in type(soles).model_fields if getattr(soles, key) != getattr(humanoid, key)} == {
        "extends",
        "description",
        "surfaces",
    }


def test_a_missing_model_and_a_circle_are_reported_at_their_line(tmp_path):
    folder = written(tmp_path, a="root: fixed\nextends: b.yaml\n", b="extends: a.yaml\n", c="extends: humanod\n")
    assert "b.yaml:1: extends: " in message(folder / "a.yaml")
    assert "a.yaml extends itself: a.yaml → b.yaml → a.yaml" in message(folder / "a.yaml")
    assert "c.yaml:1: extends: unknown model 'humanod'; did you mean 'humanoid'" in message(folder / "c.yaml")
    (folder / "c.yaml").write_text("extends: nowhere.yaml\n")
    assert "nowhere.yaml" in message(folder / "c.yaml")


def test_another_type_is_an_error_of_the_schema(tmp_path):
    folder, problems = written(tmp_path, c="extends: [humanoid]\nurdf: block.urdf\nroot: fixed\n"), Problems()
    assert load_model(folder / "c.yaml", problems) is None
    assert "c.yaml:1: extends" in str(next(iter(problems)))
