"""NumPy's sums, statistics and cumulative sums."""

import numpy as np
import plait

from .ufuncs import axis_of, given, inexact, named
from .values import faced, not_here, tensor_of


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
        if correction is not np._NoValue and ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = ddof if correction is np._NoValue else correction
        return given(out, function(inexact(tensor_of(a, dtype)), axis_of(axis), ddof, bool(keepdims)))


for _name in ("std", "var", "nanstd", "nanvar"):
    spread(_name)


def one_axis(theirs, ours=None, prepare=None):
    """A reduction along one axis, or of all elements without an axis."""
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
