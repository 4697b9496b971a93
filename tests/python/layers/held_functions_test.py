"""Functions that models hold: transforms of layers are trees, whose weights are trained; functions with weights of their own are
refused."""

import copy
import functools
import pickle
import unittest

import numpy as np
import plait as pl

X = pl.asarray(np.random.default_rng(5).normal(size=(3, 2)))
WRAPPED = {"remat": pl.remat, "remat of products": lambda layer: pl.remat(layer, policy="dots"), "jit": pl.jit, "vmap": pl.vmap,
           "all": lambda layer: pl.jit(pl.vmap(pl.remat(layer))),
           "partial": lambda layer: functools.partial(lambda layer, x: layer(x), layer)}


def layer(seed=0):
    return pl.nn.Linear(2, 2, key=pl.random.key(seed), dtype=pl.f64)


def loss(model, x=X):
    return pl.mean(model(x) ** 2)


def trained(model, steps=4):
    optimizer, losses = pl.optim.AdamW(model, lr=0.1), []
    for _ in range(steps):
        value, gradient = pl.value_and_grad(loss)(model)
        model, optimizer = optimizer.update(model, gradient)
        losses.append(value.item())
    return model, losses


def weights(model):
    return [leaf.numpy() for leaf in pl.tree.leaves(model)]


class Transforms(unittest.TestCase):
    def test_of_layers_are_trained(self):
        plain, losses = trained(pl.nn.Sequential(layer(), pl.tanh))
        for name, of in WRAPPED.items():
            with self.subTest(name):
                model, found = trained(pl.nn.Sequential(of(layer()), pl.tanh))
                np.testing.assert_allclose(found, losses, rtol=1e-10)
                self.assertLess(found[-1], found[0])
                for ours, theirs in zip(weights(model), weights(plain)):
                    np.testing.assert_allclose(ours, theirs, rtol=1e-10)

    def test_are_trees_that_are_made_again(self):
        for name, of in WRAPPED.items():
            with self.subTest(name):
                held = of(layer())
                leaves, structure = pl.tree.flatten({"layer": held})
                self.assertEqual(len(leaves), 2)
                self.assertTrue(structure.paths[0].endswith(".weight"), structure.paths)
                twice = structure.unflatten([2 * leaf for leaf in leaves])["layer"]
                self.assertIs(type(twice), type(held))
                np.testing.assert_allclose(twice(X).numpy(), 2 * held(X).numpy(), rtol=1e-12)

    def test_those_of_two_models_go_together(self):
        for name in ("remat", "jit", "vmap"):
            a, b = (WRAPPED[name](layer(seed)) for seed in (1, 2))
            self.assertEqual(pl.tree.structure(a), pl.tree.structure(b), name)
            pl.tree.map(lambda *leaves: pl.stack(leaves), a, b)
        self.assertNotEqual(pl.tree.structure(pl.remat(layer())), pl.tree.structure(pl.remat(layer(), policy="dots")))

    def test_copies(self):
        for name in ("remat", "jit", "vmap", "all"):
            held = WRAPPED[name](layer())
            for made in copy.deepcopy(held), pickle.loads(pickle.dumps(held)):
                with self.subTest(name):
                    np.testing.assert_array_equal(made(X), held(X))
                    self.assertIsNot(pl.tree.leaves(made)[0], pl.tree.leaves(held)[0])

    def test_jit_keeps_its_records(self):
        """The model of each step is another object."""
        model = pl.nn.Sequential(pl.jit(layer()))
        for _ in range(4):
            model, _ = trained(model, 1)
        self.assertLessEqual(pl.stats(model[0]).traces, 2)
        step = pl.jit(lambda model: trained(model, 1))
        for _ in range(3):
            model, _ = step(model)
        self.assertEqual(pl.stats(step).traces, 1)

    def test_jit_sees_what_is_assigned(self):
        net = layer()
        jitted = pl.jit(net)
        before = jitted(X)
        net.bias = net.bias + 1
        np.testing.assert_allclose(jitted(X), before + 1, rtol=1e-12)
        self.assertIs(jitted.bias, net.bias)

    def test_shown(self):
        text = repr(pl.nn.Sequential(pl.remat(layer()), pl.vmap(layer(), in_axes=1)))
        self.assertIn("0: remat(Linear(\n", text)
        self.assertIn("1: vmap(Linear(\n", text)


