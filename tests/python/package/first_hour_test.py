"""Code that newcomers from PyTorch and JAX write in their first hour, and former silent errors."""

import unittest
import warnings

import numpy as np
import plait as pl


def plain(tree):
    leaves, structure = pl.tree.flatten(tree)
    return [np.asarray(leaf).tolist() for leaf in leaves], str(structure)


class Sizes(unittest.TestCase):
    def test_slices_from_the_end_by_sizes(self):
        f = pl.jit(lambda x: (x[-(x.shape[0] // 2):], x[:-(x.shape[0] // 2)], x[x.shape[0] - 5:], x[-x.shape[0] // 2:]))
        g = pl.jit(lambda x, n: (x[:-n], x[-n:], x[-n::-1], x[1 - n:], x.at[-n:].set(7.0), x[-n] if n else None))
        for size in 4, 6, 7, 3, 0, 1, 10:
            x = pl.arange(float(size))
            self.assertEqual(plain(f(x)), plain(f.__wrapped__(x)))
            for n in 0, 1, 2, 3, 5, 2, -1:
                if abs(n) < size:
                    with self.subTest(size=size, n=n):
                        self.assertEqual(plain(g(x, n)), plain(g.__wrapped__(x, n)))
        program = pl.trace(lambda x, y: x[-y.shape[0]:])(pl.Spec("f32[5]"), pl.Spec("f32[n]"))
        self.assertEqual(program(pl.arange(5.0), pl.ones(2)).tolist(), [3.0, 4.0])

    def test_sizes_that_are_kept_are_numbers(self):
        class Seen:
            def __init__(self):
                self.sum, self.last, self.all, self.names, self.where = 0, 0, [], {}, set()

            @pl.jit
            def __call__(self, x):
                n = x.shape[0]
                self.sum += n
                self.last = (n, "a")
                self.all.append({"n": n})
                self.names[n] = n + 1
                self.where.add(n)
                return x * 2, {n}

        state = {"n": 0, "both": []}

        def noted(x):
            state["n"] = x.shape[0]
            state["both"] = [x.shape[0], (x.shape[0] + 1,)]
            return x

        jitted = pl.jit(noted)
        for n in 2, 3, 4, 3, 5:
            jitted(pl.ones(n))
            self.assertEqual(str(state), str({"n": n, "both": [n, (n + 1,)]}))
        seen = Seen()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pl.HostStateWarning)
            for n in range(2, 12):
                self.assertEqual(seen(pl.ones(n))[1], {n})
        self.assertEqual((f"{seen.sum}", seen.last), ("65", (11, "a")))
        self.assertEqual([each["n"] for each in seen.all], list(range(2, 12)))
        self.assertEqual((str(seen.names), seen.where), (str({n: n + 1 for n in range(2, 12)}), set(range(2, 12))))

    def test_text(self):
        f = pl.jit(lambda x: (f"{x}", str(x.shape), f"{x.shape[0]!r}", f"{x * 2:}", "%s" % ([x.shape[0]],)))
        for size in 1, 2, 3, 2:
            x = pl.ones(size)
            self.assertEqual(f(x), f.__wrapped__(x))

    def test_numpys_functions_of_sizes(self):
        f = pl.jit(lambda x: x / np.sqrt(x.shape[0]) + np.log(x.shape[0]))
        for size in 2, 3, 4:
            self.assertEqual(plain(f(pl.ones(size))), plain(f.__wrapped__(pl.ones(size))))


class Numbers(unittest.TestCase):
    def test_in_carries(self):
        self.assertEqual(plain(pl.scan(lambda c, x: (c + 1, c * x), 0, pl.ones(4))), ([4, [0, 1, 2, 3]], "(*, *)"))
        self.assertEqual(pl.for_loop(0, 3, lambda i, c: c + i, 0).item(), 3)
        both = pl.scan(lambda c, x: ((c[0] + x, c[1] + x), None), (0.0, pl.tensor(0.0)), pl.ones(3))[0]
        self.assertEqual(plain(both)[0], [3, 3])
        counted = pl.scan(lambda c, x: ({"i": c["i"] + 1, "s": c["s"] + x * c["i"]}, None), {"i": 0, "s": 0.0}, pl.ones(4))[0]
        self.assertEqual(plain(counted)[0], [4, 6])
        self.assertEqual(pl.while_loop(lambda c: c < 5, lambda c: c + 1, 0).item(), 5)
        self.assertEqual(pl.jit(lambda p: pl.cond(p, lambda: 1, lambda: 2))(pl.tensor(False)).item(), 2)
        self.assertEqual(pl.vmap(lambda x: 3)(pl.ones(2)).tolist(), [3, 3])

    def test_floats_in_trees_have_derivatives(self):
        self.assertEqual(plain(pl.grad(lambda p: p[0] * p[1])((2.0, 3.0)))[0], [3, 2])
        self.assertEqual(pl.grad(lambda p: p["w"] ** 2)({"w": 3.0, "n": 4})["w"].item(), 6)
        self.assertEqual(pl.jvp(lambda p: p["w"] ** 2, ({"w": 3.0},), ({"w": 1.0},))[1].item(), 6)
        self.assertEqual(pl.jacrev(lambda p: p[0] * p[1])([2.0, 3.0])[0].item(), 3)
        model = {"w": 2.0, "b": pl.ones(1)}
        with self.assertRaisesRegex(pl.ValueError, "'w'"):
            pl.optim.SGD(model, lr=0.1).update(model, {"w": pl.ones(()), "b": pl.ones(1)})

    def test_what_gives_nothing(self):
        with self.assertRaisesRegex(pl.TypeError, "return"):
            pl.grad(lambda x: None)(2.0)
        with self.assertRaisesRegex(pl.TypeError, "tuples"):
            pl.jvp(pl.sin, 1.0, 1.0)


class Tied(pl.Module):
    def __init__(self):
        self.a, self.b = pl.nn.Linear(3, 3, bias=False), pl.nn.Linear(3, 3, bias=False)
        self.b.weight = self.a.weight

    def __call__(self, x):
        return self.b(self.a(x))


class TiedWeights(unittest.TestCase):
    def test_stay_one(self):
        def loss(model):
            return pl.sum(model(pl.ones((1, 3))) ** 2)

        def step(model, _):
            return pl.tree.map(lambda p, g: p - 0.01 * g, model, pl.grad(loss)(model)), ()

        start = Tied()
        (_, given), _ = pl.value_and_grad(lambda m: (loss(m), m), has_aux=True)(start)
        looped = start
        for _ in range(3):
            looped = step(looped, None)[0]
        ways = [given, pl.scan(step, start, length=3)[0], pl.jit(lambda m: pl.scan(step, m, length=3)[0])(start),
                pl.for_loop(0, 3, lambda i, m: step(m, None)[0], start), pl.vjp(lambda m: m, start)[0]]
        for model in ways:
            self.assertIs(model.a.weight, model.b.weight)
        for model in ways[1:4]:
            np.testing.assert_allclose(model.a.weight, looped.a.weight, rtol=1e-6)

    def test_may_come_apart(self):
        apart = pl.scan(lambda m, x: (pl.tree.map(lambda p: p, m), ()), Tied(), length=2)[0]
        self.assertIs(apart.a.weight, apart.b.weight)

        def untied(model, _):
            model.a.weight, model.b.weight = model.a.weight + 1, model.b.weight - 1
            return model, ()

        start = Tied()
        apart = pl.scan(untied, start, length=2)[0]
        np.testing.assert_allclose(apart.a.weight - apart.b.weight, np.full((3, 3), 4.0), rtol=1e-5)
        zero = pl.zeros(2)
        self.assertEqual(plain(pl.scan(lambda c, x: ((c[0] + x, c[1] - x), None), (zero, zero), pl.ones((3, 2)))[0])[0], [[3, 3], [-3, -3]])


if __name__ == "__main__":
    unittest.main()
