"""Checks of mesh files in a separate process, before they are loaded in this process.

Assimp does not validate its input: a header may cause an allocation of any size, a damaged file may crash it, an
included pipe blocks it. `mesh_trial.py` loads the file first, within limits of time and memory.
"""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
from collections.abc import Collection, Iterable
from functools import lru_cache
from pathlib import Path
from time import monotonic
from typing import Any

from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.files import not_regular
from multi_qp_scene.limits import VARIABLE, check, limit
from multi_qp_scene.resources import resource_dirs

#: A trial that uses no CPU time for this duration is terminated [s].
WAITS = 10.0

#: Vertices at the end of a mesh that no triangle has: those of its degenerate triangles, which are left out. If there
#: are more, it has several materials, of which coal takes all triangles as of the first one's vertices.
UNUSED = 3
CONFUSED = "parts of several materials are confused when read; save the mesh as one part, for example as STL"

_TRIAL = Path(__file__).with_name("mesh_trial.py")
_File = tuple[str, int, int]  # path, size [B] and time of the last change [ns]


def check_meshes(uses: Iterable[Path], *, solid: Collection[Path]) -> dict[Path, str]:
    """Check mesh files before they are loaded.

    Args:
        uses: files, each as often as it will be loaded.
        solid: those that are not for pictures alone.

    Returns:
        Error messages by file; if the total size is too large, the message is that of the last file.
    """
    uses = list(uses)
    problems: dict[Path, str] = {}
    files: dict[Path, _File] = {}
    for path in dict.fromkeys(uses):
        try:
            files[path] = _regular(path)
        except MultiQpError as error:
            problems[path] = str(error)
    # shipped meshes are not checked
    tried = {path: file for path, file in files.items() if not any(path.is_relative_to(own) for own in resource_dirs())}
    total = sum(files[path][1] for path in uses if path in files)
    try:
        check("mesh_bytes", total, "the size of all meshes [B]")
    except MultiQpError as error:
        return problems | {uses[-1]: str(error)}
    results = dict(zip(tried, _tried(tuple(tried.values())), strict=False))
    vertices = 0
    for path, result in results.items():
        try:
            _check_result(result)
            vertices += result["count"] * uses.count(path)
            if path in solid and result["unused"] > UNUSED:
                raise MultiQpError(CONFUSED)
        except MultiQpError as error:
            problems[path] = str(error)
    try:
        check("mesh_vertices", vertices, "vertices and faces of all meshes")
    except MultiQpError as error:
        problems |= {uses[-1]: str(error)}
    return problems


def _regular(path: Path) -> _File:
    try:
        state = path.stat()
    except OSError as error:
        raise MultiQpError(f"cannot be read: {error.strerror}") from None
    if (message := not_regular(state.st_mode)) is not None:
        raise MultiQpError(message)
    check("mesh_bytes", state.st_size, "its size [B]")
    return str(path), state.st_size, state.st_mtime_ns


def _check_result(result: dict[str, Any]) -> None:
    if "error" in result:
        raise MultiQpError(f"cannot be read as a mesh: {result['error']}")
    if not math.isfinite(result["furthest"]):
        raise MultiQpError("a vertex is not a finite number")
    check("position", result["furthest"], "a coordinate of a vertex, before `scale`")


@lru_cache(maxsize=32)
def _tried(files: tuple[_File, ...]) -> tuple[dict[str, Any], ...]:
    """Return the result of each file, up to the first at which the trial ended."""
    if not files:
        return ()
    seconds, memory = limit("mesh_seconds").high, limit("mesh_memory").high
    request: str | None = json.dumps({"files": [path for path, _, _ in files], "seconds": seconds, "memory": memory})
    process = subprocess.Popen([sys.executable, "-P", str(_TRIAL)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)  # fmt: skip
    end, spent = "", -1.0
    while True:
        try:
            output, _ = process.communicate(request, timeout=WAITS)
            break
        except subprocess.TimeoutExpired:  # wall-clock time may be long on a loaded machine
            request = None  # already sent
            before, spent = spent, _cpu_time(process.pid)
            if spent == before:
                end = f"loading was blocked for {WAITS:g} s, for example by a pipe that it includes"
                process.kill()
    if process.returncode == -signal.SIGXCPU:
        end = f"more than the limit 'mesh_seconds', {seconds:g} s; {VARIABLE}=mesh_seconds={2 * seconds:g} doubles it"
    elif not end:
        end = f"the program that loads meshes crashed (status {process.returncode})"
    results: list[dict[str, Any]] = [json.loads(line) for line in output.splitlines()]
    if len(results) < len(files):
        results.append({"error": end})
    return tuple(results)


def _cpu_time(process: int) -> float:
    """Return the CPU time of a process; wall-clock time where it is not available."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:
        return monotonic()
    return float(fields[11]) + float(fields[12])
