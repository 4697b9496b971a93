"""Recurrent layers compared with PyTorch's, and run in all ways."""

import itertools
import unittest

import numpy as np
import plait as pl
import torch
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from layer_ways import compare, for_symbolic_sizes, in_all_ways, of_database, padded, refused

RANDOM = np.random.default_rng(3)
NAMES = ("RNN", "GRU", "LSTM", "RNNCell", "GRUCell", "LSTMCell")


def draw(*shape):
    return RANDOM.normal(size=shape)


def t(*shape):
    return torch.from_numpy(draw(*shape))


class AgainstPyTorch(unittest.TestCase):
    def test_all_of_the_database(self):
        seen = set()
        for module, args, named, given, training in of_database(NAMES):
            with self.subTest(module=module.__name__, args=args, named=named, training=training):
                theirs = module(*args, **named).train(training)
                ours = getattr(pl.nn, module.__name__)(*args, **named, dtype=pl.f64)
                compare(ours, theirs, given.args, given.kwargs)
                seen.add(module.__name__)
        self.assertEqual(seen, set(NAMES))

    def test_packed_sequences_of_the_database(self):
        count = 0
        for module, args, named, given, _ in of_database(("RNN", "GRU"), with_packed_sequence=True):
            if isinstance(given.args[0], PackedSequence):
                x, lengths = padded(given.args[0])
                self.check_lengths(module, args, named | {"batch_first": False}, x, lengths)
                count += 1
        self.assertGreater(count, 10)

    def check_lengths(self, module, args, named, x, lengths, hx=()):
        first = named.get("batch_first", False)
        theirs = Packed(module(*args, **named), lengths, first)
        ours = getattr(pl.nn, module.__name__)(*args, **named, dtype=pl.f64)
        compare(ours, theirs, (x.detach(), *hx), ours_named={"lengths": pl.asarray(lengths.numpy())})

    def test_lengths(self):
        for name, directions, first, layers, projected in itertools.product(("RNN", "GRU", "LSTM"), (1, 2), (True, False), (1, 2), (0, 2)):
            if projected and name != "LSTM":
                continue
            with self.subTest(name=name, directions=directions, first=first, layers=layers, projected=projected):
                named = {"batch_first": first, "bidirectional": directions == 2, "num_layers": layers}
                named |= {"proj_size": projected} if projected else {}
                x, lengths = t(4, 6, 3) if first else t(6, 4, 3), torch.tensor([3, 6, 1, 4])
                h = t(layers * directions, 4, projected or 5)
                hx = (h, t(layers * directions, 4, 5)) if name == "LSTM" else h
                self.check_lengths(getattr(torch.nn, name), (3, 5), named, x, lengths, (hx,))

    def test_cells_without_states_and_of_batches(self):
        for name, bias, batch in itertools.product(("RNNCell", "GRUCell", "LSTMCell"), (True, False), ((), (4,))):
            compare(getattr(pl.nn, name)(3, 5, bias, dtype=pl.f64), getattr(torch.nn, name)(3, 5, bias), (t(*batch, 3),))

    def test_options_in_order(self):
        compare(pl.nn.RNN(3, 5, 2, "relu", False, True, 0.0, True), torch.nn.RNN(3, 5, 2, "relu", False, True, 0.0, True), (t(2, 4, 3),))
        compare(pl.nn.GRU(3, 5, 2, False, True, 0.0, True), torch.nn.GRU(3, 5, 2, False, True, 0.0, True), (t(2, 4, 3),))
        compare(pl.nn.LSTM(3, 5, 2, False, True, 0.0, True, 2), torch.nn.LSTM(3, 5, 2, False, True, 0.0, True, 2), (t(2, 4, 3),))
        compare(pl.nn.RNNCell(3, 5, False, "relu"), torch.nn.RNNCell(3, 5, False, "relu"), (t(2, 3),))

    def test_initial_weights(self):
        for name, named in itertools.product(("LSTM", "GRUCell"), ({}, {"bias": False})):
            ours, theirs = getattr(pl.nn, name)(4, 64, **named, key=pl.random.key(1)), getattr(torch.nn, name)(4, 64, **named)
            for path, wanted in theirs.named_parameters():
                leaf = getattr(ours, path).numpy()
                self.assertEqual((leaf.dtype, leaf.shape), (np.float32, tuple(wanted.shape)))
                self.assertTrue(0.115 < np.abs(leaf).max() <= 1 / 8)
                self.assertLess(abs(leaf.mean()), 0.03)


