"""Loops of small steps, beside PyTorch's and JAX's: differential equations and a recurrent network.

    PYTHONPATH=build/bench/python .venv/bin/python bench/models/solvers.py ode adaptive gru --rounds 1

`ode`: the gradient of a neural differential equation by its weights, through 200 steps of the classical Runge-Kutta method in a scan; the state is
32 x 16, the network an MLP of 64. `adaptive`: 16 oscillators of van der Pol, forward, in a `while_loop` of about 250 rounds: a step is halved if its
error is too large, else accepted and enlarged. `gru`: a step of SGD on a GRU of 384, by scan over 512 steps of 16 samples; PyTorch's is nn.GRU.

PyTorch's loops are Python's; compiled are a Runge-Kutta step and a round, since unrolled loops take minutes to compile. THREADS=1 in the environment
selects one thread.
"""

import functools

import sides
import steps

STEPS, SPAN = 200, 4.0
WIDTH, LENGTH, BATCH, RATE = 384, 512, 16, 0.1
END, TOLERANCE = 4.0, 1e-2


# ---- A neural differential equation.


def kutta(slope, x):
    """The next state of the classical method; operators only, so it is that of every library."""
    h = SPAN / STEPS
    first = slope(x)
    second = slope(x + h / 2 * first)
    third = slope(x + h / 2 * second)
    last = slope(x + h * third)
    return x + h / 6 * (first + 2 * second + 2 * third + last)


def torch_ode(compiles, data):
    import torch

    state, (x,) = steps.parted(data)
    w, x, gradient = {name: torch.from_numpy(value).requires_grad_() for name, value in state.items()}, torch.from_numpy(x), None

    def step(x, a, b, c, d):
        return kutta(lambda x: torch.tanh(x @ a.T + b) @ c.T + d, x)

    call = torch.compile(step) if compiles else step

    def run():
        nonlocal gradient
        y = x
        for _ in range(STEPS):
            y = call(y, *w.values())
        gradient = torch.autograd.grad((y * y).mean(), [*w.values()])

    return run, lambda: {f"gradient.{name}": each.numpy() for name, each in zip(w, gradient)}


def plait_ode(data):
    import numpy as np
    import plait as pl

    state, (x,) = steps.parted(data)
    w, x, gradient = {name: pl.asarray(value) for name, value in state.items()}, pl.asarray(x), None

    def loss_of(w, x):
        a, b, c, d = w.values()
        y, _ = pl.scan(lambda x, _: (kutta(lambda x: pl.tanh(x @ a.T + b) @ c.T + d, x), ()), x, length=STEPS)
        return pl.mean(y * y)

    call = pl.jit(pl.grad(loss_of))

    def run():
        nonlocal gradient
        gradient = call(w, x)

    return run, lambda: {f"gradient.{name}": np.asarray(each) for name, each in gradient.items()}


def jax_ode(data):
    import jax
    import jax.numpy as jnp
    import numpy as np

    state, (x,) = steps.parted(data)
    w, x, gradient = steps.for_jax(state), jnp.asarray(x), None

    def loss_of(w, x):
        def slope(x):
            return jnp.tanh(x @ w["0.weight"] + w["0.bias"]) @ w["1.weight"] + w["1.bias"]

        y, _ = jax.lax.scan(lambda x, _: (kutta(slope, x), None), x, length=STEPS)
        return (y * y).mean()

    call = jax.jit(jax.grad(loss_of))

    def run():
        nonlocal gradient
        gradient = jax.block_until_ready(call(w, x))

    return run, lambda: {name.replace("weights.", "gradient.", 1): each for name, each in steps.from_jax(gradient).items()}


def ode():
    def data():
        import torch
        from torch import nn

        return steps.state_of(nn.ModuleList([nn.Linear(16, 64), nn.Linear(64, 16)])) | {"x": torch.randn(32, 16).numpy()}

    return sides.Case(data, {"plait": plait_ode, "torch": functools.partial(torch_ode, False), "torch-compile": functools.partial(torch_ode, True),
                             "jax": jax_ode})


# ---- An adaptive solver.


def slopes(x, v, damping):
    return v, damping * (1 - x * x) * v - x


def attempt(x, v, time, h, damping, larger, where):
    """A round: Heun's method, whose distance from Euler's is the error. (x, v, time, h) afterwards; `larger` is the maximum over samples."""
    first_x, first_v = slopes(x, v, damping)
    guess_x, guess_v = x + h * first_x, v + h * first_v
    second_x, second_v = slopes(guess_x, guess_v, damping)
    next_x, next_v = x + h / 2 * (first_x + second_x), v + h / 2 * (first_v + second_v)
    fits = larger(abs(next_x - guess_x) + abs(next_v - guess_v)) < TOLERANCE
    return where(fits, next_x, x), where(fits, next_v, v), where(fits, time + h, time), where(fits, h * 1.25, h / 2)


def named(end, array):
    return {f"end.{name}": array(each) for name, each in zip(("x", "v", "time", "h", "rounds"), end)}


