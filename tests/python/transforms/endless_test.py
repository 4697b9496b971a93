"""Functions that call themselves without end, through each function of the library that calls Python: Python's limit of recursion ends
them, before the stack does."""

import unittest

import plait as pl

X = pl.tensor(1.0)


def through(call):
    """A function of x that calls itself through `call(function, x)`."""
    def f(x):
        return call(f, x)

    return f


def pair(x):
    return pl.stack([x, x])


CALLS = {
    "jit": lambda f, x: pl.jit(lambda y: f(y * 1.5))(x),
    "trace": lambda f, x: pl.trace(f)(x)(x),
    "vmap": lambda f, x: pl.vmap(lambda y: f(y))(pair(x))[0],
    "cond": lambda f, x: pl.cond(x > 0, lambda y: f(y), lambda y: y, x),
    "switch": lambda f, x: pl.switch(0, [f, f], x),
    "while_loop": lambda f, x: pl.while_loop(lambda c: c > 0, lambda c: f(c), x),
    "for_loop": lambda f, x: pl.for_loop(0, 2, lambda i, c: f(c), x),
    "scan": lambda f, x: pl.scan(lambda c, _: (f(c), c), x, pl.ones(2))[0],
    "map": lambda f, x: pl.map(lambda y: f(y), pair(x))[0],
    "associative_scan": lambda f, x: pl.associative_scan(lambda a, b: f(a) + b, pl.stack([x, x, x]))[0],
    "callback": lambda f, x: pl.callback(f, x),
    "remat": lambda f, x: pl.remat(lambda y: f(y))(x),
    "grad": lambda f, x: pl.grad(f)(x) * x,
    "jvp": lambda f, x: pl.jvp(f, (x,), (x,))[1],
    "jacfwd": lambda f, x: pl.jacfwd(f)(x),
    "linearize": lambda f, x: pl.linearize(f, x)[1](x),
    "tree.map": lambda f, x: pl.tree.map(lambda leaf: f(leaf), {"a": x})["a"],
    "vmap of cond": lambda f, x: pl.vmap(lambda y: pl.cond(y > 0, f, lambda z: z, y))(pair(x))[0],
}


def of_forward():
    f = pl.custom_vjp(lambda x: x * x)
    f.defvjp(lambda x: (f(x) * pl.grad(f)(x), x), lambda x, c: (c * x,))
    return f


def of_backward():
    f = pl.custom_vjp(lambda x: x * x)
    f.defvjp(lambda x: (x * x, x), lambda x, c: (c * pl.grad(f)(x),))
    return f


def of_jvp():
    f = pl.custom_jvp(lambda x: x * x)
    f.defjvp(lambda at, tangents: (f(*at), pl.grad(f)(at[0]) * tangents[0]))
    return f


class Endless(unittest.TestCase):
    def test_calls(self):
        for name, call in CALLS.items():
            with self.subTest(name), self.assertRaises(RecursionError):
                through(call)(X)
            with self.subTest(f"gradient of {name}"), self.assertRaises(RecursionError):
                pl.grad(through(call))(X)

    def test_custom_rules(self):
        for make in of_forward, of_backward, of_jvp:
            with self.subTest(make.__name__), self.assertRaises(RecursionError):
                pl.grad(make())(X)


if __name__ == "__main__":
    unittest.main()
