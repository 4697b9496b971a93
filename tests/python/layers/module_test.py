"""Modules as trees, in every transform; training beside PyTorch."""

import copy
import collections
import dataclasses
import pickle
import unittest

import numpy as np
import plait as pl
import torch


def array(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


class Linear(pl.Module):
    def __init__(self, weight, bias, name="linear"):
        self.weight, self.bias, self.name = pl.asarray(weight), pl.asarray(bias), name

    def __call__(self, x):
        return x @ self.weight + self.bias


class Norm(pl.Module):
    scale: pl.Tensor
    epsilon: float = 1e-5

    def __call__(self, x):
        mean = pl.mean(x, -1, keepdims=True)
        apart = x - mean
        return self.scale * apart / pl.sqrt(pl.mean(apart * apart, -1, keepdims=True) + self.epsilon)


class Net(pl.Module):
    def __init__(self, seed=0):
        self.blocks = [Linear(array(3, 5, seed=seed + i) / 2, np.zeros(5)) if i == 0 else
                       {"norm": Norm(pl.asarray(np.ones(5))), "linear": Linear(array(5, 5, seed=seed + i) / 2, np.zeros(5))}
                       for i in range(2)]
        self.out = Linear(array(5, 1, seed=seed + 9), np.zeros(1), name="out")
        self.activation = pl.tanh

    def __call__(self, x):
        h = self.activation(self.blocks[0](x))
        h = self.activation(self.blocks[1]["linear"](self.blocks[1]["norm"](h)))
        return self.out(h)[..., 0]


PATHS = ["blocks.0.weight", "blocks.0.bias", "blocks.1.norm.scale", "blocks.1.linear.weight", "blocks.1.linear.bias",
         "out.weight", "out.bias"]


def loss(net, x, y):
    return pl.mean((net(x) - y) ** 2)


def theirs(net):
    """The same network in PyTorch, with the leaves by path."""
    leaves = {path: torch.tensor(np.array(leaf), requires_grad=True) for path, leaf in pl.tree.leaves_with_paths(net)}

    def run(x):
        h = torch.tanh(x @ leaves["blocks.0.weight"] + leaves["blocks.0.bias"])
        h = torch.nn.functional.layer_norm(h, (5,), leaves["blocks.1.norm.scale"])
        h = torch.tanh(h @ leaves["blocks.1.linear.weight"] + leaves["blocks.1.linear.bias"])
        return (h @ leaves["out.weight"] + leaves["out.bias"])[..., 0]

    return leaves, run


class Modules(unittest.TestCase):
    x, y = array(8, 3, seed=1), array(8, seed=2)

    def assert_like(self, ours, theirs_, tolerance=1e-12):
        for path, leaf in pl.tree.leaves_with_paths(ours):
            np.testing.assert_allclose(leaf, theirs_[path], rtol=tolerance, atol=tolerance, err_msg=path)

    def test_tree(self):
        net = Net()
        self.assertEqual([path for path, _ in pl.tree.leaves_with_paths(net)], PATHS)
        leaves, structure = pl.tree.flatten(net)
        again = structure.unflatten(leaves)
        self.assertIsInstance(again, Net)
        self.assertIs(again.activation, pl.tanh)
        self.assertIs(again.blocks[0].weight, leaves[0])
        self.assertEqual(structure, pl.tree.structure(Net(seed=5)))
        self.assertNotEqual(structure, pl.tree.structure(net.out))
        other = Net()
        other.out.name = "another"
        self.assertNotEqual(structure, pl.tree.structure(other))
        doubled = pl.tree.map(lambda a, b: a + b, net, net)
        np.testing.assert_array_equal(doubled.out.weight, 2 * np.array(net.out.weight))
        with self.assertRaisesRegex(pl.ValueError, "out.bias.*expected.*'weight'"):
            pl.tree.map(lambda a, b: a, net.out, net)
        with self.assertRaisesRegex(pl.ValueError, "2 leaves for a structure of 7"):
            structure.unflatten(leaves[:2])

    def test_trees_of_all_kinds(self):
        @dataclasses.dataclass
        class Pair:
            a: object
            b: object

        tree = {"z": [pl.ones(2), None], "a": (Pair(pl.zeros(1), 3), np.ones(3)), "n": Norm(pl.ones(4))}
        self.assertEqual([path for path, _ in pl.tree.leaves_with_paths(tree)], ["z.0", "a.0.a", "a.1", "n.scale"])
        mapped = pl.tree.map(lambda leaf: leaf.shape[0], tree)
        self.assertEqual((mapped["z"], mapped["a"][0], mapped["a"][1], mapped["n"].scale), ([2, None], Pair(1, 3), 3, 4))

    def test_strange_trees(self):
        @dataclasses.dataclass(frozen=True)
        class Counted:
            part: object
            count: int = dataclasses.field(init=False, default=7)

        one = pl.ones(2)
        for tree in (collections.OrderedDict(a=one, b=2), Counted(one), (one, {"set"}, np.float32, float("nan")), [[[[one]]]], (), {1: one, "1": one}):
            leaves, structure = pl.tree.flatten(tree)
            again = structure.unflatten(leaves)
            if not isinstance(tree, tuple) or tree == ():
                self.assertEqual(repr(again), repr(dict(tree) if isinstance(tree, dict) else tree))
            self.assertEqual(structure, pl.tree.structure(again))
            self.assertEqual(hash(structure), hash(pl.tree.structure(again)))
            self.assertEqual(len(structure), len(leaves))
        deep = one
        for _ in range(500):
            deep = [deep]
        self.assertEqual(pl.tree.structure(deep).paths, (".".join("0" * 500),))
        endless = []
        endless.append(endless)
        with self.assertRaises(RecursionError):
            pl.tree.flatten(endless)
        with self.assertRaisesRegex(TypeError, "0.x is a bytearray"):
            hash(pl.tree.structure([{"x": bytearray(b"1")}]))
        self.assertEqual(repr(pl.tree.structure({"a": one, "b": [one, 1, (one,)]})), "{'a': *, 'b': [*, 1, (*,)]}")

    def test_fields(self):
        norm = Norm(pl.ones(3))
        self.assertEqual((norm.epsilon, Norm(pl.ones(3), epsilon=0.5).epsilon), (1e-5, 0.5))
        with self.assertRaises(TypeError):
            Norm()

    def test_repr(self):
        self.assertEqual(repr(Net().blocks[1]["norm"]), "Norm(\n  scale: f64[5]\n  epsilon: 1e-05\n)")
        text = repr(Net())
        for line in "Net(", "  blocks: [", "    0: Linear(", "      weight: f64[3, 5]", "  activation: tanh", "      name: 'linear'":
            self.assertIn(line, text.splitlines())

    def test_gradients(self):
        net = Net()
        leaves, run = theirs(net)
        value = torch.mean((run(torch.tensor(self.x)) - torch.tensor(self.y)) ** 2)
        value.backward()
        wanted = {path: leaf.grad.numpy() for path, leaf in leaves.items()}
        x, y = pl.asarray(self.x), pl.asarray(self.y)
        for way in (pl.grad(loss), pl.jit(pl.grad(loss)), lambda *a: pl.trace(pl.grad(loss))(*a)(*a),
                    lambda net, x, y: pl.vjp(loss, net, x, y)[1](pl.asarray(np.float64(1)))[0]):
            found = way(net, x, y)
            self.assertIsInstance(found, Net)
            self.assert_like(found, wanted)
        moved = pl.jvp(loss, (net, x, y), (pl.tree.map(pl.ones_like, net), None, None))[1]
        self.assertAlmostEqual(float(moved), sum(float(each.sum()) for each in wanted.values()), places=10)
        tape = pl.Tape()
        watched = pl.tree.map(tape.watch, net)
        found = tape.gradient(loss(watched, x, y), pl.tree.leaves(watched))
        for path, leaf in zip(PATHS, found):
            np.testing.assert_allclose(leaf, wanted[path], rtol=1e-12, atol=1e-12)

    def test_vmap(self):
        nets = [Net(seed) for seed in range(3)]
        stacked = pl.tree.map(lambda *leaves: pl.stack(leaves), *nets)
        x = pl.asarray(self.x)
        wanted = [net(x).numpy() for net in nets]
        np.testing.assert_allclose(pl.vmap(lambda net, x: net(x), in_axes=(0, None))(stacked, x), wanted, rtol=1e-12)

    def test_in_control_flow(self):
        def step(net, by):
            return pl.tree.map(lambda leaf: leaf * by, net)

        def chosen(net, by):
            net = pl.cond(by > 1, step, lambda net, by: net, net, by)
            net = pl.while_loop(lambda net: pl.sum(net.weight ** 2) > 1, lambda net: step(net, 0.5), net)
            net, sums = pl.scan(lambda net, by: (step(net, by), pl.sum(net.weight)), net, pl.stack([by, by]))
            return pl.sum(net.weight) + pl.sum(sums)

        net, by = Linear(array(3, 2), np.zeros(2)), pl.asarray(np.float64(1.5))
        w = np.array(net.weight) * 1.5
        while np.sum(w ** 2) > 1:
            w = w * 0.5
        wanted = np.sum(w * 2.25) + np.sum(w) + np.sum(w * 1.5)
        for way in chosen, pl.jit(chosen), lambda *a: pl.trace(chosen)(*a)(*a):
            self.assertAlmostEqual(float(way(net, by)), wanted, places=12)

    def test_custom_rules(self):
        @pl.custom_vjp
        def product(net, x):
            return pl.sum(x @ net.weight)

        product.defvjp(lambda net, x: (product(net, x), net),
                       lambda net, cotangent: (pl.tree.map(lambda leaf: leaf * 0 + 7 * cotangent, net), None))
        found = pl.grad(product)(Linear(array(3, 2), np.zeros(2)), pl.asarray(array(4, 3)))
        self.assertIsInstance(found, Linear)
        np.testing.assert_array_equal(found.weight, np.full((3, 2), 7.0))

    def test_statics(self):
        @pl.jit
        def run(net, x):
            return net(x)

        x = pl.asarray(self.x)
        for name in "a", "b", "a":
            run(Linear(array(3, 5), np.zeros(5), name), x)
        self.assertEqual(pl.stats(run).traces, 2)
        net = Linear(array(3, 5), np.zeros(5), bytearray(b"unhashable"))
        with self.assertRaisesRegex(pl.TypeError, r"name is a bytearray.*cannot be hashed"):
            run(net, x)

        class Odd:
            def __eq__(self, other):
                raise RuntimeError("no")

        with self.assertRaisesRegex(pl.TypeError, r"name is a Odd.*compared"):
            pl.tree.map(lambda a, b: a, Linear(array(2, 2), np.zeros(2), Odd()), Linear(array(2, 2), np.zeros(2), Odd()))

    def test_called_in_jit(self):
        net = Net()
        jitted = pl.jit(net)
        x = pl.asarray(self.x)
        np.testing.assert_allclose(jitted(x), net(x), rtol=1e-12)
        net.out.bias = pl.asarray(np.full(1, 3.0))
        np.testing.assert_allclose(jitted(x), net(x), rtol=1e-12)

    def test_copies(self):
        net = Net()
        x = pl.asarray(self.x)
        for made in pickle.loads(pickle.dumps(net)), copy.deepcopy(net):
            self.assertEqual(pl.tree.structure(made), pl.tree.structure(net))
            self.assert_like(made, dict(pl.tree.leaves_with_paths(net)))
            made.out.weight[0] = 5.0
            self.assertNotEqual(float(net.out.weight[0, 0]), 5.0)
        shallow = copy.copy(net)
        self.assertIs(shallow.blocks, net.blocks)
        shallow.out = None
        self.assertIsNotNone(net.out)
        np.testing.assert_array_equal(copy.deepcopy(net)(x), net(x))
        self.assertIs(pickle.loads(pickle.dumps([pl.tanh, pl.linalg.qr]))[1], pl.linalg.qr)

    def test_copies_of_tensors(self):
        for dtype in pl.f32, pl.bf16, pl.i8, pl.boolean, pl.c64:
            x = pl.astype(pl.arange(4), dtype)
            for made in pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x):
                self.assertEqual(made.dtype, dtype)
                np.testing.assert_array_equal(made.numpy(), x.numpy())
                made[0] = dtype == pl.boolean or 1
                self.assertEqual(x.numpy()[0], 0)
        key = pl.random.key(3)
        np.testing.assert_array_equal(pl.random.normal(pickle.loads(pickle.dumps(key)), (3,)), pl.random.normal(key, (3,)))

    def test_training(self):
        """20 steps of gradient descent agree with PyTorch's within 1e-10."""
        net, x, y = Net(), pl.asarray(self.x), pl.asarray(self.y)
        leaves, run = theirs(net)
        optimizer = torch.optim.SGD(leaves.values(), lr=0.1, momentum=0.9)

        @pl.jit
        def step(net, speed, x, y):
            value, gradient = pl.value_and_grad(loss)(net, x, y)
            speed = pl.tree.map(lambda v, g: 0.9 * v + g, speed, gradient)
            return pl.tree.map(lambda leaf, v: leaf - 0.1 * v, net, speed), speed, value

        speed, first = pl.tree.map(pl.zeros_like, net), None
        for _ in range(20):
            net, speed, value = step(net, speed, x, y)
            optimizer.zero_grad()
            wanted = torch.mean((run(torch.tensor(self.x)) - torch.tensor(self.y)) ** 2)
            wanted.backward()
            optimizer.step()
            first = float(value) if first is None else first
            self.assertAlmostEqual(float(value), float(wanted.detach()), delta=1e-10)
        self.assert_like(net, {path: leaf.detach().numpy() for path, leaf in leaves.items()}, 1e-10)
        self.assertLess(float(value), 0.5 * first)
        self.assertEqual(pl.stats(step).traces, 1)


if __name__ == "__main__":
    unittest.main()
