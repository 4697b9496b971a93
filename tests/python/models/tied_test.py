"""One tensor at two places of a model stays one; frozen weights stay frozen; lost assignments into copies are errors; and other ways
in which a model may be lost."""

import unittest
import warnings

import numpy as np
import plait as pl
import torch
from plait import nn


class Tied(pl.Module):
    def __init__(self):
        self.embed = nn.Embedding(5, 4, key=pl.random.key(1))
        self.head = nn.Linear(4, 5, key=pl.random.key(2))
        self.head.weight = self.embed.weight

    def __call__(self, ids):
        return self.head(self.embed(ids))


def is_tied(model):
    return model.embed.weight is model.head.weight


class TiedWeights(unittest.TestCase):
    def test_results_of_derivatives(self):
        """They hand through what is one tensor as one, tangents too."""
        model, x = Tied(), pl.ones(())
        along = pl.tree.map(pl.ones_like, model)
        handed, with_aux = lambda model: model, lambda model: (x, model)
        value, tangent = pl.jvp(handed, (model,), (along,))
        results = {"jvp": value, "tangents": tangent, "aux of jvp": pl.jvp(with_aux, (model,), (along,), has_aux=True)[2],
                   "vjp": pl.vjp(handed, model)[0], "aux of vjp": pl.vjp(with_aux, model, has_aux=True)[2],
                   "aux of grad": pl.grad(lambda model: (pl.sum(model.head.bias), model), has_aux=True)(model)[1]}
        for name, result in results.items():
            with self.subTest(name):
                self.assertTrue(is_tied(result))

    def test_loading(self):
        model = Tied()
        self.assertTrue(is_tied(nn.load_state(model, nn.state(model))))
        state = nn.state(model)
        del state["head.weight"]  # files store it once
        self.assertTrue(is_tied(nn.load_state(model, state)))
        state = nn.state(model) | {"head.weight": model.embed.weight + 1}
        with self.assertRaisesRegex(pl.ValueError, "embed.weight and head.weight are one tensor in the model, but differ in the state"):
            nn.load_state(model, state)
        with self.assertRaisesRegex(pl.ValueError, "embed.weight is missing"):
            nn.load_state(model, {"head.bias": model.head.bias})

    def test_branches(self):
        model = Tied()
        other = pl.tree.map(lambda x: x * 2, model)
        for run in (lambda f: f), pl.jit:
            for predicate in pl.tensor(True), pl.tensor(False):
                self.assertTrue(is_tied(run(lambda p, m: pl.cond(p, lambda m: m, lambda m: pl.tree.map(lambda x: x * 2, m), m))(predicate, model)))
                self.assertTrue(is_tied(run(lambda p, m, o: pl.cond(p, lambda m, o: m, lambda m, o: o, m, o))(predicate, model, other)))
            self.assertTrue(is_tied(run(lambda i, m: pl.switch(i, [lambda m: m, lambda m: m], m))(pl.tensor(1), model)))
        x = pl.ones(2)
        for predicate in True, False:  # tied in one branch only
            a, b = pl.jit(lambda p, x: pl.cond(p, lambda x: (x, x), lambda x: (x, x + 1), x))(pl.tensor(predicate), x)
            np.testing.assert_allclose(b, a if predicate else a + 1)

    def test_updates_of_optax(self):
        model = Tied()
        self.assertTrue(is_tied(pl.optim.apply_updates(model, model)))
        self.assertTrue(is_tied(pl.optim.incremental_update(model, model, 0.5)))
        self.assertTrue(is_tied(pl.optim.periodic_update(model, model, 1, 2)))
        gradient = pl.grad(lambda m: pl.sum(m(pl.tensor([1, 2])) ** 2))(model)
        parts = [gradient.embed.weight, gradient.head.bias]
        self.assertAlmostEqual(pl.optim.global_norm(gradient).item(), np.sqrt(sum(np.sum(np.square(each)) for each in parts)), places=3)

    def test_training_is_pytorchs(self):
        class Theirs(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.embed, self.head = torch.nn.Embedding(5, 4), torch.nn.Linear(4, 5)
                self.head.weight = self.embed.weight

            def forward(self, ids):
                return self.head(self.embed(ids))

        torch.manual_seed(0)
        theirs, ids = Theirs(), [0, 3, 1, 1]
        ours = nn.load_state(Tied(), theirs.state_dict())
        optimizer, rule = torch.optim.SGD(theirs.parameters(), lr=0.1), pl.optim.sgd(0.1)
        state = rule.init(ours)
        for _ in range(4):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(theirs(torch.tensor(ids)), torch.tensor(ids))
            loss.backward()
            optimizer.step()
            value, gradient = pl.value_and_grad(lambda m: nn.cross_entropy(m(pl.tensor(ids)), pl.tensor(ids)))(ours)
            updates, state = rule.update(gradient, state, ours)
            ours = pl.cond(pl.isfinite(value), pl.optim.apply_updates, lambda m, u: m, ours, updates)
            self.assertAlmostEqual(value.item(), loss.item(), places=5)


class Frozen(unittest.TestCase):
    def test_computed_weights_stay_frozen(self):
        def gradients(layer):
            return nn.state(pl.grad(lambda m: pl.sum(m(pl.ones((1, 2))) ** 2))(layer))

        for make in nn.weight_norm, nn.spectral_norm:
            self.assertEqual(list(gradients(make(nn.freeze(nn.Linear(2, 2), "weight")).eval())), ["bias"])
            layer = nn.remove_parametrizations(nn.freeze(make(nn.Linear(2, 2)), "parametrizations.*").eval())
            self.assertEqual(list(gradients(layer)), ["bias"])


    def test_tied_weights_are_frozen_together(self):
        """As in PyTorch, whose requires_grad belongs to the tensor."""
        model = Tied()
        model.mask = nn.Buffer(pl.ones(2))
        for pattern in "embed.*", "*d.weight":
            frozen = nn.freeze(model, pattern)
            self.assertEqual(list(nn.state(frozen, buffers=False, frozen=False)), ["head.bias"])
            optimizer = pl.optim.SGD(frozen, lr=0.1)
            gradient = pl.grad(lambda model: pl.sum(model(pl.tensor([1, 2]))))(frozen)
            trained, _ = optimizer.update(frozen, gradient)
            self.assertTrue(is_tied(trained))
            np.testing.assert_array_equal(trained.head.weight, model.head.weight)
            again = nn.unfreeze(frozen, "head.weight")
            self.assertEqual(list(nn.state(again, buffers=False, frozen=False)), ["embed.weight", "head.weight", "head.bias"])
        self.assertEqual(len(nn.state(model, frozen=False)), 4)

    def test_weights_that_are_tied_after_freezing(self):
        def loss(model):
            return pl.sum(model(pl.tensor([1, 2])))

        def tied_late(model):
            model.head.weight = model.embed.weight
            return model

        apart = Tied()
        apart.head.weight = apart.head.weight.copy()
        model = tied_late(nn.freeze(apart, "embed.*"))
        for run in (lambda: pl.grad(loss)(model), lambda: pl.jit(pl.value_and_grad(loss))(model), lambda: pl.optim.SGD(model, lr=0.1),
                    lambda: pl.optim.Optimizer(pl.optim.sgd(0.1), model),
                    lambda: pl.jit(lambda model: pl.grad(loss)(tied_late(model)))(nn.freeze(apart, "embed.*"))):
            with self.assertRaisesRegex(pl.ValueError, r"embed.weight is frozen, but the same tensor is trained at head.weight[\s\S]*"
                                                       r"plait.nn.freeze\(model, 'head.weight'\)"):
                run()
        both = nn.freeze(model, "head.weight")
        self.assertEqual(list(nn.state(pl.grad(loss)(both))), ["head.bias"])
        self.assertEqual(list(nn.state(pl.grad(loss)(nn.unfreeze(model, "embed.weight")))), ["embed.weight", "head.weight", "head.bias"])
        separate = nn.freeze(apart, "embed.*")
        separate.head.weight = separate.embed.weight.copy()
        self.assertEqual(list(nn.state(pl.grad(loss)(separate))), ["head.weight", "head.bias"])
        student, teacher = pl.grad(lambda student, teacher: loss(student) - loss(teacher), argnums=(0, 1))(apart, nn.freeze(apart, "embed.*"))
        self.assertEqual((len(nn.state(student)), len(nn.state(teacher))), (3, 2))

    def test_adapters_of_tied_weights(self):
        with self.assertRaisesRegex(pl.ValueError, "nn.lora: head has a tensor that is trained at embed.weight, too"):
            nn.lora(Tied(), "head", rank=2)
        model = nn.lora(nn.freeze(Tied(), "embed.weight"), "head", rank=2)
        loss_of = lambda model: pl.sum(pl.square(model(pl.tensor([1, 2]))))  # noqa: E731
        optimizer = pl.optim.SGD(model, lr=0.1)
        trained, optimizer = optimizer.update(model, pl.grad(loss_of)(model))
        self.assertIs(trained.embed.weight, model.embed.weight)
        self.assertIs(trained.head.base.weight, model.embed.weight)
        self.assertFalse(np.array_equal(trained.head.lora_B, model.head.lora_B))


class Assignments(unittest.TestCase):
    def test_lost_ones_are_refused(self):
        def assigned(w):
            w[0] = 5.0
            return pl.sum(w)

        w = pl.zeros(2)
        for run in (lambda: pl.cond(pl.tensor(True), assigned, pl.sum, w), lambda: pl.switch(pl.tensor(0), [assigned], w),
                    lambda: pl.while_loop(lambda w: assigned(w) < 1, lambda w: w + 1, w),
                    lambda: pl.scan(lambda total, each: (total + assigned(each), ()), pl.tensor(0.0), pl.zeros((3, 2)))):
            with self.assertRaisesRegex(pl.TypeError, r"assigns into the (arguments.0|carry|slice), a copy[\s\S]*x.at\[index\]"):
                run()
            np.testing.assert_allclose(w, [0, 0])

    def test_returned_ones_count(self):
        def assigned(w):
            w[0] = 5.0
            return w

        np.testing.assert_allclose(pl.cond(pl.tensor(True), assigned, lambda w: w, pl.zeros(2)), [5, 0])

    def test_call_leaves_the_model_alone(self):
        class Counting(pl.Module):
            def __init__(self):
                self.count = nn.Buffer(pl.zeros(2))

            def __call__(self, x):
                self.count[0] = self.count[0] + 1
                return x

        layer = Counting()
        _, after = nn.call(layer, pl.ones(2))
        np.testing.assert_allclose(layer.count, [0, 0])
        np.testing.assert_allclose(after.count, [1, 0])


class Models(unittest.TestCase):
    def test_an_unchanged_leaf_of_a_transform_is_written_back(self):
        class Probe(pl.Module):
            def __init__(self):
                self.net = nn.Linear(4, 1)

            def __call__(self, x):
                (loss, self.net), _ = pl.value_and_grad(lambda net: (pl.mean(net(x) ** 2), net), has_aux=True)(self.net)
                return loss

        model, before = Probe(), None
        before = model.net.weight.numpy().copy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pl.HostStateWarning)
            for run in (pl.jit(lambda m, x: m(x)) for _ in range(3)):
                for size in 5, 3, 4, 5:
                    run(model, pl.ones((size, 4)))
                    np.testing.assert_allclose(model.net.weight, before)

    def test_paths_that_mean_two_tensors(self):
        tree = {"a.b": pl.ones(2), "a": {"b": pl.zeros(2)}}
        for run in (lambda: nn.state(tree), lambda: pl.optim.SGD(tree, lr=0.1), lambda: pl.optim.sgd(0.1).init(tree),
                    lambda: nn.load_state({1: pl.ones(1), "1": pl.ones(1)}, {})):
            with self.assertRaisesRegex(pl.ValueError, "two tensors of the tree have the path '(a.b|1)'"):
                run()

    def test_padding_does_not_reach_gradients(self):
        for kind in nn.RNN, nn.GRU, nn.LSTM:
            layer, x = kind(2, 3, bidirectional=True), np.ones((4, 2, 2), np.float32)
            x[2:, 0] = np.nan
            gradient = pl.grad(lambda layer: pl.sum(layer(pl.asarray(x), lengths=pl.tensor([2, 4]))[0]))(layer)
            for name, each in nn.state(gradient).items():
                self.assertTrue(np.isfinite(each.numpy()).all(), name)

    def test_imaginary_parts_are_not_dropped(self):
        with self.assertRaisesRegex(pl.TypeError, "weight is c64 in the state, f32 in the model"):
            nn.load_state(nn.Linear(1, 1, bias=False), {"weight": pl.ones((1, 1)).astype(pl.c64)})


if __name__ == "__main__":
    unittest.main()
