"""Reading and writing of contact sequence files."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np

from multi_qp_scene.config_file import Problems, YamlDocument, validate
from multi_qp_scene.contact_sequence import Contact, ContactPhase, ContactSequence, surface_pose
from multi_qp_scene.errors import ConfigError, MultiQpError
from multi_qp_scene.model_document import model_document
from multi_qp_scene.resources import model_path, sequence_path
from multi_qp_scene.schema.model_file import ModelFile, SurfaceSpec
from multi_qp_scene.schema.sequence_file import SequenceContactSpec, SequenceFile
from multi_qp_scene.surfaces import SurfaceKind, grasp_points, planar_points, single_point

_Surfaces = Mapping[str, Mapping[str, SurfaceSpec]]  # by subsystem and surface


def load_contact_sequence(name_or_path: str | Path) -> ContactSequence:
    """Read a contact sequence.

    Args:
        name_or_path: a shipped sequence's name, or a path: anything with `.yaml` or a separator.

    Raises:
        MultiQpError: the file does not exist.
        ConfigError: the file is invalid; lists all errors with their lines.
    """
    path = sequence_path(name_or_path)
    return parse_contact_sequence(YamlDocument.load(path), name=path.stem)


def parse_contact_sequence(document: YamlDocument, *, name: str = "") -> ContactSequence:
    """Build a contact sequence from a file's content. Raises ConfigError with all errors."""
    problems = Problems()
    spec = validate(document, document.data, SequenceFile, problems)
    if spec is None:
        problems.raise_if_any()
        raise AssertionError("a file without a problem has a specification")
    surfaces = _surfaces(document, spec, problems)
    contacts = {}
    for key, contact in spec.contacts.items():
        made = _contact(document, key, contact, spec.friction, surfaces, problems)
        if made is not None:
            contacts[key] = made
    phases = _phases(document, spec, contacts, problems)
    problems.raise_if_any()
    models = {subsystem: _stored_model(document, model) for subsystem, model in spec.models.items()}
    return ContactSequence(tuple(phases), models, name, spec.description)


def save_contact_sequence(sequence: ContactSequence, path: str | Path) -> None:
    """Write a contact sequence as a file that `load_contact_sequence` reads; numbers to a nanometre."""
    Path(path).write_text(dump_contact_sequence(sequence), encoding="utf-8")


def dump_contact_sequence(sequence: ContactSequence) -> str:
    """Return the text of a sequence's file.

    Raises:
        MultiQpError: two different contacts have the same name.
    """
    contacts: dict[str, Contact] = {}
    for phase in sequence.phases:
        for contact in phase.contacts:
            known = contacts.setdefault(contact.name, contact)
            if known is not contact and not known.same_as(contact):
                raise MultiQpError(f"contact sequence: two contacts are named {contact.name!r}")
    frictions = [contact.friction for contact in contacts.values()]
    common = max(set(frictions), key=frictions.count)
    sizes = _sizes(sequence.models)
    as_known = [c.surface for c in contacts.values() if np.allclose(sizes.get(c.surface, (-1.0, -1.0)), c.size)]
    lines = [f"description: {json.dumps(sequence.description, ensure_ascii=False)}"]
    if sequence.models:
        lines += ["models:", *(f"  {_word(key)}: {_word(value)}" for key, value in sequence.models.items())]
    lines += [f"friction: {_number(common)}", "contacts:"]
    lines += [f"  {_word(name)}: {_contact_text(contact, common, as_known)}" for name, contact in contacts.items()]
    lines += ["phases:", *(f"  - {_phase_text(phase)}" for phase in sequence.phases)]
    return "\n".join(lines) + "\n"


def _sizes(models: Mapping[str, str]) -> dict[str, tuple[float, float]]:
    """Return the sizes of the planar surfaces of models by full name; a model that cannot be read has none."""
    sizes: dict[str, tuple[float, float]] = {}
    for subsystem, model in models.items():
        problems = Problems()
        try:
            document = model_document(model_path(model))
            spec = validate(document, document.data, ModelFile, problems)
        except MultiQpError:
            continue
        surfaces = spec.surfaces if spec is not None else {}
        sizes |= {
            f"{subsystem}/{name}": surface.extent for name, surface in surfaces.items() if surface.type == "planar"
        }
    return sizes


def _stored_model(document: YamlDocument, model: str) -> str:
    """Return a shipped model's name unchanged, and other models as absolute paths."""
    if document.path is None or not (model.endswith((".yaml", ".yml")) or "/" in model):
        return model
    return str((document.path.parent / model).resolve())


def _surfaces(document: YamlDocument, spec: SequenceFile, problems: Problems) -> _Surfaces:
    folder = document.path.parent if document.path else None
    surfaces: dict[str, Mapping[str, SurfaceSpec]] = {}
    for subsystem, model in spec.models.items():
        try:
            read = model_document(model_path(model, relative_to=folder))
        except ConfigError as error:
            problems.extend(error.problems)
            continue
        except MultiQpError as error:
            problems.add(document.location(("models", subsystem)), str(error))
            continue
        model_file = validate(read, read.data, ModelFile, problems)
        if model_file is not None:
            surfaces[subsystem] = model_file.surfaces
    return surfaces


