"""x[i] = y changes the value of an object: the caller's in a plain call, and in a jitted one. In a function that a
transform calls with copies it would not reach the caller, and is an error that names the line; tensors that the
function created may be assigned to."""

import dataclasses
import functools
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


def with_vjp(f):
    return pl.custom_vjp(f).defvjp(lambda *given: (f(*given), ()), lambda kept, cotangent: (None,))


def with_jvp(f):
    return pl.custom_jvp(f).defjvp(lambda primals, tangents: (f(*primals), None))


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
    "custom_vjp": lambda f, x: with_vjp(f)(x),
    "custom_jvp": lambda f, x: with_jvp(f)(x),
    "jit of custom_vjp": lambda f, x: pl.jit(with_vjp(f))(x),
    "jit of custom_jvp": lambda f, x: pl.jit(with_jvp(f))(x),
    "vmap of custom_vjp": lambda f, x: pl.vmap(with_vjp(f))(pl.tree.map(lambda leaf: pl.stack([leaf, leaf]), x)),
    "grad of custom_vjp": lambda f, x: pl.grad(with_vjp(f))(x),
    "grad of custom_jvp": lambda f, x: pl.grad(with_jvp(f))(x),
    "recursive": lambda f, x: pl.jit(pl.recursive(f))(x),
}
RECORDED = "vmap", "remat", "trace", "grad", "jit of grad", "custom_vjp", "jit of custom_jvp"


# Functions for plait.script, in which a tensor decides whether they assign into their argument.


def in_a_branch(x):
    if pl.sum(x) > 0:
        x[0] = 9  # here
    return pl.sum(x * 1)


def in_a_branch_of_two(x):
    if pl.sum(x) > 100:
        x[0] = 9  # here
    else:
        x[1] += 2  # here
        x = x + 1
    return pl.sum(x)


def in_steps(x):
    while pl.sum(x) < 20:
        x[1] = x[1] + 5  # here
    return pl.sum(x * 2)


def in_steps_that_end(x):
    for i in range(3):
        if x[i] > 8:
            break
        x[i] = x[i] * 2  # here
        x[2] = 9
    return pl.sum(x)


def in_rows(x):
    for row in x:
        if row > 0:
            x[0] += row  # here
    return x[0] * 1


def in_nested_loops(x):
    for i in range(2):
        j = pl.sum(x) * 0
        while j < 2:
            if x[i] > 0:
                x[i] = x[i] + 1  # here
            j = j + 1
    return pl.sum(x)


def under_another_name(x):
    y, total = x, x[0] * 0
    while pl.sum(x) < 20:
        y[0] = y[0] + 5  # here
        total = total + x[0]
    return total + y[0]


def by_a_helper(x):
    if pl.sum(x) > 0:
        total = adds_one(x)
    else:
        total = x[0]
    return total + x[0]


def adds_one(x):
    x[0] += 1  # here
    return x[0] * 10


def then_returned(x):
    if pl.sum(x) > 0:
        x[0] = 9  # here
        return pl.sum(x)
    return x[0]


