"""Well-known algorithms with loops and recursion of unknown length: their values and derivatives, eagerly, in traces
and under vmap, compared with closed forms and NumPy; and where other libraries fail."""

import itertools
import math
import subprocess
import sys
import unittest

import numpy as np
import plait as pl
from ways import Case, given, mapped, same


# ---- Numbers.


@pl.recursive
def factorial(n):
    return pl.cond(n <= 1, pl.ones_like, lambda n: n * factorial(n - 1), n)


@pl.recursive
def fibonacci(n):
    return pl.cond(n < 2, lambda n: n, lambda n: fibonacci(n - 1) + fibonacci(n - 2), n)


@pl.recursive
def ackermann(m, n):
    def of_positive(m, n):
        return pl.cond(n == 0, lambda m, n: ackermann(m - 1, pl.ones_like(m)),
                       lambda m, n: ackermann(m - 1, ackermann(m, n - 1)), m, n)

    return pl.cond(m == 0, lambda m, n: n + 1, of_positive, m, n)


@pl.recursive
def female(n):
    return pl.cond(n == 0, pl.ones_like, lambda n: n - male(female(n - 1)), n)


@pl.recursive
def male(n):
    return pl.cond(n == 0, pl.zeros_like, lambda n: n - female(male(n - 1)), n)


