"""Common to all optimizers: numbers and schedules, groups, states, errors; those that PyTorch does not have, compared with optax's;
averages of models, and clipping, compared with PyTorch's."""

import copy
import functools
import pickle
import unittest

import numpy as np
import plait as pl
import torch

STEPS = 10
ALL = {name: getattr(pl.optim, name) for name in (
    "SGD", "ASGD", "Rprop", "Lion", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "SparseAdam", "Adagrad", "Adadelta", "RMSprop", "Adafactor", "LAMB",
    "LARS", "Muon")}
BEGIN = {"w": np.random.default_rng(1).normal(size=(3, 2)), "v": np.random.default_rng(2).normal(size=(2, 2))}


def loss(model):
    return pl.sum((model["w"] @ model["v"] - 1) ** 2) + pl.sum(pl.cos(model["v"]))


def step(model, optimizer):
    return optimizer.update(model, pl.grad(loss)(model))


def begun():
    return {name: pl.asarray(value) for name, value in BEGIN.items()}


def trained(make, run=step, steps=STEPS, model=None):
    model = begun() if model is None else model
    optimizer = make(model)
    for _ in range(steps):
        model, optimizer = run(model, optimizer)
    return model, optimizer


def bits(model):
    return {path: leaf.numpy().tobytes() for path, leaf in pl.tree.leaves_with_paths(model)}


