"""PyTorch's samples of its operations: for every dtype that both have, with non-contiguous operands, jitted, and their
gradients compared with PyTorch's. tests/conformance/opdb.py has the mapping of names, and compares plain calls.

    opdb_further.py [NAME...]    one line of JSON each in the file that PLAIT_OUTCOMES names
"""

import collections
import json
import os
import pathlib
import sys
import warnings

import numpy as np
import plait
import torch
from torch.testing._internal.common_methods_invocations import op_db

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "conformance"))
import opdb  # noqa: E402

MOST = 8  # samples per operation and dtype
DTYPES = {torch.float64: 1e-10, torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2, torch.complex64: 5e-5,
          torch.complex128: 1e-10, torch.int8: 0, torch.int16: 0, torch.int32: 0, torch.int64: 0, torch.uint8: 0, torch.bool: 0}
NARROW = (torch.float16, torch.bfloat16)


def numbers(tensor):
    tensor = tensor.detach().resolve_conj().resolve_neg()
    return tensor.float().numpy() if tensor.dtype == torch.bfloat16 else tensor.numpy()


def to_plait(value):
    if isinstance(value, torch.Tensor):
        tensor = plait.borrow(numbers(value))
        return plait.astype(tensor, plait.bf16) if value.dtype == torch.bfloat16 else tensor
    if isinstance(value, (list, tuple)) and any(isinstance(each, torch.Tensor) for each in value):
        return type(value)(map(to_plait, value))
    return value


def to_numpy(tensor):
    return plait.astype(tensor, plait.f32).numpy() if tensor.dtype == plait.bf16 else tensor.numpy()


class Sample:
    """The tensors of a sample, separated from the other arguments."""

    def __init__(self, function, sample):
        self._function, self._sample = function, sample
        self.tensors, self._structure = plait.tree.flatten((to_plait(sample.input), tuple(map(to_plait, sample.args)),
                                                           {name: to_plait(each) for name, each in sample.kwargs.items()}))

    def __call__(self, tensors):
        first, rest, named = self._structure.unflatten(tensors)
        return self._function(first, *rest, **named)


def differ(actual, wanted, accuracy):
    """A description of the difference; None if there is none."""
    if actual.shape != wanted.shape:
        return f"the shape {actual.shape} instead of {wanted.shape}"
    actual, wanted = (each.astype(np.complex128 if each.dtype.kind == "c" else np.float64) for each in (actual, wanted))
    scale = float(np.max(np.abs(wanted[np.isfinite(wanted)]), initial=1.0))
    same = np.isclose(actual, wanted, rtol=accuracy, atol=accuracy * scale, equal_nan=True)
    if same.all():
        return None
    place = np.unravel_index(np.argmax(~same), actual.shape)
    return f"{actual[place]} instead of {wanted[place]} at {[int(i) for i in place]}"


def gradients(op, sample, call):
    """PyTorch's and Plait's gradients of the sum of the result times random numbers."""
    leaves = []

    def following(value):
        if isinstance(value, torch.Tensor):
            value = value.detach().clone()
            if value.is_floating_point() or value.is_complex():
                value.requires_grad_()
            leaves.append(value)
        elif isinstance(value, (list, tuple)):
            return type(value)(map(following, value))
        return value

    first, rest = following(sample.input), tuple(map(following, sample.args))
    named = {name: following(each) for name, each in sample.kwargs.items()}
    result = op(first, *rest, **named)
    factors = torch.from_numpy(np.asarray(np.random.RandomState(0).randn(*result.shape)))
    total = ((result.real + result.imag if result.is_complex() else result) * factors).sum()
    if not total.requires_grad:
        return []
    wanted = torch.autograd.grad(total, [each for each in leaves if each.requires_grad], allow_unused=True)
    places = [i for i, each in enumerate(leaves) if each.requires_grad]

    def number(chosen):
        tensors = list(call.tensors)
        for place, each in zip(places, chosen):
            tensors[place] = each
        result = call(tensors)
        result = plait.real(result) + plait.imag(result) if result.dtype.kind == "complex" else result
        return plait.sum(result * to_plait(factors))

    found = plait.grad(number)([call.tensors[i] for i in places])
    # For complex numbers PyTorch's gradient is the conjugate of Plait's and JAX's.
    return [(np.conj(to_numpy(a)), np.zeros(a.shape) if b is None else numbers(b)) for a, b in zip(found, wanted)]


