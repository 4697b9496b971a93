"""The cost of files in a training run, beside PyTorch: checkpoints of ViT-base with AdamW (1 GB), and the first tensor of such a file.

    PYTHONPATH=build/bench/python .venv/bin/python bench/data/files.py checkpoint --batch 8

`checkpoint` prints the median of a step, the pause of `save` and its part of a step (goal: under 5 %), the steps while the file is written,
and how long that takes, in a folder of --folder; then torch.save of the same tensors, which returns when all is passed to the system, and a
copy of them, which is the least that a writer beside the training takes there. `first_tensor` prints the time from opening the file to the
values of its last tensor (goal: 1 ms), beside safetensors' own reader. The values are compared.
"""

import argparse
import pathlib
import statistics
import sys
import tempfile
import time

import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "examples"))


def seconds(run):
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def vit_state():
    import plait as pl
    from models import ViT

    model = ViT(key=pl.random.key(0))
    return pl.optim.TrainState(model, pl.optim.AdamW(model, lr=1e-4), key=pl.random.key(1))


def checkpoint(options):
    import plait as pl
    from models import loss_of

    state = vit_state()
    x, y = pl.random.normal(pl.random.key(2), (options.batch, 3, 224, 224)), pl.zeros(options.batch, dtype=pl.i64)

    @pl.jit(donate=0, repeatable=True)
    def step(state):
        loss, gradient = pl.value_and_grad(loss_of)(state.model, x, y)
        return state.update(gradient), loss

    def go_on():
        nonlocal state
        state, loss = step(state)
        loss.item()

    go_on(), go_on()
    alone = [seconds(go_on) for _ in range(options.rounds)]
    pauses, beside, written = [], [], []
    with pl.io.Checkpoints(options.folder / "plait", keep_last=1) as checkpoints:
        for round in range(options.rounds):
            start = time.perf_counter()
            pauses.append(seconds(lambda: checkpoints.save(state.step, state)))
            beside.append(seconds(go_on))
            checkpoints.wait()
            written.append(time.perf_counter() - start)
            go_on()
        saved = checkpoints.load()
    step_time, pause = statistics.median(alone), statistics.median(pauses)
    size = sum(each.numpy().nbytes for each in saved.values())
    print(f"checkpoint of {size / 1e9:.2f} GB, batch {options.batch}: a step {step_time * 1e3:.0f} ms; pause {pause * 1e3:.2f} ms, {100 * pause / step_time:.2f} % of a step; "
          f"a step while it is written {statistics.median(beside) * 1e3:.0f} ms; on the disk after {statistics.median(written):.2f} s")
    beside_torch(options, saved)


def beside_torch(options, saved):
    import torch

    theirs = {name: torch.from_numpy(each.numpy().copy()) for name, each in saved.items() if each.dtype.kind != "key"}
    path = options.folder / "torch.pt"
    saves = statistics.median(seconds(lambda: torch.save(theirs, path)) for _ in range(options.rounds))
    copies = statistics.median(seconds(lambda: {name: each.clone() for name, each in theirs.items()}) for _ in range(options.rounds))
    print(f"PyTorch: torch.save {saves:.2f} s, a copy {copies * 1e3:.0f} ms")
    path.unlink()


def first_tensor(options):
    import plait as pl
    import safetensors.numpy  # noqa: F401
    from safetensors import safe_open

    path = options.folder / "state.safetensors"
    pl.io.save_safetensors(path, {name: each for name, each in pl.nn.state(vit_state()).items() if each.dtype.kind != "key"})
    with pl.io.open_safetensors(path) as file:
        name = sorted(file.keys())[-1]

    def ours():
        with pl.io.open_safetensors(path) as file:
            return file.get_tensor(name).numpy().copy()

    def reference():
        with safe_open(path, "numpy") as file:
            return file.get_tensor(name)

    assert np.array_equal(ours(), reference())
    times = {ours: [], reference: []}
    for _ in range(10 * options.rounds):
        for run, found in times.items():
            found.append(seconds(run))
    mine, theirs = (1e3 * statistics.median(found) for found in times.values())
    print(f"first tensor of {path.stat().st_size / 1e9:.2f} GB ({name}): {mine:.3f} ms, safetensors {theirs:.3f} ms")


CASES = {"checkpoint": checkpoint, "first_tensor": first_tensor}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", help=f"some of {', '.join(CASES)} (all)")
    parser.add_argument("--batch", type=int, default=8, help="images of a step (8)")
    parser.add_argument("--rounds", type=int, default=5, help="times that count (5)")
    parser.add_argument("--folder", type=pathlib.Path, help="where files are written (a new one below the system's temporary folder)")
    options = parser.parse_args()
    if unknown := set(options.cases) - set(CASES):
        parser.error(f"there is no case {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        options.folder = pathlib.Path(folder)
        for name in options.cases or CASES:
            CASES[name](options)


if __name__ == "__main__":
    main()
