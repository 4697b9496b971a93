"""Errors that meet those who write a thing as another library has it, or have forgotten something."""

import functools
import inspect
import unittest

import numpy as np
import plait as pl
import torch

LAYER = pl.nn.Linear(2, 1)
X = pl.ones((3, 2))


class Net(pl.Module):
    def __init__(self):
        self.layer = pl.nn.Linear(2, 1)

    def forward(self, x):
        return self.layer(x)


class Pairs(unittest.TestCase):
    """Functions that give two things: a tensor is none, whatever its first axis has."""

    def refused(self, words, call):
        with self.assertRaisesRegex(pl.TypeError, words):
            call()

    def test_scan(self):
        self.refused(r"scan: expected a body that returns \(carry, output\), not a Tensor", lambda: pl.scan(lambda c, x: c + x, 0.0, pl.arange(3.0)))
        self.refused("not a Tensor", lambda: pl.scan(lambda c, x: pl.stack([c + x, c]), 0.0, pl.arange(3.0)))
        self.refused("not 3 values", lambda: pl.scan(lambda c, x: (c, x, x), 0.0, pl.arange(3.0)))

    def test_custom_rules(self):
        function = pl.custom_vjp(lambda x: pl.sum(x)).defvjp(lambda x: x * 3, lambda kept, cotangent: (cotangent * pl.ones(2),))
        for way in pl.value_and_grad(function), pl.jit(pl.grad(function)):
            self.refused(r"expected a forward function that returns \(result, kept\), not a Tensor", lambda way=way: way(pl.ones(2)))
        along = pl.custom_jvp(lambda x: pl.sum(x)).defjvp(lambda primals, tangents: tangents[0] * 2)
        self.refused(r"expected a rule that returns \(result, tangent\), not a Tensor", lambda: pl.grad(along)(pl.ones(2)))

    def test_has_aux(self):
        for take in (pl.grad, pl.value_and_grad):
            self.refused("with has_aux", lambda take=take: take(lambda x: pl.stack([x, x]), has_aux=True)(2.0))
            for gives in (lambda x: (x * x, x), lambda x: [x], lambda x: (x * x, {"accuracy": 1.0}), lambda x: (x, LAYER)):
                self.refused(r"the function returns a (tuple|list)[\s\S]*pass has_aux=True", lambda take=take, gives=gives: take(gives)(3.0))
            self.refused(r"the function returns a dict[\s\S]*by sum or mean", lambda take=take: take(lambda x: {"loss": x})(3.0))
        self.assertEqual(pl.grad(lambda x: np.float64(3.0))(2.0).item(), 0.0)


class Neural(unittest.TestCase):
    def test_names_of_other_libraries(self):
        for mode, near in (("bilinear", "linear"), ("bicubic", "cubic"), ("nearest-exact", "nearest_exact")):
            with self.subTest(mode), self.assertRaisesRegex(pl.ValueError, f"did you mean '{near}'"):
                pl.interpolate(pl.ones((1, 2, 4, 4)), size=(8, 8), mode=mode)

    def test_classes_along_the_last_axis(self):
        logits, targets = pl.ones((2, 5, 7)), pl.zeros((2, 5), dtype=pl.i64)
        with self.assertRaisesRegex(pl.ShapeError, "the classes are along axis 1[\\s\\S]*pass axis=-1"):
            pl.cross_entropy(logits, targets)
        self.assertAlmostEqual(pl.cross_entropy(logits, targets, axis=-1).item(), float(np.log(7)), 5)


