"""Training steps of layers and optimizers, beside PyTorch's: AdamW on ViT-base's weights, a language model of two LSTM layers (also with
products in bf16), ResNet-18, GPTs of long sequences, and an ensemble of MLPs by vmap. A step from the same weights is compared first; then processes alternate.

    PYTHONPATH=build/bench/python .venv/bin/python bench/models/training.py resnet --rounds 3

A row has the median of a step, its ratio to the fastest peer's, and the peak memory of the process. `adamw` also says which part of the memory's speed it reaches, and
`ensemble` the ratio to a single model. THREADS=1 in the environment selects one thread.
"""

import json
import math
import os
import sys
import time

import blocks
import sides

GOALS = {"adamw": 1.2, "lstm": 1.5, "lstm-bf16": 1.5, "resnet": 1.2, "ensemble": 3.0,
         "gpt-1024": 0.67, "gpt-4096": 0.67, "gpt-1024-bf16": 0.5, "gpt-4096-bf16": 0.5}
MEMBERS = 16


# ---- The same cases in each library. A case returns (step, arrays after a step); the weights come from PyTorch's seed.


def torch_models(case):
    """(model, x, y)."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    if case.startswith("lstm"):
        class Words(nn.Module):
            def __init__(self):
                super().__init__()
                self.embedding, self.lstm, self.head = nn.Embedding(10000, 650), nn.LSTM(650, 650, 2), nn.Linear(650, 10000)

            def forward(self, ids):
                return self.head(self.lstm(self.embedding(ids))[0]).reshape(-1, 10000)

        ids = torch.randint(10000, (36, 20))
        return Words(), ids[:-1], ids[1:].reshape(-1)
    if case.startswith("gpt"):
        length = length_of(case)
        ids = torch.randint(256, (max(1, 2048 // length), length + 1))
        return blocks.torch_gpt(length), ids[:, :-1], ids[:, 1:].reshape(-1)
    if case == "resnet":
        return torch_resnet(), torch.randn(32, 3, 64, 64), torch.randint(1000, (32,))
    return nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10)), torch.randn(32, 784), torch.randint(10, (32,))


def length_of(case):
    return int(case.split("-")[1])


def torch_resnet():
    from torch import nn

    class Block(nn.Module):
        def __init__(self, channels, width, stride):
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(channels, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
            self.conv2, self.bn2 = nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
            self.downsample = None
            if stride != 1 or channels != width:
                self.downsample = nn.Sequential(nn.Conv2d(channels, width, 1, stride, bias=False), nn.BatchNorm2d(width))

        def forward(self, x):
            shortcut = x if self.downsample is None else self.downsample(x)
            return (self.bn2(self.conv2(self.bn1(self.conv1(x)).relu())) + shortcut).relu()

    class ResNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.bn1, self.pool = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.MaxPool2d(3, 2, 1)
            channels = 64
            for i in range(4):
                width = 64 << i
                setattr(self, f"layer{i + 1}", nn.Sequential(Block(channels, width, 2 if i else 1), Block(width, width, 1)))
                channels = width
            self.fc = nn.Linear(512, 1000)

        def forward(self, x):
            x = self.pool(self.bn1(self.conv1(x)).relu())
            for i in range(4):
                x = getattr(self, f"layer{i + 1}")(x)
            return self.fc(x.mean((2, 3)))

    return ResNet()


def vit_shapes():
    """Shapes of ViT-base's weights: 86 million numbers."""
    block = [(768,), (768,), (2304, 768), (2304,), (768, 768), (768,), (768,), (768,), (3072, 768), (3072,), (768, 3072), (768,)]
    return [(768, 3, 16, 16), (768,), (1, 1, 768), (1, 197, 768), *block * 12, (768,), (768,), (1000, 768), (1000,)]


