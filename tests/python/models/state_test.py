"""The state of models: names, loading, freezing, modes, containers, and changes that calls make, under every transform."""

import copy
import pickle
import unittest

import numpy as np
import plait as pl
import torch

nn = pl.nn
X = pl.asarray(np.random.default_rng(1).normal(size=(16, 4)))


class Normed(pl.Module):
    """A layer that keeps running statistics."""

    def __init__(self, width=4):
        self.weight = pl.asarray(np.linspace(1, 2, width))
        self.mean, self.variance = nn.Buffer(pl.zeros(width, dtype=pl.f64)), nn.Buffer(pl.ones(width, dtype=pl.f64))

    def __call__(self, x):
        if not self.training:
            return self.weight * (x - self.mean) / pl.sqrt(self.variance)
        x, self.mean, self.variance = pl.batch_norm(x * self.weight, running_mean=self.mean, running_var=self.variance)
        return x


class Outer(pl.Module):
    def __init__(self):
        self.layers = [deep(1), {"a": pl.remat(Normed())}]


def deep(count):
    return nn.Sequential(*(Normed() for _ in range(count)))


def loss_of(model, x=X):
    return pl.mean(pl.sin(model(x)) ** 2)


def loss_and_model(model, x=X):
    return loss_of(model, x), model


def statistics(model):
    return {name: value.numpy() for name, value in nn.state(model).items() if not name.endswith("weight")}


