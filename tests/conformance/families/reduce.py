"""Reductions along axes."""

import numpy as np

from suite.cases import Sample, case

FAMILY = "reduce"
SAMPLES = [Sample((shape,), {"axes": axes}) for shape, axes in (
    ((), []), ((7,), [0]), ((1,), [0]), ((0,), [0]), ((0, 3), [1]), ((3, 5), []), ((3, 5), [0]), ((3, 5), [1]),
    ((3, 5), [0, 1]), ((2, 3, 4), [1]), ((2, 3, 4), [0, 2]), ((33, 65), [0]), ((33, 65), [1]), ((4, 1, 3), [1]))]
# The maximum of an empty set does not exist.
FILLED = [sample for sample in SAMPLES if all(sample.operands[0][axis] for axis in sample.attributes["axes"])]


INF, NAN = np.inf, np.nan
ROWS = np.array([[1, NAN, 2], [NAN, NAN, NAN], [INF, 1, 2], [INF, -INF, 1], [-INF, -INF, 0], [0.0, -0.0, -0.0],
                 [-0.0, -0.0, -0.0], [INF, 0, 1], [NAN, INF, -INF], [1e-45, 1e-45, 0]])
SPECIALS = [Sample((ROWS,), {"axes": [1]}), Sample((ROWS.T.copy(),), {"axes": [0]}), Sample((ROWS,), {"axes": [0, 1]})]


def reduction(name, function, samples=SAMPLES, **options):
    def oracle(x, axes):
        return function(x, axis=tuple(axes))

    case(name, oracle, family=FAMILY, samples=samples, large=False, specials=SPECIALS, **options)


def of_dtype(function):
    """Integers keep their dtype, and wrap."""
    return lambda x, axis: function(x, axis=axis, dtype=x.dtype)


def magnitudes(x, axes):
    return np.sum(x, axis=tuple(axes))


# One large sample each: its shape is not among the samples.
LARGE = [Sample(((1_000_003,),), {"axes": [0]}, large=True), Sample(((1_001, 1_003),), {"axes": [1]}, large=True)]

reduction("reduce_sum", of_dtype(np.sum), [*SAMPLES, LARGE[1]], tolerance="sum", scale=magnitudes)
reduction("reduce_squares", lambda x, axis: np.sum(np.square(x), axis=axis, dtype=x.dtype), [*SAMPLES, LARGE[1]],
          tolerance="sum of rounded", scale=lambda x, axes: magnitudes(np.square(x), axes))
reduction("reduce_product", of_dtype(np.prod), tolerance="product", low=0.6, high=1.5)
reduction("reduce_maximum", np.max, [*FILLED, LARGE[0]], zero_signs=False)
reduction("reduce_minimum", np.min, [*FILLED, LARGE[0]], zero_signs=False)
reduction("reduce_all", np.all)
reduction("reduce_any", np.any)
