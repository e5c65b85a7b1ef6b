"""Import of tsid for each of its packagings."""

from __future__ import annotations

import importlib
from types import SimpleNamespace

import pytest

from multi_qp_controller import tsid_compat


def test_installed_tsid_has_its_bindings():
    assert hasattr(tsid_compat.tsid, "RobotWrapper")
    assert hasattr(tsid_compat.tsid, "SolverHQuadProgFast")


@pytest.mark.parametrize("packed_as", ["tsid", "tsid.tsid_pywrap", "tsid.tsid.tsid_pywrap"])
def test_each_packaging_is_accepted(monkeypatch, packed_as):
    whole = SimpleNamespace(RobotWrapper=object)

    def import_module(name):
        if name == packed_as:
            return whole
        if name == "tsid":
            return SimpleNamespace()
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", lambda n: None if n == "pinocchio" else import_module(n))
    assert tsid_compat._load() is whole


def test_error_for_missing_tsid_names_the_package(monkeypatch):
    def import_module(name):
        if name != "pinocchio":
            raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(importlib, "import_module", import_module)
    with pytest.raises(ImportError, match="pin==3.4.0 tsid==1.7.1"):
        tsid_compat._load()
