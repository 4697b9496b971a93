"""linear_cross_entropy compared with PyTorch's, and with the plain one; its programs hold no logits of all rows."""

import inspect
import itertools
import math
import re
import unittest

import numpy as np
import plait as pl
import torch
import torch.nn.functional as F
from torch_check import check, close, t

RANDOM = np.random.default_rng(32)
REDUCTIONS = ("none", "mean", "sum")
CHUNKS = (1, 3, 4, 100)


def draw(*shape):
    return RANDOM.normal(size=shape)


def plain(x, matrix, target, bias=None, softcap=None, **options):
    """The formula, with all logits."""
    logits = pl.linear(x, matrix, bias)
    if softcap is not None:
        logits = softcap * pl.tanh(logits / softcap)
    return pl.cross_entropy(logits, target, axis=-1, **options)


def sizes_in(program):
    """The numbers of elements of all results in the text of a program."""
    found = re.findall(r"(?:f16|bf16|f32|f64|i64|bool)\[(\d[\d, ]*)\]", program.text())
    return [math.prod(map(int, shape.split(","))) for shape in found]


class Compared(unittest.TestCase):
    def test_indices(self):
        x, weight, bias, target, per_class = draw(10, 3), draw(7, 3), draw(7), RANDOM.integers(0, 7, 10), RANDOM.uniform(0.1, 2, 7)
        target[[2, 9]] = 5
        for reduction, smoothing, ignored, weighted in itertools.product(REDUCTIONS, (0.0, 0.2), (-100, 5), (None, per_class)):
            options = {"reduction": reduction, "label_smoothing": smoothing, "ignore_index": ignored}
            for chunk in CHUNKS:
                with self.subTest(chunk=chunk, weighted=weighted is not None, **options):
                    check(lambda x, w, b: pl.nn.linear_cross_entropy(x, w, target, linear_bias=b, weight=weighted, chunk=chunk, **options),
                          lambda x, w, b: F.linear_cross_entropy(x, w, t(target), linear_bias=b, weight=None if weighted is None else t(weighted),
                                                                 **options), [x, weight, bias], 1e-10)

    def test_probabilities(self):
        x, weight, target, per_class = draw(10, 3), draw(7, 3), RANDOM.dirichlet(np.ones(7), 10), RANDOM.uniform(0.1, 2, 7)
        for reduction, smoothing, weighted, chunk in itertools.product(REDUCTIONS, (0.0, 0.2), (None, per_class), CHUNKS):
            options = {"reduction": reduction, "label_smoothing": smoothing}
            check(lambda x, w, p: pl.nn.linear_cross_entropy(x, w, p, weight=weighted, chunk=chunk, **options),
                  lambda x, w, p: F.linear_cross_entropy(x, w, p, weight=None if weighted is None else t(weighted), **options),
                  [x, weight, target], 1e-10)

    def test_several_targets_of_a_row(self):
        x, weight, bias, target = draw(5, 3), draw(4, 2, 6, 3), draw(4, 2, 6), RANDOM.integers(0, 4, (5, 2, 6))
        for reduction, chunk in itertools.product(REDUCTIONS, (1, 2, 9)):
            check(lambda x, w, b: pl.nn.linear_cross_entropy(x, w, target, linear_bias=b, reduction=reduction, chunk=chunk),
                  lambda x, w, b: F.linear_cross_entropy(x, w, t(target), linear_bias=b, reduction=reduction), [x, weight, bias], 1e-10)

    def test_axes_before_the_features(self):
        weight, bias = draw(7, 3), draw(7)
        for before in ((), (4,), (2, 5), (2, 1, 3), (0,), (2, 0)):
            x, target = draw(*before, 3), RANDOM.integers(0, 7, before)
            for reduction in REDUCTIONS:
                def theirs(x, w, b):
                    losses = F.cross_entropy(F.linear(x, w, b).reshape(-1, 7), t(target).reshape(-1), reduction=reduction)
                    return losses.reshape(before) if reduction == "none" else losses

                with self.subTest(before=before, reduction=reduction):
                    check(lambda x, w, b: pl.nn.linear_cross_entropy(x, w, target, linear_bias=b, reduction=reduction, chunk=2), theirs,
                          [x, weight, bias], 1e-10)

    def test_all_ignored(self):
        x, weight, target = draw(5, 3), draw(7, 3), np.full(5, -100)
        for reduction in REDUCTIONS:
            check(lambda x, w: pl.nn.linear_cross_entropy(x, w, target, reduction=reduction, chunk=2),
                  lambda x, w: F.linear_cross_entropy(x, w, t(target), reduction=reduction), [x, weight], 1e-10)

    def test_softcap(self):
        x, weight, target = 3 * draw(10, 3), draw(7, 3), RANDOM.integers(0, 7, 10)
        for reduction in REDUCTIONS:
            check(lambda x, w: pl.nn.linear_cross_entropy(x, w, target, softcap=2.0, reduction=reduction, chunk=4),
                  lambda x, w: F.cross_entropy(2 * torch.tanh(F.linear(x, w) / 2), t(target), reduction=reduction), [x, weight], 1e-10)