def torch_step(case, compiles):
    import torch
    from torch.nn import functional

    torch.set_num_threads(int(os.environ["THREADS"]))
    torch.manual_seed(0)
    if case == "adamw":
        weights = [torch.nn.Parameter(torch.randn(shape)) for shape in vit_shapes()]
        optimizer = torch.optim.AdamW(weights, 1e-3, fused=True)
        for each in weights:
            each.grad = torch.randn(each.shape)
        return optimizer.step, lambda: weights
    model, x, y = torch_models(case)
    count = MEMBERS if case == "ensemble" else 1
    models = [model] + [torch_models(case)[0] for _ in range(count - 1)]
    optimizers = [torch.optim.SGD(each.parameters(), 1e-2) for each in models]
    wrap = torch.compile if compiles else (lambda f: f)

    def loss_of(model, x, y):
        with torch.autocast("cpu", torch.bfloat16, enabled=case.endswith("bf16")):
            return functional.cross_entropy(model(x).flatten(0, -2), y)

    losses = [wrap(lambda x, y, model=each: loss_of(model, x, y)) for each in models]

    def step():
        for optimizer, loss in zip(optimizers, losses):
            optimizer.zero_grad(set_to_none=True)
            loss(x, y).backward()
            optimizer.step()

    return step, lambda: [*models[0].parameters()]


def plait_step(case, count=MEMBERS):
    import numpy as np
    import plait as pl
    import torch

    if case == "adamw":
        torch.manual_seed(0)
        weights = [pl.asarray(torch.randn(shape).numpy()) for shape in vit_shapes()]
        gradients = [pl.asarray(torch.randn(shape).numpy()) for shape in vit_shapes()]
        optimizer = pl.optim.AdamW(weights, lr=1e-3)
        run = pl.jit(lambda weights, optimizer, gradients: optimizer.update(weights, gradients), donate=(0, 1))

        def step():
            nonlocal weights, optimizer
            weights, optimizer = run(weights, optimizer, gradients)

        return step, lambda: weights
    theirs, x, y = torch_models(case)
    x, y = pl.asarray(x.numpy()), pl.asarray(y.numpy())
    model = pl.nn.load_state(plait_model(case), {name: value.numpy() for name, value in theirs.state_dict().items()})
    if case == "ensemble":
        model = pl.tree.map(lambda leaf: pl.stack([leaf] * count), model)
    optimizer = pl.optim.SGD(model, lr=1e-2)

    def loss_of(model, x, y):
        return pl.cross_entropy(model(x), y, reduction="mean"), model

    def step(model, optimizer, x, y):
        gradient_of = pl.value_and_grad(pl.autocast()(loss_of) if case.endswith("bf16") else loss_of, has_aux=True)
        if case == "ensemble":
            gradient_of = pl.vmap(gradient_of, in_axes=(0, None, None))
        (loss, model), gradient = gradient_of(model, x, y)
        return *optimizer.update(model, gradient), loss

    run = pl.jit(step, donate=(0, 1))

    def go_on():
        nonlocal model, optimizer
        model, optimizer, loss = run(model, optimizer, x, y)
        np.asarray(loss)

    names = [name for name, _ in theirs.named_parameters()]
    first = (lambda leaf: leaf[0]) if case == "ensemble" else (lambda leaf: leaf)
    return go_on, lambda: [first(pl.nn.state(model)[name]) for name in names]


def plait_model(case):
    import plait as pl
    from models import GPT
    from models.resnet import ResNet
    from plait import nn

    key = pl.random.key(0)
    if case == "resnet":
        return ResNet(key=key)
    if case.startswith("gpt"):
        class Rows(GPT):
            def __call__(self, ids):
                return pl.reshape(super().__call__(ids), (-1, 256))

        return Rows(context=length_of(case), key=key)
    if case.startswith("lstm"):
        class Words(pl.Module):
            def __init__(self):
                self.embedding, self.lstm, self.head = nn.Embedding(10000, 650), nn.LSTM(650, 650, 2), nn.Linear(650, 10000)

            def __call__(self, ids):
                return pl.reshape(self.head(self.lstm(self.embedding(ids))[0]), (-1, 10000))

        return Words()
    return nn.Sequential(nn.Linear(784, 128), pl.relu, nn.Linear(128, 128), pl.relu, nn.Linear(128, 10))


