import ast
import importlib
import logging
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from multi_qp_scene import jit


def test_only_the_first_compilation_is_logged(caplog):
    jit.log_compilation.cache_clear()
    once, again = jit._njit(lambda x: x + 1), jit._njit(lambda x: x + 2)  # without a cache
    with caplog.at_level(logging.INFO, logger="multi_qp_scene.jit"):
        assert (once(1), once(2), again(1)) == (2, 3, 3)
    assert [record.message for record in caplog.records] == [
        "compiling kernels for this machine; this takes some seconds, once"
    ]


@jit.compiled_part
def _halved(values, k):
    return 0.5 * values[k]


@jit.compiled_part
def _sum_of_halves(values):
    total = 0.0
    for k in range(len(values)):
        total += _halved(values, k)
    return total


def test_parts_are_linked_into_kernels_and_have_no_machine_code_of_their_own():
    """If this fails after an update of numba, `jit_parts` is incompatible, and `compiled_part` should not use it."""
    kernel, other = (jit._njit(lambda values, s=sign: s * _sum_of_halves(values)) for sign in (1.0, -1.0))
    values = np.array([1.0, 2.0, 4.0])
    assert kernel(values) == other(values) * -1.0 == 3.5  # a part may be in several kernels
    (library,) = (result.library for result in _sum_of_halves.overloads.values())
    assert type(library).__name__ == "_PartLibrary"


def _functions(decorator):
    """Return the functions of the project with this decorator, by name."""
    packages = Path(jit.__file__).resolve().parents[1].glob("*/__init__.py")
    texts = [file.read_text("utf-8") for package in packages for file in package.parent.rglob("*.py")]
    trees = [ast.parse(text) for text in texts if f"@{decorator}" in text]
    found = [node for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {node.name: node for node in found if decorator in {getattr(d, "id", "") for d in node.decorator_list}}


def test_kernels_call_parts_and_no_kernels():
    """A kernel linked into another has different rounding when it is compiled than when it is read from the cache."""
    kernels = _functions("compiled")
    assert len(kernels) > 40
    for function in (*kernels.values(), *_functions("compiled_part").values()):
        called = {getattr(node.func, "id", "") for node in ast.walk(function) if isinstance(node, ast.Call)}
        assert not called & set(kernels), function.name


def test_a_cached_kernel_is_compiled_again_when_a_callee_has_changed(tmp_path, monkeypatch):
    """numba itself checks the file of the kernel only, and would use outdated code of other files."""
    monkeypatch.syspath_prepend(tmp_path)
    head = "from multi_qp_scene.jit import compiled, compiled_part\n\n\n"
    part, kernel = tmp_path / "a_part.py", tmp_path / "a_kernel.py"
    kernel.write_text(
        f"{head}from a_part import more\n\n\n@compiled\ndef twice(x):\n    return 2.0 * more(x)\n", encoding="utf-8"
    )

    def called(added, time):
        part.write_text(f"{head}@compiled_part\ndef more(x):\n    return x + {added}\n", encoding="utf-8")
        os.utime(part, (time, time))
        for name in ("a_part", "a_kernel"):
            sys.modules.pop(name, None)
        jit._indices.cache_clear()
        module = importlib.import_module("a_kernel")
        found = module.twice(1.0)
        return found, sum(module.twice.stats.cache_hits.values())

    now = kernel.stat().st_mtime
    assert called(1.0, now) == (4.0, 0)
    assert called(1.0, now) == (4.0, 1)
    assert called(5.0, now + 1000.0) == (12.0, 0)


def test_kernels_run_as_python_with_the_same_result(tmp_path):
    """With NUMBA_DISABLE_JIT=1, for debugging."""
    script = (
        "import numpy as np\n"
        "from multi_qp_controller import Controller\n"
        "from multi_qp_scene import load_scenario\n"
        "from multi_qp_scene.jit import COMPILED\n"
        "controller = Controller(load_scenario('door'))\n"
        "command = controller.step(controller.scenario.scene.initial_state(), 0.0)\n"
        "assert command.diagnostics.status == 'ok', command.diagnostics.message\n"
        "assert controller.get_state().state_manager.cascade.warm_start, 'not by the block solver'\n"
        "print(COMPILED, *command.tau.tolist())\n"
    )
    answers = []
    for disabled in ("0", "1"):
        environment = os.environ | {"NUMBA_DISABLE_JIT": disabled}
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr
        compiled, *torque = done.stdout.split()
        assert compiled == str(disabled == "0")
        answers.append([float(number) for number in torque])
    assert answers[1] == pytest.approx(answers[0], rel=1e-6, abs=1e-6)
