"""Functions of arrays as users call them, compared with NumPy, SciPy and PyTorch: each with its arguments by
position and by name. Dtypes and shapes are covered by tests/conformance."""

import itertools
import unittest

import numpy as np
import plait
import scipy.integrate
import scipy.special
import torch

RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(3, 4, 5))
Y = RANDOM.normal(size=(3, 4, 5))
A, B = RANDOM.normal(size=(4, 5)), RANDOM.normal(size=(5, 3))
V = np.array([3, 1, 2, 1, 0, 3, 3])
IDS = np.array([[0, 2], [1, 1]])
ROWS = np.array([[0, 2, 1, 0], [1, 1, 2, 0]])


# interp at and between knots with infinite values.
KNOTS = np.linspace(-0.5, 3.5, 17)
BESIDE_INFINITY = [(0., 5, np.inf, 3), (np.inf, 5, -np.inf, -np.inf), (-np.inf, np.inf, 1, np.nan), (1., np.nan, np.inf, np.inf)]


def t(array):
    return torch.from_numpy(np.asarray(array))


def n(*numbers):
    return np.array(numbers)


def unique(x, axis=None):
    values, indices, inverse, counts = np.unique(x, True, True, True, axis)
    return values, inverse, counts, indices


def recurrence(a, b):
    """h[k] = a[k] h[k-1] + b[k] along axis 1."""
    h = np.zeros(a.shape)
    for k in range(a.shape[1]):
        h[:, k] = a[:, k] * (h[:, k - 1] if k else 0) + b[:, k]
    return h


def put(x, place, values):
    result = x.copy()
    result[place] = values
    return result


def same(result, expected):
    """Compares trees of tensors, to the accuracy of their dtype."""
    if isinstance(expected, (tuple, list)):
        assert len(result) == len(expected), (len(result), len(expected))
        for one, other in zip(result, expected):
            same(one, other)
        return
    assert isinstance(result, plait.Tensor), type(result)
    array, expected = result.numpy(), np.asarray(expected)
    assert array.shape == expected.shape, (array.shape, expected.shape)
    assert (array.dtype.kind in "iu") == (expected.dtype.kind in "iu") and (array.dtype.kind == "b") == (expected.dtype.kind == "b")
    accuracy = 2e-6 if array.dtype in (np.float32, np.complex64) or expected.dtype in (np.float32, np.complex64) else 1e-12
    np.testing.assert_allclose(array, expected, rtol=accuracy, atol=accuracy)


H = np.where(RANDOM.uniform(size=X.shape) < 0.3, np.nan, X)  # some values are missing
IMAGES = RANDOM.normal(size=(2, 3, 7, 6))
WINDOWS = ({}, {"stride": 2}, {"padding": (1, 0)}, {"dilation": 2, "stride": (1, 3)}, {"dilation": (1, 2), "padding": (2, 1), "stride": 2})


def unfolded(images, window, **options):
    return torch.nn.functional.unfold(t(images), window, **options).numpy()