class Changes(unittest.TestCase):
    """Changes that a call makes in a model come back, or are an error that names the layer."""

    def assert_states(self, found, wanted):
        for name, value in statistics(wanted).items():
            np.testing.assert_allclose(nn.state(found)[name].numpy(), value, rtol=1e-12, atol=1e-14, err_msg=name)

    def after(self, model, steps=1):
        """The model after eager calls, in place."""
        model = copy.deepcopy(model)
        for _ in range(steps):
            model(X)
        self.assertGreater(np.abs(model[0].mean.numpy()).max(), 0)
        return model

    def test_ways_to_take_them(self):
        model = deep(3)
        both = pl.value_and_grad(loss_and_model, has_aux=True)
        ways = {
            "call": lambda: nn.call(model, X)[1],
            "value_and_grad": lambda: both(model)[0][1],
            "jit": lambda: pl.jit(lambda model: both(model)[0][1])(model),
            "of jit": lambda: pl.value_and_grad(pl.jit(loss_and_model), has_aux=True)(model)[0][1],
            "remat of the model": lambda: both(nn.Sequential(pl.remat(model)))[0][1][0].function,
            "remat of layers": lambda: nn.Sequential(*(each.function for each in both(nn.Sequential(*map(pl.remat, model)))[0][1])),
            "remat in jit": lambda: pl.jit(lambda model: nn.call(pl.remat(model), X)[1].function)(model),
            "vjp": lambda: pl.vjp(loss_and_model, model, has_aux=True)[2],
            "jvp": lambda: pl.jvp(lambda model: loss_and_model(model), (model,), (None,), has_aux=True)[2],
            "trace": lambda: pl.trace(lambda model: nn.call(model, X)[1])(model)(model),
            "vmap": lambda: pl.tree.map(lambda leaf: leaf[1], pl.vmap(lambda model: nn.call(model, X)[1])(
                pl.tree.map(lambda leaf: pl.stack([leaf * 2, leaf]), model))),
            "cond": lambda: pl.jit(lambda model: pl.cond(pl.sum(X) < 1e9, lambda model: nn.call(model, X)[1], lambda model: model, model))(model),
        }
        for name, way in ways.items():
            with self.subTest(name):
                self.assert_states(way(), self.after(model))
                self.assertEqual(max(np.abs(model[0].mean.numpy())), 0)  # the caller's model is as before

    def test_in_loops(self):
        model = deep(2)
        step = lambda model, x: (model, pl.sum(model(x)))  # noqa: E731
        stacked = pl.stack([X] * 3)
        for name, way in (("scan", lambda model: pl.scan(step, model, stacked)[0]),
                          ("remat", lambda model: pl.scan(lambda model, x: (model, pl.sum(pl.remat(model)(x))), model, stacked)[0]),
                          ("for_loop", lambda model: pl.for_loop(0, 3, lambda i, model: nn.call(model, X)[1], model)),
                          ("while_loop", lambda model: pl.while_loop(lambda carry: carry[0] < 3, lambda carry: (
                              carry[0] + 1, nn.call(carry[1], X)[1]), (pl.tensor(0), model))[1])):
            for jitted in (False, True):
                with self.subTest(name, jitted=jitted):
                    self.assert_states((pl.jit(way) if jitted else way)(model), self.after(model, 3))

    def test_jit_changes_the_model_of_the_caller(self):
        for way in (pl.jit(lambda model, x: model(x)), lambda model, x: pl.jit(model)(x), lambda model, x: pl.remat(model)(x)):
            model = deep(2)
            for _ in range(3):
                way(model, X)
            self.assert_states(model, self.after(deep(2), 3))

    def test_changes_in_copies(self):
        """A copy that the function makes of its model changes: the copy is returned, or it is an error."""
        copies = {"train": lambda model: model.eval().train(), "map": lambda model: pl.tree.map(lambda leaf: leaf * 1 if leaf.dtype == "f32" else leaf, model),
                  "freeze": lambda model: nn.freeze(model, "0.*"), "load_state": lambda model: nn.load_state(model, {"1.weight": pl.ones(4)}, missing="*")}
        model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
        x = pl.astype(X, pl.f32)
        for name, copy_of in copies.items():
            lost = lambda model, x: (pl.sum(copy_of(model)(x) ** 2), model)  # noqa: B023, E731
            for way in (lambda f: pl.value_and_grad(f, has_aux=True), lambda f: pl.jit(pl.value_and_grad(f, has_aux=True)), pl.remat, pl.trace):
                with self.assertRaisesRegex(pl.errors.ValueError, r"changes a copy of the arguments(\.0)?\.1, a BatchNorm1d, whose (.|\n)*copy.eval", msg=name):
                    way(lost)(model, x)

            def taken(model, x):
                made = copy_of(model)  # noqa: B023
                return pl.sum(made(x) ** 2), made

            for way in (lambda f: lambda *given: pl.value_and_grad(f, has_aux=True)(*given)[0][1], lambda f: lambda *given: pl.jit(f)(*given)[1]):
                self.assertEqual(way(taken)(model, x)[1].num_batches_tracked.item(), 1, name)
            self.assertEqual(pl.grad(lambda model: pl.sum(copy_of(model).eval()(x)))(model)[0].weight.shape, (4, 4))
        self.assertEqual(model[1].num_batches_tracked.item(), 0)

    def test_two_hundred_layers(self):
        model = deep(200)
        (_, found), _ = pl.jit(pl.value_and_grad(loss_and_model, has_aux=True))(model)
        self.assert_states(found, self.after(model))

    def test_changes_that_nobody_takes(self):
        model = nn.Sequential(nn.Linear(4, 4, dtype=pl.f64), deep(1))
        ways = {
            "grad": lambda: pl.grad(loss_of)(model), "jit of grad": lambda: pl.jit(pl.grad(loss_of))(model),
            "value_and_grad": lambda: pl.value_and_grad(loss_of)(model), "vjp": lambda: pl.vjp(loss_of, model),
            "jvp": lambda: pl.jvp(loss_of, (model,), (None,)), "linearize": lambda: pl.linearize(loss_of, model),
            "vmap": lambda: pl.vmap(model)(pl.stack([X, X])), "trace": lambda: pl.trace(loss_of)(model),
            "scan": lambda: pl.scan(lambda model, x: (pl.tree.map(pl.asarray, model), model(x)), model, pl.stack([X, X])),
            "cond": lambda: pl.cond(pl.tensor(True), loss_of, lambda model: pl.zeros((), dtype=pl.f64), model),
            "while_loop": lambda: pl.while_loop(lambda model: loss_of(model) < 0, lambda model: model, model),
            "switch": lambda: pl.switch(pl.tensor(0), [loss_of, loss_of], model),
            "grad of remat": lambda: pl.grad(lambda model: loss_of(pl.remat(model)))(model),
        }
        for name, way in ways.items():
            with self.subTest(name), self.assertRaisesRegex(pl.ValueError, r"1\.0, a Normed, whose mean it assigns to"):
                way()
        for name, way in ways.items():
            evaluated, model = model.eval(), model.eval()
            with self.subTest(name, training=False):
                way()
            del evaluated


