"""x[i] = y changes the value of an object: the caller's in a plain call, and in a jitted one. In a function that a
transform calls with copies it would not reach the caller, and is an error that names the line; tensors that the
function created may be assigned to."""

import dataclasses
import unittest

import numpy as np
import plait as pl


@dataclasses.dataclass
class Weights:
    first: pl.Tensor
    rest: list


class Model(pl.Module):
    def __init__(self):
        self.weight = pl.ones(3)


def clears(x):
    x[0] = 0  # here
    return pl.sum(x * x)


def clears_within(weights):
    weights.rest[0]["w"][0] -= 5  # here
    return pl.sum(weights.first)


def clears_a_model(model):
    weight = model.weight
    weight[0] = 0  # here
    return pl.sum(model.weight)


WAYS = {
    "grad": lambda f, x: pl.grad(f)(x),
    "value_and_grad": lambda f, x: pl.value_and_grad(f)(x),
    "vjp": lambda f, x: pl.vjp(f, x),
    "jvp": lambda f, x: pl.jvp(f, (x,), (x,)),
    "linearize": lambda f, x: pl.linearize(f, x),
    "vmap": lambda f, x: pl.vmap(f)(pl.tree.map(lambda leaf: pl.stack([leaf, leaf]), x)),
    "jit of grad": lambda f, x: pl.jit(pl.grad(f))(x),
    "grad of jit": lambda f, x: pl.grad(pl.jit(f))(x),
    "remat": lambda f, x: pl.remat(f)(x),
    "hessian": lambda f, x: pl.hessian(f)(x),
    "trace": lambda f, x: pl.trace(f)(x),
}


class Assignment(unittest.TestCase):
    def test_names_are_of_one_object(self):
        x = pl.ones(3)
        y, row = x, x[0:2]
        x[0] = 5
        self.assertEqual(y.numpy().tolist(), [5, 1, 1])
        self.assertEqual(row.numpy().tolist(), [1, 1])
        clears(x)
        self.assertEqual(y.numpy().tolist(), [0, 1, 1])

    def expect_refused(self, function, way, argument):
        before = [leaf.numpy().tolist() for leaf in pl.tree.leaves(argument)]
        with self.assertRaises(pl.errors.TypeError) as caught:
            WAYS[way](function, argument)
        self.assertIn("x = x.at[index].set(value)", str(caught.exception))
        self.assertIn("assignment_test.py", str(caught.exception))
        line = int(str(caught.exception).split("assignment_test.py:")[1].split("\n")[0])
        with open(__file__, encoding="utf-8") as file:
            self.assertIn("# here", file.readlines()[line - 1])
        self.assertEqual([leaf.numpy().tolist() for leaf in pl.tree.leaves(argument)], before)

    def test_into_an_argument(self):
        for way in WAYS:
            with self.subTest(way):
                self.expect_refused(clears, way, pl.ones(3))

    def test_into_what_an_argument_holds(self):
        for way in WAYS.keys() - {"hessian"}:
            with self.subTest(way):
                self.expect_refused(clears_within, way, Weights(pl.ones(2), [{"w": pl.ones(2)}]))
                self.expect_refused(clears_a_model, way, Model())

    def test_in_jit_it_reaches_the_caller(self):
        for function, make in ((clears, lambda: pl.ones(3)), (clears_a_model, Model), (clears_within, lambda: Weights(pl.ones(2), [{"w": pl.ones(2)}]))):
            jitted = pl.jit(function)
            for _ in range(3):
                ours, theirs = make(), make()
                self.assertEqual(function(ours).item(), jitted(theirs).item())
                self.assertEqual([leaf.numpy().tolist() for leaf in pl.tree.leaves(ours)], [leaf.numpy().tolist() for leaf in pl.tree.leaves(theirs)])

    def test_copies_of_arrays_in_jit_are_refused(self):
        array = np.ones(3)
        with self.assertRaisesRegex(pl.errors.TypeError, "copy of the NumPy array.*assignment_test.py"):
            pl.jit(clears)(array)
        self.assertEqual(array.tolist(), [1, 1, 1])

    def test_into_what_the_function_made(self):
        def f(x):
            y = x * 1
            z = pl.zeros(3)
            y[0] = 0
            z[1] = x[1]
            w = x.astype(pl.f32)
            w[2] = 7
            return pl.sum(y * y + z * w)

        x = pl.ones(3)
        for way in (*WAYS.values(), lambda f, x: pl.jit(f)(x)):
            way(f, x)
        self.assertEqual(pl.grad(f)(x).numpy().tolist(), [0, 4, 2])
        self.assertEqual(pl.jit(pl.grad(f))(x).numpy().tolist(), [0, 4, 2])
        self.assertEqual(x.numpy().tolist(), [1, 1, 1])

    def test_into_carries_of_loops(self):
        def body(i, carry):
            carry[0] = carry[0] + i
            return carry

        x = pl.zeros(2)
        for f in (lambda x: pl.for_loop(0, 4, body, x), pl.jit(lambda x: pl.for_loop(0, 4, body, x))):
            self.assertEqual(f(x).numpy().tolist(), [6, 0])
        self.assertEqual(x.numpy().tolist(), [0, 0])

    def test_after_the_call_it_may_be_assigned(self):
        kept = []

        def f(x):
            kept.append(x)
            return pl.sum(x)

        pl.grad(f)(pl.ones(2))
        kept[0][0] = 3
        self.assertEqual(kept[0].numpy().tolist(), [3, 1])


if __name__ == "__main__":
    unittest.main()
