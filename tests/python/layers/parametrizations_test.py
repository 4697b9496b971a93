"""Weights that are computed: weight_norm and spectral_norm beside PyTorch's, and custom parametrizations."""

import copy
import pickle
import unittest

import numpy as np
import plait as pl
import torch
from torch.nn.utils import parametrizations

import layer_cases
import layer_transforms_test

nn = pl.nn
X = np.random.default_rng(1).normal(size=(5, 4))


def moved(ours, theirs):
    return nn.load_state(ours, {name: value.numpy() for name, value in theirs.state_dict().items()})


def layers():
    return ((nn.Linear(4, 3, dtype=pl.f64), torch.nn.Linear(4, 3).double(), X),
            (nn.Conv2d(2, 3, 2, dtype=pl.f64), torch.nn.Conv2d(2, 3, 2).double(), np.random.default_rng(2).normal(size=(2, 2, 4, 5))))


class Doubled(pl.Module):
    def __call__(self, original):
        return 2 * original


class Norms(unittest.TestCase):
    def compare(self, ours, theirs, x, training=True):
        """Outputs, gradients and buffers of two calls."""
        theirs.train(training)
        ours = moved(ours, theirs).train(training)
        self.assertEqual(set(nn.state(ours)), set(theirs.state_dict()))
        for _ in range(2):
            theirs.zero_grad()
            out = theirs(torch.tensor(x))
            (out ** 3).sum().backward()

            def loss_of(layer):
                found = layer(pl.asarray(x))
                return pl.sum(found ** 3), (found, layer)

            gradient, (found, ours) = pl.grad(loss_of, has_aux=True)(ours)
            np.testing.assert_allclose(found.numpy(), out.detach().numpy(), rtol=1e-10, atol=1e-12)
            for name, value in theirs.named_parameters():
                np.testing.assert_allclose(nn.state(gradient)[name].numpy(), value.grad.numpy(), rtol=1e-9, atol=1e-11, err_msg=name)
            for name, value in theirs.state_dict().items():
                np.testing.assert_allclose(nn.state(ours)[name].numpy(), value.numpy(), rtol=1e-9, atol=1e-11, err_msg=name)

    def test_weight_norm(self):
        for ours, theirs, x in layers():
            for dim in 0, 1, None:
                with self.subTest(type(ours).__name__, dim=dim):
                    self.compare(nn.weight_norm(ours, dim=dim), parametrizations.weight_norm(copy.deepcopy(theirs), dim=dim), x)

    def test_spectral_norm(self):
        for ours, theirs, x in layers():
            for options in {}, {"n_power_iterations": 3}, {"dim": 1}:
                for training in True, False:
                    with self.subTest(type(ours).__name__, options=options, training=training):
                        self.compare(nn.spectral_norm(ours, **options), parametrizations.spectral_norm(copy.deepcopy(theirs), **options), x, training)

    def test_of_transposed_convolutions(self):
        theirs = parametrizations.spectral_norm(torch.nn.ConvTranspose2d(2, 3, 2).double()) if hasattr(nn, "ConvTranspose2d") else None
        if theirs is not None:
            self.compare(nn.spectral_norm(nn.ConvTranspose2d(2, 3, 2, dtype=pl.f64)), theirs, np.random.default_rng(2).normal(size=(2, 2, 4, 5)))

    def test_the_vectors_are_returned(self):
        """Under jit and remat as eagerly, and a loss that does not return the model is an error."""
        layer = nn.spectral_norm(nn.Linear(4, 3, dtype=pl.f64), key=pl.random.key(2))
        layer = nn.load_state(layer, nn.state(layer) | {"parametrizations.weight.original": np.random.default_rng(3).normal(size=(3, 4))})
        x = pl.asarray(X)
        wanted = nn.call(layer, x)[1].parametrizations["weight"]
        before = layer.parametrizations["weight"]
        self.assertFalse(np.allclose(getattr(wanted, "0")._u, getattr(before, "0")._u))
        for way in (pl.jit(lambda layer: nn.call(layer, x)[1]), lambda layer: nn.call(pl.remat(layer), x)[1].function,
                    lambda layer: pl.value_and_grad(lambda layer: (pl.sum(layer(x)), layer), has_aux=True)(layer)[0][1]):
            np.testing.assert_allclose(getattr(way(layer).parametrizations["weight"], "0")._u, getattr(wanted, "0")._u, rtol=1e-12)
        with self.assertRaisesRegex(pl.ValueError, "whose _u it assigns to"):
            pl.grad(lambda layer: pl.sum(layer(x)))(layer)


READS = []


class Counted(pl.Module):
    """The weight itself; notes that it was read."""

    def __init__(self, name):
        self.name = name

    def __call__(self, original):
        READS.append(self.name)
        return original * 1


def inputs_of_others():
    """Layers that layer_cases leaves to tests of their own, with inputs."""
    sequence = pl.asarray(np.random.default_rng(1).normal(size=(5, 2, 4)))
    f64 = {"dtype": pl.f64}
    for cls in nn.RNN, nn.GRU, nn.LSTM:
        yield cls(4, 3, num_layers=2, bidirectional=True, **f64), [sequence]
    yield nn.LSTM(4, 3, proj_size=2, **f64), [sequence]
    for cls in nn.RNNCell, nn.GRUCell, nn.LSTMCell:
        yield cls(4, 3, **f64), [sequence[0]]
    yield nn.MultiheadAttention(4, 2, **f64), [sequence] * 3
    yield nn.MultiheadAttention(4, 2, kdim=4, vdim=4, add_bias_kv=True, **f64), [sequence] * 3
    yield nn.Attention(4, 2, **f64), [sequence]
    yield nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, **f64), [sequence]
    yield nn.TransformerDecoderLayer(4, 2, 8, dropout=0.0, **f64), [sequence, sequence]
    yield nn.Mlp(4, 8, **f64), [sequence]
    yield nn.LoRALinear(4, 3, rank=2, **f64), [sequence]