CASES = {
    "addcmul": [((A, A, A), {"scale": 2}, A + 2 * A * A)], "addcdiv": [((A, A, A + 9, 0.5), {}, A + 0.5 * A / (A + 9))],
    "allclose": [((X, X + 1e-9), {}, True), ((X, X + 1e-3), {"absolute": 1e-2}, True), ((X, X + 1), {}, False)],
    "isclose": [((X, X + 1e-3), {"relative": 1e-3}, np.isclose(X, X + 1e-3, 1e-3)),
                ((n(np.nan), n(np.nan)), {"equal_nan": True}, n(True))],
    "array_equal": [((X, X), {}, True), ((X, A), {}, False)],
    "nan_to_num": [((np.array([np.nan, np.inf, -np.inf, 1]),), {"nan": 2, "positive_infinity": 3, "negative_infinity": 4},
                    n(2., 3, 4, 1)),
                   ((np.array([np.nan, np.inf]),), {}, np.nan_to_num([np.nan, np.inf]))],
    "make_complex": [((A, 2 * A), {}, A + 2j * A)], "stop_gradient": [((A,), {}, A)],
    "polygamma": [((2, A[0]**2), {}, scipy.special.polygamma(2, A[0]**2))],
    "norm": [((X, 3, 1), {}, np.linalg.norm(X, 3, 1)), ((X,), {"keepdims": True}, np.sqrt((X**2).sum(keepdims=True)))],
    "linear_recurrence": [((A, A + 1, 1), {}, recurrence(A, A + 1)),
                          ((A, A + 1), {"axis": 1, "reverse": True}, recurrence(A[:, ::-1], A[:, ::-1] + 1)[:, ::-1])],
    "shifted": [((V, 0, False, 9), {}, [9, 3, 1, 2, 1, 0, 3]), ((V,), {"axis": 0, "reverse": True, "first": 9}, [1, 2, 1, 0, 3, 3,
                                                                                                                 9])],
    "tensordot": [((A, B, 1), {}, A @ B), ((X, X), {"axes": ([0, 2], [0, 2])}, np.tensordot(X, X,
                                                                                                            ([0, 2], [0, 2]))),
                  ((X, Y[0]), {}, np.tensordot(X, Y[0]))],
    "addmm": [((np.ones((4, 3)), A, B), {"beta": 2, "alpha": 3}, 2 + 3 * A @ B)],
    "baddbmm": [((np.ones((3, 4, 4)), X, Y.swapaxes(1, 2)), {"beta": 0.5}, 0.5 + X @ Y.swapaxes(1, 2))],
    "einsum": [(("ij,jk->ik", A, B), {}, A @ B), (("ij,jk->ik", [A, B]), {}, A @ B), (("...i->...", X), {}, X.sum(-1)),
               (("abc,abd,c->d", X, Y, X[0, 0]), {}, np.einsum("abc,abd,c->d", X, Y, X[0, 0]))],
    "meshgrid": [((V, V[:2]), {}, np.meshgrid(V, V[:2])), (([V, V[:2]],), {"indexing": "ij"}, np.meshgrid(V, V[:2], indexing="ij"))],
    "broadcast_arrays": [((X, X[0, 0]), {}, np.broadcast_arrays(X, X[0, 0])), (([X, 1.0],), {}, [X, np.ones(X.shape, np.float32)])],
    "sort_with_indices": [((V,), {}, (np.sort(V), np.argsort(V, kind="stable"))),
                          ((A, 0, True), {}, (-np.sort(-A, 0), np.argsort(-A, 0)))],
    "topk": [((A, 2, 0), {"largest": False}, (np.sort(A, 0)[:2], np.argsort(A, 0)[:2]))],
    "partition": [((A, 2), {}, np.sort(A))], "argpartition": [((A, 2, 0), {}, np.argsort(A, 0))],
    "searchsorted": [((np.sort(V), n(1, 2, 9)), {"side": "right"}, np.searchsorted(np.sort(V), [1, 2, 9], "right")),
                     ((V, n(1, 2)), {"sorter": np.argsort(V)}, np.searchsorted(V, [1, 2], sorter=np.argsort(V)))],
    "unique": [((V,), {}, unique(V)), ((A,), {"axis": 1}, unique(A, 1)), ((V % 3,), {"axis": 0}, unique(V % 3, 0)),
               ((n(np.nan, 1., np.nan),), {"equal_nan": False}, (n(1., np.nan, np.nan), n(1, 0, 2), n(1, 1, 1), n(1, 0, 2)))],
    "unique_all": [((n(3., np.nan, 1, 3, np.nan),), {}, (n(1., 3, np.nan, np.nan), n(2, 0, 1, 4), n(1, 2, 0, 1, 3), n(1, 2, 1, 1))),
                   ((IDS,), {}, (n(0, 1, 2), n(0, 2, 1), n(0, 2, 1, 1).reshape(2, 2), n(1, 2, 1)))],
    "unique_counts": [((V,), {}, np.unique(V, return_counts=True))], "unique_inverse": [((V,), {}, np.unique(V, return_inverse=True))],
    "unique_values": [((n(np.nan, 1., np.nan),), {}, n(1., np.nan, np.nan))],
    "isin": [((X, X[0]), {}, np.isin(X, X[0])), ((V, n(9, 1)), {"invert": True}, np.isin(V, [9, 1], invert=True)),
             ((V, n()), {}, np.zeros(7, bool)), ((V, 3), {}, V == 3), ((n(np.nan, 1.), n(np.nan, 1.)), {}, n(False, True)),
             ((n(1j, 2), n(1j)), {}, n(True, False)), ((n(-0., 9), n(0., 9)), {}, n(True, True))],
    "segment_sum": [((A, n(2, 0, 2, 2)), {}, [A[1], 0 * A[0], A[0] + A[2] + A[3]]), ((V, V, 5), {}, [0, 2, 2, 9, 0]),
                    ((A[:0], n()[:0].astype(int), 2), {}, np.zeros((2, 5))), ((V > 1, V), {}, [0, 0, 1, 3])],
    "segment_prod": [((A, n(1, 0, 1, 1)), {}, [A[1], A[0] * A[2] * A[3]]), ((V, V), {"count": 5}, [0, 1, 2, 27, 1])],
    "segment_mean": [((A, n(1, 0, 1, 1)), {}, [A[1], (A[0] + A[2] + A[3]) / 3]), ((X[0], n(0, 2, 0, 2)), {},
                                                                                  [(X[0, 0] + X[0, 2]) / 2, np.full(5, np.nan),
                                                                                   (X[0, 1] + X[0, 3]) / 2])],
    "segment_max": [((A, n(1, 0, 1, 1)), {}, [A[1], A[[0, 2, 3]].max(0)]), ((A[:1], n(1)), {}, [np.full(5, -np.inf), A[0]]),
                    ((V, V), {"count": 5}, [0, 1, 2, 3, -2**63])],
    "segment_min": [((A, n(1, 0, 1, 1)), {}, [A[1], A[[0, 2, 3]].min(0)]), ((A[:1], n(1)), {}, [np.full(5, np.inf), A[0]])],
    "ragged_dot": [((A, np.stack([B, 2 * B]), n(1, 2)), {}, np.concatenate([A[:1] @ B, A[1:3] @ (2 * B), np.zeros((1, 3))]))],
    "ragged_outer": [((A, A + 1, n(1, 2)), {}, [A[:1].T @ (A[:1] + 1), A[1:3].T @ (A[1:3] + 1)])],
    "contiguous": [((X,), {}, X), ((X[:, ::-2].T,), {}, X[:, ::-2].T)],
    "as_strided": [((V, (3, 2), (2, 1)), {}, np.lib.stride_tricks.as_strided(V, (3, 2), (16, 8))),
                   ((X, (2, 3, 2), (1, 0, 20)), {"offset": 3}, [[[X.flat[3 + i + 20 * k] for k in (0, 1)]] * 3 for i in (0, 1)]),
                   ((V, (), ()), {"offset": 6}, 3), ((V, (4,), (-2,), 6), {}, V[6::-2]), ((V, (0, 9), (1, 99)), {}, np.zeros((0, 9), int))],
    "view_dtype": [((V, plait.i32), {}, V.view(np.int32)), ((A[:, :4], "c128"), {}, np.ascontiguousarray(A[:, :4]).view(complex)),
                   ((V > 1,), {"dtype": plait.u8}, (V > 1).view(np.uint8))],
    "unfold": [((IMAGES, (2, 3)), {}, unfolded(IMAGES, (2, 3))), ((IMAGES[0], 2), {}, unfolded(IMAGES[0], 2))]
              + [((IMAGES, (3, 2)), options, unfolded(IMAGES, (3, 2), **options)) for options in WINDOWS],
    "fold": [((unfolded(IMAGES, (3, 2), **options), (7, 6), (3, 2)), options,
              torch.nn.functional.fold(t(unfolded(IMAGES, (3, 2), **options)), (7, 6), (3, 2), **options)) for options in WINDOWS],
    "cumulative_sum": [((V,), {}, np.cumsum(V)), ((X, 1), {"include_initial": True}, np.concatenate([0 * X[:, :1], np.cumsum(X, 1)], 1)),
                       ((V > 1,), {"dtype": plait.f64}, np.cumsum(V > 1) * 1.0), ((X,), {"axis": -1}, np.cumsum(X, -1))],
    "cumulative_prod": [((V,), {"include_initial": True}, [1, *np.cumprod(V)]), ((A, 0), {}, np.cumprod(A, 0))],
    "nanprod": [((H, 1), {}, np.nanprod(H, 1))], "nanmax": [((H, 1), {}, np.nanmax(H, 1)), ((H,), {}, np.nanmax(H)), ((V,), {}, 3),
                                                            ((n(np.nan, np.nan),), {"keepdims": True}, n(np.nan))],
    "nanmin": [((H, (0, 2)), {}, np.nanmin(H, (0, 2))), ((n([np.nan, np.nan], [1, np.nan]), 1), {}, n(np.nan, 1))],
    "nanvar": [((H, 1), {"correction": 1}, np.nanvar(H, 1, ddof=1)), ((H * 1j,), {}, np.nanvar(H * 1j))],
    "nanstd": [((H, 2), {"keepdims": True}, np.nanstd(H, 2, keepdims=True))],
    "nanmedian": [((H, 1), {}, np.nanmedian(H, 1)), ((H,), {}, np.nanmedian(H)), ((n(np.nan, np.nan),), {}, np.nan)],
    "nanquantile": [((H, n(0.1, 0.5, 1), 1), {"keepdims": True}, np.nanquantile(H, [0.1, 0.5, 1], 1, keepdims=True)),
                    ((H, 0.3), {}, np.nanquantile(H, 0.3))],
    "cov": [((A,), {}, np.cov(A)), ((A * (1 + 2j), 0), {}, np.cov(A * (1 + 2j), ddof=0)), ((A[0],), {}, np.cov(A[0])),
            ((A[:1],), {}, np.cov(A[:1]))],
    "corrcoef": [((A,), {}, np.corrcoef(A)), ((A[0],), {}, np.corrcoef(A[0])), ((A[:1],), {}, np.corrcoef(A[:1]))],
    "exp2": [((A * (1 + 2j),), {}, np.exp2(A * (1 + 2j)))],
    "linspace": [((plait.tensor(0.0, plait.f64), plait.tensor(1 / 3, plait.f64), 5), {}, np.linspace(0, 1 / 3, 5)),
                 ((0, plait.tensor(1 / 3, plait.f64), 5), {"endpoint": False}, np.linspace(0, 1 / 3, 5, endpoint=False)),
                 ((np.float64(0.1), 0.7, 1), {}, np.linspace(0.1, 0.7, 1)), ((A, A[0] + 3, 4), {}, np.linspace(A, A[0] + 3, 4)),
                 ((n(1 + 2j), n(3 - 1j), 3), {}, np.linspace(n(1 + 2j), n(3 - 1j), 3)), ((n(0., 1), 1, 0), {}, np.zeros((0, 2)))],
    "repeat": [((A, 2, 1), {}, np.repeat(A, 2, 1)), ((A,), {"repeats": n(2, 0, 1, 3), "axis": 0}, np.repeat(A, [2, 0, 1, 3], 0)),
               ((A,), {"repeats": n(2, 0, 1, 3), "axis": 0, "total": 4}, np.repeat(A, [2, 0, 1, 3], 0)[:4])],
    "atleast_1d": [((2.0,), {}, np.full(1, 2, np.float32)), ((A,), {}, A)], "atleast_2d": [((V,), {}, V[None]), ((X,), {}, X)],
    "atleast_3d": [((V,), {}, np.atleast_3d(V)), ((A,), {}, np.atleast_3d(A)), ((X,), {}, X)],
    "dstack": [(([A, A + 1],), {}, np.dstack([A, A + 1])), (([V, V],), {}, np.dstack([V, V]))],
    "column_stack": [(([A[:, 0], A, A[:, 1]],), {}, np.column_stack([A[:, 0], A, A[:, 1]]))],
    "channel_shuffle": [((RANDOM_IMAGES := IMAGES.repeat(2, 1), 3), {}, torch.channel_shuffle(t(RANDOM_IMAGES), 3))],
    "diag_embed": [((A,), {}, torch.diag_embed(t(A))), ((V, -2), {}, np.diag(V, -2)), ((A, 1), {}, torch.diag_embed(t(A), 1))],
    "tril_indices": [((3, 4), {}, np.tril_indices(3, 0, 4)), ((4, 2, -1), {}, np.tril_indices(4, -1, 2))],
    "triu_indices": [((3, 4, 1), {}, np.triu_indices(3, 1, 4))],
    "unravel_index": [((n([0, 23], [5, 7]), (2, 3, 4)), {}, np.unravel_index(n([0, 23], [5, 7]), (2, 3, 4))),
                      ((n(-1), (2, 3)), {}, (n(1), n(2)))],
    "logspace": [((0, 3, 4), {}, np.logspace(0, 3, 4).astype(np.float32)),
                 ((-1, 1, 5, 2, plait.f64), {}, np.logspace(-1, 1, 5, base=2))],
    "geomspace": [((1, 1000, 4, plait.f64), {}, np.geomspace(1, 1000, 4)), ((-8, -0.5, 5), {}, np.geomspace(-8, -0.5, 5, dtype=np.float32)),
                  ((3, 9, 1), {}, np.full(1, 3, np.float32))],
    "interp": [((n([-1, 0, 0.25], [0.5, 2, 9], [np.nan, 1.75, 1]), n(0., 0.5, 2), n(3., -1, 5)), {},
                np.interp(n([-1, 0, 0.25], [0.5, 2, 9], [np.nan, 1.75, 1]), [0, 0.5, 2], [3, -1, 5])),
               ((n(1., 2), n(7.), n(3.)), {}, n(3., 3)),
               *(((KNOTS, n(0., 1, 2, 3), n(*values)), {}, np.interp(KNOTS, [0, 1, 2, 3], values)) for values in BESIDE_INFINITY)],
    "trapezoid": [((X,), {}, np.trapezoid(X)), ((X, None, 0.5, 1), {}, np.trapezoid(X, dx=0.5, axis=1)),
                  ((X,), {"places": n(0., 1, 5, 6), "axis": 1}, np.trapezoid(X, [0, 1, 5, 6], axis=1)),
                  ((X, np.cumsum(Y**2, 2)), {}, np.trapezoid(X, np.cumsum(Y**2, 2))), ((X[..., :0],), {}, np.zeros((3, 4)))],
    "cumulative_trapezoid": [((X,), {"step": 2.0, "axis": 1}, scipy.integrate.cumulative_trapezoid(X, dx=2, axis=1)),
                             ((X,), {"places": n(0., 1, 5, 6, 8)}, scipy.integrate.cumulative_trapezoid(X, [0, 1, 5, 6, 8]))],
    "bincount": [((V,), {}, np.bincount(V)), ((V, 5), {}, np.bincount(V, minlength=5)),
                 ((V,), {"weights": V * 0.5}, np.bincount(V, V * 0.5))],
    "histogram": [((A, 4, -1.0, 1), {}, np.histogram(A, 4, (-1, 1))),
                  ((A,), {"edges": n(-1., 0, 2)}, np.histogram(A, n(-1., 0, 2)))],
    "gather": [((A, 0, ROWS), {}, torch.gather(t(A), 0, t(ROWS)))],
    "scatter": [((A, 1, IDS, 7.5), {}, torch.scatter(t(A), 1, t(IDS), 7.5)),
                ((A, 0, IDS[:1], -A), {}, torch.scatter(t(A), 0, t(IDS[:1]), t(-A)))],
    "scatter_add": [((A, 0, ROWS, A), {}, torch.scatter_add(t(A), 0, t(ROWS), t(A)))],
    "scatter_reduce": [((A, 0, ROWS, A, name), {"include_self": own},
                        torch.scatter_reduce(t(A), 0, t(ROWS), t(A), torch_name, include_self=own))
                       for name, torch_name in (("sum", "sum"), ("product", "prod"), ("mean", "mean"), ("maximum", "amax"),
                                                ("minimum", "amin"))
                       for own in (True, False)],
    "index_add": [((A, 0, n(1, 1), A[:2]), {"factor": -2}, torch.index_add(t(A), 0, t([1, 1]), t(A[:2]), alpha=-2))],
    "embedding": [((IDS, A), {"padding": 1}, A[IDS])],
    "one_hot": [((IDS, 3), {}, np.eye(3, dtype=np.float32)[IDS]),
                ((IDS,), {"count": 4, "dtype": plait.i32}, np.eye(4, dtype=np.int32)[IDS])],
    "dynamic_slice": [((X, n(1, 2), [0, 2], [2, 3]), {}, X[1:3, :, 2:5])],
    "slice_update": [((A, n(8., 9.).reshape(2, 1), n(1, 2)), {"axes": [0, 1]}, put(A, np.s_[1:3, 2:3], [[8], [9]]))],
    "transpose": [((X,), {}, X.T), ((X, (1, 0, 2)), {}, X.transpose(1, 0, 2))],
    "moveaxis": [((X, (0, 1), (2, 0)), {}, np.moveaxis(X, (0, 1), (2, 0))), ((X, 0, -1), {}, np.moveaxis(X, 0, -1))],
    "split_at": [((V, [2, 5]), {}, np.split(V, [2, 5])), ((X,), {"places": [1], "axis": 2}, np.split(X, [1], 2))],
    "pixel_shuffle": [((RANDOM.normal(size=(8, 2, 3)), 2), {}, None)],
    "pixel_unshuffle": [((RANDOM.normal(size=(2, 4, 6)), 2), {}, None)],
    "tril": [((X,), {}, np.tril(X)), ((A,), {"k": 1}, np.tril(A, 1))], "triu": [((A, -1), {}, np.triu(A, -1))],
    "tri": [((3, 4), {}, np.tri(3, 4, dtype=np.float32)), ((3, 4, 1, plait.i64), {}, np.tri(3, 4, 1, dtype=int))],
    "diagonal": [((A, 1), {}, np.diagonal(A, 1))], "diag": [((V, -1), {}, np.diag(V, -1)), ((A,), {}, np.diag(A))],
    "pad": [((A, [(1, 2), (0, 3)]), {}, np.pad(A, ((1, 2), (0, 3)))),
            ((A, [(1, 2)]), {"value": 5}, np.pad(A, ((0, 0), (1, 2)), constant_values=5))]
           + [((A, [(1, 2), (2, 2)], mode), {}, np.pad(A, ((1, 2), (2, 2)), mode)) for mode in ("edge", "reflect", "wrap")],
    "slice_axis": [((A, 1, 4, 2), {"step": -2}, A[:, 4:0:-2])],
    "pad_zeros": [((V, 0, 1, 2), {"step": 2}, [0, 3, 0, 1, 0, 2, 0, 1, 0, 0, 0, 3, 0, 3, 0, 0])],
    "slice": [((A, 1), {"start": 1, "step": 2}, A[:, 1::2]), ((A, 0, None, None, -1), {}, A[::-1])],
    "iota": [((4,), {}, np.arange(4)), ((3, plait.f32), {}, np.arange(3, dtype=np.float32))],
    "empty": [(((2, 3),), {}, np.zeros((2, 3), np.float32))], "empty_like": [((V,), {}, np.zeros_like(V))],
    "full": [(((2,), 7), {}, np.full(2, 7)), ((2, True), {"dtype": "i32"}, np.full(2, 1, np.int32))],
    "zeros": [((3,), {"dtype": None}, np.zeros(3, np.float32)), ((3, bool), {}, np.zeros(3, bool))],
    "concat": [(((A, A), 1), {}, np.concatenate((A, A), 1)), (([A for _ in range(2)],), {}, np.concatenate((A, A)))],
    "quantile": [((A, n(0.25, 0.5), 1), {}, np.quantile(A, n(0.25, 0.5), 1))],
    "std": [((A, 0), {"correction": 1}, A.std(0, ddof=1))],
    "permute_dims": [((X, np.array([2, 0, 1])), {}, X.transpose(2, 0, 1)), ((X, range(2, -1, -1)), {}, X.T)],
    "roll": [((X, (1, 2), (0, -1)), {}, np.roll(X, (1, 2), (0, -1))), ((V, -3, 0), {}, np.roll(V, -3))],
}
for name in ("pixel_shuffle", "pixel_unshuffle"):
    CASES[name] = [(arguments, options, getattr(torch, name)(t(arguments[0]), arguments[1])) for arguments, options,
                   _ in CASES[name]]


