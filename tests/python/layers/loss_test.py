"""Losses compared with PyTorch; CTC also with the sum over all alignments."""

import itertools
import unittest

import numpy as np
import plait
import torch
import torch.nn.functional as F
from torch_check import check, check_told, close, t

INF, NAN = np.inf, np.nan
RANDOM = np.random.default_rng(12)
REDUCTIONS = ("none", "mean", "sum")


def draw(*shape):
    return RANDOM.normal(size=shape)


def shares(*shape):
    return RANDOM.uniform(0.02, 0.98, shape)


def signs(*shape):
    return np.where(RANDOM.random(shape) < 0.5, -1.0, 1.0)


class Classes(unittest.TestCase):
    def test_cross_entropy(self):
        for shape in ((4,), (5, 4), (3, 4, 2), (2, 4, 3, 2)):
            axis = 0 if len(shape) == 1 else 1
            rest = shape[:axis] + shape[axis + 1:]
            x, target, weights = draw(*shape), RANDOM.integers(0, 4, rest), shares(4)
            soft = shares(*shape)
            ignored = np.where(RANDOM.random(rest) < 0.4, 2, target)
            for reduction, smoothing, weight in itertools.product(REDUCTIONS, (0.0, 0.3), (None, weights)):
                options = {"reduction": reduction, "label_smoothing": smoothing}
                theirs = options | {"weight": None if weight is None else t(weight)}
                with self.subTest(shape=shape, weighted=weight is not None, **options):
                    for classes, ignore in ((target, -100), (ignored, 2)):
                        check(lambda x: plait.cross_entropy(x, classes, weight=weight, ignore_index=ignore, **options),
                              lambda x: F.cross_entropy(x, t(classes), ignore_index=ignore, **theirs), [x])
                    check(lambda x, s: plait.cross_entropy(x, s, weight=weight, **options),
                          lambda x, s: F.cross_entropy(x, s, **theirs), [x, soft])

    def test_axis(self):
        x, target = draw(3, 2, 4), RANDOM.integers(0, 4, (3, 2))
        for axis in (2, -1):
            check(lambda x: plait.cross_entropy(x, target, axis=axis), lambda x: F.cross_entropy(x.movedim(2, 1), t(target)), [x])
        check(lambda x: plait.nll_loss(x, target, axis=-1, reduction="none"),
              lambda x: F.nll_loss(x.movedim(2, 1), t(target), reduction="none"), [x])

    def test_nll(self):
        for shape in ((5, 4), (3, 4, 2)):
            x, target, weights = draw(*shape), RANDOM.integers(0, 4, shape[:1] + shape[2:]), shares(4)
            for reduction, ignore in itertools.product(REDUCTIONS, (-100, 1)):
                check(lambda x: plait.nll_loss(x, target, weight=weights, ignore_index=ignore, reduction=reduction),
                      lambda x: F.nll_loss(x, t(target), t(weights), ignore_index=ignore, reduction=reduction), [x])

    def test_all_are_ignored(self):
        x, target = draw(3, 4), np.full(3, -100)
        for reduction in REDUCTIONS:
            check(lambda x: plait.cross_entropy(x, target, reduction=reduction),
                  lambda x: F.cross_entropy(x, t(target), reduction=reduction), [x])
        self.assertTrue(np.isnan(plait.cross_entropy(x, target).numpy()))

    def test_masked_logits(self):
        x = np.array([[1.0, -INF, 2.0], [-INF, 0.5, -INF]])
        check(lambda x: plait.cross_entropy(x, np.array([2, 1])), lambda x: F.cross_entropy(x, t([2, 1])), [x])
        self.assertEqual(float(plait.cross_entropy(x, np.array([1, 1]), reduction="sum").numpy()), INF)
        target = np.array([[0.25, 0, 0.75], [0, 1, 0]])
        slope = plait.grad(lambda x: plait.cross_entropy(x, target, reduction="sum"))(plait.asarray(x)).numpy()
        np.testing.assert_allclose(slope, torch.softmax(t(x), 1).numpy() - target, atol=1e-12)
        probabilities = torch.softmax(t(x[0]), 0).numpy()
        value = -0.25 * np.log(probabilities[0]) - 0.75 * np.log(probabilities[2])
        close(plait.cross_entropy(x, target, reduction="sum"), value, 1e-12, "value")

    def test_no_such_class(self):
        for target in ([0, 4], [-1, 0], [0, -4]):
            for function in (plait.cross_entropy, plait.nll_loss, plait.multi_margin_loss):
                with self.assertRaises(plait.IndexError):
                    function(draw(2, 4), np.array(target)).numpy()
        with self.assertRaises(plait.IndexError):
            plait.jit(plait.cross_entropy)(plait.asarray(draw(2, 4)), plait.asarray(np.array([0, 7]))).numpy()

    def test_ways(self):
        x, target = draw(6, 3, 4), RANDOM.integers(0, 4, (6, 3))
        expected = np.array([F.cross_entropy(t(a), t(b)).numpy() for a, b in zip(x, target)])
        close(plait.vmap(plait.cross_entropy)(plait.asarray(x), plait.asarray(target)), expected, 1e-12, "many")
        jitted = plait.jit(plait.cross_entropy)
        for a, b, value in zip(x, target, expected):
            close(jitted(plait.asarray(a), plait.asarray(b)), value, 1e-12, "jitted")
        hessian = plait.hessian(lambda y: plait.cross_entropy(y, target[0], reduction="sum"))(plait.asarray(x[0])).numpy()
        theirs = torch.autograd.functional.hessian(lambda y: F.cross_entropy(y, t(target[0]), reduction="sum"), t(x[0]))
        np.testing.assert_allclose(hessian, theirs.numpy(), atol=1e-12)

    def test_narrow_floats(self):
        x, target = draw(50, 7) * 4, RANDOM.integers(0, 7, 50)
        for dtype, accuracy in (("f16", 2e-3), ("bf16", 2e-2), ("f32", 1e-6)):
            narrow = plait.astype(plait.asarray(x), dtype)
            found = plait.cross_entropy(narrow, target)
            self.assertEqual(str(found.dtype), dtype)
            close(plait.astype(found, "f64"), F.cross_entropy(t(plait.astype(narrow, "f64").numpy()), t(target)), accuracy, dtype)
        many = plait.astype(plait.asarray(np.full((5000, 2), [[0.0, 30.0]])), "f16")
        close(plait.astype(plait.cross_entropy(many, np.zeros(5000, int)), "f64"), 30.0, 1e-3, "a sum beyond f16")

    def test_margins(self):
        x, target, weights = draw(5, 4), RANDOM.integers(0, 4, 5), shares(4)
        for p, reduction, weight in itertools.product((1, 2), REDUCTIONS, (None, weights)):
            check(lambda x: plait.multi_margin_loss(x, target, p=p, margin=0.7, weight=weight, reduction=reduction),
                  lambda x: F.multi_margin_loss(x, t(target), p, 0.7, None if weight is None else t(weight),
                                                reduction=reduction), [x])
        check(lambda x: plait.multi_margin_loss(x, np.int64(2)), lambda x: F.multi_margin_loss(x, torch.tensor(2)), [x[0]])
        labels = np.array([[1, 3, -1, 0], [-1, 1, 2, 3], [0, 1, 2, 3], [2, -1, -1, -1], [3, 1, 0, -1]])
        for reduction in REDUCTIONS:
            check(lambda x: plait.multilabel_margin_loss(x, labels, reduction),
                  lambda x: F.multilabel_margin_loss(x, t(labels), reduction=reduction), [x])
        check(lambda x: plait.multilabel_margin_loss(x, labels[0]), lambda x: F.multilabel_margin_loss(x, t(labels[0])), [x[0]])


