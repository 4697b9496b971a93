"""A training step of DLRM (Naumov et al., 2019), beside PyTorch's and JAX's: eight tables of 100,000 x 64, with sparse gradients.

    PYTHONPATH=build/bench/python .venv/bin/python bench/models/recommender.py --rounds 1

A sample has 13 numbers, and a bag of 26 ids for each table; the batch is 128. MLPs of (13, 512, 256, 64) and (100, 512, 256, 1) are before and after
the products of all pairs of vectors. The optimizer is SGD without momentum. PyTorch has EmbeddingBag(sparse=True). In `dlrm` Plait has EmbeddingBag
and SGD as they are, and JAX differentiates by the tables; in `dlrm-rows` both differentiate by the rows that were read, and add to these rows of the
tables, which are donated. THREADS=1 in the environment selects one thread.
"""

import functools

import blocks
import sides
import steps

TABLES, ROWS, WIDTH, BAG, BATCH, RATE = 8, 100_000, 64, 26, 128, 0.1
BOTTOM, TOP = (13, 512, 256, 64), (64 + 36, 512, 256, 1)
PAIRS = [(i, j) for i in range(TABLES + 1) for j in range(i)]


def dlrm_of(nn, module, functions, call):
    """The class of the model in PyTorch or in Plait. `rows` [batch, tables, width], the sums of the bags, may be given."""
    concat, stack, relu, bag = functions

    def mlp(sizes):
        return nn.ModuleList([nn.Linear(*pair) for pair in zip(sizes, sizes[1:])])

    class DLRM(module):
        def __init__(self):
            super().__init__()
            self.bottom, self.top, self.tables = mlp(BOTTOM), mlp(TOP), nn.ModuleList([bag() for _ in range(TABLES)])

        def result(self, x, ids, rows=None):
            for layer in self.bottom:
                x = relu(layer(x))
            rows = stack([table(ids[i]) for i, table in enumerate(self.tables)], 1) if rows is None else rows
            vectors = concat([x[:, None], rows], 1)
            products = vectors @ vectors.swapaxes(1, 2)
            x = concat([x, stack([products[:, i, j] for i, j in PAIRS], 1)], 1)
            for layer in self.top[:-1]:
                x = relu(layer(x))
            return self.top[-1](x)[:, 0]

    setattr(DLRM, call, DLRM.result)
    return DLRM


def torch_dlrm():
    import torch
    from torch import nn

    def bag():
        table = nn.EmbeddingBag(ROWS, WIDTH, mode="sum", sparse=True)
        table.forward = torch.compiler.disable(table.forward)  # the compiler has no sparse gradients
        return table

    return dlrm_of(nn, nn.Module, (torch.cat, torch.stack, torch.relu, bag), "forward")()


def torch_loss(model, x, ids, y):
    from torch.nn import functional

    return functional.binary_cross_entropy_with_logits(model(x, ids), y)


def plait_dlrm():
    import plait as pl

    functions = pl.concat, pl.stack, pl.relu, lambda: pl.nn.EmbeddingBag(ROWS, WIDTH, mode="sum")
    return dlrm_of(pl.nn, pl.Module, functions, "__call__")()


def plait_loss(model, x, ids, y):
    import plait as pl

    return pl.binary_cross_entropy_with_logits(model(x, ids), y, reduction="mean")


