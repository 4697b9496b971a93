"""Custom rules: each idiom of JAX's page "Custom derivative rules", and captures, eagerly, under jit, in a trace and
under vmap, to second order, in both modes, compared with JAX."""

import functools
import unittest

import jax
import jax.numpy as jnp
import numpy as np
import plait as pl

jax.config.update("jax_enable_x64", True)


def number(x):
    return pl.asarray(np.float64(x))


# ---- The idioms. Each takes a library: (its functions, custom_jvp, custom_vjp, vjp, while_loop, cond).


class Ours:
    xp, custom_jvp, custom_vjp, vjp = pl, pl.custom_jvp, pl.custom_vjp, pl.vjp
    grad, jvp, vmap, jit = pl.grad, pl.jvp, pl.vmap, pl.jit
    cond, while_loop = pl.cond, pl.while_loop


class Theirs:
    xp, custom_jvp, custom_vjp, vjp = jnp, jax.custom_jvp, jax.custom_vjp, jax.vjp
    grad, jvp, vmap, jit = jax.grad, jax.jvp, jax.vmap, jax.jit
    cond, while_loop = jax.lax.cond, jax.lax.while_loop


def calls_itself_in_jvp(lib):
    @lib.custom_jvp
    def f(x):
        return lib.xp.sin(x) * x

    @f.defjvp
    def rule(primals, tangents):
        (x,), (dx,) = primals, tangents
        return f(x), 3.0 * f(x) * dx + lib.xp.cos(x) * dx

    return f


def calls_itself_on_tangents(lib):
    @lib.custom_jvp
    def div(x, y):
        return x / y

    @div.defjvp
    def rule(primals, tangents):
        (x, y), (dx, _) = primals, tangents  # y counts as constant
        return div(x, y), div(dx, y)

    return lambda x: div(lib.xp.sin(x) * x, lib.xp.cosh(x))


def calls_itself_in_vjp(lib):
    @lib.custom_vjp
    def f(x):
        return lib.xp.sin(x) * x

    f.defvjp(lambda x: (f(x), x), lambda x, c: (c * f(x) * lib.xp.cos(x),))
    return f


def by_defjvps(lib):
    @lib.custom_jvp
    def f(x, y):
        return lib.xp.sin(x) * y

    f.defjvps(lambda dx, result, x, y: lib.xp.cos(x) * dx * y + 0.5 * result * dx, lambda dy, result, x, y: 2.0 * lib.xp.sin(x) * dy)
    return lambda x: f(x, x * x)


def stable_log(lib):
    @lib.custom_jvp
    def log1pexp(x):
        return lib.xp.log(1.0 + lib.xp.exp(x))

    @log1pexp.defjvp
    def rule(primals, tangents):
        (x,), (dx,) = primals, tangents
        return log1pexp(x), (1.0 - 1.0 / (1.0 + lib.xp.exp(x))) * dx

    return log1pexp


def domain(lib):
    @lib.custom_jvp
    def f(x):
        return x / (1.0 + lib.xp.sqrt(x))

    @f.defjvp
    def rule(primals, tangents):
        (x,), (dx,) = primals, tangents
        return f(x), ((lib.xp.sqrt(x) + 2) / (2 * (lib.xp.sqrt(x) + 1) ** 2)) * dx

    return f


def clip_gradient(lib):
    @lib.custom_vjp
    def clip(lo, hi, x):
        return x

    clip.defvjp(lambda lo, hi, x: (x, (lo, hi)), lambda kept, g: (None, None, lib.xp.clip(g, kept[0], kept[1])))
    return lambda x: lib.xp.sin(clip(-0.75, 0.75, x * 3.0))


def fixed_point(lib):
    @functools.partial(lib.custom_vjp, nondiff_argnums=(0,))
    def solve(f, a, guess):
        return lib.while_loop(lambda both: lib.xp.abs(both[0] - both[1]) > 1e-12, lambda both: (both[1], f(a, both[1])),
                              (guess, f(a, guess)))[1]

    def forward(f, a, guess):
        star = solve(f, a, guess)
        return star, (a, star)

    def backward(f, kept, c):
        a, star = kept
        _, pull_a = lib.vjp(lambda a: f(a, star), a)
        w = solve(functools.partial(step, f), (a, star, c), c)
        return pull_a(w)[0], lib.xp.zeros_like(star)

    def step(f, packed, w):
        a, star, c = packed
        _, pull = lib.vjp(lambda x: f(a, x), star)
        return c + pull(w)[0]

    solve.defvjp(forward, backward)
    return lambda a: solve(lambda a, x: 0.5 * (x + a / x), a, a * 0.75)