class Binary(unittest.TestCase):
    def test_each(self):
        x, p, target, weight, positive = draw(3, 4) * 3, shares(3, 4), shares(3, 4), shares(4), shares(4) * 3
        for reduction in REDUCTIONS:
            check(lambda p, y: plait.binary_cross_entropy(p, y, weight=weight, reduction=reduction),
                  lambda p, y: F.binary_cross_entropy(p, y, t(weight).expand(3, 4), reduction=reduction), [p, target])
            check(lambda x, y: plait.binary_cross_entropy_with_logits(x, y, weight=weight, pos_weight=positive,
                                                                      reduction=reduction),
                  lambda x, y: F.binary_cross_entropy_with_logits(x, y, t(weight), pos_weight=t(positive),
                                                                  reduction=reduction), [x, target])
            check(lambda x, y: plait.multilabel_soft_margin_loss(x, y, weight=weight, reduction=reduction),
                  lambda x, y: F.multilabel_soft_margin_loss(x, y, t(weight), reduction=reduction), [x, target])

    def test_ends(self):
        p, target = np.array([0.0, 1.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0, 0.0])
        check_told(lambda p: plait.binary_cross_entropy(p, target, reduction="none"), p, [0, 0, 100, 100])
        slope = plait.grad(lambda p: plait.binary_cross_entropy(p, target))(plait.asarray(p)).numpy()
        self.assertTrue(np.isfinite(slope).all())
        outside = plait.binary_cross_entropy(np.array([-0.1, 1.1]), np.array([1.0, 0.0]), reduction="none").numpy()
        np.testing.assert_array_equal(np.isnan(outside), [True, True])
        x, target = np.array([INF, -INF, INF, -INF, 1e300, -1e300]), np.array([1.0, 0.0, 0.0, 1.0, 0.0, 1.0])
        check_told(lambda x: plait.binary_cross_entropy_with_logits(x, target, reduction="none"), x,
                   [0, 0, INF, INF, 1e300, 1e300],
                   [0, 0, 1, -1, 1, -1])

    def test_focal(self):
        x, target = draw(3, 4), (RANDOM.random((3, 4)) < 0.5).astype(float)

        def theirs(x, y, alpha, gamma):
            p = torch.sigmoid(x)
            loss = F.binary_cross_entropy_with_logits(x, y, reduction="none") * (1 - (p * y + (1 - p) * (1 - y))) ** gamma
            return loss if alpha is None else loss * (alpha * y + (1 - alpha) * (1 - y))

        for alpha, gamma in ((0.25, 2.0), (None, 0.0), (0.6, 1.5)):
            check(lambda x: plait.focal_loss(x, target, alpha=alpha, gamma=gamma, reduction="none"),
                  lambda x: theirs(x, t(target), alpha, gamma), [x])


