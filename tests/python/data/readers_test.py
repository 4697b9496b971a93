"""CIFAR's files, folders of images, WebDataset's shards, and rows of text files, read by loaders."""

import bz2
import gzip
import io
import json
import lzma
import pathlib
import pickle
import random
import tarfile
import tempfile
import time
import unittest

import numpy as np
import plait as pl
from plait import data


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def image(self, path, value):
        self.write_image(path, np.full((3, 6, 8), value, np.uint8))

    def write_image(self, path, pixels):
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        pl.io.write_image(self.folder / path, pixels)


class Cifar(InFolder):
    def test_records(self):
        rng = np.random.default_rng(1)
        images, labels = rng.integers(0, 256, (50, 3, 32, 32), np.uint8), rng.integers(0, 10, 50).astype(np.uint8)
        inner = self.folder / "cifar-10-batches-bin"
        inner.mkdir()
        rows = np.concatenate([labels[:, None], images.reshape(50, -1)], 1)
        for i in range(5):
            (inner / f"data_batch_{i + 1}.bin").write_bytes(rows[10 * i:10 * i + 10].tobytes())
        dataset = data.CIFAR10(self.folder)
        self.assertEqual(len(dataset), 50)
        for each in (dataset, pickle.loads(pickle.dumps(dataset))):
            x, y = next(iter(data.DataLoader(each, 50, num_workers=2)))
            self.assertTrue((x.numpy() == images).all() and (y.numpy() == labels).all())
        self.assertEqual(dataset[-1][1].item(), labels[-1])
        with self.assertRaisesRegex(pl.IndexError, "the index 50"):
            dataset[50]

    def test_labels_of_cifar100(self):
        (self.folder / "test.bin").write_bytes(bytes([4, 99]) + bytes(3072))
        for groups, label in ((False, 99), (True, 4)):
            dataset = pickle.loads(pickle.dumps(data.CIFAR100(self.folder, train=False, groups=groups)))
            self.assertEqual(dataset[0][1].item(), label)
        with self.assertRaisesRegex(pl.errors.IoError, "binary version"):
            data.CIFAR10(self.folder)
        (self.folder / "test.bin").write_bytes(bytes(3000))
        with self.assertRaisesRegex(pl.errors.ParseError, "test.bin: 3000 bytes, expected records of 3074"):
            data.CIFAR100(self.folder, train=False)