def function_argument(lib):
    @functools.partial(lib.custom_jvp, nondiff_argnums=(0,))
    def app(f, x):
        return f(x)

    @app.defjvp
    def rule(f, primals, tangents):
        (x,), (dx,) = primals, tangents
        return f(x), 2.0 * f(x) * dx

    return lambda x: app(lambda x: x**3, x)


def containers(lib):
    @lib.custom_vjp
    def f(point):
        return {"sum": point["x"] + point["y"], "product": (point["x"] * point["y"],)}

    f.defvjp(lambda point: (f(point), point),
             lambda point, c: ({"x": c["sum"] + 2.0 * c["product"][0] * point["y"], "y": c["sum"] - c["product"][0] * point["x"]},))

    def loss(x):
        found = f({"x": x, "y": x * x})
        return found["sum"] * found["product"][0]

    return loss


def control_flow_in_backward(lib):
    @lib.custom_vjp
    def f(x):
        return lib.xp.exp(x)

    f.defvjp(lambda x: (lib.xp.exp(x), x), lambda x, c: (lib.cond(x > 1.0, lambda c: c * x * x, lambda c: 3.0 * c * x, c),))
    return f


def control_flow_in_rule(lib):
    @lib.custom_jvp
    def f(x):
        return lib.xp.exp(x)

    @f.defjvp
    def rule(primals, tangents):
        (x,), (dx,) = primals, tangents
        return f(x), lib.cond(x > 1.0, lambda d: d * x * x, lambda d: 3.0 * d * x, dx)

    return f


def loop_in_backward(lib):
    @lib.custom_vjp
    def f(x):
        return lib.xp.exp(x)

    def backward(x, c):
        return (lib.while_loop(lambda both: both[0] < 3.0, lambda both: (both[0] + 1.0, both[1] * x), (0.0 * x, c))[1],)

    f.defvjp(lambda x: (lib.xp.exp(x), x), backward)
    return f


def within_each_other(lib):
    inner = calls_itself_in_jvp(lib)

    @lib.custom_vjp
    def outer(x):
        return inner(x) * x

    outer.defvjp(lambda x: (outer(x), x), lambda x, c: (c * inner(x) + outer(x) * c,))
    return outer


IDIOMS = [calls_itself_in_jvp, calls_itself_on_tangents, calls_itself_in_vjp, by_defjvps, stable_log, domain, clip_gradient, fixed_point, function_argument,
          containers, control_flow_in_backward, control_flow_in_rule, loop_in_backward, within_each_other]
NOT_TWICE_IN_JAX = {loop_in_backward}  # reverse mode through its while_loop
NOT_LINEAR = {clip_gradient}


