"""Runs a function eagerly, traced, without Python and under vmap, and compares the results; shared by tests of
algorithms."""

import pathlib
import subprocess
import tempfile
import unittest

import numpy as np
import plait as pl


def mapped(function, *trees):
    """Applies the function to each leaf of a tree of dicts and tuples, or to corresponding leaves of several trees."""
    if isinstance(trees[0], (dict, tuple, list)):
        assert len({len(tree) for tree in trees}) == 1, trees
    if isinstance(trees[0], dict):
        return {name: mapped(function, *(tree[name] for tree in trees)) for name in trees[0]}
    if isinstance(trees[0], (tuple, list)):
        return tuple(mapped(function, *each) for each in zip(*trees))
    return function(*trees)


def given(tree):
    return mapped(lambda leaf: pl.asarray(np.asarray(leaf)), tree)


def together(trees):
    return mapped(lambda *leaves: pl.stack(leaves), *map(given, trees))


def same(found, wanted, rtol=1e-9, atol=1e-11):
    """Compares two trees, the first of Plait's tensors."""
    def compare(a, b):
        assert a.shape == np.shape(b), f"{a.shape} instead of {np.shape(b)}"
        np.testing.assert_allclose(a.numpy(), np.asarray(b), rtol=rtol, atol=atol)

    mapped(compare, found, wanted)


def in_cpp(program, arguments):
    """The result of the program without Python: its text is run by the command plait-ir."""
    command = pathlib.Path(pl.__file__).parents[2] / "bin" / "plait-ir"
    with tempfile.TemporaryDirectory() as folder:
        file, results = pathlib.Path(folder, "program.plait"), pathlib.Path(folder, "results.npz")
        file.write_text(program.text())
        words = [command, "run", file, "-o", results]
        for i, leaf in enumerate([*pl.tree.leaves(arguments), *program.hidden_inputs]):
            np.save(f"{folder}/{i}.npy", leaf.numpy())
            words += ["-i", f"@{folder}/{i}.npy"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        with np.load(results) as found:
            return [found[str(i)] for i in range(len(found))]


class Case(unittest.TestCase):
    def check(self, function, samples, wanted, shared=(), many=True, **accuracy):
        """Compares function(*shared, *sample) for each sample: eagerly, in a trace of the first sample, this trace
        without Python, under vmap, and in a trace that has seen as many copies of the first sample."""
        samples, shared = [given(tuple(sample)) for sample in samples], given(tuple(shared))
        with self.subTest(way="as it is"):
            for sample, expected in zip(samples, wanted, strict=True):
                same(function(*shared, *sample), expected, **accuracy)
        with self.subTest(way="traced"):
            program = pl.trace(function)(*shared, *samples[0])
            for sample, expected in zip(samples, wanted, strict=True):
                same(program(*shared, *sample), expected, **accuracy)
        with self.subTest(way="in C++"):
            found = in_cpp(program, (*shared, *samples[0]))
            same([pl.asarray(each) for each in found], pl.tree.leaves(given(wanted[0])), **accuracy)
        if many:
            self.check_many(function, samples, mapped(lambda *leaves: np.stack(leaves), *wanted), shared, accuracy)

    def check_many(self, function, samples, wanted, shared, accuracy):
        many, of_many = together(samples), pl.vmap(function, (None,) * len(shared) + (0,) * len(samples[0]))
        with self.subTest(way="many"):
            same(of_many(*shared, *many), wanted, **accuracy)
        with self.subTest(way="many, traced"):
            program = pl.trace(of_many)(*shared, *together([samples[0]] * len(samples)))
            same(program(*shared, *many), wanted, **accuracy)
