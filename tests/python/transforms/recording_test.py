"""Tensors of a recording that a function puts where code outside can find them: under every transform each way to keep one is refused by
name, or the tensor can be read afterwards."""

import collections
import functools
import types
import unittest
import unittest.mock
import warnings

import numpy as np
import plait as pl
from plait.inside.transforms import recording

KEPT = []  # a global


class Plain:
    pass


class Holder(pl.Module):
    def __init__(self):
        self.by_name, self.several = {}, []


def ways():
    """{text in the error: (function, what holds the tensors)} for each way to keep a tensor; the function is fresh."""
    several, layers, by_name, nested, ends = [], [], {}, [[{}]], collections.deque()
    members, names, plain, module = set(), types.SimpleNamespace(kept=None), Plain(), Holder()
    other = Holder()
    plain.kept, kept = None, None

    def in_list(x):
        several.append(pl.sin(x))
        return x

    def in_dict(x):
        by_name["key"] = pl.sin(x)
        return x

    def in_nested(x):
        nested[0][0]["key"] = pl.sin(x)
        return x

    def in_deque(x):
        ends.append(pl.sin(x))
        return x

    def in_set(x):
        members.add(pl.sin(x))
        return x

    def in_namespace(x):
        names.kept = pl.sin(x)
        return x

    def in_object(x):
        plain.kept = pl.sin(x)
        return x

    def in_new_attribute(x):
        plain.new = pl.sin(x)
        return x

    def in_variable(x):
        nonlocal kept
        kept = pl.sin(x)
        return x

    def in_global(x):
        KEPT.append(pl.sin(x))
        return x

    def in_dict_of_module(x):
        module.by_name["key"] = pl.sin(x)
        return x

    def in_list_of_module(x):
        other.several.append(pl.sin(x))
        return x

    def in_default(x, default=[]):  # noqa: B006: that it lasts is the point
        default.append(pl.sin(x))
        return x

    def in_itself(x):
        in_itself.kept = pl.sin(x)
        return x

    def module_in_list(x):
        made = Holder()
        made.several.append(pl.sin(x))
        layers.append(made)
        return x

    return {"several.0": (in_list, several), "by_name.key": (in_dict, by_name), "nested.0.0.key": (in_nested, nested), "ends.0": (in_deque, ends),
            "members": (in_set, members), "names.kept": (in_namespace, names), "plain.kept": (in_object, plain), "plain.new": (in_new_attribute, plain),
            "kept": (in_variable, lambda: kept), "KEPT.0": (in_global, KEPT), "module.by_name.key": (in_dict_of_module, module),
            "other.several.0": (in_list_of_module, other), "default 0.0": (in_default, in_default.__defaults__), "in_itself.kept": (in_itself, in_itself),
            "layers.0.several.0": (module_in_list, layers)}


def tensors_in(value):
    if isinstance(value, types.FunctionType) and value.__name__ == "<lambda>":
        value = value()
    if isinstance(value, pl.Tensor):
        return [value]
    if isinstance(value, dict):
        return [each for child in value.values() for each in tensors_in(child)]
    if isinstance(value, (list, tuple, set, collections.deque)):
        return [each for child in value for each in tensors_in(child)]
    return tensors_in(vars(value)) if hasattr(value, "__dict__") else []


def by_rule(f):
    """A function whose derivative is computed by f."""
    made = pl.custom_vjp(lambda x: pl.sin(x))
    made.defvjp(lambda x: (pl.sin(x), x), lambda saved, cotangent: (f(cotangent),))
    return made


