"""Known algorithms with loops and recursion of no known length: their values and derivatives, as they are, in traces
and for many samples at once, against closed forms, NumPy, SciPy and PyTorch; and where the others give up."""

import itertools
import math
import subprocess
import sys
import unittest

import numpy as np
import plait as pl


def mapped(function, *trees):
    """The function of each leaf of a tree of dicts and tuples, or of those of several at the same place."""
    if isinstance(trees[0], (dict, tuple, list)):
        assert len({len(tree) for tree in trees}) == 1, trees
    if isinstance(trees[0], dict):
        return {name: mapped(function, *(tree[name] for tree in trees)) for name in trees[0]}
    if isinstance(trees[0], (tuple, list)):
        return tuple(mapped(function, *each) for each in zip(*trees))
    return function(*trees)


def given(tree):
    return mapped(lambda leaf: pl.asarray(np.asarray(leaf)), tree)


def together(trees):
    return mapped(lambda *leaves: pl.stack(leaves), *map(given, trees))


def same(found, wanted, rtol=1e-9, atol=1e-11):
    """Of two trees, the one of Plait's tensors."""
    def compare(a, b):
        assert a.shape == np.shape(b), f"{a.shape} instead of {np.shape(b)}"
        np.testing.assert_allclose(a.numpy(), np.asarray(b), rtol=rtol, atol=atol)

    mapped(compare, found, wanted)


class Case(unittest.TestCase):
    def check(self, function, samples, wanted, shared=(), many=True, **accuracy):
        """function(*shared, *sample) for each sample: as it is, in a trace of the first, by vmap, and in a trace of
        that which saw as many copies of the first."""
        samples, shared = [given(tuple(sample)) for sample in samples], given(tuple(shared))
        with self.subTest(way="as it is"):
            for sample, expected in zip(samples, wanted, strict=True):
                same(function(*shared, *sample), expected, **accuracy)
        with self.subTest(way="traced"):
            program = pl.trace(function)(*shared, *samples[0])
            for sample, expected in zip(samples, wanted, strict=True):
                same(program(*shared, *sample), expected, **accuracy)
        if many:
            self.check_many(function, samples, mapped(lambda *leaves: np.stack(leaves), *wanted), shared, accuracy)

    def check_many(self, function, samples, wanted, shared, accuracy):
        many, of_many = together(samples), pl.vmap(function, (None,) * len(shared) + (0,) * len(samples[0]))
        with self.subTest(way="many"):
            same(of_many(*shared, *many), wanted, **accuracy)
        with self.subTest(way="many, traced"):
            program = pl.trace(of_many)(*shared, *together([samples[0]] * len(samples)))
            same(program(*shared, *many), wanted, **accuracy)


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
        """Hofstadter's, as the encyclopedia of integer sequences has them (A005378 and A005379)."""
        self.check(lambda n: (female(n), male(n)), [(n,) for n in range(11)],
                   list(zip([1, 1, 2, 2, 3, 3, 4, 5, 5, 6, 6], [0, 0, 1, 2, 2, 3, 4, 4, 5, 6, 6])), rtol=0)

    def test_slope_of_a_product(self):
        """n (n - 1) (n - 2) ... down to where a factor is no longer above 1."""
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


# ---- Networks.


def gru_step(weights, h, x):
    from_x = weights["weight_ih_l0"] @ x + weights["bias_ih_l0"]
    from_h = weights["weight_hh_l0"] @ h + weights["bias_hh_l0"]
    n = h.shape[0]
    reset, update = pl.sigmoid(from_x[:n] + from_h[:n]), pl.sigmoid(from_x[n:2 * n] + from_h[n:2 * n])
    new = pl.tanh(from_x[2 * n:] + reset * from_h[2 * n:])
    h = (1 - update) * new + update * h
    return h, h


def lstm_step(weights, state, x):
    h, c = state
    gates = weights["weight_ih_l0"] @ x + weights["bias_ih_l0"] + weights["weight_hh_l0"] @ h + weights["bias_hh_l0"]
    i, f, g, o = pl.split(gates, 4, 0)
    c = pl.sigmoid(f) * c + pl.sigmoid(i) * pl.tanh(g)
    h = pl.sigmoid(o) * pl.tanh(c)
    return (h, c), h


