"""GGUF files as PyPI's gguf writes them; quantised tensors as it dequantises them, bit by bit."""

import pathlib
import struct
import tempfile
import unittest

import gguf
import numpy as np
import plait as pl
from gguf import GGMLQuantizationType as Type, GGUFValueType as Value

PLAIN = {Type.F32: pl.f32, Type.F16: pl.f16, Type.BF16: pl.bf16, Type.F64: pl.f64, Type.I8: pl.i8, Type.I16: pl.i16, Type.I32: pl.i32, Type.I64: pl.i64}
QUANTISED = [Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.Q8_0, Type.Q2_K, Type.Q3_K, Type.Q4_K, Type.Q5_K, Type.Q6_K, Type.IQ4_NL, Type.IQ4_XS, Type.TQ1_0, Type.TQ2_0,
             Type.MXFP4]
RANDOM = np.random.default_rng(35)


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "x.gguf"

    def write(self, fill):
        writer = gguf.GGUFWriter(self.path, "test")
        fill(writer)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()


class Metadata(Files):
    def test_all_types(self):
        given = {"u8": (255, Value.UINT8), "i8": (-128, Value.INT8), "u16": (65535, Value.UINT16), "i16": (-32768, Value.INT16), "u32": (2**32 - 1, Value.UINT32),
                 "i32": (-2**31, Value.INT32), "f32": (0.1, Value.FLOAT32), "bool": (True, Value.BOOL), "text": ("größe 😀", Value.STRING), "u64": (2**64 - 1, Value.UINT64),
                 "i64": (-2**63, Value.INT64), "f64": (0.1, Value.FLOAT64), "texts": (["a", "", "é"], Value.ARRAY), "integers": ([1, -2, 3], Value.ARRAY),
                 "floats": ([0.5, -1.25], Value.ARRAY), "bools": ([True, False], Value.ARRAY)}
        self.write(lambda writer: [writer.add_key_value(key, value, kind) for key, (value, kind) in given.items()])
        expected = {key: np.float32(value).item() if kind == Value.FLOAT32 else value for key, (value, kind) in given.items()}
        with pl.io.open_gguf(self.path) as file:
            self.assertEqual(file.metadata(), {"general.architecture": "test", **expected})
            self.assertEqual({key: type(value) for key, value in file.metadata().items()}, {"general.architecture": str, **{key: type(value) for key, value in expected.items()}})
            self.assertEqual(file.keys(), [])
        theirs = gguf.GGUFReader(self.path)
        self.assertEqual({key: theirs.get_field(key).contents() for key in expected}, expected)

    def test_nested_lists(self):
        text = lambda value: struct.pack("<Q", len(value)) + value  # noqa: E731
        value = struct.pack("<IIQ", 9, 9, 2) + struct.pack("<IQ2i", 5, 2, 1, -1) + struct.pack("<IQ", 8, 1) + text("é".encode())
        self.path.write_bytes(b"GGUF" + struct.pack("<IQQ", 2, 0, 1) + text(b"k") + value)
        with pl.io.open_gguf(self.path) as file:
            self.assertEqual(file.metadata(), {"k": [[1, -1], ["é"]]})


