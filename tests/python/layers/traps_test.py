"""Known numerical traps of network functions: rows of −∞, constant rows, windows in the padding, corners, masked
rows, empty batches. One table; the value and gradient of each row are compared with PyTorch, JAX or given values."""

import io
import itertools
import os
import subprocess
import sys
import unittest

import jax
import numpy as np
import plait
import torch
import torch.nn.functional as F
from torch_check import check, check_told, close, cotangent_of, t

jax.config.update("jax_enable_x64", True)

INF, NAN = np.inf, np.nan
RANDOM = np.random.default_rng(11)


def draw(*shape):
    return RANDOM.normal(size=shape)


class Softmax(unittest.TestCase):
    ROWS = {"some −∞": [[-INF, 1.0, 2.0], [3.0, -INF, -INF]], "huge": [[1e300, -1e300, 1e300], [-1e308, 1e308, 0.0]],
            "large": [[1e4, 1e4 + 1, -1e4], [800.0, 0.0, -800.0]], "one": [[5.0], [-5.0]], "constant": [[2.0, 2.0], [-7.0, -7.0]]}

    def test_rows(self):
        for name, rows in self.ROWS.items():
            for function in ("softmax", "log_softmax", "softmin"):
                with self.subTest(rows=name, function=function):
                    if function == "softmin" and name == "some −∞":
                        continue  # ∞ is among its logits
                    check(lambda x, f=function: getattr(plait, f)(x), lambda x, f=function: getattr(F, f)(x, -1),
                          [np.array(rows)])
            with self.subTest(rows=name, function="logsumexp"):
                x = np.array(rows)
                close(plait.logsumexp(x, -1), torch.logsumexp(t(x), -1), 1e-12, "value")
                slope = plait.grad(lambda x: plait.sum(plait.logsumexp(x, -1)))(plait.asarray(x))
                close(slope, torch.softmax(t(x), -1), 1e-9, "gradient")  # PyTorch's sums to 2 for huge numbers

    def test_rows_of_nothing_but_infinities(self):
        nothing = np.full((2, 3), -INF)
        check_told(plait.softmax, nothing, np.full((2, 3), NAN))
        check_told(plait.masked_softmax, nothing, np.zeros((2, 3)), np.zeros((2, 3)))
        check_told(lambda x: plait.logsumexp(x, -1), nothing, [-INF, -INF], np.zeros((2, 3)))
        check_told(plait.log_softmax, nothing, np.full((2, 3), NAN))
        check_told(lambda x: plait.logsumexp(x, -1), [[INF, 1.0], [INF, -INF]], [INF, INF])
        for function in (plait.softmax, plait.log_softmax):
            assert np.isnan(function(np.array([INF, 1.0])).numpy()[0])
        check_told(lambda x: plait.logaddexp(x, -INF), [-INF, INF, 1.0], [-INF, INF, 1.0], [0.5, 1.0, 1.0])
        x = plait.asarray(np.array([-INF, INF, 1.0]))
        slope = plait.grad(lambda x: plait.sum(plait.logaddexp(x, -INF)))
        second = plait.grad(lambda x: plait.sum(slope(x)))
        np.testing.assert_array_equal(second(x).numpy(), 0)
        np.testing.assert_array_equal(plait.grad(lambda x: plait.sum(second(x)))(x).numpy(), 0)

    def test_nothing(self):
        for function in (plait.softmax, plait.log_softmax, plait.masked_softmax):
            self.assertEqual(function(np.zeros((0, 3))).shape, (0, 3))
            self.assertEqual(function(np.zeros((3, 0))).shape, (3, 0))
        np.testing.assert_array_equal(plait.logsumexp(np.zeros((2, 0)), -1).numpy(), [-INF, -INF])

    def test_second_derivative_of_alike_terms(self):
        second = plait.grad(lambda x: plait.grad(lambda y: plait.softplus(y))(x))
        for x in (0.0, 1.0, -3.0):
            sigmoid = 1 / (1 + np.exp(-x))
            self.assertAlmostEqual(float(second(plait.asarray(np.float64(x))).numpy()), sigmoid * (1 - sigmoid), places=12)

    def test_narrow_floats(self):
        x = np.array([[60000.0, -60000.0, 60000.0], [1.0, 2.0, 3.0]])
        for dtype in ("f16", "bf16"):
            found = plait.softmax(plait.astype(plait.asarray(x), dtype))
            self.assertEqual(str(found.dtype), dtype)
            np.testing.assert_allclose(plait.astype(found, "f64").numpy()[0], [0.5, 0, 0.5])


