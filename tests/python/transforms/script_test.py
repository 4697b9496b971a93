"""Python's own branches and loops in programs, compared with plain Python on floats, and with PyTorch running the
same source."""

import linecache
import math
import os
import random
import re
import sys
import traceback
import unittest

import numpy as np
import plait as pl
import torch


def array(*numbers):
    return pl.asarray(np.array(numbers))


def compiled(source, name, **found):
    """Compiles a function from source text, with line numbers as in a file."""
    file = f"<{name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    exec(compile(source, file, "exec"), found)
    return found["f"]


# ---- Random programs.


class Programs:
    """Generates programs of branches, loops and early exits on numbers x and y and an integer n."""

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
    """The number of programs: PLAIT_TEST_PROGRAMS."""

    def check(self, seed):
        text = Programs(seed).text()
        if "return a * y" in text:  # one kind of result per program
            text = text.replace("return a - b * x", "return a - b * x, y")
        plain = compiled(text, f"plain {seed}", sin=math.sin)
        out_of_place = re.sub(r"(\w+) \+= (.*)", r"\1 = \1 + (\2)", text)  # PyTorch would change y, too, after b = y
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
        first, count = int(os.environ.get("PLAIT_TEST_SEED", 0)), int(os.environ.get("PLAIT_TEST_PROGRAMS", 20))
        for seed in range(first, first + count):
            with self.subTest(seed=seed):
                self.check(seed)


# ---- Functions for Constructs, compared with plain Python numbers: `sin` and `where` choose by their arguments.


def sin(v):
    return pl.sin(v) if isinstance(v, pl.Tensor) else math.sin(v)


def branches(x, y):
    if x > 1:
        z = x * y
    elif x > 0 and y > 0:
        z = x - y
    else:
        z = sin(x)
    return z * 2


def early(x, y):
    if x > 1:
        return x * y
    for i in range(5):
        if x * i > y:
            return x + i
        elif x < -1:
            break
        y = y - 0.5
    else:
        y = y * 3
    return x * y


def newton(x, y):
    """sqrt(x*x + 1) by Newton's method, with a counter of steps."""
    a, guess, steps = x * x + 1, 1.0, 0
    while abs(guess * guess - a) > 1e-12:
        guess = (guess + a / guess) / 2
        steps += 1
        if steps > 50:
            break
    return guess + y * 0


def skipping(x, y):
    total = 0.0
    for i in range(6):
        if i % 2 == 0 or x * i < y:
            continue
        total += x * i
        if total > 4:
            break
    else:
        total -= y
    return total


def nested_loops(x, y):
    total, k = 0.0, 0
    while k < 3:
        k += 1
        j = 0
        while True:
            j += 1
            if j > k or total > 5:
                break
            if j == 2:
                continue
            total = total + x * j - y
    return total


def expressions(x, y):
    a = x if x > y else y
    b = 0.1 if x > 0 else 0.01
    c = 1 if not 0 < x < y <= 2 else -1
    d = (x > 0 and y > 0) or x + y > 1
    return a * b + c * x + (y if d else 0)


def unpacked(x, y):
    a, (b, *c) = x, (y, x, y)
    if a > b:
        a, b = b, a
        c = (b, a)
    else:
        c = (a, a)
    a += c[0]
    b -= c[1]
    return a * b


def closures(x, y):
    h = x

    def step():
        return h * 0.5 + y * 0.1

    def deeper(v, k=2):
        if v > 1:
            return deeper(v * 0.5)
        return v * k

    while h * h > 0.23:
        h = step()
    return deeper(h + 3) + (lambda v: v if v > 0 else -v)(x)


def written_outside(x, y):
    total, count = x, 0

    def add(v):
        nonlocal total, count
        total = total + v
        count += 1

    if x > y:
        add(y)
    k = 0
    while total < 3:
        add(0.75)
        k += 1
    return total * count


