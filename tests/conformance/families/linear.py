"""Matrix products."""

import numpy as np

from suite.cases import Sample, case

FAMILY = "linear"
SHAPES = [((1, 1), (1, 1)), ((2, 3), (3, 4)), ((5, 7), (7, 1)), ((3, 0), (0, 2)), ((0, 3), (3, 2)), ((2, 3, 4), (2, 4, 5)),
          ((2, 1, 3, 2), (2, 1, 2, 3)), ((64, 64), (64, 64)), ((33, 130), (130, 65)), ((1, 129), (129, 17))]


def product(a, b):
    """Integers wrap in their dtype, as in NumPy's matmul."""
    return np.matmul(a, b)


case("matmul", product, family=FAMILY, samples=[Sample(shapes) for shapes in SHAPES] + [Sample(((1_001, 31), (31, 1_003)), large=True)],
     tolerance="sum", scale=lambda a, b: np.matmul(a, b), large=False)


def groups_of(sizes):
    sizes = np.asarray(sizes).astype(np.int64)
    ends = np.cumsum(sizes)
    return [slice(end - size, end) for size, end in zip(sizes, ends)]


def ragged_dot(rows, matrices, sizes):
    result = np.zeros((len(rows), matrices.shape[2]), rows.dtype)
    for group, matrix in zip(groups_of(sizes), matrices):
        result[group] = np.matmul(rows[group], matrix)
    return result


def ragged_outer(a, b, sizes):
    products = [np.matmul(a[group].T, b[group]) for group in groups_of(sizes)]
    return np.array(products, a.dtype).reshape(len(sizes), a.shape[1], b.shape[1])


# Rows, columns of both, and the number of rows of each group; some rows are left over, and some groups are empty.
GROUPS = [(5, 2, 3, [2, 0, 3]), (7, 3, 1, [4, 1]), (4, 1, 2, [1]), (3, 2, 2, [0]), (0, 2, 3, [0, 0]), (6, 2, 2, []),
          (90, 17, 9, [40, 3, 0, 45])]
case("ragged_dot", ragged_dot, family=FAMILY, tolerance="sum", scale=ragged_dot, large=False, samples=[
    Sample(((rows, k), (len(sizes), k, n), np.array(sizes, np.int64))) for rows, k, n, sizes in GROUPS])
case("ragged_outer", ragged_outer, family=FAMILY, tolerance="sum", scale=ragged_outer, large=False, samples=[
    Sample(((rows, k), (rows, n), np.array(sizes, np.int32))) for rows, k, n, sizes in GROUPS])
