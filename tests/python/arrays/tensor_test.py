"""Tensors of the Python module: memory shared with NumPy, operators, dtypes, errors."""

import gc
import operator
import threading
import time
import unittest
import weakref

import ml_dtypes
import numpy as np
import plait


class Sharing(unittest.TestCase):
    def test_every_dtype_goes_there_and_back(self):
        for dtype in plait.dtypes:
            to = plait.inside.arrays.interop.numpy_dtype(dtype)
            array = np.frombuffer(np.random.default_rng(1).bytes(24 * to.itemsize), np.uint8)
            array = (array % 2).view(bool) if dtype.kind == "boolean" else array.view(to)
            array = array.reshape(2, 3, -1)
            tensor = plait.borrow(array)
            self.assertEqual(tensor.dtype, dtype)
            self.assertEqual(tensor.shape, array.shape)
            self.assertEqual(tensor.numpy().dtype, to)
            self.assertEqual(tensor.numpy().tobytes(), array.tobytes())

    def test_memory_is_shared_both_ways(self):
        array = np.arange(12.0).reshape(3, 4)
        for view in (array, array[::2], array[:, ::-1], array.T, array[1:2, ::3], np.broadcast_to(array[0], (5, 4))):
            tensor = plait.asarray(view)
            self.assertTrue(np.shares_memory(tensor.numpy(), array))
            np.testing.assert_array_equal(tensor.numpy(), view)

    def test_what_numpy_gets_is_read_only(self):
        view = plait.arange(3).numpy()
        with self.assertRaises(ValueError):
            view[0] = 1

    def test_borrowed_memory_is_never_written(self):
        array = np.arange(1000, dtype=np.float32)
        before = array.copy()
        for function in (plait.negative, plait.exp, lambda x: x + 1, lambda x: plait.flip(x, 0)):
            function(plait.asarray(array))
        program = plait.trace(lambda x: -(-x))(array)
        program(array)
        np.testing.assert_array_equal(array, before)

    def test_owners_live_as_long_as_needed(self):
        class Owner:
            def __init__(self):
                self.memory = np.arange(4.0)
                self.__array_interface__ = self.memory.__array_interface__

        owner = Owner()
        died = weakref.ref(owner)
        array = np.asarray(owner)
        del owner
        tensor = plait.borrow(array)
        view = plait.flip(tensor, 0).numpy()
        del array, tensor
        gc.collect()
        self.assertIsNotNone(died())
        np.testing.assert_array_equal(view, [3, 2, 1, 0])
        del view
        gc.collect()
        self.assertIsNone(died())

    def test_what_cannot_be_shared_is_copied(self):
        for array in (np.arange(5, dtype=">f4"), np.zeros(3, [("a", "i1"), ("b", "f4")])["b"]):
            np.testing.assert_array_equal(plait.asarray(array).numpy(), array)

    def test_empty_and_0d(self):
        self.assertEqual(plait.asarray(np.zeros((0, 3))).numpy().shape, (0, 3))
        self.assertEqual(plait.asarray(np.float64(2)).item(), 2.0)
        self.assertEqual(plait.asarray(np.float64(2)).dtype, plait.f64)

    def test_lists_have_the_default_dtypes(self):
        self.assertEqual(plait.asarray([[1, 2], [3, 4]]).dtype, plait.i64)
        self.assertEqual(plait.asarray([1.0, 2]).dtype, plait.f32)
        self.assertEqual(plait.asarray([1j]).dtype, plait.c64)
        self.assertEqual(plait.asarray([True]).dtype, plait.boolean)
        self.assertEqual(plait.asarray([1.0], plait.bf16).numpy().dtype, ml_dtypes.bfloat16)

    def test_dlpack(self):
        x = plait.asarray(np.arange(6.0).reshape(2, 3))
        np.testing.assert_array_equal(np.from_dlpack(x), x.numpy())
        self.assertTrue(np.shares_memory(np.from_dlpack(x), x.numpy()))
        np.testing.assert_array_equal(plait.from_dlpack(np.arange(3)).numpy(), [0, 1, 2])

    def test_array_protocol(self):
        x = plait.arange(3)
        self.assertEqual(np.asarray(x, np.float64).dtype, np.float64)
        self.assertTrue(np.array(x).flags.writeable)


