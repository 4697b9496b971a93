"""Trees and lists as records: values and derivatives compared with PyTorch on trees of Python objects, eagerly and
in traces."""

import unittest

import numpy as np
import plait as pl


@pl.record
class Node:
    value: "f64[3]"
    left: "Node"
    right: "Node"


@pl.record
class Chain:
    value: "f64[]"
    next: "Chain"


@pl.record
class Forest:
    tree: Node
    others: "Forest"


def drawn(random, size):
    """A random tree with that many nodes, as nested tuples (value, left, right); None for an empty one."""
    if size == 0:
        return None
    left = int(random.integers(0, size))
    return random.standard_normal(3), drawn(random, left), drawn(random, size - 1 - left)


def node_of(tree):
    return None if tree is None else Node(tree[0], node_of(tree[1]), node_of(tree[2]))


@pl.recursive
def state(weights, tree):
    """The state of a small network over trees; zeros for an absent tree."""
    def inner(weights, tree):
        value, left, right = tree.fields()
        a, b = state(weights, left), state(weights, right)
        return pl.tanh(weights["own"] @ value + weights["left"] @ a) * pl.sigmoid(weights["right"] @ b) + a * b

    return pl.cond(tree.is_there(), inner, lambda weights, tree: pl.zeros(3, dtype=pl.f64), weights, tree)


def loss(weights, tree):
    return pl.sum(state(weights, tree) ** 2)


def torch_state(torch, weights, tree):
    if tree is None:
        return torch.zeros(3, dtype=torch.float64)
    a, b = torch_state(torch, weights, tree[1]), torch_state(torch, weights, tree[2])
    return torch.tanh(weights["own"] @ tree[0] + weights["left"] @ a) * torch.sigmoid(weights["right"] @ b) + a * b


def followed(torch, tree):
    if tree is None:
        return None
    return torch.tensor(tree[0], requires_grad=True), followed(torch, tree[1]), followed(torch, tree[2])


def values_of(tree):
    """The values of a tree of tuples, or of nodes, in order."""
    if tree is None:
        return []
    if isinstance(tree, Node):
        if not tree.is_there():
            return []
        value, left, right = tree.fields()
        return [value.numpy(), *values_of(left), *values_of(right)]
    return [tree[0], *values_of(tree[1]), *values_of(tree[2])]