def all_layers():
    for name in layer_cases.SMALL:
        if not name.startswith("Fractional"):
            yield layer_transforms_test.made(name)
    yield from inputs_of_others()


class EveryLayer(unittest.TestCase):
    def test_each_weight_may_be_computed_and_is_read_once(self):
        count = 0
        for layer, inputs in all_layers():
            layer = layer.eval()
            expected, gradient = layer(*inputs), pl.grad(lambda layer: layer_transforms_test.total(layer(*inputs)))(layer)
            for path, _ in pl.tree.leaves_with_paths(gradient):  # gradients of weights, and not of buffers
                with self.subTest(type(layer).__name__, path=path):
                    computed = nn.parametrize(layer, path, Counted(path))
                    READS.clear()
                    layer_transforms_test.same(computed(*inputs), expected)
                    self.assertLessEqual(len(READS), 1)
                    count += 1
        self.assertGreater(count, 100)

    def test_each_weight_may_be_pruned(self):
        for layer, inputs in all_layers():
            layer = layer.eval()
            gradient = pl.grad(lambda layer: layer_transforms_test.total(layer(*inputs)))(layer)
            paths = [path for path, _ in pl.tree.leaves_with_paths(gradient)]
            with self.subTest(type(layer).__name__):
                pruned = nn.utils.prune.custom_from_mask(layer, paths, {path: pl.ones_like(nn.state(layer)[path]) for path in paths}) if paths else layer
                layer_transforms_test.same(pruned(*inputs), layer(*inputs))
                self.assertEqual({path for path in nn.state(pruned) if path.endswith("_orig")}, {f"{path}_orig" for path in paths})


class Own(unittest.TestCase):
    def test_by_paths(self):
        model = nn.Sequential(nn.Linear(4, 4, dtype=pl.f64), nn.Sequential(nn.Linear(4, 2, dtype=pl.f64)))
        made = nn.parametrize(model, "*weight", Doubled())
        self.assertEqual(list(nn.state(made)), ["0.bias", "0.parametrizations.weight.original", "1.0.bias", "1.0.parametrizations.weight.original"])
        np.testing.assert_array_equal(made[1][0].weight, 2 * model[1][0].weight)
        gradient = pl.grad(lambda model: pl.sum(model[1][0].weight))(made)
        np.testing.assert_array_equal(getattr(gradient[1][0].parametrizations["weight"], "original"), np.full((2, 4), 2.0))
        for again in copy.deepcopy(made), pickle.loads(pickle.dumps(made)), made.eval(), pl.tree.map(lambda leaf: leaf, made):
            np.testing.assert_array_equal(again(pl.asarray(X)), made(pl.asarray(X)))
        model, _ = pl.optim.SGD(made, lr=0.1).update(made, pl.tree.map(pl.ones_like, made))
        np.testing.assert_allclose(model[1][0].weight, made[1][0].weight - 0.2, rtol=1e-12)

    def test_removal(self):
        model = nn.Sequential(nn.weight_norm(nn.Linear(4, 4, dtype=pl.f64)), nn.parametrize(nn.Linear(4, 2, dtype=pl.f64), "weight", Doubled()))
        plain = nn.remove_parametrizations(model)
        self.assertEqual(set(nn.state(plain)), {"0.weight", "0.bias", "1.weight", "1.bias"})
        np.testing.assert_allclose(plain(pl.asarray(X)), model(pl.asarray(X)), rtol=1e-12)
        half = nn.remove_parametrizations(model, "1.weight")
        self.assertIn("0.parametrizations.weight.original0", nn.state(half))
        with self.assertRaisesRegex(pl.ValueError, r"no computed weight matches '2\.\*'[\s\S]*(0.weight, 1.weight|did you mean)"):
            nn.remove_parametrizations(model, "2.*")

    def test_assignment(self):
        layer = nn.weight_norm(nn.Linear(4, 3, dtype=pl.f64))
        layer.weight = pl.asarray(np.full((3, 4), 0.5))
        np.testing.assert_allclose(layer.weight, np.full((3, 4), 0.5), rtol=1e-12)
        np.testing.assert_allclose(layer.parametrizations["weight"].original0, np.ones((3, 1)), rtol=1e-12)
        with self.assertRaisesRegex(pl.TypeError, "Doubled has no right_inverse"):
            nn.parametrize(layer, "bias", Doubled()).bias = pl.zeros(3)

    def test_what_is_refused(self):
        layer = nn.Linear(4, 3)
        for call, error, words in ((lambda: nn.weight_norm(layer, "wieght"), pl.ValueError, "did you mean weight"),
                                   (lambda: nn.weight_norm(layer, dim=2), pl.IndexError, "dim is 2, out of range for weight"),
                                   (lambda: nn.weight_norm(layer, dim="0"), pl.TypeError, "expected an integer or None"),
                                   (lambda: nn.spectral_norm(layer, n_power_iterations=0), pl.ValueError, "n_power_iterations is 0"),
                                   (lambda: nn.spectral_norm(layer, eps=-1), pl.ValueError, "eps is -1"),
                                   (lambda: nn.spectral_norm(layer, dim=5), pl.IndexError, "dim is 5")):
            with self.assertRaisesRegex(error, words):
                call()


if __name__ == "__main__":
    unittest.main()
