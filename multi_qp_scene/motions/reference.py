"""Reference motion of a robot as a file: configurations and contacts over time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.limits import limit
from multi_qp_scene.npz_files import read_arrays
from multi_qp_scene.sources import note, packed_path

_NAMES = "times", "q", "joints", "contacts", "surfaces", "robot", "source"


@dataclass(frozen=True)
class ReferenceMotion:
    """Motion of one robot with a floating base.

    Attributes:
        times: from 0, increasing, (n,) [s].
        q: configurations: position and quaternion (x, y, z, w) of the base, then the joints, (n, 7 + joints).
        joints: names of the joints, without the robot's.
        contacts: whether each of the surfaces is planted, (n, surfaces).
        surfaces: names of the surfaces, without the robot's.
        robot: name of the model.
        source: where the motion comes from.
    """

    times: Array
    q: Array
    joints: tuple[str, ...]
    contacts: NDArray[np.bool_]
    surfaces: tuple[str, ...]
    robot: str
    source: str

    def save(self, path: Path) -> None:
        """Write the motion to an .npz file."""
        arrays = {name: np.asarray(getattr(self, name)) for name in _NAMES}
        arrays |= {name: np.array(getattr(self, name), dtype=str) for name in ("joints", "surfaces")}  # also if empty
        np.savez_compressed(path, allow_pickle=False, **arrays)

    @classmethod
    def beside(cls, file: str, scenario: Path) -> ReferenceMotion:
        """Read a motion that a scenario file names by an absolute path, or by one relative to its folder.

        Raises:
            MultiQpError: as `load`.
        """
        path = packed_path(scenario.parent / file)
        motion = cls.load(path)
        note(path)
        return motion

    @classmethod
    def load(cls, path: Path) -> ReferenceMotion:
        """Read a motion.

        Raises:
            MultiQpError: when the file is not one, or its arrays do not fit together.
        """
        a = read_arrays(path, _NAMES, what="a reference motion", largest=int(limit("motion_bytes").high))
        n, joints, surfaces = a["times"].size, a["joints"].size, a["surfaces"].size
        shapes = {"times": (n,), "q": (n, 7 + joints), "joints": (joints,), "contacts": (n, surfaces)}
        for name, shape in {**shapes, "surfaces": (surfaces,), "robot": (), "source": ()}.items():
            kind = "U" if name in ("joints", "surfaces", "robot", "source") else "b" if name == "contacts" else "f"
            if a[name].shape != shape or a[name].dtype.kind not in (kind, "U" if a[name].size == 0 else kind):
                raise MultiQpError(
                    f"'{path}' is not a reference motion: {name} is {a[name].dtype} {a[name].shape}, expected {shape}"
                )
        times, q = a["times"].astype(float), a["q"].astype(float)
        norms = np.linalg.norm(q[:, 3:7], axis=1) if n else np.ones(0)
        if n < 2 or times[0] != 0.0 or not (np.diff(times) > 0.0).all():
            raise MultiQpError(f"'{path}': expected two increasing times or more, from 0 on")
        if not (np.isfinite(q).all() and (np.abs(norms - 1.0) < 1e-3).all()):
            raise MultiQpError(f"'{path}': expected finite configurations with quaternions of norm 1")
        names = tuple(map(str, a["joints"])), tuple(map(str, a["surfaces"]))
        return cls(times, q, names[0], a["contacts"].astype(bool), names[1], str(a["robot"]), str(a["source"]))
