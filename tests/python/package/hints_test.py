"""The hints of the library, which are written for C++, as they appear in Python: without C++, and with existing
names."""

import pathlib
import re
import unittest

import plait as pl

ROOT = pathlib.Path(__file__).resolve().parents[3]
ROOMS = ("core", "tensor", "ops", "transform", "io", "data", "text")  # the rooms that Python calls
OF_CPP = re.compile(r"::|\bstd\b|\w->\w|= true|= false|<\d>|\bTensor\(\)|\{\.|\bin the options\b|\.at\(|\bDType\b|nullptr|allow_integers")
# Words before brackets that are not public functions: of host code, of tests, of the subject of a hint.
NOT_CALLED = {"equals", "x"}


def hints():
    """(file, text) of each string literal that is used as a hint, or as one of two."""
    for room in ROOMS:
        for file in sorted((ROOT / "plait" / room).rglob("*.cpp")):
            text = file.read_text(encoding="utf-8")
            for found in re.finditer(r"\.(?:set_)?hint\(", text):
                end, depth = found.end(), 1
                while depth:
                    depth += {"(": 1, ")": -1}.get(text[end], 0)
                    end += 1
                inside = text[found.end():end]
                for literals in re.findall(r'(?:"(?:[^"\\]|\\.)*"\s*)+', inside):
                    yield file.name, "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals)).replace('\\"', '"')


def is_there(name):
    places = (pl, pl.linalg, pl.random, pl.Tensor, pl.Tensor.Indexed, pl.Tape, pl.tree, pl.io, pl.io.Checkpoints, pl.io.SafetensorsFile, pl.data, pl.text, pl.text.Tokenizer)
    return any(hasattr(place, name) and not name.startswith("_") for place in places)


class Hints(unittest.TestCase):
    def test_they_speak_python(self):
        seen = 0
        for file, hint in hints():
            with self.subTest(hint, file=file):
                said = pl._core._testing.hint_in_python(hint)
                self.assertNotRegex(said, OF_CPP)
                for name in re.findall(r"\b(?<!\.)([a-z_0-9]+)\(", said):
                    self.assertTrue(name in NOT_CALLED or is_there(name), f"there is no {name}")
                seen += 1
        self.assertGreater(seen, 80)

    def test_in_errors(self):
        x = pl.ones((3, 3))
        for call, hint in ((lambda: pl.linalg.solve(pl.zeros((2, 2)), pl.ones(2)), "plait.linalg.lstsq"),
                           (lambda: pl.linalg.inv(pl.ones((2, 2), pl.f16)), "plait.f32"),
                           (lambda: pl.grad(lambda i: pl.sum(i))(pl.ones(3, pl.i64)), "allow_int=True"),
                           (lambda: pl.random.split_key(x), "plait.random.key"),
                           (lambda: pl.stack(x, x), "stack([a, b])"), (lambda: pl.concat(x, x), "concat([a, b])"),
                           (lambda: pl.cross_entropy(x, pl.tensor([0, 7, 1])), "the class 7"),
                           (lambda: pl.cross_entropy(x, pl.tensor([0, -1, 1])), "the class -1"),
                           (lambda: pl.cross_entropy(x, pl.zeros(3)), "classes are integers"),
                           (lambda: pl.vmap(lambda: x)(), "size=")):
            with self.assertRaises(pl.Error) as caught:
                call()
            with self.subTest(hint):
                self.assertIn(hint, caught.exception.hint + str(caught.exception))
                self.assertNotRegex(str(caught.exception), OF_CPP)


if __name__ == "__main__":
    unittest.main()
