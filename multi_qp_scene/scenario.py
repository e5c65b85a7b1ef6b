"""Loading of scenarios from files; all errors of a file are reported at once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from multi_qp_scene.arguments import check_type, number, whole_number
from multi_qp_scene.blocks import block_model
from multi_qp_scene.builder import build_scene
from multi_qp_scene.config_file import validate
from multi_qp_scene.copies import with_copies
from multi_qp_scene.errors import ConfigError, MultiQpError, shown_path
from multi_qp_scene.former_names import SCENARIO_KEYS
from multi_qp_scene.limits import check
from multi_qp_scene.models import LoadedModel, load_model, stretched
from multi_qp_scene.names import Names
from multi_qp_scene.partial_validation import valid_part
from multi_qp_scene.parts import SceneParts
from multi_qp_scene.posture_limits import warn_of_postures
from multi_qp_scene.problems import Problems
from multi_qp_scene.resources import model_path, scenario_path
from multi_qp_scene.scene import Scene
from multi_qp_scene.schema.common import Vector3
from multi_qp_scene.schema.scenario_file import ParameterSpec, ScenarioFile
from multi_qp_scene.schema.subsystems import EnvironmentSpec
from multi_qp_scene.section_checks import check_scenario
from multi_qp_scene.sources import noted_files
from multi_qp_scene.substitution import substitute
from multi_qp_scene.suggestions import unknown_name
from multi_qp_scene.templates import use_templates
from multi_qp_scene.yaml_document import YamlDocument

#: Keys of the alternative sources of an environment model.
_KINDS = {"model", "box", "mesh", "urdf"}
#: Largest seed of numpy's random numbers.
LARGEST_SEED = 2**63 - 1
_LARGEST_WHOLE = 2.0**53  # above it floating-point numbers have no fraction


@dataclass(frozen=True)
class Scenario:
    """A loaded scenario.

    Attributes:
        name: name of the file, without its suffix.
        path: the file.
        spec: content of the file, with parameters substituted.
        scene: its scene, with all subsystems; those that are not controlled are the last ones in q and v.
        parameters: value of each parameter.
        seed: seed of all random numbers.
        files: all source files: the scenario, models, URDFs, meshes.
        controlled_scene: the scene that the controller knows, of the controlled subsystems and the known environment;
            None if that is all.
    """

    name: str
    path: Path
    spec: ScenarioFile
    scene: Scene
    parameters: dict[str, float]
    seed: int
    files: tuple[Path, ...] = ()
    controlled_scene: Scene | None = None

    @cached_property
    def controlled(self) -> Scenario:
        """The same scenario as the controller knows it: controlled subsystems and known environment."""
        if self.controlled_scene is None:
            return self
        scene = self.controlled_scene.with_initial_configuration(self.scene.q0[: self.controlled_scene.nq])
        return replace(self, scene=scene, controlled_scene=None)


def load_scenario(
    name_or_path: str | Path, *, parameters: Mapping[str, float] | None = None, seed: int = 0
) -> Scenario:
    """Load a scenario.

    Args:
        name_or_path: a name as in `multi-qp list`, or the path of a file.
        parameters: values that replace the defaults of its parameters.
        seed: value of `${seed}` in the file.

    Raises:
        ConfigError: with all errors of the file and of its model files.
        MultiQpError: when there is no such scenario, a parameter is unknown or out of its range, or an argument is of
            another type.
    """
    check_type("scenario", name_or_path, str | os.PathLike, "a name or a path")
    seed = whole_number("seed", seed, least=0, most=LARGEST_SEED)
    if parameters is not None:
        check_type("parameters", parameters, Mapping, "a mapping of names to numbers")
    path = scenario_path(name_or_path)
    with noted_files() as files:
        scenario = _load(path, parameters or {}, seed)
    return replace(scenario, files=tuple(files))


def scene_without(scenario: Scenario, *subsystems: str) -> Scene:
    """Return the scene of a scenario without some of its subsystems; the files are read again."""
    _, _, parts, _ = _read(scenario.path, scenario.parameters, scenario.seed)
    for subsystem in subsystems:
        del parts.subsystems[subsystem]
    return build_scene(parts)


def _load(path: Path, parameters: Mapping[str, float], seed: int) -> Scenario:
    document, rest, parts, values = _read(path, parameters, seed)
    controlled = parts.controlled
    scene = alone = build_scene(controlled)
    if controlled is not parts:
        scene = build_scene(parts, loads=alone.loads)
    warn_of_postures(document, rest, parts, scene)
    return Scenario(path.stem, path, rest, scene, values, seed, controlled_scene=None if scene is alone else alone)


def _read(
    path: Path, parameters: Mapping[str, float], seed: int
) -> tuple[YamlDocument, ScenarioFile, SceneParts, dict[str, float]]:
    """Return the file, its content, its models and the values of its parameters."""
    problems = Problems()
    document = use_templates(YamlDocument.load(path).renamed(SCENARIO_KEYS), problems)
    bodies = [name for section in ("subsystems", "environment") for name in _section(document, section)]
    check("bodies", len(bodies), f"{shown_path(path)}: subsystems and pieces of the environment")
    declared = _declared_parameters(document, problems)
    values = _parameter_values(document, declared, parameters)
    # a parameter with an invalid declaration is replaced by 1, to avoid errors where it is used
    stand_ins = dict.fromkeys(_section(document, "parameters"), 1)
    filled = {name: _integer_if_exact(value) for name, value in values.items()}
    data = substitute(document, {**stand_ins, **filled, "seed": seed}, problems)
    spec = validate(document, data, ScenarioFile, problems)
    rest = spec or _valid_part(document, data)
    if rest is not None:
        rest = with_copies(document, rest, problems)
        count = len(rest.subsystems) + len(rest.environment)
        check("bodies", count, f"{shown_path(path)}: subsystems and pieces of the environment")
        parts, names = _load_models(document, rest, path, problems)
        check_scenario(document, rest, names, problems)
    problems.raise_if_any()
    if spec is None or rest is None:
        raise MultiQpError(f"{shown_path(path)} is not a valid scenario")
    return document, rest, parts, values


def _valid_part(document: YamlDocument, data: Any) -> ScenarioFile | None:
    """Return the valid values of an invalid file, so that its names are checked too."""
    states = _section(document, "states")
    required = {"description": "", **({"initial_state": next(iter(states))} if states else {})}
    return valid_part(document, {**required, **data}, ScenarioFile)


def _section(document: YamlDocument, name: str) -> dict[str, Any]:
    """Return a top-level mapping of the file before substitution; an empty one if it is not a mapping."""
    section = document.data.get(name)
    return section if isinstance(section, dict) else {}


def _declared_parameters(document: YamlDocument, problems: Problems) -> dict[str, ParameterSpec]:
    declared = {}
    for name, entry in _section(document, "parameters").items():
        spec = validate(document, entry, ParameterSpec, Problems(), at=("parameters", name))
        if spec is None:
            continue  # reported by the schema
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
                continue  # invalid declaration, reported by the schema
            place = document.location(("parameters",))
            raise MultiQpError(f"{place}: {unknown_name('parameter', name, sorted(declared))}")
        spec = declared[name]
        value = value if isinstance(value, float) else number(f"parameter '{name}'", value, unit=spec.unit)
        if not spec.min <= value <= spec.max:
            unit = f" {spec.unit}" if spec.unit else ""
            place = document.location(("parameters", name))
            raise MultiQpError(f"{place}: {value:g}{unit} is outside [{spec.min:g}, {spec.max:g}]{unit}")
        if spec.multiple_of is not None and not float(value / spec.multiple_of).is_integer():
            place = document.location(("parameters", name))
            raise MultiQpError(f"{place}: {value:g} is not a multiple of {spec.multiple_of:g}")
        values[name] = float(value)
    return values


def _integer_if_exact(value: float) -> float | int:
    """Return a number without a fraction as an integer, so that `${steps / 2}` is valid as a count."""
    return int(value) if abs(value) < _LARGEST_WHOLE and float(value).is_integer() else value


def _without_model_file(
    document: YamlDocument, name: str, spec: EnvironmentSpec, folder: Path, problems: Problems
) -> LoadedModel | None:
    """Return an environment model without a model file; None if it cannot be built."""
    if spec.box is not None:
        return block_model(document, spec.box)
    from multi_qp_scene.found_surfaces import mesh_model, urdf_model  # slow import

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

    for name, written in _section(document, "subsystems").items():
        if not isinstance(written, dict) or "copies" not in written:
            names.add(name, None, moving=True)
    for name, written in _section(document, "environment").items():
        if name not in names.moving and not (isinstance(written, dict) and "copies" in written):
            names.add(name, None, moving=False)
    for name, subsystem in sorted(spec.subsystems.items(), key=lambda item: not item[1].controlled):
        loaded = load(("subsystems", name), subsystem.model, subsystem.scale)
        names.add(name, loaded, moving=True)
        if loaded is not None:
            parts.subsystems[name] = (loaded, subsystem)
    for name, environment in spec.environment.items():
        if name in names.moving:
            continue  # reported by the checks of names
        loaded = None
        keys = _section(document, "environment").get(name, environment.model_fields_set)
        if len(_KINDS & set(keys)) != 1:
            problems.add(document.location(("environment", name)), "give one of `model`, `box`, `mesh` and `urdf`")
        elif environment.model is not None:
            loaded = load(("environment", name), environment.model, environment.scale)
        else:
            loaded = _without_model_file(document, name, environment, path.parent, problems)
        names.add(name, loaded, moving=False)
        if loaded is not None:
            parts.environment[name] = (loaded, environment)
    return parts, names
