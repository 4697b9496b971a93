"""Buffers: parts of a model that are not trained, and are part of it in all else."""

import copy
import pickle
import unittest

import numpy as np
import plait as pl


class Masked(pl.Module):
    """A weight, a buffer, a table of NumPy's, and numbers that no derivative is taken by."""

    def __init__(self):
        self.weight = pl.asarray(np.array([1.0, 2.0, 3.0]))
        self.mask = pl.nn.Buffer(pl.asarray(np.array([1.0, 0.0, 1.0])))
        self.table = np.arange(3.0)
        self.ids = pl.nn.Buffer(pl.tensor([2, 1, 0]))

    def __call__(self, x):
        return pl.sum(self.weight * self.mask * x) + pl.sum(pl.take(self.table, self.ids, 0))


class Normed(pl.Module):
    """Has running statistics, which a step of training changes."""

    def __init__(self):
        self.linear = pl.nn.Linear(2, 2, key=pl.random.key(0))
        self.mean, self.variance = pl.nn.Buffer(pl.zeros(2)), pl.nn.Buffer(pl.ones(2))

    def __call__(self, x):
        x, self.mean, self.variance = pl.batch_norm(self.linear(x), running_mean=self.mean, running_var=self.variance)
        return x


X = pl.asarray(np.array([1.0, 2.0, 3.0]))
OPTIMIZERS = {"SGD": lambda model: pl.optim.SGD(model, lr=0.1, momentum=0.9, weight_decay=0.5),
              "Adam": lambda model: pl.optim.Adam(model, lr=0.1, weight_decay=0.5),
              "AdamW": lambda model: pl.optim.AdamW(model, lr=0.1, weight_decay=0.5)}


def loss(model, x=X):
    return (model(x) - 10) ** 2