class Ways(unittest.TestCase):
    def setUp(self):
        self.given = [pl.asarray(each) for each in (draw(10, 3), draw(7, 3), draw(7))]
        self.target = pl.asarray(RANDOM.integers(0, 7, 10))

    def pair(self, reduction):
        """Ours and the plain one, as numbers that depend on the losses nonlinearly."""
        def of(loss):
            return lambda x, w, b, target: pl.sum(pl.sin(loss(x, w, b, target)))

        options = {"reduction": reduction}
        return (of(lambda x, w, b, target: pl.nn.linear_cross_entropy(x, w, target, linear_bias=b, chunk=4, **options)),
                of(lambda x, w, b, target: plain(x, w, target, b, **options)))

    def same(self, ours, theirs, what):
        for one, other in zip(pl.tree.leaves(ours), pl.tree.leaves(theirs)):
            close(one, other.numpy(), 1e-10, what)

    def test_jit_and_second_derivatives(self):
        for reduction in REDUCTIONS:
            ours, theirs = self.pair(reduction)
            along = [pl.asarray(draw(*x.shape)) for x in self.given]
            for name, transform in (("gradient", lambda f: pl.value_and_grad(f, (0, 1, 2))),
                                    ("hessian", lambda f: pl.hessian(f, (0, 1))),
                                    ("forward over reverse", lambda f: lambda *x: pl.jvp(lambda *y: pl.grad(f, (0, 1, 2))(*y, x[3]), x[:3], along)),
                                    ("forward", lambda f: lambda *x: pl.jvp(lambda *y: f(*y, x[3]), x[:3], along)),
                                    ("remat", lambda f: pl.grad(pl.remat(f), (0, 1, 2)))):
                with self.subTest(name, reduction=reduction):
                    wanted = transform(theirs)(*self.given, self.target)
                    self.same(transform(ours)(*self.given, self.target), wanted, name)
                    self.same(pl.jit(transform(ours))(*self.given, self.target), wanted, f"jitted {name}")

    def test_by_weights_of_classes(self):
        per_class = pl.asarray(RANDOM.uniform(0.1, 2, 7))
        x, weight, _ = self.given
        for reduction in "mean", "sum":
            ours = pl.grad(lambda c, x: pl.nn.linear_cross_entropy(x, weight, self.target, weight=c, chunk=4, reduction=reduction), (0, 1))
            theirs = pl.grad(lambda c, x: plain(x, weight, self.target, weight=c, reduction=reduction), (0, 1))
            self.same(ours(per_class, x), theirs(per_class, x), "by the weights")
            self.same(pl.jit(ours)(per_class, x), theirs(per_class, x), "jitted")

    def test_batched(self):
        x, weight, bias = self.given
        many, targets = pl.asarray(draw(3, 10, 3)), pl.asarray(RANDOM.integers(0, 7, (3, 10)))
        models = pl.asarray(draw(3, 7, 3))
        for reduction in REDUCTIONS:
            ours, theirs = self.pair(reduction)
            for axes, given in (((0, None, None, 0), (many, weight, bias, targets)), ((None, 0, None, None), (x, models, bias, self.target)),
                                ((0, 0, None, 0), (many, models, bias, targets))):
                for function in (lambda f: f), (lambda f: pl.grad(f, (0, 1))):
                    self.same(pl.vmap(function(ours), axes)(*given), pl.vmap(function(theirs), axes)(*given), "batched")
                    self.same(pl.jit(pl.vmap(function(ours), axes))(*given), pl.vmap(function(theirs), axes)(*given), "jitted")

    def test_any_number_of_rows(self):
        for reduction in REDUCTIONS:
            ours, theirs = self.pair(reduction)
            program = pl.trace(pl.value_and_grad(ours, (0, 1, 2)))(pl.Spec("f64[n, 3]"), pl.Spec("f64[7, 3]"), pl.Spec("f64[7]"), pl.Spec("i64[n]"))
            for count in (1, 3, 4, 8, 11, 0):
                given = pl.asarray(draw(count, 3)), *self.given[1:], pl.asarray(RANDOM.integers(0, 7, count))
                self.same(program(*given), pl.value_and_grad(theirs, (0, 1, 2))(*given), f"{count} rows")

    def test_any_number_of_rows_by_default(self):
        """The size of a block is an expression then."""
        weight, ours = pl.asarray(draw(5000, 3)), lambda x, w, target: pl.nn.linear_cross_entropy(x, w, target)
        program = pl.trace(pl.value_and_grad(ours, (0, 1)))(pl.Spec("f64[n, 3]"), pl.Spec("f64[5000, 3]"), pl.Spec("i64[n]"))
        run = pl.jit(pl.value_and_grad(ours, (0, 1)))
        for count in (1, 3, 250, 900, 1100):
            given = pl.asarray(draw(count, 3)), weight, pl.asarray(RANDOM.integers(0, 5000, count))
            wanted = pl.value_and_grad(plain, (0, 1))(*given)
            for found in program(*given), run(*given):
                self.same(found, wanted, f"{count} rows")

    def test_narrow_floats(self):
        x, weight, target = draw(300, 8), draw(40, 8), RANDOM.integers(0, 40, 300)
        wanted, slopes = pl.value_and_grad(lambda x, w: plain(x, w, target), (0, 1))(pl.asarray(x), pl.asarray(weight))
        for dtype, accuracy in ((pl.bf16, 2e-2), (pl.f16, 2e-3), (pl.f32, 1e-6)):
            narrow = [pl.astype(pl.asarray(each), dtype) for each in (x, weight)]
            value, found = pl.value_and_grad(lambda x, w: pl.nn.linear_cross_entropy(x, w, target, chunk=7), (0, 1))(*narrow)
            self.assertEqual(value.dtype, pl.f32)
            close(pl.astype(value, pl.f64), wanted.numpy(), accuracy, "value")
            for one, other in zip(found, slopes):
                self.assertEqual(one.dtype, dtype)
                np.testing.assert_allclose(pl.astype(one, pl.f64).numpy(), other.numpy(), atol=4 * accuracy * float(pl.max(pl.abs(other))))

    def test_dtypes_may_differ(self):
        x, weight, target = pl.ones((5, 3)), pl.asarray(draw(7, 3)), pl.asarray(RANDOM.integers(0, 7, 5))
        for given in (x, weight), (pl.astype(x, pl.f64), pl.astype(weight, pl.f32)), (x, pl.astype(weight, pl.f32)):
            for per_class in (None, np.ones(7)):
                found = pl.value_and_grad(lambda x, w: pl.nn.linear_cross_entropy(x, w, target, weight=per_class, chunk=2), (0, 1))(*given)
                wanted = pl.value_and_grad(lambda x, w: plain(x, w, target), (0, 1))(*given)
                for one, other in zip(pl.tree.leaves(found), pl.tree.leaves(wanted)):
                    np.testing.assert_allclose(one.numpy(), other.numpy(), atol=1e-5)
                self.assertEqual([slope.dtype for slope in found[1]], [each.dtype for each in given])

    def test_a_sum_of_many_blocks_is_exact_enough(self):
        """The gradient by the weight is a sum over 4096 blocks: in f16 it would stop growing."""
        x, target = pl.ones((4096, 1), dtype=pl.f16), pl.zeros(4096, dtype=pl.i64)
        slope = pl.grad(lambda w: pl.nn.linear_cross_entropy(x, w, target, reduction="sum", chunk=1))(pl.zeros((2, 1), dtype=pl.f16))
        self.assertEqual(slope.tolist(), [[-2048.0], [2048.0]])


