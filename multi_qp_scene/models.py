"""Loading of model files: the YAML beside a URDF, checked against that URDF."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from multi_qp_scene.config_file import Problems, YamlDocument, validate
from multi_qp_scene.errors import ConfigError, MultiQpError, shown_path
from multi_qp_scene.files import is_file
from multi_qp_scene.mimic import mimic_violations
from multi_qp_scene.model_document import model_document
from multi_qp_scene.partial_validation import valid_part
from multi_qp_scene.resources import find_resource, resolve_uri, resource_dirs
from multi_qp_scene.schema.common import Vector3
from multi_qp_scene.schema.model_file import ModelFile
from multi_qp_scene.srdf import read_srdf
from multi_qp_scene.stretch import UNSTRETCHED, stretch_surfaces
from multi_qp_scene.suggestions import unknown_name
from multi_qp_scene.urdf import UrdfModel, read_urdf


@dataclass(frozen=True)
class LoadedModel:
    """A model file and its URDF."""

    document: YamlDocument
    spec: ModelFile
    urdf: UrdfModel


def stretched(loaded: LoadedModel, scale: Vector3) -> LoadedModel:
    """Return the model of one rigid link, scaled along the axes of that link; its mass is unchanged.

    Raises:
        MultiQpError: when it has joints, or a shape or surface would change its type.
    """
    if scale == UNSTRETCHED:
        return loaded
    urdf = read_urdf(loaded.urdf.path, free_flyer=loaded.spec.root == "free_flyer", scale=scale)
    surfaces = stretch_surfaces(loaded.spec.surfaces, scale)
    return replace(loaded, spec=loaded.spec.model_copy(update={"surfaces": surfaces}), urdf=urdf)


def valid_model(path: Path) -> LoadedModel:
    """Load a model file. Raises ConfigError with all errors of it and of its URDF."""
    problems = Problems()
    loaded = load_model(path, problems)
    problems.raise_if_any()
    assert loaded is not None  # else there is a problem
    return loaded


def load_model(path: Path, problems: Problems) -> LoadedModel | None:
    """Load a model file and check every name in it against its URDF.

    Args:
        path: the YAML file.
        problems: list to which errors are added.

    Returns:
        The model, or None if it is not usable.
    """
    try:
        document = model_document(path)
    except ConfigError as error:
        for problem in error.problems:
            problems.add(problem.location, problem.message)
        return None
    spec = validate(document, document.data, ModelFile, problems)
    rest = spec or valid_part(document, document.data, ModelFile)
    if rest is None:
        return None
    try:
        urdf = read_urdf(_urdf_path(rest.urdf, path), free_flyer=rest.root == "free_flyer")
    except ConfigError as error:
        problems.extend(error.problems)
        return None
    except MultiQpError as error:
        problems.add(document.location(("urdf",)), str(error))
        return None
    complete = _with_srdf(document, path.parent, rest, urdf, problems)
    _check_names(document, complete or rest, urdf, problems)
    if rest.root == "free_flyer" and urdf.mass == 0.0:
        message = f"no link of {shown_path(urdf.path)} has a mass; a floating base needs one (or give `root: fixed`)"
        problems.add(document.location(("urdf",)), message)
        return None
    return None if spec is None or complete is None else LoadedModel(document, complete, urdf)


def _with_srdf(
    document: YamlDocument, folder: Path, spec: ModelFile, urdf: UrdfModel, problems: Problems
) -> ModelFile | None:
    """Return a model file with the postures, rotors and pairs of its SRDF; None if that is not usable."""
    if spec.srdf is None:
        return spec
    try:
        path = resolve_uri(spec.srdf, relative_to=folder) if "://" in spec.srdf else folder / spec.srdf
        srdf = read_srdf(path, urdf)
    except ConfigError as error:
        problems.extend(error.problems)
        return None
    except MultiQpError as error:
        problems.add(document.location(("srdf",)), str(error))
        return None
    pairs = spec.self_collisions or srdf.monitored_pairs(urdf)
    postures, motors = {**srdf.postures, **spec.postures}, {**srdf.motors, **spec.motors}
    return spec.model_copy(update={"postures": postures, "motors": motors, "self_collisions": pairs})


def urdf_path(model: Path) -> Path:
    """Return the URDF that a valid model file names.

    Raises:
        MultiQpError: when the file cannot be read, or the URDF does not exist.
    """
    return _urdf_path(model_document(model).data["urdf"], model)


def _urdf_path(name: str, beside: Path) -> Path:
    if "://" in name:
        return resolve_uri(name, relative_to=beside.parent)
    local = beside.parent / name
    if is_file(local):
        return local
    if local.is_dir():
        raise MultiQpError(f"expected a URDF, '{name}' is a folder")
    try:
        return find_resource(f"urdf/{name}")
    except MultiQpError:
        shipped = (path.name for folder in resource_dirs() for path in (folder / "urdf").glob("*.urdf"))
        there = sorted({path.name for path in beside.parent.glob("*.urdf")} | set(shipped))
        known = unknown_name("URDF", name, there)
        raise MultiQpError(f"{known}; looked beside this file and among the shipped ones") from None


def _check_names(document: YamlDocument, spec: ModelFile, urdf: UrdfModel, problems: Problems) -> None:
    joints = urdf.joints
    frames = {frame.name for frame in urdf.model.frames}
    for name, surface in spec.surfaces.items():
        if surface.link not in urdf.links:
            problems.unknown(document.location(("surfaces", name, "link")), "link", surface.link, urdf.links)
        if "/" in name or " " in name:
            problems.add(document.location(("surfaces", name)), f"the name '{name}' must not contain '/' or blanks")
        if name in frames:
            kind = "link" if name in urdf.links else "joint"
            problems.add(document.location(("surfaces", name)), f"'{name}' is already the name of a {kind}")
    for group, sets in (("postures", spec.postures), ("effort_limits", spec.effort_limits)):
        for set_name, values in sets.items():
            for joint in values:
                if joint not in joints:
                    problems.unknown(document.location((group, set_name, joint)), "joint", joint, joints)
    for posture, angles in spec.postures.items():
        for joint, message in mimic_violations(urdf.mimics, angles):
            problems.add(document.location(("postures", posture, joint)), message)
    for joint in spec.passive_joints:
        if joint not in joints:
            problems.unknown(document.location(("passive_joints", joint)), "joint", joint, joints)
    for joint in spec.motors:
        if joint not in urdf.actuated_joints:
            problems.unknown(document.location(("motors", joint)), "actuated joint", joint, urdf.actuated_joints)
    for k, pair in enumerate(spec.self_collisions):
        for j, link in enumerate(pair):
            if link not in urdf.links:
                problems.unknown(document.location(("self_collisions", k, j)), "link", link, urdf.links)