class Idioms(unittest.TestCase):
    def test_in_each_way(self):
        for make in IDIOMS:
            f, theirs = make(Ours), make(Theirs)
            orders = {"value": (lambda f, lib: f), "gradient": lambda f, lib: lib.grad(f)}
            if make not in NOT_TWICE_IN_JAX:
                orders["second"] = lambda f, lib: lib.grad(lib.grad(f))
            for order, taken in orders.items():
                g, wanted = taken(f, Ours), taken(theirs, Theirs)
                points = np.array([0.7, 1.3, 2.1])
                values = [float(wanted(x)) for x in points]
                many = pl.asarray(points)
                ways = {
                    "eager": lambda: pl.stack([g(number(x)) for x in points]),
                    "jit": lambda: pl.stack([pl.jit(g)(number(x)) for x in points]),
                    "trace": lambda: pl.stack([pl.trace(g)(number(1.3))(number(x)) for x in points]),
                    "vmap": lambda: pl.vmap(g)(many),
                    "vmap of jit": lambda: pl.vmap(pl.jit(g))(many),
                    "jit of vmap": lambda: pl.jit(pl.vmap(g))(many),
                }
                for way, run in ways.items():
                    with self.subTest(f"{make.__name__}, {order}, {way}"):
                        np.testing.assert_allclose(run().numpy(), values, rtol=1e-9)

    def test_derivatives_of_what_is_jitted_and_mapped(self):
        for make in IDIOMS:
            f, theirs = make(Ours), make(Theirs)
            points = np.array([0.7, 1.3, 2.1])
            slopes = [float(jax.grad(theirs)(x)) for x in points]
            many = pl.asarray(points)
            ways = {
                "grad of jit": lambda: pl.stack([pl.grad(pl.jit(f))(number(x)) for x in points]),
                "grad of a program": lambda: pl.stack([pl.trace(f)(number(0.5)).grad()(number(x)) for x in points]),
                "grad of vmap": lambda: pl.grad(lambda v: pl.sum(pl.vmap(f)(v)))(many),
                "grad of jit of vmap": lambda: pl.grad(pl.jit(lambda v: pl.sum(pl.vmap(f)(v))))(many),
                "jvp": lambda: pl.stack([pl.jvp(f, (number(x),), (number(1),))[1] for x in points]),
                "jit of jvp": lambda: pl.stack([pl.jit(lambda x: pl.jvp(f, (x,), (pl.ones_like(x),))[1])(number(x)) for x in points]),
                "jvp of jit": lambda: pl.stack([pl.jvp(pl.jit(f), (number(x),), (number(1),))[1] for x in points]),
                "vmap of jvp": lambda: pl.vmap(lambda x: pl.jvp(f, (x,), (pl.ones_like(x),))[1])(many),
                "linearize": lambda: pl.stack([pl.linearize(f, number(x))[1](number(1)) for x in points]),
            }
            for way, run in ways.items():
                if make in NOT_LINEAR and ("jvp" in way or way == "linearize"):
                    self.assertRaisesRegex(pl.ValueError, "clamp is not linear", run)
                    continue
                with self.subTest(f"{make.__name__}, {way}"):
                    np.testing.assert_allclose(run().numpy(), slopes, rtol=1e-9)
            if make in NOT_TWICE_IN_JAX:
                continue
            seconds = [float(jax.grad(jax.grad(theirs))(x)) for x in points]
            ways = {
                "grad of grad of jit": lambda: pl.stack([pl.grad(pl.grad(pl.jit(f)))(number(x)) for x in points]),
                "jvp of grad": lambda: pl.stack([pl.jvp(pl.grad(f), (number(x),), (number(1),))[1] for x in points]),
                "grad of jvp": lambda: pl.stack([
                    pl.grad(lambda x: pl.jvp(f, (x,), (pl.ones_like(x),))[1])(number(x)) for x in points]),
                "program twice": lambda: pl.stack([pl.trace(f)(number(0.5)).grad().grad()(number(x)) for x in points]),
                "grad of jit of grad": lambda: pl.stack([pl.grad(pl.jit(pl.grad(f)))(number(x)) for x in points]),
                "vmap of jvp of grad": lambda: pl.vmap(lambda x: pl.jvp(pl.grad(f), (x,), (pl.ones_like(x),))[1])(many),
                "hessian": lambda: pl.stack([pl.hessian(f)(number(x)) for x in points]),
                "jit of hessian": lambda: pl.stack([pl.jit(pl.hessian(f))(number(x)) for x in points]),
            }
            for way, run in ways.items():
                if make in NOT_LINEAR and way == "grad of jvp":
                    self.assertRaisesRegex(pl.ValueError, "clamp is not linear", run)
                    continue
                wanted = seconds
                if make is calls_itself_on_tangents and way == "grad of jvp":  # its rule ignores y, so the order matters
                    wanted = [float(jax.grad(lambda x: jax.jvp(theirs, (x,), (1.0,))[1])(x)) for x in points]
                with self.subTest(f"{make.__name__}, second, {way}"):
                    np.testing.assert_allclose(run().numpy(), wanted, rtol=1e-9)


def nested(function, order, lib):
    for _ in range(order):
        function = lib.grad(function)
    return function


class CallingItself(unittest.TestCase):
    def test_up_to_the_fourth_order(self):
        for make in calls_itself_in_jvp, calls_itself_in_vjp:
            f, theirs = make(Ours), make(Theirs)
            for order in range(1, 5):
                wanted = float(nested(theirs, order, Theirs)(0.7))
                for way, run in {"eager": lambda g: g, "jit": pl.jit, "trace": lambda g: pl.trace(g)(number(0.7))}.items():
                    with self.subTest(f"{make.__name__}, {order}, {way}"):
                        np.testing.assert_allclose(run(nested(f, order, pl))(number(0.7)).item(), wanted, rtol=1e-8)

    def test_beyond(self):
        f, theirs = calls_itself_in_jvp(Ours), calls_itself_in_jvp(Theirs)
        np.testing.assert_allclose(nested(f, 5, pl)(number(0.7)).item(), float(nested(theirs, 5, jax)(0.7)), rtol=1e-8)
        program = pl.trace(f)(number(0.7))
        for _ in range(5):
            program = program.grad()
        with self.assertRaisesRegex(pl.CheckError, "the rules of at most 4 derivatives"):
            program(number(0.7))


