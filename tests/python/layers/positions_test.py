"""Rotary embeddings and their scalings, ALiBi and sinusoids compared with the formulas of the papers."""

import math
import unittest

import numpy as np
import plait as pl

from layer_ways import close, for_symbolic_sizes, in_all_ways, refused

RANDOM = np.random.default_rng(5)
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}


def draw(*shape):
    return RANDOM.normal(size=shape)


def theta(width, base=10000.0):
    return np.array([base ** (-2 * d / width) for d in range(width // 2)])


def llama3(width, base, factor, low, high, original):
    """By wavelength, as the code that Meta published does."""
    made = []
    for frequency in theta(width, base):
        wavelength = 2 * math.pi / frequency
        if wavelength < original / high:
            made.append(frequency)
        elif wavelength > original / low:
            made.append(frequency / factor)
        else:
            smooth = (original / wavelength - low) / (high - low)
            made.append((1 - smooth) * frequency / factor + smooth * frequency)
    return np.array(made)


def yarn(width, base, scale, original, fast=32, slow=1, is_rounded=True):
    """YaRN: h(θ_d) = (1 - γ(d)) θ_d / s + γ(d) θ_d; γ is a ramp over dimensions, 1 at `fast` rotations and 0 at `slow` ones."""
    bounds = [width * math.log(original / (2 * math.pi * rotations)) / (2 * math.log(base)) for rotations in (fast, slow)]
    if is_rounded:
        bounds = [math.floor(bounds[0]), math.ceil(bounds[1])]
    first, last = max(bounds[0], 0), min(bounds[1], width - 1)
    made = []
    for d, frequency in enumerate(theta(width, base)):
        gamma = 1 - min(max((d - first) / (last - first), 0), 1)
        made.append((1 - gamma) * frequency / scale + gamma * frequency)
    return np.array(made)


def dynamic(width, base, factor, length, original):
    grown = base * (factor * length / original - (factor - 1)) ** (width / (width - 2)) if length > original else base
    return theta(width, grown)


def rotated(x, frequencies, positions, is_interleaved=False):
    """By complex numbers."""
    half = len(frequencies)
    pairs = (x[..., 0::2], x[..., 1::2]) if is_interleaved else (x[..., :half], x[..., half:])
    turned = (pairs[0] + 1j * pairs[1]) * np.exp(1j * np.multiply.outer(positions, frequencies))
    if not is_interleaved:
        return np.concatenate([turned.real, turned.imag], -1)
    return np.stack([turned.real, turned.imag], -1).reshape(x.shape)


class Rotary(unittest.TestCase):
    def test_layouts(self):
        x = draw(2, 3, 9, 8)
        for is_interleaved in False, True:
            rope = pl.nn.RoPE(8, 500.0, is_interleaved)
            close(rope(x), rotated(x, theta(8, 500.0), np.arange(9), is_interleaved), "layout", 1e-13)
            close(rope(x, offset=4), rotated(x, theta(8, 500.0), 4 + np.arange(9), is_interleaved), "offset", 1e-13)
            close(rope(x, offset=pl.tensor(4)), rope(x, offset=4), "offset of a tensor", 1e-15)
            places = RANDOM.integers(0, 100, (2, 1, 9))
            close(rope(x, pl.asarray(places)), rotated(x, theta(8, 500.0), places, is_interleaved), "positions", 1e-13)
            close(rope(x), pl.rope(x, base=500.0, is_interleaved=is_interleaved), "the function of plait", 1e-13)
            partly = pl.nn.RoPE(8, is_interleaved=is_interleaved, width=4)(x)
            close(partly[..., :4], rotated(x[..., :4], theta(4), np.arange(9), is_interleaved), "the first numbers", 1e-13)
            np.testing.assert_array_equal(partly[..., 4:], x[..., 4:])

    def test_scalings(self):
        yarn_fields = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 512}
        for scaling, base, wanted, factor in (
                (None, 1e4, theta(64), 1), ({"rope_type": "default"}, 1e4, theta(64), 1),
                ({"type": "linear", "factor": 4.0}, 1e4, theta(64) / 4, 1),
                (LLAMA3, 5e5, llama3(64, 5e5, 8.0, 1.0, 4.0, 8192), 1),
                (LLAMA3 | {"factor": 32.0, "high_freq_factor": 3.0, "low_freq_factor": 0.5}, 1e4, llama3(64, 1e4, 32.0, 0.5, 3.0, 8192), 1),
                (yarn_fields, 1e4, yarn(64, 1e4, 4.0, 512), 0.1 * math.log(4) + 1),
                (yarn_fields | {"beta_fast": 16, "beta_slow": 2, "attention_factor": 1.5}, 1e4, yarn(64, 1e4, 4.0, 512, 16, 2), 1.5),
                (yarn_fields | {"truncate": False}, 1e4, yarn(64, 1e4, 4.0, 512, is_rounded=False), 0.1 * math.log(4) + 1),
                (yarn_fields | {"factor": 40.0, "mscale": 1.0, "mscale_all_dim": 0.7}, 1e4, yarn(64, 1e4, 40.0, 512),
                 (0.1 * math.log(40) + 1) / (0.07 * math.log(40) + 1)),
                (yarn_fields | {"factor": 1.0}, 1e4, theta(64), 1)):
            with self.subTest(scaling=scaling):
                rope, x = pl.nn.RoPE(64, base, scaling=scaling), draw(3, 50, 64)
                close(rope.frequencies(), wanted, "frequencies", 1e-14)
                self.assertAlmostEqual(rope.attention_factor, factor, delta=1e-14)
                close(rope(x, offset=100), factor * rotated(x, wanted, 100 + np.arange(50)), "rotated", 1e-11)
        named = {"rope_theta": 5e5, "partial_rotary_factor": 0.5}
        close(pl.nn.RoPE(128, scaling=LLAMA3 | named).frequencies(), llama3(64, 5e5, 8.0, 1.0, 4.0, 8192), "by the configuration", 1e-14)
        short = pl.nn.RoPE(64, scaling={"rope_type": "yarn", "factor": 4.0}, max_position_embeddings=512)
        np.testing.assert_array_equal(short.frequencies(), pl.nn.RoPE(64, scaling=yarn_fields).frequencies())

    def test_each_part_of_llama3_and_yarn_is_there(self):
        kept = pl.nn.RoPE(64, scaling=LLAMA3).frequencies().numpy() / theta(64)
        yarn_fields = {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 512}
        other = pl.nn.RoPE(64, scaling=yarn_fields).frequencies().numpy() / theta(64)
        for ratio in kept, other:
            self.assertTrue(np.isclose(ratio, 1).any() and np.isclose(ratio, 1 / 8).any() and ((ratio > 0.13) & (ratio < 0.99)).any())

    def test_dynamic(self):
        rope = pl.nn.RoPE(16, scaling={"rope_type": "dynamic", "factor": 2.0}, max_position_embeddings=10)
        jitted = pl.jit(lambda x: rope(x))
        for length in 4, 10, 11, 25, 60:
            x = draw(2, length, 16)
            wanted = rotated(x, dynamic(16, 1e4, 2.0, length, 10), np.arange(length))
            close(rope(x), wanted, "dynamic", 1e-12)
            close(jitted(pl.asarray(x)), wanted, "dynamic, jitted", 1e-12)
        self.assertLessEqual(pl.stats(jitted).traces, 2)
        x = draw(2, 1, 16)
        close(rope(x, offset=pl.tensor(24)), rotated(x, dynamic(16, 1e4, 2.0, 25, 10), np.array([24])), "one step", 1e-12)

    def test_narrow_numbers_have_exact_angles(self):
        x = draw(1, 3, 64).astype(np.float32)
        rope, far = pl.nn.RoPE(64), np.array([100000, 131071, 1000003])
        found = rope(pl.asarray(x), pl.asarray(far))
        self.assertEqual(found.dtype, pl.f32)
        np.testing.assert_allclose(found.numpy(), rotated(x.astype(np.float64), theta(64), far), atol=1e-6)
        self.assertEqual(rope(pl.asarray(x).astype(pl.bf16)).dtype, pl.bf16)

    def test_in_all_ways(self):
        scaling = {"rope_type": "dynamic", "factor": 2.0, "original_max_position_embeddings": 3}

        class Rotated(pl.Module):
            def __init__(self, key):
                self.scale, self.rope = pl.random.normal(key, (4,), dtype=pl.f64), pl.nn.RoPE(4, scaling=scaling)

            def __call__(self, x):
                return self.rope(x * self.scale) ** 2

        in_all_ways(Rotated, lambda layer, x: layer(x), (pl.asarray(draw(2, 5, 4)),))
        for_symbolic_sizes(lambda layer, x: layer(x), pl.nn.RoPE(4), [(pl.asarray(draw(*shape, 4)),) for shape in ((2, 3), (4, 5), (3, 7), (6, 2))])


class Biases(unittest.TestCase):
    def test_slopes(self):
        for heads in 1, 2, 8, 16:
            close(pl.nn.ALiBi(heads).slopes, [2.0 ** (-8 * (i + 1) / heads) for i in range(heads)], "powers of two", 1e-15)
        twelve = [2.0 ** -(i + 1) for i in range(8)] + [2.0 ** -(i + 0.5) for i in range(4)]  # as BLOOM's and MPT's
        close(pl.nn.ALiBi(12).slopes, twelve, "twelve heads", 1e-15)
        close(pl.nn.ALiBi(3).slopes, [2.0**-4, 2.0**-8, 2.0**-2], "three heads", 1e-15)

    def test_bias(self):
        wanted = -np.array([2.0**-4, 2.0**-8])[:, None, None] * np.abs(2 + np.arange(3)[:, None] - np.arange(5))
        close(pl.nn.ALiBi(2)(3, 5, 2, dtype=pl.f64), wanted, "bias", 1e-15)


class Sinusoids(unittest.TestCase):
    def test_both_layouts(self):
        positions, width = np.array([[0, 3, 77], [5, 1, 1000]]), 6
        for is_interleaved in True, False:
            wanted = np.zeros((2, 3, width))
            for i in range(width // 2):
                angle = positions / 100.0 ** (2 * i / width)
                first, second = (2 * i, 2 * i + 1) if is_interleaved else (i, width // 2 + i)
                wanted[..., first], wanted[..., second] = np.sin(angle), np.cos(angle)
            layer = pl.nn.SinusoidalEmbedding(width, 100.0, is_interleaved, dtype=pl.f64)
            close(layer(pl.asarray(positions)), wanted, "sinusoids", 1e-14)
            close(pl.jit(layer)(pl.asarray(positions)), wanted, "sinusoids", 1e-14)
        self.assertEqual(pl.nn.SinusoidalEmbedding(4)(pl.tensor(0.5)).dtype, pl.f32)
        for_symbolic_sizes(lambda layer, x: layer(x), pl.nn.SinusoidalEmbedding(4, dtype=pl.f64), [(pl.arange(count),) for count in (3, 5, 2)])
        for_symbolic_sizes(lambda layer, x: layer(x.shape[0], x.shape[0] + 1), pl.nn.ALiBi(3), [(pl.arange(count),) for count in (3, 5, 2)])


class Refusals(unittest.TestCase):
    def test_what_is_refused(self):
        rope = pl.nn.RoPE
        refused(self, (
            (lambda: rope(5), pl.ValueError, "nn.RoPE: a width of 5 in heads of 5, expected an even one"),
            (lambda: rope(4, width=6), pl.ValueError, "a width of 6 in heads of 4"),
            (lambda: rope(4, 0), pl.ValueError, "base is 0"),
            (lambda: rope(4, 1e4, scaling={"rope_theta": 5e5}), pl.ValueError, "base is 10000.0, and 500000.0 by the scaling"),
            (lambda: rope(4, width=4, scaling={"partial_rotary_factor": 0.5}), pl.ValueError, "width is 4, and 2 by the scaling"),
            (lambda: rope(4, scaling={"rope_type": "ntk"}), pl.ValueError, "rope_type is 'ntk', expected one of 'default', 'linear', 'dynamic'"),
            (lambda: rope(4, scaling={"rope_type": "linear"}), pl.ValueError, "the scaling 'linear' needs factor"),
            (lambda: rope(4, scaling={"rope_type": "linear", "factor": 0}), pl.ValueError, "the scaling 'linear' needs factor"),
            (lambda: rope(4, scaling={"rope_type": "linear", "factr": 2}), pl.ValueError, r"unknown field 'factr'[\s\S]*did you mean 'factor'"),
            (lambda: rope(4, scaling={"rope_type": "yarn", "factor": 2}), pl.ValueError, "needs original_max_position_embeddings"),
            (lambda: rope(4, scaling=LLAMA3 | {"high_freq_factor": 1.0}), pl.ValueError, "low_freq_factor must be less"),
            (lambda: rope(2, scaling={"rope_type": "dynamic", "factor": 2}, max_position_embeddings=4), pl.ValueError, "needs a width of 4"),
            (lambda: rope(4)(pl.ones((3, 6))), pl.ShapeError, r"x is f32\[3, 6\], expected \[..., length, 4\]"),
            (lambda: pl.nn.ALiBi(0), pl.ValueError, "nn.ALiBi: num_heads is 0"),
            (lambda: pl.nn.SinusoidalEmbedding(3), pl.ValueError, "embedding_dim is 3"),
            (lambda: pl.nn.SinusoidalEmbedding(4, -1.0), pl.ValueError, "nn.SinusoidalEmbedding: base is -1.0")))


if __name__ == "__main__":
    unittest.main()