class Numbers(unittest.TestCase):
    def test_each(self):
        x, target, variance = draw(3, 4) * 2, draw(3, 4) * 2, shares(3, 4)
        for reduction in REDUCTIONS:
            for name in ("mse_loss", "l1_loss"):
                check(lambda x, y: getattr(plait, name)(x, y, reduction),
                      lambda x, y: getattr(F, name)(x, y, reduction=reduction), [x, target])
            for size in (0.0, 0.5, 2.0):
                check(lambda x, y: plait.smooth_l1_loss(x, y, size, reduction),
                      lambda x, y: F.smooth_l1_loss(x, y, reduction=reduction, beta=size), [x, target])
                if size:
                    check(lambda x, y: plait.huber_loss(x, y, size, reduction),
                          lambda x, y: F.huber_loss(x, y, reduction=reduction, delta=size), [x, target])
            for full in (False, True):
                check(lambda x, y, v: plait.gaussian_nll_loss(x, y, v, full=full, reduction=reduction),
                      lambda x, y, v: F.gaussian_nll_loss(x, y, v, full=full, reduction=reduction), [x, target, variance])
                check(lambda x: plait.poisson_nll_loss(x, np.abs(target), full=full, reduction=reduction),
                      lambda x: F.poisson_nll_loss(x, t(np.abs(target)), full=full, reduction=reduction), [x])
                check(lambda v: plait.poisson_nll_loss(v, np.abs(target), log_input=False, full=full, reduction=reduction),
                      lambda v: F.poisson_nll_loss(v, t(np.abs(target)), log_input=False, full=full,
                                                   reduction=reduction), [variance])
        check(lambda x, y, v: plait.gaussian_nll_loss(x, y, v), lambda x, y, v: F.gaussian_nll_loss(x, y, v),
              [x, target, np.array([[1e-9], [0.5], [0.0]])])

    def test_divergence(self):
        x, target = np.log(shares(3, 4)), shares(3, 4)
        for reduction in (*REDUCTIONS, "batchmean"):
            check(lambda x, y: plait.kl_div_loss(x, y, reduction=reduction), lambda x, y: F.kl_div(x, y, reduction=reduction),
                  [x, target])
            check(lambda x, y: plait.kl_div_loss(x, y, reduction=reduction, log_target=True),
                  lambda x, y: F.kl_div(x, y, reduction=reduction, log_target=True), [x, np.log(shares(3, 4))])
        nothing = np.array([0.0, 1.0])  # where PyTorch's gradient with respect to the target is NaN
        close(plait.kl_div_loss(x[0, :2], nothing, reduction="none"), F.kl_div(t(x[0, :2]), t(nothing), reduction="none"), 1e-12,
              "value")
        slope = plait.grad(lambda y: plait.kl_div_loss(x[0, :2], y, reduction="sum"))(plait.asarray(nothing)).numpy()
        np.testing.assert_allclose(slope, [-x[0, 0], 1 - x[0, 1]])
        check_told(lambda x: plait.kl_div_loss(x, nothing, reduction="sum"), [-INF, 0.0], 0.0, [0, -1])
        check_told(lambda x: plait.kl_div_loss(x, np.array([-INF, 0.0]), reduction="sum", log_target=True), [-INF, 0.0], 0.0,
                   [0, -1])

    def test_far(self):
        x = np.array([INF, -INF, 1e300, -1e300, 0.0])
        check_told(lambda x: plait.huber_loss(x, 0.0, reduction="none"), x, [INF, INF, 1e300, 1e300, 0], [1, -1, 1, -1, 0])
        check_told(lambda x: plait.smooth_l1_loss(x, 0.0, 0.5, "none"), x, [INF, INF, 1e300, 1e300, 0], [1, -1, 1, -1, 0])

    def test_nothing(self):
        self.assertTrue(np.isnan(plait.mse_loss(np.zeros((0, 3)), np.zeros((0, 3))).numpy()))
        self.assertEqual(plait.mse_loss(np.zeros((0, 3)), np.zeros((0, 3)), "sum").numpy(), 0)


