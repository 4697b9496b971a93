"""The losses of plait.nn compared with PyTorch's: over its module database and its criterion tests, and beyond them."""

import inspect
import itertools
import math
import unittest

import numpy as np
import plait as pl
import torch
import torch.nn.functional as F
from torch.testing._internal import common_modules, common_nn
from torch_check import check, close, cotangent_of, t

RANDOM = np.random.default_rng(31)
REDUCTIONS = ("none", "mean", "sum")
LOSSES = [name for name in torch.nn.modules.loss.__all__ if name != "LinearCrossEntropyLoss"]
DATABASE = [info for info in common_modules.module_db if info.module_cls.__module__ == "torch.nn.modules.loss"]
ACCURACY = 1e-10


def draw(*shape):
    return RANDOM.normal(size=shape)


def shares(*shape):
    return RANDOM.uniform(0.02, 0.98, shape)


def signs(*shape):
    return np.where(RANDOM.random(shape) < 0.5, -1.0, 1.0)


def classes(*shape, count=4):
    return RANDOM.integers(0, count, shape)


def ours_of(value):
    """A tensor of PyTorch, or a tuple of numbers, as a tensor of Plait."""
    if isinstance(value, torch.Tensor):
        return pl.asarray(value.detach().numpy())
    return pl.tensor(list(value)) if isinstance(value, (list, tuple)) else value


def compare(ours, theirs, given, differentiable=None):
    """Values, and gradients with respect to what requires them, of two losses of the same tensors of PyTorch."""
    given = [x.detach().requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x for x in given]
    expected = theirs(*given)
    own = [ours_of(x) for x in given]
    found = ours(*own)
    close(found, expected.detach(), ACCURACY, "value")
    places = tuple(i for i, x in enumerate(given) if isinstance(x, torch.Tensor) and x.requires_grad)
    cotangent = cotangent_of(found.shape)
    if places:
        expected.backward(t(cotangent))
        slopes = pl.grad(lambda *x: pl.sum(ours(*x) * pl.asarray(cotangent)), places)(*own)
        for place, slope in zip(places, slopes):
            close(slope, given[place].grad, ACCURACY, f"gradient by {place}")


def through_log_softmax(loss, log_softmax):
    """PyTorch's gradient of ctc_loss is that by logits: the logarithms of probabilities count as normalised."""
    return lambda x, *others: loss(log_softmax(x, -1), *others)


class Database(unittest.TestCase):
    def test_modules(self):
        seen = 0
        for info in DATABASE:
            name = info.module_cls.__name__
            torch.manual_seed(4)
            for given in info.module_inputs_func(info, device="cpu", dtype=torch.float64, requires_grad=True, training=True):
                arguments, named = given.constructor_input.args, given.constructor_input.kwargs
                with self.subTest(name, desc=given.desc):
                    theirs = info.module_cls(*arguments, **named).double()
                    if name == "LinearCrossEntropyLoss":
                        self.check_linear(theirs, arguments, named, given.forward_input.args)
                    else:
                        ours = getattr(pl.nn, name)(*map(ours_of, arguments), **{key: ours_of(value) for key, value in named.items()})
                        if name == "CTCLoss":
                            ours, theirs = through_log_softmax(ours, pl.log_softmax), through_log_softmax(theirs, F.log_softmax)
                        compare(ours, theirs, given.forward_input.args)
                    seen += 1
        self.assertGreater(seen, 400)

    def check_linear(self, theirs, arguments, named, given):
        options = named.get("options")
        named = {key: ours_of(value) if key != "out_features" else value for key, value in named.items() if key not in ("options", "device", "dtype")}
        chunk = getattr(options, "batch_chunk_size", None) or 3
        ours = pl.nn.LinearCrossEntropyLoss(*arguments, **named, chunk=chunk, dtype=pl.f64)
        leaves, structure = pl.tree.flatten(ours)
        self.assertEqual(set(structure.paths), set(theirs.state_dict()))
        ours = structure.unflatten([ours_of(theirs.state_dict()[path]) for path in structure.paths])
        theirs.options = None
        compare(ours, theirs, given)
        theirs.zero_grad()
        out = theirs(*(x.detach() for x in given))
        cotangent = cotangent_of(out.shape)
        out.backward(t(cotangent))
        own = [ours_of(x) for x in given]
        slopes = pl.grad(lambda loss: pl.sum(loss(*own) * pl.asarray(cotangent)))(ours)
        for path, parameter in theirs.named_parameters():
            close(dict(pl.tree.leaves_with_paths(slopes))[path], parameter.grad, ACCURACY, path)

    def test_criteria(self):
        for info in common_nn.criterion_tests:
            theirs = info["constructor"]()
            torch.manual_seed(5)
            given = info["input_fn"]() if "input_fn" in info else torch.randn(info["input_size"])
            given = [x.double().requires_grad_() for x in (given if isinstance(given, tuple) else (given,))]
            target = info["target_fn"]() if "target_fn" in info else torch.rand(info["target_size"])
            target = target.double() if target.is_floating_point() else target
            with self.subTest(info["fullname"]):
                compare(getattr(pl.nn, type(theirs).__name__)(reduction=theirs.reduction), theirs, [*given, target])


