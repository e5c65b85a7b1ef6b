"""Mutated files of every kind that is loaded, by seed: `python fuzz_loaders.py FIRST COUNT`.

Each file must load or raise MultiQpError. Prints each seed before it is tried, so that the caller knows which one
crashed or hangs, and a traceback where anything else is raised.
"""

from __future__ import annotations

import logging
import os
import random
import re
import resource
import sys
import tempfile
import textwrap
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
import trimesh
from conftest import FILES

from com_trajectory.kinematics import EffectorPolytope, RobotPolytopes, load_polytopes, save_polytopes
from com_trajectory.polytope import Polytope
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.pairs import watched_pairs
from multi_qp_scene.resources import scenario_path, sequence_path
from multi_qp_scene.scenario import load_scenario
from multi_qp_scene.sequence_file import load_contact_sequence

MOST_MEMORY = 6e9  # [B] of address space; more indicates an unchecked size
MOST_TIME = 7.0  # [s] CPU time: the limit of 5 s for meshes, and earlier steps
LARGEST = 3_000_000  # [B]
MESHES = ("stl", "stl_ascii", "obj", "ply", "ply_ascii", "dae")

EXTREMES = [
    *("0", "-1", "1e308", "-1e308", "1e-300", "5e-324", "1e100", "nan", ".nan", "inf", "-.inf", "9" * 5000, "1e400"),
    *("0x" + "f" * 5000, "9223372036854775808", "4294967295", "1000000000", "-2147483648", "true", "null", "~", "''"),
    *("[]", "{}", "[1, 2]", "x" * 5000, "/" * 5000, "~nobody/x.yaml", "/dev/zero", "/proc/self/mem", ".", "\\x00"),
    *("${seed}", "${x", "${9*9}", "${1e308*10}", "*a", "&a", "<<: *a", "!!int x", "!!python/object:os.system x", "|"),
    *("package://x/y", "file:///", "package://" + "y" * 300, "\ud7ff", "é" * 200, "%", "<a>", "</a>", "&lt;", "<!--"),
]


