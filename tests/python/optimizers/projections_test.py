"""Projections, compared with optax's: values, gradients, and jitted."""

import unittest

import jax
import numpy as np
import plait as pl
from optax import projections

jax.config.update("jax_enable_x64", True)

RANDOM = np.random.default_rng(6)


def tree_of(scale=1.0):
    return {"matrix": scale * RANDOM.normal(size=(4, 3)), "vector": scale * RANDOM.normal(size=5), "number": np.array(0.7 * scale)}


A, LOWER = tree_of(), tree_of(0.3)
UPPER = {name: each + 0.4 for name, each in LOWER.items()}
CASES = {
    "non_negative": [()], "box": [(-0.3, 0.4), (LOWER, UPPER)], "hypercube": [(), (0.5,)], "linf_ball": [(), (0.5,)], "simplex": [(), (3.0,)],
    "l1_sphere": [(), (30.0,)], "l1_ball": [(), (1000.0,)], "l2_sphere": [(), (2.0,)], "l2_ball": [(), (1000.0,)], "vector": [(A,)],
    "hyperplane": [(A, 0.4)], "halfspace": [(A, 0.4), (A, 1e3), (A, -5.0)],
}


def tensors(value):
    return {name: pl.asarray(each) for name, each in value.items()} if isinstance(value, dict) else value


def theirs_of(name):
    """optax's; those that clip take numbers as limits of single arrays only."""
    function = getattr(projections, f"projection_{name}")
    if name not in ("box", "hypercube"):
        return function
    of = lambda each, key: each[key] if isinstance(each, dict) else each  # noqa: E731
    return lambda tree, *limits: {key: function(each, *(of(limit, key) for limit in limits)) for key, each in tree.items()}


class Projections(unittest.TestCase):
    def expect_alike(self, found, wanted):
        for key in wanted:
            self.assertEqual(found[key].dtype, pl.f64)
            np.testing.assert_allclose(found[key], wanted[key], rtol=1e-11, atol=1e-12)

    def test_as_in_optax(self):
        start, cotangent = tree_of(), tree_of()
        for name, calls in CASES.items():
            ours, theirs = getattr(pl.optim, f"projection_{name}"), theirs_of(name)
            for arguments in calls:
                own = [tensors(each) for each in arguments]
                slopes = lambda f, rest: lambda x: sum((f(x, *rest)[key] * cotangent[key]).sum() for key in x)  # noqa: E731, B023
                wanted = theirs(start, *arguments), jax.grad(slopes(theirs, arguments))({key: jax.numpy.asarray(each) for key, each in start.items()})
                for way in lambda f: f, pl.jit:
                    with self.subTest(name, arguments=arguments):
                        self.expect_alike(way(lambda x: ours(x, *own))(tensors(start)), wanted[0])  # noqa: B023
                        self.expect_alike(way(pl.grad(slopes(ours, own)))(tensors(start)), wanted[1])

    def test_none_of_optax_is_missing(self):
        names = {name for name in dir(projections) if name.startswith("projection_")}
        self.assertEqual(names, {f"projection_{name}" for name in CASES})

    def test_models(self):
        """Buffers stay, and a weight at two places counts once."""
        model = pl.nn.BatchNorm1d(3)
        made = pl.optim.projection_l2_ball(model)
        self.assertEqual(made.running_var.tolist(), [1.0] * 3)
        self.assertAlmostEqual(pl.sum(made.weight**2).item(), 1.0, 6)
        weight = pl.tensor([3.0, 4.0])
        tied = pl.optim.projection_l2_sphere({"a": weight, "b": weight})
        np.testing.assert_allclose(tied["b"], [0.6, 0.8], rtol=1e-6)

    def test_other_trees_are_refused(self):
        with self.assertRaisesRegex(pl.ValueError, "optim.projection_vector: a has no 'w'"):
            pl.optim.projection_vector({"w": pl.ones(2)}, {"v": pl.ones(2)})


if __name__ == "__main__":
    unittest.main()