class Modes(unittest.TestCase):
    def test_they_give_a_model(self):
        model = Outer()
        made = model.eval()
        self.assertEqual([each.training for each in (made, made.layers[0], made.layers[0][0], made.layers[1]["a"].function)], [False] * 4)
        self.assertTrue(model.training and model.layers[0][0].training)
        self.assertEqual(pl.tree.structure(made.train()), pl.tree.structure(model))
        self.assertIs(made.layers[0][0].weight, model.layers[0][0].weight)
        for again in copy.deepcopy(made), pickle.loads(pickle.dumps(made)), pl.tree.map(lambda leaf: leaf, made):
            self.assertFalse(again.layers[0][0].training)

    def test_a_result_that_is_not_used(self):
        model = deep(1)
        with self.assertRaisesRegex(pl.TypeError, r"eval\(\) returns a model[\s\S]*model = model.eval\(\)"):
            model.eval()
        with self.assertRaisesRegex(pl.TypeError, r"model = model.train\(\)"):
            model.train()
        for used in (lambda: model.eval(), lambda: [model.train()], lambda: model.eval()(X)):
            used()

    def test_jit_knows_both(self):
        run = pl.jit(lambda model, x: model(x))
        model = deep(1)
        self.assertFalse(np.allclose(run(model, X), run(model.eval(), X)))
        np.testing.assert_allclose(run(model.eval(), X), model.eval()(X), rtol=1e-12)