def mutated(content: bytes, rng: random.Random) -> bytes:
    """Return the content with one to four changes."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        content = rng.choice(CHANGES)(content, rng)[:LARGEST]
    return content


def _number(content: bytes, rng: random.Random) -> bytes:
    found = list(re.finditer(rb"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?", content))
    return _replaced(content, found, rng)


def _word(content: bytes, rng: random.Random) -> bytes:
    return _replaced(content, list(re.finditer(rb"[A-Za-z_][A-Za-z_0-9./-]*", content)), rng)


def _replaced(content: bytes, found: list[re.Match[bytes]], rng: random.Random) -> bytes:
    if not found:
        return content
    where, other = rng.choice(found), rng.choice([*EXTREMES, rng.choice(found)[0]])
    new = other if isinstance(other, bytes) else other.encode()
    return content[: where.start()] + new + content[where.end() :]


def _bytes(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.choice((1, 3, 10))):
        if changed:
            changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _cut(content: bytes, rng: random.Random) -> bytes:
    first, last = sorted(rng.choices(range(len(content) + 1), k=2))
    return content[:first] + content[last:] if rng.random() < 0.5 else content[:first]


def _repeated(content: bytes, rng: random.Random) -> bytes:
    lines = content.splitlines(keepends=True) or [b"\n"]
    k, count = rng.randrange(len(lines)), rng.choice((1, 2, 50, 3000))
    count = min(count, LARGEST // len(lines[k]))
    return b"".join([*lines[:k], lines[k] * count, *lines[k:]])


def _moved(content: bytes, rng: random.Random) -> bytes:
    lines = content.splitlines(keepends=True) or [b"\n"]
    line = lines.pop(rng.randrange(len(lines)))
    lines.insert(rng.randrange(len(lines) + 1), rng.choice((b"", b" ", b"    ", b"\t")) + line)
    return b"".join(lines)


def _nested(content: bytes, rng: random.Random) -> bytes:
    k, depth = rng.randrange(len(content) + 1), rng.choice((3, 60, 3000))
    opening, closing = rng.choice(((b"[", b"]"), (b"{a: ", b"}"), (b"<a>", b"</a>"), (b"- ", b""), (b"(", b")")))
    return content[:k] + opening * depth + closing * depth + content[k:]


CHANGES: list[Callable[[bytes, random.Random], bytes]] = [
    _number, _number, _number, _word, _word, _bytes, _cut, _repeated, _moved, _nested,
]  # fmt: skip


class Folder:
    """Valid files of each kind, with their loaders."""

    def __init__(self, path: Path) -> None:
        self.path = path
        for name, text in FILES.items():
            (path / name).write_text(textwrap.dedent(text))
        box = trimesh.creation.box((1.0, 0.5, 0.2))
        for kind in MESHES:
            suffix, _, _ = kind.partition("_")
            options = {"encoding": "ascii"} if kind == "ply_ascii" else {}
            (path / f"{kind}.{suffix}").write_bytes(_DAE if kind == "dae" else _exported(box, kind, options))
            mesh = f"floor: {{model: floor.yaml}}\n  block: {{mesh: {kind}.{suffix}}}"
            scene = (path / "scene.yaml").read_text().replace("floor: {model: floor.yaml}", mesh)
            assert mesh in scene
            (path / f"{kind}.yaml").write_text(scene)
        (path / "plan.yaml").write_bytes(scenario_path("stairs").read_bytes())
        (path / "turns.yaml").write_bytes(scenario_path("twister").read_bytes())
        (path / "steps.yaml").write_bytes(sequence_path("level_walking").read_bytes())
        hull = Polytope.hull(np.array(box.vertices))
        palm = EffectorPolytope(hull, np.zeros(3), 0.1, 100)
        save_polytopes(RobotPolytopes("arm", {"palm": palm}), path / "arm.polytopes.json")
        self.kinds: list[tuple[str, Callable[[], object]]] = [
            *[("scene.yaml", lambda: self._scene("scene.yaml"))] * 3,
            ("arm.yaml", lambda: self._scene("scene.yaml")),
            ("arm.urdf", lambda: self._scene("scene.yaml")),
            ("crate.urdf", lambda: self._scene("scene.yaml")),
            ("plan.yaml", lambda: self._scene("plan.yaml")),
            ("turns.yaml", lambda: self._scene("turns.yaml")),
            ("steps.yaml", lambda: load_contact_sequence(path / "steps.yaml")),
            ("arm.polytopes.json", lambda: load_polytopes(path / "arm.yaml", allow_stale=True)),
            *((f"{kind}.{kind.partition('_')[0]}", lambda kind=kind: self._scene(f"{kind}.yaml")) for kind in MESHES),
        ]

    def _scene(self, name: str) -> object:
        scenario = load_scenario(self.path / name)
        return watched_pairs(scenario.scene, scenario.spec.collisions)

    def check(self, seed: int) -> None:
        """Mutate the file of one seed and load it."""
        rng = random.Random(seed)
        name, load = self.kinds[seed % len(self.kinds)]
        file = self.path / name
        original, began = file.read_bytes(), _cpu_time()
        file.write_bytes(mutated(original, rng))
        try:
            load()
        except MultiQpError as error:
            said = str(error)
            if len(said) > 20_000 or "bad_alloc" in said or "Traceback" in said:
                raise AssertionError(f"{name}: said {len(said)} characters: {said[:500]}") from None
        finally:
            file.write_bytes(original)
        if (took := _cpu_time() - began) > MOST_TIME:
            raise AssertionError(f"{name}: took {took:.1f} s")


def _cpu_time() -> float:
    """Return the CPU time of this process and its finished children [s]."""
    return sum(os.times()[:4])


def _exported(box: trimesh.Trimesh, kind: str, options: dict[str, str]) -> bytes:
    content = box.export(file_type=kind.removesuffix("_ascii") if kind != "stl_ascii" else kind, **options)
    return content.encode() if isinstance(content, str) else content


_DAE = b"""<?xml version="1.0" encoding="utf-8"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
  <asset><unit name="meter" meter="1"/><up_axis>Z_UP</up_axis></asset>
  <library_geometries><geometry id="g" name="g"><mesh>
    <source id="p"><float_array id="pa" count="12">0 0 0 1 0 0 0 1 0 0 0 1</float_array>
      <technique_common><accessor source="#pa" count="4" stride="3">
        <param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/>
      </accessor></technique_common></source>
    <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
    <triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/><p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles>
  </mesh></geometry></library_geometries>
  <library_nodes><node id="n"><instance_geometry url="#g"/></node></library_nodes>
  <library_visual_scenes><visual_scene id="s" name="s">
    <node id="a"><matrix>1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1</matrix><instance_node url="#n"/></node>
  </visual_scene></library_visual_scenes>
  <scene><instance_visual_scene url="#s"/></scene>
</COLLADA>
"""


def _peak_memory() -> int:
    """Return the peak of this program [B]; getrusage's includes that of the process which started it."""
    status = Path("/proc/self/status").read_text("utf-8")
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def main(first: int, count: int) -> int:
    """Run the seeds and return the number of failures."""
    logging.disable(logging.CRITICAL)
    resource.setrlimit(resource.RLIMIT_AS, (int(MOST_MEMORY), resource.RLIM_INFINITY))
    failures = 0
    with tempfile.TemporaryDirectory() as place:
        folder = Folder(Path(place))
        for _, load in folder.kinds:
            load()  # unchanged, all are valid
        for seed in range(first, first + count):
            print(f"seed {seed}", flush=True)
            try:
                folder.check(seed)
            except Exception:
                failures += 1
                name = folder.kinds[seed % len(folder.kinds)][0]
                print(f"seed {seed}, {name}: {traceback.format_exc(limit=-6)}", file=sys.stderr, flush=True)
    print(f"memory {_peak_memory()}", flush=True)
    return failures


if __name__ == "__main__":
    os.environ.pop("MULTI_QP_LIMITS", None)
    sys.exit(min(main(int(sys.argv[1]), int(sys.argv[2])), 100))
