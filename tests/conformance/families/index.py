"""Rows selected by integers: gather and scatter; slices that are replaced."""

import numpy as np

from suite.cases import Sample, case

FAMILY = "index"


def rows_of(x, places, axes, batch):
    """x with the indexed axes after the batch axes, and the indices of the rows."""
    moved = np.moveaxis(x, axes, range(batch, batch + len(axes)))
    rank = places[0].ndim
    lanes = [np.arange(x.shape[b]).reshape([-1 if k == b else 1 for k in range(rank)]) for b in range(batch)]
    return moved, (*lanes, *places)


def inside(x, places, axes):
    """A mask of the points whose index is in range, and indices counted from the beginning."""
    sizes = [x.shape[axis] for axis in axes]
    there = np.ones(places[0].shape, bool)
    for place, size in zip(places, sizes):
        there &= (place >= -size) & (place < size)
    return there, [np.where(there, np.where(place < 0, place + size, place), 0) for place, size in zip(places, sizes)]


def gather(x, *places, axes, batch=0, outside="fails", unique=False):
    there, kept = inside(x, places, axes)
    moved, index = rows_of(x, kept, axes, batch)
    rows = np.array(moved[index])
    rows[~there] = np.zeros((), x.dtype)
    return rows


def scatter(combine):
    def oracle(x, updates, *places, axes, batch=0, outside="fails", unique=False):
        there, kept = inside(x, places, axes)
        moved, index = rows_of(x, kept, axes, batch)
        result = moved.copy()
        index = np.broadcast_arrays(*index)
        for point in zip(*np.nonzero(there)) if there.ndim else ([()] if there else []):
            at = tuple(int(each[point]) for each in index)
            result[at] = combine(result[at], updates[point])
        return np.moveaxis(result, range(batch, batch + len(axes)), axes)

    return oracle


def i64(*values):
    return np.array(values, np.int64)


# Shape of x, arrays of indices, attributes.
PLACES = [
    ((5,), [i64(0, 4, -1, 2)], {"axes": [0]}), ((5,), [np.array(2, np.int64)], {"axes": [0]}),
    ((4, 3), [i64(3, 0)], {"axes": [0]}), ((4, 3), [i64([1, 2], [0, -1])], {"axes": [1]}),
    ((4, 3, 2), [i64(3, 0, 1), i64(1, 1, 0)], {"axes": [0, 2]}), ((5, 2), [np.zeros((0,), np.int64)], {"axes": [0]}),
    ((2, 4, 3), [i64([1, 0, 3], [2, 2, -4])], {"axes": [1], "batch": 1}),
    ((5, 2), [i64(7, 1, -9)], {"axes": [0], "outside": "ignored"}), ((6,), [i64(5, 1, 3).astype(np.int32)], {"axes": [0], "unique": True}),
]


def rows_shape(shape, places, axes, batch=0, **attributes):
    return places[0].shape + tuple(size for axis, size in enumerate(shape) if axis >= batch and axis not in axes)


case("gather", gather, family=FAMILY, large=False, wide=False, low=-9.0, high=9.0,
     samples=[Sample((shape, *places), attributes) for shape, places, attributes in PLACES],
     result_dtype=lambda dtype, attributes: None)
for _name, _combine, _tolerance in (
        ("scatter_set", lambda old, new: new, "exact"), ("scatter_add", np.add, "normalised"),
        ("scatter_multiply", np.multiply, "normalised"), ("scatter_minimum", np.minimum, "exact"),
        ("scatter_maximum", np.maximum, "exact")):
    case(_name, scatter(_combine), family=FAMILY, large=False, tolerance=_tolerance, wide=_tolerance != "exact",
         samples=[Sample((shape, rows_shape(shape, places, **attributes), *places), attributes)
                  for shape, places, attributes in PLACES],
         result_dtype=lambda dtype, attributes: None)

case("nonzero", lambda x: np.array(np.nonzero(x), np.int64).reshape(x.ndim, -1), family=FAMILY, large=False, wide=False,
     low=-1.4, high=1.4, samples=[((7,),), ((3, 5),), ((0, 2),), ((2, 3, 4),), ((1,),)],
     cannot_batch="each lane would have another size")


def update_slice(x, part, starts, steps):
    result = x.copy()
    ranges = [[start + i * step for i in range(count)] for start, step, count in zip(starts, steps, part.shape)]
    result[np.ix_(*ranges)] = part
    return result


case("update_slice", update_slice, family=FAMILY, large=False, wide=False, samples=[
    Sample((x, part), {"starts": starts, "steps": steps}) for x, part, starts, steps in (
        ((5,), (2,), [1], [1]), ((5,), (3,), [4], [-2]), ((4, 5), (2, 3), [1, 0], [2, 2]), ((3, 4), (0, 4), [0, 0], [1, 1]),
        ((3, 4), (3, 4), [0, 0], [1, 1]), ((2, 3, 4), (1, 3, 2), [1, 2, 0], [1, -1, 3]))])