REFUSED = {  # where tensors have no values
    "vmap": lambda f: pl.vmap(f),
    "trace": lambda f: pl.trace(f),
    "vmap of grad": lambda f: pl.vmap(pl.grad(lambda x: pl.sum(f(x)))),
    "vmap of vmap": lambda f: pl.vmap(pl.vmap(f)),
    "trace of vmap": lambda f: pl.trace(pl.vmap(f)),
    "trace of remat": lambda f: pl.trace(pl.remat(f)),
    "trace of scan": lambda f: pl.trace(lambda x: pl.scan(lambda c, y: (f(c), y), x, pl.ones(3))[0]),
    "jit of vmap": lambda f: pl.jit(pl.vmap(f)),
    "jit of vmap of remat": lambda f: pl.jit(pl.vmap(pl.remat(f))),
    "vmap of a rule": lambda f: pl.vmap(pl.grad(lambda x: pl.sum(by_rule(f)(x)))),
    "vmap of recursion": lambda f: pl.vmap(pl.recursive(lambda x: f(x))),
}
READABLE = {
    "eager": lambda f: f,
    "jit": lambda f: pl.jit(f),
    "remat": lambda f: pl.remat(f),
    "jit of remat": lambda f: pl.jit(pl.remat(f)),
    "grad of jit of remat": lambda f: pl.grad(lambda x: pl.sum(pl.jit(pl.remat(f))(x))),
    "jit of grad of remat": lambda f: pl.jit(pl.grad(lambda x: pl.sum(pl.remat(f)(x)))),
    "grad": lambda f: pl.grad(lambda x: pl.sum(f(x))),
    "jit of grad of a rule": lambda f: pl.jit(pl.grad(lambda x: pl.sum(by_rule(f)(x)))),
    "jit of scan": lambda f: pl.jit(lambda x: pl.scan(lambda c, y: (f(c), y), x, pl.ones(3))[0]),
    "jit of cond": lambda f: pl.jit(lambda x: pl.cond(pl.sum(x) > 0, f, f, x)),
    "jit of while_loop": lambda f: pl.jit(lambda x: pl.while_loop(lambda c: pl.sum(c) < 20, lambda c: f(c) * 2, x)),
    "jit of recursion": lambda f: pl.jit(pl.recursive(lambda x: f(x))),
    "jacrev": lambda f: pl.jacrev(lambda x: pl.sum(f(x))),
    "jacfwd": lambda f: pl.jacfwd(f),
    "hessian": lambda f: pl.hessian(lambda x: pl.sum(f(x))),
}


class Last(pl.Module):
    """Keeps what it returns, as it is."""

    def __init__(self):
        self.linear, self.last = pl.nn.Linear(3, 3), pl.nn.Buffer(pl.zeros(3))

    def __call__(self, x):
        self.last = self.linear(x)
        return self.last


class Listing(Last):
    """Puts what it computes into a global list."""

    def __call__(self, x):
        KEPT.append(self.linear(x))
        return KEPT[-1] + 0


# Functions of a layer and a row, which call the layer that they receive.
OF_A_LAYER = {
    "eager": lambda layer, x: layer(x),
    "jit": lambda layer, x: pl.jit(lambda layer, x: layer(x))(layer, x),
    "remat": lambda layer, x: pl.remat(lambda layer, x: layer(x))(layer, x),
    "remat of it": lambda layer, x: pl.remat(layer)(x),
    "jit of remat": lambda layer, x: pl.jit(lambda layer, x: pl.remat(layer)(x))(layer, x),
    "grad": lambda layer, x: pl.grad(lambda layer, x: pl.sum(layer(x)))(layer, x),
    "grad with the result": lambda layer, x: pl.grad(lambda layer, x: (lambda h: (pl.sum(h), h))(layer(x)), has_aux=True)(layer, x),
    "vjp": lambda layer, x: pl.vjp(lambda layer: layer(x), layer),
    "jvp": lambda layer, x: pl.jvp(lambda layer: layer(x), (layer,), (layer,)),
    "linearize": lambda layer, x: pl.linearize(lambda layer: layer(x), layer),
    "jacrev": lambda layer, x: pl.jacrev(lambda layer: layer(x))(layer),
    "jacfwd": lambda layer, x: pl.jacfwd(lambda layer: layer(x))(layer),
    "vmap": lambda layer, x: pl.vmap(lambda layer, x: layer(x), in_axes=(None, 0))(layer, pl.stack([x, x])),
    "vmap of it": lambda layer, x: pl.vmap(layer)(pl.stack([x, x])),
    "vmap of grad": lambda layer, x: pl.vmap(pl.grad(lambda layer, x: pl.sum(layer(x))), in_axes=(None, 0))(layer, pl.stack([x, x])),
    "trace": lambda layer, x: pl.trace(lambda layer, x: layer(x))(layer, x),
    "cond": lambda layer, x: pl.cond(pl.sum(x) > 0, lambda layer: layer(x), lambda layer: x, layer),
    "jit of cond": lambda layer, x: pl.jit(lambda layer: pl.cond(pl.sum(x) > 0, lambda layer: layer(x), lambda layer: x, layer))(layer),
    "jit of scan": lambda layer, x: pl.jit(lambda layer: pl.scan(lambda c, y: (c, layer(y)), 0.0, pl.stack([x, x]))[1])(layer),
}