def leaves(*shapes):
    return [t(draw(*shape)).requires_grad_() for shape in shapes]


def ctc_batch():
    return [t(draw(7, 2, 4)).requires_grad_(), t(1 + classes(2, 3, count=3)), torch.tensor([7, 6]), torch.tensor([3, 2])]


# For each class: constructor options, and what makes its arguments for n samples.
CASES = {
    "L1Loss": ([{}], lambda n: [*leaves((n, 3), (n, 3))]),
    "MSELoss": ([{}], lambda n: [*leaves((n, 3), (n, 3))]),
    "SmoothL1Loss": ([{}, {"beta": 0.3}, {"beta": 0.0}], lambda n: [*leaves((n, 3), (n, 3))]),
    "HuberLoss": ([{}, {"delta": 0.3}], lambda n: [*leaves((n, 3), (n, 3))]),
    "CrossEntropyLoss": ([{}, {"weight": shares(4), "label_smoothing": 0.2}, {"ignore_index": 1}], lambda n: [*leaves((n, 4, 2)), t(classes(n, 2))]),
    "NLLLoss": ([{}, {"weight": shares(4)}, {"ignore_index": 1}], lambda n: [*leaves((n, 4)), t(classes(n))]),
    "NLLLoss2d": ([{}, {"weight": shares(4)}], lambda n: [*leaves((n, 4, 2, 3)), t(classes(n, 2, 3))]),
    "PoissonNLLLoss": ([{}, {"full": True}, {"log_input": False, "eps": 0.1}], lambda n: [t(shares(n, 3)).requires_grad_(), t(3 * shares(n, 3))]),
    "GaussianNLLLoss": ([{}, {"full": True, "eps": 0.5}],
                        lambda n: [*leaves((n, 3), (n, 3)), t(shares(n)).requires_grad_()]),
    "KLDivLoss": ([{}, {"log_target": True}], lambda n: [*leaves((n, 3)), t(shares(n, 3)).requires_grad_()]),
    "BCELoss": ([{}, {"weight": shares(3)}], lambda n: [t(shares(n, 3)).requires_grad_(), t(shares(n, 3))]),
    "BCEWithLogitsLoss": ([{}, {"weight": shares(3), "pos_weight": 3 * shares(3)}], lambda n: [*leaves((n, 3)), t(shares(n, 3))]),
    "HingeEmbeddingLoss": ([{}, {"margin": 0.4}], lambda n: [*leaves((n, 3)), t(signs(n, 3))]),
    "MultiLabelMarginLoss": ([{}], lambda n: [*leaves((n, 4)), torch.tensor([[3, 0, -1, 1]] * n, dtype=torch.int64).reshape(n, 4)]),
    "MultiLabelSoftMarginLoss": ([{}, {"weight": shares(3)}], lambda n: [*leaves((n, 3)), t(shares(n, 3))]),
    "MultiMarginLoss": ([{}, {"p": 2, "margin": 0.7, "weight": shares(4)}], lambda n: [*leaves((n, 4)), t(classes(n))]),
    "SoftMarginLoss": ([{}], lambda n: [*leaves((n, 3)), t(signs(n, 3))]),
    "CosineEmbeddingLoss": ([{}, {"margin": 0.3}], lambda n: [*leaves((n, 3), (n, 3)), t(signs(n))]),
    "MarginRankingLoss": ([{}, {"margin": 0.3}], lambda n: [*leaves((n,), (n,)), t(signs(n))]),
    "TripletMarginLoss": ([{}, {"margin": 0.3, "p": 1.5, "eps": 0.01, "swap": True}], lambda n: [*leaves((n, 3), (n, 3), (n, 3))]),
    "TripletMarginWithDistanceLoss": ([{}, {"margin": 0.3, "swap": True}], lambda n: [*leaves((n, 3), (n, 3), (n, 3))]),
    "CTCLoss": ([{}, {"blank": 0, "zero_infinity": True}], lambda n: ctc_batch()),
}
NOT_EMPTY = {"CTCLoss", "MultiMarginLoss", "MultiLabelMarginLoss"}  # PyTorch refuses empty batches, or does not initialise the result


