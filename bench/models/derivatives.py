"""Derivatives of an MLP, beside PyTorch's and JAX's: Hessian-vector products, and gradients of each sample in bf16.

    PYTHONPATH=build/bench/python .venv/bin/python bench/models/derivatives.py hvp hvp-bf16 per-sample-bf16 --rounds 1

The MLP of (784, 128, 128, 10) has tanh, and the batch is 32. `hvp` multiplies the Hessian of its loss by a vector, forward over reverse. In bf16
weights are f32, and products bf16. `per-sample-bf16` is `per_sample_grad` of compare.py (which has it in f32): gradients of 256 samples, of an MLP of
(256, 256, 10). A training step of an MLP is `mlp_train` of compare.py, in both. THREADS=1 in the environment selects one thread.
"""

import functools

import sides
import steps

SIZES = {"hvp": (784, 128, 128, 10), "per-sample": (256, 256, 10)}
BATCHES = {"hvp": 32, "per-sample": 256}


def names_of(sizes):
    return [f"{2 * i}" for i in range(len(sizes) - 1)]


def applied(w, sizes, tanh, linear, x):
    for name in names_of(sizes):
        x = linear(x, w[f"{name}.weight"], w[f"{name}.bias"])
        x = x if name == names_of(sizes)[-1] else tanh(x)
    return x


def torch_derivatives(kind, compiles, dtype, data):
    import torch
    from torch.func import grad, jvp, vmap
    from torch.nn import functional

    state, (x, y, *vector) = steps.parted({name: torch.from_numpy(value) for name, value in data.items()})
    vector, found = dict(zip(state, vector)), None

    def loss_of(w, x, y):
        with torch.autocast("cpu", torch.bfloat16, enabled=dtype == "bf16"):
            logits = applied(w, SIZES[kind], torch.tanh, functional.linear, x)
            return functional.cross_entropy(logits.float(), y)

    if kind == "hvp":
        def call(w, x, y, vector):
            return jvp(lambda w: grad(loss_of)(w, x, y), (w,), (vector,))[1]
    else:
        def call(w, x, y, vector):
            return vmap(grad(loss_of), (None, 0, 0))(w, x, y)
    call = torch.compile(call) if compiles else call

    def run():
        nonlocal found
        found = call(state, x, y, vector)

    return run, lambda: {f"found.{name}": value.detach().numpy() for name, value in found.items()}


def plait_derivatives(kind, dtype, data):
    import numpy as np
    import plait as pl

    state, (x, y, *vector) = steps.parted({name: pl.asarray(value) for name, value in data.items()})
    vector, found = dict(zip(state, vector)), None

    def loss_of(w, x, y):
        return pl.nn.cross_entropy(applied(w, SIZES[kind], pl.tanh, pl.linear, x), y, axis=-1)

    loss_of = pl.autocast()(loss_of) if dtype == "bf16" else loss_of
    if kind == "hvp":
        call = pl.jit(lambda w, x, y, vector: pl.hvp(lambda w: loss_of(w, x, y), w, vector))
    else:
        call = pl.jit(lambda w, x, y, vector: pl.vmap(pl.grad(loss_of), in_axes=(None, 0, 0))(w, x, y))

    def run():
        nonlocal found
        found = call(state, x, y, vector)

    return run, lambda: {f"found.{name}": np.asarray(value) for name, value in found.items()}


def jax_derivatives(kind, dtype, data):
    import jax
    import jax.numpy as jnp
    import numpy as np

    state, (x, y, *vector) = steps.parted(data)
    vector, found, narrow = steps.for_jax(dict(zip(state, vector))), None, jnp.bfloat16 if dtype == "bf16" else jnp.float32
    state, x, y = steps.for_jax(state), jnp.asarray(x), jnp.asarray(y)

    def linear(x, weight, bias):
        return x.astype(narrow) @ weight.astype(narrow) + bias.astype(narrow)

    def loss_of(w, x, y):
        logits = jax.nn.log_softmax(applied(w, SIZES[kind], jnp.tanh, linear, x).astype(jnp.float32))
        return -jnp.take_along_axis(logits, y[..., None], -1).mean()

    @jax.jit
    def call(w, x, y, vector):
        if kind == "hvp":
            return jax.jvp(lambda w: jax.grad(loss_of)(w, x, y), (w,), (vector,))[1]
        return jax.vmap(jax.grad(loss_of), (None, 0, 0))(w, x, y)

    def run():
        nonlocal found
        found = jax.block_until_ready(call(state, x, y, vector))

    def as_linear(name, value):
        return np.asarray(value.swapaxes(-1, -2) if name.endswith("weight") else value)

    return run, lambda: {f"found.{name}": as_linear(name, value) for name, value in found.items()}


def derivatives(kind, dtype):
    sizes, batch = SIZES[kind], BATCHES[kind]

    def data():
        import torch
        from torch import nn

        model = nn.Sequential(*[layer for pair in zip(sizes, sizes[1:]) for layer in (nn.Linear(*pair), nn.Tanh())][:-1])
        state = steps.state_of(model)
        vector = {f"vector.{name}": torch.randn(value.shape).numpy() for name, value in state.items()} if kind == "hvp" else {}
        return state | {"x": torch.randn(batch, sizes[0]).numpy(), "y": torch.randint(10, (batch,)).numpy()} | vector

    functions = {"plait": functools.partial(plait_derivatives, kind, dtype), "torch": functools.partial(torch_derivatives, kind, False, dtype),
                 "torch-compile": functools.partial(torch_derivatives, kind, True, dtype), "jax": functools.partial(jax_derivatives, kind, dtype)}
    return sides.Case(data, functions, apart=sides.ALLOWED[dtype])


CASES = {"hvp": derivatives("hvp", "fp32"), "hvp-bf16": derivatives("hvp", "bf16"), "per-sample-bf16": derivatives("per-sample", "bf16")}

if __name__ == "__main__":
    sides.main(__doc__, __file__, CASES)