# ---- Captures: with respect to them the function itself is differentiated.


def one_of_many(f):
    return lambda x, w: pl.tree.map(lambda result: result[0], pl.vmap(f)(x[None], w[None]))


def captures_in_vjp(x, w):
    g = pl.custom_vjp(lambda x: x * x * w)
    g.defvjp(lambda x: (x * x * w, x), lambda x, c: (c * 7.0 * x * w,))
    return g(x)


def captures_in_jvp(x, w):
    g = pl.custom_jvp(lambda x: x * x * w)
    g.defjvp(lambda at, along: (at[0] * at[0] * w, 7.0 * at[0] * w * along[0]))
    return g(x)


class Captures(unittest.TestCase):
    def test_a_gradient_does_not_depend_on_argnums(self):
        x, w = number(3.0), number(2.0)
        for f in captures_in_vjp, captures_in_jvp:
            for name, way in {"eager": lambda f: f, "jit": pl.jit, "vmap": one_of_many}.items():
                with self.subTest(f"{f.__name__}, {name}"):
                    of = way(f)
                    self.assertEqual(pl.grad(of, 0)(x, w).item(), 42)
                    self.assertEqual(pl.grad(of, 1)(x, w).item(), 9)
                    self.assertEqual([each.item() for each in pl.grad(of, (0, 1))(x, w)], [42, 9])
                    self.assertEqual(pl.jvp(of, (x, w), (number(1), number(0)))[1].item(), 42)
                    self.assertEqual(pl.jvp(of, (x, w), (number(0), number(1)))[1].item(), 9)
                    self.assertEqual(pl.jvp(of, (x, w), (number(1), number(1)))[1].item(), 51)
                    self.assertEqual(way(pl.grad(f, (0, 1)))(x, w)[1].item(), 9)
                    self.assertEqual(way(lambda x, w: pl.jvp(f, (x, w), (x, w))[1])(x, w).item(), 3 * 42 + 2 * 9)

    def test_second_derivatives(self):
        # By the rule ∂/∂x is 7 x w, whose ∂/∂w is 7 x and ∂/∂x 7 w; ∂/∂w is x², whose ∂/∂x is 2 x.
        x, w = number(3.0), number(2.0)
        for f in captures_in_vjp, captures_in_jvp:
            for name, way in {"eager": lambda f: f, "jit": pl.jit}.items():
                with self.subTest(f"{f.__name__}, {name}"):
                    for outer in pl.grad, lambda g, n: lambda x, w: pl.jvp(g, (x, w), tuple(number(i == n) for i in range(2)))[1]:
                        self.assertEqual(way(outer(pl.grad(f, 0), 0))(x, w).item(), 14)
                        self.assertEqual(way(outer(pl.grad(f, 0), 1))(x, w).item(), 21)
                        self.assertEqual(way(outer(pl.grad(f, 1), 0))(x, w).item(), 6)
                        self.assertEqual(way(outer(pl.grad(f, 1), 1))(x, w).item(), 0)
                        self.assertEqual(outer(pl.grad(way(f), 0), 1)(x, w).item(), 21)
                        self.assertEqual(outer(pl.grad(way(f), 1), 0)(x, w).item(), 6)

    def test_of_leaves_and_tapes(self):
        for f in captures_in_vjp, captures_in_jvp:
            x, w = number(3.0).requires_grad(), number(2.0).requires_grad()
            f(x, w).backward()
            self.assertEqual((x.grad.item(), w.grad.item()), (42, 9))
            self.assertEqual(pl.grad(lambda x: f(x, w))(number(3.0)).item(), 42)

    def test_what_no_derivative_is_wanted_of(self):
        x, w = number(3.0), number(2.0)
        for f in captures_in_vjp, captures_in_jvp:
            self.assertEqual(pl.grad(lambda x, w: f(x, pl.stop_gradient(w)), (0, 1))(x, w)[1].item(), 0)


