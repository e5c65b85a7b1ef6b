"""The colcon recipe of docs/ros2.md: package.xml and its `pip install` name everything that the code imports."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NODES = sorted(path.stem for path in (ROOT / "multi_qp_ros" / "nodes").glob("*_node.py"))
PACKAGES = {path.parent.name for path in ROOT.glob("*/__init__.py")}
#: Modules of keys of rosdep and names of distributions, where they differ.
MODULES = {"pil": "PIL", "mcap_ros2_support": "mcap_ros2"}
#: Modules that come with another: of pydantic, numba, viser, mcap-ros2-support.
IMPLIED = {"pydantic": {"pydantic_core"}, "numba": {"llvmlite"}, "viser": {"websockets"}, "mcap_ros2": {"mcap"}}
#: Of a comparison with the authors' C++ that `multi-qp bench` makes where it is installed; of the synthesis of motions;
#: of jobs on several machines.
OPTIONAL = {"hpp_bezier_com_traj", "hpp_centroidal_dynamics", "casadi", "crocoddyl", "distributed"}
BLOCKER = """
import builtins, importlib, sys
packages, allowed = set({packages!r}), set({allowed!r}) | set(sys.stdlib_module_names)
original = builtins.__import__
def guarded(name, globals=None, locals=None, fromlist=(), level=0):
    importer = ((globals or {{}}).get("__name__") or "").partition(".")[0]
    if importer in packages and not level and name.partition(".")[0] not in packages | allowed:
        raise ImportError(f"{{name}} is in neither package.xml nor the recipe")
    return original(name, globals, locals, fromlist, level)
builtins.__import__ = guarded
importlib.import_module("multi_qp_ros.nodes.{node}")
"""


def module_of(key: str) -> str:
    name = re.sub(r"^python3-|-pip$", "", key).replace("-", "_")
    return MODULES.get(name, name)


def named() -> set[str]:
    """Return the modules that package.xml and the recipe provide."""
    root = ElementTree.parse(ROOT / "package.xml").getroot()
    keys = [element.text or "" for element in root if element.tag == "exec_depend"]
    (line,) = re.findall(r"pip install --break-system-packages (.*)", (ROOT / "docs" / "ros2.md").read_text("utf-8"))
    keys += [re.split(r"[<>=]", word.strip('"'))[0] for word in line.split("#")[0].split()]
    modules = {module_of(key) for key in keys}
    return modules.union(*(more for module, more in IMPLIED.items() if module in modules))


def imported() -> dict[str, str]:
    """Return the modules that the packages import anywhere, also inside functions, each with a file."""
    found: dict[str, str] = {}
    for path in (path for package in sorted(PACKAGES) for path in (ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            found |= {module.partition(".")[0]: str(path.relative_to(ROOT)) for module in modules}
    return {name: file for name, file in found.items() if name not in PACKAGES | set(sys.stdlib_module_names)}


def test_every_import_is_named():
    missing = {name: file for name, file in imported().items() if name not in named() | OPTIONAL}
    assert not missing


def test_versions_that_distributions_have_too_old_are_in_the_recipe():
    root = ElementTree.parse(ROOT / "package.xml").getroot()
    assert not {"python3-pydantic"} & {element.text for element in root}
    assert '"pydantic>=2"' in (ROOT / "docs" / "ros2.md").read_text("utf-8")


@pytest.mark.parametrize("node", NODES)
def test_a_node_imports_with_nothing_else(node):
    program = BLOCKER.format(packages=sorted(PACKAGES), allowed=sorted(named()), node=node)
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]


def test_a_missing_package_is_noticed():
    program = BLOCKER.format(packages=sorted(PACKAGES), allowed=sorted(named() - {"msgspec"}), node="controller_node")
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode != 0 and "msgspec is in neither package.xml nor the recipe" in done.stderr
