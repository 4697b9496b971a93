"""The assignment problem, compared with optax's and SciPy's."""

import unittest

import jax
import numpy as np
import optax
import plait as pl
from scipy.optimize import linear_sum_assignment

jax.config.update("jax_enable_x64", True)

RANDOM = np.random.default_rng(7)
hungarian = pl.optim.hungarian_algorithm
INF, NAN = float("inf"), float("nan")


def cost_of(cost, pair):
    return cost[np.asarray(pair[0]), np.asarray(pair[1])].sum()


class Hungarian(unittest.TestCase):
    def test_as_in_optax(self):
        for shape in ((1, 1), (1, 4), (4, 1), (2, 2), (3, 5), (5, 3), (9, 9), (6, 13), (13, 6), (30, 30)):
            cost = RANDOM.normal(size=shape)
            wanted = optax.assignment.hungarian_algorithm(jax.numpy.asarray(cost))
            for way in lambda f: f, pl.jit:
                with self.subTest(shape):
                    found = way(hungarian)(pl.asarray(cost))
                    for one, other in zip(found, wanted):
                        self.assertEqual(one.dtype, pl.i64)
                        np.testing.assert_array_equal(one, other)

    def test_costs_of_many_problems(self):
        """Ties have many solutions, and all of them the same cost."""
        costs = [RANDOM.integers(0, 4, size=RANDOM.integers(1, 8, 2)) for _ in range(60)]
        costs += [RANDOM.integers(-5, 5, size=(5, 5)).astype(np.float32), RANDOM.integers(0, 2, size=(4, 6)).astype(bool), np.zeros((5, 3))]
        for cost in costs:
            found = hungarian(pl.asarray(cost))
            self.assertEqual(len(set(found[0].tolist())), min(cost.shape))
            self.assertEqual(len(set(found[1].tolist())), min(cost.shape))
            self.assertEqual(cost_of(cost, found), cost_of(cost, linear_sum_assignment(cost)))

    def test_forbidden_pairs(self):
        for _ in range(40):
            cost = np.where(RANDOM.random((5, 6)) < 0.4, INF, RANDOM.normal(size=(5, 6)))
            try:
                wanted = linear_sum_assignment(cost)
            except ValueError:
                with self.assertRaisesRegex(pl.CheckError, "too many costs are inf"):
                    hungarian(pl.asarray(cost))
                continue
            self.assertAlmostEqual(cost_of(cost, hungarian(pl.asarray(cost))), cost_of(cost, wanted), 12)

    def test_many_together(self):
        costs = RANDOM.normal(size=(7, 4, 6))
        for many in pl.vmap(hungarian), pl.jit(pl.vmap(hungarian)), pl.vmap(pl.jit(hungarian)):
            i, j = many(pl.asarray(costs))
            for k, cost in enumerate(costs):
                wanted = hungarian(pl.asarray(cost))
                np.testing.assert_array_equal(i[k], wanted[0])
                np.testing.assert_array_equal(j[k], wanted[1])
        with self.assertRaises(pl.CheckError):
            pl.vmap(hungarian)(pl.asarray(np.full((2, 3, 3), INF)))

    def test_gradients_of_the_cost(self):
        cost = pl.asarray(RANDOM.normal(size=(4, 5)))
        found = pl.jit(pl.grad(lambda cost: pl.sum(cost[hungarian(cost)] ** 2)))(cost).numpy()
        wanted = np.zeros((4, 5))
        i, j = (np.asarray(each) for each in hungarian(cost))
        wanted[i, j] = 2 * cost.numpy()[i, j]
        np.testing.assert_allclose(found, wanted)

    def test_without_rows_or_columns(self):
        for shape in (0, 3), (3, 0), (0, 0):
            for found in hungarian(pl.zeros(shape)):
                self.assertEqual((found.shape, found.dtype), ((0,), pl.i64))

    def test_what_is_refused(self):
        for call, error, words in (
                (lambda: hungarian(pl.ones(3)), pl.ShapeError, r"the costs are \[3\], expected \[rows, columns\]"),
                (lambda: hungarian(pl.ones((2, 3, 3))), pl.ShapeError, r"the costs are \[2, 3, 3\][\s\S]*plait.vmap"),
                (lambda: hungarian(pl.tensor([[1j]])), pl.TypeError, "the costs are c64, expected real numbers"),
                (lambda: hungarian(pl.tensor([[NAN, 1.0]])), pl.CheckError, "a cost is NaN or -inf"),
                (lambda: pl.jit(hungarian)(pl.tensor([[-INF, 1.0]])), pl.CheckError, "a cost is NaN or -inf")):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                call()


if __name__ == "__main__":
    unittest.main()
