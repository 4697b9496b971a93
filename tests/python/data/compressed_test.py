"""Files that gzip compressed: shards, and rows of text, as streams that stop and go on, and by number."""

import gzip
import io
import json
import pathlib
import pickle
import random
import tarfile
import tempfile
import unittest

import plait as pl
from plait import data


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, content, members=1):
        """The content, compressed in some members."""
        step = -(-len(content) // members) or 1
        parts = [content[i:i + step] for i in range(0, len(content), step)] or [b""]
        (self.folder / name).write_bytes(b"".join(map(gzip.compress, parts)))
        return str(self.folder / name)

    def plain(self, name, content):
        (self.folder / name).write_bytes(content)
        return str(self.folder / name)

    def expect_same_at_each_place(self, compressed, plain, **options):
        """Loaders of both have the same batches, also if they go on after any number of them."""
        def loader(dataset):
            return data.DataLoader(dataset, batch_size=2, **options)

        expected = list(map(str, loader(plain)))
        self.assertEqual(list(map(str, loader(compressed))), expected)
        self.assertEqual(list(map(str, loader(pickle.loads(pickle.dumps(compressed))))), expected)
        for stop in range(len(expected)):
            first, found = loader(compressed), []
            for batch in first:
                found.append(str(batch))
                if len(found) == stop + 1:
                    break
            other = loader(compressed)
            other.load_state_dict(first.state_dict())
            self.assertEqual(found + list(map(str, other)), expected)


class Rows(InFolder):
    def setUp(self):
        super().setUp()
        source = random.Random(3)
        self.lines = [source.choice(("", " ", "é" * source.randrange(50), str(source.random()), "x" * source.randrange(3000))) for _ in range(15)]
        self.text = "\n".join(self.lines).encode() + b"\r\nlast"

    def test_lines(self):
        for members in (1, 3):
            paths = [self.file("a.txt.gz", self.text, members), self.plain("b.txt", b"of a plain one\n"), self.file("c.gz", b"end\n")]
            plain = [self.plain("a.txt", self.text), paths[1], self.plain("c.txt", b"end\n")]
            self.assertEqual(list(data.TextStream(paths)), list(data.TextStream(plain)))
            self.assertEqual(list(pl.io.TextLines(paths[0])), list(pl.io.TextLines(plain[0])))
            self.expect_same_at_each_place(data.TextStream(paths), data.TextStream(plain))
            self.expect_same_at_each_place(data.TextStream(paths), data.TextStream(plain), num_workers=2)

    def test_processes(self):
        path, plain = self.file("a.txt.gz", self.text), self.plain("a.txt", self.text)
        self.expect_same_at_each_place(data.TextStream(path), data.TextStream(plain), num_workers=1, worker="process")

    def test_json(self):
        text = b"".join(json.dumps({"x": i, "y": "é" * i}).encode() + b"\n" * (1 + i % 2) for i in range(9))
        path, plain = self.file("a.jsonl.gz", text, 2), self.plain("a.jsonl", text)
        self.assertEqual(pl.io.read_jsonl(path), pl.io.read_jsonl(plain))
        self.expect_same_at_each_place(data.JsonlStream(path), data.JsonlStream(plain))

    def test_csv(self):
        text = "a,b\n" + "".join(f'{i},"{"é" * i}\nx"\n' for i in range(9))
        path, plain = self.file("a.csv.gz", text.encode(), 2), self.plain("a.csv", text.encode())
        self.assertEqual(str(pl.io.read_csv(path)), str(pl.io.read_csv(plain)))
        self.assertEqual(list(pl.io.CsvFile(path)), list(pl.io.CsvFile(plain)))
        self.expect_same_at_each_place(data.CsvStream(path), data.CsvStream(plain))
        self.expect_same_at_each_place(data.CsvStream([path, plain]), data.CsvStream([plain, path]), num_workers=2)

    def test_the_first_line_needs_little_of_the_file(self):
        """The rest is damaged, and is an error when its turn comes."""
        content = gzip.compress(b"".join(b"%d\n" % random.Random(i).getrandbits(64) for i in range(100_000)))
        path = self.plain("cut.gz", content[:len(content) // 2])
        lines = iter(data.TextStream([path, self.file("good.gz", b"good\n")]))
        self.assertEqual(next(lines), str(random.Random(0).getrandbits(64)))
        with self.assertRaisesRegex(pl.ParseError, "cut.gz: the gzip member at byte 0: the deflated bytes are cut off"):
            for _ in range(100_000):
                next(lines)
        self.assertEqual(next(lines), "good")

    def test_damage_is_an_error_by_number(self):
        content = bytearray(gzip.compress(b"1\n" * 100))
        content[-5] ^= 1
        path = self.plain("a.gz", bytes(content))
        for read in (pl.io.TextLines, pl.io.read_jsonl, pl.io.read_csv, pl.io.CsvFile, lambda path: list(data.TextStream(path)),
                     lambda path: list(data.JsonlStream(path)), lambda path: list(data.CsvStream(path))):
            with self.assertRaisesRegex(pl.ParseError, r"a\.gz: byte \d+: the content does not have the checksum"):
                read(path)

    def test_another_file_is_refused(self):
        path = self.file("a.gz", self.text)
        lines = data.DataLoader(data.TextStream(path))
        lines.load_state_dict({"seed": 0, "epoch": 0, "place": 1, "source": {"position": [0, len(self.text) - 2]}})
        with self.assertRaisesRegex(pl.ValueError, "no line begins at byte"):
            list(lines)


class Shards(InFolder):
    def archive(self, first, last):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as shard:
            for i in range(first, last):
                for extension, content in (("txt", f"text {i}".encode() * i), ("cls", str(i).encode()), ("json", json.dumps({"i": i}).encode())):
                    member = tarfile.TarInfo(f"{'long/' * 30 * (i % 2)}{i:03}.{extension}")
                    member.size = len(content)
                    shard.addfile(member, io.BytesIO(content))
        return out.getvalue()

    def test_streams(self):
        archives = [self.archive(0, 5), self.archive(5, 6), self.archive(6, 6), self.archive(6, 9)]
        names = ["a.tar.gz", "b.tgz", "c.tar.gz", "d.tar.gz"]
        compressed = [self.file(name, archive, 1 + i) for i, (name, archive) in enumerate(zip(names, archives))]
        plain = [self.plain(f"{i}.tar", archive) for i, archive in enumerate(archives)]

        def contents(samples):
            return [{name: value for name, value in sample.items() if name != "__url__"} for sample in samples]

        self.assertEqual(contents(data.WebStream(compressed)), contents(data.WebStream(plain)))
        self.assertEqual(contents(data.WebStream(compressed)), contents(data.WebDataset(plain)))
        keep = ("cls", "txt", "__key__")
        for options in ({}, {"num_workers": 2}):
            self.expect_same_at_each_place(data.WebStream(compressed), data.WebStream(plain), **options,
                                           collate_fn=lambda samples: [[each[name] for name in keep] for each in samples])
        self.assertEqual(len(list(data.WebStream(str(self.folder / "*.tar.gz")))), 8)

    def test_by_number_they_are_refused(self):
        with self.assertRaisesRegex(pl.ParseError, "a.tar.gz: byte 0: the file is compressed with gzip, and has no samples by number") as caught:
            data.WebDataset(self.file("a.tar.gz", self.archive(0, 2)))
        self.assertIn("WebStream", caught.exception.hint)

    def test_a_damaged_shard_is_one_error(self):
        content = gzip.compress(self.archive(0, 50))
        paths = [self.plain("a.tar.gz", content[:-20]), self.file("b.tar.gz", self.archive(90, 91))]
        samples, found = iter(data.WebStream(paths)), []
        with self.assertRaisesRegex(pl.ParseError, "a.tar.gz: the gzip member at byte 0: the deflated bytes are cut off"):
            while True:
                found.append(next(samples)["cls"])
        self.assertGreater(len(found), 5)
        self.assertEqual(next(samples)["cls"], 90)


if __name__ == "__main__":
    unittest.main()