def in_blocks(x, y):
    z = 0.0
    for k in range(3):
        try:
            with _Nothing():
                if x * k > 1:
                    z = z + x
                    continue
                z = z - y
            z = z + 0.125
        finally:
            z = z * 2
        if z > 6:
            break
    if z > y:
        with _Nothing():
            if z > x:
                z = z * y
                return z
        z = z + 1
    match (1, 2):
        case (1, w) if w > 1:
            if z > 0:
                z = z + w
        case _:
            return x
    return z


class _Nothing:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


def deleted(x, y):
    t = x * 2
    if x > y:
        del t
        t = y
    while y < 1:
        y = y + 0.5
        u = y * 2
        del u
    return t + y


def ways_out(x, y):
    while True:
        while True:
            if x > 2:
                return y
            x = x * 0.5 + 1.5
            if x > y:
                break
        y = y + 1
        if y > 3:
            return x * y


CONSTRUCTS = (branches, early, newton, skipping, nested_loops, expressions, unpacked, closures, written_outside, in_blocks, deleted,
              ways_out)
POINTS = [(0.53, 0.27), (1.51, -0.42), (-0.71, 0.33), (0.13, 1.87), (2.57, 2.03)]


def along(samples):
    """A loop over the slices of a tensor."""
    total, last = 0.0, samples[0] * 0
    for i, (row, other) in enumerate(zip(samples, reversed(samples))):
        if row[0] < 0:
            continue
        total = total + pl.sum(row * other) * i
        last = row
        if total > 6:
            break
    for row in samples:
        total = total + row[1]
    return total + pl.sum(last)


def counted(x, n):
    out = pl.zeros(4, dtype=pl.f64)
    for i in range(n, -1, -2):
        out[i] = x[i] * i
        out[0] += x[i]
    for i in range(0, n, n - 1):
        out[1] -= x[i] * i
    return pl.sum(out * out)


def merge_sort(x):
    if x.shape[0] <= 1:
        return x
    half = x.shape[0] // 2
    a, b = merge_sort(x[:half]), merge_sort(x[half:])
    out, i, j = pl.zeros_like(x), 0, 0
    for k in range(x.shape[0]):
        take = j >= b.shape[0] or (i < a.shape[0] and a[i] <= b[j])
        out[k] = a[i] if take else b[j]
        i, j = (i + 1, j) if take else (i, j + 1)
    return out


@pl.script
def factorial(n):
    if n <= 1:
        return 1.0
    return n * factorial(n - 1)


@pl.script
def is_even(n, h, depth=0):
    if n == 0:
        return h + depth
    return is_odd(n - 1, h * 1.5, depth + 1)


@pl.script
def is_odd(n, h, depth):
    if n == 0:
        return -h
    return is_even(n - 1, pl.sin(h), depth)


class Model(pl.Module):
    rate: pl.Tensor

    @pl.script
    def settle(self, x, most=3):
        """Documented."""
        for _ in range(most):
            if x > self.rate:
                x = x * self.rate
            else:
                return x
        return x - self.__shift()

    def __shift(self):
        return 1


class Derived(Model):
    @pl.script
    def settle(self, x, most=3):
        return super().settle(x, most) * 2 if x > 0 else x

    @staticmethod
    @pl.script
    def chosen(x):
        return x if x > 1 else -x


