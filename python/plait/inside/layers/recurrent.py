"""Recurrent layers: cells, which take one step, and layers that scan over sequences."""

import math
from collections.abc import Callable
from typing import NamedTuple

from plait import _core, errors
from plait.inside.arrays.dtype_info import result_type
from plait.inside.arrays.interop import asarray
from plait.inside.help.names import in_words
from plait.inside.layers.checks import MOST_LAYERS, probability, whole
from plait.inside.layers.dropped import dropped
from plait.inside.layers.first_weights import drawn, uniform_weights
from plait.inside.layers.on_device import on_device
from plait.inside.optimizers.numbers import is_known
from plait.inside.transforms.control import scan
from plait.inside.trees.module import Module, attribute_of


class _Kind(NamedTuple):
    """Differences between RNN, GRU and LSTM."""

    step: Callable  # step(given, states, recurrent) returns the next states, h first; recurrent(h) is weight_hh @ h + bias_hh
    gates: int  # the rows of the weights are gates * hidden_size
    states: int = 1
    bias_with_inputs: bool = True  # bias_hh may be added to the inputs, before the scan


def _gru_step(given, states, recurrent):
    (h,) = states
    x_gates, h_gates = (_core.split(each, parts=3, axis=-1) for each in (given, recurrent(h)))
    reset, update = (_core.sigmoid(x_gates[i] + h_gates[i]) for i in range(2))
    new = _core.tanh(x_gates[2] + reset * h_gates[2])
    return (new + update * (h - new),)


def _lstm_step(given, states, recurrent):
    h, c = states
    into, forget, cell, out = _core.split(given + recurrent(h), parts=4, axis=-1)
    c = _core.sigmoid(forget) * c + _core.sigmoid(into) * _core.tanh(cell)
    return _core.sigmoid(out) * _core.tanh(c), c


_RNN = {"tanh": _Kind(lambda given, states, recurrent: (_core.tanh(given + recurrent(states[0])),), 1),
        "relu": _Kind(lambda given, states, recurrent: (_core.relu(given + recurrent(states[0])),), 1)}
_GRU = _Kind(_gru_step, 3, bias_with_inputs=False)
_LSTM = _Kind(_lstm_step, 4, 2)


class _Weights(NamedTuple):
    """The weights of one layer in one direction."""

    weight_ih: object
    weight_hh: object
    bias_ih: object = None
    bias_hh: object = None
    weight_hr: object = None

    def inputs(self, kind, x):
        """The part of the gates that depends on inputs, of one step or of all."""
        with_hh = kind.bias_with_inputs and self.bias_ih is not None
        return _core.linear(x, self.weight_ih, self.bias_ih + self.bias_hh if with_hh else self.bias_ih)

    def step(self, kind, given, states):
        bias = None if kind.bias_with_inputs else self.bias_hh
        h, *others = kind.step(given, states, lambda h: _core.linear(h, self.weight_hh, bias))
        return (h if self.weight_hr is None else _core.linear(h, self.weight_hr), *others)


def _weights_of(module, suffix):
    return _Weights(**{name: attribute_of(module, name + suffix) for name in _Weights._fields})


def _set_sizes(module, input_size, hidden_size):
    module.input_size, module.hidden_size = whole(module, "input_size", input_size), whole(module, "hidden_size", hidden_size, 1)


def _expect_nonlinearity(layer, nonlinearity):
    if nonlinearity not in tuple(_RNN):
        raise errors.ValueError(f"nn.{layer}: nonlinearity is {nonlinearity!r}, expected 'tanh' or 'relu'")


def _set_weights(module, shapes, key, dtype):
    """PyTorch's default: all are uniform in ±1/√hidden_size."""
    keys, bound = _core.random.split_key(drawn(key), len(shapes)), 1 / math.sqrt(module.hidden_size)
    for place, (name, shape) in enumerate(shapes.items()):
        setattr(module, name, uniform_weights(shape, bound, keys[place], dtype))


