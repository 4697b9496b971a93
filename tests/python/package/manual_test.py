"""The Python examples of the manual have the right output."""

import doctest
import pathlib
import unittest

DOCS = pathlib.Path(__file__).resolve().parents[3] / "docs"


class Manual(unittest.TestCase):
    def test_examples(self):
        tried = 0
        for page in sorted(DOCS.glob("*.md")):
            # The examples end with their block of code.
            text = page.read_text().replace("```", "")
            examples = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
            tried += len(examples.examples)
            report = []
            doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples, out=report.append)
            self.assertEqual(report, [], "".join(report))
        self.assertGreater(tried, 0)


if __name__ == "__main__":
    unittest.main()
