"""Queries of dtypes and shapes, and names of other libraries, compared with NumPy and ml_dtypes."""

import unittest
import weakref

import ml_dtypes
import numpy as np
import plait
from plait.inside.arrays.interop import numpy_dtype

FLOATS = ("f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2")
INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")


class Limits(unittest.TestCase):
    def test_of_floats(self):
        for name in FLOATS:
            dtype = getattr(plait, name)
            ours, theirs = plait.finfo(dtype), ml_dtypes.finfo(numpy_dtype(dtype))
            for field in ("bits", "eps", "max", "min", "smallest_normal", "smallest_subnormal"):
                self.assertEqual(float(getattr(ours, field)), float(getattr(theirs, field)), (name, field))
            self.assertEqual(ours.dtype, dtype)
        self.assertEqual(plait.finfo(plait.c64), plait.finfo(plait.f32))
        self.assertEqual(plait.finfo(plait.zeros(3)), plait.finfo("float32"))

    def test_of_integers(self):
        for name in INTEGERS:
            dtype = getattr(plait, name)
            ours, theirs = plait.iinfo(dtype), np.iinfo(numpy_dtype(dtype))
            self.assertEqual((ours.bits, ours.max, ours.min, ours.dtype), (theirs.bits, theirs.max, theirs.min, dtype))

    def test_of_others_are_refused(self):
        for function, given in ((plait.finfo, plait.i32), (plait.finfo, plait.boolean), (plait.iinfo, plait.f32),
                                (plait.iinfo, plait.boolean)):
            with self.assertRaisesRegex(plait.TypeError, "not an? (floating-point|integer) dtype"):
                function(given)


class Kinds(unittest.TestCase):
    def test_weak_references(self):
        for held in (plait.f32, plait.Device("cpu")):
            self.assertIs(weakref.ref(held)(), held)

    def test_of_all_dtypes_as_numpy_has_them(self):
        for dtype in plait.dtypes:
            if dtype.kind == "key" or numpy_dtype(dtype).type.__module__ != "numpy":
                continue
            for kind in ("bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric"):
                self.assertEqual(plait.isdtype(dtype, kind), np.isdtype(numpy_dtype(dtype), kind), (dtype, kind))
        self.assertTrue(plait.isdtype(plait.bf16, "real floating"))
        self.assertFalse(plait.isdtype(plait.dtypes[-1], ("numeric", "bool")))
        self.assertTrue(plait.isdtype(plait.i8, ("bool", plait.i8)))
        self.assertFalse(plait.isdtype("f32", plait.f64))

    def test_that_are_unknown_are_told(self):
        with self.assertRaisesRegex(plait.ValueError, "'real' is not a dtype, and not one of 'bool'"):
            plait.isdtype(plait.f32, "real")


class Promotion(unittest.TestCase):
    def test_to_a_dtype(self):
        self.assertTrue(plait.can_cast(plait.i8, plait.i16))
        self.assertTrue(plait.can_cast(plait.zeros(2), "float64"))
        self.assertFalse(plait.can_cast(plait.i16, plait.i8))
        self.assertFalse(plait.can_cast(plait.f8e4m3, plait.f8e5m2))
        self.assertTrue(plait.can_cast(plait.dtypes[-1], plait.dtypes[-1]))

    def test_of_many(self):
        x, k = plait.zeros(2), plait.asarray([1, 2])
        self.assertEqual(plait.result_type(x, k), plait.f32)
        self.assertEqual(plait.result_type(k, 1.5), plait.f32)
        self.assertEqual(plait.result_type(plait.u64, plait.i64, plait.f16), plait.f16)
        self.assertEqual(plait.result_type(plait.i32, True, 2), plait.i32)
        with self.assertRaises(plait.ValueError):
            plait.result_type()

    def test_of_shapes(self):
        for shapes in ([], [(2,)], [(2, 1), (3,)], [(1,), (4, 0)], [(5, 1, 1), (3, 1), (1, 2)]):
            self.assertEqual(tuple(plait.broadcast_shapes(*shapes)), np.broadcast_shapes(*shapes))
        with self.assertRaisesRegex(plait.ShapeError, r"\[2\].*\[3\]"):
            plait.broadcast_shapes((2,), (3,))


class Names(unittest.TestCase):
    def test_of_others(self):
        for name, own in (("abs", "absolute"), ("neg", "negative"), ("pow", "power"), ("bitwise_invert", "bitwise_not"),
                          ("bitwise_left_shift", "left_shift"), ("bitwise_right_shift", "right_shift"), ("array", "tensor"),
                          ("compile", "jit"), ("checkpoint", "remat")):
            self.assertIs(getattr(plait, name), getattr(plait, own))
        x = plait.asarray([1.0, -2.0])
        self.assertIs(plait.positive(x), x)

    def test_eval_refuses_what_is_being_recorded(self):
        plait.eval(plait.zeros(2), {"a": [plait.ones(3)]})
        with self.assertRaisesRegex(plait.ValueError, "eval: .* is being recorded"):
            plait.trace(lambda x: plait.eval({"a": x + 1}))(plait.zeros(2))

    def test_cumulative_sum_needs_an_axis(self):
        with self.assertRaisesRegex(plait.ValueError, "2 dimensions need an axis"):
            plait.cumulative_sum(plait.zeros((2, 3)))


if __name__ == "__main__":
    unittest.main()
