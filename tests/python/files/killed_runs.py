"""Training runs that are killed again and again, and continued; each is compared with a run that is not disturbed: weights, log and batches.

    python tests/python/files/killed_runs.py --kills 300
"""

import argparse
import os
import pathlib
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import zlib

import numpy as np
import plait as pl

STEPS, SAVED_EVERY = 120, 4
WIDTH = 1024  # so that several threads share the work


class Net(pl.Module):
    def __init__(self):
        keys = pl.random.split_key(pl.random.key(1), 2)
        self.first, self.norm, self.last = pl.nn.Linear(20, WIDTH, key=keys[0]), pl.nn.BatchNorm1d(WIDTH), pl.nn.Linear(WIDTH, 3, key=keys[1])

    def __call__(self, x, key):
        return self.last(pl.dropout(pl.gelu(self.norm(self.first(x))), 0.1, key))


def begun(loader):
    model = Net()
    optimizer = pl.optim.AdamW(model, lr=pl.optim.warmup_cosine_decay_schedule(0.0, 1e-2, 5, STEPS))
    return pl.optim.TrainState(model, optimizer, key=pl.random.key(3), loader=loader.state(), metrics=pl.zeros(()))


def noisy(sample, key):
    image, label = sample
    return image + 0.1 * pl.random.normal(key, image.shape), label


def loader_with(workers):
    """Batches of 16, 16, 16 and 9 samples."""
    numbers = np.random.default_rng(0)
    data = pl.data.TensorDataset(pl.asarray(numbers.standard_normal((57, 20)).astype(np.float32)), pl.asarray(numbers.integers(0, 3, 57)))
    return pl.data.DataLoader(pl.data.mapped(data, noisy), 16, shuffle=True, seed=7, num_workers=workers)


@pl.jit(repeatable=True)
def step(state, x, y):
    def loss_of(model):
        return pl.nn.cross_entropy(model(x, state.step_key()), y), model

    (loss, model), gradient = pl.value_and_grad(loss_of, has_aux=True)(state.model)
    return state.update(gradient, model=model).with_(metrics=0.9 * state.metrics + 0.1 * loss), loss


def train(folder, workers):
    """Begins a run, or goes on with it."""
    loader = loader_with(workers)
    state = begun(loader)
    with pl.io.Checkpoints(folder / "checkpoints", keep_last=2, best="loss") as checkpoints:
        if checkpoints.latest() is not None:
            state = checkpoints.restore(state)
            loader.load_state_dict(state.loader)
        with pl.io.JsonlLog(folder / "log.jsonl", resume=state.step.item()) as log:
            while state.step.item() < STEPS:
                for x, y in loader:
                    number, (state, loss) = state.step.item(), step(state, x, y)
                    log.log(number, {"loss": loss, "mean": state.metrics, "batch": zlib.crc32(x.numpy().tobytes() + y.numpy().tobytes())})
                    if (number + 1) % SAVED_EVERY == 0:
                        checkpoints.save(number + 1, state.with_(loader=loader.state()), metrics={"loss": state.metrics})
                    if number + 1 == STEPS:
                        break


def outcome_of(folder):
    """All that the run has left, as bytes."""
    checkpoints = folder / "checkpoints"
    return {path.name: path.read_bytes() for path in [folder / "log.jsonl", *checkpoints.glob("*.safetensors")]}


def helper_seconds():
    """The CPU time of the threads that compute with this one."""
    tasks = [task for task in pathlib.Path("/proc/self/task").iterdir() if re.fullmatch(r"plait-\d+", (task / "comm").read_text().strip())]
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def begin_process(folder, workers, threads):
    """A process that trains, forked before anything is computed here."""
    process = os.fork()
    if process:
        return process
    try:
        os.environ |= {"PLAIT_THREADS": str(threads), "PLAIT_REPRODUCIBLE": "on"}
        train(folder, workers)
        (folder / "helped").write_text(str(helper_seconds()))
        os._exit(0)
    except BaseException:  # noqa: BLE001: the process ends here
        sys.excepthook(*sys.exc_info())
        os._exit(1)


def rows_in(folder):
    try:
        return (folder / "log.jsonl").read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0


def ends_before(process, is_time):
    """True if it ends by itself, with success; it is killed when it is time."""
    while not is_time():
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            if status:
                raise RuntimeError(f"a run ended with status {status}")
            return True
        time.sleep(0.0005)
    os.kill(process, signal.SIGKILL)
    return bool(os.waitpid(process, 0)[1] == 0)


def random_moment(chance, folder, seconds):
    """A function that says when it is time: some seconds after now, or a moment after the log has some rows more."""
    delay, rows = chance.uniform(0, seconds), rows_in(folder) + chance.randrange(1, STEPS // 3)
    if chance.random() < 0.3:
        end = time.monotonic() + delay
        return lambda: time.monotonic() > end
    return lambda: rows_in(folder) >= rows and (time.sleep(delay / 100) or True)


def run_undisturbed(folder, workers=0, threads=1):
    folder.mkdir()
    end = time.monotonic() + 600
    if not ends_before(begin_process(folder, workers, threads), lambda: time.monotonic() > end):
        raise RuntimeError("a run took more than ten minutes")
    return outcome_of(folder), time.monotonic() - (end - 600)


def expect_as_undisturbed(what, found, expected):
    """RuntimeError if a file differs."""
    differing = sorted(name for name, content in expected.items() if found.get(name) != content)
    if differing or len(found) != len(expected):
        raise RuntimeError(f"{what}: of {sorted(found)} {differing} differ from those of the undisturbed run, {sorted(expected)}")


def expect_same_by_threads(folder, expected):
    """RuntimeError if runs of three threads differ. Helpers may come late on a busy machine: so many runs as they need to work for a moment."""
    helped = 0.0
    for run in range(50):
        expect_as_undisturbed("three threads", run_undisturbed(folder / f"threads{run}", threads=3)[0], expected)
        helped += float((folder / f"threads{run}" / "helped").read_text())
        if helped > 0.001:
            return
    raise RuntimeError(f"in 50 runs two of three threads worked for {helped} s: the model is too small for them")


def kill(kills, seed=0, note=lambda text: None):
    """Kills runs until there were so many kills and the last run is complete. Returns the number of complete runs. RuntimeError for one that
    differs from the undisturbed one."""
    chance, folder = random.Random(seed), pathlib.Path(tempfile.mkdtemp())
    try:
        expected, seconds = run_undisturbed(folder / "undisturbed")
        expect_same_by_threads(folder, expected)
        done, runs, number = 0, 0, 0
        while done < kills or number:
            run = folder / f"run{runs}"
            run.mkdir(exist_ok=True)
            is_time = random_moment(chance, run, seconds) if done < kills else lambda: False
            if not ends_before(begin_process(run, chance.randrange(3), chance.choice((1, 2, 3))), is_time):
                done, number = done + 1, number + 1
                continue
            expect_as_undisturbed(f"seed {seed}, run {runs}, after {number} kills", outcome_of(run), expected)
            note(f"run {runs}: {number} kills, as undisturbed")
            shutil.rmtree(run)
            runs, number = runs + 1, 0
        return runs
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--kills", type=int, default=300)
    options.add_argument("--seed", type=int, default=0)
    chosen = options.parse_args()
    print(f"{kill(chosen.kills, chosen.seed, print)} runs, {chosen.kills} kills: all as undisturbed")
