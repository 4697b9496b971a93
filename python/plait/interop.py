"""NumPy's arrays and others' as tensors, and back, without copying where the memory can be shared."""

import copyreg

import numpy as np

from . import _core
from ._core import Tensor
from .items import Item

KEY = np.dtype([("key", "<u8", (2,))])


def numpy_dtype(dtype):
    """NumPy's dtype; that of ml_dtypes for the narrow ones."""
    if dtype.kind == "key":
        return KEY
    try:
        return np.dtype(dtype.long_name)
    except TypeError:
        import ml_dtypes  # only here: most programs have no use for it

        return np.dtype(getattr(ml_dtypes, dtype.long_name))


class _View:
    """Holds a tensor's numbers while an array of NumPy looks at them, whatever is assigned to the tensor."""

    def __init__(self, tensor):
        self.tensor = tensor._share()
        self.__array_interface__ = self.tensor._array_interface()


def to_numpy(tensor):
    """A read-only view of the tensor's memory, which lives as long as the view."""
    return np.asarray(_View(tensor)).view(numpy_dtype(tensor.dtype))


def _array(tensor, dtype=None, copy=None):
    array = to_numpy(tensor)
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError(f"a tensor of {tensor.dtype} is no array of {dtype} without a copy")
        return array.astype(dtype)
    return array.copy() if copy else array


def _dlpack(tensor, *, stream=None, max_version=None, dl_device=None, copy=None):
    # Only DLPack 1.0 can say that memory is read-only; older readers get their own.
    array = to_numpy(tensor)
    if max_version is None or tuple(max_version) < (1, 0):
        return array.copy().__dlpack__(stream=stream)
    return array.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)


def asarray(data, dtype=None):
    """A tensor of numbers, nested lists of them, or an array, whose memory it shares where it can: do not
    write to that array afterwards."""
    if isinstance(data, Tensor):
        result = data
    elif isinstance(data, Item):
        result = data._constant(dtype or data._default_dtype)
    elif type(data) in (bool, int, float, complex) or _is_list(data):
        result = _core.borrow(_of_numbers(data, dtype))
    elif not hasattr(data, "__array_interface__") and hasattr(data, "__dlpack__"):
        result = from_dlpack(data)
    else:
        result = _core.borrow(np.asarray(data))
    return result if dtype is None else _core.astype(result, dtype)


def tensor(data, dtype=None):
    """Like asarray, but always with memory of its own."""
    array = asarray(data, dtype)
    return _core.borrow(to_numpy(array).copy()) if array.is_traced else array._copied()


def from_dlpack(array):
    """A tensor in the memory of another library's array."""
    return _core.borrow(np.from_dlpack(array))


def _is_list(data):
    return isinstance(data, (list, tuple))


def _of_numbers(data, dtype):
    """Python's own numbers have the default dtype of their kind, like scalars in the library."""
    array = np.asarray(data)
    if dtype is None and array.dtype == np.float64 and not _holds_arrays(data):
        return array.astype(np.float32)
    if dtype is None and array.dtype == np.complex128 and not _holds_arrays(data):
        return array.astype(np.complex64)
    return array


def _holds_arrays(data):
    while _is_list(data) and data:
        data = data[0]
    return hasattr(data, "dtype")


def _restored(array):
    return _core.borrow(array)


Tensor.numpy = to_numpy
Tensor.__reduce__ = lambda tensor: (_restored, (to_numpy(tensor).copy(),))
copyreg.pickle(type(_core.add), lambda function: function.__name__)  # our functions are known by their names
Tensor.__copy__ = Tensor._share  # of its own, as far as x[i] = y goes
Tensor.__deepcopy__ = lambda tensor, _known: tensor._share()
Tensor.__array__ = _array
Tensor.__array_ufunc__ = None  # so that an array on the left leaves operators to us
Tensor.__dlpack__ = _dlpack
Tensor.__dlpack_device__ = lambda tensor: (1, 0)  # the memory of the host
Tensor.astype = lambda tensor, dtype: _core.astype(tensor, dtype)
Tensor.reshape = lambda tensor, *shape: _core.reshape(tensor, shape[0] if len(shape) == 1 else shape)
Tensor.T = property(lambda tensor: _core.permute_dims(tensor, tuple(range(tensor.ndim))[::-1]))
Tensor.mT = property(lambda tensor: _core.matrix_transpose(tensor))