class Folders(InFolder):
    def test_images_by_class(self):
        for number, path in enumerate(["dog/2.png", "dog/10.png", "cat/x/1.webp", "cat/b.PNG", "ähre/1.png"]):
            self.image(path, 10 * number)
        (self.folder / "cat" / "notes.txt").write_text("none")
        dataset = data.ImageFolder(self.folder)
        self.assertEqual(dataset.class_to_idx, {"cat": 0, "dog": 1, "ähre": 2})
        names = [str(pathlib.Path(path).relative_to(self.folder)) for path, _ in dataset.samples]
        self.assertEqual(names, ["cat/b.PNG", "cat/x/1.webp", "dog/10.png", "dog/2.png", "ähre/1.png"])
        self.assertEqual(dataset.targets, [0, 0, 1, 1, 2])
        for worker in ("thread", "process"):
            x, y = next(iter(data.DataLoader(dataset, 5, num_workers=1, worker=worker)))
            self.assertEqual((x.shape, y.tolist()), ((5, 3, 6, 8), [0, 0, 1, 1, 2]))
            self.assertEqual(x[0, 0, 0, 0].item(), 30)
        self.assertEqual(data.ImageFolder(self.folder, "gray", crop=(1, 1, 2, 2))[0][0].shape, (1, 2, 2))

    def test_random_crops_are_decoded_in_part(self):
        y, x = np.mgrid[:480, :640]
        for number in range(6):
            self.write_image(f"cat/{number}.jpg", np.stack([128 + 100 * np.sin((x + 9 * number) / 30), 128 + 100 * np.cos(y / 20), (x + y) / 5]).astype("u1"))
        crop = data.transforms.RandomResizedCrop((60, 50), interpolation="bicubic")
        dataset = data.ImageFolder(self.folder, crop=crop)
        for worker in ("thread", "process"):
            batches = [next(iter(data.DataLoader(dataset, 6, shuffle=True, num_workers=count, worker=worker)))[0] for count in (0, 2)]
            self.assertEqual(batches[0].shape, (6, 3, 60, 50))
            self.assertTrue((batches[0].numpy() == batches[1].numpy()).all())
        self.assertTrue((dataset[0][0].numpy() == dataset[-6][0].numpy()).all())
        path, image = dataset.samples[0][0], pl.io.read_image(dataset.samples[0][0]).numpy()
        for key in pl.random.split_key(pl.random.key(0), 20):
            whole = crop(image, key).numpy()
            self.assertTrue((crop.read(path, key, reduced=False).numpy() == whole).all())
            reduced = crop.read(pathlib.Path(path).read_bytes(), key).numpy()
            self.assertLess(np.abs(reduced.astype(int) - whole).mean(), 6)
        key = pl.random.key(3)
        self.assertTrue((crop.read(path, key).numpy() == crop.read(pathlib.Path(path).read_bytes(), key).numpy()).all())
        self.assertEqual(crop.read(np.fromfile(path, np.uint8), key, "gray").shape, (1, 60, 50))
        self.assertTrue((pickle.loads(pickle.dumps(crop)).read(path, key).numpy() == crop.read(path, key).numpy()).all())
        pl.random.seed(5)
        drawn = [crop.read(path).numpy() for _ in range(2)]
        self.assertTrue((drawn[0] != drawn[1]).any())
        pl.random.seed(5)
        self.assertTrue((crop.read(path).numpy() == drawn[0]).all())
        for bad, error, text in ((3, pl.TypeError, "the data are 3"), (np.zeros(3), pl.TypeError, "the data are float64"),
                                 (self.folder / "none.jpg", pl.errors.IoError, "none.jpg"), (b"no image", pl.ParseError, "byte 0")):
            with self.assertRaisesRegex(error, text):
                crop.read(bad, key)
        with self.assertRaisesRegex(pl.ValueError, "the mode is 'x'"):
            crop.read(path, key, "x")
        with self.assertRaisesRegex(pl.TypeError, "one key"):
            crop.read(path, pl.ones(2))
        self.assertEqual(data.ImageFolder(self.folder, "gray", crop=crop, reduced=False)[0][0].shape, (1, 60, 50))
        with self.assertRaisesRegex(pl.errors.TypeError, "size with a RandomResizedCrop"):
            data.ImageFolder(self.folder, crop=crop, size=10)
        with self.assertRaisesRegex(pl.errors.ParseError, "0.jpg: byte"):
            (self.folder / "cat/0.jpg").write_bytes(b"no image")
            dataset[0]

    def test_errors_name_the_file(self):
        self.image("cat/1.png", 1)
        (self.folder / "cat/2.png").write_bytes((self.folder / "cat/1.png").read_bytes()[:-9])
        with self.assertRaisesRegex(pl.errors.ParseError, "cat/2.png: byte"):
            data.ImageFolder(self.folder)[1]
        (self.folder / "dog").mkdir()
        with self.assertRaisesRegex(pl.ValueError, "dog has no images"):
            data.ImageFolder(self.folder)
        with self.assertRaises(pl.errors.IoError):
            data.ImageFolder(self.folder / "none")

    def test_options_are_checked_eagerly(self):
        self.image("cat/1.png", 1)
        for options in {"transform": abs}, {"mode": abs}:
            with self.assertRaisesRegex(pl.TypeError, "hint: plait.data.mapped"):
                data.ImageFolder(self.folder, **options)
        with self.assertRaisesRegex(pl.TypeError, "unknown argument 'loader', expected mode, crop, size"):
            data.ImageFolder(self.folder, loader=open)
        with self.assertRaisesRegex(pl.ValueError, "the mode is 'colour'"):
            data.ImageFolder(self.folder, "colour")


