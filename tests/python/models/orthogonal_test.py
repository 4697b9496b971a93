"""Orthogonal weights, compared with torch.nn.utils.parametrizations.orthogonal."""

import unittest

import numpy as np
import plait as pl
import torch
from torch.nn.utils import parametrizations

nn = pl.nn
RANDOM = np.random.default_rng(4)
MAPS = None, "matrix_exp", "cayley", "householder"
SHAPES = (5, 3), (3, 5), (4, 4), (1, 1), (1, 3), (3, 1)


class Several(pl.Module):
    """Several matrices in one weight."""

    def __init__(self, weight):
        self.weight = pl.asarray(weight)


class TheirSeveral(torch.nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor(weight))


def distance_from_orthogonal(weight):
    weight = weight if weight.shape[-2] >= weight.shape[-1] else weight.mT
    return pl.max(pl.abs(weight.mH @ weight - pl.eye(weight.shape[-1], dtype=weight.dtype))).item()


def moved_by(shape):
    """Numbers that leave the signs on the diagonal as they are."""
    step = RANDOM.normal(size=shape)
    rows, columns = shape[-2:]
    return step * (1 - np.eye(rows, columns))


class AsInPyTorch(unittest.TestCase):
    def compare(self, weight, by, use_trivialization):
        ours = nn.orthogonal(Several(weight), orthogonal_map=by, use_trivialization=use_trivialization)
        theirs = parametrizations.orthogonal(TheirSeveral(weight), orthogonal_map=by, use_trivialization=use_trivialization)
        np.testing.assert_allclose(ours.weight, theirs.weight.detach().numpy(), rtol=1e-11, atol=1e-13)
        self.assertLess(distance_from_orthogonal(ours.weight), 1e-13)
        with torch.no_grad():
            theirs.parametrizations.weight.original += torch.tensor(moved_by(weight.shape)) * (1 + (0.5j if np.iscomplexobj(weight) else 0))
        ours = nn.load_state(ours, {name: value.numpy() for name, value in theirs.state_dict().items()})
        self.assertEqual(set(nn.state(ours)), set(theirs.state_dict()))
        cotangent = RANDOM.normal(size=weight.shape)
        (theirs.weight.real * torch.tensor(cotangent)).sum().backward()
        wanted = theirs.parametrizations.weight.original.grad.numpy()
        loss = lambda layer: pl.sum(pl.real(layer.weight) * pl.asarray(cotangent))  # noqa: E731
        for way in lambda f: f, pl.jit:
            np.testing.assert_allclose(way(lambda layer: layer.weight)(ours), theirs.weight.detach().numpy(), rtol=1e-11, atol=1e-13)
            gradient = way(pl.grad(loss))(ours).parametrizations["weight"]
            np.testing.assert_allclose(pl.conj(gradient.original), wanted, rtol=1e-9, atol=1e-11)
            self.assertIsNone(getattr(getattr(gradient, "0"), "base", None))
        self.assertLess(distance_from_orthogonal(ours.weight), 1e-13)

    def test_values_and_gradients(self):
        for shape in SHAPES:
            for by in MAPS:
                for use_trivialization in True, False:
                    with self.subTest(shape, by=by, use_trivialization=use_trivialization):
                        self.compare(RANDOM.normal(size=shape), by, use_trivialization)

    def test_several_matrices(self):
        for by in MAPS:
            for use_trivialization in True, False:
                with self.subTest(by, use_trivialization=use_trivialization):
                    self.compare(RANDOM.normal(size=(2, 4, 3)), by, use_trivialization)
        several = nn.orthogonal(Several(RANDOM.normal(size=(3, 4, 4))))
        self.assertLess(distance_from_orthogonal(several.weight), 1e-13)

    def test_unitary_matrices(self):
        for shape in (3, 3), (4, 2), (2, 4):
            for by in None, "cayley":
                with self.subTest(shape, by=by):
                    self.compare(RANDOM.normal(size=shape) + 1j * RANDOM.normal(size=shape), by, True)

    def test_orthogonal_ones_stay(self):
        weight = np.linalg.qr(RANDOM.normal(size=(4, 4)))[0]
        np.testing.assert_array_equal(getattr(nn.orthogonal(Several(weight)).parametrizations["weight"], "0").base, weight)


