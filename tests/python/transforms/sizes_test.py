"""Symbolic sizes: divisions by them, operations that refuse them, and sizes of 0 and 1."""

import traceback
import unittest

import numpy as np
import plait as pl

SIZES = (3, 4, 5, 1, 2, 7, 1, 3)


def images(count):
    return pl.asarray(np.random.default_rng(count).random((count, 3, 4), np.float32))


FLATTENED = {
    "function": lambda x: pl.reshape(x, (x.shape[0], -1)),
    "method": lambda x: x.reshape(x.shape[0], -1),
    "of rows": lambda x: x.reshape(x.shape[0] * x.shape[1], -1),
    "with a tuple": lambda x: x.reshape(x.shape[:1] + (-1,)),
    "divided": lambda x: x.reshape(x.shape[0], (12 * x.shape[0]) // x.shape[0]),
    "by its size": lambda x: x.reshape(x.shape[0], x.size // x.shape[0]),
    "unflattened": lambda x: pl.unflatten(x.reshape(-1), 0, (x.shape[0], -1)),
}


class Sizes(unittest.TestCase):
    def expect_same(self, a, b):
        self.assertEqual(a.shape, b.shape)
        self.assertEqual(a.numpy().tobytes(), b.numpy().tobytes())

    def each_way_to_flatten(self):
        for name, flat in FLATTENED.items():
            with self.subTest(name=name):
                yield flat


class Flattening(Sizes):
    def test_is_recorded_once_for_all_sizes(self):
        for flat in self.each_way_to_flatten():
            for first in 3, 1:
                jitted = pl.jit(flat)
                for count in (first, *SIZES):
                    self.expect_same(jitted(images(count)), flat(images(count)))
                self.assertEqual(pl.stats(jitted).traces, 2)

    def test_of_nothing_is_refused_as_it_is_in_eager(self):
        for flat in self.each_way_to_flatten():
            jitted = pl.jit(flat)
            for count in 3, 4, 0, 5, 0:
                try:
                    wanted = flat(images(count))
                except Exception as error:
                    self.assertRaises(type(error), jitted, images(count))
                else:
                    self.expect_same(jitted(images(count)), wanted)

    def test_has_gradients_for_all_sizes(self):
        weights = pl.asarray(np.random.default_rng(1).random((12, 5), np.float32))
        for flat in self.each_way_to_flatten():

            def loss(weights, x):
                return pl.sum(pl.square(flat(x).reshape(-1, 12) @ weights))

            gradient = pl.grad(loss, argnums=(0, 1))
            jitted = pl.jit(gradient)
            for count in SIZES:
                for found, wanted in zip(jitted(weights, images(count)), gradient(weights, images(count))):
                    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-5)
            self.assertEqual(pl.stats(jitted).traces, 2)

    def test_ahead_of_time(self):
        for flat in self.each_way_to_flatten():
            program = pl.trace(flat)(pl.Spec("f32[batch, 3, 4]"))
            for count in 1, 3, 5:
                self.expect_same(program(images(count)), flat(images(count)))
            with self.assertRaisesRegex(pl.ShapeError, "batch"):
                program(images(0))
            gradient = pl.trace(pl.grad(lambda x: pl.sum(pl.square(flat(x)))))(pl.Spec("f32[batch, 3, 4]"))
            np.testing.assert_allclose(gradient(images(2)).numpy(), 2 * images(2).numpy())

    def test_weights_of_convolutions_have_a_gradient_per_sample(self):
        weights = pl.asarray(np.random.default_rng(1).random((4, 3, 3, 3), np.float32))

        def loss(weights, x):
            return pl.sum(pl.square(pl.conv2d(pl.expand_dims(x, 0), weights)))

        def samples(count):
            return pl.asarray(np.random.default_rng(count).random((count, 3, 6, 6), np.float32))

        gradients = pl.vmap(pl.grad(loss), in_axes=(None, 0))
        jitted = pl.jit(gradients)
        program = pl.trace(lambda x: gradients(weights, x))(pl.Spec("f32[batch, 3, 6, 6]"))
        for count in (*SIZES, 0, 2, 0):
            wanted = [pl.grad(loss)(weights, x).numpy() for x in samples(count)]
            wanted = np.stack(wanted) if wanted else np.zeros((0, 4, 3, 3, 3), np.float32)
            for found in gradients(weights, samples(count)), jitted(weights, samples(count)), program(samples(count)):
                self.assertEqual(found.shape, wanted.shape)
                np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4)
        self.assertEqual(pl.stats(jitted).traces, 2)


def pairs(x):
    """Its type is known only for even sizes that are numbers."""
    return pl.view_dtype(x, pl.f64)


def floats(count):
    return pl.asarray(np.random.default_rng(count).random(count, np.float32))


