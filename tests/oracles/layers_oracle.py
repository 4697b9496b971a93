"""Compares the layers of C++ with PyTorch's: outputs, statistics after the call, and gradients, eagerly and jitted, in f64.
Usage: layers_oracle.py PATH_OF_ORACLE_TOOL (see oracle_tool.cpp). Exits with 1 if anything differs.

Each table of layer_tables has CASES: {name: Case}; layer_cases_*.cpp has the same names."""

import importlib
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

TOLERANCE = 1e-8


def weighted_sum(outputs):
    return sum((torch.cos(torch.arange(each.numel(), dtype=torch.float64)).reshape(each.shape) * each).sum()
               for each in outputs if each.is_floating_point())


def tensors_in(output):
    if isinstance(output, torch.Tensor):
        return [output]
    return [tensor for part in output if part is not None for tensor in tensors_in(part)]


def wanted_of(case):
    """The inputs of the layer, and the expected results."""
    torch.manual_seed(0)
    layer = case.layer().double()
    layer.eval() if case.eval else layer.train()
    inputs = [each.clone() for each in case.inputs()]
    names = case.rename
    given = {f"state.{names(name)}": value.detach().numpy().copy() for name, value in layer.state_dict().items()}
    given |= {f"input{i}": each.numpy() for i, each in enumerate(inputs)}
    if case.eval:
        given["eval"] = np.array(1)
    if inputs[0].is_floating_point():
        inputs[0].requires_grad_()
    outputs = tensors_in(case.call(layer, *inputs))
    wanted = {f"output.{i}" if len(outputs) > 1 else "output": each.detach().numpy() for i, each in enumerate(outputs)}
    wanted |= {f"after.{names(name)}": value.detach().numpy().copy() for name, value in layer.state_dict().items()}
    if any(each.requires_grad for each in outputs):
        weighted_sum(outputs).backward()
        wanted |= {f"gradient.{names(name)}": parameter.grad.numpy() for name, parameter in layer.named_parameters() if parameter.grad is not None}
        if inputs[0].grad is not None:
            wanted["input_gradient"] = inputs[0].grad.numpy()
    return given, wanted


def differences(found, wanted):
    """Texts that say what differs. Outputs are compared in order, whatever their names."""
    outputs = {prefix: [found[name] for name in sorted(found, key=path_key) if name.startswith(f"{prefix}output")] for prefix in ("", "jitted.")}
    for prefix, arrays in outputs.items():
        expected = [array for name, array in wanted.items() if name.startswith("output")]
        if len(arrays) != len(expected):
            yield f"{prefix}output: {len(arrays)} tensors, expected {len(expected)}"
        for i, (array, other) in enumerate(zip(arrays, expected)):
            yield from compared(f"{prefix}output {i}", array, other)
    for name, array in wanted.items():
        for full in () if name.startswith("output") else (name,) if name == "input_gradient" else (name, f"jitted.{name}"):
            if full not in found:
                yield f"{full}: not there"
            else:
                yield from compared(full, found[full], array)


def path_key(name):
    return [(int(part), "") if part.isdigit() else (-1, part) for part in name.split(".")]


def compared(name, array, expected):
    if array.shape != np.shape(expected):
        yield f"{name}: {array.shape}, expected {np.shape(expected)}"
    elif not np.allclose(array, expected, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
        yield f"{name}: by {np.max(np.abs(array - expected)):.1e}"


def main():
    tables = [importlib.import_module(f"layer_tables.{path.stem}") for path in sorted((pathlib.Path(__file__).parent / "layer_tables").glob("[a-z]*.py"))]
    cases = {name: case for table in tables for name, case in table.CASES.items()}
    failures, checks = [], 0
    with tempfile.TemporaryDirectory() as folder:
        expected = {}
        for name, case in cases.items():
            given, expected[name] = wanted_of(case)
            np.savez(pathlib.Path(folder) / f"{name}.npz", **given)
        subprocess.run([sys.argv[1], "layers", folder], check=True)
        for name, wanted in expected.items():
            path = pathlib.Path(folder) / f"{name}.out.npz"
            if not path.exists():
                failures.append(f"{name}: not in layer_cases_*.cpp")
                continue
            with np.load(path) as found:
                failures += [f"{name}: {each}" for each in differences(dict(found), wanted)]
            checks += len(wanted)
    print("\n".join(failures) if failures else f"{checks} arrays of {len(cases)} layers are PyTorch's")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