class Shards(InFolder):
    def write(self, name, samples, format=tarfile.PAX_FORMAT):
        """A shard of (key, {extension: content}) pairs."""
        with tarfile.open(self.folder / name, "w", format=format) as shard:
            for key, members in samples:
                for extension, content in members.items():
                    member = tarfile.TarInfo(f"{key}.{extension}")
                    member.size = len(content)
                    shard.addfile(member, io.BytesIO(content))
        return self.folder / name

    def samples(self, count, first=0):
        array = io.BytesIO()
        np.save(array, np.arange(3.0))
        for i in range(first, first + count):
            image = pl.io.encode_png(np.full((3, 4, 5), i, np.uint8))
            yield f"part/{i:04}", {"png": image, "cls": str(i).encode(), "txt": f"é {i}".encode(), "json": json.dumps({"i": [i]}).encode(),
                                   "seg.npy": array.getvalue(), "bin": bytes([i])}

    def test_members_are_decoded(self):
        for format in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
            dataset = data.WebDataset(self.write("a.tar", self.samples(3), format))
            self.assertEqual(len(dataset), 3)
            sample = dataset[1]
            self.assertEqual((sample["__key__"], sample["__url__"]), ("part/0001", str(self.folder / "a.tar")))
            self.assertEqual((sample["cls"], sample["txt"], sample["json"], sample["bin"]), (1, "é 1", {"i": [1]}, b"\1"))
            self.assertEqual((sample["png"].shape, sample["png"][0, 0, 0].item(), sample["seg.npy"].tolist()), ((3, 4, 5), 1, [0, 1, 2]))
        raw = data.WebDataset(self.folder / "a.tar", decode=False)[2]
        self.assertEqual((raw["cls"], raw["png"][1:4]), (b"2", b"PNG"))
        self.assertEqual(data.WebDataset(self.folder / "a.tar", decode={"cls": len, "bin": list})[2]["cls"], 1)
        self.assertEqual(data.WebDataset(self.folder / "a.tar", mode="gray")[0]["png"].shape, (1, 4, 5))

    def test_long_names(self):
        order = random.Random(1)
        keys = ["/".join("x" * order.randrange(1, 90) for _ in range(order.randrange(1, 5))) + f"é{i}" for i in range(40)]
        for format in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
            dataset = data.WebDataset(self.write("a.tar", [(key, {"cls": b"1"}) for key in keys], format))
            self.assertEqual([dataset[i]["__key__"] for i in range(len(dataset))], keys)

    def test_loaders(self):
        for number in range(3):
            self.write(f"s-{number:02}.tar", self.samples(7, 7 * number))
        paths = f"{self.folder}/s-{{00..02}}.tar"
        numbers = [i for batch in data.DataLoader(data.WebDataset(paths), 4, shuffle=True, num_workers=2) for i in batch["cls"].tolist()]
        self.assertEqual(sorted(numbers), list(range(21)))
        for pattern in "s-*.tar", "s-??.tar", "s-0[0-2].tar", "s-{00..01}*.tar":
            dataset = data.WebDataset(f"{self.folder}/{pattern}")
            self.assertEqual(dataset.paths, [f"{self.folder}/s-{i:02}.tar" for i in range(2 if "{" in pattern else 3)])
        self.assertEqual(pickle.loads(pickle.dumps(dataset)).paths, dataset.paths)
        for pattern in "x-*.tar", "s-[ab].tar":
            self.assertRaisesRegex(pl.IoError, "WebStream: no file matches '.*tar'", data.WebStream, f"{self.folder}/{pattern}")
        (self.folder / "[1].tar").write_bytes((self.folder / "s-00.tar").read_bytes())
        self.assertEqual(len(data.WebDataset(self.folder / "[1].tar").paths), 1)
        for written in ("{02..00}", "{0..02}"):  # downwards, and with the width of the longer number
            self.assertEqual(len(data.WebDataset(f"{self.folder}/s-{written}.tar")), 21)
        stream = data.WebStream(paths)
        self.assertEqual([sample["cls"] for sample in stream], list(range(21)))
        for worker in ("thread", "process"):
            loader = data.DataLoader(stream, 4, num_workers=1, worker=worker)
            batches = iter(loader)
            head = [next(batches)["cls"].tolist() for _ in range(2)]
            states = loader.state_dict(), loader.state()
            del batches
            for state in states:
                again = data.DataLoader(data.WebStream(paths), 4)
                again.load_state_dict(state)
                tail = [batch["cls"].tolist() for batch in again]
                self.assertEqual(sum(head + tail, []), list(range(21)))
                self.assertIn("position", str(state))

    def test_errors_name_shard_and_member(self):
        path = self.write("a.tar", [("x", {"png": b"no", "txt": b"\xff"}), ("y", {"cls": b"cat"}), ("z", {"json": b"{"}), ("v", {"npy": b""})])
        dataset = data.WebDataset(path)
        for index, name in ((0, "x.png"), (1, "y.cls"), (2, "z.json"), (3, "v.npy")):
            with self.assertRaisesRegex(pl.errors.ParseError, f"a.tar: {name}: "):
                dataset[index]
        whole = path.read_bytes()
        for size in range(0, 4096, 256):
            path.write_bytes(whole[:size])
            with self.assertRaisesRegex(pl.errors.ParseError, "a.tar: byte"):
                data.WebDataset(path)
        with self.assertRaises(pl.errors.IoError):
            data.WebDataset("none.tar")
        with self.assertRaisesRegex(pl.TypeError, "the paths are 3"):
            data.WebDataset(3)
        with self.assertRaisesRegex(pl.TypeError, "expected True, False, or functions"):
            data.WebDataset([], decode={"cls": 3})
        with self.assertRaisesRegex(pl.TypeError, "decode is 'pil', expected True, False"):
            data.WebDataset([], decode="pil")