class Numbers(unittest.TestCase):
    def test_a_rate_changed_often_records_nothing_anew(self):
        for name, cls in ALL.items():
            with self.subTest(name):
                model, run = begun(), pl.jit(step)
                optimizer = cls(model)
                for i in range(100):
                    optimizer.lr = 0.01 / (i + 1)
                    model, optimizer = run(model, optimizer)
                self.assertEqual((pl.stats(run).traces, pl.stats(run).hits), (1, 99))

    def test_all_numbers_are_tensors_of_the_tree(self):
        for name, cls in ALL.items():
            optimizer = cls(begun())
            paths = dict(pl.tree.leaves_with_paths(optimizer))
            for each in cls._numbers:
                found = [leaf for path, leaf in paths.items() if path.split(".")[0] == each]
                with self.subTest(name, number=each):
                    self.assertTrue(found)
                    self.assertEqual({(leaf.dtype, leaf.shape) for leaf in found}, {(pl.f64, ())})

    def test_number_and_constant_schedule_give_the_same_bits(self):
        for name, cls in ALL.items():
            for run in step, pl.jit(step):
                with self.subTest(name, run=run):
                    wanted = bits(trained(lambda model: cls(model, lr=0.03), run)[0])
                    for schedule in pl.optim.constant_schedule(0.03), lambda step: 0.03:
                        self.assertEqual(bits(trained(lambda model: cls(model, lr=schedule), run)[0]), wanted)

    def test_schedules_of_all_numbers(self):
        halved = lambda begin: pl.optim.lr_scheduler.ExponentialLR(begin, 0.5)  # noqa: E731
        scheduled = trained(lambda model: pl.optim.AdamW(model, lr=halved(0.1), betas=(halved(0.9), 0.99), weight_decay=halved(0.5)),
                            pl.jit(step), 5)[0]
        model, run = begun(), pl.jit(step)
        optimizer = pl.optim.AdamW(model, weight_decay=0.5)
        for i in range(5):
            optimizer.lr, optimizer.betas, optimizer.weight_decay = 0.1 / 2**i, (0.9 / 2**i, 0.99), 0.5 / 2**i
            model, optimizer = run(model, optimizer)
        self.assertEqual(bits(model), bits(scheduled))
        self.assertEqual(pl.stats(run).traces, 1)

    def test_zeros_decide_the_structure(self):
        optimizer = pl.optim.SGD(begun())
        self.assertEqual(optimizer.state, {})
        with self.assertRaisesRegex(pl.ValueError, r"momentum was 0 when the optimizer was made[\s\S]*plait.tensor\(0.0\)"):
            optimizer.momentum = 0.9
        optimizer.weight_decay = 0.5
        np.testing.assert_allclose(optimizer.update(begun(), pl.tree.map(pl.zeros_like, begun()))[0]["w"], BEGIN["w"] * (1 - 0.5e-3))
        later = pl.optim.SGD(begun(), momentum=pl.tensor(0.0))
        later.momentum = 0.9
        self.assertEqual(bits(trained(lambda model: later)[0]), bits(trained(lambda model: pl.optim.SGD(model, momentum=0.9))[0]))

    def test_zeros_need_no_new_record(self):
        """Each number that may be 0 is one when the optimizer is made, except for a momentum, and is changed to and fro."""
        for name, cls in ALL.items():
            may_be_zero = [each for each in cls._numbers if each not in ("d", "alpha", "eps", "etas", "step_sizes", "betas", "ns_coefficients",
                                                                         "beta2_decay", "momentum", "initial_accumulator_value")]
            options = {each: 0.0 for each in may_be_zero} | ({"momentum": 0.9} if "momentum" in cls._numbers else {})
            model, run = begun(), pl.jit(step)
            optimizer = cls(model, **options, groups=[{"params": "w", **options, "lr": 0.1}])
            for number in 0.0, 0.5, 0.0, 0.25:
                for each in may_be_zero:
                    for holder in optimizer, optimizer.groups[0]:
                        setattr(holder, each, number)
                eager = step(model, optimizer)[0]
                model, optimizer = run(model, optimizer)
                for each in model:
                    np.testing.assert_allclose(model[each].numpy(), eager[each].numpy(), rtol=1e-12)
            with self.subTest(name, numbers=may_be_zero):
                self.assertEqual(pl.stats(run).traces, 1)

    def test_weights_without_decay(self):
        """An infinite weight without a gradient, such as a mask, stays; the derivative with respect to a decay of 0 is right."""
        model, zeros = {"w": pl.tensor([-np.inf, 1.0, np.inf])}, {"w": pl.zeros(3)}
        for name in "SGD", "Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adagrad", "Adadelta", "RMSprop":
            with self.subTest(name):
                moved, _ = ALL[name](model, weight_decay=0.0).update(model, zeros)
                self.assertEqual(bits(moved), bits(model))

        def total(decay):
            optimizer = pl.optim.SGD(begun(), lr=0.5, weight_decay=decay)
            return pl.sum(optimizer.update(begun(), pl.tree.map(pl.zeros_like, begun()))[0]["w"])
        self.assertAlmostEqual(pl.grad(total)(pl.asarray(0.0, dtype=pl.f64)).item(), -0.5 * BEGIN["w"].sum())

    def test_momentum_stays_as_it_was_made(self):
        for cls in pl.optim.SGD, pl.optim.RMSprop:
            for options in {}, {"groups": [{"params": "w", "lr": 0.1}]}, {"momentum": 0.9, "groups": [{"params": "w", "momentum": 0.0}]}:
                optimizer = cls(begun(), **options)
                without = optimizer.groups[0] if "groups" in options else optimizer
                without.momentum = 0.0
                with self.assertRaisesRegex(pl.ValueError, "momentum was 0 when the optimizer was made"):
                    without.momentum = 0.5
                step(begun(), optimizer)
            model, optimizer = step(begun(), cls(begun(), momentum=0.9, groups=[{"params": "w", "momentum": 0.5}]))
            optimizer.momentum = optimizer.groups[0].momentum = 0.0
            found, expected = step(model, optimizer)[0], step(model, cls(begun()))[0]
            if cls is pl.optim.SGD:
                self.assertEqual(bits(found), bits(expected))

    def test_ensembles(self):
        """vmap over models, with a rate for each."""
        rates = pl.asarray(np.array([0.01, 0.02, 0.05]))
        models = {name: pl.asarray(np.stack([value, value + 0.1, value - 0.1])) for name, value in BEGIN.items()}
        for name, cls in ALL.items():
            with self.subTest(name):
                optimizers = pl.vmap(lambda model, lr: cls(model, lr=lr))(models, rates)
                together, run = models, pl.jit(pl.vmap(step))
                for _ in range(5):
                    together, optimizers = run(together, optimizers)
                for i in range(3):
                    alone, _ = trained(lambda model: cls(model, lr=rates[i]), step, 5, {name: value[i] for name, value in models.items()})
                    for each in alone:
                        tolerance = 0.02 if name == "Muon" else 1e-12
                        np.testing.assert_allclose(together[each][i].numpy(), alone[each].numpy(), rtol=tolerance, atol=tolerance)

    def test_they_are_copied_and_pickled(self):
        for name, cls in ALL.items():
            with self.subTest(name):
                model, optimizer = trained(cls, steps=2)
                for other in copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer)):
                    self.assertEqual(bits(step(model, other)[0]), bits(step(model, optimizer)[0]))

    def test_matrices_without_elements(self):
        for shape in (0, 3), (3, 0), (0, 0):
            model, tx = {"w": pl.zeros(shape)}, pl.optim.scale_by_muon()
            for rate in None, "match_rms_adamw", "spectral_unclamped":
                made, _ = pl.optim.Muon(model, adjust_lr_fn=rate).update(model, model)
                self.assertEqual(made["w"].shape, shape)
            self.assertEqual(tx.update(model, tx.init(model), model)[0]["w"].shape, shape)

    def test_narrow_weights_are_rounded_once(self):
        for name, cls in ALL.items():
            narrow = {each: value.astype(pl.bf16) for each, value in begun().items()}
            gradient = {each: pl.ones_like(value) for each, value in narrow.items()}
            with self.subTest(name):
                first = {"lr": 2.0**-7} if name == "Rprop" else {}  # which is a state there
                found = cls(narrow, **first).update(narrow, gradient)[0]
                wide = {each: value.astype(pl.f32) for each, value in narrow.items()}
                options = {"eps": (0.0078125, 1e-3)} if name == "Adafactor" else first
                wanted = cls(wide, **options).update(wide, {each: value.astype(pl.f32) for each, value in gradient.items()})[0]
                for each in wanted:
                    self.assertEqual(found[each].dtype, pl.bf16)
                    np.testing.assert_array_equal(found[each].astype(pl.f32).numpy(), wanted[each].astype(pl.bf16).astype(pl.f32).numpy())


