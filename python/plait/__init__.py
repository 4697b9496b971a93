"""Plait: a deep-learning framework whose tensors, transforms and compiler share one IR."""

import builtins as _builtins
import os as _os


# Shared libraries of Debian that a wheel does not contain, and their packages.
_PACKAGES = {"libopenblas": "libopenblas0-serial", "libfmt": "libfmt9", "libdw": "libdw1", "libz": "zlib1g",
             "libgomp": "libgomp1", "libgfortran": "libgfortran5", "libstdc++": "libstdc++6"}


def _say_what_is_missing(error):
    name = str(error).split(".so")[0]
    if name in _PACKAGES and "cannot open shared object file" in str(error):
        raise ImportError(f"Plait needs {str(error).split(':')[0]}, from the Debian package {_PACKAGES[name]}\n  hint: apt install "
                          f"{_PACKAGES[name]}", name="plait") from error


def _load_core():
    """OpenBLAS treats processors newer than itself as the oldest supported ones; those kernels are slow and, for
    single precision, fail. It chooses kernels when it is loaded, so the kind of processor is set before."""
    name = "OPENBLAS_CORETYPE"
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            flags = next((set(line.split()) for line in file if line.startswith("flags")), set())
    except OSError:
        flags = set()
    core = ("SkylakeX" if {"avx512f", "avx512dq", "avx512bw", "avx512vl"} <= flags else
            "Haswell" if {"avx2", "fma"} <= flags else None)
    tell = core is not None and name not in _os.environ
    if tell:
        _os.environ[name] = core
    try:
        from . import _core  # noqa: F401
    except ImportError as error:
        _say_what_is_missing(error)
        raise
    finally:
        if tell:
            del _os.environ[name]


_load_core()
from . import _core, errors  # noqa: E402

_core._set_package_folder(_os.path.join(_os.path.dirname(__file__), ""))

from ._core import *  # noqa: E402,F403: every function of the library

del fft, linalg, random, RecordedProgram, Structure  # noqa: F821: the core's, in whose place are the package's own
from . import fft, linalg, nn, optim, random, sizes as _sizes, tree  # noqa: E402,F401
from ._core import DType, Dim, Tensor  # noqa: E402,F401
from .errors import *  # noqa: E402,F403
from .anomaly import check_finite, detect_anomaly  # noqa: E402,F401
from .callbacks import callback  # noqa: E402,F401
from .control import (  # noqa: E402,F401
    associative_scan, checkpoints, cond, for_loop, map, recursive, scan, switch, while_loop)
from .custom_rules import custom_jvp, custom_vjp  # noqa: E402,F401
from .denormals import flush_denormals  # noqa: E402,F401
from .dtype_info import broadcast_shapes, can_cast, finfo, iinfo, isdtype, result_type  # noqa: E402,F401
from . import methods as _methods  # noqa: E402,F401
from .interop import asarray, from_dlpack, tensor  # noqa: E402,F401
from .jitting import Dynamic, JitStats, jit, stats  # noqa: E402,F401
from .module import Module  # noqa: E402,F401
from .primitives import Primitive, ops  # noqa: E402,F401
from .records import record  # noqa: E402,F401
from .scripting import script  # noqa: E402,F401
from .tracing import Program, Spec, trace  # noqa: E402,F401
from .batching import vmap  # noqa: E402,F401
from .jacobians import hessian, hvp, jacfwd, jacrev  # noqa: E402,F401
from .transforms import (  # noqa: E402,F401
    Tape, autocast, grad, gradient, jvp, linear_transpose, linearize, no_grad, remat, value_and_grad, vjp)
from .aliases import (  # noqa: E402,F401
    abs, array, bitwise_invert, bitwise_left_shift, bitwise_right_shift, checkpoint, compile, cumulative_prod, cumulative_sum, eval, neg,
    positive, pow)
from . import numpy_protocols as _numpy_protocols  # noqa: E402,F401
from .array_api import __array_api_version__, __array_namespace_info__, e, inf, nan, newaxis, pi  # noqa: E402,F401
from .devices import Device  # noqa: E402,F401
from .names import of_module as _of_module  # noqa: E402
from .boundaries import guard as _guard  # noqa: E402

from ._core import __version__  # noqa: E402,F401

__getattr__ = _of_module(__name__)
for _each in (globals(), vars(nn), vars(optim)):
    _guard(_each)
del _each

# Public names. `from plait import *` imports all of them except those that would hide Python's own: max, sum and
# others.
_MODULES = {"fft", "linalg", "nn", "optim", "random", "tree"}
_PUBLIC = sorted(name for name, value in globals().items() if not name.startswith("_") and (name in _MODULES or type(value) is not type(_os)))
__all__ = [name for name in _PUBLIC if not hasattr(_builtins, name)]


def __dir__():
    return [*_PUBLIC, "__version__"]
