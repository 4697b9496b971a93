"""Trained objects must be trees, a tensor at two places counts once, and the model and its gradient must not be
swapped."""

import collections
import copy
import pickle
import unittest

import numpy as np
import plait as pl
import torch


class Tied(pl.Module):
    def __init__(self, scale=1.0):
        self.embedding = pl.asarray(np.arange(6.0).reshape(3, 2) * scale)
        self.out = [self.embedding]
        self.bias = pl.asarray(np.ones(3))

    def __call__(self, ids):
        return pl.take(self.embedding, ids, 0) @ self.out[0].T + self.bias


def loss(model, ids):
    return pl.sum(pl.tanh(model(ids)) ** 2)


IDS = pl.asarray(np.array([0, 2]))


def of_torch(steps=0, lr=0.1):
    """PyTorch's tied gradient, and the weight after some steps of Adam."""
    weight = torch.tensor(np.arange(6.0).reshape(3, 2), requires_grad=True)
    bias = torch.ones(3, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([weight, bias], lr=lr)
    for _ in range(max(steps, 1)):
        optimizer.zero_grad()
        value = (torch.tanh(weight[[0, 2]] @ weight.T + bias) ** 2).sum()
        value.backward()
        if steps:
            optimizer.step()
    return weight.grad.numpy() if not steps else weight.detach().numpy()


class OneTensor(unittest.TestCase):
    def expect_tied(self, model):
        self.assertIs(model.embedding, model.out[0])

    def test_gradients(self):
        wanted = of_torch()
        ways = {
            "grad": lambda model: pl.grad(loss)(model, IDS),
            "value_and_grad": lambda model: pl.value_and_grad(loss)(model, IDS)[1],
            "jit": lambda model: pl.jit(pl.grad(loss))(model, IDS),
            "in jit": pl.jit(lambda model: pl.grad(loss)(model, IDS)),
            "of jit": lambda model: pl.grad(pl.jit(loss))(model, IDS),
            "of remat": lambda model: pl.grad(pl.remat(loss))(model, IDS),
            "vjp": lambda model: pl.vjp(lambda model: loss(model, IDS), model)[1](pl.asarray(np.array(1.0)))[0],
            "vmap": lambda model: pl.tree.map(lambda each: each[1], pl.vmap(pl.grad(loss), in_axes=(None, 0))(model, pl.stack([IDS, IDS]))),
        }
        for name, way in ways.items():
            with self.subTest(name):
                gradient = way(Tied())
                np.testing.assert_allclose(gradient.embedding.numpy(), wanted, rtol=1e-6)
                self.expect_tied(gradient)

    def test_second_derivatives(self):
        model = Tied(0.1)
        along = pl.tree.map(pl.ones_like, model)
        found = pl.hvp(lambda model: loss(model, IDS), model, along)
        step = 1e-5
        ends = [pl.grad(loss)(pl.tree.map(lambda p, d: p + s * d, model, along), IDS) for s in (step, -step)]
        np.testing.assert_allclose(found.embedding.numpy(), (ends[0].embedding - ends[1].embedding).numpy() / (2 * step), rtol=1e-5)

    def test_optimizers(self):
        wanted = of_torch(steps=5)

        def step(model, optimizer):
            return optimizer.update(model, pl.grad(loss)(model, IDS))

        for name, run in {"eager": step, "jit": pl.jit(step)}.items():
            with self.subTest(name):
                model = Tied()
                optimizer = pl.optim.Adam(model, lr=0.1)
                for _ in range(5):
                    model, optimizer = run(model, optimizer)
                    self.expect_tied(model)
                np.testing.assert_allclose(model.embedding.numpy(), wanted, rtol=1e-4)
        self.assertEqual(pl.stats(run).traces, 1)

    def test_two_gradients_of_one_tensor_are_refused(self):
        model = Tied()
        gradient = pl.grad(loss)(model, IDS)
        gradient.out[0] = gradient.out[0] * 2
        with self.assertRaisesRegex(pl.errors.ValueError, "out.0"):
            pl.optim.SGD(model).update(model, gradient)

    def test_trees(self):
        model = Tied()
        calls = []
        doubled = pl.tree.map(lambda leaf: (calls.append(0), leaf * 2)[1], model)
        self.assertEqual(len(calls), 2)
        self.expect_tied(doubled)
        for copied in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), pl.tree.unflatten(*reversed(pl.tree.flatten(model)))):
            self.expect_tied(copied)

    def test_jit_tells_one_from_two(self):
        f = pl.jit(lambda a, b: (pl.ones(()) if a is b else pl.zeros(())) + pl.sum(a * b))
        x, y = pl.ones(2), pl.ones(2)
        for _ in range(3):
            self.assertEqual([f(x, x).item(), f(x, y).item(), f(y, y).item(), f(y, x).item()], [3, 2, 3, 2])
        self.assertEqual(pl.stats(f).traces, 2)
        both = pl.jit(lambda x: {"a": x, "b": [x], "c": x * 1})(x)
        self.assertIs(both["a"], both["b"][0])
        self.assertIsNot(both["a"], both["c"])

    def test_values_are_apart(self):
        """Carries, samples and arguments are values: beginning as the same tensor does not tie them."""
        x = pl.zeros(2)
        for run in (lambda f: f, pl.jit):
            last = run(lambda x: pl.scan(lambda c, s: ((c[0] + 1, c[1] + 2), ()), (x, x), length=3)[0])(x)
            self.assertEqual([each.numpy().tolist() for each in last], [[3, 3], [6, 6]])
            last = run(lambda x: pl.while_loop(lambda c: pl.sum(c[0]) < 4, lambda c: (c[0] + 1, c[1] + 2), (x, x)))(x)
            self.assertEqual([each.numpy().tolist() for each in last], [[2, 2], [4, 4]])
        m = pl.asarray(np.arange(4.0).reshape(2, 2))
        self.assertEqual(pl.vmap(pl.dot, in_axes=(0, 1))(m, m).numpy().tolist(), [2, 11])
        self.assertEqual(pl.grad(lambda a, b: pl.sum(a * a * b), argnums=(0, 1))(m, m)[1].numpy().tolist(), (m * m).numpy().tolist())
        _, pull = pl.vjp(lambda a, b: a * a * b, pl.tensor(3.0), pl.tensor(3.0))
        t = pl.tensor(3.0)
        self.assertEqual([each.item() for each in pl.vjp(lambda a, b: a * a * b, t, t)[1](pl.tensor(1.0))], [18, 9])
        self.assertEqual(pl.jvp(lambda a, b: a * a * b, (t, t), (pl.tensor(1.0), None))[1].item(), 18)
        self.assertEqual(pl.linearize(lambda a: a[0] * a[0] * a[1], (t, t))[1]((pl.tensor(1.0), pl.tensor(0.0))).item(), 18)