class Constructs(unittest.TestCase):
    def test_against_python(self):
        for function in CONSTRUCTS:
            scripted = pl.script(function)
            tensors = [(array(x)[0], array(y)[0]) for x, y in POINTS]
            wanted = [float(function(x, y)) for x, y in POINTS]
            gradient = pl.value_and_grad(lambda x, y: pl.asarray(scripted(x, y)), argnums=(0, 1))
            slopes = [[(function(x + h, y) - function(x - h, y)) / (2 * h), (function(x, y + h) - function(x, y - h)) / (2 * h)]
                      for h in [1e-6] for x, y in POINTS]
            program, jitted = pl.trace(gradient)(*tensors[0]), pl.jit(gradient)
            for given, value, slope in zip(tensors, wanted, slopes):
                self.assertAlmostEqual(scripted(*map(float, given)), value, places=12)
                for way in gradient, program, jitted:
                    found, its = way(*given)
                    np.testing.assert_allclose(found, value, rtol=1e-9, err_msg=f"{function.__name__} at {given}")
                    np.testing.assert_allclose(its, slope, rtol=2e-5, atol=1e-6, err_msg=f"{function.__name__} at {given}")
            self.assertEqual(pl.stats(jitted).traces, 1, function.__name__)  # no guards: one record for all
            many = [pl.stack(list(each)) for each in zip(*tensors)]
            found, its = pl.vmap(gradient)(*many)
            np.testing.assert_allclose(found, wanted, rtol=1e-9, err_msg=function.__name__)
            np.testing.assert_allclose(np.stack([np.array(each) for each in its], -1), slopes, rtol=2e-5, atol=1e-6)
            moved = pl.trace(lambda x, y: pl.jvp(lambda *a: pl.asarray(scripted(*a)), (x, y), (x, y))[1])(*tensors[0])
            for given, (x, y), slope in zip(tensors, POINTS, slopes):
                np.testing.assert_allclose(moved(*given), slope[0] * x + slope[1] * y, rtol=5e-5, atol=1e-5)

    def test_slices(self):
        scripted = pl.script(along)
        for rows in ([[1, 2], [-1, 1], [3, 0.5], [2, 2]], [[0.5, 0.1], [0.25, 1], [0.3, 1], [1, 1]]):
            given = array(*rows)
            wanted, slope = pl.value_and_grad(along)(given)
            for way in (pl.trace(pl.value_and_grad(scripted))(given), pl.jit(pl.value_and_grad(scripted)),
                        pl.trace(pl.value_and_grad(scripted))(pl.Spec("f64[4, 2]"))):
                value, found = way(given)
                np.testing.assert_allclose(value, wanted, rtol=1e-12)
                np.testing.assert_allclose(found, slope, rtol=1e-12)
        self.assertEqual(str(pl.trace(scripted)(given)).count(" = scan "), 2)

    def test_ranges_of_tensors(self):
        scripted = pl.script(counted)
        x = array(0.5, -0.25, 1.5, 2)
        program = pl.trace(pl.value_and_grad(scripted))(x, pl.asarray(3))
        for n in 3, 2:
            wanted, slope = pl.value_and_grad(counted)(x, n)
            for way in program, pl.jit(pl.value_and_grad(scripted)):
                value, found = way(x, pl.asarray(n))
                np.testing.assert_allclose(value, wanted, rtol=1e-12)
                np.testing.assert_allclose(found, slope, rtol=1e-12)

    def test_sizes_without_numbers(self):
        @pl.script
        def powers(x):
            total = x[:1] * 0
            for i in range(1, x.shape[0]):
                total = total + x[i:i + 1] if False else total + x[i] ** 2
            if x.shape[0] > 2:
                total = total * 2
            return total

        program = pl.trace(powers)(pl.Spec("f64[n]"))
        for count in 2, 3, 5:
            x = np.linspace(1, 2, count)
            np.testing.assert_allclose(program(pl.asarray(x)), [np.sum(x[1:] ** 2) * (2 if count > 2 else 1)], rtol=1e-12)

    def test_changing_sizes(self):
        @pl.script
        def folded(x):
            while x.shape[0] > 1:
                half = x.shape[0] // 2
                x = pl.sin(x[:half]) + x[half:2 * half]
            return pl.sum(x)

        x = array(0.5, -0.3, 0.8, 0.1, 0.4)
        program = pl.trace(pl.grad(folded))(pl.Spec("f64[n]"))
        np.testing.assert_allclose(program(x), pl.grad(folded)(x), rtol=1e-12)

    def test_recursion(self):
        self.assertEqual(float(factorial(pl.asarray(5.0))), 120)
        self.assertEqual(factorial(5), 120)
        for dtype in pl.f32, pl.f64:
            n = pl.asarray(5.0, dtype)
            program = pl.trace(pl.value_and_grad(factorial))(n)
            self.assertEqual([float(each) for each in program(n)], [120.0, 154.0])
            self.assertEqual(pl.trace(factorial)(n)(n).dtype, dtype)
        self.assertEqual(str(pl.trace(factorial)(n)).count("call @factorial"), 2)
        np.testing.assert_allclose(pl.vmap(factorial)(array(1.0, 3.0, 6.0)), [1, 6, 720])
        for n, wanted in (0, 0.5), (3, -math.sin(0.75) * 1.5), (4, math.sin(math.sin(0.75) * 1.5) + 2):
            self.assertAlmostEqual(is_even(n, pl.asarray(0.5, pl.f64)).item(), wanted)
            program = pl.trace(lambda n, h: is_even(n, h))(pl.asarray(0), pl.asarray(0.5, pl.f64))
            self.assertAlmostEqual(float(program(pl.asarray(n), pl.asarray(0.5, pl.f64))), wanted)
        sort = pl.script(merge_sort)
        globals()["merge_sort"] = sort
        x = np.random.default_rng(0).normal(size=7)
        np.testing.assert_array_equal(pl.trace(sort)(pl.asarray(x))(pl.asarray(x)), np.sort(x))
        np.testing.assert_array_equal(pl.trace(pl.grad(lambda x: pl.sum(sort(x) * pl.arange(7))))(pl.asarray(x))(pl.asarray(x)),
                                      np.argsort(np.argsort(x)))

    def test_methods(self):
        for kind in Model, Derived:
            model = kind(array(0.5)[0])
            for x in 0.3, 2.0, 8.0, -1.0:
                wanted = model.settle(x)
                for way in pl.jit(model.settle), lambda x: pl.trace(lambda m, x: m.settle(x))(model, x)(model, x):
                    self.assertAlmostEqual(float(way(array(x)[0])), float(wanted))
        self.assertEqual((Model.settle.__doc__, Model.settle.__qualname__, Model.settle.__module__), ("Documented.", "Model.settle", __name__))
        self.assertEqual(float(pl.jit(Derived.chosen)(pl.asarray(-2.0))), 2)
        gradient = pl.jit(pl.grad(lambda m, x: m.settle(x)))(model, array(8.0)[0])
        self.assertIsInstance(gradient, Derived)
        self.assertAlmostEqual(float(gradient.rate), 2 * 3 * 8 * 0.25)

    def test_what_is_found_outside(self):
        scale = pl.asarray(2.0)
        level = 1

        @pl.jit
        @pl.script
        def run(x):
            return x * scale if x > level else x - scale

        self.assertEqual(float(run(pl.asarray(3.0))), 6)
        scale, level = pl.asarray(4.0), 5
        self.assertEqual(float(run(pl.asarray(3.0))), -1)
        self.assertEqual(float(pl.jit(pl.script(lambda x, k=2: x * k if x > 0 else x))(pl.asarray(3.0))), 6)

    def test_what_python_decides_is_unrolled(self):
        calls = []

        @pl.script
        def run(x, names, flag):
            kept = []
            for i, name in enumerate(names):
                calls.append(name)
                if flag and i > 0:
                    kept.append(x * i)
            while len(kept) < 3:
                kept.append(x)
            return sum(kept[1:], kept[0]) if kept else x

        self.assertEqual(float(pl.trace(lambda x: run(x, "abc", True))(pl.asarray(2.0))(pl.asarray(2.0))), 8)
        self.assertEqual(calls, ["a", "b", "c"])
        self.assertEqual(run(2.0, "a", False), 6.0)

    def test_generators(self):
        @pl.script
        def squares(x, n):
            for i in range(n):
                if i == 3:
                    return
                yield x ** i

        self.assertEqual(list(squares(2, 5)), [1, 2, 4])
        self.assertEqual(float(pl.trace(lambda x: sum(squares(x, 5)))(pl.asarray(2.0))(pl.asarray(2.0))), 7)

    def test_checks(self):
        @pl.script
        def rooted(x):
            assert x >= 0, "of no negative number"
            if x > 100:
                raise OverflowError("too much")
            return pl.sqrt(x)

        program = pl.trace(rooted)(pl.asarray(4.0))
        self.assertEqual(float(program(pl.asarray(4.0))), 2)
        self.assertEqual(float(pl.grad(rooted)(pl.asarray(4.0))), 0.25)
        with self.assertRaisesRegex(pl.CheckError, "of no negative number"):
            program(pl.asarray(-1.0))
        with self.assertRaisesRegex(pl.CheckError, "OverflowError: too much"):
            program(pl.asarray(101.0))
        with self.assertRaises(OverflowError):
            rooted(pl.asarray(101.0))
        with self.assertRaisesRegex(AssertionError, "of no negative number"):
            rooted(-1.0)

    def test_lines(self):
        text = "def f(x):\n    y = x * 2\n    if y > 1:\n        y = sin(y)\n    return y.nothing\n"
        scripted = pl.script(compiled(text, "lines", sin=pl.sin))
        try:
            pl.trace(scripted)(pl.asarray(1.0))
        except AttributeError as error:
            frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
        self.assertIn(("<lines>", 5), frames)
        text = text.replace(".nothing", "")
        program = str(pl.trace(pl.script(compiled(text, "lines", sin=pl.sin)))(pl.asarray(1.0)))
        for operation, line in ("multiply", 2), ("cond", 3), ("sin", 4):
            self.assertRegex(program, rf"{operation} .*<lines>:{line}\n")

    def test_cost(self):
        """If nothing is recorded, loops and branches are Python's own: none of their rounds calls anything."""
        @pl.script
        def total_of(n):
            total = 0
            for i in range(n):
                if i % 3 == 0:
                    total += i
            return total

        calls = []
        sys.setprofile(lambda frame, event, _: calls.append(event) if event in ("call", "c_call") else None)
        try:
            total = total_of(2000)
        finally:
            sys.setprofile(None)
        self.assertEqual(total, sum(range(0, 2000, 3)))
        self.assertLess(len(calls), 20)


