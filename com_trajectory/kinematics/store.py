"""Storage of a robot's kinematic polytopes in a file beside its URDF."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from com_trajectory.polytope import Polytope
from multi_qp_scene.arrays import Array
from multi_qp_scene.contact_sequence import Contact
from multi_qp_scene.errors import MultiQpError, shown_path
from multi_qp_scene.files import is_file, read_bytes
from multi_qp_scene.models import LoadedModel, valid_model
from multi_qp_scene.resources import model_path
from multi_qp_scene.suggestions import shortened, unknown_name

_log = logging.getLogger(__name__)
_DIGITS = 7


@dataclass(frozen=True)
class EffectorPolytope:
    """Positions of the centre of mass reachable from one surface.

    Attributes:
        polytope: in the surface's frame.
        centre: of the largest ball inside it, (3,) [m].
        loss: fraction of the hull's volume lost by the reduction of faces; the polytope lies inside the hull.
        samples: number of sampled positions.
    """

    polytope: Polytope
    centre: Array
    loss: float
    samples: int


@dataclass(frozen=True)
class RobotPolytopes:
    """Polytopes of all surfaces of a robot, K of [Tonneau2018] (3).

    Attributes:
        robot: name of its model.
        effectors: by surface.
        fingerprint: of the URDF, surfaces and postures from which they were computed.
        seed: of the samples.
        samples: number of configurations drawn.
        free: number of collision-free configurations.
    """

    robot: str
    effectors: Mapping[str, EffectorPolytope]
    fingerprint: str = ""
    seed: int = 0
    samples: int = 0
    free: int = 0
    _placed: dict[tuple[str, bytes], Polytope] = field(default_factory=dict, repr=False, compare=False)

    def of(self, contact: Contact) -> Polytope:
        """Return the polytope of a contact in the world: positions of the centre of mass while it is active.

        Raises:
            MultiQpError: the robot has no such surface.
        """
        effector = self.effectors.get(contact.effector)
        if effector is None:
            known = unknown_name("surface", contact.effector, list(self.effectors))
            raise MultiQpError(f"contact {contact.name!r}: {known} with a polytope of {self.robot!r}")
        key = (contact.effector, contact.pose.homogeneous.tobytes())
        if key not in self._placed:
            self._placed[key] = effector.polytope.transformed(contact.pose)
        return self._placed[key]


def fingerprint_of(loaded: LoadedModel) -> str:
    """Return a hash of the inputs of the polytopes: URDF, surface placements and postures of the model file."""
    surfaces = {
        name: [spec.type, spec.link, list(spec.xyz), list(spec.rpy)] for name, spec in loaded.spec.surfaces.items()
    }
    content = {"surfaces": surfaces, "postures": loaded.spec.postures}
    digest = hashlib.sha256(loaded.urdf.path.read_bytes().replace(b"\r\n", b"\n"))
    digest.update(json.dumps(content, sort_keys=True).encode())
    return digest.hexdigest()


def polytopes_path(loaded: LoadedModel) -> Path:
    """Return the path of a robot's polytopes: beside its URDF, named after its model file."""
    return loaded.urdf.path.with_name(f"{(loaded.document.path or loaded.urdf.path).stem}.polytopes.json")


def save_polytopes(polytopes: RobotPolytopes, path: Path) -> None:
    """Write the polytopes, deterministically to the byte."""
    effectors = {
        name: {
            "loss": round(effector.loss, 6),
            "samples": effector.samples,
            "centre": _rounded(effector.centre),
            "A": [_rounded(row) for row in effector.polytope.A],
            "b": _rounded(effector.polytope.b),
        }
        for name, effector in polytopes.effectors.items()
    }
    head = {
        "about": "A c <= b, c the centre of mass in the surface's frame [m]; written by `multi-qp com polytopes`",
        "robot": polytopes.robot,
        "fingerprint": polytopes.fingerprint,
        "seed": polytopes.seed,
        "samples": polytopes.samples,
        "free": polytopes.free,
    }
    lines = [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    body = ",\n".join(f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in effectors.items())
    path.write_text("{\n" + "\n".join(lines) + '\n "effectors": {\n' + body + "\n }\n}\n", encoding="utf-8")


def load_polytopes(model: str | Path, *, allow_stale: bool = False) -> RobotPolytopes:
    """Read the polytopes of a robot.

    Args:
        model: name of a shipped model, or path of a model file.
        allow_stale: log a warning instead of an error when they belong to another version of the robot.

    Raises:
        MultiQpError: the file is missing or invalid, or belongs to another version of the robot.
    """
    loaded = valid_model(model_path(model))
    path = polytopes_path(loaded)
    again = f"`multi-qp com polytopes {model}` makes them"
    if not is_file(path):
        raise MultiQpError(f"{model}: there are no kinematic polytopes, {shown_path(path)}; {again}")
    polytopes = _read(path)
    if polytopes.fingerprint != fingerprint_of(loaded):
        message = f"{shown_path(path)}: made for another version of {shown_path(loaded.urdf.path)}; {again}"
        if not allow_stale:
            raise MultiQpError(message)
        _log.warning(message)
    return polytopes


def _read(path: Path) -> RobotPolytopes:
    try:
        data = json.loads(read_bytes(path, "yaml_bytes"))
        effectors = {
            name: EffectorPolytope(
                Polytope(np.array(entry["A"], dtype=float), np.array(entry["b"], dtype=float)),
                np.array(entry["centre"], dtype=float).reshape(3),
                float(entry["loss"]),
                int(entry["samples"]),
            )
            for name, entry in data["effectors"].items()
        }
        return RobotPolytopes(
            str(data["robot"]),
            effectors,
            str(data["fingerprint"]),
            int(data["seed"]),
            int(data["samples"]),
            int(data["free"]),
        )
    except MultiQpError as error:
        raise MultiQpError(f"{shown_path(path)}: {error}") from None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        detail = f"{type(error).__name__}: {shortened(str(error), 200)}"
        raise MultiQpError(f"{shown_path(path)}: not a file of kinematic polytopes ({detail})") from None


def _rounded(values: Array) -> list[float]:
    return [round(float(value), _DIGITS) + 0.0 for value in values]
