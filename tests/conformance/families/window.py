"""Sliding windows, and elements of planes selected by index."""

import itertools

import numpy as np

from suite.cases import Sample, case

FAMILY = "window"


def held(size, count, i, window, stride, dilation, padding):
    """The indices that window i covers along a dimension of `size`."""
    if window is None:
        return list(range(i * size // count, -(-(i + 1) * size // count)))
    places = [i * stride + k * dilation - padding for k in range(window)]
    return [place for place in places if 0 <= place < size]


def holdings(sizes, counts, window=(), strides=(), dilation=(), padding=()):
    """For each dimension the indices that each window covers."""
    rank = len(counts)
    window, strides = window or [None] * rank, strides or [1] * rank
    dilation, padding = dilation or [1] * rank, padding or [0] * rank
    return [[held(sizes[d], counts[d], i, window[d], strides[d], dilation[d], padding[d]) for i in range(counts[d])]
            for d in range(rank)]


def window_sum(x, counts, sizes=(), **window):
    plane = x.shape[x.ndim - len(counts):]
    for d, windows in enumerate(holdings(plane, counts, **window)):
        axis = x.ndim - len(counts) + d
        parts = [np.sum(np.take(x, places, axis), axis, dtype=x.dtype) for places in windows]
        x = np.stack(parts, axis) if parts else np.take(x, [], axis)
    return x


def window_spread(x, counts, sizes, **window):
    result = np.zeros((*x.shape[:x.ndim - len(counts)], *sizes), x.dtype)
    places = holdings(sizes, counts, **window)
    for at in itertools.product(*map(range, counts)):
        for place in itertools.product(*[places[d][i] for d, i in enumerate(at)]):
            result[(..., *place)] += x[(..., *at)]
    return result


def window_maximum(x, counts, sizes=(), **window):
    plane = x.shape[x.ndim - len(counts):]
    least = False if x.dtype == bool else np.iinfo(x.dtype).min if np.issubdtype(x.dtype, np.integer) else -np.inf
    for d, windows in enumerate(holdings(plane, counts, **window)):
        axis = x.ndim - len(counts) + d
        parts = [np.max(np.take(x, places, axis), axis, initial=least) for places in windows]
        x = np.stack(parts, axis) if parts else np.take(x, [], axis)
    return x


def window_maximum_index(x, counts, sizes=(), **window):
    plane = x.shape[x.ndim - len(counts):]
    result = np.full((*x.shape[:x.ndim - len(counts)], *counts), -1, np.int64)
    places = holdings(plane, counts, **window)
    for outer in np.ndindex(x.shape[:x.ndim - len(counts)]):
        for at in itertools.product(*map(range, counts)):
            inside = list(itertools.product(*[places[d][i] for d, i in enumerate(at)]))
            if inside:
                best = int(np.argmax(np.array([x[outer + place] for place in inside])))
                result[outer + at] = np.ravel_multi_index(inside[best], plane)
    return result


WINDOWS = [
    ((7,), {"counts": [3], "window": [3], "strides": [2], "dilation": [1], "padding": [0]}),
    ((2, 7), {"counts": [5], "window": [2], "strides": [1], "dilation": [3], "padding": [1]}),
    ((2, 5, 6), {"counts": [3, 3], "window": [3, 2], "strides": [2, 2], "dilation": [1, 1], "padding": [1, 0]}),
    ((2, 7, 5), {"counts": [3, 2]}), ((5,), {"counts": [5]}), ((3, 4), {"counts": [1]}),
    ((1, 3, 4, 4), {"counts": [2, 2, 3], "window": [2, 3, 2], "strides": [1, 1, 1], "dilation": [1, 1, 1], "padding": [0, 0, 0]}),
    ((0, 4), {"counts": [2]}),
]
case("window_sum", window_sum, family=FAMILY, large=False, tolerance="normalised", scale=window_sum,
     samples=[Sample((shape,), attributes) for shape, attributes in WINDOWS])
case("window_maximum", window_maximum, family=FAMILY, large=False, zero_signs=False,
     samples=[Sample((shape,), attributes) for shape, attributes in WINDOWS],
     specials=[Sample((np.array([[1, np.nan, 2, 3], [-np.inf, -np.inf, 0, 1]]),), {"counts": [2]})])
case("window_maximum_index", window_maximum_index, family=FAMILY, large=False, wide=False,
     samples=[Sample((shape,), attributes) for shape, attributes in WINDOWS],
     specials=[Sample((np.array([[1, np.nan, 2, 3], [-np.inf, -np.inf, 0, 1]]),), {"counts": [2]})])
case("window_spread", window_spread, family=FAMILY, large=False, tolerance="normalised", scale=window_spread,
     samples=[Sample(((*shape[:len(shape) - len(a["counts"])], *a["counts"]),), a | {"sizes": list(shape[len(shape) - len(a["counts"]):])})
              for shape, a in WINDOWS])


def flat(x, dimensions):
    return x.reshape(*x.shape[:x.ndim - dimensions], int(np.prod(x.shape[x.ndim - dimensions:], dtype=int)))


def plane_take(x, index, dimensions, sizes=()):
    places = flat(index, dimensions)
    taken = np.take_along_axis(flat(x, dimensions), np.maximum(places, 0), -1) if x.size else np.zeros(places.shape, x.dtype)
    return np.where(places < 0, np.zeros((), x.dtype), taken).reshape(index.shape)


def plane_put(x, index, dimensions, sizes):
    values, places = flat(x, dimensions), flat(index, dimensions)
    result = np.zeros((*values.shape[:-1], int(np.prod(sizes))), x.dtype)
    for at in np.ndindex(values.shape):
        if places[at] >= 0:
            result[(*at[:-1], places[at])] += values[at]
    return result.reshape(*x.shape[:x.ndim - dimensions], *sizes)


INDEX = np.array([[0, 3, -1, 2, 2], [1, 1, 0, -1, 3]], np.int64)
PLANES = np.array([[[0, 5], [-1, 4]], [[2, 2], [1, 3]]], np.int64)
case("plane_take", plane_take, family=FAMILY, large=False, wide=False, result_dtype=lambda dtype, attributes: None, samples=[
    Sample(((2, 4), INDEX), {"dimensions": 1}), Sample(((2, 2, 3), PLANES), {"dimensions": 2}),
    Sample(((4,), INDEX[0]), {"dimensions": 1})])
case("plane_put", plane_put, family=FAMILY, large=False, tolerance="normalised", result_dtype=lambda dtype, attributes: None,
     scale=lambda x, index, dimensions, sizes: plane_put(x, index.astype(np.int64) * 0 + 1, dimensions, sizes).max(initial=1) * 4,
     samples=[Sample(((2, 5), INDEX), {"dimensions": 1, "sizes": [4]}),
              Sample(((2, 2, 2), PLANES), {"dimensions": 2, "sizes": [2, 3]})])