def checks(op, function, sample, dtype):
    """(check, description of the difference)."""
    expected = op(sample.input, *sample.args, **sample.kwargs)
    if not isinstance(expected, torch.Tensor):
        raise opdb.LeftOut("gives several tensors")
    call = Sample(function, sample)
    accuracy = max(DTYPES[dtype], DTYPES.get(expected.dtype, 0)) * opdb.LESS_ACCURATE.get(op.name, 1)
    plain = call(call.tensors)
    if dtype not in opdb.DTYPES:
        yield "dtype", differ(to_numpy(plain), numbers(expected), accuracy)
    strided = Sample(function, sample.noncontiguous())
    yield "strided", differ(to_numpy(strided(strided.tensors)), to_numpy(plain), accuracy)
    jitted = plait.jit(call)
    for times in ("jit", "jit again"):
        yield times, differ(to_numpy(jitted(call.tensors)), to_numpy(plain), accuracy)
    yield "jit strided", differ(to_numpy(jitted(strided.tensors)), to_numpy(plain), accuracy)
    if dtype in (torch.float64, torch.complex128) and op.supports_autograd and expected.dtype in (torch.float64, torch.complex128):
        try:
            both = gradients(op, sample, call)
        except (NotImplementedError, RuntimeError):  # PyTorch has no derivative with respect to one of them
            both = []
        for i, (actual, wanted) in enumerate(both):
            yield f"gradient {i}", differ(actual, wanted, 1e-7)


def main():
    warnings.simplefilter("ignore")
    torch.manual_seed(1)
    table, wanted = opdb.functions(), set(sys.argv[1:])
    with open(os.environ["PLAIT_OUTCOMES"], "w", encoding="utf-8") as file:
        for op in op_db:
            name = f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name
            function = table.get(name, table.get(op.name))
            if function is None or (wanted and op.name not in wanted):
                continue
            for dtype in DTYPES:
                if dtype in op.dtypes:
                    for what, found in outcomes(op, function, dtype).items():
                        file.write(json.dumps({"test": f"{name}::{str(dtype).removeprefix('torch.')} {what}", "reaches": True} | found) + "\n")


def reason_to_skip(error):
    """The reason why Plait does not support a sample at the plain call; None if that is a bug."""
    if isinstance(error, opdb.LeftOut):
        return "no such arguments here"
    if isinstance(error, TypeError):
        return "no such types or arguments here: " + str(error).splitlines()[0][:100]
    if isinstance(error, plait.IndexError) and "the array is a scalar" in error.message:
        return "no axis of a number without dimensions here"
    return None


def outcomes(op, function, dtype):
    """The worst outcome of each check."""
    found = collections.defaultdict(lambda: {"outcome": "passed", "why": ""})
    samples = list(op.sample_inputs("cpu", dtype, requires_grad=False))
    for sample in samples[::len(samples) // MOST + 1]:
        what = "call"
        try:
            for what, wrong in checks(op, function, sample, dtype):
                what = what.split()[0]
                if wrong:
                    found[what] = {"outcome": "failed", "why": f"{sample.summary()[:150]}: {wrong}"}
                else:
                    found[what] = found[what]
        except Exception as error:  # any exception is an outcome
            reason = reason_to_skip(error) if what == "call" else None
            if reason:
                found["sample"] = {"outcome": "skipped", "why": reason}
            else:
                found[what] = {"outcome": "failed", "why": f"{sample.summary()[:150]}: after {what}: {type(error).__name__}: "
                                                           f"{str(error).splitlines()[0][:150]}"}
    return found


if __name__ == "__main__":
    main()