class Packed(torch.nn.Module):
    """PyTorch's layer over sequences of these lengths, in any order."""

    def __init__(self, layer, lengths, batch_first):
        super().__init__()
        self.__dict__["layer"], self.lengths, self.first = layer, lengths, batch_first
        for name, parameter in layer.named_parameters():
            self.register_parameter(name, parameter)

    def double(self):
        self.layer.double()
        return self

    def forward(self, x, hx=None):
        packed = pack_padded_sequence(x, self.lengths, self.first, enforce_sorted=False)
        output, states = self.layer(packed, hx)
        return pad_packed_sequence(output, self.first, total_length=x.shape[1 if self.first else 0])[0], states


class InAllWays(unittest.TestCase):
    def test_layers(self):
        x, lengths = pl.asarray(draw(4, 3, 2)), pl.tensor([2, 4, 1])
        for name, named in (("RNN", {"num_layers": 2}), ("GRU", {"bidirectional": True}), ("LSTM", {"bidirectional": True, "proj_size": 2})):
            with self.subTest(name):
                in_all_ways(lambda key: getattr(pl.nn, name)(2, 3, **named, key=key, dtype=pl.f64),
                            lambda layer, x: layer(x, lengths=lengths), (x,))

    def test_cells(self):
        for name in "RNNCell", "GRUCell", "LSTMCell":
            with self.subTest(name):
                in_all_ways(lambda key: getattr(pl.nn, name)(2, 3, key=key, dtype=pl.f64), lambda layer, x: layer(x), (pl.asarray(draw(3, 2)),))

    def test_symbolic_batch_and_length(self):
        layer = pl.nn.LSTM(2, 3, bidirectional=True, dtype=pl.f64)
        cases = [(pl.asarray(draw(length, batch, 2)), pl.asarray(RANDOM.integers(1, length + 1, batch)))
                 for length, batch in ((4, 3), (5, 2), (7, 6), (2, 5))]
        for_symbolic_sizes(lambda layer, x, lengths: layer(x, lengths=lengths), layer, cases)
        for name in "RNN", "GRU":
            for_symbolic_sizes(lambda layer, x: layer(x), getattr(pl.nn, name)(2, 3, 2, batch_first=True, dtype=pl.f64), [case[:1] for case in cases])
        for name in "RNNCell", "GRUCell", "LSTMCell":
            for_symbolic_sizes(lambda layer, x: layer(x), getattr(pl.nn, name)(2, 3, dtype=pl.f64), [(case[0][0],) for case in cases])
        for_symbolic_sizes(lambda layer, x: pl.grad(lambda layer: pl.sum(layer(x)[0] ** 2))(layer), layer, [case[:1] for case in cases])

    def test_narrow_products(self):
        layer, x = pl.nn.LSTM(4, 8, 2), pl.asarray(draw(5, 2, 4).astype(np.float32))
        with pl.autocast():
            found = layer(x)[0]
        np.testing.assert_allclose(np.asarray(found.astype(pl.f32)), layer(x)[0].numpy(), atol=0.02)

    def test_steps_of_cells_are_the_layer(self):
        layer, cell = pl.nn.GRU(2, 3, dtype=pl.f64), pl.nn.GRUCell(2, 3, dtype=pl.f64)
        for name in "weight_ih", "weight_hh", "bias_ih", "bias_hh":
            setattr(cell, name, getattr(layer, f"{name}_l0"))
        x, h = pl.asarray(draw(5, 4, 2)), pl.zeros((4, 3), dtype=pl.f64)
        for step in x:
            h = cell(step, h)
        np.testing.assert_allclose(h.numpy(), layer(x)[1][0].numpy(), rtol=1e-13)