def errors(source, *arguments, **found):
    """Errors when such a function is recorded."""
    function = pl.script(compiled(source, "wrong", pl=pl, **found))
    try:
        pl.trace(function)(*arguments)
    except Exception as error:
        return type(error), str(error)
    raise AssertionError("no error")


class Items(unittest.TestCase):
    def test_set(self):
        @pl.script
        def sorted_by_bubbles(x):
            x = x * 1
            swapped = x[0] == x[0]
            while swapped:
                swapped = x[0] != x[0]
                for i in range(x.shape[0] - 1):
                    if x[i] > x[i + 1]:
                        x[i], (x[i + 1], swapped) = x[i + 1], (x[i], x[0] == x[0])
            x[1:] = x[1:] * 2
            x[..., :1] += 1
            return x

        numbers = np.random.default_rng(3).normal(size=5)
        x = pl.asarray(numbers)
        wanted = np.sort(numbers) * [1, 2, 2, 2, 2] + [1, 0, 0, 0, 0]
        program = pl.trace(sorted_by_bubbles)(x)
        np.testing.assert_array_equal(program(x), wanted)
        np.testing.assert_array_equal(x, numbers)
        np.testing.assert_array_equal(pl.vmap(sorted_by_bubbles)(pl.stack([x, -x]))[0], wanted)

    def test_many_branches(self):
        lines = [f"    if x < {i}:\n        return x * {i}\n" for i in range(6)]
        chain = "".join(f"    {'el' if i else ''}if x < {i}:\n        y = x * {i}\n" for i in range(6)) + "    else:\n        y = x\n    return y\n"
        for text in "".join(lines) + "    return x\n", chain:
            program = pl.trace(pl.script(compiled("def f(x):\n" + text, "many")))(pl.asarray(1.0))
            for x in -1.0, 2.5, 4.5, 50.0:
                self.assertEqual(float(program(pl.asarray(x))), x * next((i for i in range(6) if x < i), 1))


