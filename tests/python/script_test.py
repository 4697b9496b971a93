"""Python's own branches and loops in programs, against plain Python on floats, and PyTorch that runs the same source."""

import linecache
import math
import random
import re
import unittest

import numpy as np
import plait as pl
import torch


def array(*numbers):
    return pl.asarray(np.array(numbers))


def compiled(source, name, **found):
    """A function of source text, whose lines are known as those of a file."""
    file = f"<{name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    exec(compile(source, file, "exec"), found)
    return found["f"]


# ---- Random programs.


class Programs:
    """Programs of branches, loops and early ends on numbers x and y and a whole number n."""

    def __init__(self, seed):
        self._random = random.Random(seed)
        self._counters = 0
        self._lines = []

    def text(self):
        self._lines = ["def f(x, y, n):", "    a, b = x * 0.5, y", "    c = 0.25"]
        self._block(1, 0, 3)
        self._say(1, "return a + b * 0.5 - c * x" if self._chance(0.7) else "return a * y, b - c")
        return "\n".join(self._lines) + "\n"

    def _say(self, depth, line):
        self._lines.append("    " * depth + line)

    def _chance(self, share):
        return self._random.random() < share

    def _pick(self, *choices):
        return self._random.choice(choices)

    def _number(self):
        return repr(round(self._random.uniform(-1.5, 1.5), 2))

    def _variable(self):
        return self._pick("a", "b", "c", "x", "y")

    def _value(self, depth=0):
        kind = self._random.randrange(7 if depth < 1 else 4 if depth < 2 else 3)
        if kind < 2:
            return self._variable()
        if kind == 2:
            return self._number()
        if kind == 3:
            return f"sin({self._value(depth + 1)})"
        if kind == 4:
            return f"({self._value(depth + 1)} * {self._value(depth + 2)} * 0.5 + {self._number()})"
        if kind == 5:
            return f"({self._value(depth + 1)} - {self._value(depth + 1)})"
        return f"({self._value(depth + 1)} if {self._test(depth + 1)} else {self._value(depth + 1)})"

    def _test(self, depth=0):
        kind = self._random.randrange(6 if depth < 1 else 2)
        if kind < 2:
            return f"{self._variable()} {self._pick('<', '>', '<=', '>=')} {self._value(2)}"
        if kind == 2:
            return f"{self._number()} < {self._variable()} <= {self._value(2)}"
        if kind == 3:
            return f"not ({self._test(depth + 1)})"
        return f"({self._test(depth + 1)} {self._pick('and', 'or')} {self._test(depth + 1)})"

    def _block(self, depth, loops, most):
        for _ in range(self._random.randint(1, most)):
            self._statement(depth, loops)

    def _statement(self, depth, loops):
        kind = self._random.randrange(12)
        if kind < 4 or depth > 2:
            target = self._pick("a", "b", "c")
            if self._chance(0.2):
                self._say(depth, f"{target} += {self._value()}")
            elif self._chance(0.15):
                self._say(depth, "a, b = b, a * 0.5")
            else:
                self._say(depth, f"{target} = {self._value()}")
        elif kind < 7:
            self._say(depth, f"if {self._test()}:")
            self._ended(depth + 1, loops)
            if self._chance(0.3):
                self._say(depth, f"elif {self._test()}:")
                self._ended(depth + 1, loops)
            if self._chance(0.5):
                self._say(depth, "else:")
                self._ended(depth + 1, loops)
        elif kind < 9:
            self._counters += 1
            i = f"i{self._counters}"
            self._say(depth, f"for {i} in {self._pick('range(3)', 'range(n)', 'range(n, -2, -2)', 'range(1, n + 1)')}:")
            self._say(depth + 1, f"a = a * 0.5 + y * {i} * 0.25")
            self._ended(depth + 1, loops + 1)
            self._else(depth, loops)
        elif kind < 11:
            self._counters += 1
            k = f"k{self._counters}"
            self._say(depth, f"{k} = 0")
            self._say(depth, f"while {k} < {self._random.randint(1, 4)} and {self._test()}:" if self._chance(0.7) else "while True:")
            self._say(depth + 1, f"{k} += 1")
            if "while True" in self._lines[-2]:
                self._say(depth + 1, f"if {k} > n or {self._test()}:")
                self._say(depth + 2, "break")
            self._ended(depth + 1, loops + 1)
            self._else(depth, loops)
        else:
            self._say(depth, f"if {self._test()}:")
            self._say(depth + 1, "t = " + self._value())
            self._say(depth, "else:")
            self._say(depth + 1, "t = " + self._value())
            self._say(depth, "b = t * 0.5")

    def _else(self, depth, loops):
        if self._chance(0.2):
            self._say(depth, "else:")
            self._ended(depth + 1, loops)

    def _ended(self, depth, loops):
        for _ in range(self._random.randint(1, 2)):
            self._statement(depth, loops)
        if self._chance(0.3):
            ends = ["return a - b * x"] + ["break", "continue"] * (loops > 0)
            self._say(depth, f"if {self._test()}:" if self._chance(0.4) else "if b > a:")
            self._say(depth + 1, self._random.choice(ends))


