"""Layers that change themselves, called by functions that do not receive them: in every transform, eagerly and jitted, a change is made
or refused by an error that names the layer, and the layer has values afterwards, whether the function fails or not."""

import unittest
import warnings

import numpy as np
import plait as pl
from plait import nn

ROWS = pl.asarray(np.random.default_rng(0).standard_normal((5, 4, 3)))


class Stop(Exception):
    """Raised by the user's own code."""


def by_script(layer):
    @pl.script
    def chosen(x):
        if pl.sum(x) > -1e9:
            x = layer(x)
        return x

    return chosen


# Functions of the rows that call the layer, which they hold. Those of RECORDED are recorded even without jit.
RECORDED = {
    "vmap": lambda layer: lambda x: pl.vmap(layer.__call__)(x),
    "vmap of grad": lambda layer: lambda x: pl.vmap(pl.grad(lambda row: pl.sum(layer(row))))(x),
    "trace": lambda layer: lambda x: pl.trace(layer.__call__)(x[0])(x[0]),
    "vmap of vmap": lambda layer: lambda x: pl.vmap(lambda rows: pl.vmap(lambda row: layer(ROWS[0] * row))(rows))(x),
}
FORMS = RECORDED | {
    "scan": lambda layer: lambda x: pl.scan(lambda carry, row: (carry, layer(row)), pl.zeros(()), x)[1],
    "map": lambda layer: lambda x: pl.map(layer.__call__, x),
    "for_loop": lambda layer: lambda x: pl.for_loop(0, 3, lambda i, carry: layer(carry), x[0]),
    "while_loop": lambda layer: lambda x: pl.while_loop(lambda carry: carry[1] < 3, lambda carry: (layer(carry[0]), carry[1] + 1), (x[0], 0)),
    "cond": lambda layer: lambda x: pl.cond(pl.sum(x) > -1e9, layer.__call__, lambda row: row, x[0]),
    "switch": lambda layer: lambda x: pl.switch(pl.tensor(0), [layer.__call__, lambda row: row], x[0]),
    "script": lambda layer: lambda x: by_script(layer)(x[0]),
    "remat": lambda layer: lambda x: pl.remat(layer.__call__)(x[0]),
    "grad of remat": lambda layer: lambda x: pl.grad(lambda row: pl.sum(pl.remat(layer.__call__)(row) ** 3))(x[0]),
    "scan in scan": lambda layer: lambda x: pl.scan(
        lambda carry, rows: (carry, pl.scan(lambda inner, row: (inner, layer(ROWS[0] * row)), carry, rows)[1]), pl.zeros(()), x)[1],
    "associative_scan": lambda layer: lambda x: pl.associative_scan(lambda a, b: pl.reshape(layer(pl.reshape(a + b, (-1, 3))), a.shape), x),
}
DERIVATIVES = {
    "grad": lambda layer: lambda x: pl.grad(lambda row: pl.sum(layer(row) ** 3))(x[0]),
    "vjp": lambda layer: lambda x: pl.vjp(layer.__call__, x[0])[0],
    "jvp": lambda layer: lambda x: pl.jvp(layer.__call__, (x[0],), (x[0],))[0],
    "linearize": lambda layer: lambda x: pl.linearize(layer.__call__, x[0])[0],
    "jacrev": lambda layer: lambda x: pl.jacrev(layer.__call__)(x[0]),
    "jacfwd": lambda layer: lambda x: pl.jacfwd(layer.__call__)(x[0]),
    "hessian": lambda layer: lambda x: pl.hessian(lambda row: pl.sum(layer(row) ** 3))(x[0]),
    "jit": lambda layer: lambda x: pl.jit(layer.__call__)(x[0]),
    "autocast": lambda layer: lambda x: pl.autocast()(layer.__call__)(x[0]),
}


class Failing:
    """Calls a layer, then fails."""

    def __init__(self, layer):
        self.layer = layer

    def __call__(self, x):
        self.layer(x)
        raise Stop


def state_of(layer):
    return [np.asarray(each).copy() for each in nn.state(layer).values()]


def called(function, times=1):
    """The error of the calls, or None."""
    try:
        for _ in range(times):
            function(ROWS)
    except (pl.errors.Error, Stop) as error:
        return error
    return None


