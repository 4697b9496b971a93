"""Conversion between tensors and arrays of NumPy and other libraries, without a copy if the memory can be shared."""

import builtins
import functools
import math
import pickle
import sys

from plait import _core, errors
from plait._core import Tensor
from plait.inside.arrays.devices import moved, placed
from plait.inside.arrays.items import Item
from plait.inside.help.warning import warn
from plait.inside.later import Later

np = Later("numpy")


@functools.cache
def numpy_dtype(dtype):
    """NumPy's dtype; for narrow floats that of ml_dtypes."""
    if dtype.kind == "key":
        return np.dtype([("key", "<u8", (2,))])
    try:
        return np.dtype(dtype.long_name)
    except TypeError:
        import ml_dtypes  # imported only here: most programs do not need it

        return np.dtype(getattr(ml_dtypes, dtype.long_name))


class _View:
    """Keeps the numbers of a tensor alive while a NumPy array views them, even if the tensor is assigned to."""

    def __init__(self, tensor):
        self.tensor = tensor._share()
        self.__array_interface__ = self.tensor._array_interface()


def to_numpy(tensor):
    """A read-only view of the tensor's memory, which lives as long as the view."""
    return np.asarray(_View(tensor)).view(numpy_dtype(tensor.dtype))


# By class of NumPy: its name for users, and what to use instead.
_OF_CLASSES = {"RClass": ("numpy.r_: ", "use plait.concat([x, y])"), "CClass": ("numpy.c_: ", "use plait.stack([x, y], axis=1), or plait.concat of matrices"),
               "vectorize": ("numpy.vectorize: ", "use plait.vmap(f), or f itself if it is elementwise")}


