"""Import of tsid's Python bindings for all of its packagings: `from multi_qp_controller.tsid_compat import tsid`.

ROS and conda install a flat `tsid` package. The wheel of tsid 1.7.1 has its files one level too deep, so that
`import tsid` returns an empty namespace and the bindings are `tsid.tsid_pywrap`.
"""

from __future__ import annotations

import importlib
from types import ModuleType

_MARKER = "RobotWrapper"


def _load() -> ModuleType:
    importlib.import_module("pinocchio")  # registers the converters of the types that tsid's signatures use
    problems = []
    for name in ("tsid", "tsid.tsid_pywrap", "tsid.tsid.tsid_pywrap"):
        try:
            module = importlib.import_module(name)
        except ImportError as error:
            problems.append(f"{name}: {error}")
            continue
        if hasattr(module, _MARKER):
            return module
        problems.append(f"{name}: has no {_MARKER}")
    raise ImportError(
        "tsid's Python bindings were not found. Install `pin==3.4.0 tsid==1.7.1` from PyPI, "
        f"or ROS's or conda's tsid. Tried: {'; '.join(problems)}"
    )


tsid: ModuleType = _load()