class Models(unittest.TestCase):
    def test_training_stays_orthogonal(self):
        x, y = (pl.asarray(RANDOM.normal(size=(8, n))) for n in (3, 5))
        for by in MAPS[1:]:
            layer = nn.orthogonal(nn.Linear(3, 5, dtype=pl.f64, key=pl.random.key(1)), orthogonal_map=by)
            optimizer = pl.optim.SGD(layer, lr=0.05, weight_decay=1e-3)

            @pl.jit
            def step(layer, optimizer):
                loss, gradient = pl.value_and_grad(lambda layer: pl.mean((layer(x) - y) ** 2))(layer)
                return loss, *optimizer.update(layer, gradient)

            losses = []
            for _ in range(20):
                loss, layer, optimizer = step(layer, optimizer)
                losses.append(loss.item())
            self.assertLess(losses[-1], losses[0] - 0.01)
            self.assertLess(distance_from_orthogonal(layer.weight), 1e-12)

    def test_assignment_and_removal(self):
        weight = RANDOM.normal(size=(5, 3))
        for by, use_trivialization in (("cayley", True), ("householder", True), ("householder", False)):
            layer = nn.orthogonal(nn.Linear(3, 5, dtype=pl.f64), orthogonal_map=by, use_trivialization=use_trivialization)
            layer.weight = pl.asarray(weight)
            factor, rest = np.linalg.qr(weight)
            np.testing.assert_allclose(layer.weight, factor * np.sign(np.diag(rest)), atol=1e-13)
            np.testing.assert_array_equal(nn.remove_parametrizations(layer).weight, layer.weight)
            with self.assertRaisesRegex(pl.ShapeError, r"the weight is \[3, 5\], expected \[5, 3\]"):
                layer.weight = pl.ones((3, 5))
        layer = nn.orthogonal(nn.Linear(3, 5), orthogonal_map="cayley", use_trivialization=False)
        with self.assertRaisesRegex(pl.TypeError, "has no right_inverse"):
            layer.weight = pl.ones((5, 3))

    def test_under_vmap(self):
        keys = pl.random.split_key(pl.random.key(1), 4)
        for by, use_trivialization in (("matrix_exp", True), ("cayley", True), ("householder", True), ("householder", False)):
            make = lambda key: nn.orthogonal(nn.Linear(3, 5, key=key, dtype=pl.f64), orthogonal_map=by, use_trivialization=use_trivialization)  # noqa: B023, E731
            weights = pl.vmap(lambda key: make(key).weight)(keys)  # noqa: B023
            for i in range(4):
                np.testing.assert_allclose(weights[i], make(keys[i]).weight, atol=1e-13)

    def test_weights_of_rank_below_full(self):
        for shape in (3, 3), (4, 2), (0, 3), (3, 0):
            for by, use_trivialization in (("matrix_exp", True), ("householder", True), ("householder", False)):
                with self.subTest(shape, by=by):
                    layer = nn.orthogonal(Several(np.zeros(shape)), orthogonal_map=by, use_trivialization=use_trivialization)
                    self.assertEqual(layer.weight.shape, shape)
                    self.assertTrue(0 in shape or distance_from_orthogonal(layer.weight) < 1e-13)

    def test_what_is_refused(self):
        layer = nn.Linear(3, 5)
        for call, error, words in (
                (lambda: nn.orthogonal(layer, "bias"), pl.ShapeError, r"nn.orthogonal: bias is \[5\], expected a matrix"),
                (lambda: nn.orthogonal(layer, orthogonal_map="qr"), pl.ValueError, "orthogonal_map is 'qr', expected one of matrix_exp, cayley, householder"),
                (lambda: nn.orthogonal(layer, use_trivialization=1), pl.TypeError, "use_trivialization is 1, expected True or False"),
                (lambda: nn.orthogonal(Several(np.ones((2, 2), complex)), orthogonal_map="householder"), pl.TypeError,
                 r"weight is c128, and the map householder is for real numbers[\s\S]*matrix_exp"),
                (lambda: nn.orthogonal(layer, "wieght"), pl.ValueError, "did you mean weight")):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                call()


if __name__ == "__main__":
    unittest.main()
