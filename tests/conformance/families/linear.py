"""Products of matrices."""

import numpy as np

from suite.cases import Sample, case

FAMILY = "linear"
SHAPES = [((1, 1), (1, 1)), ((2, 3), (3, 4)), ((5, 7), (7, 1)), ((3, 0), (0, 2)), ((0, 3), (3, 2)), ((2, 3, 4), (2, 4, 5)),
          ((2, 1, 3, 2), (2, 1, 2, 3)), ((64, 64), (64, 64)), ((33, 130), (130, 65)), ((1, 129), (129, 17))]


def product(a, b):
    """Whole numbers wrap in their dtype, as NumPy's matmul has it."""
    return np.matmul(a, b)


case("matmul", product, family=FAMILY, samples=[Sample(shapes) for shapes in SHAPES] + [Sample(((1_001, 31), (31, 1_003)), large=True)],
     tolerance="sum", scale=lambda a, b: np.matmul(a, b), large=False)
