"""Convolution, pooling, norms, resampling, attention and activations as users call them, compared with PyTorch:
their options by name, alone and combined."""

import unittest

import numpy as np
import plait
import torch
import torch.nn.functional as F

RANDOM = np.random.default_rng(6)


def draw(*shape):
    return RANDOM.normal(size=shape)


def t(array):
    return None if array is None else torch.from_numpy(np.asarray(array))


def same(result, expected, accuracy=1e-10):
    assert isinstance(result, plait.Tensor), type(result)
    expected = expected.numpy() if isinstance(expected, torch.Tensor) else np.asarray(expected)
    np.testing.assert_allclose(result.numpy(), expected, rtol=accuracy, atol=accuracy)
    assert result.shape == expected.shape


class Convolution(unittest.TestCase):
    def test_options(self):
        for rank in (1, 2, 3):
            x, bias = draw(2, 4, *(7, 6, 5)[:rank]), draw(6)
            for options in ({}, {"stride": 2}, {"padding": 1}, {"padding": [2, 1, 1][:rank], "dilation": 2},
                            {"stride": [2, 1, 3][:rank], "padding": 1, "groups": 2}, {"padding": "same"}, {"padding": "valid"}):
                kernel = (3, 3, 3) if options.get("padding") == "same" else (3, 2, 2)
                w = draw(6, 4 // options.get("groups", 1), *kernel[:rank])
                with self.subTest(rank=rank, options=options):
                    name = f"conv{rank}d"
                    expected = getattr(F, name)(t(x), t(w), t(bias), **options)
                    same(getattr(plait, name)(x, w, bias, **options), expected)
                    same(getattr(plait, name)(x, w, **options), getattr(F, name)(t(x), t(w), **options))

    def test_padding_of_each_end(self):
        x, w = draw(1, 2, 5, 5), draw(3, 2, 3, 3)
        expected = F.conv2d(F.pad(t(x), (2, 0, 0, 1)), t(w))
        same(plait.conv2d(x, w, padding=[(0, 1), (2, 0)]), expected)

    def test_transposed(self):
        for rank in (1, 2, 3):
            x, w, bias = draw(2, 4, *(5, 4, 3)[:rank]), draw(4, 3, *(3, 2, 2)[:rank]), draw(6)
            options = {"stride": 2, "padding": 1, "output_padding": 1, "groups": 2, "dilation": 2}
            name = f"conv_transpose{rank}d"
            same(getattr(plait, name)(x, w, bias, **options), getattr(F, name)(t(x), t(w), t(bias), **options))

    def test_general(self):
        x, w = draw(2, 5, 6, 3), draw(3, 3, 3, 4)
        result = plait.conv_general(x, w, x_layout="NHWC", w_layout="HWIO", out_layout="NHWC", padding="same")
        expected = F.conv2d(t(x).permute(0, 3, 1, 2), t(w).permute(3, 2, 0, 1), padding="same").permute(0, 2, 3, 1)
        same(result, expected)
        x, w = draw(1, 2, 4), draw(3, 2, 3)
        spread = np.zeros((1, 2, 7))
        spread[..., ::2] = x
        same(plait.conv_general(x, w, input_dilation=2), F.conv1d(t(spread), t(w)))

    def test_refusals(self):
        x, w = draw(1, 2, 5), draw(3, 2, 3)
        for kind, action in ((plait.TypeError, lambda: plait.conv1d(x, w, stride="two")),
                             (plait.ValueError, lambda: plait.conv1d(x, w, stride=0)),
                             (plait.ValueError, lambda: plait.conv1d(x, w, padding="most")),
                             (plait.ValueError, lambda: plait.conv1d(x, w, stride=[1, 2])),
                             (ValueError, lambda: plait.conv1d(x, draw(3, 3, 3))), (TypeError, lambda: plait.conv1d(x, w, None, 2)),
                             (TypeError, lambda: plait.conv1d(x, w, strides=2))):
            with self.assertRaises(kind):
                action()


class Pooling(unittest.TestCase):
    def test_options(self):
        for rank in (1, 2, 3):
            x = draw(2, 3, *(9, 8, 7)[:rank])
            for options in ({}, {"stride": 1}, {"stride": 2, "padding": 1}, {"ceil_mode": True, "stride": [2, 3, 1][:rank]}):
                with self.subTest(rank=rank, options=options):
                    expected, places = getattr(F, f"max_pool{rank}d")(t(x), 3, return_indices=True, **options)
                    result = getattr(plait, f"max_pool{rank}d_with_indices")(x, 3, **options)
                    same(result.values, expected)
                    same(result.indices, places)
                    same(getattr(plait, f"max_pool{rank}d")(x, [3] * rank, **options), expected)
                    same(getattr(plait, f"avg_pool{rank}d")(x, 3, **options), getattr(F, f"avg_pool{rank}d")(t(x), 3, **options))
        x = draw(1, 1, 8)
        same(plait.max_pool1d(x, 2, dilation=3, stride=1), F.max_pool1d(t(x), 2, dilation=3, stride=1))

    def test_what_averages_are_divided_by(self):
        x = draw(1, 2, 6, 6)
        same(plait.avg_pool2d(x, 3, padding=1, count_include_pad=False), F.avg_pool2d(t(x), 3, padding=1, count_include_pad=False))
        same(plait.avg_pool2d(x, 2, divisor_override=3), F.avg_pool2d(t(x), 2, divisor_override=3))

    def test_adaptive(self):
        for rank in (1, 2, 3):
            x = draw(2, 3, *(9, 8, 7)[:rank])
            for counts in (4, [3, 5, 2][:rank]):
                for kind in ("avg", "max"):
                    name = f"adaptive_{kind}_pool{rank}d"
                    same(getattr(plait, name)(x, counts), getattr(F, name)(t(x), counts))
        x = draw(1, 2, 5, 7)
        expected, places = F.adaptive_max_pool2d(t(x), (2, 3), return_indices=True)
        result = plait.adaptive_max_pool2d_with_indices(x, (2, 3))
        same(result.values, expected)
        same(result.indices, places)


class Norms(unittest.TestCase):
    def test_each(self):
        x, weight, bias = draw(3, 4, 5, 6), draw(4), draw(4)
        last, last_bias = draw(5, 6), draw(5, 6)
        same(plait.layer_norm(x, (5, 6), last, last_bias, 1e-3), F.layer_norm(t(x), (5, 6), t(last), t(last_bias), 1e-3))
        same(plait.layer_norm(x, 6), F.layer_norm(t(x), (6,)))
        same(plait.rms_norm(x, (5, 6), last), F.rms_norm(t(x), (5, 6), t(last)))
        same(plait.rms_norm(x, 6, eps=0.1), F.rms_norm(t(x), (6,), eps=0.1))
        same(plait.group_norm(x, 2, weight, bias), F.group_norm(t(x), 2, t(weight), t(bias)))
        same(plait.instance_norm(x, weight, bias, eps=1e-2), F.instance_norm(t(x), weight=t(weight), bias=t(bias), eps=1e-2))
        same(plait.normalize(x, 3, 2), F.normalize(t(x), 3, 2))
        w, outputs = draw(2, 6), draw(2)
        same(plait.linear(x, w, outputs), F.linear(t(x), t(w), t(outputs)))
        values, scale = plait.standardize(x, eps=0.5, is_centred=False)
        same(scale, (np.mean(x**2, -1) + 0.5)**-0.5)
        same(values, x * (np.mean(x**2, -1, keepdims=True) + 0.5)**-0.5)

    def test_batch_norm(self):
        x, weight, bias = draw(3, 4, 5), draw(4), draw(4)
        mean, variance = draw(4), draw(4)**2 + 1
        their_mean, their_variance = t(mean.copy()), t(variance.copy())
        expected = F.batch_norm(t(x), their_mean, their_variance, t(weight), t(bias), True, 0.3, 1e-3)
        result = plait.batch_norm(x, weight=weight, bias=bias, running_mean=mean, running_var=variance, momentum=0.3,
                                  eps=1e-3)
        for ours, theirs in zip(result, (expected, their_mean, their_variance)):
            same(ours, theirs)
        self.assertEqual(result._fields, ("values", "running_mean", "running_var"))
        self.assertIsNone(plait.batch_norm(x).running_mean)
        result = plait.batch_norm(x, running_mean=mean, running_var=variance, training=False)
        same(result.values, F.batch_norm(t(x), t(mean), t(variance)))

    def test_dropout(self):
        x, keep = draw(4, 5), RANDOM.random((4, 5)) < 0.7
        same(plait.dropout(x, 0.3, keep=keep), np.where(keep, x / 0.7, 0))
        key, many = plait.random.key(3), np.ones(10000)
        first = plait.dropout(many, 0.3, key)
        np.testing.assert_array_equal(plait.dropout(many, p=0.3, key=key).numpy(), first.numpy())
        self.assertAlmostEqual((first.numpy() == 0).mean(), 0.3, delta=0.03)
        self.assertAlmostEqual((plait.dropout(many).numpy() == 2).mean(), 0.5, delta=0.03)
        for action in (lambda: plait.dropout(x, 0.3, key, keep), lambda: plait.dropout(x, 1.5)):
            with self.assertRaises(plait.ValueError):
                action()


class Resampling(unittest.TestCase):
    def test_interpolate(self):
        modes = {1: ("nearest", "linear", "area"), 2: ("nearest", "nearest_exact", "linear", "cubic", "area"),
                 3: ("nearest", "linear")}
        theirs = {("linear", 1): "linear", ("linear", 2): "bilinear", ("linear", 3): "trilinear", ("cubic", 2): "bicubic"}
        for rank, names in modes.items():
            x = draw(1, 2, *(5, 6, 4)[:rank])
            for name in names:
                mode = theirs.get((name, rank), name.replace("_", "-"))
                with self.subTest(rank=rank, mode=name):
                    sizes = [7, 9, 3][:rank]
                    same(plait.interpolate(x, size=sizes, mode=name), F.interpolate(t(x), sizes, mode=mode))
                    same(plait.interpolate(x, scale_factor=2, mode=name), F.interpolate(t(x), scale_factor=2, mode=mode))
                    if (name, rank) in theirs:
                        same(plait.interpolate(x, size=8, mode=name, align_corners=True),
                             F.interpolate(t(x), 8, mode=mode, align_corners=True))

    def test_grid_sample(self):
        x, grid = draw(2, 3, 5, 6), draw(2, 4, 4, 2) * 0.8
        theirs = {"linear": "bilinear", "cubic": "bicubic", "nearest": "nearest"}
        for mode in theirs:
            for padding in ("zeros", "border", "reflection"):
                for corners in (False, True):
                    same(plait.grid_sample(x, grid, mode=mode, padding=padding, align_corners=corners),
                         F.grid_sample(t(x), t(grid), theirs[mode], padding, corners), 1e-9)
        with self.assertRaises(plait.ValueError):
            plait.grid_sample(x, grid, mode="bilinear")


class Attention(unittest.TestCase):
    def test_options(self):
        q, k, v = draw(2, 4, 5, 8), draw(2, 4, 6, 8), draw(2, 4, 6, 3)
        mask, added = RANDOM.random((5, 6)) < 0.8, draw(5, 6)
        mask[:, 0] = True
        attend = plait.scaled_dot_product_attention
        for ours, theirs in (({}, {}), ({"mask": mask}, {"attn_mask": t(mask)}),
                             ({"mask": added, "scale": 0.3}, {"attn_mask": t(added), "scale": 0.3}),
                             ({"is_causal": True}, {"is_causal": True})):
            same(attend(q, k, v, **ours), F.scaled_dot_product_attention(t(q), t(k), t(v), **theirs))
        same(attend(q, k[:, :2], v[:, :2]), F.scaled_dot_product_attention(t(q), t(k[:, :2]), t(v[:, :2]), enable_gqa=True))

    def test_rope(self):
        x, offset, base = draw(2, 5, 6), 3, 100.0
        angles = (np.arange(5) + offset)[:, None] * base**(-np.arange(3) / 3)
        a, b = x[..., 0::2], x[..., 1::2]
        turned = np.stack([a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)], -1).reshape(x.shape)
        same(plait.rope(x, base=base, is_interleaved=True, offset=offset), turned, 1e-6)
        same(plait.rope(x, positions=np.arange(3, 8), base=base, is_interleaved=True), turned, 1e-6)
        a, b = x[..., :3], x[..., 3:]
        angles = np.arange(5)[:, None] * 0.5 * 10000.0**(-np.arange(3) / 3)
        expected = np.concatenate([a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)], -1)
        same(plait.rope(x, scale=0.5), expected, 1e-6)
        same(plait.rope(np.concatenate([x, x], -1), scale=0.5, width=6), np.concatenate([expected, x], -1), 1e-6)