class Rows(InFolder):
    def test_readers_are_datasets(self):
        (self.folder / "a.txt").write_text("one\ntwo\nthree\n")
        (self.folder / "a.jsonl").write_text('{"x": 1}\n{"x": 2}\n')
        (self.folder / "a.csv").write_text("x,y\n1,0.5\n2,1.5\n")
        for worker in ("thread", "process"):
            load = lambda dataset: list(data.DataLoader(dataset, 2, num_workers=1, worker=worker))  # noqa: B023,E731
            self.assertEqual(load(pl.io.TextLines(self.folder / "a.txt")), [["one", "two"], ["three"]])
            self.assertEqual(load(pl.io.JsonlFile(self.folder / "a.jsonl"))[0]["x"].tolist(), [1, 2])
            batch = load(pl.io.CsvFile(self.folder / "a.csv"))[0]
            self.assertEqual((batch["x"].tolist(), batch["y"].tolist()), ([1, 2], [0.5, 1.5]))

    def test_a_batch_of_floats_keeps_the_digits_of_the_file(self):
        path = self.folder / "a.csv"
        path.write_text("t,i\n1700000001.25,9007199254740993\n,2\n")
        batch = next(iter(data.DataLoader(pl.io.CsvFile(path), 2)))
        self.assertEqual((batch["t"].dtype, batch["i"].dtype), (pl.f64, pl.i64))
        self.assertEqual((batch["t"][0].item(), batch["i"].tolist()), (1700000001.25, [9007199254740993, 2]))
        self.assertEqual(json.dumps(pl.io.CsvFile(path)[0]), '{"t": 1700000001.25, "i": 9007199254740993}')


