"""Each layer under jit, remat, vmap over a stack of models, with a symbolic batch, and its second derivatives."""

import inspect
import unittest

import numpy as np
import plait as pl
import torch

import layer_cases
from module_database_test import named_f64, ours_of, with_state

WITHOUT_SECOND = {
    "DropPath": "PyTorch has no such layer", "SwiGLU": "PyTorch has no such layer", "CrossMapLRN2d": "PyTorch's has other windows",
    "AdaptiveLogSoftmaxWithLoss": "its tail has other names", "FractionalMaxPool2d": "is random", "FractionalMaxPool3d": "is random",
    "Hardsigmoid": "PyTorch has no second derivative", "EmbeddingBag": "PyTorch has no second derivative",
}
KEY = pl.random.key(3)
BLOCKS = {"Attention", "Mlp", "Sequential"}  # have tests of their own


def made(name, seed=0):
    """The layer, in training, and inputs for it."""
    arguments, named, forward = layer_cases.SMALL[name]
    cls = getattr(pl.nn, name)
    keyed = {"key": pl.random.key(seed)} if "key" in inspect.signature(cls.__init__).parameters else {}
    torch.manual_seed(5 + seed)
    return cls(*arguments, **named, **named_f64(cls, pl.f64), **keyed), ours_of([each() for each in forward])


def of_call(layer):
    """A function of the layer that returns its outputs and the layer after it."""
    keyed = {"key": KEY} if "key" in inspect.signature(type(layer).__call__).parameters else {}
    return lambda layer, *inputs: (layer(*inputs, **keyed), layer)


def same(found, expected, tolerance=1e-10):
    (found, form), (expected, expected_form) = pl.tree.flatten(found), pl.tree.flatten(expected)
    assert form.paths == expected_form.paths
    for path, one, other in zip(form.paths, found, expected):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=tolerance, atol=tolerance, err_msg=path)


def total(outputs):
    return sum(pl.sum(pl.sin(each)) for each in pl.tree.flatten(outputs)[0] if each.dtype == pl.f64)


def copied(tree):
    return pl.tree.map(lambda leaf: leaf, tree)


def for_each_layer(check):
    """A test that calls the function with each layer and its inputs."""

    def test(self):
        for name in layer_cases.SMALL:
            with self.subTest(name):
                check(self, name, *made(name))

    return test


class Transforms(unittest.TestCase):
    def test_every_layer_is_in_the_table(self):
        named = {name for name in layer_cases.layers() if not name.startswith("Lazy")} - BLOCKS
        elsewhere = {name for name in named if layer_cases.is_elsewhere(getattr(pl.nn, name))}
        self.assertEqual(sorted(named - elsewhere - set(layer_cases.SMALL)), [])

    @for_each_layer
    def test_jit(self, name, layer, inputs):
        call = of_call(layer)
        expected = call(copied(layer), *inputs)
        run = pl.jit(call, fullgraph=True)
        for _ in range(2):
            same(run(copied(layer), *inputs), expected)
        self.assertEqual(pl.stats(run).traces, 1)

    @for_each_layer
    def test_remat(self, name, layer, inputs):
        call = of_call(layer)

        def loss(how, layer, inputs):
            outputs, after = how(call)(layer, *inputs)
            return total(outputs), after

        by = {"argnums": (0, 1), "has_aux": True, "allow_int": True}
        expected = pl.value_and_grad(lambda *given: loss(lambda f: f, *given), **by)(layer, inputs)
        same(pl.value_and_grad(lambda *given: loss(pl.remat, *given), **by)(layer, inputs), expected)

    @for_each_layer
    def test_vmap_over_a_stack_of_models(self, name, layer, inputs):
        call = of_call(layer)
        pairs = [made(name, seed) for seed in range(3)]
        expected = pl.tree.map(lambda *each: pl.stack(each), *[call(copied(layer), *inputs) for layer, inputs in pairs])
        models = pl.tree.map(lambda *each: pl.stack(each), *[layer for layer, _ in pairs])
        inputs = pl.tree.map(lambda *each: pl.stack(each), *[inputs for _, inputs in pairs])
        same(pl.vmap(call)(models, *inputs), expected)

    @for_each_layer
    def test_symbolic_batch(self, name, layer, inputs):
        call = of_call(layer)
        specs = [pl.Spec(f"{each.dtype.name}[{', '.join(['n', *map(str, each.shape[1:])])}]") for each in inputs]
        program = pl.trace(lambda *inputs: call(copied(layer), *inputs))(*specs)
        for count in 1, 2:
            batch = [pl.concat([each] * count) for each in inputs]
            same(program(*batch), call(copied(layer), *batch))

    @for_each_layer
    def test_second_derivatives(self, name, layer, inputs):
        if name in WITHOUT_SECOND:
            return
        arguments, named, forward = layer_cases.SMALL[name]
        layer = layer.train(name not in layer_cases.RANDOM)
        cls = getattr(torch.nn, name)
        theirs = cls(*arguments, **named, **named_f64(cls, torch.float64)).train(layer.training)
        theirs.load_state_dict({path: torch.from_numpy(leaf.numpy().copy()) for path, leaf in pl.tree.leaves_with_paths(layer)})
        torch.manual_seed(5)
        given = [each() for each in forward]
        floating = [each.requires_grad_(True) for each in given if each.is_floating_point()] + list(theirs.parameters())
        first = torch.autograd.grad(torch.sin(theirs(*given)).sum(), floating, create_graph=True, allow_unused=True, materialize_grads=True)
        squares = sum((each**2).sum() for each in first)
        if not squares.requires_grad:
            squares = squares + sum(0 * each.sum() for each in floating)
        expected = torch.autograd.grad(squares, floating, allow_unused=True, materialize_grads=True)

        def slope(layer, inputs):
            found = pl.grad(lambda layer, inputs: (total(layer(*inputs)), layer), argnums=(0, 1), has_aux=True, allow_int=True)(layer, inputs)
            return sum(pl.sum(each**2) for each in pl.tree.flatten(found[0])[0] if each is not None and each.dtype == pl.f64)

        by_layer, by_inputs = pl.grad(slope, argnums=(0, 1), allow_int=True)(layer, inputs)
        found = [leaf for leaf in pl.tree.flatten(by_inputs)[0] if leaf is not None and leaf.dtype == pl.f64]
        found += [dict(pl.tree.leaves_with_paths(by_layer))[path] for path, _ in theirs.named_parameters()]
        self.assertEqual(len(found), len(expected))
        for one, other in zip(found, expected):
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-8, atol=1e-8)


if __name__ == "__main__":
    unittest.main()