class Plain:
    def __init__(self):
        self.w, self.name = pl.ones(3), "plain"


class Slotted:
    __slots__ = ("w",)

    def __init__(self):
        self.w = pl.ones(3)


class Holder(pl.Module):
    def __init__(self, held):
        self.b, self.held = pl.ones(3), held


class Indirect:
    def __init__(self):
        self.layers = [Plain()]


class NoTrees(unittest.TestCase):
    def test_models_that_are_no_trees_are_refused(self):
        for name, model in {"Plain": Plain(), "Slotted": Slotted(), "Indirect": Indirect(), "held": Holder(Plain()), "list": [Plain()],
                            "deep": Holder({"x": (1, Indirect())}), "set": Holder({pl.ones(3)})}.items():
            for way, of in {"grad": pl.grad, "value_and_grad": pl.value_and_grad, "jit": lambda f: pl.jit(pl.grad(f)),
                            "vjp": lambda f: lambda model: pl.vjp(f, model), "jvp": lambda f: lambda model: pl.jvp(f, (model,), (model,)),
                            "jit of jvp": lambda f: pl.jit(lambda model: pl.jvp(f, (model,), (model,))),
                            "state": lambda f: pl.nn.state, "load_state": lambda f: lambda model: pl.nn.load_state(model, {}),
                            "linearize": lambda f: lambda model: pl.linearize(f, model)}.items():
                with self.subTest(f"{way} of {name}"), self.assertRaisesRegex(TypeError, r"is a (Plain|Slotted|set), which is not a tree"):
                    of(lambda model: pl.ones(()))(model)
            for optimizer in (pl.optim.SGD, pl.optim.Adam):
                with self.subTest(f"{optimizer.__name__} of {name}"), self.assertRaisesRegex(TypeError, r"class \w+\(plait.Module\)"):
                    optimizer(model)

    def test_other_leaves_have_no_gradient(self):
        for argument in (3, None, "x", object(), True):
            with self.subTest(repr(argument)), self.assertRaisesRegex(pl.errors.TypeError, "argument 0"):
                pl.grad(lambda x: pl.ones(()))(argument)
        for argument in ([], {}, (), pl.nn.Sequential(pl.relu)):
            pl.grad(lambda x: pl.ones(()))(argument)

    def test_other_objects_may_be_arguments(self):
        held = Plain()
        self.assertEqual(pl.grad(lambda x, other: pl.sum(x * other.w))(pl.ones(3), held).numpy().tolist(), [1, 1, 1])
        value, tangent = pl.jvp(lambda x, other: pl.sum(x * other.w), (pl.ones(3), held), (pl.ones(3), None))
        self.assertEqual((value.item(), tangent.item()), (3, 3))
        model = Holder(collections.OrderedDict(rate=0.5, f=pl.relu, cls=Plain))
        self.assertEqual(pl.grad(lambda model: pl.sum(model.b))(model).b.numpy().tolist(), [1, 1, 1])


