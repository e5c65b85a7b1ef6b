"""What a recording was made with: versions, machine, and the program's own text."""

from __future__ import annotations

import hashlib
import platform
import xml.etree.ElementTree as ElementTree
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from multi_qp_controller.threads import blas_threads

#: Of these the digits of an answer depend.
_LIBRARIES = ("numpy", "scipy", "pin", "coal", "tsid", "numba", "daqp", "piqp", "proxsuite", "quadprog")
_ROOT = Path(__file__).resolve().parents[2]
_PACKAGES = ("multi_qp_scene", "multi_qp_controller")


def project_version() -> str:
    """Return the version of this project: of the source where it runs from there, else of the installation."""
    description = _ROOT / "package.xml"
    if description.is_file():
        return (ElementTree.parse(description).getroot().findtext("version") or "").strip()
    try:
        return version("multi_qp_controller")
    except PackageNotFoundError:
        return "unknown"


@cache
def identity() -> dict[str, str]:
    """Return, by name, what has to be equal for two runs to be equal to the last bit."""
    found = {"program": _program(), "python": platform.python_version(), "machine": _machine()}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    found["linear algebra threads"] = str(blas_threads())
    return found


def _program() -> str:
    """Return a checksum of the source of those packages that decide what a tick's answer is."""
    digest = hashlib.sha256()
    for package in _PACKAGES:
        for path in sorted((_ROOT / package).rglob("*.py")):
            digest.update(str(path.relative_to(_ROOT)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _machine() -> str:
    """Return the processor and the system: kernels of linear algebra are chosen by them."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        model = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.processor()
    return f"{platform.system()} {platform.machine()} {model}".strip()