class Activations(unittest.TestCase):
    def test_far_from_zero(self):
        far = np.array([1e200, 1e100, 30.0, -30.0, -1e100, -1e200])
        for kind in ("none", "tanh", "fast"):
            with self.subTest(kind=kind):
                check_told(lambda x, k=kind: plait.gelu(x, k), far, np.maximum(far, 0.0), (far > 0).astype(float))


class Norms(unittest.TestCase):
    def test_constant_rows(self):
        for value in (0.0, 3.0, 1e4):
            x = np.full((2, 4, 3), value)
            weight, bias, last = draw(4), draw(4), draw(3)
            for name, ours, theirs, more in (
                ("layer", lambda x, w, b: plait.layer_norm(x, 3, w, b), lambda x, w, b: F.layer_norm(x, (3,), w, b),
                 [last, last]),
                ("rms", lambda x, w: plait.rms_norm(x, 3, w), lambda x, w: F.rms_norm(x, (3,), w), [last]),
                ("group", lambda x, w, b: plait.group_norm(x, 2, w, b), lambda x, w, b: F.group_norm(x, 2, w, b), [weight, bias]),
                ("instance", lambda x, w, b: plait.instance_norm(x, w, b), lambda x, w, b: F.instance_norm(x, None, None, w, b),
                 [weight, bias]),
                ("batch", lambda x, w, b: plait.batch_norm(x, weight=w, bias=b).values,
                 lambda x, w, b: F.batch_norm(x, None, None, w, b, True), [weight, bias])):
                with self.subTest(norm=name, value=value):
                    check(ours, theirs, [x, *more], 1e-6)

    def test_groups_of_one(self):
        x = draw(2, 4, 1)
        check(lambda x: plait.group_norm(x, 4), lambda x: F.group_norm(x, 4), [x], 1e-7)
        check(lambda x: plait.layer_norm(x, 1), lambda x: F.layer_norm(x, (1,)), [x], 1e-7)
        check(lambda x: plait.rms_norm(x, 1), lambda x: F.rms_norm(x, (1,)), [x])
        check_told(lambda x: plait.instance_norm(x), x, np.zeros(x.shape), np.zeros(x.shape))

    def test_no_batch(self):
        for ours in (lambda x: plait.layer_norm(x, 4), lambda x: plait.rms_norm(x, 4), lambda x: plait.group_norm(x, 3),
                     plait.instance_norm):
            self.assertEqual(ours(np.zeros((0, 3, 4))).shape, (0, 3, 4))
            self.assertEqual(plait.grad(lambda x, f=ours: plait.sum(f(x)))(plait.zeros((0, 3, 4))).shape, (0, 3, 4))

    def test_narrow_floats(self):
        # Squares and sums of these overflow f16.
        x = np.array([[400.0, 600.0, 60000.0, -60000.0]] * 2)
        for ours, theirs in ((lambda x: plait.layer_norm(x, 4), lambda x: F.layer_norm(x, (4,))),
                             (lambda x: plait.rms_norm(x, 4), lambda x: F.rms_norm(x, (4,))),
                             (lambda x: plait.group_norm(x, 2), lambda x: F.group_norm(x, 2)),
                             (lambda x: plait.batch_norm(x * plait.asarray([[1], [0.5]])).values,
                              lambda x: F.batch_norm(x * t([[1], [0.5]]), None, None, training=True))):
            found = plait.astype(ours(plait.astype(plait.asarray(x), "f16")), "f64").numpy()
            np.testing.assert_allclose(found, theirs(t(x)).numpy(), rtol=2e-3, atol=2e-3)

    def test_lengths_of_nothing(self):
        check(lambda x: plait.normalize(x, 2, 1), lambda x: F.normalize(x, 2, 1), [np.array([[0.0, 0.0], [3.0, 4.0]])])
        zeros = plait.grad(lambda x: plait.norm(x))(plait.zeros((3,), "f64")).numpy()
        np.testing.assert_array_equal(zeros, [0, 0, 0])