def total(result):
    return sum(result[1:], result[0]) if isinstance(result, tuple) else result


class RandomPrograms(unittest.TestCase):
    """How many: PLAIT_TEST_PROGRAMS."""

    def check(self, seed):
        text = Programs(seed).text()
        if "return a * y" in text:  # one kind of result in a program
            text = text.replace("return a - b * x", "return a - b * x, y")
        plain = compiled(text, f"plain {seed}", sin=math.sin)
        out_of_place = re.sub(r"(\w+) \+= (.*)", r"\1 = \1 + (\2)", text)  # PyTorch would change y, too, where b = y
        of_torch = compiled(out_of_place, f"torch {seed}", sin=lambda v: torch.sin(torch.as_tensor(v, dtype=torch.float64)))
        scripted = pl.script(compiled(text, f"scripted {seed}", sin=lambda v: pl.sin(pl.asarray(v, pl.f64))))

        def loss(x, y, n):
            result = total(scripted(x, y, n))
            return result if isinstance(result, pl.Tensor) else pl.asarray(result, pl.f64)

        gradient = pl.value_and_grad(loss, argnums=(0, 1))
        draw = random.Random(seed)
        points = [(draw.uniform(-2, 2), draw.uniform(-2, 2), draw.randint(0, 4)) for _ in range(4)]
        tensors = [(array(x)[0], array(y)[0], pl.asarray(n)) for x, y, n in points]
        program = pl.trace(gradient)(*tensors[0])
        jitted = pl.jit(loss)
        results = []
        for (x, y, n), given in zip(points, tensors):
            leaves = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (x, y)]
            theirs = total(of_torch(*leaves, n))
            wanted = total(plain(x, y, n))
            if isinstance(theirs, torch.Tensor) and theirs.requires_grad:
                theirs.backward()
            slopes = [0.0 if leaf.grad is None else float(leaf.grad) for leaf in leaves]
            results.append((wanted, *slopes))
            for way in (gradient, program):
                value, found = way(*given)
                np.testing.assert_allclose([float(value), *map(float, found)], [wanted, *slopes], rtol=1e-9, atol=1e-10, err_msg=text)
            np.testing.assert_allclose(float(jitted(*given)), wanted, rtol=1e-9, atol=1e-10, err_msg=text)
        many = [pl.stack([given[i] for given in tensors]) for i in range(3)]
        value, found = pl.vmap(gradient)(*many)
        np.testing.assert_allclose(np.stack([value, *found], -1), results, rtol=1e-9, atol=1e-10, err_msg=text)

    def test_programs(self):
        import os
        first, count = int(os.environ.get("PLAIT_TEST_SEED", 0)), int(os.environ.get("PLAIT_TEST_PROGRAMS", 20))
        for seed in range(first, first + count):
            with self.subTest(seed=seed):
                self.check(seed)


if __name__ == "__main__":
    unittest.main()
