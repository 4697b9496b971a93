"""Parts of the Array API standard besides functions: constants, information on dtypes and devices, and signatures of
methods that inspect can read."""

import inspect
import math

from plait import _core, errors
from plait._core import Tensor
from plait.inside.arrays import devices
from plait.inside.arrays.dtype_info import isdtype
from plait.inside.help.names import of_tensor

__array_api_version__ = "2024.12"
VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")

e = math.e
inf = math.inf
nan = math.nan
newaxis = None
pi = math.pi

_DTYPES = {name: getattr(_core, name) for name in (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "complex64",
    "complex128")}


class NamespaceInfo:
    """The result of plait.__array_namespace_info__()."""

    def capabilities(self):
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}

    def default_device(self):
        return devices.device()

    def default_dtypes(self, *, device=None):
        devices.device(device)
        return {"real floating": _core.f32, "complex floating": _core.c64, "integral": _core.i64, "indexing": _core.i64}

    def devices(self):
        return devices.devices()

    def dtypes(self, *, device=None, kind=None):
        """The dtypes of the standard by name: all of them, or those of a kind or of several kinds."""
        devices.device(device)
        return {name: dtype for name, dtype in _DTYPES.items() if kind is None or isdtype(dtype, kind)}


def __array_namespace_info__():
    """Information on the available devices, dtypes and the like."""
    return NamespaceInfo()


def _array_namespace(self, /, *, api_version=None):
    import plait

    if api_version is not None and api_version not in VERSIONS:
        raise errors.ValueError(f"unknown version {api_version!r} of the Array API; the versions are {', '.join(VERSIONS)}")
    return plait


def _to_device(self, device, /, *, stream=None):
    """On that device; itself if it is there."""
    if stream is not None:
        raise errors.ValueError.with_hint(f"to_device: the stream {stream!r} is not Plait's", "leave it out: the order of operations is kept")
    return devices.moved(self, _core._device_name(device))


def _contains(self, value, /):
    return bool(_core.any(self == value))


def _signature(method):
    """The signature of a nanobind function: its first line, with the defaults added."""
    if not str(method.__module__).startswith("plait."):
        raise AttributeError("__signature__")
    line, _, defaults = method.__nb_signature__[0]
    text = line[line.index("("):].rsplit(" -> ", 1)[0].strip("()")
    parameters, kind = [], inspect.Parameter.POSITIONAL_OR_KEYWORD
    for part in filter(None, text.split(", ")):
        name = part.split(":")[0].split("=")[0].strip()
        if part == "/":
            parameters = [each.replace(kind=inspect.Parameter.POSITIONAL_ONLY) for each in parameters]
        elif part == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
        elif part.startswith("*"):
            kind_of_many = inspect.Parameter.VAR_KEYWORD if part.startswith("**") else inspect.Parameter.VAR_POSITIONAL
            parameters.append(inspect.Parameter(name.lstrip("*"), kind_of_many))
            kind = inspect.Parameter.KEYWORD_ONLY
        else:
            default = defaults[int(part.split("\\")[1])] if "\\" in part else inspect.Parameter.empty
            parameters.append(inspect.Parameter(name, kind, default=default))
    is_bound = type(method).__name__ == "nb_bound_method"
    return inspect.Signature(parameters[is_bound:])


Tensor.__array_namespace__ = _array_namespace
Tensor.to_device = _to_device
Tensor.__contains__ = _contains
Tensor.__getattr__ = _core._boundary(of_tensor)
for _kind in (type(_core.borrow), type(Tensor.__dict__["__add__"]), type(_core.zeros((), device="cpu").__add__)):
    _kind.__signature__ = property(_signature)