def jax_step(case):
    """JAX has no layers of its own: only the cases that need none."""
    import jax
    import jax.numpy as jnp

    if case != "ensemble":
        return None
    sizes, keys = (784, 128, 128, 10), jax.random.split(jax.random.key(0), 8)
    weights = [(jax.random.normal(keys[i], (MEMBERS, sizes[i + 1], sizes[i])) * 0.03, jnp.zeros((MEMBERS, sizes[i + 1]))) for i in range(3)]
    x, y = jax.random.normal(keys[6], (32, 784)), jax.random.randint(keys[7], (32,), 0, 10)

    def loss_of(weights, x, y):
        for i, (weight, bias) in enumerate(weights):
            x = x @ weight.T + bias
            x = jax.nn.relu(x) if i < 2 else x
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(x), y[:, None], 1))

    @jax.jit
    def step(weights, x, y):
        loss, gradient = jax.vmap(jax.value_and_grad(loss_of), (0, None, None))(weights, x, y)
        return jax.tree.map(lambda w, g: w - 1e-2 * g, weights, gradient), loss

    def go_on():
        nonlocal weights
        weights, loss = step(weights, x, y)
        loss.block_until_ready()

    return go_on, None


def steps_of(case, side):
    if side == "plait":
        return plait_step(case)
    if side == "single":
        return plait_step(case, 1)
    return jax_step(case) if side == "jax" else torch_step(case, side == "torch-compile")


# ---- Processes.


def time_one(case, side, repeat):
    """Prints the times of a case on one side, as JSON."""
    os.environ["PLAIT_THREADS"] = os.environ["THREADS"]
    found = steps_of(case, side)
    print(json.dumps({"why": "has no such layers"} if found is None else sides.measured(found[0], repeat)))


def compare_steps(case):
    """Prints how far the weights are apart after a step of both, beyond the rounding of the weights, as a part of their way; as JSON."""
    import numpy as np

    os.environ["PLAIT_THREADS"] = os.environ["THREADS"]
    apart = 0.0
    ours, theirs = plait_step(case), torch_step(case, False)
    before = [np.array(each.detach()) for each in theirs[1]()]
    for run, _ in (ours, theirs):
        run()
    for found, wanted, start in zip(ours[1](), theirs[1](), before):
        found, wanted = np.asarray(found), np.asarray(wanted.detach())
        beyond = max(0.0, np.linalg.norm(found - wanted) - 2.0**-24 * np.linalg.norm(wanted))
        apart = max(apart, float(beyond / max(np.linalg.norm(wanted - start), 1e-12)))
    print(json.dumps({"apart": apart}))


def copy_speed():
    """Bytes per second that all threads read and write when arrays larger than the caches are copied."""
    import torch

    torch.set_num_threads(int(os.environ["THREADS"]))
    source, target, best = torch.randn(86_000_000), torch.empty(86_000_000), 0.0
    for _ in range(7):
        start = time.perf_counter()
        target.copy_(source)
        best = max(best, 2 * source.nbytes / (time.perf_counter() - start))
    print(json.dumps({"bytes_a_second": best}))


def main():
    options = sides.parsed(sides.parser_of(__doc__, GOALS), GOALS)
    if options.only:
        case, side = options.only
        return {"steps": compare_steps, "copy": lambda _: copy_speed()}.get(side, lambda case: time_one(case, side, options.repeat))(case)
    from compare import line_of

    def told(case, side):
        return line_of([sys.executable, __file__, "--repeat", str(options.repeat), "--only", case, side], os.environ | {"JAX_PLATFORMS": "cpu"}, 600)

    rows = {}
    for case in options.cases or GOALS:
        print(f"{case}: the weights after a step are apart by {told(case, 'steps')['apart']:.1e} of their way from PyTorch's", flush=True)
        chosen = [*options.sides, *(["single"] if case == "ensemble" else [])]
        figures = sides.alternated(chosen, options.rounds, lambda side, case=case: told(case, side))
        row = {"medians": {side: each["median_s"] for side, each in figures.items() if "median_s" in each},
               "peaks": {side: each["peak_mb"] for side, each in figures.items() if "peak_mb" in each},
               "ratio": sides.show(figures, sides.SIDES[1:]), "goal": GOALS[case]}
        medians = row["medians"]
        if case == "ensemble" and medians.keys() >= {"plait", "single"}:
            row["of_single"] = medians["plait"] / medians["single"]
            print(f"  {MEMBERS} members take {row['of_single']:.2f} times as long as one")
        if case == "adamw" and "plait" in medians:
            numbers = sum(math.prod(shape) for shape in vit_shapes())
            row["of_memory"] = 7 * 4 * numbers / medians["plait"] / told(case, "copy")["bytes_a_second"]  # reads four arrays, writes three
            print(f"  reads and writes at {row['of_memory']:.2f} of the speed of a copy")
        rows[case] = row
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