class Refused(Sizes):
    def test_goes_on_with_numbers(self):
        jitted = pl.jit(pairs)
        for count in 4, 6, 8, 6, 0:
            self.expect_same(jitted(floats(count)), pairs(floats(count)))
        with self.assertRaisesRegex(pl.ShapeError, "7"):
            jitted(floats(7))
        self.assertIn("cannot be recorded for all sizes", str(pl.stats(jitted)))

    def test_host_code_cannot_catch_it(self):
        def in_pairs_if_that_is_possible(x):
            try:
                return pairs(x)
            except Exception:
                return x

        jitted = pl.jit(in_pairs_if_that_is_possible)
        for count in 4, 6, 7, 8, 9, 6, 7:
            self.expect_same(jitted(floats(count)), in_pairs_if_that_is_possible(floats(count)))

    def test_within_vmap(self):
        f = pl.vmap(pairs)
        jitted = pl.jit(f)
        for count in 4, 6, 8, 2:
            x = pl.reshape(floats(3 * count), (3, count))
            self.expect_same(jitted(x), f(x))

    def test_where_numbers_are_taken_out(self):
        def f(x):
            return pairs(x) * (2 if float(pl.sum(x)) > 3 else 3) + pl.sum(x).item()

        jitted = pl.jit(f)
        for count in 4, 6, 8, 10, 6:
            self.expect_same(jitted(floats(count)), f(floats(count)))

    def test_an_error_of_the_host_code_is_itself(self):
        def f(x):
            raise pl.ValueError(f"{x.ndim} dimensions")

        jitted = pl.jit(f)
        for count in 3, 4, 5:
            try:
                jitted(pl.arange(count))
            except pl.ValueError as error:
                self.assertEqual(str(error), "1 dimensions")
                self.assertIn("f", [frame.name for frame in traceback.extract_tb(error.__traceback__)])
            else:
                self.fail("nothing was raised")

    def test_errors_speak_of_the_sizes_that_are_given(self):
        jitted = pl.jit(lambda a, b: a @ b)
        jitted(pl.ones((2, 3)), pl.ones((3, 4)))
        with self.assertRaisesRegex(pl.ShapeError, "5 ≠ 6"):
            jitted(pl.ones((4, 5)), pl.ones((6, 4)))
        with self.assertRaisesRegex(pl.ShapeError, "batch ≠ width"):
            pl.trace(lambda a, b: a @ b)(pl.Spec("f32[2, batch]"), pl.Spec("f32[width, 3]"))


class Division(Sizes):
    def test_into_a_number_of_rows_is_recorded_once_for_each_rest(self):
        ways = {
            "-1": lambda x: x.reshape(2, -1),
            "-1 first": lambda x: x.reshape(-1, 4, 3),
            "half": lambda x: x.reshape(x.shape[0] // 2, 2, 6),
            "under grad": pl.grad(lambda x: pl.sum(pl.square(x.reshape(2, -1)[0]))),
        }
        for name, f in ways.items():
            with self.subTest(name=name):
                jitted = pl.jit(f)
                for count in 4, 6, 8, 2, 0, 8:
                    x = pl.reshape(floats(6 * count), (count, 6))
                    self.expect_same(jitted(x), f(x))
                self.assertEqual(pl.stats(jitted).traces, 2)
        jitted = pl.jit(lambda x: x.reshape(2, -1))
        for count in 4, 6, 7, 8:
            if count % 2:
                self.assertRaisesRegex(pl.ShapeError, "7", jitted, floats(count))
            else:
                self.expect_same(jitted(floats(count)), floats(count).reshape(2, -1))

    def test_by_what_is_promised(self):
        even = pl.Dynamic(argument=0, axis=0, name="batch", divisor=2)
        jitted = pl.jit(lambda x: x.reshape(2, -1), dynamic=[even])
        for count in 4, 6, 0:
            self.expect_same(jitted(floats(count)), floats(count).reshape(2, -1))
        self.assertRaisesRegex(pl.ShapeError, "batch", jitted, floats(7))

    def test_of_sizes_and_by_sizes(self):
        def f(x):
            n = x.shape[0]
            return pl.ones((n // 2, n % 3, 7 // n, 7 % n, (2 * n) // n, (6 * n) % n, (n * n + n) // n))

        jitted = pl.jit(f)
        for count in 3, 4, 5, 1, 2:
            self.assertEqual(jitted(pl.ones(count)).shape, f(pl.ones(count)).shape)
        for run in f, jitted:
            self.assertRaises(ZeroDivisionError, run, pl.ones(0))

    def test_what_cannot_be_split_is_refused(self):
        for f in lambda x: pl.split(x, 2)[0], lambda x: pl.pixel_unshuffle(pl.reshape(x, (1, -1, 2)), 2):
            jitted = pl.jit(f)
            for count in 4, 8, 12:
                self.expect_same(jitted(pl.arange(count)), f(pl.arange(count)))
            for run in f, jitted:
                self.assertRaises(pl.Error, run, pl.arange(7))


if __name__ == "__main__":
    unittest.main()