class Numbers(unittest.TestCase):
    def test_invalid_numbers(self):
        for given, words in ((2**70, r"1180591620717411303424 has more than 64 bits"), ([1, 2**70], "more than 64 bits"), ("a", "not 'a'"),
                             (np.array([object()]), "not a object"), ([None], "not None"), (["a", 1], "not 'a'")):
            for make in pl.tensor, pl.asarray:
                with self.subTest(given), self.assertRaisesRegex(pl.Error, words):
                    make(given)

    def test_lists_are_no_operands(self):
        x = pl.tensor([1, 2, 3])
        self.assertEqual((x == None, x != None, x == "text", x != "text"), (False, True, False, True))  # noqa: E711
        self.assertEqual(x == object(), False)
        for call in (lambda: x == [1, 2, 3], lambda: x != (1, 2, 3), lambda: [1, 2, 3] == x, lambda: x < [1, 2, 3]):
            with self.assertRaisesRegex(pl.TypeError, r"not (list|tuple)[\s\S]*plait.asarray\(x\)"):
                call()

    def test_tensors_of_other_libraries(self):
        x, other = pl.ones(3), torch.ones(3)
        for call in lambda: x == other, lambda: other == x, lambda: x + other, lambda: pl.sum(other), lambda: x @ other:
            with self.assertRaisesRegex(pl.TypeError, r"not torch.Tensor[\s\S]*plait.asarray\(x\)"):
                call()

    def test_sequences_are_repeated_by_tensors(self):
        self.assertEqual((pl.tensor(2) * [0], [0] * pl.tensor(2)), ([0, 0], [0, 0]))

    def test_the_shape_comes_first(self):
        for call in (lambda: pl.random.normal(0, 1), lambda: pl.random.normal(5, 2), lambda: pl.random.normal(0, 1, (3,)),
                     lambda: pl.random.uniform(0.0, 1.0, 3), lambda: pl.random.randint(0, 10, (3,))):
            with self.assertRaises(pl.TypeError) as caught:
                call()
            self.assertIn("the shape is the first argument", caught.exception.hint)
        self.assertEqual((pl.random.normal((5,), 2).shape, pl.random.normal(5).shape, pl.random.normal(5, mean=2).shape), ((5,),) * 3)

    def test_what_begins_no_tape(self):
        x = pl.ones(3)
        x.requires_grad()
        with self.assertRaisesRegex(pl.ValueError, r"x = x.requires_grad\(\)[\s\S]*x.requires_grad_\(\)[\s\S]*detach\(\).requires_grad\(\)"):
            pl.sum(x * x).backward()


class Vmap(unittest.TestCase):
    def test_keywords_are_the_same_for_all(self):
        found = pl.vmap(lambda x, *, k, name="b": x + k if name == "a" else x)(pl.ones(3), k=1.0, name="a")
        np.testing.assert_array_equal(found, [2, 2, 2])
        found = pl.vmap(lambda x, *, k: x * k)(pl.ones(3), k=pl.tensor(4.0))
        np.testing.assert_array_equal(found, [4, 4, 4])
        slope = pl.grad(lambda k: pl.sum(pl.vmap(lambda x, *, k: x * k)(pl.ones(3), k=k)))(pl.tensor(2.0))
        self.assertEqual(slope.item(), 3)
        with self.assertRaisesRegex(pl.TypeError, r"k is a keyword argument with axes[\s\S]*in_axes=\(0, None\)"):
            pl.vmap(lambda x, *, k: x + k)(pl.ones(3), k=pl.ones(3))

    def test_axes_that_are_not_there(self):
        with self.assertRaisesRegex(pl.IndexError, r"axis 0 is out of range for argument 1, a f32\[\][\s\S]*in_axes=\(0, None\) passes all of it"):
            pl.vmap(pl.add)(pl.ones(3), 1.0)
        with self.assertRaisesRegex(pl.IndexError, r"axis 1 is out of range for argument 0, x, a f32\[3\]"):
            pl.vmap(lambda tree: tree["x"], in_axes=1)({"x": pl.ones(3)})
        with self.assertRaisesRegex(pl.IndexError, r"axis 0 is out of range for argument 0, a f32\[\]"):
            pl.vmap(LAYER)(1.0)

    def test_branches_on_samples(self):
        with self.assertRaisesRegex(pl.ValueError, r"has no value while[\s\S]*plait.maximum is max, @plait.script"):
            pl.vmap(lambda x: x if x > 0 else -x)(pl.ones(3))


