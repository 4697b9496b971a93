"""Recurrent networks, networks over trees, and equation solvers, written with loops and recursion: their values and
derivatives, eagerly, in traces and under vmap, compared with PyTorch, SciPy and closed forms."""

import math
import unittest

import numpy as np
import plait as pl
from ways import Case, given, mapped, same, together


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
    """h and c of a node from those of its children; a missing child is -1."""
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
    """A tree of 2 * leaves - 1 nodes, in any order; `split` chooses the number of leaves on the left."""
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
        """Compares a whole batch, in which each sequence is one sample."""
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
    """Newton's method, with one step after convergence, which makes the derivatives converge too."""
    def step(state):
        x, _ = state
        change = function(x) / pl.grad(function)(x)
        return x - change, change

    return pl.while_loop(lambda state: pl.absolute(state[1]) > 1e-12, step, (start, pl.ones_like(start)))[0]


class Equations(Case):
    def test_newton(self):
        """The root of x^3 + a x = b: 3 x^2 x' + x + a x' = 0, and one more derivative in the same way."""
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
        """x + x^3 + A x = a for a vector of three; dx/da by implicit differentiation."""
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
    """y(end) of y' = slope(y) by the Dormand-Prince method, and the number of steps."""
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


if __name__ == "__main__":
    unittest.main()
