"""The stubs: mypy checks programs that use them, and they match the package."""

import ast
import inspect
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import plait

import typed_example

PACKAGE = pathlib.Path(plait.__file__).parent
PLACES = {"__init__": plait, "fft": plait.fft, "linalg": plait.linalg, "nn/__init__": plait.nn, "nn/init": plait.nn.init,
          "nn/utils/__init__": plait.nn.utils, "nn/utils/prune": plait.nn.utils.prune, "optim/__init__": plait.optim,
          "optim/lr_scheduler": plait.optim.lr_scheduler, "metrics": plait.metrics, "io": plait.io, "random": plait.random, "text": plait.text, "tree": plait.tree}
MISTAKES = """import plait as pl
x = pl.ones((2, 3))
pl.softmax(x, axes=-1)
pl.softmax(x, "last")
pl.pad(x, [(1, 1)], mode="reflected")
x.shpae
pl.linalg.svd(x).V
number: int = pl.exp(x)
pl.random.normal(pl.random.key("one"), 3)
pl.jit(pl.sin, dontate=(0,))
pl.concat(x, [1.0, "two"])
x + [1, 2]
pl.io.load_npy(3)
"""
FOUND = {3: "call-overload|call-arg", 4: "arg-type|call-overload", 5: "arg-type", 6: "attr-defined", 7: "attr-defined", 8: "assignment", 9: "arg-type",
         10: "call-overload", 11: "arg-type|call-overload", 12: "operator", 13: "arg-type"}


def errors_of(file):
    """Line and code of mypy's errors in a program, and in the stubs that it uses."""
    with tempfile.TemporaryDirectory() as cache:
        run = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--no-color-output", "--cache-dir", cache, str(file)],
                             env={"MYPYPATH": str(PACKAGE.parent), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False)
    if run.returncode not in (0, 1):
        raise RuntimeError(run.stdout + run.stderr)
    return re.findall(r"^(\S+?):(\d+): error: .*\[([\w-]+)\]$", run.stdout, re.M), run.stdout


class Stubs(unittest.TestCase):
    def test_a_typed_program_is_taken(self):
        errors, text = errors_of(typed_example.__file__)
        self.assertEqual(errors, [], text)

    def test_and_runs(self):
        self.assertLess(typed_example.train(), 0.6)
        found = typed_example.numbers()
        np.testing.assert_allclose(found["back"].numpy(), np.arange(12.0).reshape(3, 4), atol=1e-12)
        self.assertEqual((found["rank"], found["shape"], found["dtype"], found["halvings"]), (2, (3, 4), "c128", 7))
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(typed_example.files(pathlib.Path(folder)), ["bias", "weight", "5 (2,)", "today"])

    def test_mistakes_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "mistakes.py"
            file.write_text(MISTAKES)
            errors, text = errors_of(file)
        found = {int(line): code for _, line, code in errors}
        self.assertEqual(set(found), set(FOUND), text)
        for line, codes in FOUND.items():
            self.assertIn(found[line], codes.split("|"), text)

    def test_they_have_the_names_that_there_are(self):
        for name, place in PLACES.items():
            with self.subTest(name):
                tree = ast.parse((PACKAGE / f"{name}.pyi").read_text())
                stubbed = {each for node in tree.body for each in names_of(node)}
                there = {each for each, value in vars(place).items() if not each.startswith("_") and not inspect.ismodule(value)}
                self.assertEqual({each for each in stubbed if not each.startswith("_")} - there, {"Size", "ArrayLike", "DTypeLike"} & stubbed)
                self.assertEqual(there - stubbed, set())

    def test_they_have_the_names_for_stars(self):
        for name, place in PLACES.items():
            with self.subTest(name):
                body = ast.parse((PACKAGE / f"{name}.pyi").read_text()).body
                listed = [ast.literal_eval(node.value) for node in body if isinstance(node, ast.Assign) and names_of(node) == ["__all__"]]
                self.assertEqual(listed, [place.__all__])

    def test_parameters_are_those_that_there_are(self):
        for name, place in PLACES.items():
            for node in ast.parse((PACKAGE / f"{name}.pyi").read_text()).body:
                # The parameters of `apply` have no names, since an attribute may have the same name.
                if isinstance(node, ast.FunctionDef) and not node.decorator_list and node.name != "apply":
                    with self.subTest(f"{name}.{node.name}"):
                        given = node.args
                        stubbed = [each.arg for each in given.posonlyargs + given.args + [given.vararg] * bool(given.vararg) + given.kwonlyargs +
                                   [given.kwarg] * bool(given.kwarg)]
                        self.assertEqual(stubbed, list(inspect.signature(getattr(place, node.name)).parameters))

    def test_tensors_have_what_they_have(self):
        tree = ast.parse((PACKAGE / "__init__.pyi").read_text())
        for cls in plait.Tensor, plait.Tensor.Indexed, plait.DType, plait.Dim, plait.Program, plait.Tape:
            node = next(each for each in ast.walk(tree) if isinstance(each, ast.ClassDef) and each.name == cls.__name__)
            stubbed = {each.name for each in node.body if isinstance(each, (ast.FunctionDef, ast.ClassDef))}
            with self.subTest(cls.__name__):
                self.assertEqual(sorted(each for each in stubbed if not hasattr(cls, each)), [])
                self.assertEqual(sorted(each for each in vars(cls) if not each.startswith("_") and each not in stubbed), [])


def names_of(node):
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, ast.AnnAssign):
        return [node.target.id]
    if isinstance(node, ast.Assign):
        return [each.id for each in node.targets if isinstance(each, ast.Name)]
    if isinstance(node, ast.ImportFrom) and node.level > 1:  # names of another module of plait
        return [each.asname for each in node.names if each.asname]
    return []


if __name__ == "__main__":
    unittest.main()
