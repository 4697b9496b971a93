"""Readers of CSV, JSONL and text, compared with Python's own on random files."""

import csv
import io
import json
import pathlib
import pickle
import random
import tempfile
import unittest

import numpy as np
import plait as pl


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, content, name="file"):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path


def python_rows(text, **dialect):
    """The rows that Python finds; None if it refuses the text."""
    try:
        return [row for row in csv.reader(io.StringIO(text, newline=""), strict=True, **dialect) if row]
    except csv.Error:
        return None


class Csv(InFolder):
    def rows(self, text, columns, **options):
        types = {str(i): "text" for i in range(columns)}
        file = pl.io.CsvFile(self.file(text), header=False, types=types, **options)
        return [list(row.values()) for row in file]

    def test_names_of_other_readers(self):
        path = self.file("a;b\n1;-\n")
        columns = pl.io.read_csv(path, sep=";", na_values=["-"])
        self.assertEqual({name: str(column.tolist()) for name, column in columns.items()}, {"a": "[1]", "b": "[nan]"})
        self.assertEqual(list(pl.io.read_csv(path, delimiter=";", quotechar="'")), ["a", "b"])

    def test_any_text_is_read_as_python_reads_it(self):
        order, refused, read = random.Random(1), 0, 0
        for _ in range(1500):
            text = "".join(order.choices('ab", \n\ré;', (4, 4, 4, 6, 1, 2, 1, 1, 1), k=order.randrange(30)))
            expected = python_rows(text)
            columns = len(expected[0]) if expected else 1
            if expected is None or any(len(row) != columns for row in expected):
                with self.assertRaises(pl.errors.ParseError, msg=repr(text)):
                    self.rows(text, columns if expected else 0)
                refused += 1
            elif expected:
                self.assertEqual(self.rows(text, columns), expected, repr(text))
                read += 1
        self.assertGreater(min(refused, read), 150)

    def test_what_python_writes(self):
        order = random.Random(2)
        for _ in range(300):
            separator, quote = order.choice(",;\t|"), order.choice("\"'")
            columns = order.randrange(1, 5)
            rows = [["".join(order.choices(f"ab 1{separator}{quote}\n\ré", k=order.randrange(6))) for _ in range(columns)]
                    for _ in range(order.randrange(1, 8))]
            text, end = io.StringIO(newline=""), order.choice(("\n", "\r\n", "\r"))
            # Python quotes cells with the characters of `end` only.
            quoting = order.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL)) if end == "\r\n" else csv.QUOTE_ALL
            csv.writer(text, delimiter=separator, quotechar=quote, lineterminator=end, quoting=quoting).writerows(rows)
            self.assertEqual(self.rows(text.getvalue(), columns, separator=separator, quote=quote), rows, repr(text.getvalue()))

    def test_numbers_are_numpys(self):
        random_numbers = np.random.default_rng(3)
        numbers = np.stack([random_numbers.normal(size=500) * 10.0 ** random_numbers.integers(-300, 300, 500),
                            random_numbers.integers(-1 << 40, 1 << 40, 500)], axis=1)
        path = self.folder / "numbers.csv"
        for form in "%.18e", "%.17g", "%.6f":
            np.savetxt(path, numbers, fmt=[form, "%d"], delimiter=",", header="a,b", comments="")
            expected = np.genfromtxt(path, delimiter=",", skip_header=1)
            found = pl.io.read_csv(path)
            self.assertEqual((found["a"].dtype, found["b"].dtype), (pl.f64, pl.i64))
            np.testing.assert_array_equal(found["a"].numpy(), expected[:, 0])
            np.testing.assert_array_equal(found["b"].numpy(), expected[:, 1])

    def test_types_are_found_and_may_be_stated(self):
        path = self.file("id,score,name,empty,big\n007,1,x,,12345678901234567890\n2,NA,3,,1\n")
        file = pl.io.CsvFile(path)
        self.assertEqual(file.types, {"id": "i64", "score": "f64", "name": "text", "empty": "f64", "big": "text"})
        self.assertEqual(json.dumps(file[-1]), '{"id": 2, "score": NaN, "name": "3", "empty": NaN, "big": "1"}')
        stated = pl.io.read_csv(path, types={"id": "text", "big": "f64"}, missing=["NA", ""])
        self.assertEqual((stated["id"], stated["big"].tolist()), (["007", "2"], [12345678901234567890.0, 1.0]))
        for options, error, message in (
                ({"types": {"idd": "i64"}}, pl.errors.KeyError, "unknown column \"idd\".*\n  hint: did you mean id"),
                ({"types": {"id": "int"}}, pl.errors.ValueError, "the type of column 'id' is 'int', expected 'i64', 'f64' or 'text'"),
                ({"types": {"name": "i64"}}, pl.errors.ParseError, 'line 2: column "name": expected an i64, found "x"'),
                ({"separator": "::"}, pl.errors.ValueError, "the separator is '::', expected one character"),
                ({"separator": "é"}, pl.errors.ValueError, "expected one character of ASCII"),
                ({"header": None}, pl.errors.TypeError, "header is None, expected True or False"),
                ({"separator": None}, pl.errors.TypeError, "the separator is None, expected one character"),
                ({"names": ["a"]}, pl.errors.ValueError, "1 names are given for 5 columns")):
            with self.assertRaisesRegex(error, message):
                pl.io.read_csv(path, **options)

    def test_pieces_and_rows(self):
        path = self.file("x,y\n" + "".join(f"{i},\"{i}\n\"\n" for i in range(1000)))
        file = pl.io.CsvFile(path)
        self.assertEqual((len(file), file.names, file[999], file[-1000]), (1000, ["x", "y"], {"x": 999, "y": "999\n"}, {"x": 0, "y": "0\n"}))
        self.assertEqual(file.rows(990)["x"].tolist(), list(range(990, 1000)))
        self.assertEqual([row["x"] for row in pickle.loads(pickle.dumps(file))], list(range(1000)))
        for place in 1000, -1001:
            with self.assertRaisesRegex(pl.errors.IndexError, f"CsvFile\\('{path}'\\) has 1000 rows, not row {place}"):
                file[place]
        with self.assertRaisesRegex(pl.errors.TypeError, "expected an integer, not str"):
            file["x"]

    def test_errors_name_file_and_line(self):
        for text, message in (("a,b\n1,2\n\n3\n", "line 4: the row has 1 cells, expected 2"), ("a\n\"x\ny\n", "line 2: .* no closing quote"),
                              (b"a\n1\n\xff\n", "line 3: column \"a\": expected UTF-8"), ("", "line 1: expected the names")):
            path = self.file(text)
            with self.assertRaisesRegex(pl.errors.ParseError, f"{path}: {message}"):
                pl.io.read_csv(path)
        with self.assertRaisesRegex(pl.errors.IoError, "No such file"):
            pl.io.read_csv(self.folder / "none.csv")