def _shapes(kind, inputs, hidden_size, bias, proj_size=0):
    rows = kind.gates * hidden_size
    shapes = {"weight_ih": (rows, inputs), "weight_hh": (rows, proj_size or hidden_size)}
    if bias:
        shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
    return shapes | ({"weight_hr": (proj_size, hidden_size)} if proj_size else {})


def _shown(x):
    return f"{x.dtype.name}[{', '.join(map(str, x.shape))}]"


def _expect_input(module, x, ranks):
    if x.ndim not in ranks or x.shape[-1] != module.input_size:
        raise errors.ShapeError(f"nn.{type(module).__name__}: the input is {_shown(x)}, expected {ranks[0]} or {ranks[1]} dimensions, the last "
                                f"of {module.input_size}")


def _states(module, hx, shapes, dtype, device):
    """The initial states as a tuple: hx, or zeros."""
    if hx is None:
        return tuple(_core.zeros(shape, dtype=dtype, device=device) for shape in shapes)
    name, is_pair = type(module).__name__, isinstance(hx, tuple) or (isinstance(hx, list) and len(shapes) > 1)
    if is_pair != (len(shapes) > 1) or (is_pair and len(hx) != len(shapes)):
        what = f"a {type(hx).__name__} of {len(hx)}" if is_pair else _shown(asarray(hx))
        wanted, argument = ("a tuple (h, c)", "(h, c)") if len(shapes) > 1 else ("one tensor, h", "h")
        raise errors.ValueError.with_hint(f"nn.{name}: the initial state is {what}, expected {wanted}", f"{name}(…)(x, {argument})")
    given = hx if is_pair else (hx,)
    states = tuple(map(asarray, given))
    for state, shape, letter in zip(states, shapes, "hc"):
        if state.shape != shape:
            raise errors.ShapeError(f"nn.{name}: the initial state {letter} is {_shown(state)}, expected [{', '.join(map(str, shape))}]")
    return states


class _Cell(Module):
    _kind = None

    def _set_up(self, input_size, hidden_size, bias, key, dtype):
        _set_sizes(self, input_size, hidden_size)
        _set_weights(self, _shapes(self._kind, input_size, hidden_size, bias), key, dtype)

    def __call__(self, input, hx=None):
        """The next state for input [batch, input_size] or [input_size], given hx, by default zeros: h, of an LSTMCell a tuple (h, c)."""
        x = asarray(input)
        _expect_input(self, x, (1, 2))
        weights = _weights_of(self, "")
        shapes = self._kind.states * ((*x.shape[:-1], self.hidden_size),)
        states = _states(self, hx, shapes, result_type(x, weights.weight_hh), x.device)
        states = weights.step(self._kind, weights.inputs(self._kind, x), states)
        return states if len(states) > 1 else states[0]


class RNNCell(_Cell):
    """One step of an RNN: tanh(weight_ih @ x + bias_ih + weight_hh @ h + bias_hh), or relu. The inputs are [batch,
    input_size] or [input_size], the state is by default zeros.

    >>> plait.nn.RNNCell(3, 4)(plait.ones((2, 3))).shape
    (2, 4)
    """

    @on_device
    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", *, key=None, dtype=_core.f32):
        _expect_nonlinearity("RNNCell", nonlinearity)
        self.nonlinearity = nonlinearity
        self._set_up(input_size, hidden_size, bias, key, dtype)

    @property
    def _kind(self):
        return _RNN[self.nonlinearity]


class GRUCell(_Cell):
    """One step of a GRU, with gates in PyTorch's order: reset, update, new.

    >>> cell = plait.nn.GRUCell(3, 4)
    >>> h = plait.zeros((2, 4))
    >>> for x in plait.ones((5, 2, 3)):
    ...     h = cell(x, h)
    >>> h.shape
    (2, 4)
    """

    _kind = _GRU

    @on_device
    def __init__(self, input_size, hidden_size, bias=True, *, key=None, dtype=_core.f32):
        self._set_up(input_size, hidden_size, bias, key, dtype)