class Swapped(unittest.TestCase):
    def test_the_model_and_its_gradient(self):
        model = {"w": pl.ones(2)}
        squared = lambda model: pl.sum(model["w"] ** 2)  # noqa: E731
        for optimizer in (pl.optim.SGD(model), pl.optim.Adam(model)):
            gradient = pl.grad(squared)(model)
            clipped = pl.tree.map(lambda leaf: pl.clip(leaf, -1, 1), gradient)
            for other in (gradient, clipped):
                with self.assertRaisesRegex(pl.errors.TypeError, r"are swapped"):
                    optimizer.update(other, model)
                _ = optimizer.update(model, other)
            following, optimizer = optimizer.update(model, gradient)
            with self.assertRaises(pl.errors.TypeError):
                optimizer.update(clipped, following)

        @pl.jit
        def step(model, optimizer):
            return optimizer.update(pl.grad(squared)(model), model)

        with self.assertRaises(pl.errors.TypeError):
            step(model, pl.optim.SGD(model))

    def test_other_uses_stand(self):
        w = pl.ones(2)
        optimizer = pl.optim.SGD(w, lr=0.5)
        self.assertEqual(optimizer.update(w, w)[0].numpy().tolist(), [0.5, 0.5])
        gradient = pl.grad(lambda w: pl.sum(w * w))(w)
        inner = pl.grad(lambda g: pl.sum(g * g))(gradient)
        _ = pl.optim.SGD(gradient).update(gradient, inner)
        _ = pl.optim.SGD({"w": w}).update({"w": w * 1}, {"w": w * 2})


class Mutated(unittest.TestCase):
    """Changes that a function makes to its argument would be lost."""

    WAYS = {"grad": pl.grad, "vjp": lambda f: lambda x: pl.vjp(f, x), "jvp": lambda f: lambda x: pl.jvp(f, (x,), (pl.tree.map(pl.ones_like, x),)),
            "linearize": lambda f: lambda x: pl.linearize(f, x), "remat": pl.remat,
            "vmap": lambda f: lambda x: pl.vmap(f)(pl.tree.map(lambda leaf: leaf[None], x))}

    def test_containers(self):
        def counts(model):
            model.held["n"] += 1
            return pl.sum(model.b)

        def replaces(model):
            model.b = model.b * 2
            return pl.sum(model.b)

        def keeps(model):
            model.held["kept"] = model.b * 2
            return pl.sum(model.b)

        def pops(model):
            return pl.sum(model.held["list"].pop())

        for name, of in self.WAYS.items():
            for f in (counts, replaces, keeps, pops) if name != "remat" else (counts, keeps, pops):
                model = Holder({"n": 0, "list": [pl.ones(2), pl.ones(2)]})
                with self.subTest(f"{name} of {f.__name__}"), self.assertRaisesRegex(pl.errors.ValueError, "the function changes the arguments"):
                    of(f)(model)
                self.assertEqual((model.held["n"], len(model.held["list"]), "kept" in model.held), (0, 2, False))

    def test_remat_changes_the_attributes_of_the_callers_model(self):
        model = Holder({"n": 0})

        def replaces(model):
            model.b = model.b * 2
            return pl.sum(model.b)

        pl.remat(replaces)(model)
        self.assertEqual(model.b.numpy().tolist(), [2, 2, 2])

    def test_what_is_given_back_may_be_changed(self):
        def f(model):
            model.held["n"] += 1
            model.b = model.b * 2
            return pl.sum(model.b), model

        for gradient, model in (pl.grad(f, has_aux=True)(Holder({"n": 0})), pl.jit(pl.grad(f, has_aux=True))(Holder({"n": 0}))):
            self.assertEqual((model.held["n"], model.b.numpy().tolist(), gradient.b.numpy().tolist()), (1, [2, 2, 2], [2, 2, 2]))
        self.assertEqual(pl.vmap(lambda model: f(model)[1], out_axes=0)(Holder({"n": 0, "m": pl.ones((3, 2))})).b.shape, (3,))


if __name__ == "__main__":
    unittest.main()