class Pooling(unittest.TestCase):
    def test_options(self):
        for rank in (1, 2, 3):
            x = draw(2, 2, *(9, 7, 6)[:rank])
            for window, stride, padding, dilation, ceil in itertools.product((2, 3), (1, 2, 3), (0, 1), (1, 2), (False, True)):
                options = {"stride": stride, "padding": padding, "ceil_mode": ceil}
                with self.subTest(rank=rank, window=window, dilation=dilation, **options):
                    maximum = getattr(F, f"max_pool{rank}d")
                    ours = getattr(plait, f"max_pool{rank}d")
                    check(lambda x: ours(x, window, dilation=dilation, **options),
                          lambda x: maximum(x, window, dilation=dilation, **options), [x])
                    _, places = maximum(t(x), window, dilation=dilation, return_indices=True, **options)
                    found = getattr(plait, f"max_pool{rank}d_with_indices")(x, window, dilation=dilation, **options)
                    np.testing.assert_array_equal(found.indices.numpy(), places.numpy())
                    if dilation > 1:
                        continue
                    average, mean = getattr(F, f"avg_pool{rank}d"), getattr(plait, f"avg_pool{rank}d")
                    for counted in (False, True):
                        check(lambda x: mean(x, window, count_include_pad=counted, **options),
                              lambda x: average(x, window, count_include_pad=counted, **options), [x])

    def test_lowest_numbers(self):
        x = np.full((1, 1, 5), -INF)
        check_told(lambda x: plait.max_pool1d(x, 3, padding=1, stride=2), x, np.full((1, 1, 3), -INF))
        x = np.full((1, 1, 5), -3.0)
        check_told(lambda x: plait.max_pool1d(x, 3, padding=1, stride=2), x, np.full((1, 1, 3), -3.0), [[[1, 1, 0, 1, 0]]])
        x = np.array([[[1.0, NAN, 2.0, 3.0]]])
        check_told(lambda x: plait.max_pool1d(x, 2), x, [[[NAN, 3]]])
        for dtype in ("i8", "i32", "u8"):
            least = np.iinfo(np.dtype({"i8": "int8", "i32": "int32", "u8": "uint8"}[dtype])).min
            x = plait.full((1, 1, 5), int(least), dtype)
            np.testing.assert_array_equal(plait.max_pool1d(x, 3, padding=1).numpy(), np.full((1, 1, 2), least))

    def test_adaptive(self):
        for rank in (1, 2, 3):
            x = draw(2, 2, *(7, 5, 4)[:rank])
            for counts in (1, 3, 4, 9):
                for kind in ("avg", "max"):
                    name = f"adaptive_{kind}_pool{rank}d"
                    check(lambda x: getattr(plait, name)(x, counts), lambda x: getattr(F, name)(x, counts), [x])
                _, places = getattr(F, f"adaptive_max_pool{rank}d")(t(x), counts, return_indices=True)
                found = getattr(plait, f"adaptive_max_pool{rank}d_with_indices")(x, counts)
                np.testing.assert_array_equal(found.indices.numpy(), places.numpy())

    def test_no_batch(self):
        for pool in (plait.max_pool2d, plait.avg_pool2d):
            self.assertEqual(pool(np.zeros((0, 2, 4, 4)), 2).shape, (0, 2, 2, 2))


class Interpolation(unittest.TestCase):
    THEIRS = {("linear", 1): "linear", ("linear", 2): "bilinear", ("linear", 3): "trilinear", ("cubic", 2): "bicubic"}

    def modes(self, rank):
        for mode in ("nearest", "nearest_exact", "linear", "cubic", "area"):
            theirs = self.THEIRS.get((mode, rank), mode.replace("_", "-"))
            if mode == "linear" or (mode == "cubic" and rank == 2):
                yield mode, theirs, {"align_corners": False}
                yield mode, theirs, {"align_corners": True}
            elif mode != "cubic":
                yield mode, theirs, {}

    def test_sizes(self):
        for rank in (1, 2, 3):
            x = draw(1, 2, *(5, 4, 3)[:rank])
            for mode, theirs, corners in self.modes(rank):
                for sizes in (1, 2, 5, 7, 11):
                    with self.subTest(rank=rank, mode=mode, sizes=sizes, **corners):
                        check(lambda x: plait.interpolate(x, size=sizes, mode=mode, **corners),
                              lambda x: F.interpolate(x, sizes, mode=theirs, **corners), [x])

    def test_scales(self):
        for rank in (1, 2, 3):
            x = draw(1, 2, *(5, 6, 4)[:rank])
            for mode, theirs, corners in self.modes(rank):
                for scale in (0.4, 0.7, 1.0, 1.3, 2.0, 2.6):
                    with self.subTest(rank=rank, mode=mode, scale=scale, **corners):
                        check(lambda x: plait.interpolate(x, scale_factor=scale, mode=mode, **corners),
                              lambda x: F.interpolate(x, scale_factor=scale, mode=theirs, **corners), [x])

    def test_one_place(self):
        for rank in (1, 2, 3):
            x = draw(1, 2, *[1] * rank)
            for mode, theirs, corners in self.modes(rank):
                with self.subTest(rank=rank, mode=mode, **corners):
                    check(lambda x: plait.interpolate(x, size=4, mode=mode, **corners),
                          lambda x: F.interpolate(x, 4, mode=theirs, **corners), [x])

    def test_antialias(self):
        x = draw(1, 2, 9, 7)
        for mode, corners, sizes in itertools.product(("linear", "cubic"), (False, True),
                                                      ((4, 3), (1, 1), (9, 7), (12, 5), (2, 11))):
            with self.subTest(mode=mode, corners=corners, sizes=sizes):
                check(lambda x: plait.interpolate(x, size=sizes, mode=mode, align_corners=corners, antialias=True),
                      lambda x: F.interpolate(x, sizes, mode=self.THEIRS[mode, 2], align_corners=corners, antialias=True), [x])
            for scale in (0.45, 1.7):
                check(lambda x: plait.interpolate(x, scale_factor=scale, mode=mode, align_corners=corners, antialias=True),
                      lambda x: F.interpolate(x, scale_factor=scale, mode=self.THEIRS[mode, 2], align_corners=corners,
                                              antialias=True), [x])


