"""safetensors files: PyPI's reference implementation and Plait judge the same files, and write the same bytes."""

import json
import pathlib
import random
import struct
import tempfile
import unittest

import ml_dtypes
import numpy as np
import plait as pl
import safetensors
import safetensors.torch
import torch
from plait.inside.arrays.interop import numpy_dtype

import safetensors_vectors

DTYPES = {"BOOL": pl.bool, "U8": pl.u8, "I8": pl.i8, "F8_E5M2": pl.f8e5m2, "F8_E4M3": pl.f8e4m3, "I16": pl.i16, "U16": pl.u16, "F16": pl.f16, "BF16": pl.bf16, "I32": pl.i32,
          "U32": pl.u32, "F32": pl.f32, "C64": pl.c64, "F64": pl.f64, "I64": pl.i64, "U64": pl.u64}
NAMES = {pl.bool: "bool", pl.f8e5m2: "float8_e5m2", pl.f8e4m3: "float8_e4m3fn", pl.bf16: "bfloat16"}
RANDOM = np.random.default_rng(35)


def accepted(bytes_of_file):
    """True if the reference takes the file."""
    try:
        safetensors.deserialize(bytes_of_file)
    except safetensors.SafetensorError:
        return False
    return True


def bits_of(tensor):
    return tensor.numpy().tobytes()


def written_by_reference(arrays, metadata):
    """The bytes that the reference writes. It writes metadata in a random order: here that of the names, which begin with numbers."""
    specs = {name: safetensors.TensorSpec(dtype=NAMES.get(dtype, dtype.long_name), shape=list(array.shape), data_ptr=array.ctypes.data, data_len=array.nbytes)
             for name, (dtype, array) in arrays.items()}
    while True:
        written = safetensors.serialize(specs, metadata)
        if len(metadata or {}) < 2 or written.index(b'"0 ') < written.index(b'"1 '):
            return written


def random_text(most):
    return "".join(RANDOM.choice(list("abc._0/\\\"é\n😀\x7f\x1f")) for _ in range(RANDOM.integers(1, most)))


def random_arrays():
    """{name: (dtype, array)} with any bits, but bools."""
    made = {}
    for _ in range(RANDOM.integers(0, 9)):
        dtype = list(DTYPES.values())[RANDOM.integers(len(DTYPES))]
        shape = tuple(int(size) for size in RANDOM.integers(0 if RANDOM.random() < 0.2 else 1, 6, RANDOM.integers(0, 5)))
        kind = numpy_dtype(dtype)
        bits = RANDOM.integers(0, 2 if dtype == pl.bool else 256, int(np.prod(shape, dtype=np.int64)) * kind.itemsize).astype(np.uint8)
        made[random_text(8)] = dtype, bits.view(kind).reshape(shape)
    return made


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = self.folder / "x.safetensors"


