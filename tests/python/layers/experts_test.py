"""Mixtures of experts compared with a loop over tokens and experts in PyTorch."""

import itertools
import math
import unittest

import numpy as np
import plait as pl
import torch

from layer_ways import close, for_symbolic_sizes, in_all_ways, refused

RANDOM = np.random.default_rng(9)


def draw(*shape):
    return RANDOM.normal(size=shape)


def p(*shape):
    return pl.asarray(draw(*shape))


def dense(weights, x, layer):
    """Each token through each expert that it selects, and the losses, by PyTorch."""
    tokens, count, k = x.reshape(-1, x.shape[-1]), layer.num_experts, layer.top_k
    logits = tokens @ weights["router.weight"].T
    probabilities = torch.softmax(logits, -1)
    capacity = math.inf if layer.capacity_factor is None else math.ceil(layer.capacity_factor * len(tokens) * k / count)
    taken, rows = [0] * count, []
    for token, own, chances in zip(tokens, logits, probabilities):
        chosen = sorted(range(count), key=lambda expert: -own[expert].item())[:k]
        scores = chances[chosen] if layer.softmax_first else torch.softmax(own[chosen], -1)
        scores = scores / scores.sum() if layer.normalize else scores
        row = torch.zeros_like(token)
        for score, expert in zip(scores, chosen):
            taken[expert] += 1
            if taken[expert] <= capacity:
                inner = token @ weights["up"][expert]
                silu = torch.nn.functional.silu
                inner = silu(token @ weights["gate"][expert]) * inner if "gate" in weights else silu(inner)
                row = row + score * (inner @ weights["down"][expert])
        if "shared.down.weight" in weights:
            inner = token @ weights["shared.up.weight"].T
            inner = silu(token @ weights["shared.gate.weight"].T) * inner if "gate" in weights else silu(inner)
            row = row + inner @ weights["shared.down.weight"].T
        rows.append(row)
    shares = torch.tensor(taken, dtype=torch.float64) / len(tokens)
    return (torch.stack(rows).reshape(x.shape), count * (shares * probabilities.mean(0)).sum(), (torch.logsumexp(logits, -1) ** 2).mean(),
            torch.tensor(taken))


class AgainstALoop(unittest.TestCase):
    def test_values_and_gradients(self):
        options = itertools.product((1, 2, 3), (True, False), (True, False), (True, False), (None, 5), (None, 0.75, 1.25, 4.0))
        for k, gated, first, normalize, shared, capacity in options:
            if (not normalize and not first) or (not gated and capacity == 4.0):
                continue
            with self.subTest(k=k, gated=gated, first=first, normalize=normalize, shared=shared, capacity=capacity):
                layer = pl.nn.MoE(4, 6, 5, k, is_gated=gated, softmax_first=first, normalize=normalize, shared_hidden=shared,
                                  capacity_factor=capacity, dtype=pl.f64)
                self.check(layer, draw(3, 4, 4))

    def check(self, layer, x):
        weights = {path: torch.tensor(leaf.numpy(), requires_grad=True) for path, leaf in pl.tree.leaves_with_paths(layer)}
        given = torch.tensor(x, requires_grad=True)
        *wanted, counts = dense(weights, given, layer)
        y, losses = layer(pl.asarray(x))
        for name, one, other in zip(("y", "load_balancing", "router_z"), (y, losses.load_balancing, losses.router_z), wanted):
            close(one, other.detach(), name, 1e-12)
        np.testing.assert_array_equal(losses.counts, counts)
        (torch.sin(wanted[0]).sum() + wanted[1] + 0.1 * wanted[2]).backward()

        def loss(layer, x):
            y, losses = layer(x)
            return pl.sum(pl.sin(y)) + losses.load_balancing + 0.1 * losses.router_z

        for way in (lambda f: f), pl.jit:
            by_layer, by_x = way(pl.grad(loss, (0, 1)))(layer, pl.asarray(x))
            close(by_x, given.grad, "by x", 1e-11)
            for path, leaf in pl.tree.leaves_with_paths(by_layer):
                close(leaf, weights[path].grad, f"by {path}", 1e-11)

    def test_equal_experts_have_a_balance_of_top_k(self):
        layer = pl.nn.MoE(4, 6, 4, 2, dtype=pl.f64)
        layer.router.weight = pl.zeros((4, 4), dtype=pl.f64)
        self.assertAlmostEqual(layer(p(8, 4))[1].load_balancing.item(), 2.0)

    def test_a_full_capacity_drops_nothing(self):
        x, key = p(7, 4), pl.random.key(4)
        one, other = (pl.nn.MoE(4, 6, 3, 2, capacity_factor=capacity, key=key, dtype=pl.f64) for capacity in (None, 1.5))
        close(one(x)[0], other(x)[0], "capacity", 1e-12)

    def test_the_program_multiplies_no_token_by_all_experts(self):
        layer, x = pl.nn.MoE(4, 6, 64, 2, dtype=pl.f64), p(10, 4)
        text = str(pl.trace(lambda x: layer(x)[0])(x))
        self.assertIn("ragged_dot", text)
        self.assertNotIn("[64, 10, ", text)
        self.assertNotIn("[10, 64, ", text)

    def test_noise(self):
        x, key = p(200, 4), pl.random.key(3)
        layer = pl.nn.MoE(4, 6, 8, 1, noise=10.0, dtype=pl.f64)
        np.testing.assert_array_equal(layer(x, key=key)[1].counts, layer(x, key=key)[1].counts)
        self.assertFalse(np.array_equal(layer(x)[1].counts, layer(x)[1].counts))
        np.testing.assert_array_equal(layer.eval()(x)[1].counts, layer.eval()(x)[1].counts)

    def test_narrow_numbers(self):
        layer = pl.tree.map(lambda leaf: leaf.astype(pl.bf16), pl.nn.MoE(4, 6, 3, 2))
        y, losses = layer(pl.ones((5, 4), dtype=pl.bf16))
        self.assertEqual((y.dtype, losses.router_z.dtype), (pl.bf16, pl.f32))


