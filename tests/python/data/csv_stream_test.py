"""CsvStream: what it notices and says, and what it passes by."""

import json
import pathlib
import random
import tempfile
import threading
import time
import unittest

import numpy as np
import plait as pl
from plait import data
from plait.data import CsvStream, DataLoader


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def outcomes(self, stream):
        """The rows, and the texts of errors; of no more than 100."""
        found, rows = [], iter(stream)
        for _ in range(100):
            try:
                found.append(next(rows))
            except StopIteration:
                return found
            except pl.errors.Error as error:
                found.append(f"{type(error).__name__}: {error}")
        self.fail(f"no end: {found[:10]}")


class Positions(InFolder):
    def state_after(self, path, count):
        rows = iter(CsvStream(path))
        for _ in range(count):
            next(rows)
        return rows.state_dict()

    def rest(self, stream, state):
        rows = iter(stream)
        rows.load_state_dict(state)
        return list(rows)

    def test_a_run_continues_at_each_row(self):
        paths = [self.file("a.csv", 'x,y\n1,"a\nb"\n\n2,c\r\n3,"d""e"'), self.file("b.csv", "\ufeffx,y\r4,f\r5,g\r")]
        rows = list(CsvStream(paths))
        self.assertEqual([row["x"] for row in rows], [1, 2, 3, 4, 5])
        iterator = iter(CsvStream(paths))
        for place in range(6):
            state = json.loads(json.dumps(iterator.state_dict()))
            self.assertEqual(self.rest(CsvStream(paths), state), rows[place:])
            next(iterator, None)
        self.assertEqual(self.rest(CsvStream(paths), iterator.state_dict()), [])
        headless = CsvStream(self.file("c.csv", "\ufeff1\n2\n"), header=False)
        self.assertEqual(self.rest(headless, {"position": []}), [{"0": 1}, {"0": 2}])

    def test_any_text_is_read_as_by_number(self):
        order, read = random.Random(1), 0
        for _ in range(800):
            path = self.file("a.csv", "".join(order.choices('ab", \n\r\u00e9', (4, 4, 3, 5, 1, 3, 1, 1), k=order.randrange(40))))
            try:
                rows = list(pl.io.CsvFile(path, header=False))
            except pl.errors.Error:
                continue
            read += 1
            self.assertEqual(str(list(CsvStream([path, path], header=False))), str(rows + rows))
            if rows:
                place = order.randrange(len(rows) + 1)
                stream = CsvStream(path, header=False)
                iterator = iter(stream)
                for _ in range(place):
                    next(iterator)
                self.assertEqual(str(self.rest(stream, iterator.state_dict())), str(rows[place:]))
        self.assertGreater(read, 100)

    def test_another_file_is_refused(self):
        path = self.file("v.csv", "x\n" + "".join(f"{i}\n" for i in range(9)))
        state = self.state_after(path, 6)
        for content, message in (("x\n0\n", "v.csv: 4 bytes, but there were 20 when"), ("x\n7\n" + "".join(f"{i}\n" for i in range(9)), "22 bytes"),
                                 ("x\n" + "123456" * 3, "v.csv: no row begins at byte 14")):
            self.file("v.csv", content)
            with self.assertRaisesRegex(pl.ValueError, message) as caught:
                self.rest(CsvStream(path), state)
            self.assertIn("the file is another one than when", caught.exception.hint)

    def test_states_are_checked(self):
        path = self.file("a.csv", "x\n1\n")
        for state in ({}, {"position": "ab"}, {"position": [0, 1.7, 4]}, {"position": 3}, 7, {"position": [2**70, 0, 0]}):
            for stream in CsvStream(path), data.TextStream(path), data.JsonlStream(path):
                with self.assertRaisesRegex(pl.ValueError, f"{type(stream).__name__}: the state is .*expected a dict with a position of integers"):
                    iter(stream).load_state_dict(state)
        for position in [0, 1], [2, 0, 0], [0, 5, 4], [-1, 0, 0]:
            with self.assertRaisesRegex(pl.ValueError, r"the position is \[.*expected the number of one of 1 files, a byte of it and its size"):
                iter(CsvStream(path)).load_state_dict({"position": position})

    def test_threads_share_an_iterator(self):
        rows, found = iter(CsvStream(self.file("a.csv", "x\n" + "".join(f"{i}\n" for i in range(20_000))))), []
        threads = [threading.Thread(target=lambda: found.extend([row["x"] for row in rows])) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertEqual(sorted(found), list(range(20_000)))


class Types(InFolder):
    def test_those_of_the_first_file_hold_for_all(self):
        paths = [self.file("a.csv", "x,y\n1,a\n"), self.file("b.csv", "x,y\n2.5,b\n3,c\n,d\nz,e\n99999999999999999999,f\n4,g\n")]
        found = self.outcomes(CsvStream(paths))
        self.assertEqual([row for row in found if isinstance(row, dict)], [{"x": 1, "y": "a"}, {"x": 3, "y": "c"}, {"x": 4, "y": "g"}])
        for place, text, hint in ((1, 'b.csv: line 2: column "x": expected an i64, found "2.5"', 'types={"x": "f64"}'),
                                  (3, 'line 4: column "x": expected an i64, found ""', 'missing cells need f64: types={"x": "f64"}'),
                                  (4, 'line 5: column "x": expected an i64, found "z"', 'types={"x": "text"}'),
                                  (5, 'line 6: column "x"', 'types={"x": "text"}')):
            self.assertIn(text, found[place])
            self.assertIn(hint, found[place])
        batches = list(DataLoader(CsvStream([paths[1], paths[0]], types={"x": "text"}), 4))
        self.assertEqual([batch["x"] for batch in batches], [["2.5", "3", "", "z"], ["99999999999999999999", "4", "1"]])

    def test_also_for_a_run_that_continues(self):
        paths = [self.file("a.csv", "x\n0.5\n"), self.file("b.csv", "x\n1\n2\n")]
        rows = iter(CsvStream(paths))
        next(rows), next(rows)
        again = iter(CsvStream(paths))
        again.load_state_dict(rows.state_dict())
        self.assertEqual([type(row["x"]) for row in again], [np.float64])

    def test_a_file_without_rows_does_not_decide(self):
        paths = [self.file("a.csv", "x\n"), self.file("b.csv", "x\none\n")]
        self.assertEqual(list(CsvStream(paths)), [{"x": "one"}])
        self.assertEqual(list(CsvStream([self.file("c.csv", ""), paths[1]], header=False, names=["x"])), [{"x": "x"}, {"x": "one"}])

    def test_the_columns_of_all_files_agree(self):
        first, rest = self.file("a.csv", "x,y\n1,2\n"), [self.file("b.csv", "x,z\n1,2\n"), self.file("c.csv", "x\n1\n"), self.file("d.csv", "x,y\n3,4\n")]
        found = self.outcomes(CsvStream([first, *rest]))
        self.assertEqual([found[0], found[3]], [{"x": 1, "y": 2}, {"x": 3, "y": 4}])
        self.assertRegex(found[1], 'ParseError: .*b.csv: line 1: column 2 is "z", but in .*a.csv it is "y"')
        self.assertRegex(found[2], "ParseError: .*c.csv: line 1: 1 columns, but .*a.csv has 2")
        self.assertEqual(len(list(CsvStream([first, rest[0]], names=["a", "b"]))), 2)
        rows = iter(CsvStream([first, rest[0]]))
        rows.load_state_dict({"position": [1, 0, 0]})
        with self.assertRaisesRegex(pl.ParseError, "column 2 is \"z\""):
            next(rows)

    def test_columns_are_chosen(self):
        path = self.file("a.csv", "x,y,z\n1,a,0.5\n2,b,\n")
        self.assertEqual(list(CsvStream(path, columns=["z", "x"]))[0], {"z": 0.5, "x": 1})
        self.assertEqual(pl.io.CsvFile(path, columns=["y"])[1], {"y": "b"})
        self.assertEqual(list(pl.io.read_csv(path, columns=("x",))), ["x"])
        with self.assertRaisesRegex(pl.KeyError, 'unknown column "w"'):
            list(CsvStream(path, columns=["w"]))
        with self.assertRaisesRegex(pl.ValueError, 'column "x" is chosen twice'):
            list(CsvStream(path, columns=["x", "x"]))


class Failures(InFolder):
    def test_a_bad_row_is_one_error(self):
        path = self.file("a.csv", 'x,y\n1,2\n3\n"4"z,5\n6,7\n8,"9\n10,11\n')
        for options in {}, {"types": {"x": "i64", "y": "text"}}:
            found = self.outcomes(CsvStream([path, self.file("b.csv", "x,y\n12,13\n")], **options))
            self.assertEqual([row["x"] for row in found if isinstance(row, dict)], [1, 6, 12])
            self.assertIn("line 3: the row has 1 cells, expected 2", found[1])
            self.assertIn("line 4: expected", found[2])
            self.assertIn("line 6: the cell that begins here has no closing quote", found[4])  # to the end of the file

    def test_loaders_name_the_sample_and_go_on(self):
        path = self.file("a.csv", "x\n0\none\n2\n3\n4\n")
        stream = CsvStream(path, types={"x": "i64"})
        batches = iter(DataLoader(stream, 1, num_workers=1))
        self.assertEqual(next(batches)["x"].tolist(), [0])
        with self.assertRaisesRegex(pl.ParseError, "sample 1: .*a.csv: line 3"):
            next(batches)
        self.assertEqual([batch["x"].tolist() for batch in batches], [[2], [3], [4]])
        loader = DataLoader(stream, 1)
        batches = iter(loader)
        for _ in range(2):
            try:
                next(batches)
            except pl.ParseError:
                state = loader.state_dict()
        again = DataLoader(stream, 1)
        again.load_state_dict(state)
        self.assertEqual([batch["x"].tolist() for batch in again], [[2], [3], [4]])

    def test_a_file_that_cannot_be_opened_is_one_error(self):
        for name, text, stream, rows in (("a.csv", "x\n1\n", CsvStream, [{"x": 1}] * 2), ("a.txt", "one\n", data.TextStream, ["one"] * 2),
                                         ("a.jsonl", "[1]\n", data.JsonlStream, [[1]] * 2)):
            path = self.file(name, text)
            found = self.outcomes(stream([path, self.folder / "none", path]))
            self.assertEqual([found[0], found[2]], rows)
            self.assertIn("IoError: cannot open", found[1])
            self.assertEqual(len(found), 3)
            self.assertEqual(self.outcomes(stream([self.folder / "none", path]))[1:], rows[:1])

    def test_the_first_rows_of_a_large_file(self):
        path = self.folder / "large.csv"
        with open(path, "wb") as file:
            file.write(b"x,y\n" + b"1,2.5\n" * 10_000 + b'"bad\n')
            file.truncate(1 << 32)  # 4 GB, of which the disk has nothing
        begin = time.monotonic()
        rows = iter(CsvStream(path, types={"x": "i64", "y": "f64"}))
        self.assertEqual([next(rows) for _ in range(1000)], [{"x": 1, "y": 2.5}] * 1000)
        batch = next(iter(DataLoader(CsvStream(path, types={"x": "i64", "y": "f64"}), 256)))
        self.assertEqual((batch["x"].dtype, batch["y"].dtype, batch["y"].shape), (pl.i64, pl.f64, (256,)))
        self.assertLess(time.monotonic() - begin, 5)


class Options(InFolder):
    def test_they_are_copied(self):
        paths = [self.file(f"{i}.csv", "1,-\n2,3\n") for i in range(2)]
        stream = CsvStream(paths, header=False, names=(name for name in "ab"), missing=(word for word in "-"))
        expected = "[{'a': 1, 'b': nan}, {'a': 2, 'b': 3.0}]"
        for _ in range(2):
            rows = [{name: float(cell) if name == "b" else cell for name, cell in row.items()} for row in stream]
            self.assertEqual(str(rows[:2]), expected)
            self.assertEqual(str(rows[2:]), expected)
        types = {"x": "text"}
        stream = CsvStream(self.file("a.csv", "x\n1\n"), types=types)
        types["x"] = "i64"
        self.assertEqual(list(stream), [{"x": "1"}])

    def test_types_of_python_and_numpy(self):
        path = self.file("a.csv", "x\n1\n")
        for given, expected in ((float, 1.0), (int, 1), (str, "1"), (np.float64, 1.0), (np.dtype("int64"), 1), (pl.f64, 1.0), ("text", "1")):
            found = next(iter(CsvStream(path, types={"x": given})))["x"]
            self.assertEqual((found, isinstance(found, float)), (expected, isinstance(expected, float)))
        self.assertEqual(next(iter(CsvStream(self.file("b.csv", "x\nNA\n"), types={"x": "text"}, missing="NA"))), {"x": "NA"})
        self.assertTrue(np.isnan(next(iter(CsvStream(path, missing="1")))["x"]))

    def test_mistakes_are_found_eagerly(self):
        path = self.file("u.csv", "id,score\n1,2\n")
        for options, error, message, hint in (
                ({"usecols": ["id"]}, pl.TypeError, "unexpected keyword argument 'usecols'", "columns= instead of usecols="),
                ({"types": {"scor": "bla"}}, pl.ValueError, "the type of column 'scor' is 'bla', expected 'i64', 'f64' or 'text'", ""),
                ({"types": {"id": np.float32}}, pl.ValueError, "the type of column 'id' is .*float32", ""),
                ({"types": {1: "i64"}}, pl.TypeError, "types has 1, expected strings", ""),
                ({"types": ["i64"] * 5}, pl.TypeError, "types is .*, expected a dict of types by the names of columns", 'types={"id": "i64"'),
                ({"types": "text"}, pl.TypeError, "types is 'text', expected a dict", 'types={"id": "i64"'),
                ({"names": "abcde"}, pl.TypeError, "names is 'abcde', expected a list of strings", 'names=["id", "score"]'),
                ({"columns": "id"}, pl.TypeError, "columns is 'id', expected a list", 'columns=["id"'),
                ({"columns": []}, pl.ValueError, "columns is empty", ""), ({"names": 3}, pl.TypeError, "names is 3", ""),
                ({"names": ["\ud800"]}, pl.ValueError, "is not UTF-8", ""), ({"missing": [1]}, pl.TypeError, "missing has 1, expected strings", ""),
                ({"separator": "::"}, pl.ValueError, "the separator is '::', expected one character of ASCII", ""),
                ({"quote": 3}, pl.TypeError, "the quote is 3", ""), ({"header": 1}, pl.TypeError, "header is 1, expected True or False", "")):
            for reader, name in (CsvStream, "CsvStream"), (pl.io.CsvFile, "CsvFile"), (pl.io.read_csv, "read_csv"):
                if reader is pl.io.read_csv and "usecols" in options:
                    continue  # which knows pandas' names
                with self.assertRaisesRegex(error, message) as caught:
                    reader(path, **options)
                self.assertIn(name, str(caught.exception).split(":")[0])
                self.assertIn(hint, caught.exception.hint)
        with self.assertRaisesRegex(pl.ValueError, "expected two characters of a line"):
            CsvStream(path, separator='"')

    def test_paths(self):
        path = self.file("u.csv", "x\n1\n")
        with open(path) as file, self.assertRaisesRegex(pl.TypeError, "CsvStream: the paths are .*, expected a path"):
            CsvStream(file)
        with self.assertRaisesRegex(pl.IoError, "CsvStream: no file matches .*t[*].csv"):
            CsvStream(f"{self.folder}/t*.csv")
        self.file("u2.csv", "x\n2\n")
        self.assertEqual(list(CsvStream(f"{self.folder}/u*.csv")), [{"x": 1}, {"x": 2}])
        self.assertEqual(list(CsvStream(self.file("a*.csv", "x\n1\n"))), [{"x": 1}])
        with self.assertRaisesRegex(pl.KeyError, 'unknown column "i".*\n.*did you mean id'):
            list(CsvStream(self.file("v.csv", "id\n1\n"), types={"i": "i64"}))


class Collation(unittest.TestCase):
    def test_numbers_of_one_kind(self):
        for samples, dtype in (([np.float64(1), np.float64(2)], pl.f64), ([np.float32(1), np.float32(2)], pl.f32), ([1, 2], pl.i64), ([1.0, 2.0], pl.f32),
                               ([1, 2.0], pl.f32), ([True, False], pl.bool), ([np.uint8(1), np.uint8(2)], pl.u8)):
            batch = data.default_collate(samples)
            self.assertEqual((batch.dtype, batch.tolist()), (dtype, samples))
        rows = [{"x": np.float64(i), "y": [i, {"z": float(i)}]} for i in range(3)]
        batch = data.default_collate(rows)
        self.assertEqual((batch["x"].dtype, batch["y"][1]["z"].dtype, batch["y"][0].tolist()), (pl.f64, pl.f32, [0, 1, 2]))
        for other in {"x": 1}, {"x": 1, "z": 2}, [1]:
            with self.assertRaisesRegex(pl.ValueError, "the samples differ"):
                data.default_collate([{"x": 1, "y": 2}, other])
        self.assertEqual(data.default_collate([{}, {}]), {})


if __name__ == "__main__":
    unittest.main()
