"""Metrics compared with scikit-learn's, over batches, merged, masked, jitted, scanned and batched."""

import copy
import itertools
import pickle
import unittest
import warnings

import numpy as np
import plait as pl
from sklearn import metrics as sk

RANDOM = np.random.default_rng(33)
ROWS, CLASSES = 60, 4
AVERAGES = ("micro", "macro", "weighted", None)


def shares(*shape):
    return RANDOM.uniform(size=shape)


def scores_and_classes(rows=ROWS, absent=()):
    targets = RANDOM.choice([c for c in range(CLASSES) if c not in absent], rows)
    scores = RANDOM.normal(size=(rows, CLASSES)) + 2 * np.eye(CLASSES)[targets]
    scores[:, list(absent)] = -9
    return np.round(scores, 1), targets


def labels(rows=ROWS, absent=()):
    targets = RANDOM.integers(0, 2, (rows, CLASSES))
    predictions = np.round(np.clip(0.5 * targets + 0.7 * shares(rows, CLASSES), 0, 1), 2)
    predictions[:, list(absent)], targets[:, list(absent)] = 0, 0
    return predictions, targets


def binary(rows=ROWS):
    predictions, targets = labels(rows)
    return predictions[:, 0], targets[:, 0]


def tensors(*arrays):
    return [pl.asarray(np.asarray(each)) for each in arrays]


# (name, the metric, data, scikit-learn's result)
def cases():
    m, data = pl.metrics, scores_and_classes()
    yield "accuracy", m.Accuracy(), data, lambda s, t: sk.accuracy_score(t, s.argmax(1))
    yield "accuracy of classes", m.Accuracy(), (data[0].argmax(1), data[1]), lambda p, t: sk.accuracy_score(t, p)
    for k in (2, 3):
        distinct = data[0] + 1e-3 * shares(ROWS, CLASSES), data[1]
        yield f"top {k}", m.Accuracy(top_k=k), distinct, lambda s, t, k=k: sk.top_k_accuracy_score(t, s, k=k, labels=range(CLASSES))
    yield "binary accuracy", m.Accuracy("binary", threshold=0.6), binary(), lambda p, t: sk.accuracy_score(t, p > 0.6)
    yield "multilabel accuracy", m.Accuracy("multilabel"), labels(), lambda p, t: ((p > 0.5) == t).mean()
    for name, theirs in ("Precision", sk.precision_score), ("Recall", sk.recall_score), ("F1", sk.f1_score):
        ours = getattr(m, name)
        yield f"binary {name}", ours("binary"), binary(), lambda p, t, f=theirs: f(t, p > 0.5, zero_division=0)
        for average, absent in itertools.product(AVERAGES, ((), (1,), (0, 3))):
            yield (f"{average} {name} without {absent}", ours(num_classes=CLASSES, average=average), scores_and_classes(absent=absent),
                   lambda s, t, f=theirs, a=average: f(t, s.argmax(1), average=a, zero_division=0,
                                                              labels=None if a in ("macro", "weighted") else range(CLASSES)))
        for average, absent in itertools.product(AVERAGES, ((), (1,))):
            yield (f"{average} multilabel {name} without {absent}", ours("multilabel", CLASSES, average=average), labels(absent=absent),
                   lambda p, t, f=theirs, a=average: f(t, p > 0.5, average=a, zero_division=0))
    for normalize in (None, "true", "pred", "all"):
        yield (f"confusion {normalize}", m.ConfusionMatrix(num_classes=CLASSES, normalize=normalize), scores_and_classes(absent=(2,)),
               lambda s, t, n=normalize: sk.confusion_matrix(t, s.argmax(1), labels=range(CLASSES), normalize=n))
    yield "binary confusion", m.ConfusionMatrix("binary"), binary(), lambda p, t: sk.confusion_matrix(t, p > 0.5)
    yield "multilabel confusion", m.ConfusionMatrix("multilabel", CLASSES), labels(), lambda p, t: sk.multilabel_confusion_matrix(t, p > 0.5)
    bins = np.linspace(0, 1, 21)
    yield "auroc", m.AUROC(), binary(), lambda p, t: sk.roc_auc_score(t, p)
    yield "binned auroc", m.AUROC(thresholds=21), binary(), lambda p, t: sk.roc_auc_score(t, np.searchsorted(bins, p, "right"))
    yield "auroc between", m.AUROC(thresholds=[0.5, 0.2]), binary(), lambda p, t: sk.roc_auc_score(t, np.searchsorted([0.2, 0.5], p, "right"))
    for average in ("macro", "weighted", None):
        yield (f"{average} auroc", m.AUROC("multiclass", CLASSES, average=average), data,
               lambda s, t, a=average: sk.roc_auc_score(np.eye(CLASSES)[t], s, average=a))
        yield (f"{average} multilabel auroc", m.AUROC("multilabel", CLASSES, average=average), labels(),
               lambda p, t, a=average: sk.roc_auc_score(t, p, average=a))
        yield (f"{average} binned auroc", m.AUROC("multiclass", CLASSES, average=average, thresholds=bins), data,
               lambda s, t, a=average: sk.roc_auc_score(np.eye(CLASSES)[t], np.searchsorted(bins, s, "right"), average=a))
    yield "perplexity", m.Perplexity(), data, lambda s, t: np.exp(sk.log_loss(t, np.exp(s) / np.exp(s).sum(1, keepdims=True), labels=range(CLASSES)))
    numbers = 100 + RANDOM.normal(size=ROWS), 100 + RANDOM.normal(size=ROWS)
    yield "mse", m.MSE(), numbers, lambda p, t: sk.mean_squared_error(t, p)
    yield "rmse", m.MSE(squared=False), numbers, lambda p, t: sk.root_mean_squared_error(t, p)
    yield "mae", m.MAE(), numbers, lambda p, t: sk.mean_absolute_error(t, p)
    yield "r2", m.R2(), numbers, lambda p, t: sk.r2_score(t, p)
    several = RANDOM.normal(size=(ROWS, 3)), RANDOM.normal(size=(ROWS, 3)) * [1, 5, 0.1] + 7
    yield "r2 of several", m.R2(num_outputs=3), several, lambda p, t: sk.r2_score(t, p)