class GridSample(unittest.TestCase):
    MODES = {"nearest": "nearest", "linear": "bilinear", "cubic": "bicubic"}

    def test_modes(self):
        x, grid = draw(2, 2, 5, 4), draw(2, 3, 3, 2) * 0.9
        grid[0, 0, 0] = [5.3, -7.1]
        grid[0, 0, 1] = [1.0, -1.0]
        grid[1, 0, 0] = [-100.0, 1000.3]
        for mode, padding, corners in itertools.product(self.MODES, ("zeros", "border", "reflection"), (False, True)):
            with self.subTest(mode=mode, padding=padding, corners=corners):
                check(lambda x, g: plait.grid_sample(x, g, mode=mode, padding=padding, align_corners=corners),
                      lambda x, g: F.grid_sample(x, g, self.MODES[mode], padding, corners), [x, grid], 1e-7)

    def test_space(self):
        x, grid = draw(1, 2, 4, 3, 5), draw(1, 2, 3, 2, 3)
        for mode, padding, corners in itertools.product(("nearest", "linear"), ("zeros", "border", "reflection"), (False, True)):
            with self.subTest(mode=mode, padding=padding, corners=corners):
                check(lambda x, g: plait.grid_sample(x, g, mode=mode, padding=padding, align_corners=corners),
                      lambda x, g: F.grid_sample(x, g, self.MODES[mode], padding, corners), [x, grid], 1e-7)

    def test_far_and_nowhere(self):
        x = draw(1, 1, 3, 3)
        for place in (1e9, -1e9, 1e30, INF, -INF, NAN):
            grid = np.full((1, 1, 1, 2), place)
            for mode in self.MODES:
                with self.subTest(place=place, mode=mode):
                    found = plait.grid_sample(x, grid, mode=mode)
                    self.assertFalse(np.any(found.numpy() != 0) and np.isfinite(place), found)
                    by_x = plait.grad(lambda y: plait.sum(plait.grid_sample(y, grid, mode=mode)))(plait.asarray(x)).numpy()
                    if mode != "cubic":
                        np.testing.assert_array_equal(by_x, 0)
                    for padding in ("border", "reflection"):  # any result, but no read out of range
                        plait.grid_sample(x, grid, mode=mode, padding=padding).numpy()


