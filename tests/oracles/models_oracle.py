"""Trains the C++ models of examples/models and the same models in PyTorch from the same weights, and compares
logits, gradients, and 20 steps of each optimizer. Usage: models_oracle.py PATH_OF_ORACLE_TOOL (see oracle_tool.cpp).
Exits with 1 if anything differs."""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python/layers"))
import torch_models  # noqa: E402

STEPS = 20


def differences(found, wanted, tolerance):
    """Differences greater than those from another order of summation."""
    for name, array in wanted.items():
        if name not in found or found[name].shape != np.shape(array):
            yield f"{name}: not there, or of another shape"
        elif not np.allclose(found[name], array, rtol=tolerance, atol=tolerance):
            yield f"{name}: by {np.max(np.abs(found[name] - array)):.1e}"


def wanted_of(name, optimizer):
    """The inputs, and the expected results."""
    model, x, y = torch_models.case(name)
    given = {**torch_models.arrays(model), "x": x.numpy(), "y": y.numpy()}
    wanted = {"logits": model(x).detach().numpy()}
    torch_models.loss_of(model, x, y).backward()
    wanted.update((f"gradient.{path}", parameter.grad.numpy().copy()) for path, parameter in model.named_parameters())
    weights, losses = torch_models.trained(model, x, y, optimizer, STEPS)
    return given, {**wanted, **weights, "losses": np.array(losses)}


def main():
    failures, checks = [], 0
    with tempfile.TemporaryDirectory() as folder:
        source, target = pathlib.Path(folder) / "from.npz", pathlib.Path(folder) / "to.npz"
        for name in "vit", "gpt":
            for optimizer in torch_models.OPTIMIZERS:
                given, wanted = wanted_of(name, optimizer)
                np.savez(source, **given)
                subprocess.run([sys.argv[1], "train", name, optimizer, str(STEPS), source, target], check=True)
                with np.load(target) as found:
                    failures += [f"{name}, {optimizer}: {each}" for each in differences(found, wanted, 1e-8)]
                checks += len(wanted)
    print("\n".join(failures) if failures else f"{checks} arrays are PyTorch's")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