class Dropout(unittest.TestCase):
    def test_it_is_between_layers_in_training(self):
        x, key = pl.asarray(draw(50, 8, 4).astype(np.float32)), pl.random.key(4)
        layer = pl.nn.GRU(4, 16, 2, dropout=0.5)
        one = pl.nn.GRU(4, 16)
        for name in "weight_ih", "weight_hh", "bias_ih", "bias_hh":
            setattr(one, f"{name}_l0", getattr(layer, f"{name}_l0"))
        kept = layer.eval()(x)
        np.testing.assert_array_equal(layer(x, key=key)[0], layer(x, key=key)[0])
        self.assertFalse(np.array_equal(layer(x)[0], layer(x)[0]))
        self.assertFalse(np.array_equal(layer(x, key=key)[0], kept[0]))
        np.testing.assert_allclose(layer(x, key=key)[1][0].numpy(), kept[1][0].numpy(), rtol=1e-6)
        jitted = pl.jit(lambda layer, x: layer(x)[0])
        self.assertFalse(np.array_equal(jitted(layer, x), jitted(layer, x)))
        np.testing.assert_allclose(one(x)[1].numpy()[0], kept[1][0].numpy(), rtol=1e-6)
        all_dropped = pl.nn.GRU(4, 16, 2, dropout=1.0)
        np.testing.assert_array_equal(all_dropped(x)[0][:, :1], all_dropped(2 * x)[0][:, :1])


class Refusals(unittest.TestCase):
    def test_what_is_refused(self):
        nn, x = pl.nn, pl.ones((4, 3, 2))
        refused(self, (
            (lambda: nn.LSTM(2, 0), pl.ValueError, "nn.LSTM: hidden_size is 0, expected 1 or more"),
            (lambda: nn.GRU(-2, 3), pl.ValueError, "nn.GRU: input_size is -2"),
            (lambda: nn.GRU(2, 3, 0), pl.ValueError, "nn.GRU: num_layers is 0"),
            (lambda: nn.RNN(2, 3, nonlinearity="gelu"), pl.ValueError, "nn.RNN: nonlinearity is 'gelu', expected 'tanh' or 'relu'"),
            (lambda: nn.RNNCell(2, 3, nonlinearity="gelu"), pl.ValueError, "nn.RNNCell: nonlinearity"),
            (lambda: nn.LSTMCell(2, -1), pl.ValueError, "nn.LSTMCell: hidden_size is -1"),
            (lambda: nn.LSTM(2, 3, proj_size=3), pl.ValueError, "nn.LSTM: proj_size is 3, expected 0, for no projection, or less than"),
            (lambda: nn.LSTM(2, 3, proj_size=-1), pl.ValueError, "nn.LSTM: proj_size is -1"),
            (lambda: nn.GRU(2, 3, 2, dropout=1.5), pl.ValueError, "nn.GRU: dropout is 1.5, expected a probability"),
            (lambda: nn.GRU(2, 3, 2, dropout=True), pl.TypeError, "nn.GRU: dropout is True"),
            (lambda: nn.GRU(3, 3)(x), pl.ShapeError, r"nn.GRU: the input is f32\[4, 3, 2\], expected 2 or 3 dimensions, the last of 3"),
            (lambda: nn.GRUCell(2, 3)(x), pl.ShapeError, "nn.GRUCell: the input is .* expected 1 or 2 dimensions"),
            (lambda: nn.GRU(2, 3)(x, pl.ones((1, 4, 3))), pl.ShapeError, r"the initial state h is f32\[1, 4, 3\], expected \[1, 3, 3\]"),
            (lambda: nn.LSTM(2, 3)(x, (pl.ones((1, 3, 3)),)), pl.ValueError,
             r"nn.LSTM: the initial state is a tuple of 1, expected a tuple \(h, c\)"),
            (lambda: nn.LSTM(2, 3)(x, pl.ones((1, 3, 3))), pl.ValueError,
             r"nn.LSTM: the initial state is f32\[1, 3, 3\], expected a tuple \(h, c\)[\s\S]*\(h, c\)\)"),
            (lambda: nn.LSTMCell(2, 3)(x[0], pl.ones((3, 3))), pl.ValueError, r"nn.LSTMCell: the initial state is f32\[3, 3\], expected a tuple"),
            (lambda: nn.GRU(2, 3)(x, (pl.ones((1, 3, 3)),) * 2), pl.ValueError, "nn.GRU: the initial state is a tuple of 2, expected one tensor, h"),
            (lambda: nn.LSTM(2, 3)(x, lengths=pl.tensor(2)), pl.ValueError, "nn.LSTM: lengths is .*one integer for each sequence"),
            (lambda: nn.LSTM(2, 3)(x[0], lengths=pl.tensor([2])), pl.ValueError, "nn.LSTM: lengths is"),
            (lambda: nn.LSTM(2, 3)(x, lengths=pl.tensor([2.0, 1.0, 1.0])), pl.ValueError, "nn.LSTM: lengths is f32")))


if __name__ == "__main__":
    unittest.main()
