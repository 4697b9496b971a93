"""Mixtures of experts."""

import fractions
from typing import NamedTuple

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.layers.attention import Mlp
from plait.inside.layers.checks import number, positive, whole
from plait.inside.layers.linear import Linear
from plait.inside.layers.first_weights import drawn, uniform_weights
from plait.inside.layers.on_device import on_device
from plait.inside.trees.module import Module


class GatedMlp(Module):
    """down(activation(gate(x)) * up(x)), three Linears: with silu the SwiGLU of Llama.

    >>> plait.nn.GatedMlp(8, 32)(plait.ones((5, 8))).shape
    (5, 8)
    """

    @on_device
    def __init__(self, features, hidden, activation=_core.silu, bias=False, *, key=None, dtype=_core.f32):
        keys = _core.random.split_key(drawn(key), 3)
        self.gate = Linear(features, hidden, bias, key=keys[0], dtype=dtype)
        self.up = Linear(features, hidden, bias, key=keys[1], dtype=dtype)
        self.down = Linear(hidden, features, bias, key=keys[2], dtype=dtype)
        self.activation = activation

    def __call__(self, x):
        return self.down(self.activation(self.gate(x)) * self.up(x))


class MoELosses(NamedTuple):
    """Returned by a mixture of experts for training, besides its output. load_balancing is num_experts times the sum over
    experts of the share of tokens that go to it and of its mean probability, which is top_k if all are equal; router_z is
    the mean of logsumexp(logits)**2. counts has the number of tokens of each expert.

    >>> _, losses = plait.nn.MoE(8, 16, num_experts=4, top_k=1)(plait.ones((5, 8)))
    >>> sorted(losses.counts.tolist()), losses.router_z.shape
    ([0, 0, 0, 5], ())
    """

    load_balancing: object
    router_z: object
    counts: object