class ModelsOfOthers(unittest.TestCase):
    def test_attributes(self):
        optimizer = pl.optim.Adam(LAYER)
        for thing, name, words in ((LAYER, "parameters", "plait.nn.state"), (LAYER, "load_state_dict", r"model = plait.nn.load_state\(model, state\)"),
                                   (LAYER, "state_dict", r"plait.nn.state\(model\)"), (pl.nn.init, "xavier_uniform_", r"xavier_uniform\(shape\)"), (LAYER, "half", r"model.to\(plait.f16\)"), (LAYER, "register_buffer", "plait.nn.Buffer"),
                                   (optimizer, "step", r"optimizer.update\(model, gradient\)"), (optimizer, "zero_grad", "nothing to reset"),
                                   (pl.tree, "tree_map", "plait.tree.map"), (pl, "amp", "plait.autocast"), (pl.nn, "register_buffer", "plait.nn.Buffer")):
            with self.subTest(name), self.assertRaisesRegex(pl.AttributeError, words):
                getattr(thing, name)
        self.assertFalse(hasattr(LAYER, "no_such"))
        with self.assertRaises(AttributeError) as caught:
            LAYER.weigth
        self.assertEqual((caught.exception.name, caught.exception.obj), ("weigth", LAYER))

    def test_first_attempts(self):
        for thing, name, words in ((LAYER, "flatten_parameters", "not needed"), (LAYER, "register_forward_hook", "from __call__"),
                                   (pl, "stack_module_state", "plait.stack"), (pl.nn, "stack_module_state", "plait.stack"),
                                   (pl, "functional_call", "plait.nn.load_state"), (pl.nn, "functional_call", "plait.nn.load_state"),
                                   (pl.optim, "GradScaler", "plait.optim.loss_scale"), (pl, "GradScaler", "plait.optim.loss_scale"),
                                   (pl.optim, "update_bn", "plait.nn.call"), (pl.metrics, "F1Score", "plait.metrics.F1"),
                                   (pl.metrics, "MeanSquaredError", "plait.metrics.MSE"), (pl.io, "safe_open", "plait.io.open_safetensors"),
                                   (pl, "load", "plait.io.load_safetensors"), (pl, "load_npy", "plait.io.load_npy"), (pl.optim, "adamW", "plait.optim.adamw.*plait.optim.AdamW"),
                                   (pl.nn, "parameters", "buffers=False"), (LAYER, "parameters", "buffers=False")):
            with self.subTest(name), self.assertRaisesRegex(pl.AttributeError, words):
                getattr(thing, name)

    def test_tapes_and_models(self):
        with self.assertRaisesRegex(pl.ValueError, r"does not depend[\s\S]*Module is loss, gradient = plait.value_and_grad\(loss_of\)\(model\)$"):
            pl.sum(LAYER(X)).backward()
        x = pl.ones(3).requires_grad(True)
        pl.sum(x * x).backward(3.0)
        np.testing.assert_array_equal(x.grad, 6 * np.ones(3))
        for name in "requires_grad", "requires_grad_":
            with self.assertRaisesRegex(pl.TypeError, rf"{name}: a tensor [\s\S]*plait.stop_gradient\(x\)[\s\S]*plait.nn.freeze"):
                getattr(pl.ones(3), name)(False)
        x = pl.ones(3)
        self.assertIs(x.requires_grad_(True), x)
        pl.sum(x).backward()
        np.testing.assert_array_equal(x.grad, np.ones(3))

    def test_arithmetic_on_models(self):
        layer = pl.nn.BatchNorm1d(2)
        gradient = pl.grad(lambda layer: pl.sum(pl.nn.call(layer, X)[0] ** 2))(layer)
        for call in (lambda: layer - 0.1 * gradient, lambda: layer - gradient,
                     lambda: pl.tree.map(lambda w, g: w - 0.1 * g, layer, gradient)):
            with self.assertRaisesRegex(pl.Error, r"hint: [\s\S]*plait.optim.apply_updates\(model, "):
                call()
        moved = pl.optim.apply_updates(layer, pl.tree.map(lambda g: -0.1 * g, gradient))
        np.testing.assert_allclose(moved.bias, layer.bias - 0.1 * gradient.bias)

    def test_classes_of_another_form(self):
        logits, ids = pl.ones((16, 3)), pl.zeros((16, 1), dtype=pl.i64)
        for name, loss in (("nn.cross_entropy", pl.nn.cross_entropy), ("nn.CrossEntropyLoss", pl.nn.CrossEntropyLoss()),
                           ("nn.NLLLoss", pl.nn.NLLLoss())):
            with self.assertRaisesRegex(pl.ShapeError, rf"{name}: the target is i64\[16, 1\] for f32\[16, 3\][\s\S]*target.squeeze\(-?1\)"):
                loss(logits, ids)
            with self.assertRaisesRegex(pl.TypeError, rf"{name}: the target is bool\[16\][\s\S]*nn.BCEWithLogitsLoss"):
                loss(logits, ids[:, 0] > 0)
            self.assertEqual(loss(logits, ids[:, 0]).shape, ())

    def test_all_that_torch_has(self):
        """Methods that models of PyTorch have have an answer, but for its machinery."""
        from plait.inside.help import peers

        theirs = {name for name in dir(torch.nn.Module) if not name.startswith("_")}
        machinery = {name for name in theirs if "hook" in name or name.startswith(("get_", "set_"))}
        machinery |= {"call_super_init", "dump_patches", "extra_repr", "ipu", "mtia", "xpu", "to_empty", "T_destination"}
        self.assertEqual(sorted(theirs - machinery - set(peers.MODULE) - set(dir(pl.Module))), [])

    def test_forward(self):
        with self.assertRaisesRegex(pl.TypeError, r"a Net has forward, but no __call__[\s\S]*name it __call__"):
            Net()(X)

        class Called(Net):
            def __call__(self, x):
                return self.forward(x)

        self.assertEqual(Called()(X).shape, (3, 1))

    def test_autocast(self):
        for device in ("cpu", "cuda"):
            with pl.autocast(device_type=device, dtype=pl.bf16):
                self.assertEqual((pl.ones((2, 2)) @ pl.ones((2, 2))).dtype, pl.bf16)
        for call in lambda: pl.autocast(device_type="tpu"), lambda: pl.autocast("cuda"):
            with self.assertRaisesRegex(pl.Error, "tpu|cuda"):
                call()


