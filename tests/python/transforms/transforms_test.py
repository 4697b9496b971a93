"""Derivatives of Python functions on trees, the tape, and both nested; values compared with JAX."""

import collections
import dataclasses
import gc
import unittest
import warnings
import weakref

import numpy as np
import plait as pl


def array(*numbers):
    return pl.asarray(np.array(numbers))


Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass
class Layer:
    weight: pl.Tensor
    bias: pl.Tensor
    name: str = "layer"


class Functions(unittest.TestCase):
    def test_gradients_have_the_structure_of_the_argument(self):
        def loss(tree):
            return pl.sum(tree["a"] * tree["b"][0]) + tree["p"].x * tree["p"].y

        tree = {"a": array(1.0, 2.0), "b": [array(3.0, 4.0)], "p": Point(pl.asarray(5.0), pl.asarray(6.0))}
        gradient = pl.grad(loss)(tree)
        np.testing.assert_array_equal(gradient["a"], [3, 4])
        np.testing.assert_array_equal(gradient["b"][0], [1, 2])
        self.assertEqual((gradient["p"].x.item(), gradient["p"].y.item()), (6, 5))

    def test_dataclasses_and_several_arguments(self):
        def loss(layer, x):
            return pl.sum((x @ layer.weight + layer.bias) ** 2)

        layer = Layer(pl.asarray(np.ones((2, 3))), pl.asarray(np.zeros(3)))
        x = pl.asarray(np.ones((4, 2)))
        (value, (by_layer, by_x)) = pl.value_and_grad(loss, argnums=(0, -1))(layer, x)
        self.assertEqual(value.item(), 48)
        self.assertEqual(by_layer.name, "layer")
        np.testing.assert_array_equal(by_layer.bias, [16, 16, 16])
        np.testing.assert_array_equal(by_x, np.full((4, 2), 12))

    def test_numbers_and_order(self):
        cube = lambda x: x * x * x  # noqa: E731
        self.assertEqual(pl.grad(cube)(3.0).item(), 27)
        self.assertEqual(pl.grad(pl.grad(cube))(3.0).item(), 18)
        self.assertEqual(pl.jvp(pl.grad(cube), (3.0,), (1.0,))[1].item(), 18)
        self.assertEqual(pl.grad(lambda x: pl.jvp(cube, (x,), (1.0,))[1])(3.0).item(), 18)

    def test_host_code(self):
        def power(x):
            y = x
            while y.item() < 100:
                y = y * x
            return y

        self.assertEqual(pl.grad(power)(3.0).item(), 5 * 81)

    def test_aux(self):
        (value, aux), gradient = pl.value_and_grad(lambda x: (pl.sum(x * x), {"twice": 2 * x}), has_aux=True)(array(1.0, 2.0))
        self.assertEqual(value.item(), 5)
        np.testing.assert_array_equal(aux["twice"], [2, 4])
        np.testing.assert_array_equal(gradient, [2, 4])

    def test_vjp_and_jvp_of_trees(self):
        def f(x, y):
            return {"product": x * y, "sum": x + y}

        value, pull = pl.vjp(f, array(1.0, 2.0), array(3.0, 4.0))
        by_x, by_y = pull({"product": array(1.0, 1.0), "sum": array(0.0, 10.0)})
        np.testing.assert_array_equal(by_x, [3, 14])
        np.testing.assert_array_equal(by_y, [1, 12])
        value, tangent = pl.jvp(f, (array(1.0, 2.0), array(3.0, 4.0)), (array(1.0, 0.0), None))
        np.testing.assert_array_equal(tangent["product"], [3, 0])
        with self.assertRaises(pl.ValueError):
            pull(array(1.0))

    def test_whole_numbers_among_results(self):
        def f(x):
            return {"twice": 2 * x, "whole": pl.astype(x, pl.i32), "positive": x > 0}

        x = array(1.5, -2.0)
        for function in f, pl.jit(f), pl.remat(f), lambda x: pl.vmap(f)(x), lambda x: pl.cond(x[0] > 0, f, f, x):
            def pulled(cotangent, function=function):
                return pl.vjp(function, x)[1]({"twice": cotangent, "whole": None, "positive": None})[0]

            np.testing.assert_array_equal(pulled(x), 2 * x)
            np.testing.assert_array_equal(pl.jit(pulled)(x), 2 * x)
            np.testing.assert_array_equal(pl.vmap(pulled)(pl.stack([x, 3 * x])), pl.stack([2 * x, 6 * x]))
        with self.assertRaisesRegex(pl.TypeError, "has no derivative"):
            pl.vjp(f, x)[1](f(x))

    def test_refusals(self):
        with self.assertRaisesRegex(pl.TypeError, "argument 0 is i64"):
            pl.grad(lambda x: pl.sum(x))(pl.asarray(np.array([1, 2])))
        with self.assertRaisesRegex(pl.ShapeError, "one number"):
            pl.grad(lambda x: x * 2)(array(1.0, 2.0))
        with self.assertRaisesRegex(pl.ValueError, "argument 2 is out of range for a call with 1"):
            pl.grad(lambda x: x, argnums=2)(1.0)

    def test_updates_that_are_ignored_have_no_gradient(self):
        x, updates, places = array(1.0, 5.0), array(3.0, 2.0, 4.0), pl.asarray(np.array([7, 1, -9]))
        for name, by_x, by_updates in ("scatter_minimum", [1, 0], [0, 1, 0]), ("scatter_maximum", [1, 1], [0, 0, 0]):
            def total(x, updates, name=name):
                return pl.sum(pl.apply(name, [x, updates, places], axes=[0], outside="ignored"))

            found = pl.grad(total, (0, 1))(x, updates)
            np.testing.assert_array_equal(found[0], by_x)
            np.testing.assert_array_equal(found[1], by_updates)

    def test_linear_transpose(self):
        import jax

        matrix = np.arange(6.0).reshape(2, 3)
        cotangent, x = np.array([1.0, -2.0]), np.zeros(3)
        pull = pl.linear_transpose(lambda tree: {"y": pl.asarray(matrix) @ tree["x"]}, {"x": pl.asarray(x)})
        found = pull({"y": pl.asarray(cotangent)})[0]["x"]
        with jax.enable_x64(True):
            (wanted,) = jax.linear_transpose(lambda x: matrix @ x, x)(cotangent)
        np.testing.assert_allclose(found.numpy(), wanted)
        with self.assertRaisesRegex(ValueError, "not linear"):
            pl.linear_transpose(lambda x: x * x, pl.asarray(x))

    def test_linearize(self):
        value, linear = pl.linearize(lambda x, w: {"y": pl.tanh(x) * w}, array(1.0, 2.0), array(3.0, 4.0))
        wanted = pl.jvp(lambda x: pl.tanh(x) * array(3.0, 4.0), (array(1.0, 2.0),), (array(1.0, -1.0),))[1]
        np.testing.assert_array_equal(linear(array(1.0, -1.0), None)["y"], wanted)

    def test_rules_of_ones_own(self):
        @pl.custom_vjp
        def by_vjp(x):
            return x * x * x

        by_vjp.defvjp(lambda x: (x * x * x, 3 * x * x), lambda slope, cotangent: (5 * slope * cotangent,))

        @pl.custom_jvp
        def by_jvp(x):
            return x * x * x

        by_jvp.defjvp(lambda at, along: (at[0] ** 3, 15 * at[0] * at[0] * along[0]))
        for f in (by_vjp, by_jvp):
            self.assertEqual(f(2.0).item(), 8)
            self.assertEqual(pl.grad(f)(2.0).item(), 60)
            self.assertEqual(pl.jvp(f, (2.0,), (1.0,))[1].item(), 60)
            self.assertEqual(pl.grad(pl.grad(f))(2.0).item(), 60)  # derivatives of 15 x²
            self.assertEqual(pl.grad(lambda x: f(x * x))(2.0).item(), 960)

    def test_against_jax(self):
        import jax
        import jax.numpy as jnp

        jax.config.update("jax_enable_x64", True)
        random = np.random.default_rng(0)
        x, w = random.standard_normal((5, 4)), random.standard_normal((4, 3))
        direction = random.standard_normal((4, 3))

        def loss(np, w, x):
            hidden = np.tanh(x @ w)
            return np.sum(np.exp(hidden) * np.sqrt(1 + hidden * hidden)) / np.sum(hidden * hidden)

        ours = pl.grad(lambda w: loss(pl, w, pl.asarray(x)))
        theirs = jax.grad(lambda w: loss(jnp, w, x))
        np.testing.assert_allclose(ours(pl.asarray(w)), theirs(w), rtol=1e-10)
        found = pl.jvp(ours, (pl.asarray(w),), (pl.asarray(direction),))[1]
        np.testing.assert_allclose(found, jax.jvp(theirs, (w,), (direction,))[1], rtol=1e-9)


