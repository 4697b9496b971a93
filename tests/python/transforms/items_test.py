"""Numbers of tensors in jitted functions: every expression has the eager result, with the same type."""

import math
import unittest

import numpy as np
import plait as pl

# Expressions of f, a float; i, an int; b, a bool; and of tensors x of f32, h of f16, n of i32, k of i64.
EXPRESSIONS = """
f
i
b
[f, (i, {"b": b})]
x * f
f * x
x + i
i - x
x / i
b * x
x / f
f // x
x % f
x ** i
h * f
h + i
n + i
n * f
n / i
i % n
k * i
k + f
x > f
f <= x
n == i
b == b
x * (f + 1)
x * (f * f - 2.5 / f)
x * (1 - f) * (i * f)
x * -f + abs(f) + (+f)
f + i
f / 3
i / 3
i // 2
i * 2**70
i ** 30
f ** 2
f ** 0.5
2 ** i
f % 2
-i % 5
divmod(i, 3)
divmod(7.5, f)
i << 3 | 1
~i & 255
b + b
b and f
not b
f > 0.1
f == 0.1
f != i
i > 2.5
2 < i
i == 2**80
f < float("inf")
f == None
f == "f"
f in (0.1, 3.0)
1 / f
1 / i
f / (f - f)
i / (i - i)
i // 0
i % 0
x / (i - i)
round(f, 1)
round(i)
math.floor(f)
math.sqrt(abs(f))
math.exp(f) + math.trunc(f)
complex(f, i)
f * 2j
f.is_integer()
i.bit_length()
max(f, i)
min([f, i, 2])
sum([f, f, i])
sorted([f, i, 2])
float(f) + int(i)
[0] * i
list(range(i))
x[i]
x[:i]
x[b]
x[[i, 0]]
str(i) + f"{f:.3f}"
{i: 1}[i]
pl.full((i,), f)
pl.full((2,), i)
pl.where(x > f, f, i)
pl.maximum(x, f)
pl.clip(x, 0, f)
pl.asarray(f)
pl.asarray(i)
pl.asarray(b)
pl.asarray(f, pl.f16)
pl.asarray([f, 2.0, i])
pl.sum(x, axis=0, keepdims=b)
pl.roll(x, i, axis=0)
pl.softmax(x * f)
pl.asarray(np.asarray(f))
pl.asarray(np.float64(2) * f)
pl.asarray(np.arange(i) * f)
pl.random.key(i)
isinstance(f, numbers.Number)
x.at[i].set(f)
""".strip().splitlines()

VALUES = [(3.25, 2, True), (0.1, 3, False), (-1.5, 1, True), (3.25, 2, True), (1e300, 2, False)]


def outcome(function, *arguments):
    try:
        return function(*arguments)
    except Exception as error:  # any error, which must be the same
        return type(error), str(error).split(" at ")[0] if isinstance(error, pl.Error) else str(error)


def text_of(value):
    """The value with its type, to the last bit."""
    if isinstance(value, pl.Tensor):
        numbers = value.numpy()
        return f"{value.dtype}{list(value.shape)} {numbers.tobytes()} {numbers}"
    if isinstance(value, np.ndarray):
        return f"NumPy's {value.dtype}{value.shape} {value.tolist()}"
    if isinstance(value, (list, tuple)):
        return f"{type(value)}: {[text_of(each) for each in value]}"
    if isinstance(value, dict):
        return f"{ {name: text_of(each) for name, each in value.items()} }"
    return f"{type(value)} {value!r}"


X = pl.asarray(np.array([0.5, -2.0, 3.0], np.float32))
TENSORS = {"x": X, "h": X.astype(pl.f16), "n": X.astype(pl.i32) + 5, "k": X.astype(pl.i64) + 5}


def function_of(expression):
    import numbers

    compute = eval(f"lambda f, i, b, x, h, n, k: {expression}", {"pl": pl, "np": np, "math": math, "numbers": numbers})

    def function(f, i, b, tensors):
        return compute(f.item(), i.item(), b.item(), **tensors)

    return function


class Items(unittest.TestCase):
    def test_every_expression(self):
        for expression in EXPRESSIONS:
            function = function_of(expression)
            jitted = pl.jit(function, backend="evaluator")  # bitwise equal to eager code
            for dtype in (pl.f64, pl.f32):
                for f, i, b in VALUES:
                    given = (pl.asarray(f, pl.f64).astype(dtype), pl.asarray(i), pl.asarray(b), TENSORS)
                    with self.subTest(expression=expression, f=f, i=i, b=b, dtype=str(dtype)):
                        with np.errstate(all="ignore"):
                            eager, found = outcome(function, *given), outcome(jitted, *given)
                        self.assertEqual(text_of(found), text_of(eager))

    def test_they_are_constant_to_derivatives(self):
        def f(x, y):
            return pl.sum(x * y.item() + y * (2 * x[0].item()) - pl.sum(x).item())

        x, y = pl.asarray([1.0, 2.0]), pl.asarray(3.0)
        expected = [[3.0, 3.0], 4.0]
        for way in (pl.grad(f, argnums=(0, 1)), pl.grad(pl.jit(f), argnums=(0, 1)), pl.jit(pl.grad(f, argnums=(0, 1)))):
            for _ in range(2):
                gx, gy = way(x, y)
                self.assertEqual([gx.numpy().tolist(), gy.item()], expected)
        _, slope = pl.jvp(pl.jit(f), (x, y), (x, y))
        self.assertEqual(slope.item(), pl.jvp(f, (x, y), (x, y))[1].item())

    def test_floats_beside_tensors_are_recorded(self):
        f = pl.jit(lambda x: x / (pl.max(x).item() * 2 + 1))
        for scale in (1.0, 2.0, 3.0):
            x = X * scale
            self.assertEqual(f(x).numpy().tolist(), (x / (pl.max(x).item() * 2 + 1)).numpy().tolist())
        self.assertEqual((f.stats().traces, f.stats().host_runs), (1, 0))

    def test_kept_ones_are_numbers_afterwards(self):
        kept = []

        @pl.jit
        def f(x):
            kept.append(pl.sum(x).item())
            return x * 2

        f(X)
        self.assertEqual(float(kept[0]), 1.5)
        self.assertTrue(kept[0] > 1)
        self.assertEqual(kept[0] + 1, 2.5)


if __name__ == "__main__":
    unittest.main()
