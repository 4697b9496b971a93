"""The cases of bench_plait.py, with the same names as in bench_torch.py. A case is a function of a batch size, which may be None, and
a dtype, "fp32" or "bf16"; it returns the function to time, and a dict that describes it."""

import functools
import pathlib
import sys

import plait as pl

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples"))
from models import GPT, ViT, loss_of, step  # noqa: E402

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def lengths(count=60, low=8, high=512, state=1):
    """The same lengths for all contenders."""
    found = []
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        found.append(low + (state >> 33) % (high - low))
    return found


def keys(count):
    return pl.random.split_key(pl.random.key(0), count)


def dtype_of(name):
    return pl.bf16 if name == "bf16" else pl.f32


def narrow(tree, dtype):
    return pl.tree.map(lambda leaf: leaf.astype(dtype), tree)


# ---- Models.


def narrowed(function, dtype):
    """Products in the dtype, weights in f32."""
    return pl.autocast()(function) if dtype == "bf16" else function


def vit_and_batch(batch):
    model, images, labels = keys(3)
    return ViT(key=model), pl.random.normal(images, (batch, 3, 224, 224)), pl.random.randint(labels, (batch,), 0, 1000)


def gpt_and_batch(batch):
    model, ids = keys(2)
    ids = pl.random.randint(ids, (batch, 257), 0, 256)
    return GPT(key=model), ids[:, :-1], ids[:, 1:]


# For each case: the model with a batch, and its optimizer.
TRAINED = {"vit_train": (vit_and_batch, functools.partial(pl.optim.SGD, lr=1e-3)),
           "gpt_train": (gpt_and_batch, functools.partial(pl.optim.AdamW, lr=3e-4))}


def training(model, optimizer, x, y, dtype):
    """A jitted step that continues from the previous one."""
    run = pl.jit(narrowed(step, dtype), donate=(0, 1))

    def go_on():
        nonlocal model, optimizer
        model, optimizer, loss = run(model, optimizer, x, y)
        return loss.item()

    return go_on


def train_case(name, batch, dtype):
    make, optimizer = TRAINED[name]
    model, x, y = make(batch)
    return training(model, optimizer(model), x, y, dtype), {"batch": batch}


@case
def vit_train(batch, dtype):
    return train_case("vit_train", batch or 8, dtype)


@case
def gpt_train(batch, dtype):
    return train_case("gpt_train", batch or 8, dtype)


@case
def vit_infer(batch, dtype):
    model, images, _ = vit_and_batch(batch or 8)
    model, images = narrow((model, images), dtype_of(dtype))
    run = pl.jit(lambda model, x: model(x))
    return lambda: run(model, images), {"batch": batch or 8}


@case
def mlp_train(batch, dtype):
    first, second, third, x, y = keys(5)
    linear, batch = pl.nn.Linear, batch or 32
    model = pl.nn.Sequential(linear(784, 128, key=first), pl.relu, linear(128, 128, key=second), pl.relu, linear(128, 10, key=third))
    x, y = pl.random.normal(x, (batch, 784)), pl.random.randint(y, (batch,), 0, 10)
    run = training(model, pl.optim.SGD(model, lr=1e-2), x, y, dtype)
    return lambda: [run() for _ in range(200)], {"batch": batch, "steps": 200}


@case
def dynamic_length(batch, dtype):
    model = GPT(context=512, width=128, depth=2, heads=4, key=pl.random.key(0))
    run, given = pl.jit(lambda model, ids: model(ids)), lengths()
    return lambda: [run(model, pl.zeros((2, length), dtype=pl.i64)) for length in given], {"lengths": len(set(given))}


# ---- Other cases.


@case
def eager_overhead(batch, dtype):
    x = pl.ones(16)

    def run():
        y = x
        for _ in range(10000):
            y = y + x

    return run, {"ops": 10000}


@case
def eager_grad_overhead(batch, dtype):
    def product(x):
        y = x
        for _ in range(2000):
            y = y * x
        return pl.sum(y)

    x, slope = pl.ones(16), pl.grad(product)
    return lambda: slope(x), {"ops": 2000}


@case
def pointwise(batch, dtype):
    x, scale, bias = (pl.random.normal(key, shape).astype(dtype_of(dtype)) for key, shape in zip(keys(3), ((8192, 1024), 1024, 1024)))
    run = pl.jit(lambda x, scale, bias: pl.softmax(pl.layer_norm(pl.gelu(x * 1.5 + bias), 1024, scale, bias), -1))
    return lambda: run(x, scale, bias), {"bytes": 2 * x.size * (2 if dtype == "bf16" else 4)}


@case
def scan_gru(batch, dtype):
    *weights, samples = keys(5)
    cell = [pl.nn.init.uniform(shape, 128**-0.5, key=key) for key, shape in zip(weights, ((384, 128), (384, 128), (384,), (384,)))]
    samples = pl.random.normal(samples, (512, 16, 128))

    def next_state(cell, h, x):
        input_weight, hidden_weight, input_bias, hidden_bias = cell
        of_input, of_hidden = pl.linear(x, input_weight, input_bias), pl.linear(h, hidden_weight, hidden_bias)
        r, z = (pl.sigmoid(of_input[:, part] + of_hidden[:, part]) for part in (slice(0, 128), slice(128, 256)))
        n = pl.tanh(of_input[:, 256:] + r * of_hidden[:, 256:])
        return (1 - z) * n + z * h

    def total(cell, samples):
        return pl.sum(pl.scan(lambda h, x: (next_state(cell, h, x), None), pl.zeros((16, 128)), samples)[0])

    run = pl.jit(pl.grad(total))
    return lambda: run(cell, samples), {"steps": 512}


@case
def per_sample_grad(batch, dtype):
    first, second, x, y = keys(4)
    model = pl.nn.Sequential(pl.nn.Linear(256, 256, key=first), pl.tanh, pl.nn.Linear(256, 10, key=second))
    x, y = pl.random.normal(x, (256, 256)), pl.random.randint(y, (256,), 0, 10)
    run = pl.jit(pl.vmap(pl.grad(loss_of), in_axes=(None, 0, 0)))
    return lambda: run(model, x, y), {"batch": 256}