class RecordTest(unittest.TestCase):
    def setUp(self):
        random = np.random.default_rng(3)
        self.trees = [drawn(random, size) for size in (7, 1, 12)]
        self.weights = {name: 0.5 * random.standard_normal((3, 3)) for name in ("own", "left", "right")}

    def check_gradients(self, gradient):
        import torch

        for tree in self.trees:
            weights = {name: torch.tensor(each, requires_grad=True) for name, each in self.weights.items()}
            leaves = followed(torch, tree)
            torch.sum(torch_state(torch, weights, leaves) ** 2).backward()
            by_weights, by_tree = gradient({name: pl.asarray(each) for name, each in self.weights.items()}, node_of(tree))
            for name, each in weights.items():
                np.testing.assert_allclose(by_weights[name].numpy(), each.grad.numpy(), rtol=1e-9, atol=1e-12)
            wanted = [each.grad.numpy() for each in values_of(leaves)]
            found = values_of(by_tree)
            self.assertEqual(len(found), len(wanted))
            for a, b in zip(found, wanted):
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)

    def test_gradients_against_torch(self):
        self.check_gradients(pl.grad(loss, argnums=(0, 1)))

    def test_one_program_for_trees_of_any_form(self):
        weights = {name: pl.asarray(each) for name, each in self.weights.items()}
        program = pl.trace(pl.grad(loss, argnums=(0, 1)))(weights, node_of(self.trees[1]))
        self.assertIn("@Node?", program.text())
        self.check_gradients(program)
        again = pl.Program.parse(program.text())
        leaves = [*weights.values(), node_of(self.trees[0])._tensor]
        for a, b in zip(again(*leaves, *program.hidden_inputs), program(*leaves[:0], weights, node_of(self.trees[0]))[0].values()):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)
        plain = pl.trace(loss)(weights, node_of(self.trees[1]))
        derived = plain.grad(by=(0, 1, 2, 3))

        def gradient(weights, tree):
            *of_weights, of_tree = derived(*weights.values(), tree) if derived._arguments is None else derived(weights, tree)
            return dict(zip(weights, of_weights)), Node._of(of_tree)

        self.check_gradients(gradient)

    def test_forward_over_reverse_and_back(self):
        weights = {name: pl.asarray(each) for name, each in self.weights.items()}
        tree, direction = node_of(self.trees[0]), pl.grad(loss, argnums=1)(weights, node_of(self.trees[0]))

        def along(weights):
            return pl.jvp(lambda tree: loss(weights, tree), (tree,), (direction,))[1]

        squares = sum(np.sum(each ** 2) for each in values_of(direction))
        np.testing.assert_allclose(along(weights).item(), squares, rtol=1e-10)
        step = 1e-6
        slope = pl.grad(along)(weights)
        moved = {name: each + step * slope[name] for name, each in weights.items()}
        back = {name: each - step * slope[name] for name, each in weights.items()}
        expected = (along(moved).item() - along(back).item()) / (2 * step)
        found = sum(pl.sum(each * each).item() for each in slope.values())
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        staged = pl.trace(pl.grad(along))(weights)(weights)
        for name, each in slope.items():
            np.testing.assert_allclose(staged[name].numpy(), each.numpy(), rtol=1e-9, atol=1e-12)

    def test_many_weights_for_one_tree(self):
        tree = node_of(self.trees[0])
        many = {name: pl.asarray(np.stack([each, -each])) for name, each in self.weights.items()}
        found = pl.vmap(lambda weights: loss(weights, tree))(many)
        wanted = [loss({name: pl.asarray(sign * each) for name, each in self.weights.items()}, tree).item() for sign in (1, -1)]
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12)

    def test_records_in_records_and_in_loops(self):
        trees = [node_of(tree) for tree in self.trees]
        forest = None
        for tree in trees:
            forest = Forest(tree, forest)
        weights = {name: pl.asarray(each) for name, each in self.weights.items()}

        @pl.recursive
        def total(forest):
            return pl.cond(forest.is_there(), lambda forest: loss(weights, forest.tree) + total(forest.others),
                           lambda forest: pl.zeros((), dtype=pl.f64), forest)

        wanted = sum(loss(weights, tree).item() for tree in trees)
        np.testing.assert_allclose(total(forest).item(), wanted, rtol=1e-12)
        program = pl.trace(pl.grad(total))(forest)
        found = program(forest)
        for tree in reversed(trees):
            expected = values_of(pl.grad(loss, argnums=1)(weights, tree))
            for a, b in zip(values_of(found.tree), expected, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
            found = found.others

        def pushed(x):
            return pl.for_loop(0, 5, lambda i, chain: Chain(x * pl.astype(i, pl.f64), chain), Chain.none())

        for chain in (pushed(pl.asarray(2.0)), pl.trace(pushed)(pl.asarray(1.0))(pl.asarray(2.0))):
            self.assertEqual([chain.value.item(), chain.next.value.item()], [8.0, 6.0])

    def test_words(self):
        tree = Node([1, 2, 3], right=Node(pl.asarray(np.zeros(3))))
        self.assertEqual(repr(tree.left), "Node.none()")
        self.assertIn("right=Node(value=[0. 0. 0.] : f64[3]", repr(tree))
        self.assertFalse(tree.left.is_there())
        with self.assertRaisesRegex(ValueError, "a @Node is absent"):
            tree.left.value
        with self.assertRaisesRegex(TypeError, "field 0 is f64\\[2\\]"):
            Node([1.0, 2.0])
        with self.assertRaisesRegex(TypeError, "value is missing"):
            Node()
        with self.assertRaisesRegex(TypeError, "not a field of Node"):
            Node([1, 2, 3], middle=None)
        with self.assertRaisesRegex(TypeError, "expected a Node"):
            Node([1, 2, 3], left=3)
        with self.assertRaisesRegex(TypeError, "is a record, not an array"):
            pl.sin(tree._tensor)
        with self.assertRaisesRegex(TypeError, "declared already"):
            @pl.record
            class Chain:  # noqa: F811: the same name, other fields
                value: "f32[]"
        with self.assertRaisesRegex(TypeError, "expected a type as written in the IR"):
            @pl.record
            class Other:
                value: float


if __name__ == "__main__":
    unittest.main()