class Numbers(Case):
    def test_factorial(self):
        self.check(factorial, [(float(n),) for n in range(12)], [math.factorial(n) for n in range(12)])
        self.check(factorial, [(n,) for n in (1, 20, 7)], [math.factorial(n) for n in (1, 20, 7)], rtol=0)

    def test_fibonacci(self):
        numbers = [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144]
        self.check(fibonacci, [(n,) for n in range(13)], numbers, rtol=0)

    def test_ackermann(self):
        pairs = [(0, 3), (1, 4), (2, 0), (2, 3), (3, 2)]
        closed = {0: lambda n: n + 1, 1: lambda n: n + 2, 2: lambda n: 2 * n + 3, 3: lambda n: 2 ** (n + 3) - 3}
        self.check(ackermann, pairs, [closed[m](n) for m, n in pairs], rtol=0)

    def test_two_that_call_each_other(self):
        """Hofstadter's sequences (OEIS A005378 and A005379), by mutual recursion."""
        self.check(lambda n: (female(n), male(n)), [(n,) for n in range(11)],
                   list(zip([1, 1, 2, 2, 3, 3, 4, 5, 5, 6, 6], [0, 0, 1, 2, 2, 3, 4, 4, 5, 6, 6])), rtol=0)

    def test_slope_of_a_product(self):
        """n (n - 1) (n - 2) ... until a factor is at most 1."""
        def derivatives(x):
            product = np.poly1d(np.arange(len(np.arange(x, 1, -1))), r=True)
            return [product.deriv(order)(x) for order in range(4)]

        def slope(f):
            return lambda x: pl.jvp(f, (x,), (pl.ones_like(x),))[1]

        samples = [(x,) for x in (4.3, 0.5, 2.5, 9.9, 1.0)]
        values, slopes, curvatures, thirds = zip(*[derivatives(x) for x, in samples])
        self.check(factorial, samples, values)
        self.check(pl.grad(factorial), samples, slopes)
        self.check(lambda x: pl.jvp(factorial, (x,), (given(2.0),)), samples,
                   list(zip(values, (2 * slope for slope in slopes))))
        for outer, inner in itertools.product((pl.grad, slope), repeat=2):
            with self.subTest(outer=outer.__name__, inner=inner.__name__):
                self.check(outer(inner(factorial)), samples, curvatures)
            for outermost in pl.grad, slope:
                with self.subTest(outermost=outermost.__name__, outer=outer.__name__, inner=inner.__name__):
                    self.check(outermost(outer(inner(factorial))), samples, thirds, many=outermost is outer is inner)
        all_of = pl.grad(lambda x: pl.sum(pl.vmap(factorial)(x)))
        x = given(np.array([x for x, in samples]))
        same(all_of(x), slopes)
        same(pl.trace(all_of)(pl.ones_like(x))(x), slopes)

    def test_collatz_lengths(self):
        def length(n):
            def step(state):
                n, count = state
                return pl.where(n % 2 == 0, n // 2, 3 * n + 1), count + 1

            return pl.while_loop(lambda state: state[0] != 1, step, (n, pl.asarray(0)))[1]

        def by_hand(n):
            count = 0
            while n != 1:
                n, count = n // 2 if n % 2 == 0 else 3 * n + 1, count + 1
            return count

        wanted, numbers = [by_hand(n) for n in range(1, 10_001)], pl.arange(1, 10_001)
        np.testing.assert_array_equal(pl.vmap(length)(numbers), wanted)
        np.testing.assert_array_equal(pl.trace(pl.vmap(length))(pl.ones_like(numbers))(numbers), wanted)


# ---- Loops.


LONGEST = 60


def escaped(x, y):
    """The number of steps of z -> z^2 + c until z leaves the circle, and the logarithm of |z|^2 then."""
    def step(state):
        re, im, count = state
        return re * re - im * im + x, 2 * re * im + y, count + 1

    def inside(state):
        re, im, count = state
        return pl.logical_and(re * re + im * im <= 4, count < LONGEST)

    re, im, count = pl.while_loop(inside, step, (pl.zeros_like(x), pl.zeros_like(y), pl.asarray(0)))
    return count, pl.log(re * re + im * im)


def escaped_in_the_plane(c):
    def inside(state):
        return pl.logical_and(pl.absolute(state[0]) <= 2, state[1] < LONGEST)

    return pl.while_loop(inside, lambda state: (state[0] * state[0] + c, state[1] + 1), (c * 0, pl.asarray(0)))[1]


class Loops(Case):
    def test_mandelbrot(self):
        x, y = np.linspace(-2.1, 0.6, 60), np.linspace(-1.2, 1.2, 40)
        c = x + 1j * y[:, None]
        z, slope, count = np.zeros_like(c), np.zeros_like(c), np.zeros(c.shape, int)
        for _ in range(LONGEST):
            inside = abs(z) <= 2
            slope, z = np.where(inside, 2 * z * slope + 1, slope), np.where(inside, z * z + c, z)
            count += inside

        def of_grid(f):
            return lambda x, y: pl.vmap(pl.vmap(f, in_axes=(0, None)), in_axes=(None, 0))(x, y)

        arguments = given((x, y))
        slopes = 2 * slope / z  # derivative of log |z|^2, with respect to the real part x and to y, with minus the imaginary part
        far = abs(slopes) < 1e6
        self.assertGreater(far.mean(), 0.9)
        for way in lambda f: f, lambda f: pl.trace(f)(*mapped(pl.zeros_like, arguments)):
            np.testing.assert_array_equal(way(of_grid(lambda x, y: escaped(x, y)[0]))(*arguments), count)
            by_x, by_y = way(of_grid(pl.grad(lambda x, y: escaped(x, y)[1], (0, 1))))(*arguments)
            for found, wanted in (by_x, slopes.real), (by_y, -slopes.imag):
                np.testing.assert_allclose(found.numpy()[far], wanted[far], rtol=1e-6, atol=1e-6)
        in_the_plane = pl.vmap(pl.vmap(escaped_in_the_plane))
        np.testing.assert_array_equal(in_the_plane(given(c)), count)
        np.testing.assert_array_equal(pl.trace(in_the_plane)(given(c * 0))(given(c)), count)

    def test_a_million_steps(self):
        self.check_long(1_000_000, None)

    def test_many_steps_of_which_some_are_kept(self):
        self.check_long(50_000, pl.checkpoints(every=200))

    def check_long(self, count, checkpoints):
        left, share = 0.999999, 1e-6

        def loop(h, x):
            def step(state):
                return state[0] * left + share * x, state[1] + 1

            return pl.while_loop(lambda state: state[1] < count, step, (h, pl.asarray(0)), checkpoints=checkpoints)[0]

        by_h = math.exp(count * math.log(left))
        by_x = share * (1 - by_h) / (1 - left)
        h, x = 2.0, 0.7
        program = pl.trace(pl.value_and_grad(loop, (0, 1)))(*given((0.0, 0.0)))
        same(program(*given((h, x))), (by_h * h + by_x * x, (by_h, by_x)))

    def test_jacobians(self):
        """Powers whose exponent depends on the numbers."""
        def chosen(x):
            return pl.cond(pl.sum(x) > 0, lambda x: x * x * x, lambda x: x * x, x)

        def counted(x):
            return pl.for_loop(0, 3, lambda i, h: h * x, x)

        def until_small(x):
            return pl.while_loop(lambda h: pl.sum(h * h) > 0.05, lambda h: h * x, x)

        @pl.recursive
        def multiplied(h, x):
            return pl.cond(pl.sum(h * h) > 0.05, lambda h, x: multiplied(h * x, x), lambda h, x: h, h, x)

        def exponent(x):
            power = 1
            while np.sum(x ** (2 * power)) > 0.05:
                power += 1
            return power

        def recursive(x):
            return multiplied(x, x)

        powers = {chosen: lambda x: 3 if np.sum(x) > 0 else 2, counted: lambda x: 4, until_small: exponent,
                  recursive: exponent}
        samples = [(np.array(x),) for x in ([0.5, -0.3], [-0.9, 0.2], [0.1, 0.05])]
        for f, power in powers.items():
            first = [np.diag(power(x) * x ** (power(x) - 1)) for x, in samples]
            second = [np.diag(power(x) * (power(x) - 1) * x ** (power(x) - 2.0)) for x, in samples]
            self.check_jacobians(f, samples, first, second)

    def check_jacobians(self, f, samples, first, second):
        def total(x):
            return pl.sum(f(x))

        def columns(x):
            return pl.vmap(lambda unit: pl.jvp(f, (x,), (unit,))[1], out_axes=-1)(given(np.eye(2)))

        along_first, along_second = ([matrix @ x for matrix, (x,) in zip(some, samples)] for some in (first, second))
        ways = {"jacrev": (pl.jacrev(f), first), "jacfwd": (pl.jacfwd(f), first), "columns": (columns, first),
                "hessian": (pl.hessian(total), second), "hessian, backwards": (pl.jacrev(pl.grad(total)), second),
                "remat": (pl.grad(pl.remat(total)), [np.diag(matrix) for matrix in first]),
                "linearize": (lambda x: pl.linearize(f, x)[1](x), along_first),
                "hvp": (lambda x: pl.hvp(total, x, x), along_second)}
        for name, (way, wanted) in ways.items():
            with self.subTest(f=f.__name__, of=name):
                self.check(way, samples, wanted)


# ---- Associative scans.


def with_spreads(model):
    """Symmetric matrices are given by their factors."""
    spreads = {name: model[name] @ model[name].T for name in ("drift", "noise", "spread")}
    return {**model, **spreads}


def filtered(xp, model, measured):
    """Kalman filter means, sequentially, for NumPy and PyTorch."""
    model = with_spreads(model)
    mean, spread = model["mean"], model["spread"]
    means = []
    for y in measured:
        mean = model["forward"] @ mean
        spread = model["forward"] @ spread @ model["forward"].T + model["drift"]
        gain = spread @ model["seen"].T @ xp.linalg.inv(model["seen"] @ spread @ model["seen"].T + model["noise"])
        mean = mean + gain @ (y - model["seen"] @ mean)
        spread = spread - gain @ model["seen"] @ spread
        means.append(mean)
    return xp.stack(means)


def filtered_by_halves(model, measured):
    """The same, by the associative operation of Särkkä and García-Fernández."""
    model = with_spreads(model)
    forward, drift, seen, noise = (model[name] for name in ("forward", "drift", "seen", "noise"))
    count, size = measured.shape[0], forward.shape[0]
    one = pl.eye(size, dtype=forward.dtype)

    def parts(spread):
        inverse = pl.linalg.inv(seen @ spread @ seen.T + noise)
        gain = spread @ seen.T @ inverse
        return gain, (one - gain @ seen) @ spread, seen.T @ inverse

    first_mean = forward @ model["mean"]
    first_gain, first_spread, _ = parts(forward @ model["spread"] @ forward.T + drift)
    gain, spread, weight = parts(drift)
    others = pl.ones((count - 1, 1, 1), dtype=forward.dtype)
    elements = {
        "a": pl.concat([pl.zeros_like(one)[None], others * ((one - gain @ seen) @ forward)], 0),
        "b": pl.concat([(first_mean + first_gain @ (measured[0] - seen @ first_mean))[None], measured[1:] @ gain.T], 0),
        "c": pl.concat([first_spread[None], others * spread], 0),
        "d": pl.concat([first_mean[None] * 0, measured[1:] @ (forward.T @ weight).T], 0),
        "e": pl.concat([pl.zeros_like(one)[None], others * (forward.T @ weight @ seen @ forward)], 0),
    }

    def joined(x, y):
        def times(matrix, vector):
            return (matrix @ vector[..., None])[..., 0]

        after = y["a"] @ pl.linalg.inv(one + x["c"] @ y["e"])
        before = x["a"].mT @ pl.linalg.inv(one + y["e"] @ x["c"])
        return {"a": after @ x["a"],
                "b": times(after, x["b"] + times(x["c"], y["d"])) + y["b"],
                "c": after @ x["c"] @ y["a"].mT + y["c"],
                "d": times(before, y["d"] - times(y["e"], x["b"])) + x["d"],
                "e": before @ y["e"] @ x["a"] + x["e"]}

    return pl.associative_scan(joined, elements)["b"]


class AssociativeScans(Case):
    def test_running_totals(self):
        import torch

        kinds = {"sum": (lambda a, b: a + b, torch.cumsum), "product": (lambda a, b: a * b, torch.cumprod),
                 "greatest": (pl.maximum, lambda x, axis: torch.cummax(x, axis).values)}
        random = np.random.default_rng(8)
        for name, (f, of_torch) in kinds.items():
            for count in 1, 2, 3, 8, 13, 50:
                for axis, reverse in (0, False), (1, False), (-1, True), (0, True):
                    with self.subTest(name=name, count=count, axis=axis, reverse=reverse):
                        self.check_totals(f, of_torch, [random.normal(size=(count, count + 1)) for _ in range(3)],
                                          axis, reverse)

    def check_totals(self, f, of_torch, samples, axis, reverse):
        import torch

        factors = np.cos(np.arange(samples[0].size)).reshape(samples[0].shape)

        def totals(x):
            return pl.associative_scan(f, x, axis=axis, reverse=reverse)

        values, gradients = [], []
        for sample in samples:
            x = torch.tensor(sample, requires_grad=True)
            value = of_torch(x.flip(axis), axis).flip(axis) if reverse else of_torch(x, axis)
            (value * torch.tensor(factors)).sum().backward()
            values.append(value.detach().numpy())
            gradients.append(x.grad.numpy())
        samples = [(sample,) for sample in samples]
        self.check(totals, samples, values)
        self.check(pl.grad(lambda x: pl.sum(totals(x) * given(factors))), samples, gradients)

    def test_order_is_kept(self):
        """Matrix products, which are associative but not commutative."""
        matrices = np.random.default_rng(2).normal(size=(11, 3, 3))
        for reverse in False, True:
            found = pl.associative_scan(lambda a, b: a @ b, given(matrices), reverse=reverse)
            for i in range(11):
                some = matrices[i:][::-1] if reverse else matrices[:i + 1]
                with self.subTest(reverse=reverse, i=i):
                    same(found[i], some[0] if len(some) == 1 else np.linalg.multi_dot(some))

    def test_kalman_filter(self):
        import torch

        random = np.random.default_rng(3)
        model = {"forward": np.array([[1.0, 0.1, 0.0], [-0.2, 0.95, 0.1], [0.0, 0.0, 0.9]]),
                 "drift": np.diag([0.1, 0.2, 0.15]) + 0.03, "seen": np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]]),
                 "noise": np.array([[0.5, 0.1], [-0.05, 0.4]]), "mean": np.array([0.5, -1.0, 0.2]), "spread": np.eye(3)}
        samples = [(random.normal(size=(21, 2)),) for _ in range(3)]
        factors = random.normal(size=(21, 3))
        gradients = []
        for measured, in samples:
            followed = mapped(lambda leaf: torch.tensor(leaf, requires_grad=True), (model, measured))
            (filtered(torch, *followed) * torch.tensor(factors)).sum().backward()
            gradients.append(mapped(lambda leaf: leaf.grad.numpy(), followed))
        means = [filtered(np, model, measured) for measured, in samples]
        self.check(filtered_by_halves, samples, means, shared=(model,))

        def loss(model, measured):
            return pl.sum(filtered_by_halves(model, measured) * given(factors))

        self.check(pl.grad(loss, (0, 1)), samples, gradients, shared=(model,), rtol=1e-8, atol=1e-9)


