"""Software versions, machine and source checksum of a recording."""

from __future__ import annotations

import hashlib
import platform
import xml.etree.ElementTree as ElementTree
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from multi_qp_controller.threads import blas_threads

#: Libraries that affect the solution at rounding level.
_LIBRARIES = ("numpy", "scipy", "pin", "coal", "tsid", "numba", "daqp", "piqp", "proxsuite", "quadprog")
_ROOT = Path(__file__).resolve().parents[2]
_PACKAGES = ("multi_qp_scene", "multi_qp_controller")


def project_version() -> str:
    """Return the version of this project: from package.xml in a source tree, else from the installed package."""
    description = _ROOT / "package.xml"
    if description.is_file():
        return (ElementTree.parse(description).getroot().findtext("version") or "").strip()
    try:
        return version("multi_qp_controller")
    except PackageNotFoundError:
        return "unknown"


@cache
def identity() -> dict[str, str]:
    """Return, by name, the properties that must agree for two runs to be bitwise equal."""
    found = {"program": _program(), "python": platform.python_version(), "machine": _machine()}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    found["linear algebra threads"] = str(blas_threads())
    return found


def _program() -> str:
    """Return a checksum of the source of the packages that determine the command of a tick."""
    digest = hashlib.sha256()
    for package in _PACKAGES:
        for path in sorted((_ROOT / package).rglob("*.py")):
            digest.update(str(path.relative_to(_ROOT)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _machine() -> str:
    """Return operating system and processor, by which BLAS kernels are selected."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        model = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.processor()
    return f"{platform.system()} {platform.machine()} {model}".strip()
