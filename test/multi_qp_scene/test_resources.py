import sys
from pathlib import Path
from types import ModuleType

import pytest

from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.resources import (
    find_resource,
    model_path,
    resolve_uri,
    resource_dirs,
    scenario_names,
    scenario_path,
)


@pytest.fixture
def share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ROS workspace's share folder of this package, with the highest precedence."""
    folder = tmp_path / "install" / "share" / "multi_qp_controller"
    for name in ("config/scenarios/zz_walk.yaml", "config/models/zz_robot.yaml", "urdf/zz_robot.urdf"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("a: 1\n")
    packages = ModuleType("ament_index_python.packages")
    packages.get_package_share_directory = lambda name: str(folder)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ament_index_python", ModuleType("ament_index_python"))
    monkeypatch.setitem(sys.modules, "ament_index_python.packages", packages)
    return folder


def test_the_source_tree_has_urdf_and_config() -> None:
    assert any((folder / "urdf").is_dir() and (folder / "config").is_dir() for folder in resource_dirs())


def test_the_ament_share_comes_first(share: Path) -> None:
    assert resource_dirs()[0] == share
    assert find_resource("urdf/zz_robot.urdf") == share / "urdf" / "zz_robot.urdf"


def test_a_workspace_without_this_package_is_no_error(monkeypatch: pytest.MonkeyPatch, share: Path) -> None:
    def missing(name: str) -> str:
        raise LookupError(name)

    monkeypatch.setattr(sys.modules["ament_index_python.packages"], "get_package_share_directory", missing)
    assert share not in resource_dirs()


def test_unknown_resource_suggests_its_neighbour(share: Path) -> None:
    with pytest.raises(MultiQpError, match="did you mean 'urdf/zz_robot.urdf'"):
        find_resource("urdf/zz_robto.urdf")
    with pytest.raises(MultiQpError, match="looked in"):
        find_resource("nowhere/at.all")


def test_scenarios_go_by_name(share: Path) -> None:
    assert "zz_walk" in scenario_names()
    assert scenario_names() == sorted(scenario_names())
    assert scenario_path("zz_walk") == share / "config" / "scenarios" / "zz_walk.yaml"
    with pytest.raises(MultiQpError, match="unknown scenario 'zz_wlak'; did you mean 'zz_walk'"):
        scenario_path("zz_wlak")


def test_scenarios_go_by_path(share: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text("a: 1\n")
    assert scenario_path("mine.yaml").samefile(tmp_path / "mine.yaml")
    assert scenario_path(tmp_path / "mine.yaml") == tmp_path / "mine.yaml"
    with pytest.raises(MultiQpError, match=r"^zz_walk.yaml: no such file; did you mean the shipped scenario"):
        scenario_path("zz_walk.yaml")
    with pytest.raises(MultiQpError, match="this is a folder"):
        scenario_path("./")


def test_models_are_relative_to_the_file_that_names_them(share: Path, tmp_path: Path) -> None:
    (tmp_path / "robot.yaml").write_text("a: 1\n")
    assert model_path("robot.yaml", relative_to=tmp_path) == tmp_path / "robot.yaml"
    assert model_path("zz_robot", relative_to=tmp_path) == share / "config" / "models" / "zz_robot.yaml"
    with pytest.raises(MultiQpError, match="unknown model"):
        model_path("robot", relative_to=tmp_path)


@pytest.fixture
def mesh(tmp_path: Path) -> Path:
    """A mesh in a ROS package called `my_robot`."""
    path = tmp_path / "ws" / "my_robot" / "meshes" / "left arm.stl"
    path.parent.mkdir(parents=True)
    path.write_text("solid")
    return path


def test_relative_and_file_uris(mesh: Path) -> None:
    assert resolve_uri("../meshes/left arm.stl", mesh.parent) == mesh
    assert resolve_uri(str(mesh)) == mesh
    assert resolve_uri(f"file://{mesh}") == mesh
    assert resolve_uri(mesh.as_uri()) == mesh
    assert resolve_uri("file://left%20arm.stl", mesh.parent) == mesh


@pytest.mark.parametrize("variable", ["ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"])
def test_package_uris_from_the_environment(
    mesh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    folder = mesh.parents[2]
    if variable == "AMENT_PREFIX_PATH":
        (tmp_path / "prefix").mkdir()
        folder = tmp_path / "prefix"
        (folder / "share").symlink_to(mesh.parents[2])
    monkeypatch.setenv(variable, f"/nowhere:{folder}")
    assert resolve_uri("package://my_robot/meshes/left arm.stl") == mesh
    assert resolve_uri("package://my_robot/meshes/left%20arm.stl") == mesh


def test_package_uris_from_around_the_urdf(mesh: Path) -> None:
    assert resolve_uri("package://my_robot/meshes/left arm.stl", mesh.parents[1] / "urdf") == mesh


def test_package_uris_of_our_own_data(share: Path) -> None:
    found = resolve_uri("package://multi_qp_controller/urdf/zz_robot.urdf")
    assert found.samefile(share / "urdf/zz_robot.urdf")


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("package://no_such_package/a.stl", "set ROS_PACKAGE_PATH"),
        ("package://multi_qp_controller/a.stl", "does not exist"),
        ("meshes/none.stl", "does not exist"),
        ("http://example.org/a.stl", "expected package://, file:// or a path"),
    ],
)
def test_uris_that_do_not_resolve(uri: str, expected: str) -> None:
    with pytest.raises(MultiQpError, match=expected):
        resolve_uri(uri)
