"""NumPy's functions by Plait's: NumPy's names, arguments and dtypes, Plait's numbers."""

import builtins
import functools

import numpy as np
import plait
from plait.interop import numpy_dtype

from .values import Array, any_array, faced, not_here, number, operand, plait_dtype, tensor_of

FUNCTIONS = {}


def named(*names):
    """Under these names of NumPy's."""
    def keep(function):
        for name in names or (function.__name__,):
            FUNCTIONS[name] = function
        return function

    return keep


def inexact(tensor):
    """NumPy's dtype for functions that give fractions: f64 for whole numbers."""
    if not isinstance(tensor, plait.Tensor):
        return tensor
    kind = tensor.dtype.kind
    if kind in ("boolean", "integer"):
        return plait.astype(tensor, plait.f64)
    return tensor


def common(a, b):
    """Both in the dtype that NumPy gives them together; Python's numbers give way where they can."""
    if not isinstance(a, plait.Tensor) and not isinstance(b, plait.Tensor):
        return tensor_of(a), tensor_of(b)
    if not isinstance(a, plait.Tensor) or not isinstance(b, plait.Tensor):
        weak, strong = (a, b) if isinstance(b, plait.Tensor) else (b, a)
        if isinstance(weak, (float, complex)) and strong.dtype.kind in ("integer", "boolean"):
            strong = plait.astype(strong, plait.f64)
        if isinstance(weak, int) and not isinstance(weak, bool) and strong.dtype.kind == "boolean":
            strong = plait.astype(strong, plait.i64)
        return (weak, strong) if isinstance(b, plait.Tensor) else (strong, weak)
    dtype = plait_dtype(np.result_type(numpy_dtype(a.dtype), numpy_dtype(b.dtype)))
    return plait.astype(a, dtype), plait.astype(b, dtype)


def given(out, result, exactly=False):
    """The result, written into `out` where there is one, perhaps of the same shape."""
    result = faced(result)
    if exactly and isinstance(out, Array) and out.shape != result.shape:
        raise ValueError(f"out= is of {out.shape}, not {result.shape}")
    if isinstance(out, tuple):
        out = out[0] if len(out) == 1 else not_here("several out=")
    if out is None:
        return result
    if isinstance(out, np.ndarray):
        out[...] = np.asarray(result)
        return out
    out.tensor = plait.astype(plait.broadcast_to(result.tensor, out.shape), out.tensor.dtype)
    return out


class Ufunc:
    """An elementwise function with NumPy's options."""

    def __init__(self, name, function, nin, prepare=None):
        self.__name__, self.function, self.nin, self.nargs, self.nout = name, function, nin, nin + 1, 1
        self.prepare = prepare

    def __call__(self, *operands, out=None, where=True, dtype=None, casting="same_kind", order="K", subok=True, signature=None,
                 sig=None):
        if len(operands) == self.nin + 1:
            operands, out = operands[:-1], operands[-1]
        if len(operands) != self.nin:
            raise TypeError(f"{self.__name__} takes {self.nin} operands")
        if where is not True or signature is not None or sig is not None:
            not_here("where= or signature= of a ufunc")
        tensors = [operand(each) for each in operands]
        if self.nin == 1:
            tensors = [tensor_of(operands[0])]
        elif self.nin == 2:
            tensors = list(common(*tensors))
        if dtype is not None:
            tensors = [plait.astype(tensor_of(each), plait_dtype(dtype)) for each in tensors]
        if self.prepare:
            tensors = [self.prepare(each) for each in tensors]
        return given(out, self.function(*tensors))

    def __repr__(self):
        return f"<ufunc {self.__name__!r}>"

    def __getattr__(self, name):
        if name in ("reduce", "accumulate", "outer") and self.__name__ in _REDUCTIONS:
            return functools.partial(getattr(self, "_" + name))
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *arguments, **named: not_here(f"{name} of ufunc {self.__name__}")

    def _reduce(self, x, axis=0, dtype=None, out=None, keepdims=False, **others):
        return FUNCTIONS[_REDUCTIONS[self.__name__]](x, axis=axis, out=out, keepdims=keepdims, **others)

    def _accumulate(self, x, axis=0, **others):
        if self.__name__ not in ("add", "multiply"):
            not_here(f"accumulate of {self.__name__}")
        return FUNCTIONS["cumsum" if self.__name__ == "add" else "cumprod"](x, axis=axis, **others)

    def _outer(self, a, b, **others):
        a, b = tensor_of(a), tensor_of(b)
        return self(Array(plait.reshape(a, (*a.shape, *[1] * b.ndim))), Array(b), **others)


def of_bools(plain, logical):
    """NumPy adds and multiplies bools by or and and."""
    def call(a, b):
        both = all(each.dtype == plait.boolean if isinstance(each, plait.Tensor) else isinstance(each, bool) for each in (a, b))
        return (logical if both else plain)(a, b)

    return call