class Attention(unittest.TestCase):
    def attend(self, given, mask=None, accuracy=1e-9, **options):
        check(lambda *x: plait.scaled_dot_product_attention(*x, attn_mask=mask, **options),
              lambda *x: F.scaled_dot_product_attention(*x, attn_mask=None if mask is None else t(mask),
                                                        **options), given, accuracy)

    def test_masked_rows(self):
        given = [draw(2, 3, 4, 5), draw(2, 3, 6, 5), draw(2, 3, 6, 2)]
        truth = RANDOM.random((4, 6)) < 0.6
        truth[1], truth[:, 0], truth[2, 0] = False, False, True
        added, by_dtype = np.where(truth, draw(4, 6), -INF), {}
        for mask in (truth, added):
            def ours(*x, mask=mask):
                return plait.scaled_dot_product_attention(*x, attn_mask=mask)

            found = ours(*map(plait.asarray, given)).numpy()
            seen = truth.any(-1)
            np.testing.assert_array_equal(found[..., ~seen, :], 0)
            slopes = plait.grad(lambda *x: plait.sum(ours(*x) ** 2), (0, 1, 2))(*map(plait.asarray, given))
            for slope in slopes:
                self.assertTrue(np.isfinite(slope.numpy()).all())
            np.testing.assert_array_equal(slopes[0].numpy()[..., ~seen, :], 0)
            expected = F.scaled_dot_product_attention(*map(t, given), attn_mask=t(mask)).numpy()
            np.testing.assert_allclose(found[..., seen, :], expected[..., seen, :], rtol=1e-9)
            by_dtype[mask.dtype.kind] = np.nan_to_num(expected) * seen[:, None]
            self.assertTrue(np.isfinite(plait.grad(lambda x: plait.sum(plait.grad(lambda y: plait.sum(ours(
                y, *map(plait.asarray, given[1:])) ** 2))(x) ** 2))(plait.asarray(given[0])).numpy()).all())
        for dtype in ("f16", "bf16", "f32"):
            narrow = [plait.astype(plait.asarray(x), dtype) for x in given]
            found = plait.scaled_dot_product_attention(*narrow, attn_mask=truth)
            self.assertEqual(str(found.dtype), dtype)
            np.testing.assert_allclose(plait.astype(found, "f64").numpy(), by_dtype["b"], atol=3e-2)

    def test_causal_of_other_lengths(self):
        for queries, keys in ((4, 4), (3, 6), (6, 3), (1, 5), (5, 1)):
            self.attend([draw(2, queries, 4), draw(2, keys, 4), draw(2, keys, 3)], is_causal=True)

    def test_masks(self):
        given = [draw(2, 3, 4, 5), draw(2, 3, 6, 5), draw(2, 3, 6, 2)]
        for shape in ((4, 6), (1, 6), (2, 1, 4, 6), (2, 3, 4, 6), (2, 1, 1, 6)):
            truth = RANDOM.random(shape) < 0.7
            truth[..., 0] = True
            self.attend(given, truth)
            self.attend(given, draw(*shape), scale=0.3)

    def test_shared_heads(self):
        for heads in (1, 2, 4):
            check(lambda q, k, v: plait.scaled_dot_product_attention(q, k, v, is_causal=True),
                  lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True),
                  [draw(2, 4, 3, 5), draw(2, heads, 6, 5), draw(2, heads, 6, 2)])

    def test_huge_scores(self):
        q = np.array([[[1e3, 0.0], [-1e3, 1e3]]])
        self.attend([q, q * 2, draw(1, 2, 3)])

    def test_nothing(self):
        attend = plait.scaled_dot_product_attention
        self.assertEqual(attend(np.zeros((0, 2, 3)), np.zeros((0, 4, 3)), np.zeros((0, 4, 5))).shape, (0, 2, 5))
        np.testing.assert_array_equal(attend(np.ones((2, 3)), np.ones((0, 3)), np.ones((0, 5))).numpy(), np.zeros((2, 5)))


class Dropout(unittest.TestCase):
    X = np.arange(1.0, 41).reshape(4, 10)

    def test_many(self):
        x, key = plait.asarray(self.X), plait.random.key(5)
        alike = plait.vmap(lambda row: plait.dropout(row, 0.5, key))(x).numpy() != 0
        self.assertTrue((alike == alike[0]).all())
        keys = plait.random.split_key(key, 4)
        many = plait.vmap(lambda row, k: plait.dropout(row, 0.5, k))(x, keys).numpy()
        self.assertGreater(len({tuple(row != 0) for row in many}), 1)
        for row, k, found in zip(self.X, range(4), many):
            np.testing.assert_array_equal(plait.dropout(row, 0.5, keys[k]).numpy(), found)

    def test_computed_again(self):
        x, key = plait.asarray(self.X), plait.random.key(7)

        def loss(x, key):
            return plait.sum(plait.dropout(x, 0.4, key) ** 3)

        kept = plait.dropout(x, 0.4, key).numpy() != 0
        wanted = np.where(kept, 3 * self.X ** 2 / 0.6 ** 3, 0)
        for way in (plait.grad(loss), plait.grad(plait.remat(loss)), plait.jit(plait.grad(plait.remat(loss))),
                    plait.grad(plait.jit(plait.remat(loss)))):
            np.testing.assert_allclose(way(x, key).numpy(), wanted, rtol=1e-12)

    def test_of_the_stream(self):
        x = plait.asarray(self.X)

        def masked(x):
            y = plait.dropout(x, 0.5)
            return plait.sum(y ** 2), y

        (_, y), slope = plait.value_and_grad(plait.remat(masked), has_aux=True)(x)
        np.testing.assert_allclose(slope.numpy(), np.where(y.numpy() != 0, 8 * self.X, 0))

    def test_ends(self):
        key = plait.random.key(1)
        check_told(lambda x: plait.dropout(x, 0.0, key), self.X, self.X, np.ones((4, 10)))
        check_told(lambda x: plait.dropout(x, 1.0, key), self.X, np.zeros((4, 10)), np.zeros((4, 10)))
        check_told(lambda x: plait.dropout(x, 1.0, key), [INF, NAN, -INF], [0, 0, 0], [0, 0, 0])


