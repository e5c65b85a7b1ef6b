"""Store of synthesised motions on disk, by a hash of what they depend on."""

from __future__ import annotations

import atexit
import hashlib
import json
import logging
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from contact_invariant.character import behaviour_of
from contact_invariant.timed_plan import TimedPlan
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.scenario import Scenario

_log = logging.getLogger(__name__)


def cache_path(scenario: Scenario) -> Path:
    """Return the file for the motion of a scenario: named by a hash of everything that it depends on.

    These are the behaviour, the dampers of the QP, the models of the scene, its initial configuration, and the code of
    this package.
    """
    scene, found = scenario.scene, hashlib.sha256()
    spec = scenario.spec
    for part in (behaviour_of(scenario), spec.collisions, spec.joint_limits):  # the refinement keeps the dampers' rules
        found.update(json.dumps(part.model_dump(), sort_keys=True).encode())
    found.update(scene.q0.tobytes())
    found.update(scene.model.saveToString().encode())
    for name, surface in sorted(scene.surfaces.items()):
        found.update(repr((name, surface.points.tolist(), surface.X_link_surface)).encode())
    for piece in scene.collision_model.geometryObjects:
        shape = piece.geometry
        shape.computeLocalAABB()
        box = shape.aabb_local
        found.update(repr((piece.name, piece.placement, box.min_.tolist(), box.max_.tolist())).encode())
    for source in sorted(Path(__file__).parent.glob("*.py")):
        found.update(source.read_bytes())
    root = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(root).expanduser() / "multi_qp_controller" / "motions" / f"{found.hexdigest()[:32]}.npz"


def stored(scenario: Scenario) -> TimedPlan | None:
    """Return the motion that was stored for a scenario, if there is a readable one."""
    path = cache_path(scenario)
    if not path.is_file():
        return None
    try:
        return TimedPlan.load(path)
    except MultiQpError:
        return None


def store(scenario: Scenario, plan: TimedPlan, *, passed: bool) -> Path:
    """Store the motion of a scenario, and return its file; `stored` returns only one that passed its audit.

    Where the cache cannot be written, it is a temporary file, which this process removes at its end.

    Raises:
        MultiQpError: neither can be written.
    """
    path = cache_path(scenario)
    path = path if passed else path.with_suffix(".rejected.npz")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return _saved(plan, path)
    except OSError as error:
        why = f"cannot store the motion in '{path}': {error.strerror or error}"
    try:
        folder = Path(tempfile.mkdtemp(prefix="multi_qp_"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        _saved(plan, folder / path.name)
    except OSError as error:
        raise MultiQpError(f"{why}; nor in a temporary folder: {error.strerror or error}") from None
    _log.warning("%s; it will be made again; XDG_CACHE_HOME names another place", why)
    return folder / path.name


def _saved(plan: TimedPlan, path: Path) -> Path:
    """Save a motion, at once for other processes; leave nothing behind if that fails."""
    partial = path.with_suffix(f".{os.getpid()}.part")
    try:
        plan.save(partial)
        partial.replace(path)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
    return path