class Signatures(unittest.TestCase):
    def test_help_begins_with_them(self):
        for function, line in ((pl.conv2d, "conv2d(x, weight, bias=None, *, stride=1, padding=0, dilation=1, groups=1)"),
                               (pl.grad, "grad(function, argnums=0, has_aux=False, holomorphic=False, allow_int=False)"),
                               (pl.linalg.inv, "inv(a)"), (pl.abs, "absolute(x)"),
                               (pl.nn.init.xavier_normal, "xavier_normal(shape, gain=1.0, *, key=None, dtype=plait.f32)")):
            with self.subTest(line):
                self.assertEqual(function.__doc__.split("\n")[0], line)

    def test_all_public_functions_have_one(self):
        without = []
        for place in pl, pl.fft, pl.io, pl.linalg, pl.metrics, pl.nn, pl.nn.init, pl.nn.utils, pl.nn.utils.prune, pl.optim, pl.random:
            for name in dir(place):
                value = getattr(place, name)
                if name.startswith("_") or isinstance(value, type) or type(value).__name__ not in ("Function", "Boundary", "function"):
                    continue
                if not (value.__doc__ or "").startswith(f"{value.__name__}("):
                    without.append(f"{place.__name__}.{name}")
        self.assertEqual(without, [])

    def test_they_read_well(self):
        """No addresses of objects, and no names of what is inside, as annotations or defaults."""
        seen = 0
        for place in pl, pl.io, pl.nn, pl.nn.init, pl.nn.utils, pl.nn.utils.prune, pl.optim, pl.optim.lr_scheduler, pl.metrics:
            for name, value in vars(place).items():
                if name.startswith("_") or not callable(value) or isinstance(value, type) and issubclass(value, Exception):
                    continue
                try:
                    shown = str(inspect.signature(value))
                except (TypeError, ValueError):
                    continue
                with self.subTest(f"{place.__name__}.{name}"):
                    self.assertNotRegex(shown, r" at 0x|plait\.inside|\n")
                seen += 1
        self.assertGreater(seen, 800)
        self.assertIn("decay: number, nesterov: bool = False", str(inspect.signature(pl.optim.trace)))
        self.assertIn("max_learning_rate: number | None = None", str(inspect.signature(pl.optim.scale_by_zoom_linesearch)))

    def test_calls_with_several_arguments_say_what_they_take(self):
        without, seen = set(), 0
        for place in pl.nn, pl.optim, pl.optim.lr_scheduler, pl.metrics:
            for value in vars(place).values():
                for method in ("__call__", "init", "update", "step") if isinstance(value, type) and issubclass(value, pl.Module) else ():
                    owner = next((each for each in value.__mro__ if method in vars(each)), None)
                    if owner is None or len(inspect.signature(vars(owner)[method]).parameters) < 3 and method == "__call__":
                        continue
                    text = (vars(owner)[method].__doc__ or "").removeprefix(f"{method}{inspect.signature(vars(owner)[method])}").strip()
                    seen += 1
                    if not text:
                        without.add(f"{value.__name__}.{method}")
        self.assertEqual(sorted(without), [])
        self.assertGreater(seen, 200)
        self.assertIn("lengths, i64[batch]", pl.nn.LSTM.__call__.__doc__)
        self.assertIn("which some", pl.optim.chain.update.__doc__)

    def test_methods_keep_their_own_text(self):
        self.assertTrue(pl.Tensor.split.__doc__.startswith("Split along the axis"))

    def test_partials_are_trees(self):
        """A function and its arguments, by place and by name."""
        held = functools.partial(pl.linear, weight=pl.ones((1, 2)))
        self.assertEqual([path for path, _ in pl.tree.leaves_with_paths({"f": held})], ["f.keywords.weight"])
        twice = pl.tree.map(lambda leaf: 2 * leaf, held)
        np.testing.assert_array_equal(twice(X), 2 * held(X).numpy())


if __name__ == "__main__":
    unittest.main()
