"""A layer, list or dict that a model has at two places stays one: in copies, in each transform, and for its running statistics."""

import copy
import pickle
import tempfile
import unittest

import numpy as np
import torch

import plait as pl

nn = pl.nn
X = np.random.default_rng(0).normal(size=(6, 3)).astype("f4")


class Twice(pl.Module):
    """A normalised layer with two names."""

    def __init__(self):
        norm = nn.BatchNorm1d(3)
        self.first = nn.Sequential(nn.Linear(3, 3, key=pl.random.key(1)), norm)
        self.second = nn.Sequential(nn.Linear(3, 3, key=pl.random.key(2)), norm)

    def __call__(self, x):
        return self.second(self.first(x))


def is_one(model):
    return model.first[1] is model.second[1]


def loss(model, x):
    return pl.mean(model(x) ** 2), model


def stepped(model, x):
    return loss(model, x)[1]


def with_losses(function):
    return lambda model, x: function(model, x)[0][1]


WAYS = {
    "eager": stepped,
    "value_and_grad": with_losses(pl.value_and_grad(loss, has_aux=True)),
    "jit": pl.jit(stepped),
    "jit of value_and_grad": pl.jit(with_losses(pl.value_and_grad(loss, has_aux=True))),
    "remat": lambda model, x: pl.remat(stepped)(model, x),
    "cond": lambda model, x: pl.cond(pl.sum(x) > -1e9, stepped, lambda model, x: model, model, x),
    "scan": lambda model, x: pl.scan(lambda model, x: (stepped(model, x), None), model, pl.expand_dims(x, 0))[0],
    "for_loop": lambda model, x: pl.for_loop(0, 1, lambda i, model: stepped(model, x), model),
    "trace": lambda model, x: pl.trace(stepped)(model, x)(model, x),
}


def reference(steps):
    model = Twice()
    norm = torch.nn.BatchNorm1d(3)
    layers = [torch.nn.Linear(3, 3), norm, torch.nn.Linear(3, 3), norm]
    for mine, each in ((model.first[0], layers[0]), (model.second[0], layers[2])):
        each.weight.data, each.bias.data = torch.tensor(mine.weight.numpy()), torch.tensor(mine.bias.numpy())
    for _ in range(steps):
        torch.nn.Sequential(*layers)(torch.tensor(X))
    return norm


class SharedLayers(unittest.TestCase):
    def test_statistics_in_each_way(self):
        norm = reference(3)
        for name, way in WAYS.items():
            with self.subTest(name):
                model = Twice()
                for _ in range(3):
                    model = way(model, pl.asarray(X))
                self.assertTrue(is_one(model))
                self.assertEqual(model.first[1].num_batches_tracked.item(), 6)
                np.testing.assert_allclose(model.second[1].running_mean.numpy(), norm.running_mean.numpy(), atol=1e-6)
                np.testing.assert_allclose(model.second[1].running_var.numpy(), norm.running_var.numpy(), atol=1e-6)

    def test_vmap(self):
        models = pl.vmap(lambda scale: pl.tree.map(lambda leaf: leaf if leaf.dtype == "i64" else leaf * scale, Twice()))(pl.asarray([1.0, 2.0]))
        self.assertTrue(is_one(models))
        after = pl.vmap(stepped, in_axes=(0, None))(models, pl.asarray(X))
        self.assertTrue(is_one(after))
        self.assertEqual(after.first[1].num_batches_tracked.numpy().tolist(), [2, 2])

    def test_copies(self):
        model = Twice()
        for name, made in {"map": pl.tree.map(lambda leaf: leaf * 1, model), "train": model.train(), "eval": model.eval(),
                           "frozen": nn.freeze(model, "first.0.*"), "deepcopy": copy.deepcopy(model), "pickle": pickle.loads(pickle.dumps(model)),
                           "load_state": nn.load_state(model, nn.state(model)), "to": model.to("cpu"), "half": nn.load_state(Twice(), nn.state(model)),
                           "gradient": pl.grad(lambda model: loss(model, pl.asarray(X))[0])(model.eval())}.items():
            self.assertTrue(is_one(made), name)

    def test_optimizers_and_checkpoints(self):
        model = Twice()
        optimizer = pl.optim.AdamW(model, lr=0.1)
        (_, model), gradient = pl.value_and_grad(loss, has_aux=True)(model, pl.asarray(X))
        model, optimizer = optimizer.update(model, gradient)
        self.assertTrue(is_one(model))
        with tempfile.TemporaryDirectory() as folder:
            checkpoints = pl.io.Checkpoints(folder)
            checkpoints.save(1, {"model": model, "optimizer": optimizer})
            restored = checkpoints.restore({"model": Twice(), "optimizer": pl.optim.AdamW(Twice(), lr=0.1)})
        self.assertTrue(is_one(restored["model"]))

    def test_lists_and_dicts(self):
        class Held(pl.Module):
            def __init__(self, holder, key):
                self.one, self.key = holder, key
                self.other = self.one

            def __call__(self, x):
                self.one[self.key] = self.one[self.key] * 3
                return pl.sum(self.other[self.key] * x)

        for made, key in (lambda: [pl.ones(1)], 0), (lambda: {"w": pl.ones(1)}, "w"):
            x = pl.ones(1)
            result = lambda held: (held(x), held)  # noqa: E731
            for name, way in {"eager": result, "jit": pl.jit(result), "trace": lambda held: pl.trace(result)(held)(held),
                              "grad": lambda held: pl.value_and_grad(result, has_aux=True)(held)[0]}.items():
                value, held = way(Held(made(), key))
                self.assertEqual((value.item(), held.other[key].item(), held.one is held.other), (3, 3, True), (name, key))

    def test_records_tell_them_apart(self):
        """Two layers with the same tensors are not one layer."""
        step = pl.jit(stepped)
        for _ in range(3):
            one, apart = Twice(), Twice()
            apart.second = nn.Sequential(apart.second[0], copy.copy(apart.second[1]))
            self.assertEqual(step(apart, pl.asarray(X)).second[1].num_batches_tracked.item(), 1)
            self.assertEqual(step(one, pl.asarray(X)).second[1].num_batches_tracked.item(), 2)
            with self.assertRaisesRegex(pl.errors.TypeError, "differ"):
                pl.trace(stepped)(one, pl.asarray(X))(apart, pl.asarray(X))

    def test_a_change_at_one_place(self):
        """Leaves that differ at the two places make two layers."""
        model = Twice()
        leaves, form = pl.tree.flatten(model)
        apart = form.unflatten([leaf * 1 for leaf in leaves])
        self.assertFalse(is_one(apart))
        self.assertTrue(is_one(form.unflatten(leaves)))
        self.assertEqual(form, pl.tree.structure(apart))


if __name__ == "__main__":
    unittest.main()
