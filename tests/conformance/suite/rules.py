"""Derivative rules against central differences in f64, and transposes against the differences that they transpose."""

import numpy as np
import plait
from plait import _core

from suite import values

testing = _core._testing
STEP = 1e-5
MOST_ELEMENTS = 300


def _numbers(tensor, like):
    return np.zeros(like.shape) if tensor is None else tensor.numpy()


def _first(case, operands, attributes):
    return values.run(case, operands, attributes)


def _smooth(first, second):
    """Where two difference quotients agree, so that there is a derivative."""
    return np.abs(first - second) <= 1e-4 * np.maximum(1, np.abs(second))


def _samples(case, quick):
    """Operands in f64, small enough to differentiate."""
    if plait.f64 not in case.dtypes:
        return
    random = np.random.default_rng(2)
    found = 0
    for sample in case.samples:
        operands = case.operands_of(sample, plait.f64, random)
        if sum(x.size for x in operands) > MOST_ELEMENTS or not any(x.size for x in operands):
            continue
        if not any(x.dtype == np.float64 for x in operands):
            continue
        found += 1
        if quick and found > 3:
            return
        yield sample, operands


def _direction(case, random, i, array):
    if case.direction is not None:
        return case.direction(random, i, array)
    return random.uniform(-1, 1, array.shape)


def _moved(operands, directions, step):
    return [x if d is None else x + step * d for x, d in zip(operands, directions)]


def _quotients(case, operands, directions, attributes, step):
    ahead = values.run(case, _moved(operands, directions, step), attributes)
    behind = values.run(case, _moved(operands, directions, -step), attributes)
    with np.errstate(all="ignore"):
        return [(a.astype(float) - b.astype(float)) / (2 * step) if a.dtype.kind == "f" else None
                for a, b in zip(ahead, behind)]


def _wrong(actual, case, operands, directions, attributes, result=0):
    """How a derivative differs from the difference quotient, where there is one."""
    wide = _quotients(case, operands, directions, attributes, STEP)[result]
    near = _quotients(case, operands, directions, attributes, STEP / 2)[result]
    smooth = _smooth(wide, near) & np.isfinite(near)
    if smooth.sum() * 2 < smooth.size:
        return f"no derivative to compare with at {smooth.size - smooth.sum()} of {smooth.size} places: choose other operands"
    with np.errstate(invalid="ignore"):
        bad = smooth & ~(np.abs(actual - near) <= 1e-4 * np.maximum(1, np.abs(near)) * 0.5)
    if bad.any():
        place = tuple(int(i[0]) for i in np.nonzero(bad)) if bad.ndim else ()
        return f"{actual[place]!r} at {list(place)}, by differences {near[place]!r}"
    return None


def check_partials(case, quick=False):
    if "partials" not in case.primitive.rules or case.blocks_derivative:
        return
    for sample, operands in _samples(case, quick):
        found = testing.partials(case.primitive.name, [plait.borrow(x) for x in operands], **sample.attributes)
        if values.run(case, operands, sample.attributes)[0].dtype != np.float64:
            continue
        for i, partial in enumerate(found):
            if operands[i].dtype != np.float64 or operands[i].size == 0 or i in case.fixed:
                continue
            directions = [np.ones_like(x) if k == i else None for k, x in enumerate(operands)]
            if wrong := _wrong(_numbers(partial, operands[i]), case, operands, directions, sample.attributes):
                yield f"({sample}) by operand {i}: {wrong}"


def check_transposes(case, quick=False):
    """<cotangent, f(x + v) - f(x)> = <transpose(cotangent), v>, as f is linear in each operand."""
    if "transposes" not in case.primitive.rules:
        return
    random = np.random.default_rng(3)
    for sample, operands in _samples(case, quick):
        before = values.run(case, operands, sample.attributes)[0]
        if before.dtype.kind != "f":
            continue
        # A whole number, which every inexact dtype holds, so that what a cast loses does not count.
        cotangent = random.integers(-4, 4, before.shape).astype(before.dtype)
        for i, operand in enumerate(operands):
            if operand.dtype != np.float64:
                continue
            direction = random.integers(-8, 8, operand.shape).astype(float)
            result = testing.transpose(case.primitive.name, [plait.borrow(x) for x in operands], i,
                                       plait.borrow(cotangent), **sample.attributes)
            if result is None:
                continue
            if result.shape != operand.shape or result.dtype != plait.f64:
                yield f"({sample}) for operand {i}: gives {result.dtype}{result.shape}, not that of the operand"
                continue
            moved = [operand + direction if k == i else x for k, x in enumerate(operands)]
            after = values.run(case, moved, sample.attributes)[0]
            left = np.sum(cotangent.astype(float) * (after.astype(float) - before.astype(float)))
            right = np.sum(result.numpy() * direction)
            size = np.sum(np.abs(cotangent.astype(float)) * (np.abs(after.astype(float)) + np.abs(before.astype(float))))
            accuracy = 1e-9 if before.dtype == np.float64 else 1e-2
            if not abs(left - right) <= accuracy * max(1, size):
                yield f"({sample}) for operand {i}: <transpose(ct), v> = {right}, <ct, f(v)> = {left}"


def _has_tangents(case, operands, attributes):
    """Some primitives have no derivative with some attributes, and say so."""
    try:
        directions = [plait.borrow(np.ones_like(x)) if x.dtype == np.float64 else None for x in operands]
        testing.tangents(case.primitive.name, [plait.borrow(x) for x in operands], directions, **attributes)
    except plait.ValueError as error:
        if "has no derivative" in error.message:
            return False
        raise
    return True


def check_tangents(case, quick=False):
    if "tangents" not in case.primitive.rules:
        return
    random = np.random.default_rng(4)
    for sample, operands in _samples(case, quick):
        if not _has_tangents(case, operands, sample.attributes):
            continue
        movable = [i for i, x in enumerate(operands) if x.dtype == np.float64]
        for moving in [[i] for i in movable] + ([movable] if len(movable) > 1 else []):
            directions = [_direction(case, random, i, x) if i in moving else None for i, x in enumerate(operands)]
            given = [None if d is None else plait.borrow(np.asarray(d)) for d in directions]
            found = testing.tangents(case.primitive.name, [plait.borrow(x) for x in operands], given, **sample.attributes)
            results = values.run(case, operands, sample.attributes)
            for k, result in enumerate(results):
                if result.dtype != np.float64 or k >= len(found):
                    continue
                actual = _numbers(found[k], result)
                if wrong := _wrong(actual, case, operands, directions, sample.attributes, k):
                    yield f"({sample}) result {k}, operands {moving}: {wrong}"
