"""A training step of each library, for a model with PyTorch's names of tensors: the gradient of a loss, then SGD with momentum. Running statistics
are compared like weights.

    PYTHONPATH=build/bench/python .venv/bin/python bench/models/vision.py unet --rounds 1
"""

import functools


def state_of(module):
    """PyTorch's floating tensors by name, as data of a case."""
    return {f"weights.{name}": value.numpy().copy() for name, value in module.state_dict().items() if value.is_floating_point()}


def parted(data):
    """(the state, the inputs) of data."""
    state = {name.removeprefix("weights."): value for name, value in data.items() if name.startswith("weights.")}
    return state, [value for name, value in data.items() if not name.startswith("weights.")]


def loaded(module, state):
    """PyTorch's module, with the weights of a state."""
    import torch

    module.load_state_dict({name: torch.from_numpy(value) for name, value in state.items()}, strict=False, assign=True)
    return module.requires_grad_()


def torch_step(make, loss_of, lr, momentum, autocast, compiles, data):
    import torch

    state, inputs = parted(data)
    model, inputs = loaded(make(), state), [torch.from_numpy(each) for each in inputs]
    optimizer = torch.optim.SGD(model.parameters(), lr, momentum)
    loss = None

    def evaluate(*inputs):
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            return loss_of(model, *inputs)

    evaluate = torch.compile(evaluate) if compiles else evaluate

    def run():
        nonlocal loss
        optimizer.zero_grad(set_to_none=True)
        total = evaluate(*inputs)
        total.backward()
        optimizer.step()
        loss = total.item()

    return run, lambda: {"loss": loss, **state_of(model)}


def plait_step(make, loss_of, lr, momentum, autocast, data):
    import numpy as np
    import plait as pl

    state, inputs = parted(data)
    model, inputs = pl.nn.load_state(make(), state, missing=["*num_batches_tracked"] if has_statistics(state) else []), [*map(pl.asarray, inputs)]
    optimizer = pl.optim.SGD(model, lr=lr, momentum=momentum)
    loss = None

    def with_model(model, *inputs):
        return loss_of(model, *inputs), model

    with_model = pl.autocast()(with_model) if autocast else with_model

    def step(model, optimizer, *inputs):
        (loss, model), gradient = pl.value_and_grad(with_model, has_aux=True)(model, *inputs)
        return *optimizer.update(model, gradient), loss

    run = pl.jit(step, donate=(0, 1))

    def go_on():
        nonlocal model, optimizer, loss
        model, optimizer, loss = run(model, optimizer, *inputs)
        loss = loss.item()

    return go_on, lambda: {"loss": loss, **{f"weights.{name}": np.asarray(value) for name, value in pl.nn.state(model).items() if name in state}}


def has_statistics(state):
    return any(name.endswith("running_mean") for name in state)


def is_linear(name, value):
    return value.ndim == 2 and "weight" in name and not name.startswith(("tokens", "tables"))


def for_jax(state, dtype=None):
    """JAX's arrays. The matrices of linear layers are [inputs, outputs], since it transposes others in each call."""
    import jax.numpy as jnp

    return {name: jnp.array(value.T if is_linear(name, value) else value, dtype) for name, value in state.items()}


def from_jax(weights):
    """The state again, as results."""
    import numpy as np

    return {f"weights.{name}": np.asarray(value.T if is_linear(name, value) else value) for name, value in weights.items()}


def jax_step(loss_of, lr, momentum, data):
    """loss_of(weights, statistics, *inputs) returns (loss, next statistics); both are dicts by name."""
    import jax
    import jax.numpy as jnp

    state, inputs = parted(data)
    inputs, state = [*map(jnp.asarray, inputs)], for_jax(state)
    statistics = {name: value for name, value in state.items() if ".running_" in f".{name}"}
    weights = {name: value for name, value in state.items() if name not in statistics}
    moments, loss = jax.tree.map(jnp.zeros_like, weights) if momentum else {}, None

    @functools.partial(jax.jit, donate_argnums=(0, 1, 2))
    def run(weights, statistics, moments, *inputs):
        (loss, statistics), gradient = jax.value_and_grad(loss_of, has_aux=True)(weights, statistics, *inputs)
        if momentum:
            gradient = moments = jax.tree.map(lambda m, g: momentum * m + g, moments, gradient)
        return jax.tree.map(lambda w, g: w - lr * g, weights, gradient), statistics, moments, loss

    def go_on():
        nonlocal weights, statistics, moments, loss
        weights, statistics, moments, total = run(weights, statistics, moments, *inputs)
        jax.block_until_ready(weights)
        loss = float(total)

    return go_on, lambda: {"loss": loss, **from_jax(weights | statistics)}


def training(torch_model, torch_loss, plait_model, plait_loss, jax_loss, lr=0.01, momentum=0.9, autocast=False):
    """The four sides of a training step; jax_loss may be None. With `autocast` products and convolutions are in bf16."""
    sides = {"plait": functools.partial(plait_step, plait_model, plait_loss, lr, momentum, autocast),
             "torch": functools.partial(torch_step, torch_model, torch_loss, lr, momentum, autocast, False),
             "torch-compile": functools.partial(torch_step, torch_model, torch_loss, lr, momentum, autocast, True)}
    return sides | ({"jax": functools.partial(jax_step, jax_loss, lr, momentum)} if jax_loss else {})