class Buffers(unittest.TestCase):
    def test_they_are_what_was_given(self):
        model = Masked()
        self.assertIsInstance(model.mask, pl.Tensor)
        self.assertIsInstance(model.table, np.ndarray)
        self.assertEqual([path for path, _ in pl.tree.leaves_with_paths(model)], ["weight", "mask", "table", "ids"])
        self.assertIn("\n  mask (buffer): f64[3]\n  table (buffer): array float64[3]\n", repr(model))

    def test_gradients(self):
        ways = {"grad": lambda model: pl.grad(loss)(model), "value_and_grad": lambda model: pl.value_and_grad(loss)(model)[1],
                "jit": lambda model: pl.jit(pl.grad(loss))(model), "in jit": pl.jit(lambda model: pl.grad(loss)(model)),
                "vjp": lambda model: pl.vjp(loss, model)[1](pl.asarray(np.float64(1)))[0],
                "of remat": lambda model: pl.grad(lambda model: loss(pl.remat(model)))(model),
                "trace": lambda model: pl.trace(pl.grad(loss))(model)(model)}
        wanted = 2 * (Masked()(X).item() - 10) * np.array([1.0, 0.0, 3.0])
        for name, way in ways.items():
            with self.subTest(name):
                gradient = way(Masked())
                np.testing.assert_allclose(gradient.weight, wanted, rtol=1e-12)
                self.assertEqual((gradient.mask, gradient.table, gradient.ids), (None, None, None))

    def test_every_derivative_leaves_them_out(self):
        model, x = Masked(), pl.asarray(np.array([1.0, 2.0, 4.0]))
        ones = pl.tree.map(pl.ones_like, model)

        def value(model):
            return pl.sin(model(x))

        gradient = pl.grad(value)(model)
        for derivative in pl.jacrev, pl.jacfwd, lambda f: lambda model: pl.vjp(f, model)[1](pl.tensor(1.0, dtype=pl.f64))[0]:
            for transform in (lambda f: f), pl.jit:
                found = transform(derivative(value))(model)
                self.assertEqual((found.mask, found.table, found.ids), (None, None, None))
                np.testing.assert_allclose(found.weight, gradient.weight)
        slope = float(pl.sum(gradient.weight))
        for along in pl.jvp(value, (model,), (ones,))[1], pl.linearize(value, model)[1](ones):
            np.testing.assert_allclose(float(along), slope)
        second = pl.hessian(value)(model)
        self.assertEqual((second.mask, second.weight.mask, second.weight.weight.shape), (None, None, (3, 3)))

    def test_jacobians_leave_frozen_weights_out(self):
        model = pl.nn.freeze(pl.nn.Sequential(pl.nn.Linear(2, 3), pl.nn.Linear(3, 1)), "0.*")
        found = pl.jacfwd(lambda model: pl.sum(model(pl.ones((1, 2)))))(model)
        self.assertEqual((found[0].weight, found[1].weight.shape), (None, (1, 3)))

    def test_optimizers_leave_them_alone(self):
        for name, make in OPTIMIZERS.items():
            for jitted in False, True:
                with self.subTest(name, jitted=jitted):
                    model = Masked()
                    optimizer = make(model)
                    for state in optimizer.state.values():
                        self.assertEqual(list(state), ["weight"])

                    def step(model, optimizer):
                        return optimizer.update(model, pl.grad(loss)(model))

                    for _ in range(3):
                        model, optimizer = (pl.jit(step) if jitted else step)(model, optimizer)
                    np.testing.assert_array_equal(model.mask, [1.0, 0.0, 1.0])
                    np.testing.assert_array_equal(model.table, [0.0, 1.0, 2.0])
                    np.testing.assert_array_equal(model.ids, [2, 1, 0])
                    self.assertTrue(np.all(np.array(model.weight) != [1.0, 2.0, 3.0]))

    def test_running_statistics(self):
        """They move as they do without an optimizer: nothing decays."""
        x = pl.random.normal(pl.random.key(1), (64, 2)) + 3.0

        def loss_of(model, x):
            return pl.mean(model(x) ** 4), model

        for jitted in False, True:
            model, alone = Normed(), Normed()
            optimizer = pl.optim.AdamW(model, lr=0.0, weight_decay=0.5)

            def step(model, optimizer, x):
                (_, model), gradient = pl.value_and_grad(loss_of, has_aux=True)(model, x)
                return optimizer.update(model, gradient)

            run = pl.jit(step) if jitted else step
            for _ in range(3):
                model, optimizer = run(model, optimizer, x)
                alone(x)
            np.testing.assert_allclose(model.mean, alone.mean, rtol=1e-6)
            np.testing.assert_allclose(model.variance, alone.variance, rtol=1e-6)
            self.assertNotEqual(model.mean[0].item(), 0.0)

    def test_they_are_part_of_the_model_otherwise(self):
        model = Masked()
        leaves, structure = pl.tree.flatten(model)
        self.assertEqual(pl.tree.structure(structure.unflatten(leaves)), structure)
        for made in copy.deepcopy(model), pickle.loads(pickle.dumps(model)), copy.copy(model), pl.tree.map(pl.asarray, model):
            self.assertIsNone(pl.grad(loss)(made).mask)
            self.assertIsNone(pl.grad(loss)(made).table)
        run = pl.jit(lambda model: model(X))
        before = run(model).item()
        model.mask = model.mask * 2
        self.assertEqual(run(model).item(), model(X).item())
        self.assertNotEqual(run(model).item(), before)
        stacked = pl.tree.map(lambda leaf: pl.stack([pl.asarray(leaf)] * 2), Masked())
        np.testing.assert_allclose(pl.vmap(lambda model: model(X))(stacked), [before] * 2)

    def test_names_stay_buffers(self):
        model = Masked()
        model.mask = model.mask + 1
        self.assertIsNone(pl.grad(loss)(model).mask)
        del model.mask
        model.mask = pl.asarray(np.ones(3))
        self.assertIsNotNone(pl.grad(loss)(model).mask)
        model.table = pl.asarray(model.table)  # no array of NumPy any more
        self.assertIsNotNone(pl.grad(loss)(model).table)

    def test_of_trees_and_models(self):
        model = pl.nn.Sequential(pl.nn.Linear(2, 2), pl.nn.Linear(2, 1))
        model.teacher = pl.nn.Buffer({"net": pl.nn.Linear(2, 1), "scales": [pl.ones(1), np.ones(1), 2.0]})
        gradient = pl.grad(lambda model: pl.sum((model(pl.ones((1, 2))) - model.teacher["net"](pl.ones((1, 2)))) ** 2))(model)
        self.assertIsNone(gradient.teacher["net"].weight)
        self.assertIsNotNone(gradient[0].weight)
        before = model.teacher["net"].weight
        model, _ = pl.optim.AdamW(model).update(model, gradient)
        self.assertIs(model.teacher["net"].weight, before)

    def test_arrays_in_lists(self):
        class Tables(pl.Module):
            def __init__(self, tables):
                self.weight, self.tables = pl.ones(2), tables

        gradient = pl.grad(lambda model: pl.sum(model.weight * model.tables[0]))(Tables([np.ones(2), np.zeros(2)]))
        self.assertEqual(gradient.tables, [None, None])
        with self.assertRaisesRegex(pl.TypeError, r"Tables.tables has NumPy arrays.*beside tensors.*: 1 is one"):
            Tables([pl.ones(2), np.zeros(2)])
        with self.assertRaisesRegex(pl.TypeError, r"Tables.tables has a Buffer inside of a list[\s\S]*self.tables = plait.nn.Buffer"):
            Tables([pl.nn.Buffer(pl.ones(2))])

    def test_arrays_of_models_in_lists(self):
        class Pair(pl.Module):
            def __init__(self, *further):
                self.parts = [Masked(), {"second": Masked()}, *further]

        pair = Pair()
        gradient = pl.grad(lambda pair: loss(pair.parts[1]["second"]))(pair).parts[1]["second"]
        self.assertEqual((pair._buffers, gradient.table, gradient.mask), (frozenset(), None, None))
        self.assertGreater(pl.norm(gradient.weight).item(), 0)
        with self.assertRaisesRegex(pl.TypeError, r"Pair.parts has NumPy arrays[\s\S]*: 2.x is one"):
            Pair({"x": np.ones(2)})

    def test_a_tensor_that_is_both(self):
        class Both(pl.Module):
            def __init__(self):
                self.weight = pl.ones(2)
                self.kept = pl.nn.Buffer(self.weight)

        model = Both()
        gradient = pl.grad(lambda model: pl.sum(model.weight * model.kept * 3))(model)
        np.testing.assert_array_equal(gradient.weight, [3.0, 3.0])
        self.assertIsNone(gradient.kept)
        model, _ = pl.optim.SGD(model, lr=1.0).update(model, gradient)
        np.testing.assert_array_equal(model.weight, [-2.0, -2.0])
        np.testing.assert_array_equal(model.kept, [1.0, 1.0])

    def test_to_assign_into_one_is_refused(self):
        def forward(model):
            model.mask[0] = 5.0
            return loss(model)

        model = Masked()
        for take in pl.grad(forward), lambda model: pl.vjp(forward, model):
            with self.assertRaisesRegex(pl.TypeError, "(the buffer (0.)?mask|an argument of a function that is differentiated)"):
                take(model)
            np.testing.assert_array_equal(model.mask, [1.0, 0.0, 1.0])

    def test_nothing_is_computed_for_them(self):
        """The derivative of matrices with equal eigenvalues is NaN, or an error: of a buffer it is not needed."""
        class Spectral(pl.Module):
            def __init__(self):
                self.weight, self.matrix = pl.asarray(np.ones(2)), pl.nn.Buffer(pl.asarray(np.eye(2)))

        with pl.detect_anomaly():
            gradient = pl.grad(lambda model: pl.sum(model.weight * pl.linalg.eigh(model.matrix)[1][0]))(Spectral())
        self.assertTrue(np.all(np.isfinite(gradient.weight)))


if __name__ == "__main__":
    unittest.main()