@pl.recursive
def encoded(weights, tree, node):
    """h and c of a node by those of its children; no child is -1."""
    def inner(weights, tree, node):
        left, right = (encoded(weights, tree, tree[side][node]) for side in ("left", "right"))
        return pl.concat([left[0], right[0]], 0) @ weights["children"], left[1], right[1]

    def leaf(weights, tree, node):
        none = pl.zeros(weights["bias"].shape[0] // 5, dtype=weights["bias"].dtype)
        return pl.zeros_like(weights["bias"]), none, none

    from_below, left, right = pl.cond(tree["left"][node] < 0, leaf, inner, weights, tree, node)
    gates = from_below + weights["embeddings"][tree["words"][node]] @ weights["own"] + weights["bias"]
    i, forget_left, forget_right, o, u = pl.split(gates, 5, 0)
    c = pl.sigmoid(i) * pl.tanh(u) + pl.sigmoid(forget_left) * left + pl.sigmoid(forget_right) * right
    return pl.sigmoid(o) * pl.tanh(c), c


def torch_encoded(torch, weights, tree, node):
    left, right = int(tree["left"][node]), int(tree["right"][node])
    gates = weights["embeddings"][int(tree["words"][node])] @ weights["own"] + weights["bias"]
    inner = left >= 0
    if inner:
        left, right = torch_encoded(torch, weights, tree, left), torch_encoded(torch, weights, tree, right)
        gates = gates + torch.cat([left[0], right[0]]) @ weights["children"]
    i, forget_left, forget_right, o, u = gates.chunk(5)
    c = torch.sigmoid(i) * torch.tanh(u)
    if inner:
        c = c + torch.sigmoid(forget_left) * left[1] + torch.sigmoid(forget_right) * right[1]
    return torch.sigmoid(o) * torch.tanh(c), c


def drawn_tree(random, leaves, words, split):
    """Of 2 * leaves - 1 nodes, in any order; `split` says how many leaves of some are on the left."""
    count = 2 * leaves - 1
    left, right = np.full(count, -1), np.full(count, -1)
    numbers = iter(random.permutation(count))

    def grown(leaves):
        node = next(numbers)
        if leaves > 1:
            first = split(leaves)
            left[node], right[node] = grown(first), grown(leaves - first)
        return node

    root = grown(leaves)
    return {"left": left, "right": right, "words": random.integers(0, words, count)}, root


class Networks(Case):
    def test_gru(self):
        self.check_recurrent("GRU", gru_step, 1)

    def test_lstm(self):
        self.check_recurrent("LSTM", lstm_step, 2)

    def check_recurrent(self, name, step, states):
        """For a whole batch, each sequence of which is one sample."""
        import torch

        batch, length, inputs, hidden = 3, 7, 4, 5
        for batch_first in False, True:
            torch.manual_seed(3)
            module = getattr(torch.nn, name)(inputs, hidden, batch_first=batch_first).double()
            axis = 0 if batch_first else 1
            draw = np.random.default_rng(5).normal
            x = torch.tensor(draw(size=(batch, length, inputs) if batch_first else (length, batch, inputs)))
            initial = tuple(torch.tensor(draw(size=(batch, hidden))) for _ in range(states))
            for each in (x, *initial):
                each.requires_grad_()
            outputs, last = module(x, initial[0][None] if states == 1 else tuple(each[None] for each in initial))
            last = (last[0],) if states == 1 else tuple(each[0] for each in last)
            results = (outputs, *last)
            factors = tuple(draw(size=tuple(each.shape)) for each in results)
            loss = sum((result * torch.tensor(factor)).sum() for result, factor in zip(results, factors))
            names, parameters = zip(*module.named_parameters())
            found = torch.autograd.grad(loss, [*parameters, x, *initial])
            gradients = dict(zip(names, found)), found[len(names)], tuple(found[len(names) + 1:])
            numbers = mapped(lambda leaf: leaf.detach().numpy(), (dict(zip(names, parameters)), x, initial))
            wanted = mapped(lambda leaf: leaf.detach().numpy(), results)
            self.check_batch(step, axis, given(numbers), wanted, given(factors), gradients)

    def check_batch(self, step, axis, arguments, wanted, factors, gradients):
        def sequence(weights, x, state):
            last, outputs = pl.scan(lambda state, x: step(weights, state, x),
                                    state if len(state) > 1 else state[0], x)
            return (outputs, *(last if len(state) > 1 else (last,)))

        batched = pl.vmap(sequence, in_axes=(None, axis, 0), out_axes=(axis, *(0 for _ in factors[1:])))

        def loss(*arguments):
            return sum(pl.sum(result * factor) for result, factor in zip(batched(*arguments), factors))

        gradient, direction = pl.grad(loss, (0, 1, 2)), mapped(pl.cos, arguments)
        slope = []
        mapped(lambda each, along: slope.append(np.sum(np.asarray(each) * along.numpy())), gradients, direction)
        for way in lambda f: f, lambda f: pl.trace(f)(*mapped(pl.zeros_like, arguments)):
            same(way(batched)(*arguments), wanted)
            same(way(gradient)(*arguments), gradients)
            same(way(lambda *primals: pl.jvp(loss, primals, direction)[1])(*arguments), sum(slope))

    def test_tree_lstm(self):
        import torch

        random = np.random.default_rng(11)
        hidden, size, words, leaves = 4, 3, 9, 8
        weights = {"children": (2 * hidden, 5 * hidden), "own": (size, 5 * hidden), "bias": (5 * hidden,),
                   "embeddings": (words, size)}
        weights = {name: random.normal(size=shape) for name, shape in weights.items()}
        factor = random.normal(size=hidden)
        splits = [lambda n: int(random.integers(1, n))] * 4 + [lambda n: 1, lambda n: n - 1, lambda n: n // 2]
        trees = [drawn_tree(random, leaves, words, split) for split in splits]

        values, gradients = [], []
        for tree, root in trees:
            followed = {name: torch.tensor(weight, requires_grad=True) for name, weight in weights.items()}
            h, c = torch_encoded(torch, followed, tree, root)
            value = (torch.tensor(factor) * h).sum() + c.square().sum()
            value.backward()
            values.append(value.item())
            gradients.append({name: weight.grad.numpy() for name, weight in followed.items()})

        def loss(weights, tree, root):
            h, c = encoded(weights, tree, root)
            return pl.sum(h * given(factor)) + pl.sum(c * c)

        self.check(loss, trees, values, shared=(weights,))
        self.check(pl.value_and_grad(loss), trees, list(zip(values, gradients)), shared=(weights,))

        with self.subTest("the sum over trees"):
            def total(weights, trees):
                return pl.sum(pl.vmap(loss, in_axes=(None, 0, 0))(weights, *trees))

            everything = mapped(lambda *each: np.sum(each, 0), *gradients)
            arguments = given(weights), together(trees)
            same(pl.grad(total)(*arguments), everything)
            same(pl.trace(pl.grad(total))(given(weights), together(trees[:1] * len(trees)))(*arguments), everything)

        with self.subTest("along a direction"):
            direction = {name: np.cos(weight) for name, weight in weights.items()}
            slopes = [sum(np.sum(gradient[name] * direction[name]) for name in weights) for gradient in gradients]
            along = given(direction)
            self.check(lambda weights, tree, root: pl.jvp(lambda w: loss(w, tree, root), (weights,), (along,))[1],
                       trees, slopes, shared=(weights,))

        with self.subTest("weights that are captured"):
            def captured(weights, tree, root):
                @pl.recursive
                def depth_weighted(node):
                    def inner(node):
                        return (depth_weighted(tree["left"][node]) + depth_weighted(tree["right"][node])) * 0.5

                    own = pl.sum(pl.tanh(weights["embeddings"][tree["words"][node]] @ weights["own"]))
                    return own + pl.cond(tree["left"][node] < 0, lambda _: own * 0, inner, node)

                return depth_weighted(root)

            def by_torch(weights, tree, node):
                own = torch.tanh(weights["embeddings"][int(tree["words"][node])] @ weights["own"]).sum()
                children = int(tree["left"][node]), int(tree["right"][node])
                return own if children[0] < 0 else own + sum(by_torch(weights, tree, child) for child in children) * 0.5

            results = []
            for tree, root in trees:
                followed = {name: torch.tensor(weights[name], requires_grad=True) for name in ("embeddings", "own")}
                value = by_torch(followed, tree, root)
                value.backward()
                results.append((value.item(), {name: weight.grad.numpy() for name, weight in followed.items()}))
            self.check(pl.value_and_grad(captured), trees, results,
                       shared=({name: weights[name] for name in ("embeddings", "own")},))

        with self.subTest("one program for trees of any size"):
            kinds = {name: pl.Spec("i64[n]") for name in ("left", "right", "words")}
            program = pl.trace(loss)(given(weights), kinds, pl.Spec("i64[]"))
            for leaves in 1, 2, 5, 20:
                tree, root = drawn_tree(random, leaves, words, splits[0])
                h, c = torch_encoded(torch, mapped(torch.tensor, weights), tree, root)
                value = (torch.tensor(factor) * h).sum() + c.square().sum()
                same(program(*given((weights, tree, root))), value.item())


# ---- Equations.


def root_of(function, start):
    """Newton's method, one step past where it has arrived: that step makes the derivatives arrive too."""
    def step(state):
        x, _ = state
        change = function(x) / pl.grad(function)(x)
        return x - change, change

    return pl.while_loop(lambda state: pl.absolute(state[1]) > 1e-12, step, (start, pl.ones_like(start)))[0]


class Equations(Case):
    def test_newton(self):
        """The root of x^3 + a x = b. Along it 3 x^2 x' + x + a x' = 0, and once more the same way."""
        def cubic_root(a):
            return root_of(lambda x: x * x * x + a * x - 2, given(1.5))

        def by_hand(a):
            roots = np.roots([1, 0, a, -2])
            x = roots[np.argmin(abs(roots.imag))].real
            first = -x / (3 * x ** 2 + a)
            return x, first, -(2 * first + 6 * x * first ** 2) / (3 * x ** 2 + a)

        samples = [(a,) for a in (0.3, 1.0, 2.5, 17.0)]
        values, slopes, curvatures = zip(*[by_hand(a) for a, in samples])
        self.check(cubic_root, samples, values)
        self.check(pl.grad(cubic_root), samples, slopes)

        def forward(f):
            return lambda a: pl.jvp(f, (a,), (pl.ones_like(a),))[1]

        self.check(forward(cubic_root), samples, slopes)
        for outer in pl.grad, forward:
            for inner in pl.grad, forward:
                with self.subTest(outer=outer.__name__, inner=inner.__name__):
                    self.check(outer(inner(cubic_root)), samples, curvatures)
        self.check(pl.hessian(cubic_root), samples, curvatures)

    def test_newton_in_several_dimensions(self):
        """x + x^3 + A x = a for each of three numbers; dx/da by the matrix of the equations."""
        coupling = np.random.default_rng(4).normal(size=(3, 3)) * 0.3

        def root(a):
            def equations(x):
                return x + x * x * x + given(coupling) @ x - a

            def step(state):
                x, _ = state
                change = pl.linalg.solve(pl.jacfwd(equations)(x), equations(x)[:, None])[:, 0]
                return x - change, pl.max(pl.absolute(change))

            return pl.while_loop(lambda state: state[1] > 1e-12, step, (a, given(1.0)))[0]

        from scipy.optimize import fsolve

        samples, values, slopes = [], [], []
        for a in [0.3, -0.2, 0.5], [0.1, 0.4, -0.3], [0.0, 0.0, 0.2]:
            x = fsolve(lambda x: x + x ** 3 + coupling @ x - a, a, xtol=1e-13)
            samples.append((np.array(a),))
            values.append(x)
            slopes.append(np.linalg.inv(np.diag(1 + 3 * x ** 2) + coupling))
        self.check(root, samples, values)
        self.check(pl.jacfwd(root), samples, slopes)
        self.check(pl.jacrev(root), samples, slopes)


# ---- Differential equations.


def solved(slope, y, end, accuracy=1e-9):
    """y(end) of y' = slope(y) by the method of Dormand and Prince, and how many steps it took."""
    from scipy.integrate import RK45  # for its coefficients

    def weighted(factors, slopes):
        return sum(float(factor) * each for factor, each in zip(factors, slopes) if factor)

    def step(state):
        h = pl.minimum(state["h"], end - state["t"])
        y, slopes = state["y"], [slope(state["y"])]
        for row in RK45.A[1:]:
            slopes.append(slope(y + h * weighted(row, slopes)))
        after = y + h * weighted(RK45.B, slopes)
        slopes.append(slope(after))
        error = pl.max(pl.absolute(h * weighted(RK45.E, slopes))) / accuracy
        good = error <= 1
        return {"t": pl.where(good, state["t"] + h, state["t"]), "y": pl.where(good, after, y),
                "h": h * pl.clip(0.9 * pl.maximum(error, 1e-8) ** -0.2, 0.2, 5.0), "steps": state["steps"] + 1}

    state = {"t": given(0.0), "y": y, "h": given(0.01), "steps": pl.asarray(0)}
    last = pl.while_loop(lambda state: state["t"] < end, step, state)
    return last["y"], last["steps"]


class DifferentialEquations(Case):
    def test_decay(self):
        end = 1.5

        def decay(a):
            return pl.sum(solved(lambda y: -a * y, pl.asarray(np.array([1.0, 2.0])), end)[0])

        samples = [(a,) for a in (0.1, 1.0, 4.0)]
        values = [3 * math.exp(-a * end) for a, in samples]
        slopes = [-end * value for value in values]
        steps = pl.vmap(lambda a: solved(lambda y: -a * y, pl.asarray(np.array([1.0, 2.0])), end)[1])(
            given(np.array([a for a, in samples]))).numpy()
        self.assertEqual(len(set(steps.tolist())), 3, steps)
        self.check(decay, samples, values, rtol=1e-7)
        self.check(pl.grad(decay), samples, slopes, rtol=1e-6)
        self.check(lambda a: pl.jvp(decay, (a,), (pl.ones_like(a),))[1], samples, slopes, rtol=1e-6)
        self.check(pl.grad(pl.grad(decay)), samples, [end * end * value for value in values], rtol=1e-4)

    def test_lotka_volterra(self):
        from scipy.integrate import solve_ivp

        end, start = 2.5, np.array([1.0, 0.5])

        def slope(p, y, stack):
            return stack([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])

        def hunted(p):
            return solved(lambda y: slope(p, y, pl.stack), pl.asarray(start), end)

        def by_scipy(p):
            return solve_ivp(lambda t, y: slope(p, y, np.stack), (0, end), start, method="DOP853", rtol=1e-13,
                             atol=1e-14).y[:, -1]

        samples = [(np.array(p),) for p in ([1.5, 1.0, 1.0, 3.0], [0.6, 0.4, 0.5, 1.0], [2.5, 1.5, 1.0, 2.0])]
        steps = pl.vmap(lambda p: hunted(p)[1])(together([p for p, in samples])).numpy()
        self.assertEqual(len(set(steps.tolist())), 3, steps)
        values = [by_scipy(p) for p, in samples]
        slopes = [np.stack([(by_scipy(p + d) - by_scipy(p - d)) / 2e-4 for d in np.eye(4) * 1e-4], 1) for p, in samples]
        self.check(lambda p: hunted(p)[0], samples, values, rtol=1e-7)
        accuracy = {"rtol": 1e-6, "atol": 1e-6}
        self.check(pl.jacfwd(lambda p: hunted(p)[0]), samples, slopes, **accuracy)
        self.check(pl.jacrev(lambda p: hunted(p)[0]), samples, slopes, **accuracy)
        self.check(pl.grad(lambda p: pl.sum(hunted(p)[0] ** 2)), samples,
                   [2 * value @ slope for value, slope in zip(values, slopes)], rtol=1e-6, atol=1e-5)


# ---- Loops.


LONGEST = 60


def escaped(x, y):
    """After how many steps of z -> z^2 + c the number leaves the circle, and the logarithm of |z|^2 then."""
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
        slopes = 2 * slope / z  # of log |z|^2, by x the real part and by y less the imaginary
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
        """Powers, of which the exponent depends on the numbers."""
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


# ---- Scans of what may be bracketed in any way.


def with_spreads(model):
    """The matrices that are symmetric are given as factors."""
    spreads = {name: model[name] @ model[name].T for name in ("drift", "noise", "spread")}
    return {**model, **spreads}


def filtered(xp, model, measured):
    """Kalman's means, one after the other, for NumPy and PyTorch."""
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
    """The same, as Särkkä and García-Fernández bracket it."""
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
        """Products of matrices, which may be bracketed but not exchanged."""
        matrices = np.random.default_rng(2).normal(size=(11, 3, 3))
        for reverse in False, True:
            found = pl.associative_scan(lambda a, b: a @ b, given(matrices), reverse=reverse)
            for i in range(11):
                some = matrices[i:] if reverse else matrices[:i + 1]
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


# ---- Others.


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
    """What these programs do elsewhere."""

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
        """In a process of its own: PyTorch would hold this module for longer than Python can clean up."""
        said = subprocess.run([sys.executable, "-c", TORCH], capture_output=True, text=True, check=True).stdout
        self.assertIn("as it is: 24.0", said)
        self.assertRegex(said, "exported with if: .*data-dependent")
        self.assertRegex(said, "exported with cond: .*RecursionError")
        self.assertRegex(said, "compiled with if: .*Data-dependent branching")
        same(pl.trace(factorial)(given(1.0))(given(4.0)), 24)


if __name__ == "__main__":
    unittest.main()
