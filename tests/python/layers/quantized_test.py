"""Layers of integers of 8 and 4 bits compared with codes that NumPy computes."""

import itertools
import unittest

import numpy as np
import plait as pl

from layer_ways import close, for_symbolic_sizes, in_all_ways, refused

RANDOM = np.random.default_rng(8)


def p(*shape):
    return pl.asarray(RANDOM.normal(size=shape))


def quantized(weight, bits, group):
    """Codes, scales, zero points and the weight that they stand for, row by row and group by group."""
    least, greatest = (-128, 127) if bits == 8 else (0, 15)
    codes, scales, zeros, again = np.zeros(weight.shape, int), [], [], np.zeros(weight.shape)
    for row, values in enumerate(weight):
        for first in range(0, len(values), group):
            part = values[first:first + group]
            low, high = min(part.min(), 0), max(part.max(), 0)
            scale = (high - low) / (greatest - least) or 1
            zero = np.round(least - low / scale)
            own = np.clip(np.round(part / scale) + zero, least, greatest)
            codes[row, first:first + group], again[row, first:first + group] = own, (own - zero) * scale
            scales.append(scale)
            zeros.append(zero)
    shape = (len(weight), -1)
    return codes, np.reshape(scales, shape), np.reshape(zeros, shape), again


def unpacked(codes, width):
    return np.stack([codes & 15, codes >> 4], -1).reshape(len(codes), -1)[:, :width]


