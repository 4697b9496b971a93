"""plait.io beside NumPy's files: paths, states of models, errors, threads, and what of it jit may record."""

import gzip
import os
import pathlib
import sys
import tempfile
import threading
import time
import unittest
import warnings

import ml_dtypes
import numpy as np
import plait as pl


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class NumPyFiles(Files):
    def test_arrays(self):
        for array in (np.float32(3), np.arange(6).reshape(2, 3), np.zeros((0, 2), bool), np.asfortranarray(np.ones((2, 3)) * 1j), np.arange(4, dtype=">i2"),
                      np.ones(3, ml_dtypes.bfloat16)):
            np.save(self.folder / "theirs.npy", array)
            tensor = pl.io.load_npy(self.folder / "theirs.npy")
            self.assertEqual(tensor.shape, array.shape)
            np.testing.assert_array_equal(tensor.numpy(), array)
            pl.io.save_npy(self.folder / "ours.npy", tensor)
            np.save(self.folder / "theirs.npy", tensor.numpy())
            self.assertEqual((self.folder / "ours.npy").read_bytes(), (self.folder / "theirs.npy").read_bytes())
        pl.io.save_npy(self.folder / "list.npy", [[1.0, 2.0]])
        self.assertEqual(np.load(self.folder / "list.npy").dtype, np.float32)

    def test_archives(self):
        arrays = {"a": np.arange(3), "b/é": np.ones((2, 2), np.float32)}
        for compressed in (False, True):
            pl.io.save_npz(self.folder / "x.npz", arrays, compressed=compressed)
            theirs = np.load(self.folder / "x.npz")
            self.assertEqual(sorted(theirs), sorted(arrays))
            ours = pl.io.load_npz(self.folder / "x.npz")
            for name, array in arrays.items():
                np.testing.assert_array_equal(theirs[name], array)
                np.testing.assert_array_equal(ours[name].numpy(), array)

    def test_archives_with_strings(self):
        path = self.folder / "x.npz"
        np.savez(path, x=np.ones(2), y=np.arange(3), names=np.array(["a", "bc"]))
        with self.assertRaisesRegex(pl.TypeError, 'member "names.npy".*text') as caught:
            pl.io.load_npz(path)
        self.assertIn("skip=name", caught.exception.hint)
        self.assertEqual(list(pl.io.load_npz(path, skip="names")), ["x", "y"])
        self.assertEqual(pl.io.load_npz(path, only=["y"])["y"].numpy().tolist(), [0, 1, 2])
        self.assertEqual(list(pl.io.load_npz(path, only=["?", "names"], skip="n*")), ["x", "y"])
        self.assertRaisesRegex(pl.TypeError, 'member "names.npy"', pl.io.load_npz, path, only="names")
        self.assertRaisesRegex(pl.ValueError, "load_npz: only: no tensor of the file matches 'z'", pl.io.load_npz, path, only="z")

    def test_idx(self):
        content = bytes([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, *range(6)])
        (self.folder / "x").write_bytes(content)
        (self.folder / "x.gz").write_bytes(gzip.compress(content))
        for name in ("x", "x.gz"):
            np.testing.assert_array_equal(pl.io.load_idx(self.folder / name).numpy(), np.arange(6, dtype=np.uint8).reshape(2, 3))


class Paths(Files):
    def test_any_kind_of_path(self):
        for name in ("x", "größe", "a b", b"bytes", "\udcff"):
            path = os.path.join(os.fsencode(self.folder), name) if isinstance(name, bytes) else self.folder / name
            for given in (path, os.fspath(path)):
                pl.io.save_npy(given, pl.ones(2))
                self.assertEqual(pl.io.load_npy(given).shape, (2,))
        self.assertEqual(len(os.listdir(self.folder)), 5)

    def test_other_things(self):
        for call in (pl.io.load_npy, pl.io.load_npz, pl.io.load_idx, pl.io.load_safetensors, pl.io.open_safetensors, pl.io.load_gguf, pl.io.open_gguf,
                     lambda path: pl.io.save_npy(path, pl.ones(2)), lambda path: pl.io.save_npz(path, {}), lambda path: pl.io.save_safetensors(path, {})):
            for path in (None, 3, 1.5, ["x"], object(), pl.ones(2)):
                self.assertRaisesRegex(pl.TypeError, "the path is .*, expected a string", call, path)
            self.assertRaisesRegex(pl.ValueError, "zero byte", call, "a\0b")
            self.assertRaisesRegex(pl.IoError, "No such file or directory", call, self.folder / "none" / "x")
            self.assertRaisesRegex(OSError, "not a regular file", call, self.folder)
        self.assertEqual(os.listdir(self.folder), [])