def _contact(
    document: YamlDocument,
    name: str,
    spec: SequenceContactSpec,
    friction: float,
    surfaces: _Surfaces,
    problems: Problems,
) -> Contact | None:
    key = ("contacts", name)
    subsystem, effector = spec.surface.split("/")
    known = surfaces.get(subsystem)
    model_surface = known.get(effector) if known is not None else None
    if known is not None and model_surface is None:
        problems.unknown(document.location((*key, "surface")), "surface", effector, known)
        return None
    if model_surface is None and spec.size is None:
        message = f"no model of {subsystem!r} is given under `models`, so the contact needs a `size`"
        problems.add(document.location(key), message)
        return None
    try:
        pose = surface_pose(np.array(spec.xyz), np.array(spec.normal), np.array(spec.forward))
    except MultiQpError as error:
        problems.add(document.location(key), str(error))
        return None
    mu = friction if spec.friction is None else spec.friction
    kind, size, points, normals = _shape(spec, model_surface)
    return Contact(name, subsystem, effector, pose, points, normals, mu, kind, size, spec.other)


def _shape(
    spec: SequenceContactSpec, surface: SurfaceSpec | None
) -> tuple[SurfaceKind, tuple[float, float], np.ndarray, np.ndarray]:
    if spec.size is not None and max(spec.size) > 0.0:
        return "planar", spec.size, *planar_points(spec.size)
    if spec.size is not None or surface is None or surface.type == "point":
        return "point", (0.0, 0.0), *single_point()
    if surface.type == "planar":
        return "planar", surface.extent, *planar_points(surface.extent)
    points, normals = grasp_points(surface.radius, surface.length, encloses=surface.encloses)
    return "grasp", (0.0, 0.0), points, normals


def _phases(
    document: YamlDocument, spec: SequenceFile, contacts: Mapping[str, Contact], problems: Problems
) -> list[ContactPhase]:
    phases = []
    subsystems = {contact.surface.split("/")[0] for contact in spec.contacts.values()}
    for number, phase in enumerate(spec.phases):
        for index, name in enumerate(phase.contacts):
            if name not in spec.contacts:
                place = document.location(("phases", number, "contacts", index))
                problems.unknown(place, "contact", name, spec.contacts)
        for subsystem in phase.com:
            if subsystem not in subsystems:
                place = document.location(("phases", number, "com", subsystem))
                problems.unknown(place, "subsystem", subsystem, subsystems)
        there = [contacts[name] for name in phase.contacts if name in contacts]
        if len(there) < len(phase.contacts):
            continue  # already reported
        com = {subsystem: np.array(value) for subsystem, value in phase.com.items()}
        try:
            phases.append(ContactPhase(tuple(there), phase.name, com, phase.duration))
        except MultiQpError as error:
            problems.add(document.location(("phases", number)), str(error))
    return phases


def _contact_text(contact: Contact, common: float, known: Collection[str]) -> str:
    rotation = contact.pose.rotation
    parts = [f"surface: {_word(contact.surface)}", f"xyz: {_vector(contact.pose.translation)}"]
    if not np.allclose(contact.normal, [0.0, 0.0, 1.0], atol=1e-9):
        parts.append(f"normal: {_vector(contact.normal)}")
    if not np.allclose(rotation[:, 0], [1.0, 0.0, 0.0], atol=1e-9):
        parts.append(f"forward: {_vector(rotation[:, 0])}")
    if contact.friction != common:
        parts.append(f"friction: {_number(contact.friction)}")
    if contact.kind != "grasp" and contact.surface not in known:
        parts.append(f"size: {_vector(contact.size)}")
    if contact.other is not None:
        parts.append(f"other: {_word(contact.other)}")
    return "{" + ", ".join(parts) + "}"


def _phase_text(phase: ContactPhase) -> str:
    parts = [f"name: {_word(phase.name)}"] if phase.name else []
    parts.append(f"contacts: [{', '.join(_word(contact.name) for contact in phase.contacts)}]")
    if phase.com:
        parts.append("com: {" + ", ".join(f"{_word(key)}: {_vector(value)}" for key, value in phase.com.items()) + "}")
    if phase.duration is not None:
        parts.append(f"duration: {_number(phase.duration)}")
    return "{" + ", ".join(parts) + "}"


def _vector(values: object) -> str:
    return f"[{', '.join(_number(value) for value in np.ravel(np.asarray(values)))}]"


def _number(value: float) -> str:
    rounded = round(float(value), 9) + 0.0  # no "-0.0"
    return str(int(rounded)) if rounded == int(rounded) else repr(rounded)


def _word(text: str) -> str:
    """Write a name; in quotes where a plain YAML scalar would have another type."""
    plain = text.replace("/", "").replace("_", "").replace("-", "").replace(".", "")
    return text if plain.isalnum() and text[0].isalpha() and not _is_other_scalar(text) else json.dumps(text)


def _is_other_scalar(text: str) -> bool:
    return text.lower() in ("true", "false", "null", "nan", "inf")