class LSTMCell(_Cell):
    """One step of an LSTM, with gates in PyTorch's order: input, forget, cell, output. It takes and returns (h, c).

    >>> h, c = plait.nn.LSTMCell(3, 4)(plait.ones((2, 3)))
    >>> h.shape, c.shape
    ((2, 4), (2, 4))
    """

    _kind = _LSTM

    @on_device
    def __init__(self, input_size, hidden_size, bias=True, *, key=None, dtype=_core.f32):
        self._set_up(input_size, hidden_size, bias, key, dtype)


class _Layers(Module):
    _kind = None

    def _set_up(self, input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size, key, dtype):
        name = type(self).__name__
        _set_sizes(self, input_size, hidden_size)
        self.num_layers = whole(self, "num_layers", num_layers, 1, MOST_LAYERS)
        if whole(self, "proj_size", proj_size) >= hidden_size:
            raise errors.ValueError(f"nn.{name}: proj_size is {proj_size}, expected 0, for no projection, or less than hidden_size, {hidden_size}")
        probability(self, "dropout", dropout)
        self.batch_first, self.dropout, self.bidirectional, self.proj_size = batch_first, dropout, bidirectional, proj_size
        shapes = {}
        for layer, suffix in self._places():
            inputs = input_size if layer == 0 else len(self._suffixes()) * (proj_size or hidden_size)
            shapes |= {f"{each}_l{layer}{suffix}": shape
                       for each, shape in _shapes(self._kind, inputs, hidden_size, bias, proj_size).items()}
        _set_weights(self, shapes, key, dtype)

    def _suffixes(self):
        return ("", "_reverse") if self.bidirectional else ("",)

    def _places(self):
        return [(layer, suffix) for layer in range(self.num_layers) for suffix in self._suffixes()]

    def __call__(self, input, hx=None, *, lengths=None, key=None):
        """(output, the last states) for a sequence. hx are the first states [num_layers * directions, batch, hidden_size], by default zeros: h, of
        an LSTM a tuple (h, c). lengths, i64[batch], are where sequences end; key is for dropout between layers."""
        x = asarray(input)
        _expect_input(self, x, (2, 3))
        batch = x.shape[:-2] if x.ndim == 2 else (x.shape[0 if self.batch_first else 1],)
        sizes = (self.proj_size or self.hidden_size, self.hidden_size)[:self._kind.states]
        weights = [_weights_of(self, f"_l{layer}{suffix}") for layer, suffix in self._places()]
        states = _states(self, hx, [(len(weights), *batch, size) for size in sizes], result_type(x, weights[0].weight_hh), x.device)
        if self.batch_first and batch:
            x = _core.swapaxes(x, 0, 1)
        within = self._within(lengths, x)
        if within is not None:
            x = _core.where(within, x, 0)  # NaN in the padding would reach gradients
        output, states = self._scanned(weights, x, states, within, key)
        if self.batch_first and batch:
            output = _core.swapaxes(output, 0, 1)
        return output, states if len(states) > 1 else states[0]

    def _within(self, lengths, x):
        """True where a step is a part of its sequence: [steps, batch, 1]; None if all are."""
        if lengths is None:
            return None
        lengths = _core._indices_beside(x, lengths if isinstance(lengths, _core.Tensor) else asarray(lengths, device="cpu"))
        if x.ndim != 3 or lengths.ndim != 1 or lengths.dtype.kind != "integer":
            raise errors.ValueError(f"nn.{type(self).__name__}: lengths is {_shown(lengths)}, expected one integer for each sequence of a batch")
        outside = _core.any((lengths < 0) | (lengths > x.shape[0]))
        if is_known(outside) and outside.item():
            raise errors.ValueError(f"nn.{type(self).__name__}: lengths are {in_words(lengths.tolist())}, expected numbers from 0 to the {x.shape[0]} steps")
        return (_core.iota(x.shape[0])[:, None] < lengths)[..., None]

    def _scanned(self, weights, x, states, within, key):
        """The output of the last layer, and the last states of all layers, for inputs [steps, ..., input_size]."""
        drops = self.training and self.dropout and self.num_layers > 1
        keys = _core.random.split_key(drawn(key), self.num_layers - 1) if drops else None
        last = []
        for layer in range(self.num_layers):
            if layer and drops:
                x = dropped(self, x, self.dropout, keys[layer - 1])
            outputs = []
            for suffix in self._suffixes():
                begin = tuple(state[len(last)] for state in states)
                end, output = _scan(self._kind, weights[len(last)], x, begin, within, bool(suffix))
                last.append(end)
                outputs.append(output)
            x = _core.concat(outputs, -1) if len(outputs) > 1 else outputs[0]
        return x, tuple(_core.stack(each) for each in zip(*last))