class States(Files):
    def expect_saved(self, model, other):
        pl.io.save_safetensors(self.folder / "m", pl.nn.state(model))
        pl.io.save_npz(self.folder / "m.npz", pl.nn.state(model))
        for state in (pl.io.load_safetensors(self.folder / "m"), pl.io.load_npz(self.folder / "m.npz")):
            loaded = pl.nn.state(pl.nn.load_state(other, state))
            for name, tensor in pl.nn.state(model).items():
                self.assertEqual((loaded[name].dtype, loaded[name].numpy().tobytes()), (tensor.dtype, tensor.numpy().tobytes()), name)

    def test_of_models(self):
        def model(key):
            keys = pl.random.split_key(pl.random.key(key), 2)
            return pl.nn.Sequential(pl.nn.Linear(3, 4, key=keys[0]), pl.nn.BatchNorm1d(4), pl.nn.LSTM(4, 2, key=keys[1]))

        self.expect_saved(model(1), model(2))
        half = pl.tree.map(lambda x: x.astype(pl.bf16) if x.dtype == pl.f32 else x, model(1))
        self.expect_saved(half, pl.tree.map(lambda x: x.astype(pl.bf16) if x.dtype == pl.f32 else x, model(2)))

    def test_with_keys_and_complex_numbers(self):
        class Odd(pl.Module):
            def __init__(self, number):
                self.key = pl.random.key(number)
                self.keys = pl.random.split_key(pl.random.key(number), 3)
                self.mask = pl.nn.Buffer(pl.tensor([True, False]))
                self.waves = pl.nn.Buffer(pl.full(2, number + 1j, dtype=pl.c128))

        self.expect_saved(Odd(1), Odd(2))
        state = pl.io.load_safetensors(self.folder / "m")
        self.assertEqual((state["key"].dtype, state["keys"].shape), (pl.key, (3,)))

    def test_of_training_runs(self):
        model = pl.nn.Linear(2, 1)
        run = pl.optim.TrainState(model, pl.optim.Adam(model), key=pl.random.key(3))
        pl.io.save_safetensors(self.folder / "run", dict(pl.tree.leaves_with_paths(run)))
        loaded = pl.io.load_safetensors(self.folder / "run")
        leaves, structure = pl.tree.flatten(run)
        again = structure.unflatten([loaded[path] for path in structure.paths])
        for before, after in zip(leaves, pl.tree.leaves(again)):
            self.assertEqual((after.dtype, after.shape, after.numpy().tobytes()), (before.dtype, before.shape, before.numpy().tobytes()))

    def test_views_and_arrays_of_numpy(self):
        x = np.arange(12.0).reshape(3, 4)
        pl.io.save_safetensors(self.folder / "x", {"columns": pl.asarray(x)[:, ::2], "transposed": x.T, "number": 3, "list": [1, 2]})
        loaded = pl.io.load_safetensors(self.folder / "x")
        np.testing.assert_array_equal(loaded["columns"].numpy(), x[:, ::2])
        np.testing.assert_array_equal(loaded["transposed"].numpy(), x.T)
        self.assertEqual((loaded["number"].dtype, loaded["number"].shape), (pl.i64, ()))

    def test_loaded_tensors_are_computed_with(self):
        """They borrow the file, which is replaced meanwhile."""
        x = pl.random.normal(pl.random.key(1), (600, 600))
        pl.io.save_safetensors(self.folder / "x", {"x": x})
        loaded = pl.io.load_safetensors(self.folder / "x")["x"]
        pl.io.save_safetensors(self.folder / "x", {"x": pl.zeros((600, 600))})
        np.testing.assert_array_equal((loaded @ loaded).numpy(), (x @ x).numpy())
        loaded[0] = 5.0
        self.assertEqual((loaded[0, 0].item(), loaded[1, 1].item()), (5.0, x[1, 1].item()))
        self.assertEqual(pl.jit(lambda x: x + 1, donate=(0,))(loaded)[0, 0].item(), 6.0)
        self.assertEqual(pl.io.load_safetensors(self.folder / "x")["x"][1, 1].item(), 0.0)

    def test_what_cannot_be_saved(self):
        path = self.folder / "x"
        for save in pl.io.save_safetensors, pl.io.save_npz:
            self.assertRaisesRegex(pl.TypeError, r"expected a dict of tensors by name[^$]*plait.nn.state\(model\)", save, path, pl.nn.Linear(2, 2))
            self.assertRaisesRegex(pl.TypeError, "the name of a tensor is 1, expected a string", save, path, {1: pl.ones(2)})
            self.assertRaises(pl.TypeError, save, path, {"x": "text"})
            self.assertRaises(pl.TypeError, save, path, {"x": None})
        save = pl.io.save_safetensors
        self.assertRaisesRegex(pl.TypeError, "the metadata is \\[\\]", save, path, {}, [])
        self.assertRaisesRegex(pl.TypeError, "the metadata 'epoch' is 3, expected strings", save, path, {}, {"epoch": 3})
        self.assertRaisesRegex(pl.ValueError, "ud800' is not UTF-8", save, path, {"\ud800": pl.ones(2)})
        self.assertRaisesRegex(pl.ValueError, "udcff' is not UTF-8", save, path, {}, {"a": "\udcff"})
        self.assertRaisesRegex(pl.ValueError, "__metadata__", save, path, {"__metadata__": pl.ones(2)})
        self.assertEqual(os.listdir(self.folder), [])

    def test_in_transforms(self):
        path = self.folder / "x"

        def saving(x):
            pl.io.save_npy(path, x)
            return pl.sum(x)

        self.assertRaisesRegex(pl.Error, "no values yet|recorded", pl.trace(saving), pl.ones(2))
        self.assertFalse(path.exists())
        pl.grad(saving)(pl.ones(3))
        self.assertEqual(pl.io.load_npy(path).shape, (3,))

    def test_jit_reads_again(self):
        path = self.folder / "x.npy"

        def scaled(x):
            return x * pl.io.load_npy(path)

        jitted = pl.jit(scaled)
        for factor in (2.0, 3.0):
            pl.io.save_npy(path, pl.tensor(factor))
            with self.subTest(factor):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    self.assertEqual(jitted(pl.ones(())).item(), factor)