class States(unittest.TestCase):
    def pair(self):
        ours = nn.Sequential(nn.Linear(3, 5), pl.relu, nn.Sequential({"norm": nn.LayerNorm(5), "head": nn.Linear(5, 2)}))
        theirs = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.ReLU(), torch.nn.Sequential(
            __import__("collections").OrderedDict(norm=torch.nn.LayerNorm(5), head=torch.nn.Linear(5, 2))))
        return ours, theirs

    def test_weights_of_pytorch(self):
        ours, theirs = self.pair()
        self.assertEqual(list(nn.state(ours)), list(theirs.state_dict()))
        loaded = nn.load_state(ours, theirs.state_dict())
        x = np.random.default_rng(0).normal(size=(4, 3)).astype("f4")
        np.testing.assert_allclose(loaded(x).numpy(), theirs(torch.tensor(x)).detach().numpy(), rtol=1e-5, atol=1e-6)
        self.assertFalse(np.allclose(ours[0].weight, loaded[0].weight))

    def test_memory_is_not_shared(self):
        array, other = np.ones((1, 2), np.float32), torch.ones(1)
        layer = nn.load_state(nn.Linear(2, 1), {"weight": array, "bias": other})
        array += 1
        other += 1
        self.assertEqual((layer.weight.numpy().tolist(), layer.bias.numpy().tolist()), ([[1, 1]], [1]))

    def test_dtypes_are_the_models(self):
        layer = nn.load_state(nn.Linear(2, 1, dtype=pl.bf16), {"weight": np.ones((1, 2)), "bias": torch.ones(1)})
        self.assertEqual((layer.weight.dtype, layer.bias.dtype), (pl.bf16, pl.bf16))

    def test_numbers_that_a_dtype_lacks(self):
        class Table(pl.Module):
            def __init__(self):
                self.weight, self.rows = pl.zeros(2, dtype=pl.f16), pl.zeros(2, dtype=pl.i64)
                self.mask = nn.Buffer(pl.zeros(2, dtype=pl.bool))

        def load(**state):
            table = Table()
            return nn.load_state(table, nn.state(table) | state)

        kept = load(weight=[1.0, 0.1], rows=np.array([1.0, 2.0]), mask=np.array([0, 1]))
        self.assertEqual((kept.rows.tolist(), kept.mask.tolist()), ([1, 2], [False, True]))
        self.assertTrue(pl.isinf(load(weight=[np.inf, np.nan]).weight)[0].item())
        for name, value, text in (
                ("weight", np.array([1e5, 1.0]), "weight is f64 in the state, f16 in the model, which would lose numbers above its largest one"),
                ("weight", pl.tensor([70_000, 1]), "weight is i64 in the state, f16 in the model, which would lose numbers above"),
                ("rows", np.array([2.5, 1.0]), "rows is f64 in the state, i64 in the model, which would lose fractions, or numbers out of its range"),
                ("rows", np.array([np.nan, 1.0]), "rows is f64 in the state, i64"), ("rows", np.array([1e30, 1.0]), "rows is f64 in the state, i64"),
                ("mask", np.array([2, 1]), "mask is i64 in the state, bool in the model, which would lose fractions, or")):
            with self.subTest(text), self.assertRaisesRegex(pl.ValueError, rf"nn.load_state: {text}.*, at state_test.py:\d+\n  hint: plait.astype\("):
                load(**{name: value})
        self.assertTrue(pl.isinf(load(weight=pl.astype(np.array([1e5, 1.0]), pl.f16)).weight)[0].item())
        for value in "abc", None, object(), [1, [2]], [None, 1], np.array(["x", "y"]):
            with self.assertRaisesRegex(pl.TypeError, "nn.load_state: weight is .* in the state, expected a tensor, or an array of numbers, at "):
                load(weight=value)
        with self.assertRaisesRegex(pl.TypeError, "nn.load_state: the state has the name 3, expected strings, at state_test"):
            nn.load_state(Table(), nn.state(Table()) | {3: pl.ones(1)})

    def test_renaming(self):
        ours, _ = self.pair()
        state = {f"module.{name}".replace("head", "classifier"): value + 1 for name, value in nn.state(ours).items()} | {"module.extra": pl.ones(1)}
        for rename in ({"module.extra": None, "module.2.classifier.*": "2.head.*", "module.*": "*"},
                       lambda name: None if name.endswith("extra") else name.removeprefix("module.").replace("classifier", "head")):
            loaded = nn.load_state(ours, state, rename=rename)
            np.testing.assert_allclose(loaded[2].head.bias, ours[2].head.bias + 1)
        with self.assertRaisesRegex(pl.ValueError, r"rename gives the name '0.bias' to \['a', 'b'\]"):
            nn.load_state(ours, {"a": 1, "b": 2}, rename={"a": "0.bias", "b": "0.bias"})

    def test_what_does_not_fit(self):
        ours, _ = self.pair()
        state = nn.state(ours)
        state["2.haed.bias"] = state.pop("2.head.bias")
        state["0.weight"] = np.zeros((3, 5))
        before = {name: value.numpy().copy() for name, value in nn.state(ours).items()}
        with self.assertRaises(pl.ValueError) as caught:
            nn.load_state(ours, state)
        for words in ("2.head.bias is missing from the state; did you mean 2.haed.bias?", "2.haed.bias is in the state, but not in the model; "
                      "did you mean 2.head.bias?", r"0.weight is [5, 3] in the model, [3, 5] in the state", "nothing is loaded"):
            self.assertIn(words, str(caught.exception))
        for name, value in nn.state(ours).items():
            np.testing.assert_array_equal(value.numpy(), before[name])
        state["0.weight"] = np.zeros((5, 3))
        loaded = nn.load_state(ours, state, missing="2.head.*", superfluous=["*.haed.*"])
        whole = nn.state(ours)
        self.assertEqual(len(nn.state(nn.load_state(ours, whole, missing="2.head.*"))), len(whole))  # which may be there
        with self.assertRaisesRegex(pl.ValueError, r"missing: no name of the model matches '2.haed.\*'"):
            nn.load_state(ours, whole, missing="2.haed.*")
        with self.assertRaisesRegex(pl.ValueError, r"superfluous: no name of the state matches 'foo.\*'"):
            nn.load_state(ours, whole, superfluous="foo.*")
        self.assertIs(loaded[2].head.bias, ours[2].head.bias)
        self.assertEqual(np.abs(loaded[0].weight).max().item() if hasattr(np.abs(loaded[0].weight), "item") else 0, 0)
        with self.assertRaisesRegex(pl.TypeError, "the state is a list"):
            nn.load_state(ours, [])

    def test_ways_out(self):
        ours, theirs = self.pair()
        state = nn.state(ours) | {"2.head.weight": np.zeros((7, 7)), "2.head.bias": np.zeros(7)}
        with self.assertRaisesRegex(pl.ValueError, r"in the state, at state_test.py:\d+\n  hint: rename=\{\"2.head.\*\": None\}, "
                                                   r"missing=\"2.head.\*\" keeps"):
            nn.load_state(ours, state)
        loaded = nn.load_state(ours, state, rename={"2.head.*": None}, missing="2.head.*")
        self.assertIs(loaded[2].head.weight, ours[2].head.weight)
        with self.assertRaisesRegex(pl.ValueError, r"rename=\{\"weight\": None\}, missing=\"weight\""):
            nn.load_state(nn.Linear(2, 1), {"weight": np.zeros((3, 3)), "bias": np.zeros(1)})
        with self.assertRaisesRegex(pl.ValueError, r"no name of the state matches '2.haed.\*' of rename[\s\S]*did you mean 2.head."):
            nn.load_state(ours, nn.state(ours), rename={"2.haed.*": None})
        with self.assertRaisesRegex(pl.TypeError, r"the state is a Sequential[\s\S]*pass theirs.state_dict\(\)"):
            nn.load_state(ours, theirs)
        with self.assertRaisesRegex(pl.TypeError, r"the state is a Sequential[\s\S]*plait.nn.state\(model\)"):
            nn.load_state(ours, ours)

    def test_weights_without_buffers(self):
        model = nn.freeze(nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)), "0.weight")
        buffers = ["1.running_mean", "1.running_var", "1.num_batches_tracked"]
        for options, names in (({}, ["0.weight", "0.bias", "1.weight", "1.bias", *buffers]),
                               ({"buffers": False}, ["0.weight", "0.bias", "1.weight", "1.bias"]),
                               ({"frozen": False}, ["0.bias", "1.weight", "1.bias", *buffers]),
                               ({"buffers": False, "frozen": False}, list(pl.optim.SGD(model, momentum=0.9).state["momentum_buffer"]))):
            self.assertEqual(list(nn.state(model, **options)), names)
        self.assertIs(nn.state(model, buffers=False)["0.bias"], model[0].bias)

    def test_long_lists_are_cut(self):
        with self.assertRaisesRegex(pl.ValueError, "32 more are missing"):
            nn.load_state(nn.Sequential(*(nn.Linear(1, 1) for _ in range(20))), {})