class Vectors(unittest.TestCase):
    def test_signs(self):
        x, b, target = draw(3, 4) * 2, draw(3, 4), signs(3, 4)
        for reduction in REDUCTIONS:
            check(lambda x: plait.soft_margin_loss(x, target, reduction),
                  lambda x: F.soft_margin_loss(x, t(target), reduction=reduction), [x])
            check(lambda x: plait.hinge_embedding_loss(x, target, 0.7, reduction),
                  lambda x: F.hinge_embedding_loss(x, t(target), 0.7, reduction=reduction), [x])
            check(lambda x, y: plait.margin_ranking_loss(x, y, target, 0.2, reduction),
                  lambda x, y: F.margin_ranking_loss(x, y, t(target), 0.2, reduction=reduction), [x, b])
            check(lambda x, y: plait.cosine_embedding_loss(x, y, target[:, 0], 0.1, reduction),
                  lambda x, y: F.cosine_embedding_loss(x, y, t(target[:, 0]), 0.1, reduction=reduction), [x, b])

    def test_distances(self):
        a, b, c = draw(3, 4), draw(3, 4), draw(3, 4)
        for axis in (0, 1, -1):
            check(lambda x, y: plait.cosine_similarity(x, y, axis), lambda x, y: F.cosine_similarity(x, y, axis), [a, b])
        check(lambda x, y: plait.cosine_similarity(x, y, -1), lambda x, y: F.cosine_similarity(x, y, -1), [a[:, None], b])
        for p in (1.0, 2.0, 3.0, INF):
            check(lambda x, y: plait.pairwise_distance(x, y, p), lambda x, y: F.pairwise_distance(x, y, p), [a, b])
            check(lambda x, y: plait.pairwise_distance(x, y, p, 0.1, True), lambda x, y: F.pairwise_distance(x, y, p, 0.1, True),
                  [a, b])
        for swap, p, reduction in itertools.product((False, True), (1.0, 2.0), REDUCTIONS):
            check(lambda x, y, z: plait.triplet_margin_loss(x, y, z, margin=0.8, p=p, swap=swap, reduction=reduction),
                  lambda x, y, z: F.triplet_margin_loss(x, y, z, 0.8, p, swap=swap, reduction=reduction), [a, b, c])

    def test_alike_and_nothing(self):
        zero = np.zeros((2, 3))
        check_told(lambda x: plait.cosine_similarity(x, zero), zero, [0, 0], zero)
        check_told(lambda x: plait.pairwise_distance(x, zero, eps=0.0), zero, [0, 0], zero)


def paths_of(target, steps, classes, blank):
    """All sequences of classes that produce the target."""
    for path in itertools.product(range(classes), repeat=steps):
        kept = [label for label, _ in itertools.groupby(path)]
        if [label for label in kept if label != blank] == list(target):
            yield path


def brute_force(logs, target, blank=0):
    total = -INF
    for path in paths_of(target, len(logs), logs.shape[1], blank):
        total = np.logaddexp(total, sum(logs[step, label] for step, label in enumerate(path)))
    return -total


