"""Sorting: sorts, top-k, indices of extremes, searches, unique elements."""

import numpy as np

from suite.cases import Sample, case, numbers

FAMILY = "sort"
NAN, INF = np.nan, np.inf
ROWS = np.array([[1, NAN, 2, 1], [INF, 1, -INF, NAN], [0, -1, INF, 0], [3, 3, 3, 2], [NAN, NAN, -INF, 1]])


def ordered(x, axis, descending):
    """The stable permutation that sorts, with NaN as the greatest."""
    if not descending:
        return np.argsort(x, axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)


def sort(x, axis, descending=False, values_only=False):
    places = ordered(x, axis, descending)
    values = np.take_along_axis(x, places, axis)
    return values if values_only else (values, places)


def topk(x, axis, count, largest=True):
    places = np.take(ordered(x, axis, largest), range(count), axis)
    return np.take_along_axis(x, places, axis), places


def along(*cases):
    return [Sample((shape,), attributes, large=shape[0] > 1_000) for shape, attributes in cases]


case("sort", sort, family=FAMILY, large=False, wide=False, zero_signs=False, samples=along(
    ((7,), {"axis": 0}), ((1,), {"axis": 0}), ((0,), {"axis": 0}), ((3, 5), {"axis": 0, "descending": True}),
    ((3, 5), {"axis": 1}), ((2, 0, 3), {"axis": 2}), ((2, 30, 4), {"axis": 1, "descending": True}),
    ((3, 70), {"axis": 1, "values_only": True}), ((1_000_003,), {"axis": 0})),
    specials=[Sample((ROWS,), {"axis": 1}), Sample((ROWS,), {"axis": 0, "descending": True})])
case("topk", topk, family=FAMILY, large=False, wide=False, zero_signs=False, samples=along(
    ((7,), {"axis": 0, "count": 3}), ((5,), {"axis": 0, "count": 5}), ((4,), {"axis": 0, "count": 0}),
    ((3, 5), {"axis": 0, "count": 2, "largest": False}), ((2, 30, 4), {"axis": 1, "count": 7}),
    ((1_000_003,), {"axis": 0, "count": 10})),
    specials=[Sample((ROWS,), {"axis": 1, "count": 2}), Sample((ROWS,), {"axis": 1, "count": 3, "largest": False})])
PLACES = along(((7,), {"axis": 0}), ((1,), {"axis": 0}), ((3, 5), {"axis": 0}), ((3, 5), {"axis": 1}), ((2, 0, 3), {"axis": 2}),
               ((2, 30, 4), {"axis": 1}), ((1_000_003,), {"axis": 0}))
case("argmax", lambda x, axis: np.argmax(x, axis), family=FAMILY, large=False, wide=False, samples=PLACES,
     specials=[Sample((ROWS,), {"axis": 1})])
case("argmin", lambda x, axis: np.argmin(x, axis), family=FAMILY, large=False, wide=False, samples=PLACES,
     specials=[Sample((ROWS,), {"axis": 1})])


def searched(rows, values, side="left"):
    count = int(np.prod(rows.shape[:-1], dtype=int))
    flat_rows, flat_values = rows.reshape(count, rows.shape[-1]), values.reshape(count, values.shape[-1])
    found = [np.searchsorted(row, each, side) for row, each in zip(flat_rows, flat_values)]
    return np.array(found, np.int64).reshape(values.shape)


def in_order(random, shape, dtype, operand):
    drawn = numbers(-5.0, 5.0)(random, shape, dtype, operand)
    return np.sort(drawn.astype(np.float64), -1).astype(drawn.dtype) if operand == 0 and shape else drawn


case("searchsorted", searched, family=FAMILY, large=False, wide=False, draw=in_order, samples=[
    Sample(((5,), (7,))), Sample(((9,), (4,)), {"side": "right"}), Sample(((0,), (3,))), Sample(((3,), (0,))),
    Sample(((2, 6), (2, 3))), Sample(((2, 3, 40), (2, 3, 5)), {"side": "right"})])


def unique(x, equal_nan=True):
    values, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True, equal_nan=equal_nan)
    return values, inverse, counts, first


case("unique", unique, family=FAMILY, large=False, wide=False, samples=[
    ((9,),), ((1,),), ((0,),), ((300,),), Sample(((9,),), {"equal_nan": False})],
     cannot_batch="each lane would have another size")