class Frozen(unittest.TestCase):
    def test_gradients_and_optimizers(self):
        model = nn.Sequential({"encoder": nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)), "head": nn.Linear(4, 1)})
        frozen = nn.freeze(model, "encoder.*")
        gradient = pl.grad(lambda model: pl.sum(model(X) ** 2))(frozen)
        self.assertIsNone(gradient.encoder[0].weight)
        optimizer = pl.optim.AdamW(frozen)
        self.assertFalse([path for path in pl.tree.structure(optimizer).paths if "encoder" in path])
        self.assertTrue([path for path in pl.tree.structure(optimizer).paths if "head" in path])
        after, _ = optimizer.update(frozen, gradient)
        for name, value in nn.state(after).items():
            self.assertEqual(np.array_equal(value, nn.state(model)[name]), name.startswith("encoder"), name)

    def test_frozen_while_it_is_trained(self):
        """The optimizer goes on for the other weights, and later for those that were frozen."""
        def loss_of(model):
            return pl.sum(model(X) ** 2)

        def updated(optimizer, model, gradient):
            return optimizer.update(model, gradient)

        optim = pl.optim
        for make in (lambda model: optim.AdamW(model, lr=0.1), lambda model: optim.SGD(model, momentum=0.9, groups=[{"params": "0.*", "lr": 0.1}]),
                     lambda model: optim.Optimizer(optim.chain(optim.clip_by_global_norm(1e3), optim.adamw(0.1)), model)):
            model = nn.Sequential(nn.Linear(4, 4, dtype=pl.f64), nn.Linear(4, 1, dtype=pl.f64))
            optimizer = make(model)
            trained, following = optimizer.update(model, pl.grad(loss_of)(model))
            frozen = nn.freeze(trained, "0.*")
            gradient = pl.grad(loss_of)(trained)
            wanted, wanted_optimizer = following.update(trained, gradient)
            for update in updated, pl.jit(updated):
                found, found_optimizer = update(following, frozen, pl.grad(loss_of)(frozen))
                self.assertEqual(pl.tree.structure(found_optimizer), pl.tree.structure(following))
                np.testing.assert_allclose(found[1].weight, wanted[1].weight, rtol=1e-12)
                np.testing.assert_array_equal(found[0].weight, trained[0].weight)
                states = [dict(pl.tree.leaves_with_paths(each.state)) for each in (following, found_optimizer, wanted_optimizer)]
                for path in states[0]:
                    before, state, other = (each[path] for each in states)
                    of_frozen = path.endswith(("0.weight", "0.bias"))
                    np.testing.assert_allclose(state, before if of_frozen else other, rtol=1e-12, err_msg=path)
                again, _ = found_optimizer.update(nn.unfreeze(found), pl.grad(loss_of)(nn.unfreeze(found)))
                self.assertFalse(np.array_equal(again[0].weight, found[0].weight))
        other = nn.freeze(nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1)), "0.*")
        with self.assertRaisesRegex(pl.ValueError, "AdamW: exp_avg has no '0.weight'"):
            optim.AdamW(other).update(nn.unfreeze(other), pl.grad(loss_of)(nn.unfreeze(other)))

    def test_the_program_computes_nothing_for_them(self):
        """The gradient of all takes a product for each weight, and one less for each input that needs none."""
        model = nn.Sequential(*(nn.Linear(4, 4, dtype=pl.f64) for _ in range(3)))

        def products(model):
            return pl.trace(pl.grad(lambda model: pl.sum(model(X) ** 2)))(model).text().count("= matmul ")

        count = [products(nn.freeze(model, *(f"{i}.*" for i in range(n))) if n else model) for n in range(3)]
        self.assertEqual(count[0] - count[1], 2)  # derivatives of the first weight, and back through the second layer
        self.assertEqual(count[1] - count[2], 2)

    def test_back_again(self):
        model = nn.Sequential(Normed(), nn.Linear(4, 4))
        frozen = nn.freeze(model)
        self.assertEqual(pl.tree.structure(nn.unfreeze(frozen)), pl.tree.structure(model))
        self.assertIsNone(pl.grad(loss_and_model, has_aux=True)(nn.unfreeze(frozen))[0][0].mean)
        half = nn.unfreeze(frozen, "1.weight")
        gradient = pl.grad(loss_and_model, has_aux=True)(half)[0]
        self.assertEqual([gradient[0].weight, gradient[1].bias], [None, None])
        self.assertIsNotNone(gradient[1].weight)
        self.assertIn("bias (frozen): f32[4]", repr(half))
        for again in copy.deepcopy(half), pickle.loads(pickle.dumps(half)), half.eval():
            self.assertIsNone(pl.grad(loss_and_model, has_aux=True)(again)[0][1].bias)

    def test_in_lists_and_dicts(self):
        class Outer(pl.Module):
            def __init__(self):
                self.rows = [pl.ones(2), {"a": pl.ones(2)}]

            def __call__(self, x):
                return pl.sum(self.rows[0] * self.rows[1]["a"] * x)

        gradient = pl.grad(lambda model: model(2.0))(nn.freeze(Outer(), "rows.1.a"))
        self.assertEqual((gradient.rows[0].numpy().tolist(), gradient.rows[1]["a"]), ([2, 2], None))

    def test_what_is_refused(self):
        model = nn.Sequential(nn.Linear(2, 2))
        with self.assertRaisesRegex(pl.ValueError, r"nn.freeze: no tensor of the model matches 'encoder.\*'"):
            nn.freeze(model, "encoder.*")
        with self.assertRaisesRegex(pl.ValueError, "did you mean 0.weight"):
            nn.freeze(model, "0.weihgt")
        with self.assertRaisesRegex(pl.TypeError, "a is not in a Module"):
            nn.freeze({"a": pl.ones(2)}, "a")