class Groups(unittest.TestCase):
    def test_numbers_of_a_group(self):
        model = {"layer": {"weight": pl.ones((2, 2)), "bias": pl.ones(2)}, "head": pl.ones(2)}
        optimizer = pl.optim.SGD(model, lr=0.5, weight_decay=0.5, groups=[{"params": "*.bias", "weight_decay": 0.0}, {"params": ["he*"], "lr": 0.25}])
        run = pl.jit(lambda model, optimizer: optimizer.update(model, pl.tree.map(pl.zeros_like, model)))
        moved, after = run(model, optimizer)
        self.assertEqual([moved["layer"]["weight"][0, 0].item(), moved["layer"]["bias"][0].item(), moved["head"][0].item()], [0.75, 1.0, 0.875])
        after.groups[1].lr = 0.5
        self.assertEqual(optimizer.groups[1].lr.item(), 0.25)  # the one before is another value
        after.lr = 1.0
        moved, _ = run(moved, after)
        self.assertEqual([moved["layer"]["weight"][0, 0].item(), moved["layer"]["bias"][0].item(), moved["head"][0].item()], [0.375, 1.0, 0.65625])
        self.assertEqual(pl.stats(run).traces, 1)

    def test_what_is_refused(self):
        model = {"layer": {"weight": pl.ones((2, 2)), "bias": pl.ones(2)}}
        for groups, error, text in (
                ([{"params": "*.bais", "lr": 0.1}], pl.ValueError, r"SGD: groups\[0\]: no weight matches '\*.bais'[\s\S]*did you mean layer.bias"),
                ([{"params": "layer.*", "lr": 0.1}, {"params": "*.bias"}], pl.ValueError,
                 r"layer.bias is in two groups: groups\[0\] and groups\[1\]"),
                ([{"params": "*", "rate": 0.1}], pl.TypeError, r"groups\[0\]: unknown option 'rate'; the options are lr, momentum"),
                ([{"params": "*", "lr": -0.1}], pl.ValueError, r"SGD: groups\[0\]: lr is -0.1"),
                ([{"lr": 0.1}], pl.TypeError, "expected a dict with 'params'"), ({"params": "*"}, pl.TypeError, "expected a list")):
            with self.subTest(text), self.assertRaisesRegex(error, text):
                pl.optim.SGD(model, groups=groups)

    def test_numbers_of_numpy(self):
        """They are converted as the optimizer's own are, when it is made and when they are assigned, and need no new record."""
        for cls, name, values in (
                (pl.optim.SGD, "lr", (0.25, np.float32(0.25), np.float64(0.5), np.int64(1), np.array(0.125), 1, pl.tensor(0.25))),
                (pl.optim.Adam, "betas", ((0.5, 0.75), (np.float32(0.5), np.float64(0.25)), [np.array(0.5), 0.25], (pl.tensor(0.5), 0.5))),
                (pl.optim.Adafactor, "eps", ((None, 0.5), (None, np.float32(0.25))))):
            run, changed = pl.jit(step), cls(begun(), groups=[{"params": "w", name: values[0]}])
            for value in values:
                with self.subTest(cls.__name__, value=value):
                    own, made = cls(begun(), **{name: value}), cls(begun(), groups=[{"params": "w", name: value}])
                    changed.groups[0].__setattr__(name, value)
                    for each in made, changed:
                        self.assertEqual(*(str(getattr(holder, name)) for holder in (each.groups[0], own)))
                    found, expected = (run(begun(), each)[0] for each in (changed, made))
                    self.assertEqual(bits(found), bits(expected))
            self.assertEqual(pl.stats(run).traces, 1)
        for zero in 0, np.float32(0), np.array(0.0):
            optimizer = pl.optim.SGD(begun(), momentum=zero, groups=[{"params": "w", "momentum": zero}])
            self.assertEqual(optimizer.state, {})
            optimizer.momentum = optimizer.groups[0].momentum = np.float32(0)

    def test_assigned_numbers_are_checked(self):
        def group(cls, **numbers):
            return cls(begun(), groups=[{"params": "w", "lr": 0.1, **numbers}]).groups[0]

        for cls, name, value, text in (
                (pl.optim.SGD, "lr", "fast", "SGD: the group's lr is 'fast', expected a number: 0 or more, or a schedule"),
                (pl.optim.SGD, "lr", None, "SGD: the group's lr is None, expected a number"),
                (pl.optim.SGD, "lr", np.float32(-1), r"SGD: the group's lr is np.float32\(-1.0\), expected a number: 0 or more"),
                (pl.optim.SGD, "lr", np.ones(2), "SGD: the group's lr is .*, expected a number"),
                (pl.optim.SGD, "lr", True, "SGD: the group's lr is True"),
                (pl.optim.SGD, "momentum", 1.5, "SGD: the group's momentum is 1.5, expected a number: from 0 to 1"),
                (pl.optim.LARS, "nesterov", "no", "LARS: the group's nesterov is 'no', expected True or False"),
                (pl.optim.SGD, "params", 3, "SGD: the group's params: the pattern is 3"),
                (pl.optim.RMSprop, "alpha", 1.5, "RMSprop: the group's alpha is 1.5, expected a number: from 0 to below 1"),
                (pl.optim.Adam, "betas", 0.9, "Adam: the group's betas is 0.9, expected two numbers"),
                (pl.optim.Adam, "betas", (0.9, "x"), r"Adam: the group's betas\[1\] is 'x'"),
                (pl.optim.Adam, "amsgrad", 3, "Adam: the group's amsgrad is 3, expected True or False"),
                (pl.optim.Adafactor, "d", 0.5, "Adafactor: the group's d is 0.5, expected a number: 1 or more"),
                (pl.optim.Rprop, "etas", (1.2, 0.5), r"Rprop: the group's etas is \(1.2, 0.5\), expected a number from 0 to 1, and one above 1"),
                (pl.optim.Rprop, "step_sizes", (1.0, 0.1), r"Rprop: the group's step_sizes is \(1.0, 0.1\), expected the least one"),
                (pl.optim.Muon, "ns_steps", 2.5, "Muon: the group's ns_steps is 2.5, expected an integer")):
            with self.subTest(cls.__name__, name=name, value=value):
                made = {"momentum": 0.5} if name == "momentum" else {}
                with self.assertRaisesRegex(pl.Error, text + r".*[\s\S]*optimizers_test.py:\d+"):
                    setattr(group(cls, **made), name, value)
                if name != "params":
                    with self.assertRaisesRegex(pl.Error, text.replace("the group's", r"groups\[0\]:")):
                        group(cls, **{name: value})
                    with self.assertRaisesRegex(pl.Error, text.replace("the group's ", "")):
                        cls(begun(), **{name: value})
                    with self.assertRaisesRegex(pl.Error, text.replace("the group's ", "")):
                        setattr(cls(begun(), **made), name, value)

        with self.assertRaisesRegex(AttributeError, "Group has no 'alpha'"):
            group(pl.optim.SGD).alpha = 0.5

    def test_assigned_patterns(self):
        optimizer = pl.optim.SGD(begun(), lr=1.0, groups=[{"params": "w", "lr": 0.0}])
        optimizer.groups[0].params = ["v"]
        self.assertEqual(optimizer.groups[0].params, ("v",))
        moved, _ = step(begun(), optimizer)
        self.assertEqual([bool((moved[name] == value).all()) for name, value in begun().items()], [False, True])
        for patterns in "foo", ["v", "foo"]:
            optimizer.groups[0].params = patterns
            for run in step, pl.jit(step):
                with self.assertRaisesRegex(pl.ValueError, r"SGD: groups\[0\].params: no tensor of the model matches 'foo'"):
                    run(begun(), optimizer)

    def test_frozen_weights_are_no_missing_ones(self):
        model = pl.nn.Sequential(pl.nn.Linear(2, 2), pl.nn.Linear(2, 2))
        optimizer = pl.optim.SGD(model, groups=[{"params": "0.*", "lr": 0.5}])
        frozen = pl.nn.freeze(model, "0.*")
        gradient = pl.grad(lambda model: pl.sum(model(pl.ones((1, 2)))))(frozen)
        moved, _ = optimizer.update(frozen, gradient)
        self.assertEqual(bits(moved[0]), bits(model[0]))

    def test_a_tied_weight_has_all_its_names(self):
        shared = pl.ones(2)
        model = {"emb": {"weight": shared}, "head": {"weight": shared}, "other": pl.ones(2)}
        gradient = {"emb": {"weight": shared}, "head": {"weight": shared}, "other": pl.ones(2)}
        for pattern in "emb.*", "head.*", "*.weight":
            for run in (lambda f: f), pl.jit:
                optimizer = pl.optim.SGD(model, lr=0.0, groups=[{"params": pattern, "lr": 0.25}])
                moved, _ = run(lambda optimizer, model, gradient: optimizer.update(model, gradient))(optimizer, model, gradient)
                self.assertEqual([moved[name]["weight"][0].item() for name in ("emb", "head")], [0.75, 0.75])
                self.assertEqual(moved["other"][0].item(), 1.0)
        with self.assertRaisesRegex(pl.ValueError, r"SGD: emb.weight, as head.weight, is in two groups: groups\[0\] and groups\[1\]"):
            pl.optim.SGD(model, groups=[{"params": "emb.*", "lr": 0.1}, {"params": "head.*", "lr": 0.2}])

    def test_arguments(self):
        model = begun()
        pl.optim.AdamW(model, foreach=True, fused=None, capturable=False, differentiable=False)
        for call, error, text in (
                (lambda: pl.optim.Adam(model, rate=0.1), pl.TypeError, "Adam: unknown argument 'rate'; expected lr, betas, eps"),
                (lambda: pl.optim.Adam(model, betas=0.9), pl.TypeError, "betas is 0.9, expected two numbers"),
                (lambda: pl.optim.Rprop(model, etas=(1.5, 1.2)), pl.ValueError, "Rprop: etas is"),
                (lambda: pl.optim.Adafactor(model, beta2_decay=0.5), pl.ValueError, "Adafactor: beta2_decay is 0.5"),
                (lambda: pl.optim.Adafactor(pl.tensor(1j)), pl.TypeError, "Adafactor: the model is c64, expected real numbers"),
                (lambda: pl.optim.Muon({"b": pl.ones(3)}), pl.ShapeError, r"Muon: b is \[3\], expected a matrix"),
                (lambda: pl.optim.Muon(model, adjust_lr_fn="x"), pl.ValueError, "Muon: adjust_lr_fn is 'x'"),
                (lambda: pl.optim.SGD(model, momentum=0.9, dampening=0.5, nesterov=True), pl.ValueError, "nesterov needs a dampening of 0"),
                (lambda: pl.optim.SGD(model, momentum=1.5), pl.ValueError, "SGD: momentum is 1.5, expected a number: from 0 to 1"),
                (lambda: pl.optim.RMSprop(model, momentum=-1.0), pl.ValueError, "RMSprop: momentum is -1.0"),
                (lambda: pl.optim.RMSprop(model, alpha=-1.0), pl.ValueError, "RMSprop: alpha is -1.0, expected a number: from 0 to below 1"),
                (lambda: pl.optim.RMSprop(model, alpha=1.0), pl.ValueError, "RMSprop: alpha is 1.0"),
                (lambda: pl.optim.SGD(model, lr="fast"), pl.ValueError, "SGD: lr is 'fast', expected a number: 0 or more, or a schedule")):
            with self.subTest(text), self.assertRaisesRegex(error, text):
                call()