class Opened(Files):
    def test_closed_files_refuse(self):
        pl.io.save_safetensors(self.folder / "x", {"x": pl.ones(2)})
        file = pl.io.open_safetensors(self.folder / "x")
        part = file.get_slice("x")
        self.assertIn("x", file)
        for name in (1, "y", "\ud800"):
            self.assertNotIn(name, file)
        self.assertEqual((len(file), list(file), file.metadata(), file.get_type("x")), (1, ["x"], None, "F32"))
        with file:
            x = file.get_tensor("x")
        for call in (file.keys, file.metadata, lambda: file.get_tensor("x"), lambda: part[0], lambda: "x" in file, lambda: len(file), file.__enter__):
            self.assertRaisesRegex(pl.ValueError, "x is closed", call)
        file.close()
        self.assertIn("closed", repr(file))
        self.assertEqual(x.tolist(), [1.0, 1.0])

    def test_unknown_names(self):
        pl.io.save_safetensors(self.folder / "x", {"weight": pl.ones(2)})
        with pl.io.open_safetensors(self.folder / "x") as file:
            for call in (file.get_tensor, file.get_slice, file.get_shape, file.get_type):
                self.assertRaisesRegex(pl.KeyError, "unknown tensor \"weigth\"[^$]*did you mean \"weight\"", call, "weigth")
                self.assertRaisesRegex(pl.TypeError, "the name of a tensor is 3", call, 3)

    def test_errors_have_the_line(self):
        try:
            pl.io.load_npy(self.folder / "none")
        except pl.IoError as error:
            self.assertRegex(error.location, r"^files_test.py:\d+$")


class Threads(Files):
    def test_others_run_meanwhile(self):
        ticks, is_over = [0], threading.Event()

        def tick():
            while not is_over.is_set():
                ticks[0] += 1
                time.sleep(1e-4)

        x = pl.ones(1 << 23)
        saved, loaded = [], []
        thread = threading.Thread(target=tick)
        before = sys.getswitchinterval()
        sys.setswitchinterval(100)
        thread.start()
        try:
            for _ in range(5):
                count = ticks[0]
                pl.io.save_safetensors(self.folder / "x", {"x": x})
                saved.append(ticks[0] - count)
                count = ticks[0]
                pl.io.save_npz(self.folder / "x.npz", {"x": x})
                pl.io.load_npz(self.folder / "x.npz")
                loaded.append(ticks[0] - count)
        finally:
            is_over.set()
            thread.join()
            sys.setswitchinterval(before)
        self.assertGreater(max(saved), 0)
        self.assertGreater(max(loaded), 0)

    def test_one_file_in_many_threads(self):
        arrays = {f"{i}": np.full(1000, i) for i in range(50)}
        pl.io.save_safetensors(self.folder / "x.safetensors", arrays, max_shard_size=20_000)
        wrong = []
        with pl.io.open_safetensors(self.folder / "x.safetensors.index.json") as file:
            def read(order):
                for name in order:
                    if not (file.get_tensor(name).numpy() == int(name)).all():
                        wrong.append(name)

            threads = [threading.Thread(target=read, args=(sorted(arrays, key=lambda name, k=k: hash((name, k))),)) for k in range(8)]
            for each in threads:
                each.start()
            for each in threads:
                each.join()
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
