"""Reader of BVH files (Biovision hierarchy)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.motions.skeleton import SkeletonMotion, chained, read_text, upright

#: Most joints and frames that are read.
MOST_JOINTS, MOST_FRAMES = 500, 200_000


@dataclass
class _Words:
    """The words of a file, with their lines for messages."""

    path: Path
    words: list[tuple[str, int]]
    next: int = 0

    def take(self, *expected: str) -> str:
        """Return the next word; if some are expected, it must be one of them."""
        if self.next >= len(self.words):
            raise MultiQpError(f"'{self.path}': the file ends where {' or '.join(expected) or 'more'} is expected")
        word, line = self.words[self.next]
        if expected and word.lower() not in expected:
            raise MultiQpError(f"'{self.path}', line {line}: expected {' or '.join(expected)}, found '{word[:40]}'")
        self.next += 1
        return word

    def number(self) -> float:
        """Return the next word as a finite number."""
        word = self.take()
        try:
            value = float(word)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise MultiQpError(
                f"'{self.path}', line {self.words[self.next - 1][1]}: expected a number, found '{word[:40]}'"
            )
        return value

    def count(self, most: int) -> int:
        """Return the next word as a number of things, at most `most`."""
        value = self.number()
        if value != int(value) or not 0 <= value <= most:
            raise MultiQpError(
                f"'{self.path}', line {self.words[self.next - 1][1]}: expected 0 to {most}, found {value:g}"
            )
        return int(value)


@dataclass
class _Hierarchy:
    """Joints in the order of the file."""

    names: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    offsets: list[list[float]] = field(default_factory=list)
    channels: list[list[str]] = field(default_factory=list)


def read_bvh(path: Path, *, scale: float = 1.0) -> SkeletonMotion:
    """Read a BVH file, y up.

    Args:
        path: of the file.
        scale: length of one of its units [m].

    Raises:
        MultiQpError: naming the line, when the file is no BVH file, its hierarchy is broken, or it has no frames.
    """
    lines = read_text(path).splitlines()
    words = _Words(path, [(word, k) for k, line in enumerate(lines, 1) for word in line.split()])
    words.take("hierarchy")
    words.take("root")
    tree = _Hierarchy()
    _read_joint(words, tree, -1)
    words.take("motion")
    words.take("frames:")
    frames = words.count(MOST_FRAMES)
    words.take("frame")
    words.take("time:")
    dt = words.number()
    if frames < 2 or not dt > 0.0:
        raise MultiQpError(f"'{path}': {frames} frames of {dt:g} s are no motion; expected 2 frames or more")
    width = sum(len(one) for one in tree.channels)
    values = np.array([words.number() for _ in range(frames * width)]).reshape(frames, width)
    if words.next < len(words.words):
        raise MultiQpError(f"'{path}', line {words.words[words.next][1]}: more than {frames} frames of {width} numbers")
    return _motion(path, tree, values, dt, scale)


def _read_joint(words: _Words, tree: _Hierarchy, parent: int) -> None:
    if len(tree.names) >= MOST_JOINTS:
        raise MultiQpError(f"'{words.path}': more than {MOST_JOINTS} joints")
    tree.names.append(words.take())
    tree.parents.append(parent)
    own = len(tree.names) - 1
    words.take("{")
    words.take("offset")
    tree.offsets.append([words.number() for _ in range(3)])
    words.take("channels")
    axes = [f"{axis}{kind}" for axis in "xyz" for kind in ("position", "rotation")]
    tree.channels.append([words.take(*axes).lower() for _ in range(words.count(6))])
    while True:
        word = words.take("joint", "end", "}").lower()
        if word == "}":
            return
        if word == "joint":
            _read_joint(words, tree, own)
        else:
            for expected in ("site", "{", "offset"):
                words.take(expected)
            for _ in range(3):
                words.number()
            words.take("}")


def _motion(path: Path, tree: _Hierarchy, values: Array, dt: float, scale: float) -> SkeletonMotion:
    n, j = len(values), len(tree.names)
    offsets, local = scale * np.array(tree.offsets), np.tile(np.eye(3), (n, j, 1, 1))
    root, column = np.tile(offsets[0], (n, 1)), 0
    for k, channels in enumerate(tree.channels):
        for name in channels:
            if name.endswith("rotation"):
                turn = Rotation.from_euler(name[0], values[:, column : column + 1], degrees=True).as_matrix()
                local[:, k] = local[:, k] @ turn
            elif k == 0:
                root[:, "xyz".index(name[0])] = scale * values[:, column]
            column += 1  # positions of other joints than the root are not used: bones are rigid
    return SkeletonMotion(tuple(tree.names), dt, *upright(*chained(tree.parents, offsets, root, local)), str(path))
