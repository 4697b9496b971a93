"""Functions with custom rules within branches, loops and remat: derivatives of every order are those of the function
called directly, eagerly, jitted and traced. The rules return five times the derivative, so that it shows which level
used them: only the innermost one may."""

import unittest

import plait as pl


def cube_by_vjp():
    @pl.custom_vjp
    def cube(x):
        return x * x * x

    cube.defvjp(lambda x: (x * x * x, 3 * x * x), lambda slope, cotangent: (5 * slope * cotangent,))
    return cube


def cube_by_jvp():
    @pl.custom_jvp
    def cube(x):
        return x * x * x

    cube.defjvp(lambda at, along: (at[0] ** 3, 15 * at[0] * at[0] * along[0]))
    return cube


def scanned(f):
    return lambda x: pl.scan(lambda c, _: (f(c), None), x, None, length=1)[0]


def branched(f):
    return lambda x: pl.cond(x > 0, f, lambda t: t, x)


def recursive(f):
    @pl.recursive
    def repeated(n, x):
        return pl.cond(n > 0, lambda n, x: f(repeated(n - 1, x)), lambda n, x: x, n, x)

    return lambda x: repeated(pl.asarray(1), x)


def mutual(f):
    @pl.recursive
    def even(n, x):
        return pl.cond(n > 0, lambda n, x: odd(n - 1, f(x)), lambda n, x: x, n, x)

    @pl.recursive
    def odd(n, x):
        return pl.cond(n > 0, lambda n, x: even(n - 1, f(x)), lambda n, x: x, n, x)

    return lambda x: even(pl.asarray(1), x)


# A loop whose carry grows.
def growing(f):
    def step(carry):
        i, x = carry
        return i + 1, pl.concat([f(x), x[:1]], axis=0)

    return lambda x: pl.while_loop(lambda carry: carry[0] < 1, step, (pl.asarray(0), pl.stack([x])))[1][0]


# Each computes f(x) once.
FORMS = {
    "cond": branched,
    "switch": lambda f: lambda x: pl.switch(pl.asarray(1), [lambda t: t, f], x),
    "scan": scanned,
    "for_loop": lambda f: lambda x: pl.for_loop(0, 1, lambda i, c: f(c), x),
    "while_loop": lambda f: lambda x: pl.while_loop(lambda c: c[0] < 1, lambda c: (c[0] + 1, f(c[1])), (0, x))[1],
    "map": lambda f: lambda x: pl.map(f, pl.stack([x]))[0],
    "remat": lambda f: lambda x: pl.remat(f)(x),
    "remat that stores": lambda f: lambda x: pl.remat(lambda x: f(pl.stack([x]) @ pl.ones((1,), dtype="f64")), policy="dots")(x),
    "recursion": recursive,
    "mutual recursion": mutual,
    "loop that grows": growing,
    "jit": lambda f: lambda x: pl.jit(f)(x),
    "vmap": lambda f: lambda x: pl.vmap(f)(pl.stack([x]))[0],
    "vmap of cond": lambda f: lambda x: pl.vmap(branched(f))(pl.stack([x]))[0],
    "vmap of recursion": lambda f: lambda x: pl.vmap(recursive(f))(pl.stack([x]))[0],
    "vmap of scan": lambda f: lambda x: pl.vmap(scanned(f))(pl.stack([x]))[0],
    "scan of cond": lambda f: scanned(branched(f)),
    "scan of scan": lambda f: scanned(scanned(f)),
    "scan of remat": lambda f: scanned(pl.remat(f)),
    "cond of scan": lambda f: branched(scanned(f)),
}
# The result goes on, so that an outer level differentiates it too.
USES = {"squared": lambda g: lambda x: g(x) ** 2, "twice": lambda g: lambda x: g(g(x) * 0.3)}


def along(g):
    return lambda x: pl.jvp(g, (x,), (pl.ones_like(x),))[1]


DERIVATIVES = {
    "grad": pl.grad,
    "grad of grad": lambda g: pl.grad(pl.grad(g)),
    "jvp of grad": lambda g: along(pl.grad(g)),
    "grad of jvp": lambda g: pl.grad(along(g)),
    "jvp of jvp": lambda g: along(along(g)),
    "third": lambda g: pl.grad(pl.grad(pl.grad(g))),
}
WAYS = {
    "eager": lambda g, x: g(x),
    "jit": lambda g, x: [jitted(x) for jitted in [pl.jit(g)] for _ in range(2)][1],
    "trace": lambda g, x: pl.trace(g)(x)(x),
}


class RulesInForms(unittest.TestCase):
    def check(self, cube, forms):
        x = pl.tensor(1.5, dtype="f64")
        for form in forms:
            for use, used in USES.items():
                for derivative, derived in DERIVATIVES.items():
                    expected = derived(used(cube))(x).item()
                    for way, run in WAYS.items():
                        with self.subTest(form=form, use=use, derivative=derivative, way=way):
                            found = run(derived(used(FORMS[form](cube))), x).item()
                            self.assertAlmostEqual(found / expected, 1, places=9)

    def test_vjp(self):
        self.check(cube_by_vjp(), FORMS)

    def test_jvp(self):
        self.check(cube_by_jvp(), [form for form in FORMS if " of " not in form])

    def test_several_steps(self):
        cube, x = cube_by_vjp(), pl.tensor(1.5, dtype="f64")

        def unrolled(x):
            return cube(cube(cube(x) * 0.1) * 0.1) * 0.1

        def looped(x):
            return pl.scan(lambda c, _: (cube(c) * 0.1, None), x, None, length=3)[0]

        def counted(x):
            return pl.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, cube(c[1]) * 0.1), (0, x))[1]

        for derivative, derived in DERIVATIVES.items():
            expected = derived(unrolled)(x).item()
            for g in looped, counted:
                for way, run in WAYS.items():
                    with self.subTest(derivative=derivative, g=g.__name__, way=way):
                        self.assertAlmostEqual(run(derived(g), x).item() / expected, 1, places=9)

    def test_rules_beside_operations(self):
        cube, x = cube_by_jvp(), pl.tensor([0.5, 1.5], dtype="f64")

        def body(c, row):
            return (pl.sin(c) * row, cube(c) + c * row)

        def loss(f):
            return lambda x: pl.sum(f(x)[1] ** 2)

        def looped(x):
            return pl.scan(body, x, pl.stack([x, x + 1]))

        def unrolled(x):
            c, first = body(x, x)
            c, second = body(c, x + 1)
            return c, pl.stack([first, second])

        for derivative in (lambda g: pl.grad(lambda x: pl.sum(pl.grad(g)(x) ** 2)), pl.hessian):
            expected = derivative(loss(unrolled))(x)
            for run in WAYS.values():
                difference = pl.max(pl.abs(run(derivative(loss(looped)), x) - expected)).item()
                self.assertLess(difference, 1e-9 * pl.max(pl.abs(expected)).item())


if __name__ == "__main__":
    unittest.main()