class Values(unittest.TestCase):
    def test_are_those_of_others(self):
        for name, cases in CASES.items():
            for arguments, options, expected in cases:
                with self.subTest(name=name, options=options):
                    same(getattr(plait, name)(*arguments, **options), expected)

    def test_alike_with_tensors(self):
        for name, cases in CASES.items():
            for arguments, options, expected in cases:
                if name in ("permute_dims", "full", "zeros", "fold"):
                    continue  # their arrays are sizes and axes
                with self.subTest(name=name, options=options):
                    tensors = [plait.asarray(each) if isinstance(each, np.ndarray) else each for each in arguments]
                    same(getattr(plait, name)(*tensors, **options), expected)

    def test_results_have_names(self):
        found = plait.topk(V, 2)
        self.assertEqual(found._fields, ("values", "indices"))
        self.assertEqual(found.values.numpy().tolist(), [3, 3])
        self.assertEqual(plait.unique(V)._fields, ("values", "inverse", "counts", "indices"))
        self.assertEqual(plait.histogram(A, 4, 0, 1)._fields, ("counts", "edges"))


class Interpolation(unittest.TestCase):
    def test_beside_infinities_is_numpys(self):
        inf, at = np.inf, np.array([-np.inf, -5.0, -0.5, 0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 7.0, np.inf])
        positions = [(0.0, 1, 2), (-inf, 0, 1), (0.0, 1, inf), (-inf, 0, inf), (-inf, 0.5, 1)]
        for places in (*positions, *(each[1:] for each in positions), (-inf, inf)):
            for values in itertools.product((-inf, 0.0, 1.0, 2.0, inf), repeat=len(places)):
                with self.subTest(places=places, values=values):
                    with np.errstate(invalid="ignore"):
                        wanted = np.interp(at, places, values)
                    given = [plait.asarray(np.array(each, float)) for each in (at, places, values)]
                    np.testing.assert_allclose(plait.interp(*given).numpy(), wanted, rtol=1e-12)
                    finite = at[np.isfinite(wanted)]
                    _, pull = plait.vjp(plait.interp, plait.asarray(finite), *given[1:])
                    for found in pull(plait.asarray(np.cos(np.arange(len(finite))))):
                        self.assertTrue(np.isfinite(found.numpy()).all(), f"at {finite}: {found}")

    def test_of_complex_values_and_at_nan_is_numpys(self):
        inf, nan = np.inf, np.nan
        for places in ((0.0, 1.0), (0.0, inf), (-inf, 0.0), (nan, 1.0), (0.0, nan)):
            for values in itertools.product((complex(0, -inf), complex(2, nan), complex(inf, 1), 1 - 2j), repeat=2):
                wanted = np.interp([-0.5, 0.25, 0.5], places, values)
                np.testing.assert_array_equal(plait.interp(*(plait.asarray(np.array(each)) for each in ([-0.5, 0.25, 0.5], places, values))).numpy(), wanted)

    def test_has_gradients_between_positions(self):
        _, pull = plait.vjp(plait.interp, plait.tensor([0.25, 5.0]), plait.tensor([0.0, 1.0, float("inf")]), plait.tensor([0.0, 4.0, 6.0]))
        for found, wanted in zip(pull(plait.ones(2)), ([4, 0], [-3, -1, 0], [0.75, 1.25, 0])):
            np.testing.assert_allclose(found.numpy(), wanted)