class Operators(unittest.TestCase):
    def test_with_tensors_numbers_and_arrays(self):
        x, a = plait.asarray([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 4.0], np.float32)
        for result, expected in ((x + 1, a + 1), (1 - x, 1 - a), (x * x, a * a), (8 / x, 8 / a), (x // 3, a // 3),
                                 (x % 3, a % 3), (x**2, a**2), (2**x, 2**a), (-x, -a), (abs(-x), a), (a + x, a + a),
                                 (x > 1, a > 1), (x == 2, a == 2), (x != 2, a != 2), (x @ x, a @ a), (a @ x, a @ a)):
            self.assertIsInstance(result, plait.Tensor)
            np.testing.assert_array_equal(result.numpy(), expected)
        i = plait.arange(4)
        for result, expected in ((i & 1, [0, 1, 0, 1]), (i | 1, [1, 1, 3, 3]), (i ^ 3, [3, 2, 1, 0]), (~i, [-1, -2, -3, -4]),
                                 (i << 1, [0, 2, 4, 6]), (i >> 1, [0, 0, 1, 1]), (1 << i, [1, 2, 4, 8])):
            np.testing.assert_array_equal(result.numpy(), expected)

    def test_numbers_take_the_dtype_of_the_tensor(self):
        self.assertEqual((plait.asarray([1], plait.i8) + 1).dtype, plait.i8)
        self.assertEqual((plait.asarray([1], plait.i8) + 1.0).dtype, plait.f32)
        self.assertEqual((plait.asarray([1], plait.bf16) * 2.5).dtype, plait.bf16)
        self.assertEqual((plait.asarray([1], plait.f16) + np.float64(1)).dtype, plait.f64)

    def test_numbers_that_a_dtype_lacks_are_refused(self):
        """As in NumPy 2, instead of wrapping around."""
        u8 = plait.asarray(np.array([1, 200], np.uint8))
        for number in (300, -1, 2**40):
            for action in (lambda: plait.asarray(number, "u8"), lambda: plait.tensor([1, number], plait.u8), lambda: u8 + number,
                           lambda: number * u8, lambda: plait.where(u8 > 1, u8, number), lambda: u8.at[0].set(number),
                           lambda: plait.full(2, number, plait.u8), lambda: plait.jit(lambda x: x - number)(u8)):
                with self.assertRaisesRegex(plait.ValueError, f"{number} does not fit into u8"):
                    action()
            for name in ("lt", "le", "gt", "ge", "eq", "ne"):
                np.testing.assert_array_equal(getattr(u8, f"__{name}__")(number).numpy(), getattr(u8.numpy(), f"__{name}__")(number))
        self.assertEqual((u8 + 55).numpy().tolist(), [56, 255])
        self.assertEqual((plait.asarray(255, "u8").item(), plait.asarray(-128, "i8").item()), (255, -128))
        self.assertEqual(plait.asarray(2**64 - 1, "u64").item(), 2**64 - 1)
        self.assertEqual(plait.asarray(np.array([300]), "u8").numpy().tolist(), [44])  # a conversion of an array wraps
        for action in (lambda: plait.asarray(2**63, "i64"), lambda: plait.full(2, 2**63, "i64"), lambda: plait.full(2, 2**63, "u32"),
                       lambda: plait.full_like(plait.zeros(2, dtype="i64"), 2**63)):
            self.assertRaisesRegex(plait.ValueError, "9223372036854775808 does not fit into", action)
        self.assertRaisesRegex(plait.ValueError, "out of the range from -2", plait.pad, plait.zeros(1), [(1, 0)], value=2**63)
        self.assertEqual(plait.full(1, 2**63, "f64").item(), 2.0**63)

    def test_u64_and_signed_integers_are_compared_by_value(self):
        signed, unsigned = [-(2**63), -1, 0, 2**53 + 1, 2**63 - 1], [0, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1]
        a, b = plait.asarray(signed)[:, None], plait.asarray(unsigned, plait.u64)
        for name in ("lt", "le", "gt", "ge", "eq", "ne"):
            compare = getattr(operator, name)
            wanted = [[compare(x, y) for y in unsigned] for x in signed]
            for found in (compare(a, b), plait.jit(compare)(a, b), plait.vmap(lambda row: compare(row, b))(a)):
                self.assertEqual(found.tolist(), wanted, name)
            self.assertEqual(compare(b, a).tolist(), [[compare(y, x) for y in unsigned] for x in signed], name)
            self.assertEqual(compare(a, 2**63)[:, 0].tolist(), [compare(x, 2**63) for x in signed], name)

    def test_lists_of_integers_are_exact(self):
        """NumPy makes f64 of integers of which some are above 2⁶³, and of integers beside floats."""
        big = 2**63 + 5
        objects = np.array([[big, 1]], object)
        for made in (plait.tensor([[big, 1]], plait.u64), plait.asarray(((big, 1),), "u64"), plait.array([[big, 1.5]], plait.u64),
                     plait.asarray([[np.uint64(big), np.int64(1)]], "u64"), plait.asarray(objects, "u64"), plait.asarray(objects.tolist(), "u64"),
                     plait.asarray([np.array([big, 1], np.uint64)], "u64"), plait.stack([plait.asarray([big, 1], "u64")])):
            self.assertEqual((made.dtype, made.tolist()), (plait.u64, [[big, 1]]))
        self.assertEqual(plait.tensor([2**64 - 1, 0], "u64").tolist(), [2**64 - 1, 0])
        self.assertEqual(plait.tensor([2**63 - 1, -1.5, -(2**63)], "i64").tolist(), [2**63 - 1, -1, -(2**63)])
        self.assertEqual(plait.tensor([2**53 + 1, 0.5], "i64").tolist(), [2**53 + 1, 0])
        self.assertEqual(plait.tensor(np.array([1, 2], object)).dtype, plait.i64)
        for numbers, dtype, words in (([big, -1], "u64", "^-1 does"), ([big, -1], "i64", f"^{big} does"), ([big, 1], "u8", f"^{big} does"),
                                      ([2**64, 1], "u64", f"{2**64} has more than 64 bits"), ([float("nan"), big], "u64", "^nan does")):
            for given in (numbers, np.array(numbers, object)):
                self.assertRaisesRegex(plait.ValueError, words, plait.tensor, given, dtype)
        self.assertEqual(plait.tensor([big, 1]).dtype, plait.f32)  # as NumPy's f64
        self.assertRaisesRegex(plait.TypeError, "not None", plait.tensor, np.array([1, None], object))
        self.assertRaisesRegex(plait.ValueError, "without a copy", plait.asarray, np.array([1], object), copy=False)

    def test_sequences_that_a_dtype_lacks_are_refused(self):
        for action in (lambda: plait.arange(0, 300, 100, "i8"), lambda: plait.arange(300, dtype="u8"), lambda: plait.arange(-1, 3, dtype="u8"),
                       lambda: plait.arange(0, 300.5, 100.25, "i8"), lambda: plait.linspace(0, 300, 4, "i8"), lambda: plait.linspace(-1, 3, 5, "u8")):
            self.assertRaisesRegex(plait.ValueError, "does not fit into [iu]8", action)
        self.assertEqual(plait.arange(256, dtype="u8")[-1].item(), 255)
        self.assertEqual(plait.arange(300, 0, dtype="u8").shape, (0,))
        self.assertEqual(plait.arange(0, 130, 100, "i8").tolist(), [0, 100])
        self.assertEqual(plait.linspace(0, 256, 256, "u8", endpoint=False)[-1].item(), 255)
        self.assertEqual(plait.linspace(0, 300, 1, "u8").tolist(), [0])

    def test_floats_that_an_integer_dtype_lacks_are_refused(self):
        nan, infinity = float("nan"), float("inf")
        for number, dtype in ((300.0, "i8"), (-129.0, "i8"), (nan, "i8"), (-1.0, "u8"), (1e30, "i64"), (2.0**63, "i64"), (-1e19, "i64"), (2.0**64, "u64"),
                              (infinity, "i64"), (-infinity, "u64"), (300 + 0j, "i8")):
            like = plait.zeros((2,), dtype=dtype)
            limits = plait.iinfo(like.dtype)
            for action in (lambda: plait.asarray(number, dtype), lambda: plait.tensor([[1.0, number]], dtype), lambda: plait.full(2, number, dtype),
                           lambda: plait.asarray([plait.tensor(1.0), number], dtype), lambda: plait.full_like(like, number)):
                with self.subTest(number=number, dtype=dtype), self.assertRaisesRegex(
                        plait.ValueError, f"does not fit into {dtype}, whose range is {limits.min} to {limits.max}"):
                    action()
            for action in (lambda: like.at[0].set(number), lambda: like.__setitem__(0, number)):
                self.assertRaisesRegex(plait.TypeError, "does not fit into", action)
        for number, dtype, wanted in ((127.9, "i8", 127), (-128.9, "i8", -128), (-0.9, "u8", 0), (255.5, "u8", 255), (2.0**63, "u64", 2**63),
                                      (-(2.0**63), "i64", -(2**63)), (2.5, "bool", True)):
            for made in (plait.asarray(number, dtype), plait.tensor([number], dtype)[0], plait.full((), number, dtype)):
                self.assertEqual(made.item(), wanted)
        self.assertEqual(plait.asarray(np.array([300.0]), "i8").shape, (1,))  # a conversion of an array is not checked

    def test_others_are_left_to_the_other(self):
        with self.assertRaises(TypeError):
            plait.arange(3) + "text"
        self.assertFalse(plait.arange(3) == "text")

    def test_numbers_of_python(self):
        self.assertEqual(plait.asarray(np.uint64(2**64 - 1)).item(), 2**64 - 1)
        self.assertIs(plait.asarray(True).item(), True)
        self.assertEqual(plait.asarray(1 + 2j).item(), 1 + 2j)
        self.assertEqual([1, 2, 3][plait.asarray(1)], 2)
        self.assertEqual(float(plait.asarray(1.5)), 1.5)
        self.assertTrue(plait.asarray(3))

    def test_repr_tells_the_dtype(self):
        self.assertEqual(repr(plait.asarray([1.0, 2.0])), "[1. 2.] : f32[2]")
        self.assertEqual(repr(plait.bf16), "plait.bf16")


class Errors(unittest.TestCase):
    def test_kinds_are_also_those_of_python(self):
        x = plait.zeros((2, 3))
        for kind, own, action in (
            (ValueError, plait.ShapeError, lambda: x @ x), (ValueError, plait.ShapeError, lambda: plait.reshape(x, (4,))),
            (IndexError, plait.IndexError, lambda: plait.sum(x, 2)), (ValueError, plait.ValueError, lambda: plait.sum(x, (0, 0))),
            (TypeError, plait.TypeError, lambda: plait.apply("exp", [plait.arange(3)])),
            (KeyError, plait.KeyError, lambda: plait.apply("expp", [x])),
            (TypeError, plait.TypeError, lambda: plait.exp("text")),
            (TypeError, plait.TypeError, lambda: plait.apply("reduce_sum", [x], axis=0)),
            (TypeError, plait.TypeError, lambda: plait.apply("reduce_sum", [x], axes="text")),
            (TypeError, plait.TypeError, lambda: plait.apply("reduce_sum", [x])),
            (MemoryError, plait.MemoryError, lambda: plait.zeros((2**40, 2**20)) + 1),
        ):
            with self.assertRaises(kind) as caught:
                action()
            self.assertIsInstance(caught.exception, own)
            self.assertIsInstance(caught.exception, plait.Error)

    def test_they_name_the_line(self):
        with self.assertRaises(plait.ShapeError) as caught:
            plait.zeros((2, 3)) @ plait.zeros((2, 3))
        self.assertIn("tensor_test.py:", caught.exception.location)
        self.assertIn("inner sizes differ", caught.exception.message)
        self.assertIn(caught.exception.location, str(caught.exception))

    def test_a_key_error_reads_like_the_others(self):
        with self.assertRaises(KeyError) as caught:
            plait.apply("expp", [1.0])
        self.assertTrue(str(caught.exception).startswith("KeyError: "))


class Table(unittest.TestCase):
    def test_describes_primitives(self):
        table = plait.ops()
        self.assertNotIn("capture", table)
        matmul, convert = table["matmul"], table["convert"]
        self.assertEqual((matmul.least_operands, matmul.most_operands, matmul.has_signature), (2, 2, True))
        self.assertEqual(convert.attributes, {"dtype": None})
        self.assertIn("partials", table["exp"].rules)
        self.assertEqual(table["exp"].elementwise, "same")
        self.assertNotIn(plait.i32, table["exp"].takes)
        self.assertEqual((table["exp"].oracle, table["exp"].not_differentiable), ("numpy.exp", ""))
        self.assertEqual((table["argmax"].not_differentiable, table["check"].has_effects), ("returns indices", True))
        self.assertEqual((table["all_gather"].communicates, table["concat"].most_operands), (True, None))

    def test_attributes_of_every_kind(self):
        x = plait.arange(6)
        self.assertEqual(plait.apply("convert", [x], dtype=plait.f64).dtype, plait.f64)
        self.assertEqual(plait.apply("convert", [x], dtype="bf16").dtype, plait.bf16)
        self.assertEqual(plait.apply("reshape", [x], sizes=(2, np.int64(3))).shape, (2, 3))
        self.assertEqual(plait.ops()["slice"](x, axis=0, start=4, count=2, step=-2).numpy().tolist(), [4, 2])


class Printing(unittest.TestCase):
    def setUp(self):
        self.texts = []
        self.former = plait.set_print_sink(self.texts.append)
        self.addCleanup(lambda: plait.set_print_sink(self.former))

    def test_goes_to_a_function(self):
        x = plait.print(plait.arange(3), "x")
        plait.print(x + 1)
        program = plait.trace(lambda x: plait.print(x * 2, label="twice"))(x)
        self.assertEqual(len(self.texts), 2)
        program(x)
        self.assertEqual([text.split(" :")[0] for text in self.texts], ["x: [0 1 2]", "[1 2 3]", "twice: [0 2 4]"])

    def test_errors_of_the_function_are_raised(self):
        def fail(text):
            raise KeyError(text)

        self.assertEqual(plait.set_print_sink(fail), self.texts.append)
        with self.assertRaises(KeyError):
            plait.print(1.0)
        self.assertIs(plait.set_print_sink(self.texts.append), fail)

    def test_sinks_are_functions_or_none(self):
        with self.assertRaises(plait.TypeError):
            plait.set_print_sink("out")
        plait.set_print_sink(None)
        self.assertIsNone(plait.set_print_sink(self.texts.append))


class Threads(unittest.TestCase):
    def test_python_goes_on_while_plait_computes(self):
        square = plait.asarray(np.random.default_rng(1).random((1200, 1200)))
        many = plait.asarray(np.random.default_rng(2).random(2_000_000))
        image = plait.asarray(np.ones((4, 64, 96, 96), np.float32))
        places = plait.asarray(np.random.default_rng(3).integers(0, 2_000_000, 5_000_000))
        program = plait.trace(lambda x: plait.sort(x))(many)
        for name, action in (("matmul", lambda: square @ square), ("sort", lambda: plait.sort(many)),
                             ("brackets", lambda: many[places]),
                             ("at", lambda: many.at[places].add(1)), ("svd", lambda: plait.linalg.svdvals(square[:500, :500])),
                             ("fft", lambda: plait.fft.fft(many[:1_000_000])),
                             ("random", lambda: plait.random.normal((20_000_000,))),
                             ("convolution", lambda: plait.conv2d(image, plait.ones((64, 64, 3, 3)))),
                             ("by name", lambda: plait.apply("sort", [many], axis=0, values_only=True)),
                             ("program", lambda: program(many))):
            with self.subTest(name=name):
                self.assertTrue(any(self.goes_on(action) for _ in range(3)))  # another process may delay this one

    def goes_on(self, action):
        """True if this thread advances during one call in another thread."""
        times = []

        def work():
            times.append(time.perf_counter())
            action()
            times.append(time.perf_counter())

        worker = threading.Thread(target=work)
        worker.start()
        while not times:
            pass
        last, longest = times[0], 0.0
        while len(times) < 2:
            now = time.perf_counter()
            last, longest = now, max(longest, now - last)
        worker.join()
        return longest < 0.7 * (times[1] - times[0])

    def test_denormals_count_as_the_caller_says(self):
        x, f = plait.full(1_000_000, 1e-30), plait.jit(lambda x: x * 1e-10)
        for function in (f, lambda x: x * 1e-10):
            with plait.flush_denormals():
                self.assertFalse(function(x).numpy().any())
                with plait.flush_denormals(False):
                    self.assertTrue(function(x).numpy().all())
                self.assertFalse(function(x).numpy().any())
            self.assertTrue(function(x).numpy().all())
            self.assertFalse(plait.flush_denormals()(function)(x).numpy().any())
            with self.assertRaises(plait.ShapeError), plait.flush_denormals():
                function(x) + plait.ones(3)
            self.assertTrue(function(x).numpy().all())
        for recorded in (plait.jit(plait.flush_denormals()(lambda x: x * 1e-10)), plait.trace(lambda x: plait.flush_denormals()(abs)(x))):
            with self.assertRaisesRegex(plait.TypeError, "put it around the call"):
                recorded(x)

    def test_tensors_are_read_while_they_are_assigned(self):
        x = plait.zeros(100_000) + 0
        seen, done = [], threading.Event()

        def read():
            while not done.is_set():
                y = (x + 0).numpy()
                seen.append(bool((y == y[0]).all()))

        readers = [threading.Thread(target=read) for _ in range(2)]
        for reader in readers:
            reader.start()
        for i in range(200):
            x[...] = i
        done.set()
        for reader in readers:
            reader.join()
        self.assertTrue(all(seen))


class Methods(unittest.TestCase):
    def test_they_refuse_other_objects(self):
        """As `map(plait.Tensor.item, [x, 0.5])` asks."""
        for name in dir(plait.Tensor):
            method = getattr(plait.Tensor, name)
            if name.startswith("__") or not callable(method):
                continue
            for other in (0.5, None, [1.0], "x", object()):
                with self.subTest(name, other=other):
                    try:
                        method(other)
                    except (TypeError, ValueError, AttributeError, plait.Error):
                        pass

    def test_traced_fractions_of_quantiles(self):
        x = plait.tensor([1.0, 2.0, 3.0, 4.0])
        for q, expected in ((-0.05, np.nan), (1.2, np.nan), (np.nan, np.nan), (0.5, 2.5)):
            for of in (plait.quantile, plait.nanquantile):
                with self.subTest(q=q, of=of.__name__):
                    np.testing.assert_equal(plait.jit(of)(x, plait.tensor(q)).item(), expected)
                    np.testing.assert_equal(plait.vmap(lambda q, of=of: of(x, q))(plait.tensor([q, 0.5])).tolist(), [expected, 2.5])
                    if np.isnan(expected):
                        with self.assertRaises(plait.ValueError):
                            of(x, plait.tensor(q))


if __name__ == "__main__":
    unittest.main()