class Memory(unittest.TestCase):
    def test_no_instruction_has_the_logits(self):
        given = [pl.Spec(spec) for spec in ("f32[60, 4]", "f32[50, 4]", "f32[50]", "i64[60]")]
        for reduction in REDUCTIONS:
            def ours(x, w, b, target):
                return pl.sum(pl.nn.linear_cross_entropy(x, w, target, linear_bias=b, reduction=reduction, chunk=5))

            def theirs(x, w, b, target):
                return pl.sum(plain(x, w, target, b, reduction=reduction))

            for transform in (lambda f: f), (lambda f: pl.value_and_grad(f, (0, 1, 2))):
                with self.subTest(reduction=reduction):
                    self.assertGreaterEqual(max(sizes_in(pl.trace(transform(theirs))(*given))), 60 * 50)
                    self.assertLessEqual(max(sizes_in(pl.trace(transform(ours))(*given))), 5 * 50)

    def test_small_batches_of_many_classes(self):
        """A block is smaller than the logits where these are many."""
        for rows, classes, block in ((100, 50_000, 25), (8, 200_000, 5), (256, 50_000, 64), (1024, 8000, 256), (4096, 50_000, 256)):
            given = pl.Spec(f"f32[{rows}, 1]"), pl.Spec(f"f32[{classes}, 1]"), pl.Spec(f"i64[{rows}]")
            for reduction in REDUCTIONS:
                def ours(x, w, target):
                    return pl.sum(pl.nn.linear_cross_entropy(x, w, target, reduction=reduction))

                for transform in (lambda f: f), (lambda f: pl.value_and_grad(f, (0, 1))):
                    with self.subTest(rows=rows, reduction=reduction):
                        self.assertEqual(max(sizes_in(pl.trace(transform(ours))(*given))), block * classes)

    def test_eagerly(self):
        """The peak of the whole computation is far below the size of the logits."""
        x, weight, target = pl.ones((4096, 8)), pl.ones((2048, 8)), pl.zeros(4096, dtype=pl.i64)
        for reduction in "mean", "none":
            before = pl.memory_statistics().live
            pl.reset_peak_memory()
            pl.value_and_grad(lambda x, w: pl.sum(pl.nn.linear_cross_entropy(x, w, target, reduction=reduction, chunk=64)), (0, 1))(x, weight)
            self.assertLess(pl.memory_statistics().peak - before, 4096 * 2048 * 4 / 4, reduction)