class Refusals(unittest.TestCase):
    def test_arguments_that_fit_nothing(self):
        x = plait.asarray(A)
        for kind, word, action in (
            (plait.TypeError, "sum: keepdims: expected True or False, not str", lambda: plait.sum(x, 0, "yes")),
            (plait.TypeError, "sort: axis: expected an integer, not float", lambda: plait.sort(x, 1.0)),
            (plait.TypeError, "sort: axis: expected an integer, not list", lambda: plait.sort(x, [0])),
            (plait.TypeError, "reshape: shape: expected an integer, not str", lambda: plait.reshape(x, "20")),
            (plait.TypeError, "zeros: dtype: .* is not a dtype", lambda: plait.zeros(3, "float31")),
            (plait.TypeError, "softplus: beta: expected a number, not str", lambda: plait.softplus(x, "1")),
            (plait.TypeError, "full: fill_value: expected a number", lambda: plait.full(3, x)),
            (plait.TypeError, "pad: widths: expected a pair", lambda: plait.pad(x, (1, 2))),
            (plait.TypeError, "pad: mode: expected a string, not int", lambda: plait.pad(x, [(1, 2)], 3)),
            (plait.ValueError, "pad: mode: 'mirror' is not one of 'constant', 'edge'", lambda: plait.pad(x, [(1, 2)], "mirror")),
            (plait.ValueError, "expand_dims: axis: .* does not fit into 64 bits", lambda: plait.expand_dims(x, 10**30)),
            (plait.TypeError, "concat: arrays: expected a tensor", lambda: plait.concat([x, "x"])),
            (plait.TypeError, "exp: x: expected a tensor, a number or a NumPy array, not list", lambda: plait.exp([1.0])),
            (plait.TypeError, "max: c64.*complex numbers are not ordered", lambda: plait.max(plait.tensor([1j]))),
            (plait.TypeError, "min: c64.*complex numbers are not ordered", lambda: plait.min(plait.tensor([1j]), 0)),
            (plait.IndexError, "index 4 is out of range", lambda: plait.take(x, n(0, 4), 0)),
            (plait.IndexError, "", lambda: plait.flip(x, 2)),
            (plait.ShapeError, "", lambda: plait.concat([x, plait.zeros((2, 2))])),
            (plait.ShapeError, "", lambda: plait.einsum("ij,jk", x, x)),
            (plait.ValueError, "unexpected 'é' at position 1 of \"é,é->\"", lambda: plait.einsum("é,é->", x, x)),
            (plait.ValueError, "unexpected '😀' at position 3", lambda: plait.einsum("i,😀", x, x)),
            (plait.ValueError, "", lambda: plait.topk(x, 9)), (plait.ValueError, "", lambda: plait.split(x, 3)),
            (plait.ShapeError, "the parts have 0 elements together, expected 4", lambda: plait.split(x, size=[])),
            (plait.ValueError, "a part has the size 0, expected 1 or more", lambda: plait.split(x, size=0)),
            (plait.ValueError, "a part has the size -1, expected 0 or more", lambda: plait.split(x, size=[3, -1])),
            (plait.TypeError, "", lambda: plait.bitwise_and(x, 1)), (plait.TypeError, "", lambda: plait.gather(x, 0, x)),
        ):
            with self.subTest(kind=kind, word=word):
                with self.assertRaisesRegex(kind, word) as caught:
                    action()
                self.assertIn("arrays_test.py:", caught.exception.location, str(caught.exception))

    def test_no_parts_of_no_elements(self):
        self.assertEqual(list(plait.split(plait.ones((0,)), size=[])), [])
        self.assertEqual(list(plait.zeros((3, 0)).split(size=(), axis=1)), [])
        self.assertEqual([part.shape for part in plait.split(plait.zeros((0, 3)), size=[2])], [(0, 3)])

    def test_arguments_that_are_missing_or_too_many(self):
        for action in (lambda: plait.sort(), lambda: plait.exp(1.0, 2.0), lambda: plait.sum(A, axes=0), lambda: plait.exp(None)):
            with self.assertRaises(TypeError):
                action()

    def test_errors_of_objects_are_theirs(self):
        class Broken:
            def __float__(self):
                raise KeyError("mine")

            def __index__(self):
                raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            plait.softplus(A, Broken())
        with self.assertRaisesRegex(KeyError, "mine"):
            plait.arange(5)[Broken()]


class Traced(unittest.TestCase):
    def test_sizes_and_options_in_a_trace(self):
        def function(x):
            y = plait.pad(x, [(0, x.shape[0]), (1, 1)], "edge")
            return plait.topk(y, 2, axis=0).values + plait.one_hot(plait.iota(2), 7, x.dtype)

        program = plait.trace(function)(plait.Spec("f64[n, 5]"))
        for count in (2, 4):
            np.testing.assert_array_equal(program(A[:count]).numpy(), function(A[:count]).numpy())

    def test_named_results_are_trees(self):
        program = plait.trace(lambda x: plait.sort_with_indices(x, 0))(A)
        self.assertEqual(program(A).indices.numpy().tolist(), np.argsort(A, 0).tolist())


if __name__ == "__main__":
    unittest.main()
