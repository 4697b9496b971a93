"""Images, and comparisons with torchvision, for the tests of transforms."""

import functools
import unittest

import numpy as np
import plait as pl
import torch

torch.set_num_threads(1)


def image(shape, dtype="u1", interleaved=False, seed=0):
    """Random pixels [..., channels, height, width]; interleaved, a view of [..., height, width, channels]."""
    draw = np.random.default_rng(seed)
    pixels = draw.integers(0, 256, shape, dtype="u1") if dtype == "u1" else draw.random(shape).astype(dtype)
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(pixels, -3, -1)), -1, -3) if interleaved else pixels


def smooth(shape, dtype="u1"):
    """Pixels that change slowly, as those of photographs."""
    y, x = np.mgrid[:shape[-2], :shape[-1]]
    waves = np.stack([np.sin(x / (3 + c) + c) * np.cos(y / (5 + c)) for c in range(shape[-3])])
    return (127.5 + 127 * waves).astype("u1") if dtype == "u1" else ((waves + 1) / 2).astype(dtype)


class TransformCase(unittest.TestCase):
    def refused(self, kind, text, call):
        with self.assertRaisesRegex(kind, text):
            call()

    def close(self, got, wanted, steps=1, message=None, most_beyond=0.0):
        """Equal within steps of u8, or 1e-5 of floats, but for a share of the pixels, or a few of a small image (those halfway between
        two pixels depend on the processor in torchvision)."""
        got, wanted = got.numpy(), wanted.numpy() if isinstance(wanted, torch.Tensor) else wanted
        self.assertEqual((got.shape, got.dtype), (wanted.shape, wanted.dtype), message)
        if not got.size:
            return
        limit = steps if got.dtype == np.uint8 else 1e-5
        apart = np.abs(got.astype("f8") - wanted.astype("f8"))
        allowed = max(most_beyond * apart.size, min(0.05 * apart.size, 120)) if most_beyond else 0
        self.assertLessEqual((apart > limit).sum(), allowed, f"{message}: {apart.max()} apart at {np.unravel_index(apart.argmax(), apart.shape)}")


@functools.cache
def keys(count, seed=0):
    """So many keys."""
    return list(pl.random.split_key(pl.random.key(seed), count))
