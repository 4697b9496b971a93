"""scripts/new_op.py: what it copies is where its check looks, and operations of every kind pass the check."""

import contextlib
import io
import pathlib
import re
import shutil
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests" / "conformance")]

import new_op  # noqa: E402
import plait  # noqa: E402
from suite import cases  # noqa: E402


def missing(name):
    """The check's report of an operation; "" if it lacks nothing."""
    report = io.StringIO()
    with contextlib.redirect_stdout(report):
        count = new_op.check(new_op.operation_of(name))
    return report.getvalue() if count else ""


def delete_marks(files):
    """As one who edits the copies does."""
    for file in files:
        copy = new_op.ROOT / file.relative_to(ROOT)
        lines = copy.read_text(encoding="utf-8").splitlines(keepends=True)
        copy.write_text("".join(line for line in lines if new_op.MARK not in line), encoding="utf-8")


def printed_families(function, sources):
    """The tests of tests/conformance in the command that the script prints."""
    return re.match(r"conformance\\\.\((.*?)\)\$", new_op.short_tests(function, sources))[1].split("|")


class PrintedTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cases.load()
        cls.sources = new_op.Sources.read()

    def test_exist_for_every_operation(self):
        known = {*cases.families(), "functions", "table"}
        names = [name for name in dir(plait) if self.sources.public_topics(name)]
        self.assertGreater(len(names), 350)
        for name in names:
            with self.subTest(name):
                self.assertLessEqual(set(printed_families(name, self.sources)), known)

    def test_compare_with_the_oracle(self):
        for name, families in (("expm1", ["elementwise"]), ("add", ["elementwise"]), ("gelu", ["elementwise"]), ("lgamma", ["special"]),
                               ("conv2d", ["convolution"]), ("cumsum", ["scan"]), ("cross_entropy", ["softmax"]), ("scatter_add", ["index"])):
            self.assertEqual(printed_families(name, self.sources), [*families, "functions", "table"], name)
        for name, case in cases.CASES.items():
            if self.sources.public_topics(name):
                self.assertIn(case.family, printed_families(name, self.sources), name)

    def test_of_units_and_of_the_module_exist(self):
        of_units, of_python = re.search(r"\|ops(.*)\|python\\\.\((.*)\)", new_op.short_tests("expm1", self.sources)).groups()
        units = "".join(file.read_text(encoding="utf-8") for room in ("ops", "cpu") for file in (ROOT / "tests" / room).rglob("*_test.cpp"))
        for suite in re.findall(r"[A-Z]\w+", of_units):
            self.assertRegex(units, rf"TEST(_\w+)?\({suite}")
        for name in of_python.split("|"):
            self.assertTrue(list((ROOT / "tests" / "python").rglob(f"{name}_test.py")), name)


class NewOp(unittest.TestCase):
    def test_operations_of_every_kind_pass(self):
        for name in ("expm1", "lgamma", "gammainc", "isnan", "add", "cumsum", "softmax", "sort", "matmul", "reshape", "conv2d", "gelu", "frac"):
            with self.subTest(name):
                self.assertEqual(missing(name), "")

    def test_copies_are_found_by_the_check(self):
        with tempfile.TemporaryDirectory() as folder:
            self.addCleanup(setattr, new_op, "ROOT", new_op.ROOT)
            files = {file for place in new_op.PLACES for file in new_op.files_of(place.files)}
            for file in files:
                copy = pathlib.Path(folder, file.relative_to(ROOT))
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, copy)
            new_op.ROOT = pathlib.Path(folder)
            for like, name in (("expm1", "log2p1"), ("cumsum", "cumsum_squares"), ("softmax", "sparsemax"), ("lgamma", "barnesg"), ("frac", "tick")):
                with self.subTest(name):
                    self.assertIsNone(new_op.operation_of(name))
                    with contextlib.redirect_stdout(io.StringIO()):
                        new_op.copy_all(new_op.operation_of(like), name)
                    report = missing(name)
                    self.assertNotIn("MISSING", report)
                    self.assertIn("not edited yet", report)
                    delete_marks(files)
                    self.assertEqual(missing(name), "")
                    self.assertEqual(missing(like), "")

    def test_names_of_a_namespace_are_refused(self):
        for arguments in (["linalg.svd", "--check"], ["svd2", "--like", "linalg.svd"]):
            errors = io.StringIO()
            with contextlib.redirect_stderr(errors), self.assertRaises(SystemExit), unittest.mock.patch("sys.argv", ["new_op.py", *arguments]):
                new_op.main()
            self.assertRegex(errors.getvalue(), r"linalg.svd is not a valid name: .*as in expm1")

    def test_an_operation_without_entries_is_told_what_it_lacks(self):
        report = io.StringIO()
        with contextlib.redirect_stdout(report):
            self.assertGreater(new_op.check(new_op.Operation("nowhere", "nowhere", "nowhere", "")), 5)
        self.assertIn("list what it refuses\n   MISSING", report.getvalue())


if __name__ == "__main__":
    unittest.main()