class Unconnected(unittest.TestCase):
    """Gradients that are 0 because the result does not depend on the arguments."""

    def setUp(self):
        self.layer, self.x = pl.nn.Linear(3, 2), pl.ones((4, 3))

    def test_numbers(self):
        with self.assertWarnsRegex(pl.UnconnectedWarning, r"returns the number .*\n.*float\(\) and item\(\)") as warned:
            gradient = pl.grad(lambda layer: float(pl.sum(layer(self.x))))(self.layer)
        self.assertEqual(warned.filename, __file__)
        np.testing.assert_array_equal(gradient.weight, 0)

    def test_models(self):
        for loss in (lambda layer: pl.sum(self.layer(self.x)), lambda layer: pl.sum(layer(self.x)).detach()):
            with self.assertWarnsRegex(pl.UnconnectedWarning, "does not depend on the model"):
                pl.value_and_grad(loss)(self.layer)

    def test_zeros_without_a_warning(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            pl.grad(lambda layer: pl.sum(layer(self.x)))(self.layer)
            self.assertEqual(pl.grad(pl.grad(lambda x: x * 3))(pl.tensor(1.0)).item(), 0)
            pl.jit(pl.grad(lambda x: pl.sum(x).item() * 2))(self.x)


class TapeHabit(unittest.TestCase):
    def test_backward(self):
        x = array(1.0, 2.0).requires_grad()
        self.assertIsNone(x.grad)
        pl.sum(x * x).backward()
        np.testing.assert_array_equal(x.grad, [2, 4])
        (x * 3).backward(array(1.0, 1.0))
        np.testing.assert_array_equal(x.grad, [5, 7])
        x.zero_grad()
        self.assertIsNone(x.grad)

    def test_backward_in_a_jitted_function(self):
        w = array(1.0, 2.0).requires_grad()

        @pl.jit
        def step(x):
            loss = pl.sum(w * w * x)
            loss.backward()
            return loss, w.grad

        for times in 1, 2, 3:
            loss, gradient = step(array(3.0, 4.0))
            self.assertEqual(loss.item(), 19)
            np.testing.assert_array_equal(w.grad, [6 * times, 16 * times])
            np.testing.assert_array_equal(gradient, w.grad)
        self.assertIn("a tape that was begun outside is used at", str(pl.stats(step)))
        reads = pl.jit(lambda x: x - w.grad)
        for times in 1, 2:
            w.zero_grad()
            (times * pl.sum(w)).backward()
            np.testing.assert_array_equal(reads(array(0.0, 0.0)), [-times, -times])
        own = pl.jit(lambda x: pl.gradient(pl.sum((y := x.requires_grad()) * y), y))
        np.testing.assert_array_equal(own(array(3.0, 4.0)), [6, 8])
        self.assertEqual(pl.stats(own).host_runs, 0)
        with self.assertRaisesRegex(pl.ValueError, "fullgraph"):
            pl.jit(lambda x: pl.sum(w * x).backward(), fullgraph=True)(w)

    def test_through_a_rule_within_a_function(self):
        """The tape is older than the function, but was begun within it."""
        exp = pl.custom_vjp(pl.exp).defvjp(lambda x: (y := pl.exp(x), y), lambda y, cotangent: (3 * y * cotangent,))

        def slope(x):
            leaf = x.requires_grad()
            (exp(leaf) * (1 + x)).backward(create_graph=True)
            return leaf.grad

        x = array(0.7)[0]
        np.testing.assert_allclose(slope(x), 3 * np.exp(0.7) * 1.7)
        np.testing.assert_allclose(pl.grad(slope)(x), 3 * np.exp(0.7) * 2.7)
        np.testing.assert_allclose(pl.jit(pl.grad(slope))(x), 3 * np.exp(0.7) * 2.7)
        w = array(0.7)[0].requires_grad()  # and here outside of it
        pl.grad(lambda x: exp(w * x))(array(1.0)[0]).backward()
        np.testing.assert_allclose(w.grad, 3 * np.exp(0.7) * (1 + 0.7))

    def test_no_grad_and_detach(self):
        x = array(1.0, 2.0).requires_grad()
        with pl.no_grad():
            y = pl.sum(x * x)
        with self.assertRaisesRegex(pl.ValueError, "does not depend on a tensor that requires a gradient"):
            y.backward()
        with self.assertRaises(pl.ValueError):
            pl.sum(x.detach()).backward()
        self.assertEqual(pl.no_grad()(lambda: 3)(), 3)

    def test_gradient_and_tapes(self):
        x = pl.asarray(3.0).requires_grad()
        first = pl.gradient(x * x * x, x, create_graph=True)
        self.assertEqual(pl.gradient(first, x).item(), 18)
        with pl.Tape() as outer, pl.Tape() as inner:
            y = inner.watch(outer.watch(3.0))
            first = inner.gradient(y * y * y, y)
            self.assertEqual(outer.gradient(first, [y])[0].item(), 18)

    def test_hooks_are_called_and_let_go(self):
        x = pl.asarray(3.0).requires_grad()
        seen = []

        def hook(cotangent):
            seen.append(cotangent.item())
            return 10 * cotangent

        y = x * x
        number = y.register_hook(hook)
        (y * 2).backward(retain_graph=True)
        self.assertEqual((seen, x.grad.item()), ([2.0], 120.0))
        y.remove_hook(number)
        (y * 2).backward()
        self.assertEqual(seen, [2.0])
        reference = weakref.ref(hook)
        y.register_hook(hook)
        del hook, y
        gc.collect()
        self.assertIsNone(reference())

    def test_a_tape_inside_a_function(self):
        def slope(x):
            w = pl.asarray(5.0).requires_grad()
            (w * w * x).backward()
            return w.grad

        self.assertEqual(pl.grad(lambda x: slope(x * x))(3.0).item(), 60)
        self.assertEqual(pl.trace(slope)(pl.asarray(3.0))(pl.asarray(7.0)).item(), 70)


class Remat(unittest.TestCase):
    def test_gives_the_same_derivatives(self):
        def layer(x, w):
            return {"h": pl.tanh(pl.checkpoint_name(pl.sin(x) @ w, "inner")) * x}

        x, w = pl.asarray(np.linspace(-1, 1, 9).reshape(3, 3)), pl.asarray(np.linspace(0.2, 0.7, 9).reshape(3, 3))
        for options in [{}, {"policy": "dots"}, {"policy": "names", "names": ["inner"]}, {"policy": "everything"}]:
            again = pl.remat(layer, **options)

            def loss(block):
                return lambda a, b: pl.sum(block(block(a, b)["h"], b)["h"])

            for of in [lambda f: pl.grad(f, argnums=(0, 1)),
                       lambda f: lambda a, b: [pl.hvp(lambda c: f(c, b), a, b)]]:
                for found, wanted in zip(of(loss(again))(x, w), of(loss(layer))(x, w)):
                    np.testing.assert_allclose(found, wanted, atol=1e-12)
            program = pl.trace(pl.grad(loss(again)))(x, w)
            self.assertEqual("remat @" in program.text(), options.get("policy") != "everything")
            np.testing.assert_allclose(program(x, w), pl.grad(loss(layer))(x, w), atol=1e-12)
        with self.assertRaisesRegex(ValueError, "policies are nothing, everything, dots and names"):
            pl.remat(layer, policy="some")(x, w)

    def test_python_runs_once(self):
        runs = []

        @pl.remat
        def power(x):
            runs.append(x)
            y = x
            while y.item() < 100:
                y = y * x
            return y

        self.assertEqual(pl.grad(power)(3.0).item(), 405)
        self.assertEqual(len(runs), 1)


class Programs(unittest.TestCase):
    def test_gradients_of_programs_are_programs(self):
        x = array(1.0, 2.0)
        program = pl.trace(lambda a, b: pl.sum(a * a * b))(x, x)
        np.testing.assert_array_equal(program.grad()(x, x), [2, 8])
        by_both = program.grad(by=(0, 1))(x, x)
        np.testing.assert_array_equal(by_both[1], [1, 4])
        value, slope = program.grad(with_value=True)(x, x)
        self.assertEqual(value.item(), 9)
        self.assertEqual(pl.Program.parse(program.grad().text())(x, x)[0].shape, (2,))
        np.testing.assert_array_equal(pl.grad(lambda a: program(a, x))(x), [2, 8])  # a program in a function
        with self.assertRaisesRegex(ValueError, "number 7 is out of range"):
            program.grad(by=7)

    def test_rules_of_ones_own_stay_in_them(self):
        @pl.custom_vjp
        def cube(x):
            return x * x * x

        cube.defvjp(lambda x: (x * x * x, {"slope": 3 * x * x}), lambda kept, c: (5 * kept["slope"] * c,))

        @pl.custom_jvp
        def square(x):
            return x * x

        square.defjvp(lambda x, dx: (x[0] * x[0], 14 * x[0] * dx[0]))
        for f, slope in [(cube, 60), (square, 28)]:
            program = pl.trace(f)(pl.asarray(2.0))
            self.assertIn("custom_", program.text())
            self.assertEqual(program.grad()(pl.asarray(2.0)).item(), slope)

    def test_autocast(self):
        x = pl.asarray(np.linspace(0, 1, 6, dtype=np.float32).reshape(2, 3))
        program = pl.trace(lambda a: pl.sum(a @ pl.permute_dims(a, (1, 0))))(x)
        self.assertIn("bf16", program.autocast().text())
        with pl.autocast():
            self.assertEqual((x @ pl.permute_dims(x, (1, 0))).dtype, pl.bf16)
        self.assertEqual((x @ pl.permute_dims(x, (1, 0))).dtype, pl.f32)
        self.assertEqual(pl.autocast(pl.f16)(lambda a: a @ a[0])(x).dtype, pl.f16)
        with self.assertRaisesRegex(TypeError, "bf16 or f16"):
            with pl.autocast(pl.f64):
                pass


class Matrices(unittest.TestCase):
    def test_of_first_and_second_derivatives(self):
        def f(x):
            return pl.stack([x[0] * x[1], pl.exp(x[1]), 2 * x[0]])

        x = array(3.0, 0.0)
        for matrix in pl.jacfwd(f)(x), pl.jacrev(f)(x):
            np.testing.assert_array_equal(matrix, [[0, 3], [0, 1], [2, 0]])
        np.testing.assert_array_equal(pl.hessian(lambda y: y[0] ** 3 * y[1])(array(2.0, 5.0)), [[60, 12], [12, 0]])
        np.testing.assert_array_equal(pl.hvp(lambda y: y[0] ** 3 * y[1], array(2.0, 5.0), array(1.0, 2.0)), [84, 12])
        self.assertEqual(pl.jacrev(lambda y: y * 2)(array()).shape, (0, 0))

    def test_of_trees_and_several_arguments_as_jax_gives_them(self):
        import jax
        import jax.numpy as jnp

        random = np.random.default_rng(0)
        tree = {"b": (random.standard_normal(3),), "w": random.standard_normal((2, 3))}
        x, c = random.standard_normal(2), 0.7

        def function(m):
            def f(tree, x, *, scale=2.0):
                y = m.tanh(x @ tree["w"] + tree["b"][0]) * scale
                return {"all": y, "sum": (m.sum(y * y),)}

            return f

        def total(m):
            return lambda tree, x, c: m.sum(function(m)(tree, x)["all"] ** 3) * c * c

        ours = (pl.tree.map(pl.asarray, tree), pl.asarray(x))
        with jax.enable_x64(True):
            for argnums in 0, 1, (0, 1), (1,), -1:
                for way in "jacfwd", "jacrev":
                    wanted = getattr(jax, way)(function(jnp), argnums=argnums)(tree, x)
                    jacobian = getattr(pl, way)(function(pl), argnums=argnums)
                    self.check(jacobian(*ours), wanted)
                    self.check(pl.jit(jacobian)(*ours), wanted)
            for argnums in 0, (2, 0), (0, 1, 2):
                self.check(pl.hessian(total(pl), argnums)(*ours, array(c)[0]), jax.hessian(total(jnp), argnums)(tree, x, c))
            found = pl.jacrev(lambda x: (pl.sin(x), {"twice": 2 * x}), has_aux=True)(ours[1])
            self.check(found, jax.jacrev(lambda x: (jnp.sin(x), {"twice": 2 * x}), has_aux=True)(x))
            self.check(pl.jacfwd(function(pl), 1)(*ours, scale=3.0), jax.jacfwd(function(jnp), 1)(tree, x, scale=3.0))

    def test_of_complex_numbers_as_jax_gives_them(self):
        import jax
        import jax.numpy as jnp

        z, x = np.array([1 + 2j, 0.5 - 1j]), np.array([1.5, -2.0])
        cases = [("jacfwd", {}, lambda m: lambda x: m.sin(x) * (1 + 2j), x), ("jacrev", {}, lambda m: lambda z: m.abs(z) * m.real(z), z),
                 *((way, {"holomorphic": True}, lambda m: lambda z: m.sin(z) * z[0], z) for way in ("jacfwd", "jacrev")),
                 ("hessian", {"holomorphic": True}, lambda m: lambda z: m.sum(m.sin(z) * z[0]), z)]
        with jax.enable_x64(True):
            for way, options, function, at in cases:
                wanted = getattr(jax, way)(function(jnp), **options)(at)
                ours = getattr(pl, way)(function(pl), **options)
                for each in ours, pl.jit(ours):
                    self.check(each(pl.asarray(at)), wanted)

    def test_complex_numbers_that_have_no_one_derivative(self):
        z, x = pl.asarray(np.array([1 + 2j, 0.5 - 1j])), array(1.5, -2.0)
        for function, at in ((pl.conj, z), (pl.abs, z)):
            with self.assertRaisesRegex(pl.TypeError, r"jacfwd: argument 0 is c128\[2\], expected real(.|\n)*jacrev(.|\n)*holomorphic=True"):
                pl.jacfwd(function)(at)
        for function, at in ((pl.conj, z), (lambda x: x * 1j, x)):
            with self.assertRaisesRegex(pl.TypeError, r"jacrev: result is c128\[2\], expected real(.|\n)*jacfwd(.|\n)*holomorphic=True"):
                pl.jacrev(function)(at)
        with self.assertRaisesRegex(pl.TypeError, r"jacrev: result is f64\[2\]; with holomorphic, expected complex"):
            pl.jacrev(pl.abs, holomorphic=True)(z)
        with self.assertRaisesRegex(pl.TypeError, r"jacfwd: argument 0 is f64\[2\]; with holomorphic, expected complex"):
            pl.jacfwd(lambda x: x * 1j, holomorphic=True)(x)
        with self.assertRaisesRegex(pl.TypeError, "expected real"):
            pl.hessian(lambda z: pl.sum(pl.abs(z)))(z)

    def check(self, found, wanted):
        import jax

        # JAX, too, takes Plait's trees apart, whose leaves it does not know.
        self.assertEqual(jax.tree.structure(found), jax.tree.structure(wanted))
        for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted)):
            self.assertEqual(a.shape, b.shape)
            np.testing.assert_allclose(a.numpy(), b, rtol=1e-9, atol=1e-12)

    def test_refusals(self):
        with self.assertRaisesRegex(pl.TypeError, r"jacrev: argument 0\.n is i64"):
            pl.jacrev(lambda tree: tree["x"])({"x": array(1.0), "n": pl.asarray(1)})
        with self.assertRaisesRegex(pl.TypeError, "jacfwd: result .*is bool"):
            pl.jacfwd(lambda x: x > 0)(array(1.0))
        with self.assertRaisesRegex(pl.ValueError, "jacfwd: argument 3 is out of range for a call with 1"):
            pl.jacfwd(pl.sin, 3)(array(1.0))