SCRIPTED = (in_a_branch, in_a_branch_of_two, in_steps, in_steps_that_end, in_rows, in_nested_loops, under_another_name, by_a_helper,
            then_returned)


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

    def test_where_a_tensor_decides_in_jit_it_reaches_the_caller(self):
        for function in SCRIPTED:
            with self.subTest(function.__name__):
                jitted, ours, theirs = pl.jit(pl.script(function)), pl.ones(3), pl.ones(3)
                for _ in range(3):
                    self.assertEqual(function(ours).item(), jitted(theirs).item())
                    self.assertEqual(ours.numpy().tolist(), theirs.numpy().tolist())
                ours, theirs = -pl.ones(3), -pl.ones(3)
                if function is not in_steps:
                    self.assertEqual(function(ours).item(), jitted(theirs).item())
                    self.assertEqual(ours.numpy().tolist(), theirs.numpy().tolist())

    def test_where_a_tensor_decides_it_is_refused(self):
        for function in SCRIPTED:
            for way in RECORDED:
                with self.subTest(f"{way} of {function.__name__}"):
                    self.expect_refused(pl.script(function), way, pl.ones(3))

    def test_where_a_tensor_decides_within_an_object(self):
        @pl.script
        def f(weights):
            inner = weights.rest[0]["w"]
            if pl.sum(weights.first) > 0:
                inner[0] = 9  # here
            return pl.sum(weights.first)

        def make():
            return Weights(pl.ones(2), [{"w": pl.ones(2)}])

        argument = make()
        pl.jit(f)(argument)
        self.assertEqual(argument.rest[0]["w"].numpy().tolist(), [9, 1])
        for way in RECORDED:
            with self.subTest(way):
                self.expect_refused(f, way, make())

    def test_a_layer_of_ours_where_a_tensor_decides(self):
        @pl.script
        def f(layer, x):
            weight = layer.weight
            if x > 0:
                weight[0] = 9
            return x * 1

        layer = pl.nn.Linear(1, 2, key=pl.random.key(0))
        pl.jit(f)(layer, pl.tensor(1.0))
        self.assertEqual(layer.weight.numpy().ravel()[0], 9)

    def test_a_tensor_that_may_be_the_callers_is_refused(self):
        def one_of_two(x):
            y = x * 2
            if pl.sum(x) > 0:
                y = x
            y[0] = 5  # here
            return pl.sum(y)

        def after_steps(x):
            while pl.sum(x) < 1:
                x = x + 1
            x[0] = 5  # here
            return pl.sum(x)

        def chosen(x):
            (x if pl.sum(x) > 0 else x * 2)
            y = x if pl.sum(x) > 0 else x * 2
            y[0] = 5  # here
            return pl.sum(y)

        for function in one_of_two, after_steps, chosen:
            with self.subTest(function.__name__), self.assertRaisesRegex(pl.errors.TypeError, "decides whether it is the caller's tensor") as caught:
                pl.jit(pl.script(function))(pl.ones(3))
            line = int(str(caught.exception).split("assignment_test.py:")[1].split("\n")[0])
            with open(__file__, encoding="utf-8") as file:
                self.assertIn("# here", file.readlines()[line - 1])

        def other_in_each_step(x):
            while pl.sum(x) < 20:
                x[0] = 5
                x = x * 2
            return pl.sum(x)

        with self.assertRaisesRegex(pl.errors.TypeError, "assigns into x, the caller's tensor, and to x itself.*assignment_test.py"):
            pl.jit(pl.script(other_in_each_step))(pl.ones(3))

    def test_its_own_where_a_tensor_decides(self):
        def f(x):
            y = x * 1
            while pl.sum(y) < 20:
                y[0] = y[0] + 5
                y = y * 2
            if y[1] > 2:
                y = y + 1
                y[2] = 3
            y[1] = 0
            return pl.sum(y * x)

        x = pl.ones(3)
        for way in (*(WAYS[each] for each in ("grad", "jit of grad", "remat", "trace", "vmap")), lambda f, x: pl.jit(f)(x)):
            way(pl.script(f), x)
        self.assertEqual(pl.jit(pl.script(f))(x).item(), f(x).item())
        self.assertEqual(x.numpy().tolist(), [1, 1, 1])

    def test_a_scripted_recursion(self):
        @pl.script
        def grown(x):
            if pl.sum(x) < 20:
                x[0] = x[0] + 5  # here
                return grown(x)
            return pl.sum(x)

        self.expect_refused(grown, "trace", pl.ones(3))

    def test_custom_rules_and_lists(self):
        def f(x, values):
            values.append(x)
            return pl.sum(x)

        for make in with_vjp, with_jvp:
            for call in make(f), pl.jit(make(f)), pl.grad(make(f)):
                with self.subTest(f"{make.__name__} {call}"), self.assertRaisesRegex(ValueError, r"the arguments\.1, a list.*assignment_test"):
                    call(pl.ones(2), [])
        fixed = functools.partial(pl.custom_jvp, nondiff_argnums=(0,))(lambda n, x, values: f(x, values))
        with self.assertRaisesRegex(ValueError, r"the arguments\.2, a list"):
            fixed(3, pl.ones(2), [])

    def test_custom_rules_and_running_statistics(self):
        layer, x = pl.nn.BatchNorm1d(3), pl.ones((4, 3))

        def apply(layer, x):
            return layer(x)

        for make in with_vjp, with_jvp:
            for call in make(apply), pl.jit(make(apply)), lambda layer, x: pl.grad(lambda x: pl.sum(make(apply)(layer, x)))(x):
                with self.subTest(f"{make.__name__} {call}"), self.assertRaisesRegex(ValueError, "0, a BatchNorm1d, whose running_mean it"):
                    call(layer, x)
            both = make(lambda layer, x: (layer(x), layer))
            self.assertGreater(pl.sum(both(layer, x)[1].running_mean).item(), 0)
        self.assertEqual(layer.running_mean.numpy().tolist(), [0, 0, 0])
        self.assertEqual(with_vjp(apply)(layer.eval(), x).shape, (4, 3))

    def test_callbacks(self):
        x = pl.ones(3)
        for call in (lambda x: pl.callback(clears, x, results="f32[]"), pl.jit(lambda x: pl.callback(clears, x, results="f32[]"))):
            with self.assertRaisesRegex(pl.errors.TypeError, "function that plait.callback calls.*assignment_test.py"):
                call(x)
        self.assertEqual(x.numpy().tolist(), [1, 1, 1])

    def test_bodies_that_lose_it_name_the_argument(self):
        x = pl.ones(3)
        for what, place, call in (
                ("cond", "the arguments.0", lambda f: pl.cond(pl.tensor(True), f, f, x)),
                ("switch", "the arguments.0", lambda f: pl.switch(pl.tensor(0), [f, f], x)),
                ("scan", "the carry", lambda f: pl.scan(lambda carry, _: (f(carry), ()), x, length=2)),
                ("scan", "the slice", lambda f: pl.scan(lambda carry, each: (carry, f(each)), x, pl.stack([x, x]))),
                ("scan", "the slice.a", lambda f: pl.scan(lambda carry, each: (carry, f(each["a"])), x, {"a": pl.stack([x, x])})),
                ("map", "the slice", lambda f: pl.map(f, pl.stack([x, x]))),
                ("for_loop", "the carry", lambda f: pl.for_loop(0, 3, lambda i, carry: f(carry), x)),
                ("for_loop", "the carry.b", lambda f: pl.for_loop(0, 3, lambda i, carry: {"b": f(carry["b"])}, {"b": x})),
                ("for_loop", "the carry", pl.jit(lambda f: pl.for_loop(0, pl.astype(pl.sum(x), pl.i64), lambda i, carry: f(carry), x))),
                ("while_loop", "the carry", lambda f: pl.while_loop(lambda carry: pl.sum(carry) < 9, f, x))):
            def loses(value):
                value[0] = 5
                return value * 1

            with self.subTest(f"{what}, {place}"):
                with self.assertRaisesRegex(pl.errors.TypeError, f"^{what}: the function assigns into {place}, a copy"):
                    call(loses)
        self.assertEqual(x.numpy().tolist(), [1, 1, 1])

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



