"""Compiler pipeline for parts of kernels: functions that become machine code only within the kernels that call them.

numba optimises every function together with its callees and generates machine code for it, also if it is only called by
other compiled functions, which repeat this work. For parts this step is skipped; it takes up to half of the compile
time.
"""

from __future__ import annotations

from typing import Any

from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


class _PartLibrary(JITCodeLibrary):
    """Code library that is only linked into other libraries."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


def once_for_all_constants(part: Any) -> Any:
    """Return a part that is compiled once whatever constants it is called with: numba does so for each of them."""
    of_types = part.get_call_template

    def get_call_template(args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        named = {name: types.unliteral(kind) for name, kind in kws.items()}
        return of_types(tuple(types.unliteral(kind) for kind in args), named)

    part.get_call_template = get_call_template
    return part


@register_pass(mutates_CFG=True, analysis_only=False)
class _PartLowering(NativeLowering):
    """Lowering of a part, without a Python wrapper; registers the entry point for its callers."""

    _name = "part_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        name = lowered.fndesc.qualname.split(".")[-1]
        module = lowered.fndesc.lookup_module()
        handle = _dynfunc.make_function(module, name, "part of a kernel", 0, lowered.env, (state.library,))
        state.targetctx.insert_user_function(handle, lowered.fndesc, [state.library])
        state["cr"] = lowered._replace(cfunc=handle)
        return True


class PartCompiler(CompilerBase):
    """Compiler pipeline of a part, up to what its callers need."""

    def define_pipelines(self) -> list[Any]:
        """Return the passes of numba's own compiler, with the last but one replaced."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [(_PartLowering if step is NativeLowering else step, why) for step, why in passes.passes]
        passes._finalized = False
        passes.finalize()
        return [passes]