class Containers(unittest.TestCase):
    def test_lists(self):
        layers = nn.ModuleList(nn.Linear(1, i) for i in (1, 2))
        layers.append(nn.Linear(1, 4)).extend([nn.Linear(1, 5)])
        layers.insert(2, nn.Linear(1, 3))
        del layers[0]
        layers[-1] = nn.Linear(1, 6)
        self.assertEqual([each.weight.shape[0] for each in layers], [2, 3, 4, 6])
        self.assertEqual([each.weight.shape[0] for each in layers[1:] + [nn.Linear(1, 7)]], [3, 4, 6, 7])
        self.assertEqual(list(nn.state(layers))[-1], "3.bias")
        with self.assertRaisesRegex(pl.IndexError, "index 4 is out of range for 4"):
            layers[4]

    def test_eleven_layers_keep_their_order(self):
        net = nn.Sequential(*([lambda x: x + 1, lambda x: x * 2] * 6))
        self.assertEqual(net(pl.tensor(0.0)).item(), 126)
        self.assertEqual(len(net), 12)

    def test_sequential_by_name(self):
        net = nn.Sequential({"a": nn.Linear(2, 3), "act": pl.relu, "b": nn.Linear(3, 1)})
        self.assertEqual((len(net), list(nn.state(net))), (3, ["a.weight", "a.bias", "b.weight", "b.bias"]))
        np.testing.assert_array_equal(net(pl.ones(2)), net.b(pl.relu(net.a(pl.ones(2)))))
        net.append(nn.Linear(1, 1))
        self.assertEqual((len(net), net(pl.ones(2)).shape), (4, (1,)))

    def test_dicts(self):
        heads = nn.ModuleDict({"a": nn.Linear(1, 1)})
        self.assertEqual((len(nn.ModuleDict(modules={"a": nn.Linear(1, 1)})), len(nn.ModuleList(modules=[nn.Linear(1, 1)])),
                          len(nn.ParameterDict(parameters={"a": 1.0})), len(nn.ModuleList(None))), (1, 1, 1, 0))
        heads["b"] = nn.Linear(1, 2)
        self.assertEqual((list(heads), heads.keys(), "b" in heads, len(heads)), (["a", "b"], ["a", "b"], True, 2))
        self.assertEqual([name for name, _ in heads.items()], ["a", "b"])
        heads.pop("a")
        self.assertEqual(list(nn.state(heads)), ["b.weight", "b.bias"])
        with self.assertRaisesRegex(pl.ValueError, "'items' cannot be a name"):
            heads["items"] = nn.Linear(1, 1)
        with self.assertRaisesRegex(KeyError, r"has no 'a'; it has \['b'\]"):
            heads["a"]

    def test_parameters(self):
        class Scaled(pl.Module):
            def __init__(self):
                self.scales, self.named = nn.ParameterList([1.0, [1.0, 2.0]]), nn.ParameterDict({"shift": np.ones(2)})

            def __call__(self, x):
                return self.scales[0] * self.scales[1] * x + self.named["shift"]

        gradient = pl.grad(lambda model: pl.sum(model(pl.ones(2))))(Scaled())
        self.assertEqual((gradient.scales[0].item(), gradient.named["shift"].numpy().tolist()), (3.0, [1, 1]))


if __name__ == "__main__":
    unittest.main()