class Vmap(unittest.TestCase):
    def test_recorded_for_no_samples_first(self):
        forms = {"cond": lambda x: pl.cond(pl.sum(x) > 0, pl.exp, pl.sin, x),
                 "switch": lambda x: pl.switch(pl.astype(pl.sum(x) > 0, pl.i32), [pl.exp, pl.sin], x),
                 "while": lambda x: pl.while_loop(lambda c: pl.sum(c) < 10, lambda c: c * c + 1, x),
                 "scan": lambda x: pl.scan(lambda c, s: (c * s, c), x, x)[0]}
        many = pl.asarray(np.array([[0.3, 0.7], [-1.0, -2.0]]))
        for name, form in forms.items():
            for function in pl.vmap(form), pl.vmap(pl.grad(lambda x, form=form: pl.sum(form(x)))):
                with self.subTest(form=name):
                    jitted = pl.jit(function)
                    for samples in many[:0], many, pl.concat([many, many]), many[:0], many:
                        np.testing.assert_allclose(jitted(samples), function(samples))

    def test_trees_and_axes(self):
        x = pl.asarray(np.arange(12.0).reshape(3, 4))
        w = array(1.0, -1.0, 2.0)

        def f(sample, weights):
            return {"dot": pl.sum(sample["x"] * weights), "both": (sample["x"], weights)}

        found = pl.vmap(f, in_axes=({"x": 1}, None), out_axes={"dot": 0, "both": (-1, None)})({"x": x}, w)
        np.testing.assert_array_equal(found["dot"], (x.numpy() * w.numpy()[:, None]).sum(0))
        np.testing.assert_array_equal(found["both"][0], x)
        np.testing.assert_array_equal(found["both"][1], w)
        self.assertEqual(pl.vmap(lambda: pl.random.normal((2,)), size=5)().shape, (5, 2))

    def test_gradients_of_each_sample(self):
        def loss(w, x):
            return pl.sum(pl.tanh(x * w))

        w, x = array(0.5, 2.0), pl.asarray(np.arange(6.0).reshape(3, 2))
        found = pl.vmap(pl.grad(loss), in_axes=(None, 0))(w, x)
        for i in range(3):
            np.testing.assert_allclose(found[i], pl.grad(loss)(w, x[i]), atol=1e-15)

    def test_refuses(self):
        x = array(1.0, 2.0)
        with self.assertRaisesRegex(ValueError, "differs in structure"):
            pl.vmap(lambda a: a, in_axes=({"y": 0},))({"x": x})
        with self.assertRaisesRegex(ValueError, "no argument has a mapped axis"):
            pl.vmap(lambda a: a, in_axes=None)(x)
        with self.assertRaisesRegex(pl.ShapeError, "samples"):
            pl.vmap(lambda a, b: a + b)(x, array(1.0, 2.0, 3.0))
        with self.assertRaisesRegex(pl.ShapeError, r"argument 0, weight has 2 samples, but argument 1, f32\[4, 3\], has 4, at "
                                                   r"transforms_test.py:\d+\n.*in_axes=\(None, 0\)"):
            pl.vmap(lambda layer, x: layer(x))(pl.nn.Linear(3, 2), pl.ones((4, 3)))
        with self.assertRaisesRegex(pl.ShapeError, "the given size has 5 samples, but argument 0, f64"):
            pl.vmap(lambda a: a, size=5)(x)
        with self.assertRaisesRegex(ValueError, "traced"):
            pl.vmap(lambda a: 1 if a > 0 else 2)(x)


class Power(unittest.TestCase):
    def test_derivatives_where_the_exponent_is_0(self):
        for x in (0.0, 2.0):
            f = lambda x: pl.power(x, pl.tensor(0.0))  # noqa: E731
            for _ in range(3):
                f = pl.grad(f)
                self.assertEqual(float(f(x)), 0)
        mixed = pl.grad(pl.grad(pl.power), argnums=1)
        self.assertEqual(float(mixed(2.0, 0.0)), 0.5)
        self.assertEqual(float(pl.grad(pl.grad(pl.power, argnums=1))(2.0, 0.0)), 0.5)


if __name__ == "__main__":
    unittest.main()
