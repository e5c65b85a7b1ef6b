"""Scenarios: loading one from its file, with every error of the file at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from multi_qp_scene.blocks import block_model
from multi_qp_scene.builder import build_scene
from multi_qp_scene.checks import ScenarioChecker
from multi_qp_scene.config_file import validate
from multi_qp_scene.errors import ConfigError, MultiQpError, shown_path
from multi_qp_scene.models import LoadedModel, load_model, stretched
from multi_qp_scene.names import Names
from multi_qp_scene.parts import SceneParts
from multi_qp_scene.posture_limits import warn_of_postures
from multi_qp_scene.problems import Problems
from multi_qp_scene.resources import model_path, scenario_path
from multi_qp_scene.salvage import salvage
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.common import Vector3
from multi_qp_scene.schema.scenario_file import EnvironmentSpec, ParameterSpec, ScenarioFile
from multi_qp_scene.sources import noted_files
from multi_qp_scene.substitution import substitute
from multi_qp_scene.suggestions import unknown_name
from multi_qp_scene.templates import use_templates
from multi_qp_scene.yaml_document import YamlDocument

#: What a piece of the environment is made of.
_KINDS = {"model", "box", "mesh", "urdf"}


@dataclass(frozen=True)
class Scenario:
    """A scenario, ready to run.

    Attributes:
        name: of the file, without its suffix.
        path: the file.
        spec: what the file says, parameters filled in.
        scene: the scene it speaks of.
        parameters: value of each parameter.
        seed: of everything random in it.
        files: everything that it was made from: itself, models, URDFs, meshes.
    """

    name: str
    path: Path
    spec: ScenarioFile
    scene: Scene
    parameters: dict[str, float]
    seed: int
    files: tuple[Path, ...] = ()


def load_scenario(
    name_or_path: str | Path, *, parameters: Mapping[str, float] | None = None, seed: int = 0
) -> Scenario:
    """Load a scenario.

    Args:
        name_or_path: a name as in `multi-qp list`, or the path of a file.
        parameters: values that replace the defaults of its parameters.
        seed: fills `${seed}` in the file.

    Raises:
        ConfigError: with everything that is wrong in the file and in the model files it names.
        MultiQpError: when there is no such scenario, or a parameter is unknown or out of its range.
    """
    path = scenario_path(name_or_path)
    with noted_files() as files:
        scenario = _load(path, parameters or {}, seed)
    return replace(scenario, files=tuple(files))


def _load(path: Path, parameters: Mapping[str, float], seed: int) -> Scenario:
    problems = Problems()
    document = use_templates(YamlDocument.load(path), problems)
    declared = _declared_parameters(document, problems)
    values = _parameter_values(document, declared, parameters)
    if seed < 0:
        raise MultiQpError(f"the seed must be 0 or above, got {seed}")
    # a parameter whose declaration is wrong stands for 1: what uses it is not wrong for that
    stand_ins = dict.fromkeys(_section(document, "parameters"), 1)
    filled = {name: _whole(value) for name, value in values.items()}
    data = substitute(document, {**stand_ins, **filled, "seed": seed}, problems)
    spec = validate(document, data, ScenarioFile, problems)
    rest = spec or _salvage(document, data)
    if rest is not None:
        parts, names = _load_models(document, rest, path, problems)
        ScenarioChecker(document, rest, names, problems).check()
    problems.raise_if_any()
    if spec is None:
        raise MultiQpError(f"{shown_path(path)} is not a valid scenario")
    scene = build_scene(parts)
    warn_of_postures(document, spec, parts, scene)
    return Scenario(path.stem, path, spec, scene, values, seed)


def _salvage(document: YamlDocument, data: Any) -> ScenarioFile | None:
    """Return what is right in a wrong file, so that its names are checked too."""
    states = _section(document, "states")
    required = {"description": "", **({"initial_state": next(iter(states))} if states else {})}
    return salvage(document, {**required, **data}, ScenarioFile)


def _section(document: YamlDocument, name: str) -> dict[str, Any]:
    """Return a mapping at the top of the file as it is written; an empty one if it is none."""
    section = document.data.get(name)
    return section if isinstance(section, dict) else {}


def _declared_parameters(document: YamlDocument, problems: Problems) -> dict[str, ParameterSpec]:
    declared = {}
    for name, entry in _section(document, "parameters").items():
        spec = validate(document, entry, ParameterSpec, Problems(), at=("parameters", name))
        if spec is None:
            continue  # the schema says so
        if spec.min > spec.max:
            problems.add(document.location(("parameters", name, "min")), f"{spec.min:g} is above `max`, {spec.max:g}")
        elif not spec.min <= spec.default <= spec.max:
            location = document.location(("parameters", name, "default"))
            problems.add(location, f"the default {spec.default:g} is outside [{spec.min:g}, {spec.max:g}]")
        declared[name] = spec
    return declared


def _parameter_values(
    document: YamlDocument, declared: dict[str, ParameterSpec], given: Mapping[str, float]
) -> dict[str, float]:
    values = {name: spec.default for name, spec in declared.items()}
    for name, value in given.items():
        if name not in declared:
            if name in _section(document, "parameters"):
                continue  # declared, but wrongly: the schema says how
            place = document.location(("parameters",))
            raise MultiQpError(f"{place}: {unknown_name('parameter', name, sorted(declared))}")
        spec = declared[name]
        if not spec.min <= value <= spec.max:
            unit = f" {spec.unit}" if spec.unit else ""
            place = document.location(("parameters", name))
            raise MultiQpError(f"{place}: {value:g}{unit} is outside [{spec.min:g}, {spec.max:g}]{unit}")
        if spec.multiple_of is not None and not float(value / spec.multiple_of).is_integer():
            place = document.location(("parameters", name))
            raise MultiQpError(f"{place}: {value:g} is not a multiple of {spec.multiple_of:g}")
        values[name] = float(value)
    return values


def _whole(value: float) -> float | int:
    """Return a number without a fraction as an integer, so that `${steps / 2}` can be a count."""
    return int(value) if float(value).is_integer() else value


def _without_model_file(
    document: YamlDocument, name: str, spec: EnvironmentSpec, folder: Path, problems: Problems
) -> LoadedModel | None:
    """Return a piece of the environment that has no model file; None where it cannot be made."""
    if spec.box is not None:
        return block_model(document, spec.box)
    from multi_qp_scene.found_surfaces import mesh_model, urdf_model  # what reads meshes takes a while to load

    kind, uri, make = ("urdf", spec.urdf, urdf_model) if spec.mesh is None else ("mesh", spec.mesh, mesh_model)
    try:
        return None if uri is None else make(document, uri, relative_to=folder, scale=spec.scale)
    except ConfigError as error:
        problems.extend(error.problems)
    except MultiQpError as error:
        problems.add(document.location(("environment", name, kind)), str(error))
    return None


def _load_models(
    document: YamlDocument, spec: ScenarioFile, path: Path, problems: Problems
) -> tuple[SceneParts, Names]:
    parts, names = SceneParts(loads=dict(spec.loads)), Names()
    cache: dict[Path, LoadedModel | None] = {}

    def load(key: tuple[str, str], model: str, scale: Vector3) -> LoadedModel | None:
        try:
            file = model_path(model, relative_to=path.parent)
        except MultiQpError as error:
            problems.add(document.location((*key, "model")), str(error))
            return None
        if file not in cache:
            cache[file] = load_model(file, problems)
        loaded = cache[file]
        try:
            return None if loaded is None else stretched(loaded, scale)
        except MultiQpError as error:
            problems.add(document.location((*key, "scale")), str(error))
            return loaded

    for name in _section(document, "subsystems"):
        names.add(name, None, moving=True)
    for name in _section(document, "environment").keys() - names.moving:
        names.add(name, None, moving=False)
    for name, subsystem in spec.subsystems.items():
        loaded = load(("subsystems", name), subsystem.model, subsystem.scale)
        names.add(name, loaded, moving=True)
        if loaded is not None:
            parts.subsystems[name] = (loaded, subsystem)
    for name, environment in spec.environment.items():
        if name in names.moving:
            continue  # the checks say that the name is taken
        loaded = None
        written = _section(document, "environment")[name]
        if len(_KINDS & written.keys()) != 1:
            problems.add(document.location(("environment", name)), "give one of `model`, `box`, `mesh` and `urdf`")
        elif environment.model is not None:
            loaded = load(("environment", name), environment.model, environment.scale)
        else:
            loaded = _without_model_file(document, name, environment, path.parent, problems)
        names.add(name, loaded, moving=False)
        if loaded is not None:
            parts.environment[name] = (loaded, environment)
    return parts, names
