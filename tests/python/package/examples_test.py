"""The examples of docs/examples have the right output, and every public function and primitive is in one."""

import pathlib
import sys
import tempfile
import unittest
import unittest.mock

import plait

SCRIPTS = pathlib.Path(__file__).resolve().parents[3] / "scripts"
sys.path[:0] = [str(SCRIPTS), str(SCRIPTS / "manual")]
import check_links  # noqa: E402
import docs  # noqa: E402
import examples  # noqa: E402


class Examples(unittest.TestCase):
    def test_every_function_has_one(self):
        problems = list(examples.problems())
        self.assertEqual(problems, [], "\n".join(problems))

    def test_what_is_missing_is_named_with_its_place(self):
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(examples, "FOLDER", pathlib.Path(folder)):
            (examples.FOLDER / "scan.md").write_text("## sum\n\n    >>> plait.sum(plait.arange(3))\n    3 : i64[]\n\n## nothing\n")
            problems = "\n".join(examples.problems())
        self.assertIn("docs/examples/reductions/scan.md: sum belongs in docs/examples/reductions/reduce.md", problems)
        self.assertIn("docs/examples/reductions/scan.md: plait.nothing is not a function", problems)
        self.assertIn("plait.std has no example: add `## std` with a doctest to docs/examples/reductions/statistics.md", problems)

    def test_they_give_what_stands_there(self):
        found = examples.read()
        self.assertGreater(len(found), 300)
        for example in found:
            with self.subTest(example.name):
                self.assertEqual(examples.failures(example), "")

    def test_a_wrong_one_is_noticed(self):
        text = "    >>> plait.exp(plait.tensor([0.0, 1.0]))\n    {} : f32[2]\n"
        for given, fails in (("[1.        2.7182817]", False), ("[1. 2.718282]", False), ("[1. 2.72]", True), ("[1.]", True)):
            example = examples.Example("exp", "elementwise", text.format(given), 1)
            self.assertEqual(examples.failures(example) != "", fails, given)

    def test_a_result_is_written_where_there_is_none(self):
        text = "    >>> x = plait.tensor([[1, 2], [3, 4]])\n    >>> plait.sum(x, axis=1)\n    >>> x[0]\n    [1 2] : i64[2]\n"
        self.assertEqual(examples.filled(text), text.replace("axis=1)\n", "axis=1)\n    [3 7] : i64[2]\n"))


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.pages = docs.Pages(pathlib.Path(folder.name).resolve())

    def test_every_primitive_is_in_an_example(self):
        used = {primitive for of_example in self.pages.primitives.values() for primitive in of_example}
        self.assertEqual(sorted(set(plait.ops()) - used), [],
                         "each needs an example that it is a part of: `## name` with plait.apply in docs/examples/primitives.md")

    def test_a_page_says_all_of_a_function(self):
        page = self.pages.page("divide")
        for part in ("plait.divide(a: ArrayLike, b: ArrayLike) -> Tensor", "a / b; of integers f32.", "Tensor divide(const Operand& a, const Operand& b);",
                     ">>> plait.divide(", "%2 = divide %arg0, %1 : f32[3]", "| integer (i8, i16, i32, i64, u8, u16, u32, u64), bool | f32 |",
                     "[`broadcast`](broadcast.md)", "## The primitive `divide`", "numpy.divide"):
            self.assertIn(part, page)

    def test_a_page_says_why_there_is_no_derivative(self):
        self.assertIn("| [`argmax`](argmax.md) | none: returns indices |", self.pages.page("argmax"))

    def test_overloads_stand_one_after_another(self):
        calls = [call for call, _ in docs.signatures("random.permutation")]
        device = "*, device: str | Device | None = None"
        self.assertEqual(calls, [f"plait.random.permutation(key: ArrayLike, count: Size, {device}) -> Tensor",
                                 f"plait.random.permutation(count: Size, {device}) -> Tensor"])

    def test_links_lead_somewhere(self):
        self.pages.write()
        pages = sorted(self.pages.folder.glob("*.md"))
        self.assertGreater(len(pages), 350)
        self.assertEqual([problem for page in pages for problem in check_links.broken_links(page)], [])


if __name__ == "__main__":
    unittest.main()