def _class_of_numpy_that_asks():
    """("numpy.r_: ", a hint) if a method of such a class makes an array of its arguments, which NumPy does not pass to tensors."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "numpy":
        for cls in type(frame.f_locals.get("self")).__mro__:
            if cls.__name__ in _OF_CLASSES:
                return _OF_CLASSES[cls.__name__]
        frame = frame.f_back
    return "", "pass it to a function of plait"


def _array(tensor, dtype=None, copy=None):
    if _core._is_followed([tensor]):
        kind = f"{tensor.dtype.name}{list(tensor.shape)}"
        name, ours = _class_of_numpy_that_asks()
        raise errors.TypeError(f"{name}a NumPy array cannot be made of a tensor that is being differentiated, {kind}: this would "
                               f"interrupt the derivative\n  hint: {ours}; or, if no derivative is needed: x.numpy() or stop_gradient(x)")
    array = to_numpy(tensor)
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise errors.ValueError(f"a tensor of {tensor.dtype} cannot become an array of {dtype} without a copy")
        return array.astype(dtype)
    return array.copy() if copy else array


def asarray(obj, /, dtype=None, *, device=None, copy=None):
    """A tensor from a number, nested lists of numbers, or an array, on the given device, else on the default device. The
    memory of an array is shared if possible, unless `copy` says otherwise: do not write to that array afterwards."""
    if isinstance(obj, Tensor) or _is_list(obj) and _holds_tensors(obj):
        if _is_list(obj) and copy is False:
            raise errors.ValueError("asarray: a list cannot become a tensor without a copy")
        made = _cast(obj if isinstance(obj, Tensor) else _core.stack([asarray(each, dtype) for each in obj]), dtype, copy)
        there = made if device is None else placed(made, device)
    else:
        made = of_host(obj, dtype, copy)
        there = placed(made, device)
    if copy is False and there.device != made.device:
        raise errors.ValueError(f"asarray: what is on {made.device} cannot be on {there.device} without a copy")
    made = there
    return own(made) if copy and made is obj else made


def tensors_beside(leaves):
    """As tensors; arrays go to the device of the first tensor that is placed."""
    if all(type(leaf) is Tensor for leaf in leaves):
        return leaves
    placed_ones = (leaf for leaf in leaves if type(leaf) is Tensor and not leaf.is_traced and not _core._is_unplaced(leaf))
    device = next((leaf.device for leaf in placed_ones), None)
    return [leaf if type(leaf) is Tensor else asarray(leaf, device=device if hasattr(leaf, "__array_interface__") else None) for leaf in leaves]


def of_host(obj, dtype=None, copy=None):
    """A tensor from what holds no tensor: where the array is, else on the host."""
    if type(obj) is _core.Dim:
        is_size = dtype is None or _core.DType(dtype) == _core.i64
        return _core.add(obj, _core.zeros((), dtype=_core.i64)) if is_size else of_host(int(obj), dtype, copy)
    if isinstance(obj, Item):
        return _cast(obj._constant(dtype or obj._default_dtype), dtype, copy)
    if type(obj) in (bool, int, float, complex) or _is_list(obj):
        if copy is False:
            raise errors.ValueError("asarray: Python numbers cannot become a tensor without a copy")
        return _cast(_core.borrow(_of_numbers(obj, dtype)), dtype, copy)
    if not hasattr(obj, "__array_interface__") and hasattr(obj, "__dlpack__"):
        made = from_dlpack(obj)
    else:
        array = np.asarray(obj)
        if _is_of_objects(array):
            return of_host(array.tolist(), dtype, copy)
        made = _core.borrow(_of_numbers_only(array))
    converted = _cast(made, dtype, copy)
    return own(converted) if copy and converted is made else converted


def own(tensor):
    """Copies the memory; tensors that are recorded or differentiated never change and are returned as they are."""
    return tensor._share() if tensor.is_traced or _core._is_followed([tensor]) else tensor._copied()


def _cast(tensor, dtype, copy):
    if dtype is None or _core.DType(dtype) == tensor.dtype:
        return tensor
    if copy is False:
        raise errors.ValueError(f"asarray: {tensor.dtype} is no {_core.DType(dtype)} without a copy")
    return _core.astype(tensor, dtype)


def tensor(data, dtype=None, *, device=None):
    """Like asarray, but always with memory of its own."""
    made = asarray(data, dtype, device=device)
    return made if made.is_cuda and made is not data else own(made)


def from_dlpack(x, /, *, device=None, copy=None):
    """A tensor in the memory of another library's array, which shows later changes of the array; with `copy`, in its
    own memory.

    >>> plait.from_dlpack(np.arange(3.0))
    [0. 1. 2.] : f64[3]
    """
    given = tuple(x.__dlpack_device__()) if hasattr(x, "__dlpack_device__") else (1, 0)
    to = None if device is None else _core._device_name(device)
    asked = {} if to != "cpu" else {"dl_device": (1, 0)}
    asked |= {} if copy is None else {"copy": copy}
    asked |= {"stream": _core._stream_of(given[1])} if given[0] == 2 and to != "cpu" else {}
    try:
        capsule = x.__dlpack__(max_version=(1, 0), **asked)
    except builtins.TypeError:  # the library is older than DLPack 1.0
        capsule = x.__dlpack__()
    made = _core._from_capsule(capsule, copy is not False)
    made = made._copied() if copy else made
    return made if to is None else _core._to_device(made, to)


def _is_list(data):
    return isinstance(data, (list, tuple))


def _holds_tensors(data):
    return any(isinstance(each, Tensor) or _is_list(each) and _holds_tensors(each) for each in data)


def _of_numbers(data, dtype):
    """Python numbers get the default dtype of their kind, like scalars in the library."""
    try:
        array = np.asarray(data)
    except builtins.ValueError as error:
        raise errors.ValueError(f"asarray: {error}") from None
    _of_numbers_only(array)
    if dtype is not None and _core.DType(dtype).kind == "integer":
        array = _exact(data, array)
        _expect_fits(array, _core.DType(dtype))
        return array if array.dtype.kind != "O" else array.astype(_core.DType(dtype).long_name)
    if dtype is None and array.dtype == np.float64 and not _holds_arrays(data):
        return array.astype(np.float32)
    if dtype is None and array.dtype == np.complex128 and not _holds_arrays(data):
        return array.astype(np.complex64)
    return array


def _exact(data, array):
    """The numbers as objects if the array, of f64, has rounded integers among them."""
    if array.dtype != np.float64 or not array.size or np.abs(array).max() < 2**53:
        return array
    return np.asarray(data, object)


def _is_of_objects(array):
    """True for numbers of Python in an array of objects, such as NumPy makes of integers beside others above 2⁶³."""
    return array.dtype.kind == "O" and array.size > 0 and all(isinstance(each, (builtins.int, float)) for each in array.reshape(-1))


def _of_numbers_only(array):
    """The array; TypeError if NumPy has no dtype for its contents."""
    if array.dtype.kind not in "OUS":
        return array
    if not array.size:
        raise errors.TypeError("expected numbers, or lists and arrays of them, not an array of objects or texts\n"
                               "  hint: array.astype('float32'), or another dtype of numbers")
    first = next((each for each in array.reshape(-1) if not isinstance(each, (builtins.int, float))), array.reshape(-1)[0])
    if array.dtype.kind == "O" and all(isinstance(each, builtins.int) for each in array.reshape(-1)):
        number = next((each for each in array.reshape(-1) if not -(2**63) <= each < 2**64), first)
        raise errors.ValueError.with_hint(f"the integer {number} has more than 64 bits", f"{float(number)!r} is a number of f64")
    raise errors.TypeError(f"expected numbers, or lists and arrays of them, not {_described(first)}")


def _described(value):
    if value is None or isinstance(value, str):
        return repr(str(value) if isinstance(value, str) else value)
    return f"a {type(value).__name__}"


def _expect_fits(array, dtype):
    """ValueError if a number, without its fraction, does not fit the integer dtype."""
    if array.dtype.kind not in "iufcO" or not array.size:
        return
    limits = np.iinfo(dtype.long_name)
    for number in array.reshape(-1) if array.dtype.kind == "O" else (array.real.min(), array.real.max()):  # NaN, if there is one
        if not math.isfinite(number) or not limits.min <= int(number) <= limits.max:
            raise errors.ValueError(f"{number} does not fit into {dtype.name}, whose range is {limits.min} to {limits.max}")


def _holds_arrays(data):
    while _is_list(data) and data:
        data = data[0]
    return hasattr(data, "dtype")


def _of_bytes(dtype, shape, data, wants_gradient=False, device="cpu"):
    """The contents of a pickle: the bytes in row-major order, perhaps in a separate buffer. They are where a scope says, else where they were."""
    elements = np.frombuffer(data, np.dtype((np.void, dtype.itemsize))).reshape(shape)
    made = moved(_core._borrow_as(elements, dtype)._copied(), _core._device_scope() or _device_or_host(device))
    return made.requires_grad() if wants_gradient else made


def _device_or_host(device):
    """The device of a pickled tensor, or the CPU where the machine lacks it."""
    if device == "cpu" or int(device.rpartition(":")[2]) < _core._device_count("cuda"):
        return device
    warn(f"the machine has no {device}, where pickled tensors were: they are loaded on the cpu\n  hint: with plait.Device('cpu'): around the "
         "call that loads them")
    return "cpu"


def _wants_gradient(tensor):
    """True if requires_grad() was called for it, or for a tensor that it depends on; also under no_grad."""
    if tensor.dtype.kind not in ("floating", "complex"):
        return False
    if _core._is_followed([tensor]) or _core._is_followed([_core.zeros(()).requires_grad()]):
        return _core._is_followed([tensor])
    try:
        _core._gradient(tensor, [tensor], _core.ones_like(tensor), False, True, False, [])
    except errors.ValueError:
        return False
    return True


def _reduce(tensor, protocol):
    if tensor.is_traced:
        raise errors.TypeError("a tensor that is being recorded has no values to pickle: pickle it outside")
    elements = np.ascontiguousarray(np.asarray(_View(_core._to_device(tensor, "cpu"))))
    data = pickle.PickleBuffer(elements) if protocol >= 5 else elements.tobytes()
    device = _core._device_of(tensor)
    unusual = () if device == "cpu" and not _wants_gradient(tensor) else (_wants_gradient(tensor), device)
    return _of_bytes, (tensor.dtype, tensor.shape, data, *unusual)


def _deepcopy(tensor, memo):
    return own(tensor)


Tensor.numpy = to_numpy
Tensor.__reduce_ex__ = _reduce
Tensor.__copy__ = Tensor._share
Tensor.__deepcopy__ = _deepcopy
_core.DType.__reduce__ = lambda dtype: (_core.DType, (dtype.name,))
Tensor.__array__ = _array
