"""PyTorch's and JAX's programs for the same cases. They are not part of the project; they exist where it is developed."""

import importlib
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[3] / "shared/peers"
MISSING = f"{FOLDER} is not there: bench_torch.py, bench_jax.py and their models, which Plait is timed beside, are not part of this checkout"


def are_there():
    return (FOLDER / "bench_torch.py").exists() and (FOLDER / "bench_jax.py").exists()


def expect_there():
    if not are_there():
        sys.exit(MISSING)


def load(name):
    expect_there()
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))
    return importlib.import_module(name)