CASES = list(cases())
KEEPS_ALL = {"auroc", *(f"{a} auroc" for a in ("macro", "weighted", None)), *(f"{a} multilabel auroc" for a in ("macro", "weighted", None))}


def parts_of(data, *edges):
    return [tensors(*(each[a:b] for each in data)) for a, b in zip((0, *edges), (*edges, len(data[0])))]


def updated(metric, batches):
    for batch in batches:
        metric = metric.update(*batch)
    return metric


class Each(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")

    def of_each(self, check, but=()):
        for name, metric, data, theirs in CASES:
            if name not in but:
                with self.subTest(name):
                    check(metric, data, np.asarray(theirs(*data)))

    def same(self, found, wanted, tolerance=1e-12):
        self.assertIsInstance(found, pl.Tensor)
        np.testing.assert_allclose(found.numpy(), wanted, rtol=tolerance, atol=tolerance)
        self.assertEqual(found.shape, wanted.shape)

    def test_batches(self):
        def check(metric, data, wanted):
            before = [leaf.numpy().copy() for leaf in pl.tree.leaves(metric)]
            for edges in (), (20, 50), (1, 1, 59):
                self.same(updated(metric, parts_of(data, *edges)).compute(), wanted)
            for leaf, earlier in zip(pl.tree.leaves(metric), before):
                np.testing.assert_array_equal(leaf, earlier)

        self.of_each(check)

    def test_merged_in_any_order(self):
        def check(metric, data, wanted):
            parts = [metric.update(*part) for part in parts_of(data, 7, 8, 40)]
            counts = []
            for order in itertools.permutations(range(4)):
                whole = metric
                for i in order:
                    whole = whole.merge(parts[i]) if i % 2 else parts[i].merge(whole)
                self.same(whole.compute(), wanted)
                counts.append([leaf.numpy() for leaf in pl.tree.leaves(whole) if leaf.dtype == pl.i64])
            for other in counts:
                for one, another in zip(counts[0], other):
                    np.testing.assert_array_equal(one, another)

        self.of_each(check)

    def test_masked(self):
        """Ragged batches: what is masked may be anything."""
        for name, metric, data, theirs in CASES:
            with self.subTest(name):
                mask = RANDOM.permutation(np.arange(2 * ROWS) < ROWS)
                padded = []
                for each in data:
                    whole = np.full((2 * ROWS, *each.shape[1:]), -77 if each.dtype.kind == "i" else np.nan)
                    whole[mask] = each
                    padded.append(whole.astype(each.dtype))
                state = metric
                for batch in parts_of((*padded, mask), 33):
                    state = state.update(*batch[:-1], mask=batch[-1])
                self.same(state.compute(), np.asarray(theirs(*data)))
                empty = metric.update(*tensors(*padded), mask=pl.zeros(2 * ROWS, dtype=pl.boolean))
                for one, other in zip(pl.tree.leaves(metric), pl.tree.leaves(empty)):
                    if name not in KEEPS_ALL:
                        np.testing.assert_array_equal(one, other)

    def test_jitted(self):
        def check(metric, data, wanted):
            step = pl.jit(lambda metric, *batch: metric.update(*batch))
            state = metric
            for batch in parts_of(data, 20, 40):
                state = step(state, *batch)
            self.same(pl.jit(lambda metric: metric.compute())(state), wanted)

        self.of_each(check)

    def test_one_record_for_all_batches(self):
        step = pl.jit(lambda metric, *batch: metric.update(*batch))
        metric = pl.metrics.Collection(accuracy=pl.metrics.Accuracy(), f1=pl.metrics.F1(num_classes=CLASSES), perplexity=pl.metrics.Perplexity())
        for batch in parts_of(scores_and_classes(), 20, 40):
            metric = step(metric, *batch)
        self.assertEqual(pl.stats(step).traces, 1)

    def test_scanned(self):
        def check(metric, data, wanted):
            batches = tensors(*(each.reshape(6, ROWS // 6, *each.shape[1:]) for each in data))
            for way in (lambda f: f), pl.jit:
                found, _ = way(lambda metric, *batches: pl.scan(lambda metric, batch: (metric.update(*batch), ()), metric, batches))(metric, *batches)
                self.same(found.compute(), wanted)

        self.of_each(check, but=KEEPS_ALL)

    def test_along_an_axis(self):
        def check(metric, data, wanted):
            batches = tensors(*(each.reshape(3, ROWS // 3, *each.shape[1:]) for each in data))
            apart = pl.vmap(lambda *batch: metric.update(*batch))(*batches)
            each = pl.vmap(lambda metric: metric.compute())(apart)
            for i in range(3):
                self.same(each[i], metric.update(*(x[i] for x in batches)).compute().numpy())
            together = pl.vmap(lambda *batch: metric.update(*batch).all_reduce("data").compute(), axis_name="data")(*batches)
            for i in range(3):
                self.same(together[i], wanted)

        self.of_each(check)

    def test_reset_copied_and_pickled(self):
        def check(metric, data, wanted):
            state = metric.update(*tensors(*data))
            for again in copy.deepcopy(state), pickle.loads(pickle.dumps(state)):
                self.same(again.compute(), wanted)
            fresh = state.reset()
            for one, other in zip(pl.tree.leaves(metric), pl.tree.leaves(fresh)):
                np.testing.assert_array_equal(one, other)
            self.same(fresh.update(*tensors(*data)).compute(), wanted)

        self.of_each(check)

    def test_empty(self):
        for name, metric, data, _ in CASES:
            nothing = metric.update(*tensors(*(each[:0] for each in data)))
            for state in metric, nothing:
                found = state.compute().numpy()
                wanted = 0 if isinstance(metric, (pl.metrics.F1, pl.metrics.Precision, pl.metrics.Recall, pl.metrics.ConfusionMatrix)) else np.nan
                np.testing.assert_array_equal(found, np.full(found.shape, wanted), err_msg=name)

    def test_states_are_not_trained(self):
        def loss(model, x, metric):
            return pl.sum(model * x), metric.update(model * x, x)

        for metric in pl.metrics.MSE(), pl.metrics.R2(), pl.metrics.AUROC("binary"):
            gradient, state = pl.grad(loss, has_aux=True)(pl.tensor(2.0), pl.tensor([1.0, 0.0]), metric)
            self.assertEqual(gradient.item(), 1.0)
            self.assertFalse(any(leaf.is_traced for leaf in pl.tree.leaves(state)))
            self.assertEqual(len(pl.tree.leaves(pl.grad(lambda metric, x: x, 1)(metric, pl.tensor(1.0)))), 1)
            self.assertFalse(pl.tree.leaves(pl.grad(lambda pair: pair[0])([pl.tensor(1.0), metric])[1]))


class Special(unittest.TestCase):
    def test_mean_and_sum(self):
        values, weights, mask = shares(4, 5), shares(4, 5), RANDOM.integers(0, 2, (4, 5)).astype(bool)
        mean, total = pl.metrics.Mean(), pl.metrics.Sum()
        for i in range(4):
            mean = mean.update(values[i], weights[i], mask[i])
            total = total.update(pl.asarray(values[i]), mask=mask[i])
        np.testing.assert_allclose(mean.compute().numpy(), np.average(values, weights=weights * mask), rtol=1e-14)
        np.testing.assert_allclose(total.compute().numpy(), values[mask].sum(), rtol=1e-14)
        np.testing.assert_allclose(pl.metrics.Mean().update(3.0).update(pl.tensor(5.0)).compute().numpy(), 4.0)
        np.testing.assert_allclose(pl.metrics.Mean().update(pl.tensor([1.0, np.nan]), mask=pl.tensor([True, False])).compute().numpy(), 1.0)
        np.testing.assert_allclose(pl.metrics.Mean().update(pl.tensor([2.0, 3.0]), weights=2.0).count.numpy(), 4.0)

    def test_weighted_errors(self):
        p, t, w = RANDOM.normal(size=ROWS), RANDOM.normal(size=ROWS), RANDOM.integers(0, 3, ROWS) * 0.3
        for ours, theirs in ((pl.metrics.MSE, sk.mean_squared_error), (pl.metrics.MAE, sk.mean_absolute_error), (pl.metrics.R2, sk.r2_score)):
            found = ours().update(p[:20], t[:20], w[:20]).merge(ours().update(p[20:], t[20:], weights=w[20:]))
            np.testing.assert_allclose(found.compute().numpy(), theirs(t, p, sample_weight=w), rtol=1e-12)

    def test_r2_far_from_zero(self):
        t = 1e8 + RANDOM.normal(size=ROWS)
        p = t + RANDOM.normal(size=ROWS)
        metric = pl.metrics.R2()
        for i in range(0, ROWS, 7):
            metric = metric.update(p[i:i + 7], t[i:i + 7])
        np.testing.assert_allclose(metric.compute().numpy(), sk.r2_score(t, p), rtol=1e-7)  # sums of squares would leave no digit

    def test_r2_of_constants(self):
        for p, t in (([2.0, 2.0], [2.0, 2.0]), ([2.0, 3.0], [2.0, 2.0])):
            self.assertEqual(pl.metrics.R2().update(p, t).compute().item(), sk.r2_score(t, p))
        self.assertTrue(np.isnan(pl.metrics.R2().update([1.0], [2.0]).compute().item()))

    def test_ignored_classes(self):
        scores, targets = scores_and_classes()
        ignored = np.where(RANDOM.random(ROWS) < 0.3, -100, targets)
        kept = ignored != -100
        for make in (lambda **o: pl.metrics.Accuracy(**o), lambda **o: pl.metrics.Accuracy(top_k=2, **o), lambda **o: pl.metrics.Perplexity(**o),
                     lambda **o: pl.metrics.F1(num_classes=CLASSES, **o), lambda **o: pl.metrics.ConfusionMatrix(num_classes=CLASSES, **o),
                     lambda **o: pl.metrics.AUROC("multiclass", CLASSES, **o)):
            found = make(ignore_index=-100).update(*tensors(scores, ignored)).compute()
            np.testing.assert_allclose(found.numpy(), make().update(*tensors(scores[kept], targets[kept])).compute().numpy(), rtol=1e-12)
        p, t = binary()
        hidden = np.where(RANDOM.random(ROWS) < 0.3, -1, t)
        found = pl.metrics.AUROC(ignore_index=-1).update(*tensors(p, hidden)).compute().item()
        self.assertAlmostEqual(found, sk.roc_auc_score(t[hidden >= 0], p[hidden >= 0]), delta=1e-12)

    def test_axis_of_the_classes(self):
        scores, targets = RANDOM.normal(size=(5, CLASSES, 7)), RANDOM.integers(0, CLASSES, (5, 7))
        for make in (pl.metrics.Accuracy, pl.metrics.Perplexity, lambda **o: pl.metrics.Accuracy(top_k=2, **o),
                     lambda **o: pl.metrics.Recall(num_classes=CLASSES, **o), lambda **o: pl.metrics.AUROC("multiclass", CLASSES, **o)):
            found = make(axis=1).update(*tensors(scores, targets)).compute()
            wanted = make().update(*tensors(np.moveaxis(scores, 1, -1).reshape(-1, CLASSES), targets.reshape(-1))).compute()
            np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-12)

    def test_masks_of_rows(self):
        """A mask of [batch] masks rows of [batch, length]."""
        scores, targets, mask = RANDOM.normal(size=(5, 7, CLASSES)), RANDOM.integers(0, CLASSES, (5, 7)), np.array([1, 0, 1, 1, 0], bool)
        found = pl.metrics.Accuracy().update(*tensors(scores, targets, mask))
        self.assertEqual(found.count.item(), 21)
        self.assertEqual(found.correct.item(), (scores.argmax(-1) == targets)[mask].sum())

    def test_ties_of_the_top_k(self):
        equal = pl.zeros((3, CLASSES))
        self.assertEqual(pl.metrics.Accuracy(top_k=2).update(equal, pl.tensor([0, 1, 2])).correct.item(), 2)
        self.assertEqual(pl.metrics.Accuracy().update(equal, pl.tensor([0, 1, 2])).correct.item(), 1)
        self.assertEqual(pl.metrics.Accuracy(top_k=2).update(equal + np.nan, pl.tensor([3, 3, 3])).correct.item(), 0)

    def test_auroc_at_its_ends(self):
        inf = np.inf
        p, t = [inf, -inf, 1.0, inf, 0.0, -inf], [1, 0, 1, 0, 0, 1]
        wanted = np.mean([(a > b) + 0.5 * (a == b) for a, x in zip(p, t) if x for b, y in zip(p, t) if not y])
        self.assertAlmostEqual(pl.metrics.AUROC().update(*tensors(p, t)).compute().item(), wanted, delta=1e-12)
        self.assertTrue(np.isnan(pl.metrics.AUROC().update(pl.tensor([0.5, 0.6]), pl.tensor([1, 1])).compute().item()))
        self.assertTrue(np.isnan(pl.metrics.AUROC().update(pl.tensor([0.5, np.nan]), pl.tensor([1, 0])).compute().item()))
        f32 = pl.tensor([0.1, 0.2, 0.2, 0.3])
        self.assertEqual(pl.metrics.AUROC().update(f32, pl.tensor([0, 1, 0, 1])).compute().item(), 0.875)

    def test_counts_are_exact(self):
        metric = pl.metrics.Accuracy("binary")
        state = metric.with_(correct=pl.tensor(2**53, dtype=pl.i64), count=pl.tensor(2**53, dtype=pl.i64))
        state = state.update(pl.tensor([0.9]), pl.tensor([1]))
        self.assertEqual((state.correct.item(), state.count.item()), (2**53 + 1, 2**53 + 1))

    def test_collection(self):
        make = {"accuracy": pl.metrics.Accuracy(), "f1": pl.metrics.F1(num_classes=CLASSES)}
        parts = parts_of(scores_and_classes(), 20)
        one, other = (pl.metrics.Collection(make).update(*part) for part in parts)
        found = one.merge(other).compute()
        self.assertEqual(list(found), ["accuracy", "f1"])
        for name, metric in make.items():
            self.assertEqual(found[name].item(), updated(metric, parts).compute().item())
            self.assertEqual(one[name].compute().item(), metric.update(*parts[0]).compute().item())
        self.assertEqual(one.reset().metrics["accuracy"].count.item(), 0)

    def test_targets_that_are_not_classes(self):
        m, x, t = pl.metrics, pl.ones((3, 4)), pl.tensor([0, 1, 2])
        for metric in (m.Accuracy(), m.Accuracy(top_k=2), m.F1(num_classes=4), m.ConfusionMatrix(num_classes=4), m.AUROC("multiclass", 4),
                       m.Perplexity()):
            name = type(metric).__name__
            with self.subTest(name):
                with self.assertRaisesRegex(pl.TypeError, rf"metrics.{name}: the targets are f32\[3\], expected classes[\s\S]*astype\(plait.i64\)"):
                    metric.update(x, pl.astype(t, pl.f32))
                with self.assertRaisesRegex(pl.TypeError, rf"metrics.{name}: the targets are f32\[3, 4\], expected classes[\s\S]*argmax"):
                    metric.update(x, pl.one_hot(t, 4))
                with self.assertRaises(pl.ShapeError):
                    metric.update(x, t[:, None])
                for update in metric.update, pl.jit(metric.update):
                    for wrong in t + 2, t - 1:
                        with self.assertRaisesRegex((pl.CheckError, pl.IndexError), "have another class than 0 to 3" if name != "Perplexity" else ""):
                            pl.tree.leaves(update(x, wrong))[0].numpy()
                    made = update(x, t - 1, mask=t > 0)
                    self.assertEqual(type(made), type(metric))
        with self.assertRaisesRegex(pl.CheckError, "metrics.Accuracy: the targets have another class than 0 or more"):
            m.Accuracy().update(t, t - 1)
        self.assertEqual(m.Accuracy().update(t > 0, t > 1).correct.item(), 2)
        for metric in m.Accuracy("binary"), m.F1("binary"), m.AUROC(), m.ConfusionMatrix("binary"), m.Recall("multilabel", 3):
            for wrong in (t, t - 1, pl.tensor([0.0, 0.5, 1.0])):
                with self.assertRaisesRegex(pl.CheckError, rf"metrics.{type(metric).__name__}: the targets have another value than 0 or 1"):
                    metric.update(pl.tensor([0.1, 0.2, 0.3]), wrong)
            made = metric.update(pl.tensor([0.1, 0.2, 0.3]), pl.tensor([0.0, 1.0, 1.0])).update(pl.tensor([0.1, 0.2, 0.3]), t > 1)
            self.assertEqual(type(made), type(metric))
        with self.assertRaisesRegex(pl.ShapeError, r"metrics.Recall: the targets are i64\[\], expected an axis of labels"):
            m.Recall("multilabel", 3).update(pl.tensor(0.5), pl.tensor(1))

    def test_wrong(self):
        m, x, t = pl.metrics, pl.ones((3, 4)), pl.tensor([0, 1, 2])
        for call, error, message in (
                (lambda: m.Accuracy("regression"), pl.ValueError, "metrics.Accuracy: task is 'regression', expected one of 'binary', 'multiclass'"),
                (lambda: m.Accuracy(top_k=0), pl.ValueError, "top_k is 0"),
                (lambda: m.Accuracy("binary", top_k=2), pl.ValueError, "top_k is 2 for binary"),
                (lambda: m.F1(), pl.ValueError, r"metrics.F1: num_classes is missing[\s\S]*F1\('multiclass', num_classes=10\)"),
                (lambda: m.Recall(num_classes=3, average="mean"), pl.ValueError, "metrics.Recall: average is 'mean'"),
                (lambda: m.ConfusionMatrix(num_classes=3, normalize="rows"), pl.ValueError, "normalize is 'rows'"),
                (lambda: m.AUROC(thresholds=1), pl.ValueError, "thresholds is 1"),
                (lambda: m.R2(0), pl.ValueError, "num_outputs is 0"),
                (lambda: m.Collection(loss=3), pl.TypeError, "metrics.Collection: loss is a int"),
                (lambda: m.Accuracy().update(x, pl.tensor([0, 1])), pl.ShapeError, r"Accuracy: the predictions are \[3\] and the targets \[2\]"),
                (lambda: m.Accuracy().update(pl.ones(3), t), pl.ShapeError, r"the predictions are f32\[3\], expected scores"),
                (lambda: m.Accuracy().update(x, t, pl.ones(3)), pl.TypeError, r"the mask is f32\[3\], expected bool"),
                (lambda: m.Accuracy().update(x, t, pl.ones(2) > 0), pl.ShapeError, r"the mask is \[2\], expected \[3\]"),
                (lambda: m.F1(num_classes=3).update(x, t), pl.ShapeError, "scores of 4 classes, expected 3"),
                (lambda: m.F1(num_classes=4).update(x, t + 2), pl.CheckError, "metrics.F1: the targets have another class than 0 to 3"),
                (lambda: m.F1(num_classes=4).update(x, t - 1), pl.CheckError, "metrics.F1: the targets have another class than 0 to 3"),
                (lambda: m.ConfusionMatrix(num_classes=4).update(t + 2, t), pl.CheckError, "ConfusionMatrix: the predictions have another class"),
                (lambda: m.ConfusionMatrix(num_classes=4).update(t, t - 1), pl.CheckError, "ConfusionMatrix: the targets have another class"),
                (lambda: m.Perplexity().update(x, t - 1).compute().numpy(), pl.IndexError, ""),
                (lambda: m.MSE().update(x, t), pl.ShapeError, r"metrics.MSE: the predictions are \[3, 4\] and the targets \[3\]"),
                (lambda: m.Accuracy().merge(m.Accuracy(top_k=2)), pl.TypeError, "made with the same options"),
                (lambda: m.Mean().merge(m.Sum()), pl.TypeError, "metrics.Mean: it does not merge with another Sum"),
                (lambda: m.Acuracy, pl.AttributeError, "Accuracy")):
            with self.subTest(message), self.assertRaisesRegex(error, message):
                call()


class Counted(pl.metrics.Metric):
    """A metric of a user: how many numbers are above an edge, and of how many; nested and constant parts are allowed."""

    def __init__(self):
        self.numbers, self.edge = pl.nn.Buffer({"above": pl.zeros((), dtype=pl.i64), "all": pl.zeros((), dtype=pl.i64)}), np.array(0.5)
        self.model = pl.nn.Buffer(pl.nn.Linear(1, 1))

    def update(self, x):
        above, count = pl.sum(x > self.edge), pl.sum(pl.ones_like(x, dtype=pl.i64))
        return self.with_(numbers={"above": self.numbers["above"] + above, "all": self.numbers["all"] + count})

    def compute(self):
        return self.numbers["above"] / self.numbers["all"]


class Own(unittest.TestCase):
    def test_sums_are_merged(self):
        empty, x = Counted(), pl.tensor([[0.2, 0.8], [0.9, 0.6]])
        found = empty.update(x[0]).merge(empty.update(x[1]))
        self.assertEqual((found.compute().item(), found.numbers["all"].item(), found.edge.item()), (0.75, 4, 0.5))
        self.assertEqual((found.reset().numbers["all"].item(), found.reset().edge.item()), (0, 0.5))
        self.assertTrue(pl.array_equal(found.reset().model.weight, empty.model.weight))
        shares = pl.vmap(lambda row: empty.update(row).all_reduce("data").compute(), axis_name="data")(x)
        self.assertEqual(shares.tolist(), [0.75, 0.75])
        both = pl.metrics.Collection(own=empty)
        self.assertEqual(both.update(x[0]).merge(both.update(x[1])).compute()["own"].item(), 0.75)

    def test_states_that_merge_does_not_know(self):
        class Plain(pl.metrics.Metric):
            def __init__(self, total):
                self.total = total

        for total, words in ((0, "Plain: it has no buffers, and no {} of its own"),
                             (pl.zeros(()), "Plain: total is a weight, which {} does not know"),
                             (pl.nn.Buffer(pl.nn.Linear(1, 1)), "Plain: it has no buffers")):
            metric = Plain(total)
            for what, call in (("merge", lambda: metric.merge(metric)), ("reset", metric.reset), ("merge", lambda: metric.all_reduce("data")),
                               ("reset", pl.metrics.Collection(a=metric).reset)):
                with self.subTest(words), self.assertRaisesRegex(pl.TypeError, words.format(what) + r"[\s\S]*plait.nn.Buffer\("):
                    call()
        with self.assertRaisesRegex(pl.TypeError, r"Plain: there is no update[\s\S]*define update\(self, predictions, targets\)"):
            Plain(0).update(1, 2)
        with self.assertRaisesRegex(pl.AttributeError, "metrics.Sum: sum is not one of its buffers, count, total"):
            pl.metrics.Sum().with_(sum=1)

    def test_a_result_that_is_not_used(self):
        x = pl.tensor([0.0, 1.0])
        for metric in pl.metrics.Mean(), pl.metrics.Sum():
            with self.assertRaisesRegex(pl.TypeError, r"update\(\) returns the metric with a batch more[\s\S]*metric = metric.update\("):
                metric.update(x)
        for metric in pl.metrics.MSE(), pl.metrics.R2(), pl.metrics.Accuracy("binary"), pl.metrics.Collection(mae=pl.metrics.MAE()):
            with self.assertRaisesRegex(pl.TypeError, "the result is not used"):
                metric.update(x, x)

    def test_help_says_what_binary_predictions_are(self):
        for name in "Accuracy", "Precision", "Recall", "F1", "ConfusionMatrix", "AUROC":
            self.assertRegex(getattr(pl.metrics, name).__doc__, r'Predictions for "binary"\s+and\s+"multilabel"\s+are\s+(probabilities|scores)')


if __name__ == "__main__":
    unittest.main()