class Streams(InFolder):
    def test_they_are_read_in_order_and_go_on_at_a_byte(self):
        for number in range(3):
            rows = [f"é{i}" for i in range(5 * number, 5 * number + 5)]
            (self.folder / f"{number}.txt").write_bytes("\r\n".join(rows).encode())
            (self.folder / f"{number}.csv").write_text("x\n" + "\n".join(rows) + "\n")
            (self.folder / f"{number}.jsonl").write_text("\n\n".join(json.dumps({"x": each}) for each in rows) + "\n")
        for made, expected in ((lambda: data.TextStream(f"{self.folder}/{{0..2}}.txt"), [f"é{i}" for i in range(15)]),
                               (lambda: data.JsonlStream(f"{self.folder}/{{0..2}}.jsonl"), [{"x": f"é{i}"} for i in range(15)]),
                               (lambda: data.CsvStream(f"{self.folder}/{{0..2}}.csv", types={"x": "text"}), [{"x": f"é{i}"} for i in range(15)])):
            self.assertEqual(list(made()), expected)
            self.assertEqual(list(pickle.loads(pickle.dumps(made()))), expected)
            mapped = data.mapped(made(), lambda sample: next(iter(sample.values())) if isinstance(sample, dict) else sample)
            self.assertEqual(sum(data.DataLoader(mapped, 4, num_workers=2), []), [f"é{i}" for i in range(15)])
            texts = lambda loader: [each for batch in loader for each in (batch["x"] if isinstance(batch, dict) else batch)]  # noqa: E731
            for workers, worker in ((0, "thread"), (2, "thread"), (1, "process")):
                loader = data.DataLoader(made(), 4, num_workers=workers, worker=worker)
                batches = iter(loader)
                head = texts([next(batches), next(batches)])
                states = loader.state_dict(), loader.state()
                del batches
                for state in states:
                    self.assertEqual(np.asarray(state["source"]["position"]).tolist()[0], 1)
                    again = data.DataLoader(made(), 4)
                    again.load_state_dict(state)
                    self.assertEqual(head + texts(again), [f"é{i}" for i in range(15)])

    def test_the_first_batch_needs_no_index(self):
        path = self.folder / "large.txt"
        with open(path, "wb") as file:
            file.write(b"line\n" * 10_000)
            file.truncate(1 << 35)  # 32 GB, of which the disk has nothing
        for workers in 0, 2:
            begin = time.monotonic()
            self.assertEqual(next(iter(data.DataLoader(data.TextStream(path), 5, num_workers=workers, prefetch_factor=1 if workers else None))), ["line"] * 5)
            self.assertLess(time.monotonic() - begin, 5)
        begin = time.monotonic()
        self.assertEqual(next(iter(data.CsvStream(path, header=False, names=["x"], types={"x": "text"}))), {"x": "line"})
        self.assertLess(time.monotonic() - begin, 5)
        self.assertEqual([line for line, _ in zip(pl.io.TextLines(path), range(5))], ["line"] * 5)  # rows in order need no length

    def test_errors_name_file_and_line_and_are_passed_by(self):
        path = self.folder / "a.jsonl"
        path.write_text('{"x": 1}\n{"x": 1,}\n{"x": 3}\n')
        batches = iter(data.DataLoader(data.JsonlStream(path), num_workers=1))
        self.assertEqual(next(batches)["x"].tolist(), [1])
        with self.assertRaisesRegex(pl.ParseError, "a.jsonl: line 2: byte 8") as caught:
            next(batches)
        self.assertIn("sample 1", caught.exception.__notes__[0])
        self.assertEqual(next(batches)["x"].tolist(), [3])
        with self.assertRaisesRegex(pl.IoError, "none.txt"):
            list(data.TextStream(self.folder / "none.txt"))
        with self.assertRaisesRegex(pl.TypeError, "TextStream: the paths are 3"):
            data.TextStream(3)
        lines = data.DataLoader(data.TextStream(path))
        lines.load_state_dict({"seed": 0, "epoch": 0, "place": 1, "source": {"position": [0, 4]}})
        with self.assertRaisesRegex(pl.ValueError, "no line begins at byte 4"):
            list(lines)


class Compressed(InFolder):
    def test_the_error_says_it(self):
        twice = gzip.compress(gzip.compress(b"x" * 2000))
        for name, content in (("xz", lzma.compress(b"x" * 2000)), ("bzip2", bz2.compress(b"x" * 2000)), ("zstd", b"\x28\xb5\x2f\xfd" + bytes(50)),
                              ("gzip", twice)):
            path = self.folder / "data"
            path.write_bytes(content)
            readers = [data.WebDataset, lambda path: list(data.WebStream(path)), lambda path: list(data.TextStream(path)), pl.io.TextLines,
                       lambda path: list(data.JsonlStream(path)), pl.io.read_jsonl, pl.io.read_csv, pl.io.CsvFile]
            for read in readers + ([pl.io.load_idx] if name != "gzip" else []):
                with self.assertRaisesRegex(pl.ParseError, f"data: .*compressed with {name}") as caught:
                    read(path)
                self.assertIn("unpack", caught.exception.hint)


if __name__ == "__main__":
    unittest.main()