class Ctc(unittest.TestCase):
    TARGETS = [(), (1,), (2,), (1, 1), (1, 2), (2, 1, 2), (1, 1, 1), (2, 2, 1), (1, 2, 1, 2), (2, 2, 2)]

    def test_all_paths(self):
        logs = F.log_softmax(t(draw(5, 3)), -1).numpy()
        for blank, steps in itertools.product((0, 2), (1, 2, 3, 4, 5)):
            for target in self.TARGETS:
                target = [0 if label == blank else label for label in target]
                with self.subTest(blank=blank, steps=steps, target=target):
                    padded = np.array([*target, *[1] * (5 - len(target))])
                    found = plait.ctc_loss(logs, padded, np.int64(steps), np.int64(len(target)), blank=blank, reduction="none")
                    close(found, brute_force(logs[:steps], target, blank), 1e-10, "value")

    def test_derivatives_of_all_paths(self):
        logs = plait.asarray(draw(4, 3))
        for target in ((), (1,), (1, 1), (1, 2)):
            paths = np.array(list(paths_of(target, 4, 3, 0)))

            def by_paths(x):
                return -plait.logsumexp(plait.sum(x[np.arange(4), paths], 1))

            def by_steps(x):
                return plait.ctc_loss(x, np.array([*target, 0, 0][:2]), np.int64(4), np.int64(len(target)))

            scale = max(len(target), 1)
            close(plait.grad(by_steps)(logs) * scale, plait.grad(by_paths)(logs).numpy(), 1e-10, "gradient")
            close(plait.hessian(by_steps)(logs) * scale, plait.hessian(by_paths)(logs).numpy(), 1e-10, "second derivative")
            third = [plait.grad(lambda x: plait.sum(plait.hvp(f, x, logs) * logs))(logs) for f in (by_steps, by_paths)]
            close(third[0] * scale, third[1].numpy(), 1e-9, "third derivative")

    def test_batches(self):
        x = draw(7, 4, 5)
        targets = np.array([[1, 2, 2], [3, 3, 4], [1, 0, 0], [4, 2, 0]])
        steps, lengths = np.array([7, 5, 4, 6]), np.array([3, 3, 1, 0])
        rows = np.concatenate([row[:n] for row, n in zip(targets, lengths)])
        for reduction, blank in itertools.product(REDUCTIONS, (0,)):
            def theirs(x):
                return F.ctc_loss(F.log_softmax(x, -1), t(targets), t(steps), t(lengths), blank, reduction)

            for given in (targets, rows):
                check(lambda x: plait.ctc_loss(plait.log_softmax(x, -1), given, steps, lengths, blank=blank, reduction=reduction),
                      theirs, [x])
        close(plait.ctc_loss(plait.log_softmax(x, -1), np.where(np.arange(3) < lengths[:, None], targets, -1), steps, lengths),
              F.ctc_loss(F.log_softmax(t(x), -1), t(targets), t(steps), t(lengths)), 1e-10, "padded by −1")
        close(plait.ctc_loss(plait.log_softmax(x[:, 0], -1), targets[0], 7, 3),
              F.ctc_loss(F.log_softmax(t(x[:, 0]), -1), t(targets[0]), t(7), t(3)), 1e-10, "no batch")

    def test_impossible(self):
        x, targets, steps, lengths = draw(3, 2, 4), np.array([[1, 1], [1, 2]]), np.array([2, 2]), np.array([2, 2])

        def loss(x, **options):
            return plait.ctc_loss(plait.log_softmax(x, -1), targets, steps, lengths, **options)

        self.assertEqual(loss(x, reduction="none").numpy()[0], INF)
        check(lambda x: loss(x, zero_infinity=True),
              lambda x: F.ctc_loss(F.log_softmax(x, -1), t(targets), t(steps), t(lengths), zero_infinity=True), [x])
        for zero in (False, True):
            slope = plait.grad(lambda x: plait.sum(loss(x, zero_infinity=zero)))(plait.asarray(x)).numpy()
            self.assertTrue(np.isfinite(slope).all())
            np.testing.assert_array_equal(slope[:, 0], 0)
        none = plait.ctc_loss(plait.log_softmax(x, -1), targets, np.array([0, 0]), np.array([0, 1]), reduction="none").numpy()
        np.testing.assert_array_equal(none, [0, INF])

    def test_classes_that_cannot_be(self):
        logs = np.log(np.maximum([[0.5, 0.5, 0], [0.5, 0, 0.5], [1, 0, 0]], 5e-324))
        logs[logs < -700] = -INF
        for target in ((1, 2), (1,), (2,), ()):
            padded = np.array([*target, 0, 0][:2])
            close(plait.ctc_loss(logs, padded, 3, len(target), reduction="none"), brute_force(logs, target), 1e-12, "value")
            slope = plait.grad(lambda x: plait.ctc_loss(x, padded, 3, len(target), reduction="none"))(plait.asarray(logs)).numpy()
            self.assertFalse(np.isnan(slope).any())

    def test_ways(self):
        x, targets = draw(3, 6, 2, 4), RANDOM.integers(1, 4, (3, 2, 2))
        steps, lengths = np.array([[6, 5], [4, 6], [6, 6]]), np.array([[2, 1], [0, 2], [2, 2]])

        def loss(x, targets, steps, lengths):
            return plait.ctc_loss(plait.log_softmax(x, -1), targets, steps, lengths)

        given = [list(map(plait.asarray, sample)) for sample in zip(x, targets, steps, lengths)]
        expected = [F.ctc_loss(F.log_softmax(t(a), -1), t(b), t(c), t(d)).numpy()
                    for a, b, c, d in zip(x, targets, steps, lengths)]
        together = [plait.asarray(each) for each in (x, targets, steps, lengths)]
        close(plait.vmap(loss)(*together), np.array(expected), 1e-10, "many")
        jitted, slope = plait.jit(loss), plait.jit(plait.grad(loss))
        for sample, value in zip(given, expected):
            close(jitted(*sample), value, 1e-10, "jitted")
            close(slope(*sample), plait.grad(loss)(*sample).numpy(), 1e-10, "jitted gradient")
        for dtype in ("f16", "bf16", "f32"):
            found = plait.ctc_loss(plait.astype(plait.log_softmax(x[0], -1), dtype), targets[0], steps[0], lengths[0])
            self.assertEqual(str(found.dtype), dtype)
            close(plait.astype(found, "f64"), expected[0], 3e-2, dtype)

    def test_wrong(self):
        logs, targets, steps, lengths = draw(4, 2, 3), np.array([[1, 2], [2, 1]]), np.array([4, 4]), np.array([2, 2])
        for change in ({"targets": targets + 1}, {"targets": targets - 2}, {"steps": steps + 1}, {"steps": -steps},
                       {"lengths": lengths + 1}, {"lengths": -lengths}, {"blank": 3}):
            given = {"targets": targets, "steps": steps, "lengths": lengths, "blank": 0} | change
            with self.subTest(**change), self.assertRaises(plait.IndexError):
                plait.ctc_loss(logs, given["targets"], given["steps"], given["lengths"], blank=given["blank"]).numpy()