class Activations(unittest.TestCase):
    def test_options(self):
        x = draw(4, 6) * 3
        for result, expected in (
            (plait.gelu(x), F.gelu(t(x))), (plait.gelu(x, "tanh"), F.gelu(t(x), approximate="tanh")),
            (plait.gelu(x, "fast"), t(x) * torch.sigmoid(1.702 * t(x))),
            (plait.leaky_relu(x, negative_slope=0.2), F.leaky_relu(t(x), 0.2)), (plait.elu(x, 0.5), F.elu(t(x), 0.5)),
            (plait.hardtanh(x, -2, 0.5), F.hardtanh(t(x), -2, 0.5)), (plait.threshold(x, 0.5, otherwise=9), F.threshold(t(x), 0.5,
                                                                                                                        9)),
            (plait.softplus(x, beta=2), F.softplus(t(x), 2, 1e9)), (plait.softshrink(x, 0.25), F.softshrink(t(x), 0.25)),
            (plait.softmin(x, 0), F.softmin(t(x), 0)), (plait.glu(x), F.glu(t(x))),
            (plait.prelu(x, np.arange(6.0)), F.prelu(t(x), t(np.arange(6.0)))),
        ):
            same(result, expected)
        masked = np.where(x > 0, x, -np.inf)
        masked[0] = -np.inf
        expected = np.nan_to_num(torch.softmax(t(masked), -1).numpy())
        same(plait.masked_softmax(masked), expected)


if __name__ == "__main__":
    unittest.main()