_REDUCTIONS = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any"}


def ufunc(nin, prepare=None, **names):
    for theirs, ours in names.items():
        function = getattr(plait, ours) if isinstance(ours, str) else ours
        FUNCTIONS[theirs] = Ufunc(theirs, function, nin, prepare)


def alike(*names):
    return {name: name for name in names}


ufunc(1, inexact, **alike("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh",
                          "tanh", "deg2rad", "rad2deg", "sinc", "i0"),
      arcsin="asin", arccos="acos", arctan="atan", arcsinh="asinh", arccosh="acosh", arctanh="atanh", asin="asin", acos="acos",
      atan="atan", asinh="asinh", acosh="acosh", atanh="atanh", degrees="rad2deg", radians="deg2rad", reciprocal="reciprocal")
ufunc(1, **alike("absolute", "negative", "positive", "sign", "square", "floor", "ceil", "trunc", "isnan", "isinf", "isfinite",
                 "signbit", "conj", "logical_not", "bitwise_not"),
      abs="absolute", conjugate="conj", rint="round", invert="bitwise_not", bitwise_invert="bitwise_not", fabs="absolute")
ufunc(2, add=of_bools(plait.add, plait.logical_or), multiply=of_bools(plait.multiply, plait.logical_and),
      **alike("subtract", "maximum", "minimum", "remainder", "fmod", "floor_divide", "equal", "not_equal",
                 "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_xor", "bitwise_and",
                 "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "gcd", "lcm", "power"), mod="remainder",
      pow="power", bitwise_left_shift="left_shift", bitwise_right_shift="right_shift")
ufunc(2, inexact, **alike("hypot", "copysign", "nextafter", "logaddexp", "logaddexp2", "heaviside", "float_power", "divide"),
      arctan2="atan2", atan2="atan2", true_divide="divide")
ufunc(2, None, matmul="matmul", vecdot="vecdot")


def reduction(theirs, ours=None, prepare=None, takes_dtype=False):
    function = getattr(plait, ours or theirs)

    @named(theirs)
    def call(a, axis=None, dtype=None, out=None, keepdims=False, initial=np._NoValue, where=np._NoValue):
        if initial is not np._NoValue or where is not np._NoValue and where is not True:
            not_here("initial= or where= of a reduction")
        x = tensor_of(a, dtype)
        if axis == ():
            axis = []
        result = function(prepare(x) if prepare else x, axis_of(axis), bool(keepdims) if keepdims is not np._NoValue else False,
                          **({"dtype": x.dtype} if takes_dtype and dtype is not None else {}))
        return given(out, result, exactly=True)

    call.__name__ = theirs


def axis_of(axis):
    """An axis or several, as host integers."""
    if axis is None:
        return None
    if isinstance(axis, (tuple, list)):
        return [axis_of(each) for each in axis]
    if isinstance(axis, Array):
        axis = axis.item()
    return axis.__index__() if hasattr(axis, "__index__") else axis


for _name in ("max", "min", "all", "any", "nanmax", "nanmin"):
    reduction(_name)
reduction("amax", "max")
reduction("amin", "min")
for _name in ("sum", "prod"):
    reduction(_name, takes_dtype=True)
for _name in ("nansum", "nanprod"):
    reduction(_name)
reduction("mean", prepare=inexact)
reduction("nanmean", prepare=inexact)


def spread(name):
    function = getattr(plait, name)

    @named(name)
    def call(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=np._NoValue, mean=np._NoValue,
             correction=np._NoValue):
        if where is not np._NoValue or mean is not np._NoValue:
            not_here("where= or mean= of a reduction")
        ddof = ddof if correction is np._NoValue else correction
        return given(out, function(inexact(tensor_of(a, dtype)), axis_of(axis), ddof, bool(keepdims)))


for _name in ("std", "var", "nanstd", "nanvar"):
    spread(_name)


def one_axis(theirs, ours=None, prepare=None):
    """Of one axis, or of all elements where there is none."""
    function = getattr(plait, ours or theirs)

    @named(theirs)
    def call(a, axis=None, out=None, *, keepdims=False):
        x = tensor_of(a)
        return given(out, function(prepare(x) if prepare else x, axis_of(axis), bool(keepdims)), exactly=True)


for _name in ("argmax", "argmin"):
    one_axis(_name)


def middle(name):
    function = getattr(plait, name)

    @named(name)
    def call(a, axis=None, out=None, overwrite_input=False, keepdims=False):
        if isinstance(axis, (tuple, list)):
            not_here("median of several axes")
        return given(out, function(inexact(tensor_of(a)), axis_of(axis), bool(keepdims)))


for _name in ("median", "nanmedian"):
    middle(_name)


def quantiles(name, ours, scale):
    function = getattr(plait, ours)

    @named(name)
    def call(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None,
             interpolation=None):
        if method != "linear" or weights is not None or isinstance(axis, (tuple, list)):
            not_here("quantiles of other methods, weights or several axes")
        q = inexact(tensor_of(q))
        return given(out, function(inexact(tensor_of(a)), q / scale if scale != 1 else q, axis_of(axis), bool(keepdims)))


for _name, _ours, _scale in (("quantile", "quantile", 1), ("nanquantile", "nanquantile", 1), ("percentile", "quantile", 100),
                             ("nanpercentile", "nanquantile", 100)):
    quantiles(_name, _ours, _scale)


def running(theirs):
    function = getattr(plait, theirs)

    @named(theirs)
    def call(a, axis=None, dtype=None, out=None):
        x = tensor_of(a, dtype)
        if axis is None:
            x, axis = plait.flatten(x), 0
        return given(out, function(x, axis_of(axis)))


for _name in ("cumsum", "cumprod"):
    running(_name)


@named()
def count_nonzero(a, axis=None, *, keepdims=False):
    return faced(plait.count_nonzero(tensor_of(a), axis_of(axis), keepdims))


@named()
def ptp(a, axis=None, out=None, keepdims=False):
    x = tensor_of(a)
    return given(out, plait.max(x, axis_of(axis), bool(keepdims)) - plait.min(x, axis_of(axis), bool(keepdims)))


@named("array")
def array(object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0, like=None):
    x = tensor_of(object, dtype)
    while x.ndim < ndmin:
        x = plait.expand_dims(x, 0)
    return Array(x._share())


@named("asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "asarray_chkfinite")
def asarray(a, dtype=None, order=None, *, device=None, copy=None, like=None):
    return a if isinstance(a, Array) and dtype is None else Array(tensor_of(a, dtype))


@named("copy")
def copy_of(a, order="K", subok=False):
    return Array(tensor_of(a)._share())


def shape_of(shape):
    return tuple(map(number, shape)) if isinstance(shape, (tuple, list)) else shape if not isinstance(shape, Array) else shape.tolist()


@named("zeros", "empty")
def zeros(shape, dtype=float, order="C", *, device=None, like=None):
    return Array(plait.zeros(shape_of(shape), plait_dtype(dtype or float)))


@named()
def ones(shape, dtype=None, order="C", *, device=None, like=None):
    return Array(plait.ones(shape_of(shape), plait_dtype(dtype or float)))


@named()
def full(shape, fill_value, dtype=None, order="C", *, device=None, like=None):
    value = tensor_of(fill_value, dtype)
    return Array(plait.broadcast_to(value, shape_of(shape)) if value.ndim else plait.full(shape_of(shape), value, value.dtype))


def like(name):
    function = getattr(plait, name)

    @named(name)
    def call(a, dtype=None, order="K", subok=True, shape=None, *, device=None):
        x = tensor_of(a)
        if shape is not None:
            return Array(getattr(plait, name.removesuffix("_like"))(shape_of(shape), plait_dtype(dtype) if dtype else x.dtype))
        return Array(function(x, plait_dtype(dtype) if dtype else None))


for _name in ("zeros_like", "ones_like", "empty_like"):
    like(_name)


@named()
def full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None, *, device=None):
    x = tensor_of(a)
    return full(x.shape if shape is None else shape, fill_value, dtype or numpy_dtype(x.dtype))


@named()
def arange(*arguments, dtype=None, device=None, like=None, start=None, stop=None, step=None):
    arguments = list(map(number, arguments))
    if len(arguments) > 3:
        dtype = arguments.pop()
    if start is not None or stop is not None or step is not None:
        bounds = [start if start is not None else 0, stop, step if step is not None else 1]
        bounds = arguments + bounds[len(arguments):] if stop is None or len(arguments) == 0 else [*arguments, stop, bounds[2]]
        arguments = bounds
    if dtype is None:
        dtype = np.result_type(*[np.asarray(seen) for seen in map(np.asarray, arguments)])
    if len(arguments) == 1:
        arguments = [0, *arguments]
    return Array(plait.arange(*[each.item() if isinstance(each, np.generic) else each for each in arguments], dtype=plait_dtype(dtype)))


@named()
def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    if retstep or axis:
        not_here("retstep= or axis= of linspace")
    a, b = inexact(tensor_of(start)), inexact(tensor_of(stop))
    if a.ndim or b.ndim:
        not_here("linspace between arrays")
    found = plait_dtype(dtype) if dtype else plait.promote(plait.promote(a.dtype, b.dtype), plait.f64)
    return Array(plait.linspace(a, b, num, dtype=found, endpoint=bool(endpoint)))


@named()
def eye(N, M=None, k=0, dtype=float, order="C", *, device=None, like=None):
    return Array(plait.eye(number(N), number(M), number(k), plait_dtype(dtype)))


@named()
def identity(n, dtype=None, *, like=None):
    return Array(plait.eye(n, dtype=plait_dtype(dtype or float)))


@named()
def tri(N, M=None, k=0, dtype=float, *, like=None):
    return Array(plait.tri(N, N if M is None else M, k, plait_dtype(dtype)))


for _name in ("tril", "triu"):
    FUNCTIONS[_name] = lambda m, k=0, _of=getattr(plait, _name): Array(_of(tensor_of(m), k))


@named()
def tril_indices(n, k=0, m=None):
    return tuple(faced(plait.tril_indices(n, n if m is None else m, k)))


@named()
def triu_indices(n, k=0, m=None):
    return tuple(faced(plait.triu_indices(n, n if m is None else m, k)))


@named()
def diag(v, k=0):
    return Array(plait.diag(tensor_of(v), k))


@named()
def diagonal(a, offset=0, axis1=0, axis2=1):
    x = plait.moveaxis(tensor_of(a), [axis1, axis2], [-2, -1])
    return Array(plait.diagonal(x, offset))


@named()
def trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    x = plait.moveaxis(tensor_of(a), [axis1, axis2], [-2, -1])
    return given(out, plait.linalg.trace(x, offset, plait_dtype(dtype) if dtype else None))


@named()
def vander(x, N=None, increasing=False):
    return Array(plait.linalg.vander(tensor_of(x), N, increasing))


@named()
def reshape(a, /, shape=None, order="C", *, newshape=None, copy=None):
    shape = newshape if shape is None else shape
    if order not in ("C", "A", None):
        not_here("order of elements other than C")
    return Array(plait.reshape(tensor_of(a), shape_of(shape) if isinstance(shape, (tuple, list)) else number(shape)))


@named()
def ravel(a, order="C"):
    if order in ("F",):
        return Array(plait.flatten(tensor_of(a).T))
    return Array(plait.flatten(tensor_of(a)))


@named()
def transpose(a, axes=None):
    return Array(plait.transpose(tensor_of(a), axis_of(axes)))


FUNCTIONS["permute_dims"] = transpose


@named()
def matrix_transpose(x):
    return Array(plait.matrix_transpose(tensor_of(x)))


@named()
def swapaxes(a, axis1, axis2):
    return Array(plait.swapaxes(tensor_of(a), axis1, axis2))


@named()
def moveaxis(a, source, destination):
    return Array(plait.moveaxis(tensor_of(a), axis_of(source), axis_of(destination)))


@named()
def rollaxis(a, axis, start=0):
    return Array(plait.moveaxis(tensor_of(a), axis, start - 1 if start > axis else start))


@named()
def expand_dims(a, axis):
    x = tensor_of(a)
    axes = [axis] if not isinstance(axis, (tuple, list)) else list(axis)
    rank = x.ndim + len(axes)
    if builtins.any(not -rank <= each < rank for each in axes):
        raise np.exceptions.AxisError("outside")
    axes = [each % rank for each in axes]
    if len(set(axes)) != len(axes):
        raise ValueError("repeated axis")
    for each in sorted(axes):
        x = plait.expand_dims(x, each)
    return Array(x)


@named()
def squeeze(a, axis=None):
    x = tensor_of(a)
    if axis is None:
        axis = [i for i, size in enumerate(x.shape) if size == 1]
    return Array(plait.squeeze(x, axis_of(axis)))


@named()
def broadcast_to(array, shape, subok=False):
    return Array(plait.broadcast_to(tensor_of(array), shape_of(shape)))


@named()
def broadcast_arrays(*args, subok=False):
    return tuple(faced(plait.broadcast_arrays(*map(tensor_of, args))))


@named()
def broadcast_shapes(*shapes):
    return plait.broadcast_shapes(*[(each,) if isinstance(each, int) else each for each in shapes])


def common_dtype(tensors, dtype=None):
    tensors = [tensor_of(each) for each in tensors]
    found = plait_dtype(np.result_type(*[numpy_dtype(each.dtype) for each in tensors])) if dtype is None else plait_dtype(dtype)
    return [plait.astype(each, found) for each in tensors]


def stacking(name, ours=None):
    function = getattr(plait, ours or name)

    @named(name)
    def call(tup, *, dtype=None, casting="same_kind"):
        if not isinstance(tup, (tuple, list, Array, np.ndarray)):
            raise TypeError("arrays to stack must be passed as a sequence")
        check_casting(tup, None, dtype, casting)
        return Array(function(common_dtype(list(tup), dtype)))


for _name in ("hstack", "vstack", "dstack", "column_stack"):
    stacking(_name)
FUNCTIONS["row_stack"] = FUNCTIONS["vstack"]


def check_casting(arrays, out, dtype, casting):
    if out is not None and dtype is not None:
        raise TypeError("only one of out and dtype")
    for each in arrays if dtype is not None or out is not None else ():
        given_dtype = numpy_dtype(tensor_of(each).dtype)
        if not np.can_cast(given_dtype, out.dtype if dtype is None else dtype, casting):
            raise TypeError("Cannot cast")


@named("concatenate", "concat")
def concatenate(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    check_casting(arrays, out, dtype, casting)
    tensors = common_dtype(list(arrays), dtype)
    if axis is None:
        tensors, axis = [plait.flatten(each) for each in tensors], 0
    return given(out, plait.concat(tensors, axis_of(axis)), exactly=True)


@named()
def stack(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    if not isinstance(arrays, (tuple, list, Array, np.ndarray)):
        raise TypeError("arrays to stack must be passed as a sequence")
    check_casting(arrays, out, dtype, casting)
    return given(out, plait.stack(common_dtype(list(arrays), dtype), axis_of(axis)))


@named()
def unstack(x, axis=0):
    return faced(plait.unstack(tensor_of(x), axis))


@named()
def append(arr, values, axis=None):
    if axis is None:
        arr, values, axis = ravel(arr), ravel(values), 0
    return concatenate((arr, values), axis)


@named()
def array_split(ary, indices_or_sections, axis=0):
    x, parts = tensor_of(ary), seen_list(indices_or_sections)
    if not isinstance(parts, list):
        ends = np.cumsum([len(each) for each in np.array_split(np.zeros(x.shape[axis]), parts)]).tolist()
        parts = ends[:-1]
    return faced(list(plait.split_at(x, parts, axis)))


@named()
def split(ary, indices_or_sections, axis=0):
    x = tensor_of(ary)
    parts = seen_list(indices_or_sections)
    if isinstance(parts, list):
        return faced(list(plait.split_at(x, parts, axis)))
    return faced(list(plait.split(x, parts, axis)))


def seen_list(value):
    if isinstance(value, (Array, np.ndarray)):
        value = value.tolist()
    return list(value) if isinstance(value, (tuple, list)) else value


for _name, _axis in (("vsplit", 0), ("dsplit", 2)):
    FUNCTIONS[_name] = lambda ary, parts, _axis=_axis: split(ary, parts, _axis)


@named()
def hsplit(ary, parts):
    return split(ary, parts, 0 if tensor_of(ary).ndim == 1 else 1)


@named()
def tile(A, reps):
    return Array(plait.tile(tensor_of(A), axis_of(seen_list(reps))))


@named()
def repeat(a, repeats, axis=None):
    repeats = number(repeats)
    return Array(plait.repeat(tensor_of(a), repeats if isinstance(repeats, int) else tensor_of(repeats), axis_of(axis)))


@named()
def flip(m, axis=None):
    return Array(plait.flip(tensor_of(m), axis_of(axis)))


FUNCTIONS["fliplr"] = lambda m: Array(plait.flip(tensor_of(m), 1))
FUNCTIONS["flipud"] = lambda m: Array(plait.flip(tensor_of(m), 0))


@named()
def rot90(m, k=1, axes=(0, 1)):
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    return Array(plait.rot90(tensor_of(m), k, *axes))


@named()
def roll(a, shift, axis=None):
    return Array(plait.roll(tensor_of(a), axis_of(shift), axis_of(axis)))


@named()
def pad(array, pad_width, mode="constant", **options):
    x = tensor_of(array)
    if mode not in ("constant", "edge", "reflect", "wrap") or set(options) - {"constant_values"}:
        not_here(f"pad of mode {mode if isinstance(mode, str) else 'callable'} or options {', '.join(sorted(options))}")
    widths = np.broadcast_to(np.asarray(pad_width), (x.ndim, 2)).tolist()
    value = options.get("constant_values", 0)
    if np.ndim(value):
        not_here("pad with several values")
    if mode == "constant":
        return Array(plait.pad(x, [tuple(each) for each in widths], value=number(value)))
    return Array(plait.pad(x, [tuple(each) for each in widths], mode))


@named()
def where(condition, x=None, y=None):
    condition = tensor_of(condition)
    condition = condition if condition.dtype == plait.boolean else condition != 0
    if x is None and y is None:
        return faced(plait.nonzero(condition))
    if x is None or y is None:
        raise ValueError("either both or neither of x and y should be given")
    return Array(plait.where(condition, *common(operand(x), operand(y))))


@named()
def clip(a, a_min=None, a_max=None, out=None, *, min=None, max=None, **options):
    if options:
        not_here("options of clip: " + ", ".join(sorted(options)))
    low, high = (min if a_min is None else a_min), (max if a_max is None else a_max)
    x = operand(a)
    low, high = (None if each is None else operand(each) for each in (low, high))
    for bound in (low, high):
        if bound is not None:
            x = common(x, bound)[0]
    return given(out, plait.clip(tensor_of(x), low, high))


@named()
def nonzero(a):
    return faced(plait.nonzero(tensor_of(a)))


@named()
def flatnonzero(a):
    return faced(plait.nonzero(plait.flatten(tensor_of(a)))[0])


@named()
def argwhere(a):
    return faced(plait.argwhere(tensor_of(a)))


@named()
def extract(condition, arr):
    return Array(plait.flatten(tensor_of(arr))[plait.flatten(tensor_of(condition)) != 0])


@named()
def compress(condition, a, axis=None, out=None):
    x, keep = tensor_of(a), tensor_of(condition)
    if axis is None:
        x, axis = plait.flatten(x), 0
    return given(out, plait.take(x, plait.nonzero(keep)[0], axis))


@named()
def take(a, indices, axis=None, out=None, mode="raise"):
    if mode != "raise":
        not_here("take beyond the end (mode=)")
    return given(out, plait.take(tensor_of(a), tensor_of(indices), axis_of(axis)))


@named()
def take_along_axis(arr, indices, axis=-1):
    x, places = tensor_of(arr), tensor_of(indices)
    if axis is None:
        x, axis = plait.flatten(x), 0
    return Array(plait.take_along_axis(x, places, axis))


@named()
def put_along_axis(arr, indices, values, axis):
    arr.tensor = plait.put_along_axis(arr.tensor, tensor_of(indices), plait.astype(tensor_of(values), arr.tensor.dtype), axis)


@named("sort")
def sort_of(a, axis=-1, kind=None, order=None, *, stable=None):
    x = tensor_of(a)
    if axis is None:
        x, axis = plait.flatten(x), 0
    return Array(plait.sort(x, axis))


@named()
def argsort(a, axis=-1, kind=None, order=None, *, stable=None):
    x = tensor_of(a)
    if axis is None:
        x, axis = plait.flatten(x), 0
    return Array(plait.argsort(x, axis))


def one_place(name):
    function = getattr(plait, name)

    @named(name)
    def call(a, kth, axis=-1, kind="introselect", order=None):
        if not isinstance(kth, int):
            not_here("partition at several places")
        x = tensor_of(a)
        if axis is None:
            x, axis = plait.flatten(x), 0
        return Array(function(x, kth, axis))


for _name in ("partition", "argpartition"):
    one_place(_name)


@named()
def searchsorted(a, v, side="left", sorter=None):
    a, v = common(tensor_of(a), tensor_of(v))
    return Array(plait.searchsorted(a, v, side, None if sorter is None else tensor_of(sorter)))


@named()
def diff(a, n=1, axis=-1, prepend=np._NoValue, append=np._NoValue):
    x = tensor_of(a)

    def beside(value):
        if value is np._NoValue:
            return None
        value = tensor_of(value, numpy_dtype(x.dtype))
        if value.ndim == 0:
            shape = list(x.shape)
            shape[axis] = 1
            value = plait.broadcast_to(value, shape)
        return value

    return Array(plait.diff(x, n, axis, beside(prepend), beside(append)))


@named("trapezoid")
def trapezoid(y, x=None, dx=1.0, axis=-1):
    return Array(plait.trapezoid(inexact(tensor_of(y)), None if x is None else inexact(tensor_of(x)), dx, axis))


@named()
def interp(x, xp, fp, left=None, right=None, period=None):
    if left is not None or right is not None or period is not None:
        not_here("interp with values beyond the ends")
    return Array(plait.interp(*(inexact(tensor_of(each)) for each in (x, xp, fp))))


@named()
def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True, sorted=True):
    found = plait.unique(tensor_of(ar), axis_of(axis), equal_nan)
    if return_index:
        not_here("places of first occurrence in unique")
    results = [found.values]
    if return_inverse:
        results.append(found.inverse)
    if return_counts:
        results.append(found.counts)
    return Array(results[0]) if len(results) == 1 else tuple(faced(results))


for _name in ("unique_values", "unique_counts", "unique_inverse", "unique_all"):
    FUNCTIONS[_name] = lambda x, _of=getattr(plait, _name): faced(_of(tensor_of(x)))


@named()
def isin(element, test_elements, assume_unique=False, invert=False, *, kind=None):
    if kind not in (None, "sort", "table"):
        raise ValueError("kind")
    return Array(plait.isin(*common(tensor_of(element), tensor_of(test_elements)), invert))


@named()
def bincount(x, /, weights=None, minlength=0):
    x = tensor_of(x)
    if minlength < 0:
        raise ValueError("'minlength' must not be negative")
    if x.size == 0:
        x = plait.astype(x, plait.i64)
    length = builtins.max(minlength, int(plait.max(x).item()) + 1 if x.size else 0)
    return Array(plait.bincount(x, length, None if weights is None else inexact(tensor_of(weights))))


@named()
def dot(a, b, out=None):
    return given(out, plait.dot(*common(tensor_of(a), tensor_of(b))), exactly=True)


@named()
def inner(a, b, /):
    return Array(plait.inner(*common(tensor_of(a), tensor_of(b))))


@named()
def outer(a, b, out=None):
    return given(out, plait.outer(*(plait.flatten(each) for each in common(tensor_of(a), tensor_of(b)))))


@named()
def vdot(a, b, /):
    a, b = (plait.flatten(each) for each in common(tensor_of(a), tensor_of(b)))
    return Array(plait.vecdot(a, b))


@named()
def tensordot(a, b, axes=2):
    axes = axes if isinstance(axes, int) else tuple(axis_of(seen_list(each)) for each in axes)
    return Array(plait.tensordot(*common(tensor_of(a), tensor_of(b)), axes))


@named()
def kron(a, b):
    return Array(plait.linalg.kron(*common(tensor_of(a), tensor_of(b))))


@named()
def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = common(tensor_of(a), tensor_of(b))
    a, b = plait.moveaxis(a, axisa, -1), plait.moveaxis(b, axisb, -1)
    if a.shape[-1] == 2 or b.shape[-1] == 2:
        not_here("cross product of vectors of two")
    return Array(plait.moveaxis(plait.linalg.cross(a, b), -1, axisc))


@named()
def einsum(*operands, out=None, optimize=False, dtype=None, **options):
    if set(options) - {"order", "casting"}:
        raise TypeError("einsum: unknown option")
    if not isinstance(operands[0], str):
        not_here("einsum by lists of numbers")
    tensors = common_dtype(operands[1:], dtype)
    return given(out, plait.einsum(operands[0], *tensors))


@named()
def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    if sparse:
        not_here("sparse meshgrid")
    return tuple(faced(plait.meshgrid(*map(tensor_of, xi), indexing=indexing)))


for _name in ("atleast_1d", "atleast_2d", "atleast_3d"):
    def _atleast(*arys, _of=getattr(plait, _name)):
        found = [Array(_of(tensor_of(each))) for each in arys]
        return found[0] if len(found) == 1 else tuple(found)

    FUNCTIONS[_name] = _atleast


@named()
def real(val):
    return asarray(val).real


@named()
def imag(val):
    return asarray(val).imag


@named()
def angle(z, deg=False):
    result = plait.angle(inexact(tensor_of(z)))
    return Array(plait.rad2deg(result) if deg else result)


@named("round", "around", "round_")
def round_of(a, decimals=0, out=None):
    x = tensor_of(a)
    if decimals == 0:
        return given(out, plait.round(x) if x.dtype.kind != "boolean" else x)
    not_here("round to decimals")


@named()
def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    return Array(plait.nan_to_num(tensor_of(x), nan=nan, positive_infinity=posinf, negative_infinity=neginf))


@named()
def allclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    return bool(plait.allclose(*common(tensor_of(a), tensor_of(b)), relative=rtol, absolute=atol, equal_nan=equal_nan))


@named()
def isclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    if not all(isinstance(each, (int, float)) for each in (rtol, atol)):
        not_here("isclose within tensors")
    return Array(plait.isclose(*map(tensor_of, common(operand(a), operand(b))), relative=rtol, absolute=atol, equal_nan=equal_nan))


@named()
def array_equal(a1, a2, equal_nan=False):
    try:
        a, b = common(tensor_of(a1), tensor_of(a2))
    except ValueError:
        return False
    if equal_nan and a.shape == b.shape:
        return bool(plait.all((a == b) | ((a != a) & (b != b))))
    return bool(plait.array_equal(a, b))


@named()
def unravel_index(indices, shape, order="C"):
    if order != "C":
        not_here("order of elements other than C")
    return tuple(faced(plait.unravel_index(tensor_of(indices), shape)))


@named()
def modf(x, *rest, **options):
    if rest or options:
        not_here("several out=")
    x = inexact(tensor_of(x))
    return Array(plait.frac(x)), Array(plait.trunc(x))


@named()
def frexp(x, *rest, **options):
    if rest or options:
        not_here("several out=")
    found = plait.frexp(inexact(tensor_of(x)))
    return Array(found[0]), Array(found[1])


@named()
def ldexp(x, exponent, out=None, **options):
    if options:
        not_here("where= or signature= of a ufunc")
    return given(out, plait.ldexp(inexact(tensor_of(x)), tensor_of(exponent)))


@named()
def divmod(a, b):
    a, b = common(operand(a), operand(b))
    return Array(plait.floor_divide(a, b)), Array(plait.remainder(a, b))


@named()
def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    if y is not None or not rowvar or fweights is not None or aweights is not None:
        not_here("cov of two arrays, columns or weights")
    return Array(plait.cov(inexact(tensor_of(m, dtype)), float(ddof if ddof is not None else 0 if bias else 1)))


@named()
def corrcoef(x, y=None, rowvar=True, bias=np._NoValue, ddof=np._NoValue, *, dtype=None):
    if y is not None or not rowvar or bias is not np._NoValue or ddof is not np._NoValue:
        not_here("corrcoef of two arrays or columns")
    return Array(plait.corrcoef(inexact(tensor_of(x, dtype))))


FUNCTIONS["shape"] = lambda a: a.shape if isinstance(a, Array) else np.shape(a) if not any_array(a) else tensor_of(a).shape
FUNCTIONS["ndim"] = lambda a: len(FUNCTIONS["shape"](a))
FUNCTIONS["size"] = lambda a, axis=None: (int(np.prod(FUNCTIONS["shape"](a))) if axis is None else FUNCTIONS["shape"](a)[axis])
FUNCTIONS["iscomplexobj"] = lambda x: asarray(x).dtype.kind == "c"
FUNCTIONS["isrealobj"] = lambda x: asarray(x).dtype.kind != "c"
FUNCTIONS["result_type"] = lambda *given: np.result_type(*[each.dtype if isinstance(each, Array) else each for each in given])
FUNCTIONS["copyto"] = lambda dst, src, casting="same_kind", where=True: dst.__setitem__(
    ... if where is True else tensor_of(where), src)


def put_methods():
    """Operators and methods of Array by the functions."""
    operators = {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
                 "mod": "remainder", "pow": "power", "lshift": "left_shift", "rshift": "right_shift", "and": "bitwise_and",
                 "or": "bitwise_or", "xor": "bitwise_xor", "matmul": "matmul", "divmod": "divmod"}
    for short, name in operators.items():
        of = FUNCTIONS[name]
        setattr(Array, f"__{short}__", lambda a, b, _of=of: _of(a, b) if takes(b) else NotImplemented)
        setattr(Array, f"__r{short}__", lambda a, b, _of=of: _of(b, a) if takes(b) else NotImplemented)
        if short != "divmod":
            setattr(Array, f"__i{short}__", lambda a, b, _of=of: in_place(a, _of(a, b)))
    for short, name in {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater",
                        "ge": "greater_equal"}.items():
        setattr(Array, f"__{short}__", lambda a, b, _of=FUNCTIONS[name]: _of(a, b) if takes(b) else NotImplemented)
    for short, name in {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}.items():
        setattr(Array, f"__{short}__", lambda a, _of=FUNCTIONS[name]: _of(a))
    for name in ("sum", "prod", "max", "min", "mean", "std", "var", "all", "any", "argmax", "argmin", "cumsum", "cumprod", "ravel",
                 "squeeze", "swapaxes", "repeat", "take", "clip", "round", "dot", "trace", "diagonal", "nonzero", "argsort", "conj",
                 "conjugate", "ptp", "searchsorted", "compress", "choose", "put"):
        of = FUNCTIONS.get(name) or (lambda *given, _name=name, **options: not_here(f"function {_name}"))
        setattr(Array, name, lambda a, *rest, _of=of, **options: _of(a, *rest, **options))
    Array.compress = lambda a, condition, axis=None, out=None: compress(condition, a, axis, out)
    Array.flatten = Array.ravel
    Array.reshape = lambda a, *shape, **options: reshape(a, shape[0] if len(shape) == 1 else shape, **options)
    Array.transpose = lambda a, *axes: transpose(a, None if not axes else axes[0] if len(axes) == 1 else axes)

    def sort(a, axis=-1, kind=None, order=None, *, stable=None):
        a.tensor = sort_of(a, axis).tensor

    def partition(a, kth, axis=-1, kind="introselect", order=None):
        a.tensor = FUNCTIONS["partition"](a, kth, axis).tensor

    Array.sort, Array.partition = sort, partition
    Array.argpartition = FUNCTIONS["argpartition"]


def takes(value):
    return isinstance(value, (Array, plait.Tensor, np.ndarray, np.generic, list, tuple, bool, int, float, complex))


def of_ufunc(self, ufunc, method, *operands, **options):
    """What NumPy's own ufuncs do with Arrays."""
    if method != "__call__" or ufunc.__name__ not in FUNCTIONS:
        not_here(f"ufunc {ufunc.__name__} {method}")
    return FUNCTIONS[ufunc.__name__](*operands, **options)


Array.__array_ufunc__ = of_ufunc


def in_place(a, result):
    """NumPy writes into the array: its shape and dtype stay."""
    if result.shape != a.shape:
        raise ValueError("non-broadcastable output operand")
    if not np.can_cast(result.dtype, a.dtype, "same_kind"):
        raise TypeError("Cannot cast output")
    a.tensor = plait.astype(result.tensor, a.tensor.dtype)
    return a


def drawn(value):
    """Of numpy.random: its functions, giving Arrays."""
    if isinstance(value, np.ndarray):
        return Array(tensor_of(value))
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        return Draws(value)
    return value


class Draws:
    """numpy.random, or a source of numbers in it."""

    def __init__(self, source):
        self._source = source

    def __getattr__(self, name):
        found = getattr(self._source, name)
        return (lambda *given, **options: drawn(found(*given, **options))) if callable(found) else found


put_methods()