class Convolution(unittest.TestCase):
    LAYOUTS = [("NCHW", "OIHW", "NCHW"), ("NHWC", "HWIO", "NHWC"), ("CNWH", "WIHO", "HNCW")]

    def general(self, x, w, layouts, stride, padding, dilation, input_dilation, groups):
        def theirs(x, w):
            return jax.lax.conv_general_dilated(x, w, stride, padding, input_dilation, dilation, layouts,
                                                feature_group_count=groups, precision="highest")

        def ours(x, w):
            return plait.conv_general(x, w, x_layout=layouts[0], w_layout=layouts[1], out_layout=layouts[2], stride=stride,
                                      padding=padding, dilation=dilation, input_dilation=input_dilation, groups=groups)

        expected, pull = jax.vjp(theirs, x, w)
        close(ours(x, w), expected, 1e-9, "value")
        cotangent = cotangent_of(expected.shape)
        slopes = plait.grad(lambda x, w: plait.sum(ours(x, w) * cotangent), (0, 1))(plait.asarray(x), plait.asarray(w))
        for slope, wanted in zip(slopes, pull(cotangent)):
            close(slope, wanted, 1e-9, "gradient")

    def test_all_together(self):
        sizes = {"N": 2, "C": 4, "H": 7, "W": 6}
        ways = list(itertools.product(
            self.LAYOUTS, ((1, 1), (2, 3)), ([(0, 0), (0, 0)], [(2, 1), (0, 3)], [(-1, 2), (1, -1)]), ((1, 1), (2, 3)),
            ((1, 1), (2, 3)), (1, 2, 4)))
        for layouts, stride, padding, dilation, spread, groups in ways[::13]:  # JAX compiles a program for each
            x = draw(*[sizes[letter] for letter in layouts[0]])
            w = draw(*[{"H": 3, "W": 2, "I": 4 // groups, "O": 4}[letter] for letter in layouts[1]])
            with self.subTest(layouts=layouts, stride=stride, padding=padding, dilation=dilation, spread=spread, groups=groups):
                self.general(x, w, layouts, stride, padding, dilation, spread, groups)

    def test_transposed(self):
        for rank in (1, 2, 3):
            for stride, padding, extra, groups, dilation in itertools.product((1, 2, 3), (0, 1), (0, 1), (1, 2), (1, 2)):
                if extra >= max(stride, dilation):
                    continue
                options = {"stride": stride, "padding": padding, "output_padding": extra, "groups": groups, "dilation": dilation}
                name = f"conv_transpose{rank}d"
                with self.subTest(rank=rank, **options):
                    check(lambda x, w, b: getattr(plait, name)(x, w, b, **options),
                          lambda x, w, b: getattr(F, name)(x, w, b, **options),
                          [draw(2, 4, *(4, 3, 3)[:rank]), draw(4, 3, *(3, 2, 2)[:rank]), draw(3 * groups)])

    def test_no_batch(self):
        self.assertEqual(plait.conv2d(np.zeros((0, 2, 5, 5)), np.zeros((3, 2, 3, 3))).shape, (0, 3, 3, 3))
        slope = plait.grad(lambda w: plait.sum(plait.conv2d(np.zeros((0, 2, 5, 5)), w)))(plait.ones((3, 2, 3, 3), "f64"))
        np.testing.assert_array_equal(slope.numpy(), 0)


class Einsum(unittest.TestCase):
    EQUATIONS = [
        "ij,jk,kl->il", "ij,jk,kl,lm->im", "ij,jk,kl,lm,mn->in", "a,b,c,d,e->", "ab,bc,cd,de,ef,fa->", "abc,cd,de,bef,fg,gh,ha->",
        "ii->", "ii->i", "iij->j", "iji,jk->k", "iii->", "ii,ii->", "ij,ji->", "i,i,i->i", "ij,ij,ij->ij", "...ij,...jk->...ik",
        "i...,i...->...", "...,...->...", "ab,bc", "ba", "i,j", "...ij,j", "abc,abd,abe->cde", "bhqd,bhkd,bhkv->bhqv",
        "ijk,ilm,njm,nlk,abc->", "ab,cd->", "ab,cd->db", "aab,bcc->ac"]

    def test_equations(self):
        sizes = dict(zip("abcdefghijklmnqkvd", itertools.cycle((2, 3, 4))))
        for equation in self.EQUATIONS:
            operands = [draw(*[n for letter in part.replace("...", ".") for n in ((5, 2) if letter == "." else (sizes[letter],))])
                        for part in equation.split("->")[0].split(",")]
            with self.subTest(equation=equation):
                check(lambda *x: plait.einsum(equation, x), lambda *x: torch.einsum(equation, *x), operands)

    def test_sizes_that_stretch(self):
        for equation, shapes in (("ij,ij->ij", ((1, 3), (2, 3))), ("...i,...i->...", ((4, 1, 3), (5, 3))),
                                 ("ij,jk->ik", ((2, 1), (3, 4))),
                                 ("ij,kj,j->ik", ((2, 1), (1, 3), (3,))), ("...a,...b->...", ((2, 3), (1, 4)))):
            with self.subTest(equation=equation):
                check(lambda *x: plait.einsum(equation, x), lambda *x: torch.einsum(equation, *x), [draw(*s) for s in shapes])

    def test_empty(self):
        np.testing.assert_array_equal(plait.einsum("ij,jk->ik", [np.zeros((2, 0)), np.zeros((0, 3))]).numpy(), np.zeros((2, 3)))


class Order(unittest.TestCase):
    """NumPy's stable order; a NaN is the greatest, −0 and 0 are equal."""
    VALUES = np.array([3.0, NAN, -0.0, 0.0, 1.0, -INF, NAN, INF, 0.0, -0.0, 1.0])

    def test_stable(self):
        for x in (self.VALUES, np.array([True, False, True, False]), RANDOM.integers(0, 3, 50), np.array([], float),
                  np.zeros((2, 0))):
            np.testing.assert_array_equal(plait.argsort(x).numpy(), np.argsort(x, -1, kind="stable"))
            np.testing.assert_array_equal(plait.sort(x).numpy(), np.sort(x, -1, kind="stable"))
            down = torch.argsort(t(x), dim=-1, descending=True, stable=True).numpy()
            np.testing.assert_array_equal(plait.argsort(x, descending=True).numpy(), down)

    def test_axes(self):
        x = RANDOM.integers(0, 4, (4, 5, 6)).astype(float)
        for axis in (0, 1, -1):
            np.testing.assert_array_equal(plait.argsort(x, axis).numpy(), np.argsort(x, axis, kind="stable"))
            for largest in (False, True):
                found = plait.topk(x, 3, axis, largest)
                wanted = torch.sort(t(x), dim=axis, descending=largest, stable=True)
                np.testing.assert_array_equal(found.values.numpy(), wanted.values.narrow(axis, 0, 3).numpy())
                np.testing.assert_array_equal(found.indices.numpy(), wanted.indices.narrow(axis, 0, 3).numpy())

    PROGRAM = """
import sys, numpy as np, plait
x = np.random.default_rng(3).integers(0, 1000, 300_000).astype(np.float32)
counts = [plait.histogram(x, 37, 0.0, 900.0).counts, plait.searchsorted(np.arange(0.0, 1000, 7), x)]
results = [plait.sort(x), plait.argsort(x), plait.argsort(x, descending=True), *plait.topk(x, 500), *plait.unique(x)[:3], *counts]
np.savez(sys.stdout.buffer, *[each.numpy() for each in results])
"""

    def test_threads(self):
        results = []
        for threads in ("1", "4"):
            ran = subprocess.run([sys.executable, "-c", self.PROGRAM], env=os.environ | {"PLAIT_THREADS": threads}, check=True,
                                 capture_output=True)
            results.append(np.load(io.BytesIO(ran.stdout)))
        self.assertEqual(len(results[0].files), 10)
        for name in results[0].files:
            np.testing.assert_array_equal(results[0][name], results[1][name])
        x = np.random.default_rng(3).integers(0, 1000, 300_000).astype(np.float32)
        np.testing.assert_array_equal(results[0]["arr_1"], np.argsort(x, kind="stable"))
        np.testing.assert_array_equal(results[0]["arr_8"], np.histogram(x, 37, (0, 900))[0])

    def test_unique(self):
        for x in (self.VALUES, RANDOM.integers(0, 5, (3, 4)), np.array([True, False, True]), np.array([], float)):
            found = plait.unique(x)
            values, indices, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
            np.testing.assert_array_equal(found.values.numpy(), values)
            np.testing.assert_array_equal(found.inverse.numpy(), inverse.reshape(np.shape(x)))
            np.testing.assert_array_equal(found.counts.numpy(), counts)
            np.testing.assert_array_equal(found.indices.numpy(), indices)

    def test_unique_parts(self):
        for shape in ((6, 1), (20, 2), (40, 3), (30, 2, 2), (0, 3), (4, 0), (5,), (25, 7)):
            for axis in range(len(shape)):
                for x in (RANDOM.integers(-1, 2, shape), RANDOM.integers(0, 2, shape).astype(np.float32)):
                    with self.subTest(shape=shape, axis=axis):
                        if 0 in shape and shape[axis] != 0 and axis == 0:
                            continue  # NumPy treats empty slices differently
                        found = plait.unique(x, axis)
                        values, indices, inverse, counts = np.unique(x, True, True, True, axis)
                        np.testing.assert_array_equal(found.values.numpy(), values)
                        np.testing.assert_array_equal(found.inverse.numpy(), inverse.ravel())
                        np.testing.assert_array_equal(found.counts.numpy(), counts)
                        np.testing.assert_array_equal(found.indices.numpy(), indices)
        self.assertEqual(plait.unique(np.zeros((4, 0)), 0).counts.numpy().tolist(), [4])

    def test_searchsorted(self):
        rows = np.array([-INF, -1.0, 0.0, 0.0, 2.0, INF, NAN])
        for side in ("left", "right"):
            for values in (self.VALUES, self.VALUES.reshape(1, 11), np.array([]), np.float64(0.0)):
                np.testing.assert_array_equal(plait.searchsorted(rows, values, side).numpy(), np.searchsorted(rows, values, side))
            np.testing.assert_array_equal(plait.searchsorted(np.array([]), self.VALUES, side).numpy(), 0)

    def test_histogram(self):
        x = np.array([0.0, 1.0, 1.0, 0.5, -1.0, 2.0, 0.25, 0.75, 1.0000001])
        for bins in (1, 2, 4):
            counts, edges = np.histogram(x, bins, (0, 1))
            found = plait.histogram(x, bins, 0.0, 1.0)
            np.testing.assert_array_equal(found.counts.numpy(), counts)
            np.testing.assert_allclose(found.edges.numpy(), edges)
        edges = np.array([0.0, 0.5, 0.5, 1.0])
        np.testing.assert_array_equal(plait.histogram(x, edges).counts.numpy(), np.histogram(x, edges)[0])
        np.testing.assert_array_equal(plait.histogram(np.array([NAN, 0.5, INF]), 2, 0.0, 1.0).counts.numpy(), [0, 1])
        np.testing.assert_array_equal(plait.histogram(np.array([]), 3, 0.0, 1.0).counts.numpy(), [0, 0, 0])

    def test_gradients_of_ties(self):
        x = np.array([2.0, 1.0, 2.0, 1.0])
        for function, theirs in ((plait.sort, lambda x: torch.sort(x, stable=True).values),
                                 (lambda x: plait.sort(x, descending=True),
                                  lambda x: torch.sort(x, descending=True, stable=True).values)):
            check(function, theirs, [x])

    def test_middle(self):
        for x in (np.array([[1.0, NAN, 2.0], [3.0, 1.0, 2.0]]), np.array([[INF, INF, 1.0, INF], [-INF, 0.0, INF, -INF]]),
                  np.array([[8.0, 1.0], [5.0, -5.0]])):
            with np.errstate(all="ignore"):
                np.testing.assert_array_equal(plait.median(x, 1).numpy(), np.median(x, 1))
        x = np.array([[1.0, NAN, 2.0], [3.0, 1.0, 2.0]])
        for q in (0.0, 0.25, 0.5, 1.0):
            np.testing.assert_allclose(plait.quantile(x, q, 1).numpy(), np.quantile(x, q, 1))


if __name__ == "__main__":
    unittest.main()