class Module(unittest.TestCase):
    def test_it_trains(self):
        loss = pl.nn.LinearCrossEntropyLoss(3, 5, bias=True, weight=np.ones(5), chunk=4, dtype=pl.f64)
        self.assertEqual([path for path, _ in pl.tree.leaves_with_paths(loss)], ["weight", "linear.weight", "linear.bias"])
        x, target = pl.asarray(draw(12, 3)), pl.asarray(RANDOM.integers(0, 5, 12))
        optimizer, step = pl.optim.Adam(loss, lr=0.1), pl.jit(pl.value_and_grad(lambda loss: loss(x, target)))
        first, _ = step(loss)
        for _ in range(30):
            value, slope = step(loss)
            loss, optimizer = optimizer.update(loss, slope)
        self.assertLess(value.item(), first.item())
        self.assertEqual(loss.weight.tolist(), [1.0] * 5)

    def test_the_arguments_of_torch(self):
        """All of them by name, with their defaults."""
        for ours, theirs in ((pl.nn.linear_cross_entropy, F.linear_cross_entropy), (pl.nn.LinearCrossEntropyLoss, torch.nn.LinearCrossEntropyLoss)):
            own, others = (inspect.signature(each).parameters for each in (ours, theirs))
            for name, parameter in others.items():
                name = "x" if name == "input" else name
                self.assertIn(name, own)
                if name != "dtype":
                    self.assertEqual(own[name].default, parameter.default, name)
        given = pl.ones((6, 4)), pl.ones((5, 4)), pl.tensor([0, -100, 2, 3, 4, -100])
        self.assertAlmostEqual(pl.nn.linear_cross_entropy(*given, ignore_index=None, options=None).item(), math.log(5), places=5)

    def test_wrong(self):
        x, weight, target = pl.ones((6, 4)), pl.ones((5, 4)), pl.zeros(6, dtype=pl.i64)
        call = pl.nn.linear_cross_entropy
        for function, error, message in (
                (lambda: call(x, pl.ones((5, 3)), target), pl.ShapeError, "nn.linear_cross_entropy: x is .* the same number of features"),
                (lambda: call(x, weight, target[1:]), pl.ShapeError, r"the target is \[5\], expected \[6\]"),
                (lambda: call(x, weight, pl.ones(6)), pl.ShapeError, r"the target is \[6\], expected \[6, 5\]"),
                (lambda: call(x, weight, target, linear_bias=pl.ones(4)), pl.ShapeError, r"linear_bias is \[4\], expected \[5\]"),
                (lambda: call(x, weight, target, chunk=0), pl.ValueError, "chunk is 0"),
                (lambda: call(x, weight, target, options=torch.nn.LinearCrossEntropyOptions()), pl.TypeError,
                 r"nn.linear_cross_entropy: options is .*LinearCrossEntropyOptions.*, expected None[\s\S]*chunk=512 is batch_chunk_size"),
                (lambda: pl.nn.LinearCrossEntropyLoss(4, 5, options=3), pl.TypeError, "nn.LinearCrossEntropyLoss: options is 3, expected None"),
                (lambda: call(x, weight, target, softcap=-1.0), pl.ValueError, "softcap is -1.0"),
                (lambda: call(x, weight, target, label_smoothing=2), pl.ValueError, "label_smoothing is 2"),
                (lambda: call(x, weight, target, reduction="all"), pl.ValueError, "the reduction is 'all'"),
                (lambda: call(x, weight, target + 7).numpy(), pl.IndexError, ""),
                (lambda: pl.nn.LinearCrossEntropyLoss(4, 5, weight=pl.ones(3)), pl.ShapeError, r"weight is \[3\], expected \[5\]"),
                (lambda: pl.nn.LinearCrossEntropyLoss(4, 5, chunk=2.5), pl.ValueError, "nn.LinearCrossEntropyLoss: chunk is 2.5")):
            with self.subTest(message), self.assertRaisesRegex(error, message):
                function()


if __name__ == "__main__":
    unittest.main()
