"""Every public function and class has a description, and an example with the right output."""

import inspect
import pathlib
import sys
import unittest

import plait

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "scripts" / "manual"))
import examples  # noqa: E402

PLACES = {"": plait, "data.transforms.": plait.data.transforms, "data.transforms.functional.": plait.data.transforms.functional,
          "fft.": plait.fft, "io.": plait.io, "linalg.": plait.linalg, "metrics.": plait.metrics, "nn.": plait.nn, "nn.init.": plait.nn.init,
          "nn.utils.": plait.nn.utils, "nn.utils.prune.": plait.nn.utils.prune,
          "optim.": plait.optim, "optim.lr_scheduler.": plait.optim.lr_scheduler, "random.": plait.random, "text.": plait.text,
          "tree.": plait.tree}
# Returned by functions, which have the examples.
WITHOUT = {"Tensor", "DType", "Dim", "tree.Structure"}


def documented():
    """(path, object) of everything except dtypes, constants and exceptions."""
    for prefix, place in PLACES.items():
        for name, value in list(vars(place).items()):
            is_error = isinstance(value, type) and issubclass(value, Exception)
            if not name.startswith("_") and callable(value) and not is_error and prefix + name not in WITHOUT:
                yield prefix + name, value


class Docstrings(unittest.TestCase):
    def test_all_have_an_example(self):
        without = [path for path, thing in documented() if ">>>" not in (inspect.getdoc(thing) or "")]
        self.assertEqual(without, [])
        self.assertGreater(len(list(documented())), 500)

    def test_all_say_what_they_do_first(self):
        for path, thing in documented():
            with self.subTest(path):
                first = inspect.getdoc(thing).split("\n")[0]
                self.assertRegex(first, r"\w")
                self.assertFalse(first.startswith(">>>"))

    def test_they_give_what_stands_there(self):
        for path, thing in documented():
            with self.subTest(path):
                example = examples.Example(path, "the docstring", inspect.getdoc(thing), 0)
                self.assertEqual(examples.failures(example), "")

    def test_a_method_has_no_example_of_a_function_with_its_name(self):
        for method in plait.io.CsvLog.log, plait.io.Logs.log:
            self.assertNotIn("plait.log(", method.__doc__)

    def test_methods_say_what_they_do(self):
        for cls in plait.Tensor, plait.Tensor.Indexed, plait.Program, plait.Tape, plait.tree.Structure:
            for name, value in list(vars(cls).items()):
                if not name.startswith("_") and not isinstance(value, type):
                    with self.subTest(f"{cls.__name__}.{name}"):
                        self.assertRegex(inspect.getdoc(value) or "", r"\w")


if __name__ == "__main__":
    unittest.main()