class Verdicts(Files):
    def error_of(self, bytes_of_file):
        """Plait's error; None if it takes the file."""
        self.path.write_bytes(bytes_of_file)
        try:
            pl.io.open_safetensors(self.path)
        except pl.ParseError as error:
            self.assertIn(str(self.path), error.message)
            return error
        return None

    def test_vectors(self):
        good, bad = 0, 0
        for name, given in safetensors_vectors.vectors():
            with self.subTest(name):
                expected = accepted(given)
                self.assertEqual(self.error_of(given) is None, expected)
                good, bad = good + expected, bad + (not expected)
        self.assertGreater(good, 100)
        self.assertGreater(bad, 150)

    def test_where_the_format_is_stricter_than_the_reference(self):
        for name, given, words in safetensors_vectors.stricter():
            with self.subTest(name):
                self.assertTrue(accepted(given))
                self.assertIn(words, str(self.error_of(given)))

    def test_changed_headers(self):
        """Bytes of a good header are replaced, left out or repeated: nothing is taken that the reference refuses, and little refused that it takes."""
        words = ["two members named", *(words for _, _, words in safetensors_vectors.stricter())]
        choose, taken = random.Random(35), 0
        header = ('{"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}}').encode()
        for _ in range(3000):
            changed = bytearray(header)
            for _ in range(choose.randint(1, 3)):
                place, kind = choose.randrange(len(changed)), choose.randrange(3)
                some = bytes([choose.choice(header + b"0123456789-.eE \n\t\\nullx\x00\xff")])
                changed[place:place + (kind != 1)] = b"" if kind == 0 else some
            given = struct.pack("<Q", len(changed)) + bytes(changed) + bytes(11)
            error, expected = self.error_of(given), accepted(given)
            taken += expected
            with self.subTest(bytes(changed)):
                if expected and error is not None:
                    self.assertTrue(any(each in error.message for each in words), error.message)
                else:
                    self.assertEqual(error is None, expected)
        self.assertGreater(taken, 40)

    def test_dtypes_that_plait_lacks(self):
        for name, bits in safetensors_vectors.BITS.items():
            if name in DTYPES:
                continue
            with self.subTest(name):
                self.path.write_bytes(safetensors_vectors.one(bytes(bits), dtype=f'"{name}"', shape="[8]", offsets=f"[0,{bits}]"))
                with pl.io.open_safetensors(self.path) as file:
                    self.assertEqual((file.get_type("a"), file.get_shape("a")), (name, (8,)))
                    self.assertRaisesRegex(pl.TypeError, f"\"a\": it is {name}, which is not a dtype of Plait", file.get_tensor, "a")
                with self.assertRaisesRegex(pl.TypeError, f'"a": it is {name}') as caught:
                    pl.io.load_safetensors(self.path)
                self.assertIn("skip='a' leaves it out", caught.exception.hint)
                self.assertIn("values=True" if "F8" in name else "raw=True", caught.exception.hint)
                self.assertEqual(pl.io.load_safetensors(self.path, skip="a"), {})

    def test_values_of_dtypes_that_plait_lacks(self):
        """Every byte has the value that ml_dtypes gives it; PyTorch writes the files."""
        for name, kind in (("F8_E8M0", "float8_e8m0fnu"), ("F8_E4M3FNUZ", "float8_e4m3fnuz"), ("F8_E5M2FNUZ", "float8_e5m2fnuz")):
            data = np.arange(256, dtype=np.uint8).reshape(16, 16)
            safetensors.torch.save_file({"a": torch.from_numpy(data).view(getattr(torch, kind)), "b": torch.ones(2)}, self.path)
            expected = data.view(getattr(ml_dtypes, kind)).astype(np.float32)
            with self.subTest(name), pl.io.open_safetensors(self.path) as file:
                self.assertEqual((file.get_type("a"), file.get_values("a").dtype), (name, pl.f32))
                np.testing.assert_array_equal(file.get_values("a").numpy(), expected)
                np.testing.assert_array_equal(file.get_bytes("a").numpy(), data)
                self.assertEqual(file.get_tensor("b").numpy().tolist(), [1, 1])
                self.assertRaisesRegex(pl.TypeError, 'get_tensor\\(name\\) reads it', file.get_values, "b")
                for values in True, "a", ["a"]:
                    np.testing.assert_array_equal(pl.io.load_safetensors(self.path, values=values)["a"].numpy(), expected)
                for raw in True, "a":
                    loaded = pl.io.load_safetensors(self.path, raw=raw)
                    self.assertEqual((loaded["a"].dtype, loaded["b"].dtype), (pl.u8, pl.f32))
                    np.testing.assert_array_equal(loaded["a"].numpy(), data)

    def test_bytes_of_packed_elements(self):
        for name, shape, expected in (("F4", "[2,2]", [[97], [98]]), ("F4", "[4,1]", [97, 98]), ("F6_E2M3", "[2,4]", [[97, 98, 99], [100, 101, 102]]),
                                      ("F6_E3M2", "[2,2]", [97, 98, 99]), ("F4", "[0,2]", []), ("F32", "[]", [97, 98, 99, 100])):
            data = b"abcdef"[:{"F4": 2, "F32": 4}.get(name, 6)]
            data = {"[2,2]": b"abc" if "F6" in name else b"ab", "[0,2]": b""}.get(shape, data)
            self.path.write_bytes(safetensors_vectors.one(data, dtype=f'"{name}"', shape=shape, offsets=f"[0,{len(data)}]"))
            with self.subTest(name, shape=shape), pl.io.open_safetensors(self.path) as file:
                self.assertEqual(file.get_bytes("a").numpy().tolist(), expected)
                self.assertEqual(pl.io.load_safetensors(self.path, raw="a")["a"].numpy().tolist(), expected)
        data = np.arange(8, dtype=np.uint8).reshape(2, 4)
        written = torch.from_numpy(data)
        safetensors.torch.save_file({"blocks": written.view(torch.float4_e2m1fn_x2), "scales": written.clone().view(torch.float8_e8m0fnu)}, self.path)
        self.assertEqual(pl.io.load_safetensors(self.path, raw=["*"], values=True)["scales"].dtype, pl.u8)
        self.assertEqual(pl.io.load_safetensors(self.path, raw=True, values="scales")["scales"].dtype, pl.f32)
        loaded = pl.io.load_safetensors(self.path, raw=True, values=True)
        np.testing.assert_array_equal(loaded["blocks"].numpy(), data)
        np.testing.assert_array_equal(loaded["scales"].numpy(), np.ldexp(np.float32(1), data.astype(int) - 127))

    def test_some_tensors_of_a_file(self):
        pl.io.save_safetensors(self.path, {name: pl.zeros(2) for name in ("first.weight", "first.scale", "last.weight")})
        for options, names in (({"skip": "*.scale"}, ["first.weight", "last.weight"]), ({"only": "first.*"}, ["first.scale", "first.weight"]),
                               ({"only": ["last.weight", "first.*"], "skip": ["*.scale"]}, ["first.weight", "last.weight"]), ({}, [
                                   "first.scale", "first.weight", "last.weight"])):
            self.assertEqual(sorted(pl.io.load_safetensors(self.path, **options)), names)
        for argument in "only", "skip":
            with self.assertRaisesRegex(pl.ValueError, f"load_safetensors: {argument}: no tensor of the file matches 'frist.weight'"):
                pl.io.load_safetensors(self.path, **{argument: "frist.weight"})
        with self.assertRaisesRegex(pl.TypeError, "load_safetensors: the pattern is 3"):
            pl.io.load_safetensors(self.path, skip=3)