class Chosen(pl.Module):
    """Keeps one of its own methods."""

    def __init__(self):
        self.fc, self.run = layer(), self.plain

    def plain(self, x):
        return self.fc(x)

    def __call__(self, x):
        return self.run(x)


class Captured(pl.Module):
    """Holds a function, which `make` makes of the model."""

    def __init__(self, make, **held):
        self.fc = layer()
        for name, value in held.items():
            setattr(self, name, value)
        self.run = make(self)

    def __call__(self, x):
        return self.run(x)


class Helper:
    def __init__(self, layer):
        self.layer = layer

    def run(self, x):
        return self.layer(x)


def refused_by(model):
    """The message of each function that takes weights of the model."""
    def of_update():
        optimizer = pl.optim.SGD(layer())
        optimizer.update(model, model)

    for take in (lambda: pl.grad(loss)(model), lambda: pl.value_and_grad(loss)(model), lambda: pl.vjp(loss, model),
                 lambda: pl.optim.Adam(model), of_update):
        try:
            take()
        except pl.TypeError as error:
            yield str(error)
        else:
            yield "nothing"


class Functions(unittest.TestCase):
    def expect_refused(self, model, *words):
        for said in refused_by(model):
            for word in words:
                self.assertIn(word, said)

    def test_a_method_of_the_model(self):
        self.expect_refused(Chosen(), "run is the method plain of a Chosen", "(fc.weight, fc.bias)", "call self.plain in __call__")

    def test_a_jitted_method_of_the_model(self):
        self.expect_refused(Captured(lambda model: pl.jit(model.fc.__call__)), "run is the ", "weight, ")

    def test_a_method_of_another_object(self):
        self.expect_refused(Captured(lambda model: Helper(model.fc).run), "run", "weight")

    def test_functions_that_keep_weights(self):
        one = layer(7)
        pl.optim.SGD(one)  # which marks its weights
        for make in (lambda model: lambda x: model.fc(x), lambda model: lambda x, fc=model.fc: fc(x),
                     lambda model: functools.wraps(model.fc.__call__)(lambda *arguments: model.fc(*arguments)),
                     lambda model: lambda x: x @ model_weight, lambda model: lambda x, weight=one.weight: x @ weight,
                     lambda model: (lambda inner: lambda x: inner(x))(lambda x: model.fc(x))):
            model = Captured(make)
            model_weight = model.fc.weight
            self.expect_refused(model, "run", " is the function ", "would count as constants", "functools.partial(f, layer)")
        self.expect_refused(pl.nn.Sequential(layer(), one.__call__), "1")

    def test_functions_that_keep_constants(self):
        frozen, scale = pl.nn.Sequential(pl.relu), pl.asarray(np.ones(2))
        pl.optim.SGD(pl.nn.Sequential(layer(), lambda x: frozen(x) * scale, lambda x, by=2.0: x * by))

    def test_what_is_allowed(self):
        scale = pl.asarray(np.full(2, 2.0))  # a constant
        teacher = pl.nn.Buffer(layer(3))
        for held in (pl.tanh, lambda x: x * scale, functools.partial(pl.multiply, 2.0), pl.jit(lambda x: x * scale), [].append):
            model = Captured(lambda model: held, teacher=teacher)
            model.run = pl.tanh
            pl.optim.Adam(model)

    def test_weights_in_a_class(self):
        with self.assertRaisesRegex(pl.TypeError, r"Shared.w holds tensors[\s\S]*set it in __init__: self.w"):
            class Shared(pl.Module):
                w = pl.ones(2)
        with self.assertRaisesRegex(pl.TypeError, "Shared.layers holds tensors"):
            class Shared(pl.Module):  # noqa: F811
                layers = [layer()]

        class Field(pl.Module):
            w: pl.Tensor = pl.ones(2)
            table = np.ones(3)

        self.assertEqual(len(pl.tree.leaves(Field())), 1)

    def test_optimizers_of_nothing(self):
        for model in pl.nn.Sequential(pl.relu), [2.0, 3.0], {"ids": pl.tensor([1, 2])}:
            with self.assertRaisesRegex(pl.ValueError, r"has no weights[\s\S]*plait.tensor\(2.0\)"):
                pl.optim.SGD(model)
        with self.assertRaisesRegex(pl.ValueError, r"the gradient has 'b'[\s\S]*Python numbers"):
            model = {"w": pl.ones(2), "b": 2.0}
            pl.optim.SGD(model).update(model, pl.grad(lambda model: pl.sum(model["w"]) * model["b"])(model))


if __name__ == "__main__":
    unittest.main()