class InAllWays(unittest.TestCase):
    def test_layers(self):
        for named in {}, {"softmax_first": False, "shared_hidden": 3}, {"capacity_factor": 1.0, "is_gated": False}:
            with self.subTest(named=named):
                in_all_ways(lambda key: pl.nn.MoE(3, 4, 4, 2, **named, key=key, dtype=pl.f64), lambda layer, x: layer(x), (p(2, 3, 3),), 1e-10)

    def test_symbolic_batch(self):
        for named in {}, {"capacity_factor": 1.25}:
            with self.subTest(named=named):
                cases = [(p(*shape, 3),) for shape in ((2, 3), (4, 5), (3, 7), (6, 2))]
                for_symbolic_sizes(lambda layer, x: layer(x), pl.nn.MoE(3, 4, 4, 2, **named, dtype=pl.f64), cases)

    def test_gated_mlp(self):
        layer, x = pl.nn.GatedMlp(3, 5, dtype=pl.f64), p(2, 3)
        gate, up, down = (torch.from_numpy(getattr(layer, name).weight.numpy().copy()) for name in ("gate", "up", "down"))
        given = torch.from_numpy(x.numpy().copy())
        close(layer(x), (torch.nn.functional.silu(given @ gate.T) * (given @ up.T)) @ down.T, "gated", 1e-13)
        in_all_ways(lambda key: pl.nn.GatedMlp(3, 5, bias=True, key=key, dtype=pl.f64), lambda layer, x: layer(x), (x,))


class Refusals(unittest.TestCase):
    def test_what_is_refused(self):
        moe = pl.nn.MoE
        refused(self, (
            (lambda: moe(4, 6, 3, 4), pl.ValueError, "nn.MoE: top_k is 4 of 3 experts, expected 1 to 3"),
            (lambda: moe(4, 6, 3, 0), pl.ValueError, "nn.MoE: top_k is 0"),
            (lambda: moe(4, 6, 0), pl.ValueError, "of 0 experts"),
            (lambda: moe(4, -6, 3), pl.ValueError, "nn.MoE: hidden is -6, expected 0 or more"),
            (lambda: moe(4, 6, 3, shared_hidden=-1), pl.ValueError, "nn.MoE: shared_hidden is -1"),
            (lambda: moe(4, 6, 3, noise=-1.0), pl.ValueError, "nn.MoE: noise is -1.0"),
            (lambda: moe(4, 6, 3, capacity_factor=0), pl.ValueError, "nn.MoE: capacity_factor is 0, expected"),
            (lambda: pl.nn.GatedMlp(4, -6), pl.ValueError, "nn.Linear: out_features is -6")))


if __name__ == "__main__":
    unittest.main()