class Exchange(Files):
    def test_random_files_both_ways(self):
        seen = set()
        for number in range(300):
            arrays = random_arrays()
            metadata = None if number % 3 == 0 else {f"{k} {random_text(5)}": random_text(9) for k in range(number % 3)}
            theirs = written_by_reference(arrays, metadata)
            with self.subTest(number):
                pl.io.save_safetensors(self.path, {name: pl.asarray(array) for name, (_, array) in arrays.items()}, metadata)
                self.assertEqual(self.path.read_bytes(), theirs)
                self.expect_arrays(pl.io.load_safetensors(self.path), arrays)
                read = {name: info for name, info in safetensors.deserialize(self.path.read_bytes())}
                self.assertEqual({name: (DTYPES[info["dtype"]], info["shape"], bytes(info["data"])) for name, info in read.items()},
                                 {name: (dtype, list(array.shape), array.tobytes()) for name, (dtype, array) in arrays.items()})
                with pl.io.open_safetensors(self.path) as file:
                    self.assertEqual(file.metadata(), metadata)
            seen |= {dtype for dtype, _ in arrays.values()}
        self.assertEqual(seen, set(DTYPES.values()))

    def expect_arrays(self, loaded, arrays):
        self.assertEqual(loaded.keys(), arrays.keys())
        for name, (dtype, array) in arrays.items():
            self.assertEqual((loaded[name].dtype, loaded[name].shape, bits_of(loaded[name])), (dtype, array.shape, array.tobytes()))

    def test_files_of_another_order(self):
        """Files that do not sort their tensors by alignment, and so have unaligned ones."""
        for number in range(50):
            arrays = random_arrays()
            data, parts = b"", []
            for name, (dtype, array) in arrays.items():
                short = next(key for key, value in DTYPES.items() if value == dtype)
                parts.append((name, {"dtype": short, "shape": list(array.shape), "data_offsets": [len(data), len(data) + array.nbytes]}))
                data += array.tobytes()
            RANDOM.shuffle(parts)
            given = safetensors_vectors.file_of(json.dumps(dict(parts)), data)
            with self.subTest(number):
                self.assertTrue(accepted(given))
                self.path.write_bytes(given)
                self.expect_arrays(pl.io.load_safetensors(self.path), arrays)

    def test_slices(self):
        x = RANDOM.normal(size=(5, 4, 3)).astype(np.float32)
        pl.io.save_safetensors(self.path, {"x": x, "flags": x > 0})
        with pl.io.open_safetensors(self.path) as file, safetensors.safe_open(self.path, "np") as theirs:
            part = file.get_slice("x")
            self.assertEqual((part.get_shape(), part.get_dtype()), ((5, 4, 3), "F32"))
            for index in (slice(None), slice(1, 3), 2, -1, (slice(2), 1), (slice(None), slice(1, 3), 0), (slice(0),), (0, 1, 2)):
                with self.subTest(index):
                    np.testing.assert_array_equal(part[index].numpy(), theirs.get_slice("x")[index])
            for index in (..., (), (..., 1), (1, ...), (slice(None), ..., slice(None, None, 2)), slice(None, None, -1), (slice(-2, None), -1), np.int64(3), slice(9, 2), slice(4, 9)):
                with self.subTest(index):
                    np.testing.assert_array_equal(part[index].numpy(), x[index])
                    np.testing.assert_array_equal(file.get_slice("flags")[index].numpy(), (x > 0)[index])
            for index, error, words in ((5, pl.IndexError, "index 5 is out of range for an axis of 5"), (-6, pl.IndexError, "-6"), ((0, 0, 0, 0), pl.IndexError, "3 axes"),
                                        ((..., ...), pl.IndexError, "3 axes"), ("x", pl.TypeError, "'x'"), (1.0, pl.TypeError, "1.0"), (True, pl.TypeError, "True"),
                                        ([0, 1], pl.TypeError, "integers and slices"), (slice(None, None, 0), pl.ValueError, "step of a slice is 0"), (slice("a"), pl.Error, "")):
                with self.subTest(index):
                    self.assertRaisesRegex(error, words, part.__getitem__, index)


