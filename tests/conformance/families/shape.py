"""The same numbers in other dtypes, shapes and orders."""

import numpy as np
import plait
from plait.inside.arrays.interop import numpy_dtype

from suite.cases import Sample, case

FAMILY = "shape"
ALL_BUT_KEYS = tuple(dtype for dtype in plait.dtypes if dtype.kind != "key")


def same_dtype(dtype, attributes):
    return dtype


def moving(name, oracle, samples, **options):
    """Primitives that only move elements: any dtype, also keys."""
    samples = [Sample(operands, attributes) for operands, attributes in samples]
    case(name, oracle, family=FAMILY, samples=samples, low=-9.0, high=9.0, wide=False, result_dtype=same_dtype,
         **options)


moving("broadcast", lambda x, sizes: np.broadcast_to(x, sizes), [
    (((),), {"sizes": []}), (((),), {"sizes": [2, 3]}), (((3,),), {"sizes": [2, 3]}), (((3, 1),), {"sizes": [3, 4]}),
    (((1,),), {"sizes": [0]}), (((2, 1, 3),), {"sizes": [4, 2, 5, 3]})])
moving("reshape", lambda x, sizes: np.reshape(x, sizes), [
    (((6,),), {"sizes": [2, 3]}), (((2, 3),), {"sizes": [3, 2]}), (((1,),), {"sizes": []}), (((),), {"sizes": [1, 1]}),
    (((0, 3),), {"sizes": [5, 0]}), (((2, 3, 4),), {"sizes": [4, 6]})])
moving("permute", lambda x, axes: np.transpose(x, axes), [
    (((),), {"axes": []}), (((5,),), {"axes": [0]}), (((2, 3),), {"axes": [1, 0]}), (((2, 3, 4),), {"axes": [1, 2, 0]}),
    (((0, 3),), {"axes": [1, 0]}), (((1, 3, 1, 2),), {"axes": [3, 1, 0, 2]}), (((70, 130),), {"axes": [1, 0]})])


def slice_oracle(x, axis, start, count, step=1):
    return np.take(x, [start + i * step for i in range(count)], axis) if count else x[(slice(None),) * axis + (slice(0, 0),)]


moving("slice", slice_oracle, [
    (((7,),), {"axis": 0, "start": 2, "count": 3}), (((7,),), {"axis": 0, "start": 6, "count": 3, "step": -3}),
    (((3, 5),), {"axis": 1, "start": 0, "count": 3, "step": 2}), (((3, 5),), {"axis": 0, "start": 2, "count": 3, "step": -1}),
    (((3, 5),), {"axis": 1, "start": 0, "count": 0}), (((2, 3, 4),), {"axis": 1, "start": 1, "count": 2})])


def pad_oracle(x, axis, before, after, step=1):
    count = x.shape[axis]
    sizes = list(x.shape)
    sizes[axis] = before + (max(0, (count - 1) * step + 1) if count else 0) + after
    result = np.zeros(sizes, x.dtype)
    result[(slice(None),) * axis + (slice(before, before + count * step, step),)] = x
    return result


moving("pad", pad_oracle, [
    (((3,),), {"axis": 0, "before": 1, "after": 2}), (((3, 4),), {"axis": 1, "before": 0, "after": 1, "step": 3}),
    (((3, 4),), {"axis": 0, "before": 2, "after": 0}), (((0, 2),), {"axis": 0, "before": 1, "after": 1}),
    (((2, 0),), {"axis": 0, "before": 1, "after": 0}), (((1, 3, 2),), {"axis": 1, "before": 1, "after": 1, "step": 2}),
    (((3, 5),), {"axis": 0, "before": 0, "after": 1})],
    dtypes=ALL_BUT_KEYS)
moving("concat", lambda *parts, axis: np.concatenate(parts, axis), [
    (((3,),), {"axis": 0}), (((3,), (0,), (2,)), {"axis": 0}), (((2, 3), (2, 1)), {"axis": 1}),
    (((2, 3), (4, 3), (1, 3)), {"axis": 0}), (((0, 3), (0, 3)), {"axis": 1})])


# ---- Casts.
def cast(x, dtype):
    """NumPy's cast, but from floats to integers saturating, as in XLA: C leaves those cases undefined."""
    to = numpy_dtype(dtype)
    if x.dtype.kind == "c" and to.kind not in "cb":
        x = x.real
    from_float = x.dtype.kind == "f" or x.dtype.kind == "V"
    if to.kind in "iu" and from_float:
        limits = np.iinfo(to)
        whole = np.trunc(np.nan_to_num(x.astype(np.float64), nan=0.0))
        inside = (whole > float(limits.min) - 1) & (whole < float(limits.max) + 1) & (np.abs(whole) < 2.0**63)
        kept = np.where(inside, whole, 0)
        low = np.where(whole < 0, limits.min, limits.max)
        return np.where(inside, kept.astype(np.uint64 if limits.min == 0 else np.int64), low).astype(to)
    return x.astype(to)


NUMBERS = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-30, 300.5, -1e9, 3e19, -3e19, 0.5, 1.5, 2.5, 449.0, 65520.0, 1e300])

case("convert", cast, family=FAMILY, low=-40.0, high=40.0, dtypes=ALL_BUT_KEYS, wide=False,
     samples=[Sample(((3, 4),), {"dtype": plait.f64})] + [Sample(((20,),), {"dtype": dtype}) for dtype in ALL_BUT_KEYS] + [Sample(((0,),), {"dtype": plait.f32})],
     specials=[Sample((NUMBERS,), {"dtype": dtype}) for dtype in ALL_BUT_KEYS],
     result_dtype=lambda dtype, attributes: attributes["dtype"])


def bytes_as(x, dtype):
    return np.ascontiguousarray(x).view(numpy_dtype(dtype))


case("view_dtype", bytes_as, family=FAMILY, wide=None, large=False, result_dtype=lambda dtype, attributes: attributes["dtype"],
     samples=[Sample((shape,), {"dtype": dtype}) for shape, dtype in (
         ((0,), plait.i8), ((16,), plait.f32), ((2, 0, 16), plait.c128), ((3, 16), plait.u8), ((1, 16), plait.f16), ((5, 32), plait.i64))])