def _scan(kind, weights, x, states, within, reverse):
    """One layer in one direction: the last states, and the outputs of all steps. Where a step is not within its sequence,
    the states remain and the output is 0; so the reverse direction begins at the end of each sequence."""

    def step(states, inputs):
        new = weights.step(kind, inputs[0], states)
        if within is None:
            return new, new[0]
        return tuple(_core.where(inputs[1], after, before) for after, before in zip(new, states)), _core.where(inputs[1], new[0], 0)

    inputs = weights.inputs(kind, x)
    return scan(step, states, (inputs,) if within is None else (inputs, within), reverse=reverse)


class RNN(_Layers):
    """Layers of RNNCells over sequences [length, batch, input_size], or with batch_first [batch, length, input_size], or
    [length, input_size]. Returns the output of the last layer, [length, batch, directions * hidden_size], and h_n, the
    last states, [num_layers * directions, batch, hidden_size]. With lengths, i64[batch], sequences end there: h_n has
    the states at the ends, the output behind them is 0, and the reverse direction begins at the ends.

    >>> output, h_n = plait.nn.RNN(3, 4, num_layers=2)(plait.ones((5, 2, 3)), lengths=plait.tensor([5, 3]))
    >>> output.shape, h_n.shape
    ((5, 2, 4), (2, 2, 4))
    >>> output[3:, 1].tolist()
    [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
    """

    @on_device
    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True, batch_first=False, dropout=0.0,
                 bidirectional=False, *, key=None, dtype=_core.f32):
        _expect_nonlinearity("RNN", nonlinearity)
        self.nonlinearity = nonlinearity
        self._set_up(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, key, dtype)

    @property
    def _kind(self):
        return _RNN[self.nonlinearity]


class GRU(_Layers):
    """Layers of GRUCells over sequences; arguments of the call and results are those of RNN.

    >>> output, h_n = plait.nn.GRU(3, 4, bidirectional=True)(plait.ones((5, 2, 3)))
    >>> output.shape, h_n.shape
    ((5, 2, 8), (2, 2, 4))
    """

    _kind = _GRU

    @on_device
    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False, *, key=None,
                 dtype=_core.f32):
        self._set_up(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, key, dtype)


class LSTM(_Layers):
    """Layers of LSTMCells over sequences; arguments of the call and results are those of RNN, except that a state is
    (h, c). With proj_size, h and the output have that size: weight_hr projects them.

    >>> output, (h_n, c_n) = plait.nn.LSTM(3, 4, proj_size=2)(plait.ones((5, 2, 3)))
    >>> output.shape, h_n.shape, c_n.shape
    ((5, 2, 2), (1, 2, 2), (1, 2, 4))
    """

    _kind = _LSTM

    @on_device
    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False, proj_size=0, *,
                 key=None, dtype=_core.f32):
        self._set_up(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size, key, dtype)