def torch_adaptive(compiles, data):
    import torch

    x, v, damping, h = (torch.from_numpy(each) for each in data.values())
    end = None

    def body(x, v, time, h):
        return attempt(x, v, time, h, damping, torch.max, torch.where)

    call = torch.compile(body) if compiles else body

    def run():
        nonlocal end
        with torch.inference_mode():
            end, rounds = (x, v, torch.zeros(()), h), 0
            while end[2] < END:
                end, rounds = call(*end), rounds + 1
            end = *end, torch.tensor(rounds)

    return run, lambda: named(end, lambda each: each.numpy())


def plait_adaptive(data):
    import numpy as np
    import plait as pl

    x, v, damping, h = map(pl.asarray, data.values())
    end = None

    def solved(x, v, damping, h):
        def body(carry):
            return *attempt(*carry[:4], damping, pl.max, pl.where), carry[4] + 1

        return pl.while_loop(lambda carry: carry[2] < END, body, (x, v, pl.zeros(()), h, pl.tensor(0)))

    call = pl.jit(solved)

    def run():
        nonlocal end
        end = call(x, v, damping, h)

    return run, lambda: named(end, np.asarray)


def jax_adaptive(data):
    import jax
    import jax.numpy as jnp
    import numpy as np

    x, v, damping, h = map(jnp.asarray, data.values())
    end = None

    @jax.jit
    def call(x, v, damping, h):
        def body(carry):
            return *attempt(*carry[:4], damping, jnp.max, jnp.where), carry[4] + 1

        return jax.lax.while_loop(lambda carry: carry[2] < END, body, (x, v, jnp.zeros(()), h, 0))

    def run():
        nonlocal end
        end = jax.block_until_ready(call(x, v, damping, h))

    return run, lambda: named(end, np.asarray)


def adaptive():
    def data():
        import torch

        drawn = {"x": torch.randn(16), "v": torch.randn(16), "damping": torch.linspace(0.5, 2.0, 16), "h": torch.tensor(0.1)}
        return {name: value.numpy() for name, value in drawn.items()}

    return sides.Case(data, {"plait": plait_adaptive, "torch": functools.partial(torch_adaptive, False),
                             "torch-compile": functools.partial(torch_adaptive, True), "jax": jax_adaptive})


# ---- A recurrent network.


def torch_gru():
    from torch import nn

    return nn.GRU(WIDTH, WIDTH)


def torch_total(model, x, y):
    return ((model(x)[0] - y) ** 2).sum(2).mean()


def plait_gru():
    """A GRU by scan, with PyTorch's names of tensors."""
    import plait as pl

    class Gru(pl.Module):
        def __init__(self):
            for name in ("ih", "hh"):
                setattr(self, f"weight_{name}_l0", pl.zeros((3 * WIDTH, WIDTH)))
                setattr(self, f"bias_{name}_l0", pl.zeros(3 * WIDTH))

        def __call__(self, x):
            def cell(h, of_input):
                of_hidden = pl.linear(h, self.weight_hh_l0, self.bias_hh_l0)
                r, z = (pl.sigmoid(of_input[:, part] + of_hidden[:, part]) for part in (slice(0, WIDTH), slice(WIDTH, 2 * WIDTH)))
                n = pl.tanh(of_input[:, 2 * WIDTH:] + r * of_hidden[:, 2 * WIDTH:])
                h = (1 - z) * n + z * h
                return h, h

            return pl.scan(cell, pl.zeros((BATCH, WIDTH)), pl.linear(x, self.weight_ih_l0, self.bias_ih_l0))[1]

    return Gru()


def plait_total(model, x, y):
    return ((model(x) - y) ** 2).sum(2).mean()


def jax_total(w, statistics, x, y):
    import jax
    import jax.numpy as jnp

    def cell(h, of_input):
        of_hidden = h @ w["weight_hh_l0"] + w["bias_hh_l0"]
        (ir, iz, i_n), (hr, hz, hn) = (jnp.split(each, 3, -1) for each in (of_input, of_hidden))
        r, z = jax.nn.sigmoid(ir + hr), jax.nn.sigmoid(iz + hz)
        h = (1 - z) * jnp.tanh(i_n + r * hn) + z * h
        return h, h

    out = jax.lax.scan(cell, jnp.zeros((BATCH, WIDTH)), x @ w["weight_ih_l0"] + w["bias_ih_l0"])[1]
    return jnp.square(out - y).sum(2).mean(), statistics


def gru():
    def data():
        import torch

        return steps.state_of(torch_gru()) | {name: torch.randn(LENGTH, BATCH, WIDTH).numpy() for name in ("x", "y")}

    functions = steps.training(torch_gru, torch_total, plait_gru, plait_total, jax_total, RATE, 0.0)
    del functions["torch-compile"]
    return sides.Case(data, functions, {"torch-compile": "is nn.GRU as it is"})


CASES = {"ode": ode(), "adaptive": adaptive(), "gru": gru()}

if __name__ == "__main__":
    sides.main(__doc__, __file__, CASES)
