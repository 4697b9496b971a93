"""Training in 16 bits follows training in f32: a small ViT in f16 with loss scaling, in bf16, and with 8-bit states."""

import pathlib
import sys
import unittest

import numpy as np
import plait as pl

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "examples"))
from models import ViT, loss_of  # noqa: E402

optim = pl.optim
MODEL = ViT(24, 4, 3, 48, 2, 3, 7, key=pl.random.key(1))
IMAGES = pl.random.normal(pl.random.key(2), (16, 3, 24, 24))
LABELS = pl.random.randint(pl.random.key(3), (16,), 0, 7)


def losses(transformation, steps, dtype=None, factor=1.0):
    """The losses of steps that were not skipped, and the optimizer. `factor` scales the loss, and the gradient is divided by it."""
    scaled = lambda model, scale: (scale * factor * loss_of(model, IMAGES, LABELS), loss_of(model, IMAGES, LABELS))  # noqa: E731
    if dtype is not None:
        scaled = pl.autocast(dtype)(scaled)

    @pl.jit
    def step(model, optimizer):
        (_, loss), gradient = pl.value_and_grad(lambda model: scaled(model, optimizer.loss_scale), has_aux=True)(model)
        gradient = pl.tree.map(lambda leaf: leaf / factor, gradient)
        return *optimizer.update(model, gradient), loss

    model, optimizer, found = MODEL, optim.Optimizer(transformation, MODEL), []
    for _ in range(steps):
        before = optimizer.state.skipped.item() if hasattr(optimizer.state, "skipped") else 0
        model, optimizer, loss = step(model, optimizer)
        after = optimizer.state.skipped.item() if hasattr(optimizer.state, "skipped") else 0
        if after == before:
            found.append(loss.item())
    assert pl.stats(step).traces == 1, pl.stats(step)
    return np.array(found), optimizer


class NarrowTraining(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.wanted, _ = losses(optim.adamw(1e-3), 40)

    def follows(self, found, tolerance):
        self.assertLess(self.wanted[-1], 0.3 * self.wanted[0])
        np.testing.assert_allclose(found, self.wanted[:len(found)], atol=tolerance * self.wanted[0])

    def test_f16_with_loss_scaling(self):
        found, optimizer = losses(optim.loss_scale(optim.adamw(1e-3), 2.0**30, growth_interval=10), 48, pl.f16)
        self.assertGreater(optimizer.state.skipped.item(), 3)  # the first scale is too large
        self.assertLess(optimizer.loss_scale.item(), 2.0**30)
        self.assertGreater(len(found), 25)
        self.follows(found[:len(self.wanted)], 0.02)

    def test_bf16(self):
        self.follows(losses(optim.adamw(1e-3), 40, pl.bf16)[0], 0.05)

    def test_states_of_8_bits(self):
        found, optimizer = losses(optim.adamw_8bit(1e-3), 40)
        self.follows(found, 0.05)
        sizes = [leaf.size * leaf.dtype.itemsize for _, leaf in pl.tree.leaves_with_paths(optimizer.state)]
        self.assertLess(sum(sizes), 2.3 * sum(leaf.size for leaf in pl.tree.leaves(MODEL)) + 2048 * len(sizes))


if __name__ == "__main__":
    unittest.main()