class Sharded(Files):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "model.safetensors"
        self.index = self.folder / "model.safetensors.index.json"
        self.arrays = {name: RANDOM.normal(size=size).astype(np.float32) for name, size in (("a", 6), ("b", 5), ("c", 40), ("d", 2), ("e", 9))}

    def test_files_are_those_of_hugging_face(self):
        """Their algorithm (huggingface_hub, split_state_dict_into_shards_factory), on the tensors in the order of their names."""
        for most in (24, 44, 60, 100, 200):
            shards, current = [], []
            for name, array in self.arrays.items():
                if array.nbytes > most:
                    shards.append([name])
                    continue
                if sum(self.arrays[each].nbytes for each in current) + array.nbytes > most:
                    shards.append(current)
                    current = []
                current.append(name)
            shards += [current] * bool(current)
            with self.subTest(most):
                pl.io.save_safetensors(self.path, dict(reversed(self.arrays.items())), {"format": "pt"}, max_shard_size=most)
                files = [f"model-{k + 1:05d}-of-{len(shards):05d}.safetensors" for k in range(len(shards))]
                self.assertEqual(sorted(each.name for each in self.folder.iterdir()), sorted([*files, self.index.name]))
                text = self.index.read_text()
                self.assertEqual(text, json.dumps({"metadata": {"total_size": 248}, "weight_map": {name: file for names, file in zip(shards, files) for name in names}},
                                                  indent=2, sort_keys=True) + "\n")
                for names, file in zip(shards, files):
                    with safetensors.safe_open(self.folder / file, "np") as theirs:
                        self.assertEqual((sorted(theirs.keys()), theirs.metadata()), (names, {"format": "pt"}))
                loaded = pl.io.load_safetensors(self.index)
                for name, array in self.arrays.items():
                    np.testing.assert_array_equal(loaded[name].numpy(), array)

    def test_sizes_may_be_texts(self):
        for size in (64, "64", "64B", "0KB", "1 MB", "2GiB"):
            call = lambda size=size: pl.io.save_safetensors(self.path, self.arrays, max_shard_size=size)  # noqa: E731
            if size == "0KB":
                self.assertRaisesRegex(pl.ValueError, "max_shard_size is 0", call)
                continue
            call()
            self.assertEqual(self.index.exists(), not isinstance(size, str) or "i" not in size and "M" not in size)
        for size in (0, -1, 1.5, "many", "5 XB", True, 2**64):
            self.assertRaisesRegex(pl.ValueError, "max_shard_size is", pl.io.save_safetensors, self.path, {}, max_shard_size=size)

    def test_they_are_opened_lazily(self):
        pl.io.save_safetensors(self.path, self.arrays, max_shard_size=60)
        with pl.io.open_safetensors(self.index) as file:
            place = self.folder / "model-00001-of-00003.safetensors"
            place.unlink()
            self.assertEqual(file.keys(), list(self.arrays))
            self.assertEqual(file.get_slice("a")[2:4].shape, (2,))
            self.assertRaisesRegex(pl.IoError, f"{place.name}: No such file", file.get_tensor, "c")
        self.assertRaises(pl.IoError, pl.io.load_safetensors, self.index)


if __name__ == "__main__":
    unittest.main()
