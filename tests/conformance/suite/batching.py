"""Index signatures against kernels, and batching (by the signature or by its own rule) against a loop over slices."""

import numpy as np
import plait
from plait import _core

from suite import compare, tolerances, values

testing = _core._testing
MOST_ELEMENTS = 2_000


def _samples(case, quick):
    dtype = plait.f32 if plait.f32 in case.dtypes else case.dtypes[0]
    random = np.random.default_rng(5)
    found = 0
    for sample in case.samples:
        if not sample.operands:
            continue
        draws = [case.operands_of(sample, dtype, random) for _ in range(3)]
        if sum(x.size for x in draws[0]) > MOST_ELEMENTS:
            continue
        found += 1
        if quick and found > 3:
            return
        yield sample, draws


def _difference(case, actual, expected, attributes, operands):
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return f"gives {actual.dtype}{list(actual.shape)}, expected {expected.dtype}{list(expected.shape)}"
    dtype = values.DTYPE_OF[actual.dtype]
    allowed = 2 * tolerances.ulps(case.tolerance, dtype) if dtype.kind in ("floating", "complex") else 0
    scale = np.max(np.abs(expected), initial=0) if case.scale is not None else None
    mask = compare.differing(actual, expected, dtype, allowed, scale)
    return compare.report(actual, expected, mask, operands, dtype) if mask.any() else None


def check_signature(case, quick=False):
    if not case.has_loops:
        return
    for sample, draws in _samples(case, quick):
        operands = draws[0]
        tensors = [plait.borrow(x) for x in operands]
        actual = testing.run_signature(case.primitive.name, tensors, [False] * len(tensors), **sample.attributes).numpy()
        expected = values.run(case, operands, sample.attributes)[0]
        if wrong := _difference(case, actual, expected, sample.attributes, operands):
            yield f"({sample}) loops of the signature: {wrong}"


def _patterns(count):
    """Which operands are batched: each alone, and all."""
    alone = [[k == i for k in range(count)] for i in range(count)]
    return alone + ([[True] * count] if count > 1 else [])


def _batched(case, tensors, flags, attributes):
    if "batching" in case.primitive.rules:
        return [each.numpy() for each in testing.batching(case.primitive.name, tensors, flags, **attributes)]
    return [testing.run_signature(case.primitive.name, tensors, flags, **attributes).numpy()]


def check_batching(case, quick=False):
    if "batching" not in case.primitive.rules and not case.has_loops:
        return
    for sample, draws in _samples(case, quick):
        if case.cannot_batch:
            yield from _check_refused(case, sample, draws)
            continue
        for lanes in (draws, draws[:1]):
            for flags in _patterns(len(draws[0])):
                yield from _check_lanes(case, sample, lanes, flags)


def _check_refused(case, sample, lanes):
    try:
        _batched(case, [plait.borrow(np.stack(x)) for x in zip(*lanes)], [True] * len(lanes[0]), sample.attributes)
        yield f"({sample}) is batched, though {case.cannot_batch}"
    except plait.Error:
        pass


def _check_lanes(case, sample, lanes, flags):
    operands = [np.stack([lane[i] for lane in lanes]) if flag else lanes[0][i] for i, flag in enumerate(flags)]
    one_by_one = [values.run(case, [x[k] if flag else x for x, flag in zip(operands, flags)], sample.attributes)
                  for k in range(len(lanes))]
    actual = _batched(case, [plait.borrow(x) for x in operands], flags, sample.attributes)
    if len(actual) != len(one_by_one[0]):
        yield f"({sample}) batched {flags}: {len(actual)} results, expected {len(one_by_one[0])}"
        return
    for k, result in enumerate(actual):
        expected = np.stack([lane[k] for lane in one_by_one])
        if wrong := _difference(case, result, expected, sample.attributes, operands):
            yield f"({sample}) batched {flags}: {wrong}"