class Jsonl(InFolder):
    def value(self, order, depth=0):
        kind = order.randrange(7 if depth < 3 else 5)
        if kind == 0:
            return order.choice((None, True, False))
        if kind == 1:
            return order.randrange(-1 << 80, 1 << 80) >> order.randrange(80)
        if kind == 2:
            return order.uniform(-1, 1) * 10.0 ** order.randrange(-300, 300)
        if kind in (3, 4):
            return "".join(order.choices('ab\n"\\\té😀\x00', k=order.randrange(6)))
        if kind == 5:
            return [self.value(order, depth + 1) for _ in range(order.randrange(4))]
        return {f"{i} é": self.value(order, depth + 1) for i in range(order.randrange(4))}

    def test_what_python_writes(self):
        order = random.Random(4)
        values = [self.value(order) for _ in range(2000)]
        text = "".join(json.dumps(each, ensure_ascii=order.random() < 0.5) + order.choice(("\n", "\r\n", "\n\n", "\n \t\n")) for each in values)
        path = self.file(text)
        self.assertEqual(pl.io.read_jsonl(path), values)
        file = pl.io.JsonlFile(path)
        for i in order.choices(range(-2000, 2000), k=200):
            self.assertEqual(file[i], values[i])
        self.assertEqual(pickle.loads(pickle.dumps(file))[7], values[7])

    def test_errors_name_file_and_line(self):
        path = self.file('{"a": 1}\n\n{"a": NaN}\n[1')
        file = pl.io.JsonlFile(path)
        self.assertEqual((len(file), file[0]), (3, {"a": 1}))
        for i, line in (1, 3), (2, 4):
            with self.assertRaisesRegex(pl.errors.ParseError, f"{path}: line {line}: byte "):
                file[i]
        with self.assertRaisesRegex(pl.errors.IndexError, "has 3 rows, not row 3"):
            file[3]


class Text(InFolder):
    def test_lines_are_pythons(self):
        order = random.Random(5)
        for _ in range(200):
            text = "".join(order.choices("aé\n\r", (3, 2, 2, 0.2), k=order.randrange(60)))
            lines = text.split("\n")
            if not lines[-1]:
                lines.pop()
            self.assertEqual(list(pl.io.TextLines(self.file(text))), [line.removesuffix("\r") for line in lines], repr(text))

    def test_errors_name_file_and_line(self):
        lines = pl.io.TextLines(self.file(b"a\n\xff\nb"))
        self.assertEqual((lines[0], lines[-1]), ("a", "b"))
        with self.assertRaisesRegex(pl.errors.ParseError, f"{self.folder}/file: line 2: byte 0 of the line is not UTF-8"):
            lines[1]


if __name__ == "__main__":
    unittest.main()