class Temporaries(unittest.TestCase):
    """An assignment to a tensor that nothing keeps would be lost in silence."""

    def test_are_refused(self):
        x, w = pl.ones((2, 3)), pl.ones(3).requires_grad()
        pl.sum(w * w).backward()
        with self.assertRaisesRegex(pl.ValueError, r"is not kept(.|\n)*x\[0, 1\] = y"):
            x[0][1] = 5
        with self.assertRaisesRegex(pl.ValueError, "is not kept"):
            x.T[0] = 5
        with self.assertRaisesRegex(pl.ValueError, "is not kept"):
            x.reshape(6)[0] += 5
        with self.assertRaisesRegex(pl.ValueError, "is not kept"):
            w.grad[0] = 5
        self.assertEqual(x.tolist(), [[1.0] * 3] * 2)

    def test_what_is_kept_anywhere_is_not_one(self):
        tensors = {"a": [pl.ones(2)], "model": Model()}
        tensors["a"][0][0] = 5
        tensors["model"].weight[0] = 5
        (lambda x: x.__setitem__(1, 6))(tensors["a"][0])
        [x.__setitem__(0, 7) for x in [tensors["model"].weight]]
        held = map(lambda x: x, tensors["a"])
        next(held)[1] += 1
        self.assertEqual((tensors["a"][0].tolist(), tensors["model"].weight.tolist()), ([5, 7], [7, 1, 1]))

    def test_a_gradient_is_assigned(self):
        w = pl.ones(3).requires_grad()
        pl.sum(w * w).backward()
        w.grad *= 0.5
        gradient = w.grad
        gradient[0] = 7
        w.grad = gradient
        pl.sum(w).backward()
        self.assertEqual(w.grad.tolist(), [8, 2, 2])
        w.grad = None
        self.assertIsNone(w.grad)
        with self.assertRaisesRegex(pl.ShapeError, r"set_grad: the gradient is f32\[2\]"):
            w.grad = pl.ones(2)


if __name__ == "__main__":
    unittest.main()
