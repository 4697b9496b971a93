"""jit in Python: the same results as without it, compared with torch.compile and jax.jit."""

import gc
import json
import textwrap
import unittest
import weakref

import numpy as np
import plait as pl


def array(*numbers):
    return pl.asarray(np.array(numbers, dtype=np.float64))


def same(test, a, b):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-12, atol=1e-14)


class Jit(unittest.TestCase):
    def test_arrays_of_numpy_are_arguments(self):
        f = pl.jit(lambda x, y: (x * y["y"], pl.sum(x)))
        for scale in (1.0, 2.0):
            product, total = f(np.full(3, scale), {"y": np.arange(3.0)})
            np.testing.assert_allclose(product, scale * np.arange(3))
            self.assertEqual(float(total), 3 * scale)

    def test_calls_that_look_alike(self):
        """Repeated calls are recognised by a quick comparison, which must notice every difference."""
        found = {"pl": pl}
        exec(textwrap.dedent("""
            offset, factor, label = 1.0, 3, {"name": "a"}
            def helper(x):
                return x + offset
            def make(shift):
                def f(model, x, mode="a", *, power=2):
                    y = helper(x) * factor ** power + model["w"] * model["layers"][0] + shift
                    y = y if mode == "a" else -y
                    return {"y": y, "n": len(model["layers"]), "label": label["name"]}
                def set_shift(value):
                    nonlocal shift
                    shift = value
                return f, set_shift
            """), found)
        f, set_shift = found["make"](pl.tensor(0.5))
        jitted = pl.jit(f)
        model = {"w": pl.tensor([1.0, 2.0]), "layers": [pl.tensor(2.0)]}
        x = pl.tensor([3.0, 4.0])

        def swapped():
            model["w"], model["layers"] = model.pop("w") + 1, [pl.tensor(5.0)]

        def redefined():
            exec("def helper(x): return x - offset", found)

        def recoded():
            f.__code__ = found["make"](pl.tensor(0.5))[0].__code__.replace(co_name="g")

        changes = [lambda: None, lambda: found.update(offset=2.0), lambda: found.update(factor=2), lambda: found["label"].update(name="b"),
                   lambda: set_shift(pl.tensor(0.25)), lambda: set_shift(4.0), lambda: model["layers"].append(pl.tensor(1.0)), lambda: model.update(w=pl.tensor(2.0)),
                   swapped, redefined, lambda: found.pop("offset"), lambda: found.update(offset=7.0), recoded, lambda: f.__kwdefaults__.update(power=1),
                   lambda: setattr(f, "__defaults__", ("b",)), lambda: model.update(more=pl.tensor(0.0))]
        for number, change in enumerate(changes):
            change()
            if "offset" not in found:
                for _ in range(3):
                    with self.assertRaises(NameError):
                        jitted(model, x)
                continue
            for _ in range(4):
                with self.subTest(number):
                    ours, plain = jitted(model, x), f(model, x)
                    np.testing.assert_allclose(ours["y"], plain["y"], rtol=1e-6)
                    self.assertEqual((ours["n"], ours["label"]), (plain["n"], plain["label"]))
        for arguments, named in (((model, x, "a"), {}), ((model,), {"x": x}), ((model, 2.5), {}), ((model, x), {"power": 3, "mode": "a"})):
            for _ in range(4):
                np.testing.assert_allclose(jitted(*arguments, **named)["y"], f(*arguments, **named)["y"], rtol=1e-6)

    def test_nothing_holds_what_is_gone(self):
        """Neither arguments nor functions that refer to themselves through their closure are kept alive."""
        class Here:
            pass

        def made():
            here = Here()

            @pl.jit
            def f(x):
                return x * 2 if here and f else x

            for _ in range(4):
                f(pl.ones(3))
            return weakref.ref(here), weakref.ref(f)

        references = made()
        gc.collect()
        self.assertEqual([each() for each in references], [None, None])

    def test_records_once(self):
        @pl.jit
        def f(x, scale):
            return {"y": x * scale, "name": "y"}

        for value in (1.0, 2.0, 3.0):
            result = f(array(value, 2), 2.0)
            self.assertEqual(result["name"], "y")
            same(self, result["y"], [2 * value, 4])
        self.assertEqual((f.stats().traces, f.stats().hits), (1, 2))
        f(array(1, 2), scale=3.0)
        self.assertEqual(f.stats().traces, 2)

    def test_static_arguments(self):
        f = pl.jit(lambda x, times: x * times)
        for times in (2, 3, 2, 3):
            same(self, f(array(1.0), times), [times])
        self.assertEqual(f.stats().traces, 2)
        with self.assertRaisesRegex(TypeError, "cannot be hashed"):
            f(array(1.0), bytearray(2))

    def test_what_is_outside_may_be_anything_that_can_be_told_apart(self):
        names = {"a"}
        f = pl.jit(lambda x: x * len(names))
        same(self, f(array(1.0)), [1])
        names.add("b")
        same(self, f(array(1.0)), [2])
        self.assertEqual(f.stats().traces, 2)

    def test_sizes(self):
        @pl.jit
        def f(x):
            return pl.sum(x) / x.shape[0] + pl.zeros((x.shape[0],))

        for count in (3, 5, 1, 8, 2, 1):
            x = np.arange(count, dtype=np.float64)
            same(self, f(pl.asarray(x)), np.full(count, x.mean()))
        self.assertEqual(f.stats().traces, 2)

    def test_whole_numbers_become_symbols(self):
        """An integer argument becomes a symbol, like a size."""
        f = pl.jit(lambda x, n, *, by=1: (x * n - by, n + 1, pl.zeros((abs(n), 2)).shape))
        for n in range(300):
            got, one_more, shape = f(array(2.0), n, by=n % 7)
            same(self, got, [2.0 * n - n % 7])
            self.assertEqual((one_more, shape), (n + 1, (n, 2)))
        self.assertLessEqual(f.stats().traces, 5)
        for n in (-3, -8, -1, 2**41, True, False):
            same(self, f(array(2.0), n)[0] if abs(n) < 9 else pl.jit(lambda x, n: x * n)(array(2.0), n), [2.0 * n - (abs(n) < 9)])
        calls = {"n": array(0.0)}

        def written(x, n):
            calls["n"] = calls["n"] + 1
            return x * n, json.dumps({"n": n})  # does not accept symbolic sizes

        f = pl.jit(written)
        for i, n in enumerate((3, 4, 5, 3)):
            self.assertEqual(f(array(1.0), n)[1], json.dumps({"n": n}))
            same(self, calls["n"], [i + 1])
        axis = pl.jit(lambda x, axis: pl.sum(x, axis))
        x = pl.asarray(np.arange(24.0).reshape(2, 3, 4))
        for _ in range(2):
            for number in (0, 1, 2, -1, -3):
                same(self, axis(x, number), np.sum(np.arange(24.0).reshape(2, 3, 4), number))
        table = pl.jit(lambda x, n: x * {3: 10.0, 4: 20.0, 5: 30.0}[n])
        for n in (3, 4, 5, 3):
            same(self, table(array(1.0), n), [{3: 10.0, 4: 20.0, 5: 30.0}[n]])

    def test_sizes_are_whole_numbers(self):
        @pl.jit
        def f(x):
            n = x.shape[0]
            assert isinstance(n, int) and n in {n: 0} and round(n) == n
            return [x / n, n / 2 * x, -n, n**2, 2**n, 1 / n, n % 2, divmod(n, 2), 7 // n, n * 0.5, 3 - n, n << 1, str(n), f"{n:3}", {n: x}]

        for count in (2, 3, 5, 2):
            with self.subTest(count):
                x = np.ones(count)
                plain = f.__wrapped__(x)
                got = f(pl.asarray(x))
                for a, b in zip(got, plain):
                    self.assertEqual(np.asarray(a).tolist() if not isinstance(a, dict) else list(a), np.asarray(b).tolist() if not isinstance(b, dict) else list(b))

    def test_what_is_recorded_often_is_reported(self):
        f = pl.jit(lambda x, mode: x * len(mode))
        with self.assertWarnsRegex(pl.HostStateWarning, "recorded 8 times for different values of arg1"):
            for i in range(10):
                f(array(1.0), "a" * i)

    def test_random_numbers_of_the_host(self):
        import random
        import time

        for draw in (lambda x: x * random.random(), lambda x: x * np.random.rand(), lambda x: x + time.perf_counter()):
            f = pl.jit(draw)
            with self.assertWarnsRegex(pl.HostStateWarning, "returns a different value at each") as warned:
                first = f(array(1.0)).item()
            self.assertEqual(warned.filename, __file__)
            self.assertNotEqual(first, f(array(1.0)).item())
        seeded = pl.jit(lambda x: x * np.random.default_rng(3).random())
        self.assertEqual(seeded(array(1.0)).item(), seeded(array(1.0)).item())
        self.assertEqual(seeded.stats().hits, 1)

    def test_sizes_as_numbers(self):
        @pl.jit
        def f(x):
            if x.shape[0] == 3:
                return x * 100
            total = x
            for _ in range(x.shape[0]):
                total = total + 1
            return total if x.shape[0] > 2 else -total

        for count in (2, 3, 4, 2, 3, 4, 1):
            x = np.arange(count, dtype=np.float64)
            same(self, f(pl.asarray(x)), x * 100 if count == 3 else (x + count) * (1 if count > 2 else -1))

    def test_closures_and_globals_are_looked_at_again(self):
        weight, times = array(2.0), 3

        def helper(x):
            return x * weight

        @pl.jit
        def f(x):
            return helper(x) * times

        same(self, f(array(1.0)), [6])
        weight = array(5.0)
        same(self, f(array(1.0)), [15])
        self.assertEqual(f.stats().hits, 1)
        times = 4
        same(self, f(array(1.0)), [20])

    def test_functions_of_one_name_find_each_their_own(self):
        def times(w):
            return lambda x: x * w

        twice, thrice = times(array(2.0)), times(array(3.0))
        f = pl.jit(lambda x: twice(x) + thrice(x) * 10)
        for _ in range(2):
            same(self, f(array(1.0)), [32])
        thrice = times(array(4.0))
        same(self, f(array(1.0)), [42])
        self.assertEqual(f.stats().traces, 1)

    def test_what_is_called_may_change(self):
        import math

        root, scale = math.sqrt, pl.sin
        inner = pl.jit(lambda x: scale(x) * weight)
        weight = array(2.0)
        f = pl.jit(lambda x, w=array(10.0): inner(x) * root(4.0) + w)
        same(self, f(array(1.0)), [np.sin(1.0) * 4 + 10])
        weight = array(3.0)
        same(self, f(array(1.0)), [np.sin(1.0) * 6 + 10])
        self.assertEqual(f.stats().hits, 1)
        scale = pl.cos
        same(self, f(array(1.0)), [np.cos(1.0) * 6 + 10])
        root = math.cbrt if hasattr(math, "cbrt") else math.exp
        same(self, f(array(1.0)), [np.cos(1.0) * 3 * root(4.0) + 10])

    def test_items(self):
        @pl.jit
        def f(x):
            if x.item() * 2 + 1 > 3 and not x.item() == 7:
                return x * 2
            return x + 1

        for value in (1.0, 3.0, 7.0, 0.5, 4.0):
            expected = value * 2 if value * 2 + 1 > 3 and value != 7 else value + 1
            self.assertEqual(f(pl.asarray(value)).item(), expected)
        self.assertEqual(f.stats().host_runs, 0)

    def test_grad_and_vmap(self):
        def f(x):
            return pl.sum(pl.sin(x) * x) if pl.sum(x) > 0 else pl.sum(x * x)

        jitted = pl.jit(f)
        for x in (array(1.0, 2.0), array(-1.0, -2.0), array(0.5, 0.7)):
            same(self, pl.grad(jitted)(x), pl.grad(f)(x))
            same(self, pl.jit(pl.grad(f))(x), pl.grad(f)(x))
        rows = pl.asarray(np.arange(6.0).reshape(3, 2))
        square = pl.jit(lambda x: pl.sum(x * x))
        same(self, pl.vmap(square)(rows), np.array([1.0, 13.0, 41.0]))
        same(self, pl.jit(pl.vmap(lambda x: pl.sum(x * x)))(rows), np.array([1.0, 13.0, 41.0]))

    def test_one_in_another_is_called(self):
        @pl.jit
        def layer(x, weight):
            return pl.tanh(x @ weight)

        @pl.jit
        def norm(x):
            return x / x.item() if x.ndim == 0 else x / pl.max(x).item()

        def net(x):
            y = x
            for i in range(4):
                y = layer(y, x * (i + 2))
            return pl.sum(norm(y))

        x = pl.asarray(np.linspace(-1, 1, 9).reshape(3, 3))
        text = str(pl.trace(lambda x: layer(layer(x, 2 * x), 3 * x))(x))
        self.assertEqual(text.count("call @layer"), 2, text)
        self.assertEqual(text.count("tanh"), 1, text)
        plain = net(x)
        for f in (net, pl.jit(net)):
            for _ in range(2):
                same(self, f(x), plain)
        same(self, pl.jit(pl.grad(net))(x), pl.grad(net)(x))
        same(self, pl.grad(pl.jit(net))(x), pl.grad(net)(x))
        rows = pl.asarray(np.linspace(-1, 2, 18).reshape(2, 3, 3))
        deep = lambda x: pl.sum(layer(x, x) * x)
        same(self, pl.jit(pl.vmap(pl.grad(deep)))(rows), pl.vmap(pl.grad(deep))(rows))

    def test_donation(self):
        step = pl.jit(lambda state, by: {"a": state["a"] + by, "b": state["b"] * 2}, donate=(0,))
        state = {"a": array(*range(1000)) + 0, "b": array(*range(1000)) + 0}
        by = array(1.0)
        state = step(state, by)
        before, places = state, {name: x.numpy().ctypes.data for name, x in state.items()}
        state = step(state, by)
        self.assertEqual({name: x.numpy().ctypes.data for name, x in state.items()}, places)
        same(self, state["a"], np.arange(1000) + 2)
        same(self, state["b"], np.arange(1000) * 4)
        for gone in before.values():
            with self.assertRaisesRegex(ValueError, "donated"):
                pl.sum(gone)
        same(self, by, [1])

        # Values that are shared with others are not overwritten.
        view = state["a"][2:]
        state = step(state, by)
        same(self, view, np.arange(2, 1000) + 2)
        array_of_numpy = np.ones(5)
        named = pl.jit(lambda x, y: x + y, donate="y")
        for _ in range(3):
            same(self, named(array(1.0), y=pl.asarray(array_of_numpy)), np.full(5, 2))
        same(self, array_of_numpy, np.ones(5))
        x = array(1.0, 2.0)
        twice = pl.jit(lambda x, y: (x + y, y), donate=0)
        twice(x + 0, x + 0)
        both = x + 0
        same(self, twice(both, both)[0], [2, 4])

        # A call that fails keeps its arguments.
        failing = pl.jit(lambda x, n: x.reshape((n,)), donate=0)
        kept = x + 0
        with self.assertRaises(ValueError):
            failing(kept, 3)
        same(self, kept, [1, 2])
        with self.assertRaisesRegex(ValueError, "argument 2 cannot be donated"):
            pl.jit(lambda x: x, donate=2)(x)
        with self.assertRaisesRegex(ValueError, "argument 'z' cannot be donated: the call has 1 positional argument, y"):
            pl.jit(lambda x, y: x + y, donate="z")(x, y=x)
        gone = array(3.0, 4.0) + 0
        same(self, named(x, gone), [4, 6])  # by its name, although it is given by its place
        with self.assertRaisesRegex(ValueError, "donated"):
            pl.sum(gone)

    def test_errors(self):
        with self.assertRaisesRegex(ValueError, "fullgraph"):
            pl.jit(lambda x: x * float(x), fullgraph=True)(pl.asarray(2.0))
        with self.assertRaisesRegex(ValueError, "cond"):
            pl.jit(lambda x: pl.vmap(lambda row: row * float(pl.sum(row)))(x))(pl.asarray(np.ones((2, 2))))
        with self.assertRaises(KeyError):
            pl.jit(lambda x: x, backend="none")
        self.assertIn("evaluator", pl.list_backends())

    def test_dynamic(self):
        f = pl.jit(lambda x: x * 2, dynamic=[pl.Dynamic(name="n", divisor=2)])
        for count in (2, 4, 6):
            same(self, f(pl.asarray(np.ones(count))), np.full(count, 2.0))
        self.assertEqual(f.stats().traces, 1)
        with self.assertRaises(ValueError):
            f(pl.asarray(np.ones(3)))


# ---- Nine functions, compared with torch.compile and jax.jit. Each is written for a module `m` with the names that all
# share.


def asserts(m, x):
    assert m.sum(x) > 0
    return x * 2


def reads(m, x):
    return x * float(m.max(x))


def prints(m, x):
    f"{float(m.sum(x)):.3f}"
    return x + 1


def loops(m, x):
    while m.sum(x) < 100:
        x = x * 2
    return x


def branches_on_a_place(m, x):
    place = int(m.argmin(x))
    return x * 2 if place == 0 else x - place


def computes_with_sizes(m, x):
    total = x[0]
    for i in range(x.shape[0] // 2):
        total = total + x[i] * i
    return total


def slices_by_a_value(m, x):
    count = int(m.sum(x > 1.0))
    return m.sum(x[:count])


def returns_early(m, x):
    if m.sum(x * x) < 1.0:
        return x
    return x / m.sum(x * x)


def raises(m, x):
    if m.sum(x) < 0:
        raise ValueError("negative")
    return x * 3


BREAKING = [asserts, reads, prints, loops, branches_on_a_place, slices_by_a_value, returns_early, raises]
SAMPLES = [[1.0, 2.0, 3.0], [0.1, 0.2, 0.3], [5.0, 0.5, 2.0], [1.0, 2.0, 3.0], [4.0, 4.5]]


class NineFunctions(unittest.TestCase):
    def test_plait_runs_all(self):
        for function in [*BREAKING, computes_with_sizes]:
            jitted = pl.jit(lambda x: function(pl, x))
            for sample in SAMPLES + SAMPLES:
                with self.subTest(function=function.__name__, sample=sample):
                    x = pl.asarray(np.array(sample))
                    same(self, jitted(x), function(pl, x))

    def test_exceptions_leave_the_record(self):
        jitted = pl.jit(lambda x: raises(pl, x))
        for _ in range(3):
            with self.assertRaisesRegex(ValueError, "negative"):
                jitted(array(-1.0))
            same(self, jitted(array(1.0)), [3.0])
        self.assertEqual(jitted.stats().traces, 1)

    def test_jax_does_not(self):
        import jax

        jax.config.update("jax_enable_x64", True)
        import jax.numpy as jnp

        for function in BREAKING:
            with self.subTest(function=function.__name__):
                with self.assertRaises(Exception):
                    jax.jit(lambda x: function(jnp, x))(jnp.array(SAMPLES[0]))
        x = jnp.array(SAMPLES[0])
        same(self, jax.jit(lambda x: computes_with_sizes(jnp, x))(x), computes_with_sizes(jnp, x))

    def test_torch_runs_some(self):
        import torch

        for function in [*BREAKING, computes_with_sizes]:
            torch._dynamo.reset()
            compiled = torch.compile(lambda x: function(torch, x), fullgraph=True, backend="eager")
            samples = [torch.tensor(sample, dtype=torch.float64) for sample in SAMPLES]
            with self.subTest(function=function.__name__):
                if function in (loops, branches_on_a_place, returns_early, raises):
                    with self.assertRaises(Exception):
                        compiled(samples[0])
                else:
                    for sample in samples:
                        same(self, compiled(sample), function(torch, sample))


class Truth(unittest.TestCase):
    def test_of_numbers_and_of_one_element(self):
        def f(x):
            return x * 2 if x else x - 1

        for dtype in ("f32", "f64", "bf16", "i64", "u8", "c64", "bool"):
            for shape in ((), (1,), (1, 1)):
                jitted = pl.jit(f)
                for value in (1, 0, 1):
                    x = pl.full(shape, value, dtype=dtype)
                    with self.subTest(dtype=dtype, shape=shape, value=value):
                        self.assertEqual(str(jitted(x)), str(f(x)))
        with self.assertRaisesRegex(pl.errors.ShapeError, "one element"):
            pl.jit(f)(pl.ones(2))


if __name__ == "__main__":
    unittest.main()