class Recordings(unittest.TestCase):
    def setUp(self):
        KEPT.clear()
        scope = warnings.catch_warnings()
        scope.__enter__()
        self.addCleanup(scope.__exit__, None, None, None)
        warnings.simplefilter("ignore", pl.errors.HostStateWarning)

    def test_where_tensors_have_no_values_the_place_is_named(self):
        for transform, wrapped in REFUSED.items():
            for place, (function, _) in ways().items():
                with self.subTest(transform, place=place):
                    with self.assertRaisesRegex(pl.TypeError, rf"puts a tensor into [\w.]*{place.replace('0', '.*')}(.|\n)*hint"):
                        wrapped(function)(pl.ones((2, 3, 3)))
                KEPT.clear()

    def test_elsewhere_the_tensors_can_be_read(self):
        for transform, wrapped in READABLE.items():
            for place, (function, holder) in ways().items():
                with self.subTest(transform, place=place):
                    run = wrapped(function)
                    for _ in range(3):
                        run(pl.ones(3))
                    kept = tensors_in(holder)
                    self.assertTrue(kept)
                    for each in kept:
                        each.tolist()
                KEPT.clear()

    def test_what_a_function_keeps_for_itself_is_fine(self):
        def local(x):
            made, module = [pl.sin(x)], Holder()
            module.several.append(made[0])
            return x + 0 * module.several[0]

        for transform, wrapped in (REFUSED | READABLE).items():
            with self.subTest(transform):
                wrapped(local)(pl.ones((2, 3, 3) if transform in REFUSED else 3))

    def test_a_layer_that_keeps_its_result(self):
        """It has it afterwards, or an error names the attribute."""
        for transform, called in OF_A_LAYER.items():
            with self.subTest(transform):
                layer = Last()
                try:
                    called(layer, pl.ones(3))
                except (pl.TypeError, pl.ValueError) as error:
                    self.assertRegex(str(error), "last")
                    self.assertEqual(pl.sum(pl.abs(layer.last)).item(), 0)
                else:
                    np.testing.assert_allclose(layer.last, layer.linear(pl.ones(3)), rtol=1e-6)

    def test_a_layer_whose_class_fills_a_global_list(self):
        for transform, called in OF_A_LAYER.items():
            with self.subTest(transform):
                KEPT.clear()
                try:
                    called(Listing(), pl.ones(3))
                except pl.TypeError as error:
                    self.assertRegex(str(error), r"puts a tensor into KEPT\.0")
                else:
                    self.assertTrue(KEPT)
                    for each in KEPT:
                        each.tolist()

    def test_what_arrives_by_keyword(self):
        def keeping(x, kept):
            kept.append(pl.sin(x))
            return x

        left = []
        with self.assertRaisesRegex(pl.TypeError, r"puts a tensor into kept\.0"):
            pl.vmap(keeping)(pl.ones(3), kept=left)
        left.clear()
        pl.jit(lambda x: pl.remat(keeping)(x, kept=left))(pl.ones(3))
        self.assertEqual([each.tolist() for each in left], [pl.sin(pl.ones(3)).tolist()])

    def test_memoised_functions_forget(self):
        for size in None, 4:
            @functools.lru_cache(size)
            def table(count):
                return pl.arange(count) * 2.0

            def f(x):
                return x + table(3)

            for transform in (lambda f: f, pl.vmap, pl.jit, lambda f: pl.jit(pl.remat(f)), lambda f: pl.jit(pl.vmap(f)), pl.vmap,
                              lambda f: pl.jit(lambda x: pl.scan(lambda c, y: (c, f(y)), 0.0, x)[1] * 0.5 + f(x) * 0.5)):
                with self.subTest(size=size):
                    for _ in range(7):
                        np.testing.assert_array_equal(transform(f)(pl.ones((4, 3))), np.ones((4, 3)) + [0, 2, 4])
                        self.assertEqual(table(3).tolist(), [0, 2, 4])
                        table.cache_clear()  # so that each recording makes it

    def test_cycles(self):
        """They keep tensors alive for a while, and are found fruitlessly, but not at each call; lists may hold themselves."""
        itself = []
        itself.append(itself)
        searches = []

        def f(x):
            def again(count):
                return x if count == 0 else again(count - 1)
            return again(len(itself)) * 1

        with unittest.mock.patch.object(recording, "reach_of", lambda *given, whole=recording.reach_of: searches.append(1) or whole(*given)):
            for _ in range(100):
                pl.vmap(f)(pl.ones((4, 3)))
        self.assertTrue(0 < len(searches) < 10, len(searches))

    def test_jit_names_what_an_earlier_recording_has_left(self):
        left = []

        def f(x):
            left.append(x)
            return x

        with self.assertRaises(pl.TypeError):
            pl.vmap(f)(pl.ones(3))
        with self.assertRaisesRegex(pl.ValueError, "left.0 is a tensor of a recording that has ended"):
            pl.jit(lambda x: x + left[0])(pl.ones(3))


if __name__ == "__main__":
    unittest.main()
