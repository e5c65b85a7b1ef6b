"""Loading a model file: the YAML beside a URDF, checked against that URDF."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from multi_qp_scene.config_file import Problems, YamlDocument, validate
from multi_qp_scene.errors import ConfigError, MultiQpError
from multi_qp_scene.resources import find_resource
from multi_qp_scene.schema.model_file import ModelFile
from multi_qp_scene.urdf import UrdfModel, read_urdf


@dataclass(frozen=True)
class LoadedModel:
    """A model file and its URDF."""

    document: YamlDocument
    spec: ModelFile
    urdf: UrdfModel


def load_model(path: Path, problems: Problems) -> LoadedModel | None:
    """Load a model file and check every name in it against its URDF.

    Args:
        path: the YAML file.
        problems: takes what is wrong.

    Returns:
        The model, or None where it cannot be used.
    """
    try:
        document = YamlDocument.load(path)
    except ConfigError as error:
        for problem in error.problems:
            problems.add(problem.location, problem.message)
        return None
    spec = validate(document, document.data, ModelFile, problems)
    if spec is None:
        return None
    try:
        urdf = read_urdf(_urdf_path(spec.urdf, path), free_flyer=spec.root == "free_flyer")
    except MultiQpError as error:
        problems.add(document.location(("urdf",)), str(error))
        return None
    _check_names(document, spec, urdf, problems)
    return LoadedModel(document, spec, urdf)


def _urdf_path(name: str, beside: Path) -> Path:
    local = beside.parent / name
    if local.is_file():
        return local
    try:
        return find_resource(f"urdf/{name}")
    except MultiQpError:
        raise MultiQpError(f"the URDF '{name}' is neither beside this file nor in the urdf folder") from None


def _check_names(document: YamlDocument, spec: ModelFile, urdf: UrdfModel, problems: Problems) -> None:
    joints = [name for name in urdf.model.names[1:] if name != "root_joint"]
    for name, surface in spec.surfaces.items():
        if surface.link not in urdf.links:
            problems.unknown(document.location(("surfaces", name, "link")), "link", surface.link, urdf.links)
        if name in urdf.links:
            problems.add(document.location(("surfaces", name)), f"'{name}' is already the name of a link")
    for group, sets in (("postures", spec.postures), ("effort_limits", spec.effort_limits)):
        for set_name, values in sets.items():
            for joint in values:
                if joint not in joints:
                    problems.unknown(document.location((group, set_name, joint)), "joint", joint, joints)
    for joint in spec.passive_joints:
        if joint not in joints:
            problems.unknown(document.location(("passive_joints", joint)), "joint", joint, joints)
    for k, pair in enumerate(spec.self_collisions):
        for link in pair:
            if link not in urdf.links:
                problems.unknown(document.location(("self_collisions", k)), "link", link, urdf.links)
