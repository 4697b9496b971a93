"""Exchange of memory with NumPy, PyTorch and JAX by DLPack, without copies or leaks."""

import gc
import os
import unittest

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import plait
import torch

jax.config.update("jax_enable_x64", True)

TORCH = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f8e4m3": torch.float8_e4m3fn,
         "f8e5m2": torch.float8_e5m2, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64, "u8": torch.uint8,
         "u16": torch.uint16, "u32": torch.uint32, "u64": torch.uint64, "bool": torch.bool, "c64": torch.complex64,
         "c128": torch.complex128}
NUMPY = [name for name in TORCH if name not in ("bf16", "f8e4m3", "f8e5m2")]
JAX = [name for name in TORCH if not name.startswith("f8")]


def made(name):
    return plait.astype(plait.tensor([[0, 1, 2], [3, 4, 5]]), name)


def address(x):
    return x._array_interface()["data"][0]


def bytes_of(x):
    return x.numpy().tobytes()


class Given(unittest.TestCase):
    """Export from Plait."""

    def test_torch(self):
        for name, dtype in TORCH.items():
            x = made(name)
            theirs = torch.from_dlpack(x)
            with self.subTest(name):
                self.assertEqual((theirs.dtype, tuple(theirs.shape), theirs.data_ptr()), (dtype, (2, 3), address(x)))
                self.assertEqual(theirs.view(torch.uint8).numpy().tobytes(), bytes_of(x))

    def test_dtypes_of_torch(self):
        for name in ("float32", "float64", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int8", "int64", "uint8", "uint32", "bool", "complex64"):
            self.assertEqual(plait.zeros(1, dtype=getattr(torch, name)).dtype, plait.zeros(1, dtype=name).dtype)
        for wrong in (torch.quint8, torch.ones(2), np.ones(2), object()):
            with self.assertRaisesRegex(plait.TypeError, "dtype"):
                plait.zeros(1, dtype=wrong)

    def test_numpy(self):
        for name in NUMPY:
            x = made(name)
            theirs = np.from_dlpack(x)
            with self.subTest(name):
                np.testing.assert_array_equal(theirs, x.numpy())
                self.assertEqual(theirs.__array_interface__["data"], (address(x), True))  # and is read-only

    def test_jax(self):
        for name in JAX:
            x = made(name)
            theirs = jnp.from_dlpack(x)
            with self.subTest(name):
                self.assertEqual(np.asarray(theirs).tobytes(), bytes_of(x))
                self.assertEqual(theirs.unsafe_buffer_pointer(), address(x))

    def test_strides(self):
        x = plait.reshape(plait.arange(24), (2, 3, 4))
        for view in (x.T, x[:, ::-1], x[1, :, ::2], plait.broadcast_to(x[0, 0], (5, 4)), x[:0], plait.asarray(7)):
            np.testing.assert_array_equal(np.from_dlpack(view), view.numpy())

    def test_what_is_repeated_is_lent_as_a_copy(self):
        constant, row = plait.ones(3), plait.broadcast_to(plait.arange(2.0), (3, 2))
        for lent in (constant, row):
            taken = torch.from_dlpack(lent)
            taken[0] = 5
            self.assertFalse((np.asarray(lent) == 5).any())
            self.assertTrue((taken.numpy()[1:] == np.asarray(lent)[1:]).all())

    def test_written_to_only_where_asked_for(self):
        x = plait.zeros(3)
        writable = np.from_dlpack(x, copy=True)
        writable[:] = 9
        self.assertEqual(bytes_of(x), bytes(12))
        old = torch.utils.dlpack.from_dlpack(x.__dlpack__(copy=True))
        old[:] = 9
        self.assertEqual(bytes_of(x), bytes(12))
        shared = np.from_dlpack(x)
        x[0] = 1
        self.assertEqual((float(x[0]), shared[0]), (1, 0))

    def test_programs_see_what_the_taker_changes(self):
        w, x = plait.random.normal(plait.random.key(1), (320, 320)), plait.random.normal(plait.random.key(2), (320, 320))
        product = plait.jit(lambda x, w: x @ w)
        for _ in range(4):
            product(x, w)  # w is kept in the layout of products
        for factor in (2, 3):
            torch.from_dlpack(w).mul_(factor)
            for _ in range(3):
                np.testing.assert_array_equal(np.asarray(product(x, w)), np.asarray(product(x, w + 0)))

    def test_arguments(self):
        x = plait.zeros(3)
        self.assertEqual(tuple(map(int, x.__dlpack_device__())), (1, 0))
        self.assertIn("dltensor_versioned", repr(x.__dlpack__(max_version=(1, 0))))
        self.assertIn('"dltensor"', repr(x.__dlpack__()))
        self.assertIn('"dltensor"', repr(x.__dlpack__(max_version=(0, 8))))
        self.assertIsNotNone(x.__dlpack__(dl_device=(1, 0), copy=False))
        self.assertRaises(BufferError, x.__dlpack__, dl_device=(2, 0))
        self.assertRaises(BufferError, plait.random.key(1).__dlpack__)
        self.assertRaises(ValueError, x.__dlpack__, stream=1)
        self.assertRaises(plait.Error, plait.trace(lambda x: x.__dlpack__()), x)


class Taken(unittest.TestCase):
    """Import into Plait."""

    def test_torch(self):
        for name, dtype in TORCH.items():
            theirs = torch.tensor([[0, 1, 2], [3, 4, 5]]).to(dtype)
            mine = plait.from_dlpack(theirs)
            with self.subTest(name):
                self.assertEqual((mine.dtype.name, mine.shape, address(mine)), (name, (2, 3), theirs.data_ptr()))
                self.assertEqual(bytes_of(mine), bytes_of(made(name)))
                self.assertEqual(bytes_of(plait.asarray(theirs)), bytes_of(mine))

    def test_jax(self):
        for name in JAX:
            theirs = jnp.asarray(made(name).numpy())
            mine = plait.from_dlpack(theirs)
            with self.subTest(name):
                self.assertEqual((bytes_of(mine), mine.dtype.name), (bytes_of(made(name)), name))
                self.assertEqual(address(mine), theirs.unsafe_buffer_pointer())

    def test_numpy(self):
        array = np.arange(24.0).reshape(2, 3, 4)
        for view in (array, array.T, array[:, ::-1], array[1, :, ::2], array[:0], array[0, 0, 0:1]):
            np.testing.assert_array_equal(plait.from_dlpack(view).numpy(), view)
        mine, copied = plait.from_dlpack(array), plait.from_dlpack(array, copy=True)
        array[0, 0, 0] = 7
        self.assertEqual((float(mine[0, 0, 0]), float(copied[0, 0, 0])), (7, 0))

    def test_what_is_borrowed_is_not_written_to(self):
        theirs = torch.zeros(3)
        mine = plait.from_dlpack(theirs)
        mine[0] = 5
        self.assertEqual((theirs.tolist(), mine.numpy().tolist()), ([0, 0, 0], [5, 0, 0]))

    def test_elements_that_are_not_aligned(self):
        held = np.zeros(4 * 3 + 1, np.uint8)
        array = held[1:].view(np.float32)
        array[:] = (1, 2, 3)
        self.assertEqual(plait.from_dlpack(array).numpy().tolist(), [1, 2, 3])
        self.assertRaises(BufferError, plait.from_dlpack, array, copy=False)

    def test_invalid_arguments(self):
        self.assertRaises(BufferError, plait.from_dlpack, np.zeros(2, np.longdouble))
        self.assertRaises(plait.DeviceError, plait.from_dlpack, np.zeros(2), device="gpu")
        self.assertRaises(AttributeError, plait.from_dlpack, 3)

        class Used:
            capsule = np.zeros(2).__dlpack__()

            def __dlpack__(self):
                return self.capsule

        self.assertEqual(plait.from_dlpack(Used()).shape, (2,))
        self.assertRaisesRegex(plait.TypeError, "unused", plait.from_dlpack, Used())
        self.assertRaises(TypeError, plait.from_dlpack, type("Wrong", (), {"__dlpack__": lambda self: 3})())


def live():
    gc.collect()
    return plait.memory_statistics().live


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Lifetimes(unittest.TestCase):
    def setUp(self):
        self.before = live()

    def tearDown(self):
        self.assertEqual(live(), self.before)

    def test_the_giver_goes_first(self):
        for taken_by in (np.from_dlpack, torch.from_dlpack, jnp.from_dlpack, plait.from_dlpack):
            x = plait.zeros(1000) + 3
            theirs = taken_by(x)
            del x
            self.assertEqual(live() - self.before, 4000)
            self.assertEqual(float(theirs[999]), 3)
            del theirs
            self.assertEqual(live(), self.before, taken_by)

    def test_the_taker_goes_first(self):
        x = plait.zeros(1000) + 3
        for taken_by in (np.from_dlpack, torch.from_dlpack, jnp.from_dlpack, plait.from_dlpack):
            theirs = taken_by(x)
            del theirs
            self.assertEqual(float(x[999]), 3)

    def test_what_is_taken_outlives_the_giver(self):
        def gone():
            self.released = True

        class Giver(np.ndarray):
            def __del__(self):
                gone()

        self.released = False
        array = np.full(1000, 3.0).view(Giver)
        mine = plait.from_dlpack(array)
        view = mine[500:]
        del array, mine
        gc.collect()
        self.assertFalse(self.released)
        self.assertEqual(float(view[0]), 3)
        del view
        gc.collect()
        self.assertTrue(self.released)

    def test_capsules_that_nobody_takes(self):
        for asked in ({}, {"max_version": (1, 0)}, {"max_version": (1, 0), "copy": True}):
            capsule = (plait.zeros(1000) + 3).__dlpack__(**asked)
            self.assertEqual(live() - self.before, 4000)
            del capsule
            self.assertEqual(live(), self.before)
        theirs = np.zeros(3)
        plait._core._from_capsule(theirs.__dlpack__(), True)

    @unittest.skipIf("libasan" in os.environ.get("LD_PRELOAD", ""), "AddressSanitizer keeps what is let go, for a while")
    def test_nothing_leaks_in_a_million(self):
        x, array, other = plait.zeros(16), np.zeros(16, np.float32), torch.zeros(16)

        def work(times):
            for _ in range(times):
                np.from_dlpack(x)
                plait.from_dlpack(array)
                plait.from_dlpack(other)
                x.__dlpack__()
                plait.add(x, array)
                plait.sum(x + 1, axis=0, keepdims=True)
                try:
                    plait.sum(x, axes=0)
                except TypeError:
                    pass
                x.shape, x.dtype, x.device  # noqa: B018

        work(2000)
        gc.collect()
        before = resident()
        work(125_000)  # samples of eight kinds
        gc.collect()
        self.assertLess(resident() - before, 4 << 20)


if __name__ == "__main__":
    unittest.main()
