"""Scans along an axis."""

import numpy as np

from suite.cases import Sample, case

FAMILY = "scan"
SHAPES = [((7,), {"axis": 0}), ((1,), {"axis": 0}), ((0,), {"axis": 0}), ((3, 5), {"axis": 0}), ((3, 5), {"axis": 1, "reverse": True}),
          ((2, 0, 3), {"axis": 2}), ((2, 3, 4), {"axis": 1, "reverse": True}), ((33, 65), {"axis": 0}), ((5, 300), {"axis": 1})]
INF, NAN = np.inf, np.nan
ROWS = np.array([[1, NAN, 2], [INF, 1, 2], [INF, -INF, 1], [-INF, -INF, 0], [NAN, INF, -INF], [2, 1, NAN]])
SPECIALS = [Sample((ROWS,), {"axis": 1}), Sample((ROWS,), {"axis": 0, "reverse": True})]


def both_ways(forward):
    """From a function of an axis: the scan, and the reversed scan."""

    def oracle(*operands, axis, reverse=False):
        if not reverse:
            return forward(*operands, axis)
        return np.flip(forward(*[np.flip(x, axis) for x in operands], axis), axis)

    return oracle


def scan(name, forward, operands=1, **options):
    samples = [Sample((shape,) * operands, attributes) for shape, attributes in SHAPES]
    large = Sample(((1_000_003,),) * operands, {"axis": 0}, large=True)
    case(name, both_ways(forward), family=FAMILY, samples=samples + ([large] if operands == 1 and "low" not in options else []),
         large=False, **{"specials": SPECIALS, "zero_signs": False} | options)


def sums(x, axis):
    return np.cumsum(x, axis, dtype=x.dtype)


def recurrence(a, b, axis):
    a, b = np.moveaxis(a, axis, 0), np.moveaxis(b, axis, 0)
    h = np.zeros_like(b)
    for k in range(len(b)):
        h[k] = b[k] if k == 0 else a[k] * h[k - 1] + b[k]
    return np.moveaxis(h, 0, axis)


scan("cumulative_sum", sums, tolerance="sum", scale=both_ways(sums))
scan("cumulative_product", lambda x, axis: np.cumprod(x, axis, dtype=x.dtype), tolerance="product", low=0.8, high=1.2)
scan("cumulative_maximum", lambda x, axis: np.maximum.accumulate(x, axis, dtype=x.dtype))
scan("cumulative_minimum", lambda x, axis: np.minimum.accumulate(x, axis, dtype=x.dtype))
scan("cumulative_logsumexp", lambda x, axis: np.logaddexp.accumulate(x, axis), tolerance="normalised", extended=True,
     scale=lambda x, axis, reverse=False: 3 + x)
scan("linear_recurrence", recurrence, 2, tolerance="normalised", low=-0.9, high=0.9, scale=both_ways(recurrence), specials=())