class Codes(unittest.TestCase):
    def test_codes_scales_and_weights(self):
        for bits, (width, group) in itertools.product((8, 4), ((12, None), (12, 4), (12, 3), (7, None), (1, 1))):
            with self.subTest(bits=bits, width=width, group=group):
                layer = pl.nn.Linear(width, 5, dtype=pl.f64)
                layer.weight = layer.weight.at[1].set(0.0).at[2].set(abs(layer.weight[2]) + 1.0)
                made = pl.nn.QuantizedLinear.from_linear(layer, bits, group)
                codes, scales, zeros, again = quantized(layer.weight.numpy(), bits, group or width)
                found = made.codes.numpy()
                self.assertEqual((found.dtype, found.shape), (np.int8, (5, width)) if bits == 8 else (np.uint8, (5, (width + 1) // 2)))
                np.testing.assert_array_equal(found if bits == 8 else unpacked(found, width), codes)
                close(made.scales, scales, "scales", 1e-14)
                np.testing.assert_array_equal(made.zero_points, zeros)
                close(made.weight, again, "weight", 1e-14)
                error = np.abs(made.weight.numpy() - layer.weight.numpy()).reshape(5, -1, group or width).max(-1)
                self.assertTrue((error <= 1.0000001 * scales).all())
                x = p(3, width)
                close(made(x), x.numpy() @ again.T + layer.bias.numpy(), "product", 1e-12)
                np.testing.assert_array_equal(made.weight[1], np.zeros(width))

    def test_embedding(self):
        for bits, group in itertools.product((8, 4), (None, 2)):
            layer = pl.nn.Embedding(7, 6, dtype=pl.f64)
            made, ids = pl.nn.QuantizedEmbedding.from_embedding(layer, bits, group), np.array([[3, 0, 6], [1, 1, 2]])
            close(made(pl.asarray(ids)), quantized(layer.weight.numpy(), bits, group or 6)[3][ids], "rows", 1e-14)
            close(pl.jit(made)(pl.asarray(ids)), made.weight.numpy()[ids], "rows", 1e-14)
        self.assertEqual(pl.nn.QuantizedEmbedding(7, 6, 4, 3).scales.shape, (7, 2))
        cases = [(pl.asarray(RANDOM.integers(0, 7, count)),) for count in (3, 5, 2, 6)]
        for_symbolic_sizes(lambda layer, ids: layer(ids), pl.nn.QuantizedEmbedding(7, 6, 4, 3, dtype=pl.f64), cases)

    def test_more_bits_and_smaller_groups_are_closer(self):
        layer, x = pl.nn.Linear(64, 32, dtype=pl.f64), p(10, 64)
        errors = [np.abs((pl.nn.QuantizedLinear.from_linear(layer, *given)(x) - layer(x)).numpy()).mean()
                  for given in ((4, None), (4, 16), (4, 4), (8, None))]
        self.assertEqual(errors, sorted(errors, reverse=True))
        self.assertLess(errors[-1], 0.01)


class Scaled(pl.Module):
    """A layer that is not trained, behind a weight that is."""

    def __init__(self, bits, key):
        self.layer = pl.nn.QuantizedLinear(6, 4, bits=bits, group_size=2, key=key, dtype=pl.f64)
        self.scale = pl.random.normal(key, (6,), dtype=pl.f64)

    def __call__(self, x):
        return self.layer(x * self.scale) ** 2


class Models(unittest.TestCase):
    def make(self):
        return pl.nn.Sequential(pl.nn.Embedding(9, 6, dtype=pl.f64), pl.nn.Linear(6, 8, dtype=pl.f64), pl.tanh,
                                pl.nn.Linear(8, 4, False, dtype=pl.f64))

    def test_quantize(self):
        model, ids = self.make(), pl.tensor([[1, 8], [0, 3]])
        for bits, group in ((8, None), (8, 2), (4, 2)):
            made = pl.nn.quantize(model, bits, group)
            self.assertEqual([type(made[place]).__name__ for place in (0, 1, 3)], ["QuantizedEmbedding", "QuantizedLinear", "QuantizedLinear"])
            close(made(ids), model(ids), "model", 0.02 if bits == 8 else 0.5)
            self.assertFalse(np.array_equal(made(ids), model(ids)))
        some = pl.nn.quantize(model, pattern=["0", "3"]).eval()
        self.assertIs(type(some[1]), pl.nn.Linear)
        self.assertEqual([path for path, leaf in pl.tree.leaves_with_paths(pl.grad(lambda model: pl.sum(model(ids)))(some)) if leaf is not None],
                         ["1.weight", "1.bias"])
        self.assertFalse(pl.nn.quantize(some, pattern="1")[1].training)
        self.assertIs(type(model[1]), pl.nn.Linear)

    def test_nothing_of_it_is_trained(self):
        layer, x = pl.nn.QuantizedLinear(6, 4, dtype=pl.f64), p(3, 6)
        slopes, by_x = pl.grad(lambda layer, x: pl.sum(layer(x) ** 2), (0, 1))(layer, x)
        self.assertEqual([leaf for leaf in pl.tree.leaves(slopes) if leaf is not None], [])
        close(by_x, 2 * layer(x).numpy() @ layer.weight.numpy(), "by x", 1e-12)
        again = layer.dequantized()
        close(again(x), layer(x), "dequantized", 1e-14)
        self.assertIsNotNone(pl.grad(lambda layer: pl.sum(layer(x)))(again).weight)

    def test_in_all_ways(self):
        for bits in 8, 4:
            with self.subTest(bits=bits):
                in_all_ways(lambda key: Scaled(bits, key), lambda model, x: model(x), (p(3, 6),))
                layer = pl.nn.QuantizedLinear(6, 4, bits=bits, group_size=2, dtype=pl.f64)
                for_symbolic_sizes(lambda layer, x: layer(x), layer, [(p(count, 6),) for count in (4, 2, 5, 7)])

    def test_what_is_refused(self):
        nn = pl.nn
        refused(self, (
            (lambda: nn.QuantizedLinear(6, 4, bits=3), pl.ValueError, "nn.QuantizedLinear: bits is 3, expected 8 or 4"),
            (lambda: nn.QuantizedLinear(6, 4, group_size=4), pl.ValueError, "nn.QuantizedLinear: groups of 4 of 6 columns"),
            (lambda: nn.QuantizedLinear(6, 4, group_size=0), pl.ValueError, "nn.QuantizedLinear: group_size is 0"),
            (lambda: nn.QuantizedEmbedding(6, 4, 16), pl.ValueError, "nn.QuantizedEmbedding: bits is 16"),
            (lambda: nn.quantize(self.make(), group_size=4), pl.ValueError, r"nn.quantize: 0: [\s\S]*groups of 4 of 6"),
            (lambda: nn.quantize(self.make(), pattern="layer.1"), pl.ValueError, r"nn.quantize: no Linear or Embedding matches[\s\S]*1")))


if __name__ == "__main__":
    unittest.main()
