"""Every module of PyTorch's own database of modules, in training and evaluation, and what the database leaves out: outputs, gradients
by inputs and weights, and the statistics left behind."""

import inspect
import unittest
import zlib

import numpy as np
import plait as pl
import torch
from torch.testing._internal.common_modules import module_db

import layer_cases

TOLERANCE = 1e-8
RECURRENT, ATTENTION, LOSS = "recurrent layers are compared elsewhere", "attention is compared elsewhere", "losses are compared elsewhere"
ELSEWHERE = {
    **dict.fromkeys(("RNN", "GRU", "LSTM", "RNNCell", "GRUCell", "LSTMCell"), RECURRENT),
    **dict.fromkeys(("MultiheadAttention", "Transformer", "TransformerEncoder", "TransformerEncoderLayer", "TransformerDecoderLayer"), ATTENTION),
    **dict.fromkeys(("L1Loss", "SmoothL1Loss", "MSELoss", "HuberLoss", "KLDivLoss", "NLLLoss", "GaussianNLLLoss", "PoissonNLLLoss", "BCELoss",
                     "BCEWithLogitsLoss", "CrossEntropyLoss", "LinearCrossEntropyLoss", "CTCLoss", "CosineEmbeddingLoss", "MarginRankingLoss",
                     "MultiLabelMarginLoss", "MultiMarginLoss", "SoftMarginLoss", "MultiLabelSoftMarginLoss", "HingeEmbeddingLoss"), LOSS),
}


def ours_of(value):
    """PyTorch's tensors as ours, in tuples and dicts too."""
    if isinstance(value, torch.Tensor):
        return pl.asarray(value.detach().numpy().copy())  # PyTorch changes statistics in place
    if isinstance(value, dict):
        return {name: ours_of(each) for name, each in value.items()}
    return tuple(ours_of(each) for each in value) if isinstance(value, (tuple, list)) else value


def with_state(model, state):
    """The model with the tensors of PyTorch's state_dict: the names must be the same."""
    leaves, structure = pl.tree.flatten(model)
    shapes = {path: leaf.shape for path, leaf in zip(structure.paths, leaves)}
    assert shapes == {path: tuple(tensor.shape) for path, tensor in state.items()}, (shapes, sorted(state))
    return structure.unflatten([ours_of(state[path]) for path in structure.paths])


def scrambled(module, name):
    """The module with other weights and statistics than it was made with, which are often 0 or 1."""
    seed = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    with torch.no_grad():
        for path, tensor in module.state_dict().items():
            if tensor.is_floating_point() and path != "_random_samples":
                tensor.copy_(torch.rand(tensor.shape, generator=seed, dtype=tensor.dtype) + (0.5 if "var" in path else -0.3))
    return module


def named_f64(cls, dtype):
    return {"dtype": dtype} if "dtype" in inspect.signature(cls.__init__).parameters else {}


def weighted_sum(outputs, sums, cos, is_float):
    """A sum over all outputs, with different weights."""
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    return sum(sums(each * cos(each)) for each in outputs if is_float(each))


def their_weights(output):
    return torch.cos(torch.arange(output.numel(), dtype=output.dtype).reshape(output.shape))


def our_weights(output):
    return pl.asarray(np.cos(np.arange(np.prod(output.shape), dtype=np.float64)).reshape(output.shape))


def usable(value):
    """A copy of a tensor, which PyTorch may change in place."""
    return value + 0 if isinstance(value, torch.Tensor) and value.requires_grad else value