class HeldLayers(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore", pl.errors.HostStateWarning)

    def expect_same(self, layer, other):
        for one, two in zip(state_of(layer), state_of(other), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-7)

    def test_recorded_functions_name_the_layer(self):
        for name, form in RECORDED.items():
            with self.subTest(name):
                layer = nn.BatchNorm1d(3)
                error = called(form(layer))
                self.assertIsInstance(error, pl.errors.TypeError)
                self.assertRegex(str(error), r"assigns to \w+ of a BatchNorm1d that it did not receive(.|\n)*hint")
                self.expect_same(layer, nn.BatchNorm1d(3))

    def test_jitted_functions_change_it_as_eager_ones_or_name_it(self):
        for name, form in (FORMS | DERIVATIVES).items():
            for times in (1, 3):
                with self.subTest(name, times=times):
                    eager, jitted = nn.BatchNorm1d(3), nn.BatchNorm1d(3)
                    expected = called(form(eager), times)
                    error = called(pl.jit(form(jitted)), times)
                    if name in RECORDED or name == "script" or "remat" in name:
                        self.assertRegex(str(error), "of a BatchNorm1d that it did not receive")
                        self.expect_same(jitted, nn.BatchNorm1d(3))
                    else:
                        self.assertEqual((error, expected), (None, None))
                        self.expect_same(jitted, eager)

    def test_failures_leave_values(self):
        for name, form in (FORMS | DERIVATIVES).items():
            for transform in (lambda f: f, pl.jit):
                with self.subTest(name, transform=transform):
                    layer = nn.BatchNorm1d(3)
                    error = called(transform(form(Failing(layer))))
                    if name != "script":  # whose functions may be called with the untouched values again
                        self.assertIsInstance(error, Stop)
                    self.assertTrue(all(np.isfinite(each).all() for each in state_of(layer)))

    def test_a_layer_works_after_a_failure(self):
        layer, other = nn.BatchNorm1d(3), nn.BatchNorm1d(3)
        self.assertIsInstance(called(pl.vmap(Failing(layer))), Stop)
        layer(ROWS[0])
        other(ROWS[0])
        self.expect_same(layer, other)

    def test_layers_of_the_function_itself_may_change(self):
        held = nn.BatchNorm1d(3)

        def own(row):
            layer = nn.BatchNorm1d(3)
            return layer(row), nn.call(held, row)[0], held.eval()(row)

        for function in (pl.vmap(own), pl.jit(lambda x: pl.map(own, x)), pl.trace(lambda x: own(x[0]))):
            function(ROWS)
        self.expect_same(held, nn.BatchNorm1d(3))

    def test_models_that_the_function_makes_and_that_stay_alive(self):
        class Pair(pl.Module):
            def __init__(self, first):
                self.first = first
                self.second = first * 2
                self.me = [self]  # a cycle: alive until the garbage collector runs

        kept = []

        def own(row):
            return Pair(row).second

        def keeping(row):
            kept.append(Pair(row))
            return Pair(row).second

        np.testing.assert_allclose(pl.vmap(own)(ROWS[0]), 2 * np.asarray(ROWS[0]))
        with self.assertRaisesRegex(pl.TypeError, r"puts a tensor into kept\.0\.first"):
            pl.vmap(keeping)(ROWS[0])
        np.testing.assert_allclose(pl.vmap(lambda row: pl.map(lambda x: Pair(x).second, row))(ROWS[0]), 2 * np.asarray(ROWS[0]))
        with self.assertRaisesRegex(pl.errors.ValueError, "after that trace has ended"):
            kept[0].first + 1

    def test_a_layer_in_evaluation_is_free(self):
        layer = nn.BatchNorm1d(3).eval()
        for name, form in (FORMS | DERIVATIVES).items():
            with self.subTest(name):
                self.assertIsNone(called(form(layer)))
                self.assertIsNone(called(pl.jit(form(layer)), 2))

    def test_other_attributes_are_as_before(self):
        class Counted(pl.Module):
            def __init__(self):
                self.scale, self.calls = pl.ones(3), 0

            def __call__(self, x):
                self.calls += 1
                self.last, self.scale = x, self.scale * x[0]
                return x * self.scale

        model = Counted()
        self.assertIn("scale of a Counted", str(called(pl.vmap(model.__call__))).replace("last of", "scale of"))
        self.assertEqual((model.calls, hasattr(model, "last"), model.scale.tolist()), (0, False, [1.0, 1.0, 1.0]))

    def test_custom_rules(self):
        layer = nn.BatchNorm1d(3)
        held = pl.custom_jvp(lambda x: layer(x))
        held.defjvp(lambda primals, tangents: (layer(*primals), tangents[0]))
        for transform in (pl.grad, lambda f: pl.jit(pl.grad(f)), lambda f: pl.vmap(pl.grad(f))):
            called(lambda x, transform=transform: transform(lambda x: pl.sum(held(x)))(x if transform is not pl.grad else x[0]))
            self.assertTrue(all(np.isfinite(each).all() for each in state_of(layer)))


if __name__ == "__main__":
    unittest.main()