def both(name, reduction, options):
    theirs = {key: t(value) if isinstance(value, np.ndarray) else value for key, value in options.items()}
    own = {key: pl.asarray(value) if isinstance(value, np.ndarray) else value for key, value in options.items()}
    return getattr(pl.nn, name)(reduction=reduction, **own), getattr(torch.nn, name)(reduction=reduction, **theirs)


class Classes(unittest.TestCase):
    def of_each(self, check, but=()):
        """check(name, ours, theirs, make), for all options and reductions of all classes."""
        for name, (all_options, make) in CASES.items():
            for options, reduction in itertools.product(all_options, (*REDUCTIONS, "batchmean") if name == "KLDivLoss" else REDUCTIONS):
                if name not in but:
                    with self.subTest(name, reduction=reduction, **options):
                        check(name, *both(name, reduction, options), make)

    def test_all_are_here(self):
        self.assertEqual(set(CASES), set(LOSSES))
        for name in LOSSES:
            own, theirs = (inspect.signature(getattr(package.nn, name).__init__).parameters for package in (pl, torch))
            self.assertEqual([(p.name, p.kind, p.default) for p in own.values()], [(p.name, p.kind, p.default) for p in theirs.values()], name)
            own, theirs = (list(inspect.signature(each).parameters) for each in (getattr(pl.nn, name).__call__, getattr(torch.nn, name).forward))
            self.assertEqual(own, theirs, name)

    def test_options_and_reductions(self):
        def check(name, ours, theirs, make):
            if name == "CTCLoss":
                ours, theirs = through_log_softmax(ours, pl.log_softmax), through_log_softmax(theirs, F.log_softmax)
            compare(ours, theirs, make(5))

        self.of_each(check)

    def test_empty_batches(self):
        self.of_each(lambda name, ours, theirs, make: compare(ours, theirs, make(0)), but=NOT_EMPTY)
        for loss, shape in (pl.nn.MultiMarginLoss, (0,)), (pl.nn.MultiLabelMarginLoss, (0, 4)):
            for reduction, wanted in ("none", []), ("mean", np.nan), ("sum", 0.0):
                np.testing.assert_array_equal(loss(reduction=reduction)(pl.zeros((0, 4)), pl.zeros(shape, dtype=pl.i64)).numpy(), wanted)

    def test_ways(self):
        """The loss is an argument of jitted functions: its weights are leaves."""
        def check(name, ours, theirs, make):
            given = [ours_of(x) for x in make(3)]
            value = ours(*given)
            close(pl.jit(lambda loss, *x: loss(*x))(ours, *given), value.numpy(), 1e-12, "jit")
            slope = pl.grad(lambda loss, *x: pl.sum(loss(*x)), tuple(i + 1 for i, x in enumerate(make(3)) if x.requires_grad))
            for one, other in zip(pl.jit(slope)(ours, *given), slope(ours, *given)):
                close(one, other.numpy(), 1e-12, "jitted gradient")
            many = [pl.stack([x, x]) for x in given]
            close(pl.vmap(lambda *x: ours(*x))(*many), np.stack([value.numpy()] * 2), 1e-12, "vmap")

        self.of_each(check)

    def test_symbolic_batch(self):
        def check(name, ours, theirs, make):
            specs = [pl.Spec(f"{x.dtype.name}[{', '.join(['n', *map(str, x.shape[1:])])}]") for x in map(ours_of, make(7))]
            program = pl.trace(lambda *x: ours(*x))(*specs)
            for n in (2, 7):
                given = [ours_of(x) for x in make(n)]
                close(program(*given), ours(*given).numpy(), 1e-12, f"n = {n}")

        self.of_each(check, but={"CTCLoss"})

    def test_weights_are_buffers(self):
        loss = pl.nn.BCEWithLogitsLoss(weight=shares(3), pos_weight=shares(3))
        self.assertEqual([path for path, _ in pl.tree.leaves_with_paths(loss)], ["weight", "pos_weight"])
        self.assertEqual([path for path, _ in pl.tree.leaves_with_paths(loss)],
                         list(torch.nn.BCEWithLogitsLoss(weight=torch.ones(3), pos_weight=torch.ones(3)).state_dict()))
        slope = pl.grad(lambda loss, x: loss(x, pl.ones((2, 3), dtype=pl.f64)), (0, 1))(loss, pl.asarray(draw(2, 3)))
        self.assertIsNone(slope[0].weight)
        self.assertIsNone(slope[0].pos_weight)

    def test_all_targets_ignored(self):
        x, target = t(draw(3, 4)).requires_grad_(), torch.full((3,), -100)
        for name, reduction in itertools.product(("CrossEntropyLoss", "NLLLoss"), REDUCTIONS):
            with self.subTest(name, reduction=reduction):
                compare(*both(name, reduction, {}), [x, target])

    def test_targets_without_an_alignment(self):
        x, targets, steps, lengths = ctc_batch()
        lengths[1] = 3
        steps[1] = 2
        for zero, reduction in itertools.product((True, False), REDUCTIONS):
            ours, theirs = both("CTCLoss", reduction, {"zero_infinity": zero})
            close(ours(*map(ours_of, (F.log_softmax(x, -1), targets, steps, lengths))),
                  theirs(F.log_softmax(x, -1), targets, steps, lengths).detach(), ACCURACY, reduction)

    def test_older_names_of_reductions(self):
        x = [pl.tensor([1.0, 2.0]), pl.tensor([2.0, 4.0])]
        for average, reduce in itertools.product((None, True, False), repeat=2):
            wanted = torch.nn.L1Loss(average, reduce).reduction if (average, reduce) != (None, None) else "mean"
            self.assertEqual(pl.nn.L1Loss(average, reduce).reduction, wanted)
            self.assertEqual(pl.nn.L1Loss(average, reduce)(*x).shape, () if wanted != "none" else (2,))

    def test_a_distance_may_be_a_model(self):
        class Distance(pl.Module):
            def __init__(self):
                self.scale = pl.tensor([2.0, 1.0, 0.5], dtype=pl.f64)

            def __call__(self, a, b):
                return pl.sum(pl.abs(a - b) * self.scale, -1)

        given = [ours_of(x) for x in leaves((4, 3), (4, 3), (4, 3))]
        loss = pl.nn.TripletMarginWithDistanceLoss(distance_function=Distance())
        slope = pl.grad(lambda loss: loss(*given))(loss).distance_function.scale
        a, p, n = (x.numpy() for x in given)
        active = (1 + ((abs(a - p) - abs(a - n)) * [2.0, 1.0, 0.5]).sum(1) > 0)[:, None]
        np.testing.assert_allclose(slope.numpy(), (active * (abs(a - p) - abs(a - n))).mean(0), atol=1e-12)

    def test_the_function_with_a_distance(self):
        options = {"margin": 0.3, "swap": True, "reduction": "sum"}
        given = leaves((5, 3), (5, 3), (5, 3))
        compare(lambda *x: pl.nn.triplet_margin_with_distance_loss(*x, **options), lambda *x: F.triplet_margin_with_distance_loss(*x, **options), given)
        far = lambda module: lambda a, b: module.sum(module.abs(a - b), -1)  # noqa: E731
        compare(lambda *x: pl.nn.triplet_margin_with_distance_loss(*x, distance_function=far(pl)),
                lambda *x: F.triplet_margin_with_distance_loss(*x, distance_function=far(torch)), given)

    def test_wrong(self):
        nn = pl.nn
        for make, error, message in (
                (lambda: nn.L1Loss(reduction="average"), pl.ValueError, "nn.L1Loss: the reduction is 'average', expected one of 'none'"),
                (lambda: nn.MSELoss(reduction="batchmean"), pl.ValueError, "nn.MSELoss"),
                (lambda: nn.SmoothL1Loss(beta=-1.0), pl.ValueError, "nn.SmoothL1Loss: beta is -1.0, expected a number: 0 or more"),
                (lambda: nn.HuberLoss(delta=0), pl.ValueError, "nn.HuberLoss: delta is 0"),
                (lambda: nn.CrossEntropyLoss(label_smoothing=1.5), pl.ValueError, "label_smoothing is 1.5, expected a number from 0 to 1"),
                (lambda: nn.CrossEntropyLoss(weight=pl.ones((2, 2))), pl.ShapeError, r"CrossEntropyLoss: weight is \[2, 2\], expected \[classes\]"),
                (lambda: nn.NLLLoss(weight=pl.tensor([1, 2])), pl.TypeError, r"nn.NLLLoss: weight is i64\[2\], expected floats"),
                (lambda: nn.MultiMarginLoss(p=3), pl.ValueError, "nn.MultiMarginLoss: p is 3, expected 1 or 2"),
                (lambda: nn.TripletMarginLoss(margin=-1), pl.ValueError, "nn.TripletMarginLoss: margin is -1, expected a number above 0"),
                (lambda: nn.TripletMarginWithDistanceLoss(margin=0.0), pl.ValueError, "margin is 0.0, expected a number above 0"),
                (lambda: nn.TripletMarginLoss(p=-1), pl.ValueError, "nn.TripletMarginLoss: p is -1"),
                (lambda: nn.TripletMarginLoss(margin="wide"), pl.ValueError, "margin is 'wide', expected a number, at"),
                (lambda: nn.TripletMarginWithDistanceLoss(distance_function=2.0), pl.TypeError, "is not a function"),
                (lambda: nn.CTCLoss(blank=-1), pl.ValueError, "nn.CTCLoss: blank is -1"),
                (lambda: nn.GaussianNLLLoss(eps=-1e-6), pl.ValueError, "nn.GaussianNLLLoss: eps")):
            with self.subTest(message), self.assertRaisesRegex(error, message):
                make()