class Comparison:
    """One module of PyTorch's and ours, made with the same arguments, of the same weights."""

    def __init__(self, name, arguments, named, forward, forward_named, training):
        self.forward, self.named = list(forward), dict(forward_named)
        for each in [*self.forward, *self.named.values()]:
            if isinstance(each, torch.Tensor) and each.is_floating_point():
                each.requires_grad_(True)
        cls, own = getattr(torch.nn, name), getattr(pl.nn, name)
        self.theirs = cls(*arguments, **named, **named_f64(cls, torch.float64)).train(training)
        ours = own(*ours_of(arguments), **ours_of(named), **named_f64(own, pl.f64)).train(training)
        if name.startswith("Lazy"):
            self.theirs(*self.forward, **self.named)
            ours(*ours_of(self.forward), **ours_of(self.named))
        self.ours = with_state(ours, scrambled(self.theirs, name).state_dict())

    def check(self):
        expected = self.theirs(*map(usable, self.forward), **{name: usable(each) for name, each in self.named.items()})
        inputs = [each for each in [*self.forward, *self.named.values()] if isinstance(each, torch.Tensor) and each.requires_grad]
        weights = dict(self.theirs.named_parameters())
        total = weighted_sum(expected, torch.sum, their_weights, torch.is_floating_point)
        slopes = torch.autograd.grad(total, [*inputs, *weights.values()], allow_unused=True, materialize_grads=True)
        found, model, gradients, own_inputs = self._ours()
        self._same(found, expected, "output")
        for own, their in zip(own_inputs, slopes):
            self._same(own, their, "gradient by an input")
        own_slopes = dict(pl.tree.leaves_with_paths(gradients))
        for (path, _), their in zip(weights.items(), slopes[len(inputs):]):
            self._same(own_slopes[path], their, f"gradient by {path}")
        after = dict(pl.tree.leaves_with_paths(model))
        for path, their in self.theirs.state_dict().items():
            self._same(after[path], their, f"{path} afterwards")

    def _ours(self):
        """Outputs, the model afterwards, its gradient, and those by the floating inputs."""

        def loss(model, arguments, named):
            outputs = model(*arguments, **named)
            total = weighted_sum(outputs, pl.sum, our_weights, lambda each: each.dtype.kind == "floating")
            return total, (outputs, model)

        (_, (outputs, model)), (slopes, *by_input) = pl.value_and_grad(loss, argnums=(0, 1, 2), has_aux=True, allow_int=True)(
            self.ours, ours_of(self.forward), ours_of(self.named))
        return outputs, model, slopes, [leaf for leaf in pl.tree.flatten(by_input)[0] if leaf is not None and leaf.dtype == pl.f64]

    def _same(self, own, their, what):
        if isinstance(their, tuple):
            assert len(own) == len(their)
            for pair in zip(own, their):
                self._same(*pair, what)
            return
        their = their.detach().numpy()
        assert own.shape == their.shape and own.numpy().dtype == their.dtype, f"{what}: {own.dtype}{own.shape}, {their.dtype}{their.shape}"
        np.testing.assert_allclose(own.numpy(), their, rtol=TOLERANCE, atol=TOLERANCE, err_msg=what)


def cases_of_database(info, training):
    for each in info.module_inputs_func(info, device="cpu", dtype=torch.float64, requires_grad=True, training=training):
        made, forward = each.constructor_input, each.forward_input
        yield each.desc, made.args, made.kwargs, forward.args, forward.kwargs


class Database(unittest.TestCase):
    def test_all_are_compared(self):
        names = {info.name.removeprefix("nn.") for info in module_db}
        self.assertGreater(len(names), 100)
        self.assertEqual(sorted(name for name in names - set(ELSEWHERE) if name not in vars(pl.nn)), [], "neither ours nor in a list")
        self.assertEqual(sorted(set(ELSEWHERE) - names), [], "not in PyTorch's database")

    def test_outputs_gradients_and_statistics(self):
        count = 0
        for info in module_db:
            name = info.name.removeprefix("nn.")
            if name in ELSEWHERE:
                continue
            for training in True, False:
                torch.manual_seed(5)
                for desc, *case in cases_of_database(info, training):
                    with self.subTest(name=name, desc=desc, training=training):
                        count += 1
                        Comparison(name, *case, training).check()
        self.assertGreater(count, 500)


class BesideTheDatabase(unittest.TestCase):
    def test_every_layer_is_compared(self):
        compared = {info.name.removeprefix("nn.") for info in module_db} | {name for name, *_ in layer_cases.COMPARED}
        layers = {name for name in layer_cases.layers() if hasattr(torch.nn, name) and not layer_cases.is_elsewhere(getattr(pl.nn, name))}
        self.assertEqual(sorted(layers - compared - set(layer_cases.NOT_COMPARED)), [])

    def test_outputs_gradients_and_statistics(self):
        for name, arguments, named, forward, forward_named in layer_cases.COMPARED:
            for training in (False,) if name in layer_cases.RANDOM else (True, False):
                torch.manual_seed(5)
                with self.subTest(name=name, arguments=arguments, named=named, training=training):
                    Comparison(name, arguments, named, [each() for each in forward], {key: each() for key, each in forward_named.items()},
                               training).check()


if __name__ == "__main__":
    unittest.main()