def classes(*shape):
    return RANDOM.integers(0, 3, shape)


# The arguments for each of n samples (and m numbers of each).
EVERY = {
    "cross_entropy": lambda n, m: ([draw(n, 3, m), classes(n, m)],
                                   {"label_smoothing": 0.1, "weights": np.array([0.5, 1.0, 2.0])}),
    "nll_loss": lambda n, m: ([draw(n, 3, m), classes(n, m)], {"ignore_index": 1}),
    "multi_margin_loss": lambda n, m: ([draw(n, 3), classes(n)], {"p": 2}),
    "multilabel_margin_loss": lambda n, m: ([draw(n, m), np.tile(np.arange(m) - 1, (n, 1))[:, ::-1].copy()], {}),
    "multilabel_soft_margin_loss": lambda n, m: ([draw(n, m), shares(n, m)], {}),
    "binary_cross_entropy": lambda n, m: ([shares(n, m), shares(n, m)], {}),
    "binary_cross_entropy_with_logits": lambda n, m: ([draw(n, m), shares(n, m)], {}),
    "focal_loss": lambda n, m: ([draw(n, m), shares(n, m)], {"alpha": 0.3}),
    "mse_loss": lambda n, m: ([draw(n, m), draw(n, m)], {}), "l1_loss": lambda n, m: ([draw(n, m), draw(n, m)], {}),
    "smooth_l1_loss": lambda n, m: ([draw(n, m), draw(n, m)], {"beta": 0.5}),
    "huber_loss": lambda n, m: ([draw(n, m), draw(n, m)], {"delta": 0.5}),
    "kl_div_loss": lambda n, m: ([draw(n, m), shares(n, m)], {"reduction": "batchmean"}),
    "gaussian_nll_loss": lambda n, m: ([draw(n, m), draw(n, m), shares(n, 1)], {"full": True}),
    "poisson_nll_loss": lambda n, m: ([draw(n, m), 3 * shares(n, m)], {"full": True}),
    "soft_margin_loss": lambda n, m: ([draw(n, m), signs(n, m)], {}),
    "hinge_embedding_loss": lambda n, m: ([draw(n, m), signs(n, m)], {}),
    "margin_ranking_loss": lambda n, m: ([draw(n, m), draw(n, m), signs(n, m)], {}),
    "cosine_embedding_loss": lambda n, m: ([draw(n, m), draw(n, m), signs(n)], {}),
    "triplet_margin_loss": lambda n, m: ([draw(n, m), draw(n, m), draw(n, m)], {}),
    "cosine_similarity": lambda n, m: ([draw(n, m), draw(n, m)], {}),
    "pairwise_distance": lambda n, m: ([draw(n, m), draw(n, m)], {}),
    "ctc_loss": lambda n, m: ([draw(2 * m + 2, n, 3), 1 + classes(n, m) % 2, np.arange(n) % 2 + 2 * m, np.arange(n) % (m + 1)],
                              {}),
}