# ---- Other libraries.


TORCH = """
import torch

def with_if(n):
    return torch.ones_like(n) if n <= 1 else n * with_if(n - 1)

def with_cond(n):
    return torch.cond(n <= 1, torch.ones_like, lambda n: n * with_cond(n - 1), (n,))

class Product(torch.nn.Module):
    def __init__(self, of):
        super().__init__()
        self.of = of

    def forward(self, n):
        return self.of(n)

four = torch.tensor(4.0)
print("as it is:", Product(with_if)(four).item())
for name, way in {"exported with if": lambda: torch.export.export(Product(with_if), (four,)),
                  "exported with cond": lambda: torch.export.export(Product(with_cond), (four,)),
                  "compiled with if": lambda: torch.compile(with_if, fullgraph=True, backend="eager")(four)}.items():
    try:
        print(f"{name}: {way()}")
    except RuntimeError as error:
        print(f"{name}:", " ".join(str(error).split()))
"""


class Others(unittest.TestCase):
    """The behaviour of other libraries on these programs."""

    def test_jax_has_no_gradient_of_while(self):
        import jax

        with self.assertRaisesRegex(ValueError, "Reverse-mode differentiation does not work for lax.while_loop"):
            jax.grad(lambda x: jax.lax.while_loop(lambda h: h > 0.05, lambda h: h * 0.6, x))(1.0)
        same(pl.grad(lambda x: pl.while_loop(lambda h: h > 0.05, lambda h: h * 0.6, x))(given(1.0)), 0.6 ** 6)

    def test_jax_has_no_recursion(self):
        import jax

        def product(n):
            return jax.lax.cond(n <= 1, jax.numpy.ones_like, lambda n: n * product(n - 1), n)

        with self.assertRaises(RecursionError):
            jax.jit(product)(3.0)

    def test_torch_has_no_recursion(self):
        """In a separate process: PyTorch would keep this module alive beyond Python's shutdown."""
        said = subprocess.run([sys.executable, "-c", TORCH], capture_output=True, text=True, check=True).stdout
        self.assertIn("as it is: 24.0", said)
        self.assertRegex(said, "exported with if: .*data-dependent")
        self.assertRegex(said, "exported with cond: .*RecursionError")
        self.assertRegex(said, "compiled with if: .*Data-dependent branching")
        same(pl.trace(factorial)(given(1.0))(given(4.0)), 24)


if __name__ == "__main__":
    unittest.main()