@unittest.skipUnless(__import__("importlib").util.find_spec("optax"), "optax is not installed")
class Slips(unittest.TestCase):
    """Code that users of other libraries write, or forget."""

    def setUp(self):
        self.model = pl.nn.Sequential(pl.nn.Linear(2, 2), pl.nn.Linear(2, 1))
        self.gradient = pl.grad(lambda model: pl.sum(model(pl.ones(2))))(self.model)

    def refused(self, words, call, error=pl.Error):
        with self.subTest(words), self.assertRaisesRegex(error, words) as caught:
            call()
        self.assertLess(len(str(caught.exception)), 400)

    def test_attributes_that_do_not_exist(self):
        adam = pl.optim.AdamW(self.model, groups=[{"params": "*.bias", "lr": 0.1}])
        for thing, name, words in ((adam, "weight_deacy", "AdamW has no 'weight_deacy'; did you mean weight_decay?"),
                                   (adam, "learning_rate", r"AdamW has no 'learning_rate'[\s\S]*hint: optimizer.lr"),
                                   (adam, "param_groups", r"AdamW has no 'param_groups'[\s\S]*optimizer.lr = 0.01 sets it"),
                                   (adam.groups[0], "weight_deacy", "Group has no 'weight_deacy'; did you mean weight_decay?"),
                                   (pl.optim.LBFGS(self.model), "history", "LBFGS has no 'history'; did you mean history_size?"),
                                   (pl.optim.Optimizer(pl.optim.sgd(0.1), self.model), "step", "Optimizer has no 'step'")):
            self.refused(words, lambda: setattr(thing, name, 0.1), pl.AttributeError)
        adam.groups[0].weight_decay, adam.maximize = 0.5, True
        self.assertIn("weight_decay=0.5 : f64[]", repr(adam.groups[0]))
        self.refused(r"has no 'param_groups'[\s\S]*optimizer.lr is the rate", lambda: adam.param_groups, pl.AttributeError)

        class Own(pl.optim.SGD):
            def __init__(self, model):
                super().__init__(model, lr=0.1)
                self.more = 1

        self.assertEqual(Own(self.model).more, 1)

    def test_the_rate_of_a_transformation(self):
        transformation = pl.optim.chain(pl.optim.clip(1.0), pl.optim.adamw(0.1))
        one, other = (pl.optim.Optimizer(transformation, self.model) for _ in range(2))
        one.lr = 0.5
        other.learning_rate = lambda step: 0.25
        self.assertEqual((one.lr.item(), one.learning_rate.item(), one.transformation.learning_rate.item()), (0.5, 0.5, 0.5))
        self.assertEqual((transformation.learning_rate.item(), other.lr(0)), (0.1, 0.25))
        sgd = pl.optim.Optimizer(pl.optim.sgd(1.0), pl.tensor(1.0))
        sgd.lr = 0.25
        self.assertEqual(sgd.update(pl.tensor(1.0), pl.tensor(1.0))[0].item(), 0.75)
        for made in pl.optim.scale(-0.1), pl.optim.chain(pl.optim.sgd(0.1), pl.optim.sgd(0.2)):
            optimizer = pl.optim.Optimizer(made, self.model)
            self.refused(r"no learning rate of its own[\s\S]*optimizer.transformation.learning_rate", lambda: optimizer.lr, pl.AttributeError)
            self.refused("no learning rate of its own", lambda: setattr(optimizer, "lr", 0.1), pl.AttributeError)

    def test_results_that_are_not_used(self):
        def updated():
            pl.optim.SGD(self.model).update(self.model, self.gradient)

        def searched():
            pl.optim.LBFGS(self.model).update(self.model, loss=lambda model: pl.sum(model(pl.ones(2)) ** 2))

        def averaged():
            pl.optim.EMA(self.model).update(self.model)

        def trained():
            pl.optim.TrainState(self.model, pl.optim.SGD(self.model)).update(self.gradient)

        def stepped():
            pl.optim.lr_scheduler.ReduceLROnPlateau(0.1).step(1.0)

        for call, words in ((updated, "model, optimizer = optimizer.update"),
                            (searched, "optimizer.update.model, loss="), (averaged, "ema = ema.update"),
                            (trained, "state = state.update"), (stepped, "plateau = plateau.step")):
            self.refused(rf"the result is not used[\s\S]*{words}", call, pl.TypeError)
        found = [pl.optim.SGD(self.model).update(self.model, self.gradient) for _ in range(2)]
        self.assertEqual(len(found), 2)

    def test_groups_instead_of_the_model(self):
        for params in ([{"params": self.model[0], "lr": 1e-2}, {"params": self.model[1]}], [{"params": "*.bias"}],
                       ({"params": "a", "betas": (0.9, 0.99)},)):
            for make in pl.optim.AdamW, pl.optim.SGD, pl.optim.LBFGS:
                self.refused(rf"{make.__name__}: the first argument is a list of groups[\s\S]*{make.__name__}\(model, groups=\[",
                             lambda: make(params), pl.TypeError)
        self.assertEqual(pl.optim.SGD([{"params": pl.ones(2)}]).steps.item(), 0)  # a model of this kind

    def test_frozen_models(self):
        self.refused(r"Adam: all weights of the model are frozen[\s\S]*plait.nn.unfreeze", lambda: pl.optim.Adam(pl.nn.freeze(self.model)))
        self.refused("Adam: the model has no weights", lambda: pl.optim.Adam({"n": pl.tensor(1)}))

    def test_optimizers_at_the_place_of_other_things(self):
        adam, rates = pl.optim.Adam(self.model), pl.optim.lr_scheduler
        plateau = rates.ReduceLROnPlateau(0.1)
        for words, call in ((r"StepLR: lr is of the type Adam[\s\S]*the first argument is the rate: schedule = StepLR\(",
                             lambda: rates.StepLR(adam, 10)),
                            (r"LambdaLR: lr[\s\S]*optimizer.lr = schedule", lambda: rates.LambdaLR(adam, lambda step: 1.0)),
                            (r"ReduceLROnPlateau: lr[\s\S]*plateau = ReduceLROnPlateau", lambda: rates.ReduceLROnPlateau(adam)),
                            (r"SequentialLR: schedules is of the type Adam[\s\S]*optimizer.lr = SequentialLR", lambda: rates.SequentialLR(adam, [2])),
                            (r"Adam: lr is of the type ReduceLROnPlateau[\s\S]*plateau = plateau.step\(loss\); optimizer.lr = plateau.lr",
                             lambda: pl.optim.Adam(self.model, lr=plateau)),
                            (r"optim.chain: an optimizer, Adam, [\s\S]*use the lower-case optim.adam\(", lambda: pl.optim.chain(adam)),
                            (r"optim.Optimizer: an optimizer, SGD, [\s\S]*optim.sgd\(", lambda: pl.optim.Optimizer(pl.optim.SGD, self.model)),
                            (r"optim.chain: an optimizer, ASGD, [\s\S]*functions with lower-case", lambda: pl.optim.chain(pl.optim.ASGD(self.model))),
                            (r"a StepLR is a function of the step[\s\S]*optimizer.lr\(optimizer.steps\)", lambda: float(rates.StepLR(0.1, 10)))):
            self.refused(words, call)

    def test_gradients_of_another_model(self):
        self.refused(r"the gradient has '2.weight'[\s\S]*plait.optim.apply_updates", lambda: pl.optim.SGD(self.model).update(
            self.model, self.gradient + self.gradient), pl.ValueError)
        twice = pl.optim.apply_updates(self.gradient, self.gradient)
        moved, _ = pl.optim.SGD(self.model, lr=1.0).update(self.model, twice)
        np.testing.assert_allclose(moved[1].bias, self.model[1].bias - 2 * self.gradient[1].bias, rtol=1e-6)


