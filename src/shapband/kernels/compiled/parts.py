"""How functions are compiled that only kernels call, not Python.

numba compiles every function as if Python would call it: it optimises the function together with
all that it calls, makes machine code of it, and adds a wrapper that converts Python's arguments.
A kernel is optimised together with the functions that it calls once more, so that all of this is
done in vain for them, at every level of calls. A function with the options `PART` stays as numba
has translated it until a kernel includes it. Least squares compile in two thirds of the time.

A part cannot be called from Python, which raises a TypeError, and is not stored: kernels are stored
with all their parts. It must not raise an exception with arguments that are computed.
"""

import ctypes

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

from shapband.kernels.compiled.lanes import OPTIONS


class _NoMachineCode:
    """Stands for the code generator of a part, which has no place for an environment."""

    def set_env(self, env_name, env):
        """Do nothing: parts use no Python objects."""


class _PartLibrary(JITCodeLibrary):
    """Code of a part, which waits for a kernel that includes it."""

    codegen = _NoMachineCode()

    def _optimize_final_module(self):
        """Leave it to the kernel."""

    def _finalize_final_module(self):
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name):  # noqa: ARG002
        """Return the function that Python calls: it raises a TypeError.

        The first argument of a compiled function is an object of numba that cannot be called.
        """
        self._ensure_finalized()
        return ctypes.cast(ctypes.pythonapi.PyObject_Call, ctypes.c_void_p).value


class _PartCompiler(Compiler):
    """numba's usual compiler, with another library."""

    def define_pipelines(self):
        state = self.state
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return super().define_pipelines()


PART = OPTIONS | {"cache": False, "no_cpython_wrapper": True, "pipeline_class": _PartCompiler}