class Every(unittest.TestCase):
    """One jitted function for several sizes, its gradient, and vmap, compared with eager results."""

    def test_ways(self):
        for name, make in EVERY.items():
            with self.subTest(name):
                _, options = make(2, 3)

                def loss(*given):
                    return plait.sum(getattr(plait, name)(*given, **options))

                jitted, slope, again = plait.jit(loss), plait.jit(plait.grad(loss)), plait.grad(plait.remat(loss))
                for n, m in ((2, 3), (4, 2), (3, 5), (1, 4)):
                    given = [plait.asarray(x) for x in make(n, m)[0]]
                    close(jitted(*given), loss(*given).numpy(), 1e-12, "jitted")
                    by_x = plait.grad(loss)(*given).numpy()
                    close(slope(*given), by_x, 1e-12, "jitted gradient")
                    close(again(*given), by_x, 1e-12, "remat")
                samples = [make(3, 2)[0] for _ in range(3)]
                many = [plait.asarray(np.stack(each)) for each in zip(*samples)]
                for function in (loss, plait.grad(loss)):
                    each = [function(*map(plait.asarray, sample)).numpy() for sample in samples]
                    close(plait.vmap(function)(*many), np.stack(each), 1e-12, "many")

    def test_sizes_that_are_symbols(self):
        for name, make in EVERY.items():
            with self.subTest(name):
                options = make(2, 3)[1]

                def slopes(*given):
                    return plait.value_and_grad(lambda *x: plait.sum(getattr(plait, name)(*x, **options)))(*given)

                symbols = {5: "n", 7: "m", 16: "2*m + 2"}
                specs = [plait.Spec(f"{plait.asarray(x).dtype}[{', '.join(symbols.get(size, str(size)) for size in x.shape)}]")
                         for x in make(5, 7)[0]]
                program = plait.trace(slopes)(*specs)
                for n, m in ((5, 7), (3, 2), (1, 1)):
                    given = [plait.asarray(x) for x in make(n, m)[0]]
                    for found, wanted in zip(program(*given), slopes(*given)):
                        close(found, wanted.numpy(), 1e-12, f"{n}, {m}")

    def test_narrow_floats(self):
        for name, make in EVERY.items():
            given, options = make(4, 3)
            for dtype, accuracy in (("f16", 0.02), ("bf16", 0.15), ("f32", 1e-4)):
                with self.subTest(name, dtype=dtype):
                    narrow = [plait.astype(plait.asarray(x), dtype) if x.dtype.kind == "f" else plait.asarray(x) for x in given]
                    more = {k: plait.astype(plait.asarray(v), dtype) if isinstance(v, np.ndarray) else v
                            for k, v in options.items()}
                    found = getattr(plait, name)(*narrow, **more)
                    self.assertEqual(str(found.dtype), dtype)
                    wide = [plait.astype(x, "f64") if str(x.dtype) == dtype else x for x in narrow]
                    close(plait.astype(found, "f64"), getattr(plait, name)(*wide, **options).numpy(), accuracy, dtype)


if __name__ == "__main__":
    unittest.main()