class Optax(unittest.TestCase):
    def test_lion_lamb_and_lars(self):
        import jax
        import optax

        jax.config.update("jax_enable_x64", True)
        self.addCleanup(functools.partial(jax.config.update, "jax_enable_x64", False))
        for make, theirs in (
                (lambda model: pl.optim.Lion(model, lr=0.01, weight_decay=0.1), optax.lion(0.01, weight_decay=0.1)),
                (lambda model: pl.optim.Lion(model, lr=0.01, betas=(0.8, 0.95)), optax.lion(0.01, b1=0.8, b2=0.95, weight_decay=0.0)),
                (lambda model: pl.optim.LAMB(model, lr=0.01, weight_decay=0.1), optax.lamb(0.01, weight_decay=0.1)),
                (lambda model: pl.optim.LAMB(model, lr=0.01, weight_decay=0.0), optax.lamb(0.01)),
                (lambda model: pl.optim.LARS(model, lr=2.0, weight_decay=0.1), optax.lars(2.0, weight_decay=0.1)),
                (lambda model: pl.optim.LARS(model, lr=2.0, eps=0.1, nesterov=True, trust_coefficient=0.01),
                 optax.lars(2.0, eps=0.1, nesterov=True, trust_coefficient=0.01))):
            model, other = begun(), {name: jax.numpy.asarray(value) for name, value in BEGIN.items()}
            optimizer, state, run = make(model), theirs.init(other), pl.jit(lambda model, gradient, optimizer: optimizer.update(model, gradient))
            with self.subTest(type(optimizer).__name__):
                for i in range(200):
                    gradient = {name: np.asarray(value) - np.cos(0.3 * i) for name, value in other.items()}
                    updates, state = theirs.update(jax.tree.map(jax.numpy.asarray, gradient), state, other)
                    other = optax.apply_updates(other, updates)
                    model, optimizer = run(model, pl.tree.map(pl.asarray, gradient), optimizer)
                for name, value in other.items():
                    np.testing.assert_allclose(model[name].numpy(), np.asarray(value), rtol=1e-10, atol=1e-10)