class Tensors(Files):
    def blocks(self, kind, rows, blocks):
        """Random blocks, of which any bits are valid."""
        return RANDOM.integers(0, 256, (rows, blocks * gguf.GGML_QUANT_SIZES[kind][1])).astype(np.uint8)

    def expect_bits(self, ours, theirs):
        """Equal bits; NaNs are equal."""
        self.assertEqual((ours.dtype, ours.shape), (theirs.dtype, theirs.shape))
        is_nan = np.isnan(theirs)
        np.testing.assert_array_equal(np.isnan(ours), is_nan)
        np.testing.assert_array_equal(np.where(is_nan, 0, ours.view(np.uint32)), np.where(is_nan, 0, theirs.view(np.uint32)))

    def test_quantised(self):
        data = {kind: self.blocks(kind, 30, 8) for kind in QUANTISED}
        self.write(lambda writer: [writer.add_tensor(kind.name, each, raw_dtype=kind) for kind, each in data.items()])
        loaded = pl.io.load_gguf(self.path)
        self.assertEqual(sorted(loaded), sorted(kind.name for kind in data))
        with pl.io.open_gguf(self.path) as file, np.errstate(all="ignore"):
            for kind, each in data.items():
                with self.subTest(kind.name):
                    expected = gguf.dequantize(each, kind)
                    self.assertEqual((file.get_type(kind.name), file.get_shape(kind.name)), (kind.name, expected.shape))
                    self.expect_bits(file.get_tensor(kind.name).numpy(), expected)
                    self.expect_bits(loaded[kind.name].numpy(), expected)
                    self.assertGreater(np.mean(np.isfinite(expected)), 0.5)

    def test_quantised_numbers(self):
        """Real numbers, quantised by the package where it can."""
        x = RANDOM.normal(size=(64, 512)).astype(np.float32)
        seen = 0
        for kind in QUANTISED:
            try:
                each = gguf.quantize(x, kind)
            except NotImplementedError:
                continue
            self.write(lambda writer, kind=kind, each=each: writer.add_tensor("x", each, raw_dtype=kind))
            with self.subTest(kind.name):
                found = pl.io.load_gguf(self.path)["x"].numpy()
                self.expect_bits(found, gguf.dequantize(each, kind))
                self.assertLess(np.abs(found - x).mean(), 1.0)
            seen += 1
        self.assertGreater(seen, 6)

    def test_plain(self):
        made = {Type.F32: np.float32, Type.F16: np.float16, Type.F64: np.float64, Type.I8: np.int8, Type.I16: np.int16, Type.I32: np.int32, Type.I64: np.int64}
        arrays = {kind: (100 * RANDOM.normal(size=(3, 5, 2))).astype(dtype) for kind, dtype in made.items()}
        arrays[Type.BF16] = gguf.quantize(RANDOM.normal(size=(3, 5, 2)).astype(np.float32), Type.BF16)
        self.write(lambda writer: [writer.add_tensor(kind.name, each, raw_dtype=kind) for kind, each in arrays.items()])
        loaded = pl.io.load_gguf(self.path)
        for kind, each in arrays.items():
            with self.subTest(kind.name):
                tensor = loaded[kind.name]
                self.assertEqual((tensor.dtype, tensor.shape, tensor.numpy().tobytes()), (PLAIN[kind], (3, 5, 2), each.tobytes()))
                if kind in (Type.F32, Type.F16, Type.BF16):
                    self.expect_bits(tensor.astype(pl.f32).numpy(), gguf.dequantize(each, kind))

    def test_alignment(self):
        def fill(writer):
            writer.add_custom_alignment(128)
            writer.add_tensor("a", np.ones(3, np.float32))
            writer.add_tensor("b", np.arange(5, dtype=np.int8))

        self.write(fill)
        loaded = pl.io.load_gguf(self.path)
        self.assertEqual((loaded["a"].tolist(), loaded["b"].tolist()), ([1.0] * 3, list(range(5))))

    def test_types_that_are_not_read(self):
        known = {*PLAIN, *QUANTISED}
        for kind in Type:
            if kind in known:
                continue
            self.write(lambda writer, kind=kind: writer.add_tensor("x", self.blocks(kind, 1, 1), raw_dtype=kind))
            with self.subTest(kind.name):
                with pl.io.open_gguf(self.path) as file:
                    self.assertEqual(file.get_type("x"), kind.name)
                    self.assertRaisesRegex(pl.TypeError, f"\"x\": it is {kind.name}, which is not read; F32, F16", file.get_tensor, "x")
                self.assertRaises(pl.TypeError, pl.io.load_gguf, self.path)


class Damaged(Files):
    def test_every_beginning_of_a_file(self):
        self.write(lambda writer: (writer.add_array("k", ["a", "b"]), writer.add_tensor("x", np.ones(64, np.float32))))
        whole = self.path.read_bytes()
        for size in range(len(whole)):
            self.path.write_bytes(whole[:size])
            self.assertRaisesRegex(pl.ParseError, "x.gguf: ", pl.io.load_gguf, self.path)

    def test_changed_bytes(self):
        """Any error is one of the library."""
        self.write(lambda writer: (writer.add_array("k", ["a", "b"]), writer.add_array("n", [1, 2]), writer.add_tensor("x", np.ones(64, np.float32)),
                                   writer.add_tensor("y", self.blocks_of_zeros(), raw_dtype=Type.Q4_K)))
        whole = self.path.read_bytes()
        refused = 0
        for place in range(300):
            for byte in (0, 1, 9, 0x7f, 0xff):
                changed = bytearray(whole)
                changed[place] = byte
                self.path.write_bytes(changed)
                try:
                    pl.io.load_gguf(self.path)
                except pl.Error:
                    refused += 1
        self.assertGreater(refused, 300)

    def blocks_of_zeros(self):
        return np.zeros((1, 144), np.uint8)

    def test_files_in_parts(self):
        writer = gguf.GGUFWriter(self.path, "test", split_max_tensors=1)
        for name in "ab":
            writer.add_tensor(name, np.ones(3, np.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        parts = sorted(self.path.parent.iterdir())
        self.assertEqual(len(parts), 2)
        for name, part in zip("ab", parts):
            self.assertRaisesRegex(pl.ValueError, "one of 2 files", pl.io.load_gguf, part)
            with pl.io.open_gguf(part) as file:
                self.assertEqual((file.keys(), file.get_tensor(name).tolist()), ([name], [1.0] * 3))


if __name__ == "__main__":
    unittest.main()