class Errors(unittest.TestCase):
    x = pl.asarray(2.0)

    def expect(self, source, kind, *words, arguments=None, **found):
        given, text = errors(source, *([self.x] if arguments is None else arguments), **found)
        self.assertTrue(issubclass(given, kind), f"{given}: {text}")
        for word in words:
            self.assertIn(word, text)

    def test_one_path(self):
        self.expect("def f(x):\n    if x > 1:\n        y = x\n    return y\n", pl.ValueError,
                    "y has a value on one path only, f32[]", "<wrong>:2", "assign to y before, or on both paths")
        self.expect("def f(x):\n    while x > 1:\n        y = x\n        x = x - 1\n    return y\n", pl.ValueError,
                    "y has a value only if the loop runs", "<wrong>:2", "assign to y before the loop")
        self.expect("def f(x):\n    while x > 1:\n        if x > 2:\n            return x\n        x = x - 1\n", pl.TypeError,
                    "what is returned is")
        fine = pl.script(compiled("def f(x):\n    if x > 1:\n        y = x\n    return x\n", "fine"))
        self.assertEqual(float(pl.trace(fine)(self.x)(self.x)), 2)

    def test_types_of_paths(self):
        self.expect("def f(x):\n    if x > 1:\n        y = x\n    else:\n        y = (x, x)\n    return y\n", pl.TypeError,
                    "y is f32[] on one path, a tuple of f32[], f32[] on the other", "<wrong>:2")
        self.expect("def f(x):\n    y = pl.ones(3) if x > 1 else pl.ones(4)\n    return y\n", pl.TypeError,
                    "the value of the if ... else is f32[3] on one path, f32[4] on the other", "<wrong>:2")
        self.expect("def f(x):\n    if x > 1:\n        return x\n    return 'text'\n", pl.TypeError,
                    "what is returned is f32[] on one path", "'text'")

    def test_carries(self):
        self.expect("def f(x):\n    h = x\n    while h < 9:\n        h = pl.astype(h, pl.f64) * 2\n    return h\n", pl.TypeError,
                    "h is f32[] before a step of the loop and f64[] after it", "<wrong>:3", "astype")
        self.expect("def f(x):\n    h = x\n    while pl.sum(h) < 9:\n        h = pl.stack([h, h])\n    return h\n", pl.TypeError,
                    "h is f32[] before a step of the loop and f32[2] after it", "<wrong>:3")
        self.expect("def f(x):\n    h = (x, x)\n    while h[0] < 9:\n        h = (h[0] * 2,)\n    return h\n", pl.TypeError,
                    "h is a tuple of f32[], f32[] before a step of the loop and a tuple of f32[] after it")

    def test_numbers_become_tensors(self):
        for dtype in pl.f16, pl.f32, pl.f64, pl.c64:
            x = pl.astype(pl.asarray([1.0, 2.0, 3.0]), dtype)
            scripted = pl.script(compiled("def f(x):\n    total, n = 0, 0\n    for row in x:\n        total = total + row\n        n += 1\n"
                                          "    return total, n\n", "widened"))
            total, n = pl.trace(scripted)(x)(x)
            self.assertEqual((total.dtype, complex(total), n.dtype, int(n)), (dtype, 6, pl.i64, 3))
        x = pl.asarray(np.array([1.0, 2.0]))
        scripted = pl.script(compiled("def f(x):\n    total = 0.0\n    while pl.sum(total * x) < 4:\n        total = total + x\n    return total\n",
                                      "broadcast", pl=pl))
        np.testing.assert_array_equal(pl.trace(scripted)(x)(x), [1, 2])
        scripted = pl.script(compiled("def f(x):\n    return x * (0.1 if x > 0 else 0.7)\n", "weak"))
        self.assertEqual(float(pl.trace(scripted)(array(3.0)[0])(array(3.0)[0])), 3.0 * 0.1)

    def test_changed_objects(self):
        loop = "def f(x):\n    out = []\n    while x > 1:\n        out.append(x)\n        x = x - 1\n    return out\n"
        self.expect(loop, pl.TypeError, "out is a list, and is changed where a tensor decides", "(while)", "<wrong>:3", "plait.scan")
        self.expect("def f(x):\n    d = {}\n    if x > 1:\n        d['a'] = x\n    return x\n", pl.TypeError, "d is a dict", "<wrong>:3")
        self.expect("def f(x, box):\n    if x > 1:\n        box.value = x\n    return x\n", pl.TypeError, "an attribute of box", "<wrong>:2",
                    arguments=(self.x, type("Box", (), {"value": 0})()))
        self.expect("def f(x, box):\n    while x > 1:\n        box.value += 1\n        x = x - box.value\n    return x\n", pl.TypeError, "an attribute of box",
                    "<wrong>:2", arguments=(self.x, type("Box", (), {"value": 0})()))
        self.expect("def f(x, box):\n    if x > 1:\n        box['a'][0] = x\n    return x\n", pl.TypeError, "box['a'][...] is assigned to",
                    "<wrong>:3", arguments=(self.x, {"a": pl.ones(2)}))
        self.expect("kept = []\ndef f(x):\n    for row in x:\n        kept.append(row)\n    return x\n", pl.TypeError, "kept is a list",
                    arguments=(pl.ones(3),))
        self.expect("def f(x):\n    out = []\n    def add(v):\n        out.append(v)\n    if x > 1:\n        add(x)\n    return x\n", pl.TypeError,
                    "out is a list")

    def test_what_cannot_be(self):
        self.expect("def f(x):\n    if pl.stack([x, x]) > 1:\n        return x\n    return -x\n", pl.TypeError, "a condition is bool[2]",
                    "<wrong>:2", "plait.any")
        self.expect("def g(x):\n    if x > 1:\n        yield x\n\ndef f(x):\n    return list(script(g)(x))\n", pl.TypeError, "there is yield",
                    "<wrong>:2", script=pl.script)
        self.expect("def f(x):\n    if x > 1 and (y := x * 2) > 3:\n        return y\n    return x\n", pl.TypeError,
                    "an assignment inside of an expression", "<wrong>:2")
        self.expect("def f(x):\n    for row in x + 1.0 if x > 1 else x:\n        x = x + row\n    return x\n", pl.TypeError, "no first axis")
        self.expect("def f(x):\n    try:\n        pl.ones(2) @ pl.ones(3)\n    except ValueError:\n        if x > 1:\n            raise\n"
                    "    return x\n", pl.TypeError, "whether this raise is reached", "<wrong>:6")
        with self.assertRaises(UnboundLocalError):
            pl.trace(pl.script(compiled("def f(x):\n    x = x + y\n    y = x\n    return x\n", "unbound")))(self.x)

        self.expect("def f(x):\n    match x:\n        case 1:\n            return x\n    return -x\n", pl.ValueError, "has no value", "<wrong>:3")

    def test_other_objects_are_refused(self):
        for given in 3, pl.jit(lambda x: x), print:
            with self.assertRaisesRegex(pl.TypeError, "script: expected a function, not a"):
                pl.script(given)
        with self.assertRaisesRegex(pl.ValueError, "source of f is not available"):
            space = {}
            exec("def f(x):\n    return x\n", space)
            pl.script(space["f"])

        async def later():
            return 1

        with self.assertRaisesRegex(pl.TypeError, "later is async"):
            pl.script(later)
        once = pl.script(branches)
        self.assertIs(pl.script(once), once)


if __name__ == "__main__":
    unittest.main()