def plait_rows(data):
    """By the rows that were read."""
    import numpy as np
    import plait as pl

    state, inputs = steps.parted(data)
    model, (x, ids, y), loss = pl.nn.load_state(plait_dlrm(), state), map(pl.asarray, inputs), None
    tables = [table.weight for table in model.tables]
    model.tables = pl.nn.ModuleList([])

    def loss_of(model, rows, x, y):
        return pl.binary_cross_entropy_with_logits(model(x, None, pl.stack([pl.sum(each, axis=1) for each in rows], 1)), y, reduction="mean")

    def step(model, tables, x, ids, y):
        rows = [table[ids[i]] for i, table in enumerate(tables)]
        loss, (slopes, rows) = pl.value_and_grad(loss_of, argnums=(0, 1))(model, rows, x, y)
        tables = [table.at[ids[i]].add(-RATE * rows[i]) for i, table in enumerate(tables)]
        return pl.tree.map(lambda w, g: w - RATE * g, model, slopes), tables, loss

    run = pl.jit(step, donate=(0, 1))

    def go_on():
        nonlocal model, tables, loss
        model, tables, loss = run(model, tables, x, ids, y)
        loss = loss.item()

    def results():
        named = pl.nn.state(model) | {f"tables.{i}.weight": table for i, table in enumerate(tables)}
        return {"loss": loss, **{f"weights.{name}": np.asarray(value) for name, value in named.items()}}

    return go_on, results


def jax_loss(w, rows, x, y):
    import jax
    import jax.numpy as jnp

    for i in range(3):
        x = jax.nn.relu(blocks.dense(w, f"bottom.{i}", x))
    vectors = jnp.concatenate([x[:, None], rows], 1)
    products = vectors @ vectors.swapaxes(1, 2)
    x = jnp.concatenate([x, products[:, [i for i, _ in PAIRS], [j for _, j in PAIRS]]], 1)
    for i in range(2):
        x = jax.nn.relu(blocks.dense(w, f"top.{i}", x))
    logits = blocks.dense(w, "top.2", x)[:, 0]
    return (jax.nn.softplus(logits) - y * logits).mean()


def jax_dense_loss(w, statistics, x, ids, y):
    import jax.numpy as jnp

    return jax_loss(w, jnp.stack([w[f"tables.{i}.weight"][ids[i]].sum(1) for i in range(TABLES)], 1), x, y), statistics


def jax_rows(data):
    """By the rows that were read."""
    import jax
    import jax.numpy as jnp

    state, inputs = steps.parted(data)
    (x, ids, y), loss, weights = map(jnp.asarray, inputs), None, steps.for_jax(state)
    tables = [weights.pop(f"tables.{i}.weight") for i in range(TABLES)]

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def run(weights, tables, x, ids, y):
        rows = jnp.stack([table[ids[i]] for i, table in enumerate(tables)])
        loss, (slopes, rows) = jax.value_and_grad(lambda w, rows: jax_loss(w, rows.sum(2).swapaxes(0, 1), x, y), (0, 1))(weights, rows)
        tables = [table.at[ids[i]].add(-RATE * rows[i]) for i, table in enumerate(tables)]
        return jax.tree.map(lambda w, g: w - RATE * g, weights, slopes), tables, loss

    def go_on():
        nonlocal weights, tables, loss
        weights, tables, total = run(weights, tables, x, ids, y)
        jax.block_until_ready((weights, tables))
        loss = float(total)

    def results():
        return {"loss": loss, **steps.from_jax(weights | {f"tables.{i}.weight": table for i, table in enumerate(tables)})}

    return go_on, results


def data():
    import torch

    ids, state = torch.randint(ROWS, (TABLES, BATCH, BAG)), steps.state_of(torch_dlrm())
    for i in range(TABLES):
        state[f"weights.tables.{i}.weight"] *= 0.1  # so that sums of 26 are of the size of the other vectors
    return state | {"x": torch.randn(BATCH, 13).numpy(), "ids": ids.numpy(), "y": torch.randint(2, (BATCH,)).float().numpy()}


WITH_LAYERS = steps.training(torch_dlrm, torch_loss, plait_dlrm, plait_loss, jax_dense_loss, RATE, 0.0)
CASES = {"dlrm": sides.Case(data, WITH_LAYERS), "dlrm-rows": sides.Case(data, WITH_LAYERS | {"plait": plait_rows, "jax": jax_rows})}

if __name__ == "__main__":
    sides.main(__doc__, __file__, CASES)
