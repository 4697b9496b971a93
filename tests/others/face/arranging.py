"""NumPy's functions that move and reshape elements."""

import builtins

import numpy as np
import plait
from plait.inside.arrays.interop import numpy_dtype

from .ufuncs import FUNCTIONS, axis_of, common_dtype, given, named, seen_list, shape_of
from .values import Array, faced, not_here, number, tensor_of


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