class Remat(unittest.TestCase):
    def test_computes_the_same(self):
        for make in calls_itself_in_jvp, calls_itself_in_vjp, within_each_other, fixed_point:
            f = make(Ours)
            again, plain = pl.remat(lambda x: f(x) * f(x * x)), lambda x: f(x) * f(x * x)
            for order in 1, 2:
                for way in lambda g: g, pl.jit, lambda g: lambda x: pl.vmap(g)(x[None])[0]:
                    with self.subTest(f"{make.__name__}, {order}"):
                        found, wanted = way(nested(again, order, pl))(number(0.7)), nested(plain, order, pl)(number(0.7))
                        np.testing.assert_allclose(found.item(), wanted.item(), rtol=1e-9)

    def test_of_what_is_captured(self):
        x, w = number(3.0), number(2.0)
        for f in captures_in_vjp, captures_in_jvp:
            again = pl.remat(f)
            self.assertEqual([each.item() for each in pl.grad(again, (0, 1))(x, w)], [42, 9])
            second = [[each.item() for each in pl.grad(lambda x, w: pl.grad(g, 0)(x, w), (0, 1))(x, w)] for g in (f, again)]
            self.assertEqual(*second)


class Hosts(unittest.TestCase):
    """Python's `if` in functions with custom rules, under jit."""

    def test_branches(self):
        def by_jvp():
            @pl.custom_jvp
            def f(x):
                return x * 2.0 if x > 0 else x * x

            f.defjvp(lambda at, along: (f(*at), (3.0 if at[0] > 0 else 5.0 * at[0]) * along[0]))
            return f

        def by_vjp():
            @pl.custom_vjp
            def f(x):
                return x * 2.0 if x > 0 else x * x

            f.defvjp(lambda x: (f(x), x), lambda x, c: (c * (3.0 if x > 0 else 5.0 * x),))
            return f

        for make in by_jvp, by_vjp:
            f = make()
            jitted, slope, of_jitted = pl.jit(f), pl.jit(pl.grad(f)), pl.grad(pl.jit(f))
            for _ in range(3):
                for x, value, derivative in (2.0, 4.0, 3.0), (-3.0, 9.0, -15.0), (5.0, 10.0, 3.0):
                    with self.subTest(f"{make.__name__}, {x}"):
                        self.assertEqual(f(number(x)).item(), value)
                        self.assertEqual(jitted(number(x)).item(), value)
                        self.assertEqual(pl.grad(f)(number(x)).item(), derivative)
                        self.assertEqual(slope(number(x)).item(), derivative)
                        self.assertEqual(of_jitted(number(x)).item(), derivative)
                        self.assertEqual(pl.jvp(jitted, (number(x),), (number(1),))[1].item(), derivative)

    def test_reads(self):
        @pl.custom_jvp
        def f(x):
            return x * float(x)

        f.defjvp(lambda at, along: (f(*at), float(at[0]) * 2.0 * along[0]))
        jitted, slope = pl.jit(f), pl.jit(pl.grad(f))
        for x in 2.0, 3.0, 4.0:
            self.assertEqual(jitted(number(x)).item(), x * x)
            self.assertEqual(slope(number(x)).item(), 2 * x)
            self.assertEqual(pl.grad(jitted)(number(x)).item(), 2 * x)


class Rules(unittest.TestCase):
    def test_keywords_and_defaults(self):
        @pl.custom_jvp
        def f(x, y=2.0):
            return x * y

        f.defjvp(lambda at, along: (f(*at), 10.0 * along[0] * at[1] + along[1]))
        self.assertEqual(pl.grad(f)(3.0).item(), 20)
        self.assertEqual(pl.grad(lambda x: f(y=x, x=5.0))(3.0).item(), 1)
        self.assertEqual(f(3.0).item(), 6)

    def test_refusals(self):
        f = pl.custom_vjp(lambda x: x * 2.0)
        with self.assertRaisesRegex(pl.ValueError, r"no rule.*defvjp\(forward, backward\)"):
            pl.grad(f)(1.0)
        self.assertEqual(f(1.0).item(), 2)
        x = pl.asarray([1.0, 2.0, 3.0])
        f.defvjp(lambda x: (x * 2.0, ()), lambda _, c: (pl.sum(c),))
        for way in (lambda g: g, pl.jit):
            with self.assertRaisesRegex(pl.ShapeError, r"backward function: number 0 is f32\[\], expected f32\[3\]"):
                way(pl.grad(lambda x: pl.sum(f(x))))(x)
        f.defvjp(lambda x: (x * 2.0, ()), lambda _, c: (c, c))
        with self.assertRaises(pl.ValueError):
            pl.grad(lambda x: pl.sum(f(x)))(x)
        g = pl.custom_jvp(lambda x: x * 2.0).defjvp(lambda at, along: (at[0] * 2.0, along[0] * along[0]))
        for way in (lambda g: g, pl.jit):
            with self.assertRaisesRegex(pl.ValueError, "not linear"):
                way(pl.grad(g))(1.0 if way is not pl.jit else number(1.0))


if __name__ == "__main__":
    unittest.main()