def focal_of_torch(x, target, alpha, gamma):
    p = torch.sigmoid(x)
    of_target = p * target + (1 - p) * (1 - target)
    losses = -torch.log(of_target) * (1 - of_target) ** gamma
    return losses * (alpha * target + (1 - alpha) * (1 - target)) if alpha >= 0 else losses


def softmax_focal_of_torch(x, target, alpha, gamma, ignored):
    logs = torch.log_softmax(x, 1).gather(1, target.clamp(min=0).unsqueeze(1)).squeeze(1)
    losses = -logs * (1 - logs.exp()) ** gamma * (1 if alpha is None else alpha[target.clamp(min=0)])
    return torch.where(target == ignored, 0.0, losses)


class Others(unittest.TestCase):
    def test_sigmoid_focal(self):
        x, target = draw(4, 5), RANDOM.integers(0, 2, (4, 5)).astype(float)
        for alpha, gamma in itertools.product((0.25, 0.6, -1.0), (0.0, 1.5, 2.0)):
            check(lambda x: pl.nn.sigmoid_focal_loss(x, target, alpha, gamma), lambda x: focal_of_torch(x, t(target), alpha, gamma), [x], 1e-10)
        for reduction in "mean", "sum":
            check(lambda x: pl.nn.sigmoid_focal_loss(x, target, reduction=reduction),
                  lambda x: getattr(focal_of_torch(x, t(target), 0.25, 2.0), reduction)(), [x], 1e-10)

    def test_softmax_focal(self):
        x, target, alpha = draw(6, 4, 2), classes(6, 2), shares(4)
        target[0, 1] = target[3, 0] = -100
        for gamma, weights in itertools.product((0.0, 1.5, 2.0), (None, alpha)):
            theirs = None if weights is None else t(weights)
            for reduction in REDUCTIONS:
                def reduce(losses):
                    return losses if reduction == "none" else losses.sum() / ((target != -100).sum() if reduction == "mean" else 1)

                check(lambda x: pl.nn.softmax_focal_loss(x, target, weights, gamma, reduction=reduction),
                      lambda x: reduce(softmax_focal_of_torch(x, t(target), theirs, gamma, -100)), [x], 1e-10)
        certain = pl.tensor([[800.0, 0.0]])
        self.assertEqual(pl.grad(lambda x: pl.nn.softmax_focal_loss(x, pl.tensor([0]), reduction="sum"))(certain).tolist(), [[0.0, 0.0]])

    def test_dice(self):
        x, target = shares(2, 3, 4, 5), RANDOM.integers(0, 2, (2, 3, 4, 5)).astype(float)
        for smooth, axis, reduction in itertools.product((1.0, 0.1), (None, (0, 2, 3)), REDUCTIONS):
            def theirs(x):
                sums = lambda y: y.sum((2, 3) if axis is None else axis)  # noqa: E731
                losses = 1 - (2 * sums(x * t(target)) + smooth) / (sums(x) + sums(t(target)) + smooth)
                return losses if reduction == "none" else getattr(losses, reduction)()

            check(lambda x: pl.nn.dice_loss(x, target, smooth, axis, reduction), theirs, [x], 1e-10)

    def test_of_differences(self):
        x, y = draw(4, 3), draw(4, 3)
        check(lambda x, y: pl.nn.log_cosh(x, y, "none"), lambda x, y: torch.log(torch.cosh(x - y)), [x, y], 1e-10)
        check(lambda x, y: pl.nn.log_cosh(x, y), lambda x, y: torch.log(torch.cosh(x - y)).mean(), [x, y], 1e-10)
        far = pl.asarray(np.array([-1e5, 0.0, 1e5]))
        np.testing.assert_allclose(pl.nn.log_cosh(far, 0.0, "none").numpy(), [1e5 - math.log(2), 0, 1e5 - math.log(2)], atol=1e-12)
        self.assertEqual(pl.hessian(lambda x: pl.nn.log_cosh(x, 0.0))(pl.tensor(0.0)).item(), 1.0)
        labels = signs(4, 3)
        for reduction in REDUCTIONS:
            check(lambda x: pl.nn.hinge_loss(x, labels, reduction),
                  lambda x: (lambda y: y if reduction == "none" else getattr(y, reduction)())(F.relu(1 - x * t(labels))), [x], 1e-10)

    def test_contrastive(self):
        x, y, negatives = draw(5, 3), draw(5, 3), draw(7, 3)

        def of_all(x, y, temperature):
            x, y = F.normalize(x), F.normalize(y)
            return F.cross_entropy(x @ y.T / temperature, torch.arange(5))

        def of_negatives(x, y, negatives):
            losses = []
            for row in range(5):
                positive = F.cosine_similarity(x[row], y[row], 0)
                others = F.cosine_similarity(x[row][None], negatives)
                losses.append(torch.logsumexp(torch.cat([positive[None], others]) / 0.2, 0) - positive / 0.2)
            return torch.stack(losses)

        def of_views(x, y):
            vectors, losses = torch.cat([x, y]), []
            for i in range(10):
                near = torch.stack([F.cosine_similarity(vectors[i], vectors[j], 0) / 0.5 for j in range(10) if j != i])
                losses.append(torch.logsumexp(near, 0) - F.cosine_similarity(vectors[i], vectors[(i + 5) % 10], 0) / 0.5)
            return torch.stack(losses)

        check(lambda x, y: pl.nn.info_nce(x, y, temperature=0.3), lambda x, y: of_all(x, y, 0.3), [x, y], 1e-10)
        check(lambda *x: pl.nn.info_nce(*x, temperature=0.2, reduction="none"), of_negatives, [x, y, negatives], 1e-10)
        check(lambda x, y: pl.nn.nt_xent(x, y, reduction="none"), of_views, [x, y], 1e-10)
        check(lambda x, y: pl.nn.nt_xent(x, y), lambda x, y: of_views(x, y).mean(), [x, y], 1e-10)
        slope = pl.grad(lambda t: pl.nn.nt_xent(x, y, temperature=t))(pl.tensor(0.5, dtype=pl.f64)).item()
        near = [pl.nn.nt_xent(x, y, temperature=0.5 + step).item() for step in (1e-5, -1e-5)]
        self.assertAlmostEqual(slope, (near[0] - near[1]) / 2e-5, places=5)  # a learnt temperature

    def test_ways(self):
        x, y, labels = (pl.asarray(each) for each in (draw(3, 4, 5), draw(3, 4, 5), classes(3, 4, count=5)))
        for loss, given in ((pl.nn.nt_xent, (x, y)), (pl.nn.info_nce, (x, y)), (pl.nn.log_cosh, (x, y)), (pl.nn.hinge_loss, (x, y)),
                            (lambda x, y: pl.nn.softmax_focal_loss(x, y, reduction="mean"), (x, labels))):
            each = [loss(*(part[i] for part in given)) for i in range(3)]
            close(pl.vmap(loss)(*given), np.stack([value.numpy() for value in each]), 1e-12, "vmap")
            first = [part[0] for part in given]
            close(pl.jit(pl.grad(loss))(*first), pl.grad(loss)(*first).numpy(), 1e-12, "jitted gradient")
            program = pl.trace(loss)(*(pl.Spec(f"{part.dtype.name}[{', '.join(['n', *map(str, part.shape[2:])])}]") for part in given))
            close(program(*(part[0, :2] for part in given)), loss(*(part[0, :2] for part in given)).numpy(), 1e-12, "symbolic")

    def test_wrong(self):
        x = pl.ones((3, 2))
        for call, error, message in ((lambda: pl.nn.nt_xent(x, pl.ones((2, 2))), pl.ShapeError, r"nn.nt_xent: the vectors are \[3, 2\] and \[2, 2\]"),
                                     (lambda: pl.nn.info_nce(x, x, temperature=-1), pl.ValueError, "nn.info_nce: temperature is -1"),
                                     (lambda: pl.nn.dice_loss(x, x), pl.ShapeError, r"nn.dice_loss: inputs of 2 axes[\s\S]*axis=-1"),
                                     (lambda: pl.nn.hinge_loss(x, x, "all"), pl.ValueError, "nn.hinge_loss: the reduction is 'all'"),
                                     (lambda: pl.nn.sigmoid_focal_loss(x, x, gamma=-2), pl.ValueError, "gamma is -2")):
            with self.assertRaisesRegex(error, message):
                call()


if __name__ == "__main__":
    unittest.main()
