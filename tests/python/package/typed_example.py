"""A program with type annotations, which mypy --strict accepts (stubs_test.py) and Python runs."""

import pathlib
from typing import Any

import numpy as np
import plait as pl


class Linear(pl.Module):
    weight: pl.Tensor
    bias: pl.Tensor

    def __call__(self, x: pl.Tensor) -> pl.Tensor:
        return pl.relu(x @ self.weight + self.bias)


@pl.script
def halvings(x: pl.Tensor) -> pl.Tensor:
    count = pl.asarray(0)
    while x > 1:
        x, count = x / 2, count + 1
    return count


def loss(model: Linear, x: pl.Tensor, labels: pl.Tensor) -> pl.Tensor:
    return pl.cross_entropy(model(x), labels, reduction="mean")


@pl.jit
def step(model: Linear, x: pl.Tensor, labels: pl.Tensor, rate: float) -> Linear:
    slope: Linear = pl.grad(loss)(model, x, labels)
    return pl.tree.map(lambda p, g: p - rate * g, model, slope)


def train() -> float:
    key = pl.random.key(1)
    first, second = pl.random.split_key(key)
    model = Linear(pl.random.normal(first, (4, 3)) * 0.1, pl.zeros(3))
    x = pl.random.normal(second, (32, 4))
    labels = pl.argmax(x[:, :3], axis=1)
    for _ in range(20):
        model = step(model, x, labels, 0.5)
    value: float = loss(model, x, labels).item()
    return value


def numbers() -> dict[str, Any]:
    x = pl.asarray(np.arange(12.0).reshape(3, 4), dtype=pl.f64)
    u, s, vh = pl.linalg.svd(x, full_matrices=False)
    values, places = pl.topk(x[..., -1], 2)
    again = x.at[0, ::2].add(1.0)
    spectrum = pl.fft.rfft(x, axis=-1)
    lanes = pl.vmap(pl.sum)(x)
    total, parts = pl.scan(lambda carry, row: (carry + row, row * 2), pl.zeros(4, pl.f64), x)
    inverse = pl.linalg.inv(pl.eye(3) * 2)
    return {"rank": int(pl.sum(s > 1e-9)), "shape": again.shape, "dtype": spectrum.dtype.name, "lanes": lanes.numpy(),
            "total": total.numpy(), "parts": parts, "back": (u * s) @ vh, "top": (values, places), "inverse": inverse,
            "halvings": int(halvings(pl.tensor(100.0)))}


def files(folder: pathlib.Path) -> list[str]:
    path = folder / "model.safetensors"
    pl.io.save_safetensors(path, {"weight": pl.ones((2, 3)), "bias": [1.0, 2.0]}, {"made": "today"}, max_shard_size="5GB")
    state: dict[str, pl.Tensor] = pl.io.load_safetensors(path)
    with pl.io.open_safetensors(path) as file:
        column: pl.Tensor = file.get_slice("weight")[:, -1]
        return [*file, f"{column.shape[0] + file.get_shape('weight')[1]} {state['bias'].shape}", (file.metadata() or {})["made"]]
