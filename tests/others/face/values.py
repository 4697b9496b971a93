"""Plait's tensors with the interface of NumPy's arrays, for NumPy's tests."""

import builtins
import itertools

import numpy as np
import plait
import pytest
from plait.inside.arrays.interop import numpy_dtype

PYTHON_NUMBERS = (bool, int, float, complex)
BUFFER_KINDS = "biufc"
made = itertools.count()  # counts Arrays: a test that creates none does not test Plait


def not_here(reason):
    """Ends the test: it uses a feature that Plait does not have, or deliberately has in another form."""
    pytest.skip(f"no {reason} here")


def plait_dtype(dtype):
    """Plait's dtype for a NumPy dtype, or for any name of one."""
    if isinstance(dtype, plait.DType):
        return dtype
    try:
        found = np.dtype(dtype)
    except TypeError:
        return plait.DType(dtype)
    if found.name in ("longdouble", "clongdouble", "float128", "complex256") or found.itemsize > 16:
        not_here("long double")
    if found.kind not in BUFFER_KINDS and not found.name.startswith(("bfloat16", "float8")):
        not_here(f"dtype of kind {found.kind}")
    if not found.isnative:
        not_here("other order of bytes")
    return plait.DType(found.name)


def tensor_of(value, dtype=None):
    """A tensor from an array, a number or nested lists; Python numbers become f64, i64, c128 and bool as in NumPy."""
    result = _tensor_of(value)
    return result if dtype is None or plait_dtype(dtype) == result.dtype else plait.astype(result, plait_dtype(dtype))


def _tensor_of(value):
    if isinstance(value, Array):
        return value.tensor
    if isinstance(value, plait.Tensor):
        return value
    if type(value) in PYTHON_NUMBERS:
        return plait.asarray(np.asarray(value))
    if isinstance(value, (list, tuple)):
        return _tensor_of_list(value)
    array = np.asarray(value)
    plait_dtype(array.dtype)
    return plait.asarray(array.copy())


def _tensor_of_list(values):
    if any_array(values):
        each = [_tensor_of(value) for value in values]
        common = np.result_type(*[numpy_dtype(tensor.dtype) for tensor in each])
        return plait.stack([plait.astype(tensor, plait_dtype(common)) for tensor in each])
    array = np.asarray(values)
    plait_dtype(array.dtype)
    return plait.asarray(array)


def any_array(value):
    """True if the nested lists contain an Array."""
    if isinstance(value, (Array, plait.Tensor)):
        return True
    return isinstance(value, (list, tuple)) and builtins.any(any_array(each) for each in value)


def operand(value):
    """A tensor, or a Python number, whose dtype is weak."""
    return value if type(value) in PYTHON_NUMBERS else tensor_of(value)


def faced(value):
    """Converts tensors to Arrays, in tuples and lists too."""
    if isinstance(value, plait.Tensor):
        return Array(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(faced, value))
    if isinstance(value, (list, tuple)):
        return type(value)(map(faced, value))
    return value


def seen(value):
    """Converts Arrays to NumPy arrays and scalars, also in containers, for NumPy's own assertions."""
    if isinstance(value, (Array, plait.Tensor)):
        array = np.array(value)
        return array if array.ndim else array[()]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return tuple(map(seen, value))
    if isinstance(value, (list, tuple)):
        return type(value)(map(seen, value))
    if isinstance(value, dict):
        return {name: seen(each) for name, each in value.items()}
    return value


def index(key):
    """Converts an index to one that Plait accepts."""
    if isinstance(key, tuple):
        return tuple(index(each) for each in key)
    if isinstance(key, Array):
        return key.tensor
    if isinstance(key, np.ndarray):
        return plait.asarray(key.copy())
    if isinstance(key, np.bool_):
        return bool(key)
    if isinstance(key, list):
        return plait.zeros(0, plait.i64) if len(key) == 0 else tensor_of(key)
    if isinstance(key, slice):
        return slice(*(number(each) for each in (key.start, key.stop, key.step)))
    return key


def number(value):
    """A Python integer if possible."""
    return value.tensor.item() if isinstance(value, Array) and value.dtype.kind in "iu" else value


class Array(plait.Module):
    """A tensor with NumPy's attribute names. functions.py adds functions and methods."""

    __array_priority__ = 1000

    def __init__(self, tensor):
        next(made)
        self.tensor = tensor

    dtype = property(lambda self: np.dtype(numpy_dtype(self.tensor.dtype)))
    ndim = property(lambda self: self.tensor.ndim)
    size = property(lambda self: int(np.prod(self.shape)))
    itemsize = property(lambda self: self.dtype.itemsize)
    nbytes = property(lambda self: self.size * self.itemsize)
    T = property(lambda self: Array(self.tensor.T))
    mT = property(lambda self: Array(plait.matrix_transpose(self.tensor)))

    @property
    def shape(self):
        return tuple(self.tensor.shape)

    @shape.setter
    def shape(self, shape):
        self.tensor = plait.reshape(self.tensor, shape)

    def __getattr__(self, name):
        if name in ("flags", "base", "data", "strides", "ctypes", "flat", "setflags", "view", "resize", "byteswap",
                    "newbyteorder", "tobytes", "tofile", "dump", "dumps", "getfield", "setfield"):
            not_here(f"memory of an array to be looked into ({name})")
        raise AttributeError(name)

    def __array__(self, dtype=None, copy=None):
        if self.tensor.is_traced:
            raise plait.TypeError("an array of NumPy from what is being recorded")
        return np.array(self.tensor, dtype)

    def __getitem__(self, key):
        return Array(self.tensor[index(key)])

    def __setitem__(self, key, value):
        kept = self.tensor._share()
        kept[index(key)] = plait.astype(tensor_of(value), kept.dtype)
        self.tensor = kept

    def __len__(self):
        if self.ndim == 0:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self):
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __bool__(self):
        return bool(self.tensor)

    def __int__(self):
        return int(self._only())

    def __float__(self):
        return float(self._only())

    def __complex__(self):
        return complex(self._only())

    def _only(self):
        if self.size != 1:
            raise TypeError("only length-1 arrays can be converted to Python scalars")
        return plait.reshape(self.tensor, ()).item()

    def __index__(self):
        return self.tensor.__index__()

    def __repr__(self):
        return f"Array({self.tensor!r})"

    def __format__(self, spec):
        return format(self.item(), spec) if self.ndim == 0 else str(self.tensor)

    __hash__ = None

    def item(self, *place):
        return np.array(self.tensor).item(*place)

    def tolist(self):
        return np.array(self.tensor).tolist()

    def copy(self, order="C"):
        return Array(self.tensor._share())

    def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
        return Array(plait.astype(self.tensor, plait_dtype(dtype)))

    def fill(self, value):
        self[...] = value

    @property
    def real(self):
        return Array(plait.real(self.tensor)) if self.dtype.kind == "c" else self

    @real.setter
    def real(self, value):
        self.tensor = plait.make_complex(tensor_of(value, self.real.dtype) + plait.zeros_like(self.real.tensor), self.imag.tensor)

    @property
    def imag(self):
        return Array(plait.imag(self.tensor)) if self.dtype.kind == "c" else Array(plait.zeros_like(self.tensor))

    @imag.setter
    def imag(self, value):
        self.tensor = plait.make_complex(self.real.tensor, tensor_of(value, self.real.dtype) + plait.zeros_like(self.real.tensor))
