"""Random models within less memory: the results are those without a budget, but for rounding, and no more memory is needed."""

import random
import unittest

import numpy as np
import plait as pl

SEEDS = 40
RIGHT = 1e-7


def layer(draw, a, b, w, scale):
    """One of several ways to compute a value from two others."""
    def normal(axis):
        centred = a - pl.mean(a, axis=axis, keepdims=True)
        return centred / pl.sqrt(pl.mean(centred * centred, axis=axis, keepdims=True) + 0.1) * scale

    ways = [lambda: a @ w, lambda: a @ w, lambda: pl.tanh(a) * scale, lambda: pl.gelu(a) + b, lambda: pl.softmax(a, axis=-1) * 3, lambda: normal(-1),
            lambda: normal(0), lambda: pl.relu(a) - b[::-1], lambda: pl.where(a > b, a, b * scale), lambda: pl.sort(a, axis=-1),
            lambda: pl.sin(a) * pl.sum(a * a, axis=1, keepdims=True), lambda: pl.concat([a[:, 1:], b[:, :1]], axis=1),
            lambda: pl.softmax(a @ a.T / 4, axis=-1) @ b]
    return draw.choice(ways)()


def model_of(seed):
    """The gradient of a random model, and its arguments."""
    draw = random.Random(seed)
    rows, width, layers = draw.choice([200, 256]), draw.choice([4, 16]), draw.randrange(3, 10)

    def loss(weights, scales, x):
        draw = random.Random(seed + 1)
        values = [x]
        for _ in range(layers):
            a, b = draw.choice(values[-3:]), draw.choice(values)
            for _ in range(draw.randrange(1, 4)):
                a = layer(draw, a, b, draw.choice(weights), draw.choice(scales))
            values.append(a / (1 + pl.mean(pl.abs(a))))
        return pl.mean(values[-1] ** 2) + 0.1 * pl.mean(values[layers // 2]), values[layers // 3]

    numbers = np.random.default_rng(seed)
    weights = [pl.asarray(numbers.normal(size=(width, width)) / width**0.5) for _ in range(3)]
    scales = [pl.asarray(numbers.normal(size=width)) for _ in range(2)]
    return pl.value_and_grad(loss, argnums=(0, 1), has_aux=True), (weights, scales, pl.asarray(numbers.normal(size=(rows, width))))


def expect_same_within(seed, budgets=(0.05, 0.5)):
    function, arguments = model_of(seed)
    wanted = pl.tree.leaves(pl.jit(function)(*arguments))
    program = pl.trace(function)(*arguments)
    for budget in budgets:
        found = pl.tree.leaves(pl.jit(function, memory_budget=budget)(*arguments))
        for i, (a, b) in enumerate(zip(found, wanted)):
            np.testing.assert_allclose(np.asarray(a), np.asarray(b), RIGHT, RIGHT, err_msg=f"seed {seed}, budget {budget}, result {i}")
        if program.memory(memory_budget=budget).temporaries > program.memory().temporaries:
            raise AssertionError(f"seed {seed}: with the budget {budget} more memory is needed")


class MemoryBudget(unittest.TestCase):
    def test_random_models(self):
        for seed in range(SEEDS):
            with self.subTest(seed):
                expect_same_within(seed)

    def test_invalid_budgets(self):
        for budget, error in ((0, pl.ValueError), (-1.5, pl.ValueError), (float("nan"), pl.ValueError), (True, pl.TypeError), ("1 GB", pl.TypeError)):
            with self.subTest(budget), self.assertRaisesRegex(error, "memory_budget is"):
                pl.jit(lambda x: x, memory_budget=budget)
            with self.subTest(budget), self.assertRaisesRegex(error, "memory_budget is"):
                pl.trace(lambda x: x)(1.0).memory(memory_budget=budget)

    def test_numbers_of_numpy_and_large_ones(self):
        for budget in (np.float32(0.5), np.int64(10**9), 10**400, float("inf")):
            self.assertEqual(pl.jit(lambda x: x + 1, memory_budget=budget)(pl.tensor(1.0)).item(), 2.0)


if __name__ == "__main__":
    unittest.main()
