"""Plait: a deep-learning framework whose tensors, transforms and compiler share one IR."""

import builtins as _builtins
import os as _os


# Shared libraries of Debian that a wheel does not contain, and their packages.
_PACKAGES = {"libopenblas": "libopenblas0-serial", "libfmt": "libfmt9", "libdw": "libdw1", "libz": "zlib1g",
             "libutf8proc": "libutf8proc2", "libjpeg": "libjpeg62-turbo", "libpng16": "libpng16-16", "libwebp": "libwebp7",
             "libgomp": "libgomp1", "libgfortran": "libgfortran5", "libstdc++": "libstdc++6"}


def _say_what_is_missing(error):
    name = str(error).split(".so")[0]
    if name in _PACKAGES and "cannot open shared object file" in str(error):
        raise _builtins.ImportError(f"Plait needs {str(error).split(':')[0]}, from the Debian package {_PACKAGES[name]}\n  hint: apt install "
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
        from plait import _core  # noqa: F401
    except ImportError as error:
        _say_what_is_missing(error)
        raise
    finally:
        if tell:
            del _os.environ[name]


_load_core()
from plait import _core, errors  # noqa: E402
from plait.inside.folder import FOLDER as _FOLDER  # noqa: E402

_core._set_package_folder(_FOLDER)

from plait._core import *  # noqa: E402,F403: every function of the library

del fft, linalg, random, RecordedProgram, Structure  # noqa: F821: the core's, in whose place are the package's own
from plait import data, distributed, fft, io, linalg, metrics, nn, optim, random, text, tree  # noqa: E402,F401
from plait._core import DType, Dim, Tensor  # noqa: E402,F401
from plait.errors import *  # noqa: E402,F403
from plait.inside.arrays import methods as _methods, numpy_protocols as _numpy_protocols, sizes as _sizes  # noqa: E402,F401
from plait.inside.arrays.array_api import __array_api_version__, __array_namespace_info__, e, inf, nan, newaxis, pi  # noqa: E402,F401
from plait.inside.arrays.devices import Device, devices, host_calls, synchronize  # noqa: E402,F401
from plait.inside.arrays.dtype_info import broadcast_shapes, can_cast, finfo, iinfo, isdtype, result_type  # noqa: E402,F401
from plait.inside.arrays.interop import asarray, from_dlpack, tensor  # noqa: E402,F401
from plait.inside.arrays.primitives import Primitive, ops  # noqa: E402,F401
from plait.inside.jit.jitting import Dynamic, JitStats, jit, stats  # noqa: E402,F401
from plait.inside.script.scripting import script  # noqa: E402,F401
from plait.inside.settings.anomaly import check_finite, detect_anomaly  # noqa: E402,F401
from plait.inside.settings.autocast import autocast  # noqa: E402,F401
from plait.inside.settings.denormals import flush_denormals  # noqa: E402,F401
from plait.inside.settings.memory_tag import memory_by_tag, memory_tag  # noqa: E402,F401
from plait.inside.transforms.batching import vmap  # noqa: E402,F401
from plait.inside.transforms.meshes import Mesh, P, PartitionSpec, shard_map  # noqa: E402,F401
from plait.inside.transforms.callbacks import callback  # noqa: E402,F401
from plait.inside.transforms.control import (  # noqa: E402,F401
    associative_scan, checkpoints, cond, for_loop, map, recursive, scan, switch, while_loop)
from plait.inside.transforms.custom_rules import custom_jvp, custom_vjp  # noqa: E402,F401
from plait.inside.transforms.derivatives import (  # noqa: E402,F401
    Tape, grad, gradient, jvp, linear_transpose, linearize, no_grad, value_and_grad, vjp)
from plait.inside.transforms.jacobians import hessian, hvp, jacfwd, jacrev  # noqa: E402,F401
from plait.inside.transforms.records import record  # noqa: E402,F401
from plait.inside.transforms.remat import remat  # noqa: E402,F401
from plait.inside.transforms.tracing import Program, Spec, trace  # noqa: E402,F401
from plait.inside.trees.module import Module  # noqa: E402,F401
from plait.inside.trees.moving import to_device  # noqa: E402,F401
from plait.inside.help.aliases import (  # noqa: E402,F401
    abs, array, bitwise_invert, bitwise_left_shift, bitwise_right_shift, checkpoint, compile, cumulative_prod, cumulative_sum, eval, neg,
    positive, pow)
from plait.inside.help.boundaries import guard as _guard  # noqa: E402
from plait.inside.help.imports import add_hints_to_imports as _add_hints_to_imports  # noqa: E402
from plait.inside.help.names import of_module as _of_module  # noqa: E402

from plait._core import __version__  # noqa: E402,F401

__getattr__ = _of_module(__name__)
for _each in (globals(), vars(data), vars(data.transforms), vars(data.transforms.functional), vars(distributed), vars(io), vars(nn), vars(nn.init),
              vars(nn.utils), vars(nn.utils.prune), vars(metrics), vars(optim), vars(optim.lr_scheduler), vars(text), vars(tree)):
    _guard(_each)
del _each
_add_hints_to_imports()

# Public names. `from plait import *` imports all of them except those that would hide Python's own: max, sum and
# others.
_MODULES = {"data", "distributed", "fft", "io", "linalg", "metrics", "nn", "optim", "random", "text", "tree"}
_PUBLIC = sorted(name for name, value in globals().items() if not name.startswith("_") and (name in _MODULES or type(value) is not type(_os)))
__all__ = [name for name in _PUBLIC if not hasattr(_builtins, name)]


def __dir__():
    return [*_PUBLIC, "__version__"]