class Net(pl.Module):
    def __init__(self, weight, statistics):
        self.weight, self.again = weight, weight
        self.statistics = pl.nn.Buffer(statistics)


class Memory(unittest.TestCase):
    def test_donated_weights_and_states_are_overwritten(self):
        for make in (pl.optim.AdamW, functools.partial(pl.optim.AdamW, amsgrad=True), functools.partial(pl.optim.SGD, momentum=0.9), pl.optim.RMSprop):
            with self.subTest(make):
                weights, gradients = ([pl.random.normal(pl.random.key(i), shape) for shape in ((256, 256), (64, 1024))] for i in range(2))
                optimizer = make(weights, lr=0.1)
                run = pl.jit(lambda weights, optimizer, gradients: optimizer.update(weights, gradients), donate=(0, 1))
                for _ in range(3):
                    weights, optimizer = run(weights, optimizer, gradients)
                pl.reset_peak_memory()
                before = pl.memory_statistics().live
                weights, optimizer = run(weights, optimizer, gradients)
                self.assertLess(pl.memory_statistics().peak - before, weights[0].nbytes // 4)


class Averages(unittest.TestCase):
    def test_an_average_has_tensors_of_its_own(self):
        """So jit records once, and a checkpoint of step 0 has the tree of the others; buffers are those of the model."""
        model = pl.nn.Sequential(pl.nn.Linear(3, 3), pl.nn.BatchNorm1d(3))
        for make in pl.optim.AveragedModel, pl.optim.EMA:
            average = make(model)

            @pl.jit
            def step(model, average, x):
                x, model = pl.nn.call(model, x)
                return model, average.update(model)

            state = model, average
            for i in range(3):
                state = step(*state, pl.ones((4, 3)) + i)
                ours, theirs = ([id(leaf) for leaf in pl.tree.leaves(part)] for part in state)
                self.assertEqual(set(ours) & set(theirs), set())
                np.testing.assert_array_equal(state[0][1].running_mean, state[1].model[1].running_mean)
            self.assertEqual(pl.stats(step).traces, 1)
        tied = pl.optim.EMA({"a": (w := pl.ones(2)), "b": w})
        self.assertIs(tied.model["a"], tied.model["b"])

    def test_as_in_torch(self):
        values = np.random.default_rng(1).normal(size=(20, 2, 3))
        for make, options in ((pl.optim.AveragedModel, {}), (lambda model, **options: pl.optim.EMA(model, 0.9, **options),
                                                             {"multi_avg_fn": torch.optim.swa_utils.get_ema_multi_avg_fn(0.9)})):
            for use_buffers in False, True:
                theirs = torch.nn.BatchNorm1d(3, dtype=torch.float64)
                average = torch.optim.swa_utils.AveragedModel(theirs, use_buffers=use_buffers, **options)
                own = make(Net(pl.asarray(values[0, 0]), pl.asarray(values[0, 1])), use_buffers=use_buffers)
                run = pl.jit(lambda average, model: average.update(model))
                jitted = own
                for weight, statistics in values:
                    theirs.weight.data, theirs.running_mean = torch.tensor(weight), torch.tensor(statistics)
                    average.update_parameters(theirs)
                    model = Net(pl.asarray(weight), pl.asarray(statistics))
                    own, jitted = own.update(model), run(jitted, model)
                    for each in own, jitted:
                        np.testing.assert_allclose(each.model.weight, average.module.weight.detach(), rtol=1e-12)
                        np.testing.assert_allclose(each.model.statistics, average.module.running_mean, rtol=1e-12)
                        self.assertIs(each.model.weight, each.model.again)
                self.assertEqual((own.n_averaged.item(), pl.stats(run).traces), (20, 1))

    def test_it_keeps_its_dtypes(self):
        for begun, others in ((pl.f32, pl.bf16), (pl.f64, pl.f32), (pl.f32, pl.f64), (pl.bf16, pl.f32), (pl.c128, pl.c64)):
            for make in pl.optim.EMA, pl.optim.AveragedModel, functools.partial(pl.optim.AveragedModel, avg_fn=lambda old, new, n: (old + new) / 2):
                average = make(Net(pl.ones(2, dtype=begun), pl.ones(2, dtype=begun)))
                for run in (lambda average, model: average.update(model)), pl.jit(lambda average, model: average.update(model)):
                    for _ in range(3):
                        average = run(average, Net(pl.full((2,), 1.0078125, dtype=others), pl.full((2,), 0.5, dtype=others)))
                        self.assertEqual([each.dtype for each in pl.nn.state(average.model).values()], [begun] * 3)
                        self.assertIs(average.model.weight, average.model.again)
        average = pl.optim.EMA(pl.zeros((), dtype=pl.f32), decay=0.75)
        for value in 1.0, 2.0, 3.0:
            average = average.update(pl.tensor(1 + value / 128, dtype=pl.bf16))
        self.assertEqual(average.model.item(), 1 + (1 * 0.5625 + 2 * 0.1875 + 3 * 0.25) / 128)

    def test_what_is_refused(self):
        average = pl.optim.EMA({"w": pl.ones(2)})
        with self.assertRaisesRegex(pl.ValueError, "the model is not like the averaged one"):
            average.update({"w": pl.tensor([1j, 1j])})
        with self.assertRaisesRegex(pl.ValueError, "the model is not like the averaged one"):
            average.update({"w": pl.ones(3)})
        with self.assertRaisesRegex(pl.ValueError, "EMA: decay is 1.5"):
            average.decay = 1.5


class Clipping(unittest.TestCase):
    def test_as_in_torch(self):
        values = [np.random.default_rng(1).normal(size=(3, 2)), np.random.default_rng(2).normal(size=4)]
        for norm_type in 1, 2.0, 3.5, float("inf"):
            for most in 0.5, 100.0:
                theirs = [torch.nn.Parameter(torch.zeros(value.shape, dtype=torch.float64)) for value in values]
                for parameter, value in zip(theirs, values):
                    parameter.grad = torch.tensor(value)
                wanted = torch.nn.utils.clip_grad_norm_(theirs, most, norm_type).item()
                gradient = {"w": [pl.asarray(values[0])], "b": pl.asarray(values[1]), "none": None}
                for run in pl.optim.clip_grad_norm, pl.jit(pl.optim.clip_grad_norm):
                    clipped, norm = run(gradient, most, norm_type)
                    self.assertAlmostEqual(norm.item(), wanted, places=12)
                    np.testing.assert_allclose(clipped["w"][0], theirs[0].grad, rtol=1e-12)
                    np.testing.assert_allclose(clipped["b"], theirs[1].grad, rtol=1e-12)
                    self.assertIsNone(clipped["none"])
        np.testing.assert_array_equal(pl.optim.clip_grad_value(gradient, 0.3)["b"].numpy(), np.clip(values[1], -0.3, 0.3))

    def test_gradients_that_are_not_finite(self):
        def clip(gradient, **how):
            return pl.optim.clip_grad_norm(gradient, 1.0, **how)

        for run in clip, pl.jit(clip, name="clip"), pl.optim.get_total_norm:
            for value, named in ([1.0, float("nan")], r"the gradient\.w has 1 nan"), ([1e38, 3e38], "the norm of the gradient has 1 inf"):
                gradient = {"w": pl.tensor(value), "b": pl.ones(2)}
                run(gradient)
                with self.subTest(named), self.assertRaisesRegex(pl.CheckError, named):
                    pl.eval(run(gradient, error_if_nonfinite=True))

    def test_tied_and_narrow(self):
        shared = pl.tensor([3.0, 4.0])
        clipped, norm = pl.optim.clip_grad_norm([shared, shared], 1.0)
        self.assertEqual(norm.item(), 5.0)
        self.assertIs(clipped[0], clipped[1])
        clipped, norm = pl.optim.clip_grad_norm(pl.full((1000,), 1.0, dtype=pl.bf16), 1.0)
        self.assertEqual((clipped.dtype, norm.dtype), (pl.bf16, pl.f32))
        self.assertAlmostEqual(norm.item(), 1000**0.5, places=4)
        for call, text in ((lambda: pl.optim.clip_grad_norm({}, 1.0), "clip_grad_norm: the gradient has no tensors"),
                           (lambda: pl.optim.clip_grad_norm(shared, -1.0), "clip_grad_norm: max_norm is -1"),
                           (lambda: pl.optim.clip_grad_norm(shared, 1.0, 0), "norm_type is 0")):
            with self.subTest(text), self.assertRaisesRegex(pl.ValueError, text):
                call()


if __name__ == "__main__":
    unittest.main()