class MoE(Module):
    """A mixture of experts over x [..., features]: a router selects top_k of num_experts networks for each token, and adds
    their outputs, weighted. Returns the output and MoELosses. `gate`, `up` and `down` are the weights of all experts,
    stacked; each token is multiplied by those of its experts only.

    The weights are the router's softmax, of all experts before the selection, or with softmax_first=False of those
    selected; `normalize` makes them sum to 1. `noise` is the deviation of normal numbers that are added to the logits in
    training. A shared expert of shared_hidden is added for all tokens. With capacity_factor an expert takes at most
    ceil(capacity_factor * tokens * top_k / num_experts) tokens, the first ones; it adds nothing to the others.

    >>> layer = plait.nn.MoE(8, 16, num_experts=4, top_k=2)
    >>> y, losses = layer(plait.ones((3, 5, 8)))
    >>> y.shape, losses.counts.sum().item(), losses.load_balancing.shape
    ((3, 5, 8), 30, ())
    """

    @on_device
    def __init__(self, features, hidden, num_experts, top_k=2, *, activation=_core.silu, is_gated=True, softmax_first=True, normalize=True,
                 noise=0.0, shared_hidden=None, capacity_factor=None, key=None, dtype=_core.f32):
        if not 1 <= whole(self, "top_k", top_k) <= whole(self, "num_experts", num_experts):
            raise errors.ValueError(f"nn.MoE: top_k is {top_k} of {num_experts} experts, expected 1 to {num_experts}")
        for name, size in {"features": features, "hidden": hidden, "shared_hidden": shared_hidden or 0}.items():
            whole(self, name, size)
        number(self, "noise", noise, 0)
        if capacity_factor is not None:
            positive(self, "capacity_factor", capacity_factor)
        keys = _core.random.split_key(drawn(key), 5)

        def stacked(inputs, outputs, key):
            return uniform_weights((num_experts, inputs, outputs), max(inputs, 1) ** -0.5, key, dtype)

        self.router = Linear(features, num_experts, bias=False, key=keys[0], dtype=dtype)
        self.gate = stacked(features, hidden, keys[1]) if is_gated else None
        self.up, self.down = stacked(features, hidden, keys[2]), stacked(hidden, features, keys[3])
        shared = GatedMlp if is_gated else Mlp
        self.shared = None if shared_hidden is None else shared(features, shared_hidden, activation, bias=False, key=keys[4], dtype=dtype)
        self.num_experts, self.top_k, self.activation, self.noise = num_experts, top_k, activation, noise
        self.softmax_first, self.normalize, self.capacity_factor = softmax_first, normalize, capacity_factor

    def __call__(self, x, *, key=None):
        """(output, MoELosses) for x [..., features]; key is for the noise of the router in training."""
        x = asarray(x)
        tokens = _core.reshape(x, (-1, x.shape[-1]))
        weights, experts, losses = self._routed(tokens, key)
        through = self._in_groups if self.capacity_factor is None else self._within_capacity
        outputs = _core.reshape(through(tokens, _core.flatten(experts), losses.counts), (-1, self.top_k, x.shape[-1]))
        y = _core.sum(outputs * _core.astype(weights, outputs.dtype)[..., None], axis=1)
        if self.shared is not None:
            y = y + self.shared(tokens)
        return _core.reshape(y, x.shape), losses

    def _routed(self, tokens, key):
        """The weights and the experts of each token, [tokens, top_k]."""
        logits = self.router(tokens)
        logits = logits if logits.dtype == _core.f64 else _core.astype(logits, _core.f32)
        if self.training and self.noise:
            logits = logits + self.noise * _core.random.normal(drawn(key), logits.shape, dtype=logits.dtype)
        probabilities = _core.softmax(logits, -1)
        weights, experts = _core.topk(probabilities if self.softmax_first else logits, self.top_k)
        if not self.softmax_first:
            weights = _core.softmax(weights, -1)
        elif self.normalize:
            weights = weights / _core.sum(weights, axis=-1, keepdims=True)
        counts = _core.sum(_core.one_hot(_core.flatten(experts), self.num_experts, _core.i64), axis=0)
        shares = _core.astype(counts, logits.dtype) / tokens.shape[0]
        balance = self.num_experts * _core.sum(shares * _core.mean(probabilities, axis=0))
        return weights, experts, MoELosses(balance, _core.mean(_core.logsumexp(logits, -1) ** 2), counts)

    def _network(self, rows, product):
        inner = product(rows, self.up)
        inner = self.activation(inner) if self.gate is None else self.activation(product(rows, self.gate)) * inner
        return product(inner, self.down)

    def _in_groups(self, tokens, experts, counts):
        """The outputs for each token and selected expert, computed in the order of experts."""
        order = _core.argsort(experts)
        rows = _core.take(tokens, order // self.top_k, axis=0)
        outputs = self._network(rows, lambda rows, matrices: _core.ragged_dot(rows, matrices, counts))
        return _core.take(outputs, _core.argsort(order), axis=0)

    def _within_capacity(self, tokens, experts, counts):
        """The same, with as many places for each expert as its capacity, and zeros for tokens that have none."""
        factor = fractions.Fraction(self.capacity_factor).limit_denominator(1000)
        share = factor.denominator * self.num_experts
        capacity = (tokens.shape[0] * (self.top_k * factor.numerator) + share - 1) // share
        before = _core.cumsum(_core.one_hot(experts, self.num_experts, _core.i64), 0)
        place = _core.squeeze(_core.take_along_axis(before, experts[:, None], 1), 1) - 1
        count = self.num_experts * capacity
        slots = _core.where(place < capacity, experts * capacity + place, count)  # the last one is for those that have none
        rows = _core.take(tokens, _core.iota(experts.shape[0]) // self.top_k, axis=0)
        rows = _core._made_beside(rows, _core.zeros((count + 1, rows.shape[1]), dtype=rows.dtype)).at[slots].set(rows)[:count]
        outputs = self._network(_core.reshape(rows, (self.num_experts, capacity, -1)), _core.matmul)
        outputs = _core.reshape(outputs, (count, -1))
        return _core.take(_core.pad_zeros(outputs, 0, 0, 1), slots, axis=0)
