"""plait.shard_map: trees of specs, modules, derivatives and errors on lanes, and the same programs on processes."""

import os
import unittest

import numpy as np
import plait as pl
import plait.distributed as dist

import ranks
from ranks import expect_error

P = pl.P
ROWS = np.random.default_rng(0).normal(size=(8, 3)).astype("f4")


class Model(pl.Module):
    def __init__(self):
        self.w = pl.asarray(np.linspace(-1, 1, 3, dtype="f4"))
        self.b = pl.zeros(())

    def __call__(self, batch):
        return pl.tanh(batch["x"] @ self.w + self.b) - batch["y"]


def loss(model, batch):
    return pl.all_reduce_mean(pl.mean(model(batch) ** 2), "data")


def batch_of(rows):
    return {"x": pl.asarray(rows), "y": pl.asarray(rows[:, 0])}


def step_on(mesh):
    """A step of training: the loss, and the model with another weight."""
    sharded = pl.shard_map(pl.value_and_grad(loss), mesh=mesh, in_specs=(P(), P("data")), out_specs=(P(), P()))

    def step(model, batch):
        value, gradient = sharded(model, batch)
        return value, pl.tree.map(lambda w, g: w - 0.1 * g, model, gradient)

    return step


def trained(mesh, batch):
    model, losses, step = Model(), [], step_on(mesh)
    for _ in range(5):
        value, model = step(model, batch)
        losses.append(value.item())
    return losses, model.w.numpy()


class OnLanes(unittest.TestCase):
    def setUp(self):
        self.mesh = pl.Mesh({"data": 4})

    def test_training_is_that_of_the_whole(self):
        losses, w = trained(self.mesh, batch_of(ROWS))
        model = Model()
        whole = pl.value_and_grad(lambda model, batch: pl.mean(model(batch) ** 2))
        for expected in losses:
            value, gradient = whole(model, batch_of(ROWS))
            self.assertAlmostEqual(value.item(), expected, places=5)
            model = pl.tree.map(lambda w, g: w - 0.1 * g, model, gradient)
        np.testing.assert_allclose(w, model.w.numpy(), rtol=1e-5)

    def test_around_and_within_other_transforms(self):
        x = pl.asarray(ROWS)
        f = pl.shard_map(lambda x: pl.all_reduce_sum(pl.sum(x ** 3), "data"), mesh=self.mesh, in_specs=P("data"), out_specs=P())
        for way in (pl.jit(pl.grad(f)), pl.grad(pl.jit(f)), lambda x: pl.vmap(pl.grad(f))(x[None])[0], pl.grad(pl.remat(f))):
            np.testing.assert_allclose(way(x).numpy(), 3 * ROWS ** 2, rtol=1e-5)
        np.testing.assert_allclose(pl.jvp(f, (x,), (x,))[1].item(), 3 * np.sum(ROWS ** 3), rtol=1e-4)

    def test_a_module_is_the_same_at_all_places(self):
        model = Model()
        sharded = pl.shard_map(model, mesh=self.mesh, in_specs=P("data"), out_specs=P("data"))
        np.testing.assert_allclose(sharded(batch_of(ROWS)).numpy(), model(batch_of(ROWS)).numpy(), rtol=1e-6)

    def test_a_decorator_and_results_that_differ(self):
        @pl.shard_map(mesh=self.mesh, in_specs=P("data"), out_specs=P(), check=False)
        def first(x):
            return pl.sum(x)

        self.assertAlmostEqual(first(pl.asarray(ROWS)).item(), ROWS[:2].sum(), places=5)

    def test_refusals(self):
        x = pl.asarray(ROWS)

        def with_specs(in_specs, out_specs=P(), mesh=self.mesh):
            return lambda: pl.shard_map(lambda x: x, mesh=mesh, in_specs=in_specs, out_specs=out_specs)(x)

        for call, expected in (
                (with_specs(P("data")), "differs from sample to sample"),
                (with_specs(P(None, "data")), r"dimension 1 of argument 0, f32\[8, 3\], must be divisible by 4, the size of axis `data`"),
                (with_specs(P("model")), "names axis `model`, but the mesh has data"),
                (with_specs(P("data", "data")), "names axis `data` twice"),
                (with_specs((P(), P())), "in_specs=.* differs in structure"),
                (with_specs(P(), mesh={"data": 4}), r"shard_map: mesh is .*\n  hint: plait.Mesh"),
                (lambda: pl.Mesh([4]), "Mesh: axes is .*expected a dict"),
                (lambda: pl.Mesh({"data": 4.0}), "Mesh: axes: expected a name and a size"),
                (with_specs(P(), mesh=pl.Mesh({"data": 0})), "axis `data` has a size of 0, expected 1 or more"),
                (lambda: pl.P(3), "P: expected a name")):
            with self.subTest(expected), self.assertRaisesRegex(pl.Error, f"(?s){expected}"):
                call()

    def test_names(self):
        self.assertEqual(repr(P("data", None, ("a", "b"))), "P('data', None, ('a', 'b'))")
        mesh = pl.Mesh({"a": 2, "b": 3})
        self.assertEqual((repr(mesh), mesh.shape, mesh.axis_names), ("Mesh(a=2, b=3)", {"a": 2, "b": 3}, ("a", "b")))


def on_ranks():
    dist.init_process_group()
    rank, size = dist.get_rank(), dist.get_world_size()
    mesh = dist.mesh({"data": size})
    losses, w = trained(mesh, batch_of(np.split(ROWS, size)[rank]))
    expected, weights = trained(pl.Mesh({"data": size}), batch_of(ROWS))
    assert losses == expected, (losses, expected)
    np.testing.assert_array_equal(w, weights)
    both = dist.mesh({"a": 2, "b": size // 2})
    own = pl.shard_map(lambda x: x + 10 * pl.axis_index("a") + pl.axis_index("b"), mesh=both, in_specs=P("a"), out_specs=P(("a", "b")))
    assert own(pl.zeros(1)).tolist() == [10 * (rank // (size // 2)) + rank % (size // 2)]
    sums = pl.shard_map(lambda x: pl.all_reduce_sum(x, "b"), mesh=both, in_specs=P(("a", "b")), out_specs=P("a"))
    gradient = pl.grad(lambda x: pl.sum(sums(x) ** 2))(pl.ones(2))
    assert gradient.tolist() == [2 * (size // 2)] * 2, gradient
    expect_error(pl.TypeError, ["a program is being recorded"], lambda: pl.jit(sums)(pl.ones(1)))
    expect_error(pl.ValueError, ["places for a group of"], lambda: dist.mesh({"data": size + 1}))
    dist.destroy_process_group()


class OnProcesses(unittest.TestCase):
    def test_it_gives_the_same_bits(self):
        for size in 2, 4:
            ranks.run(self, os.path.abspath(__file__), "on_ranks", size)


if __name__ == "__main__":
    ranks.main(globals())
