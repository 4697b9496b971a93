"""Derivative rules compared with central differences in f64 and c128, and transposes with the differences that they
transpose. A complex operand moves along a complex direction; cotangents are paired with tangents by Re(c · t)."""

import numpy as np
import plait
from plait import _core

from suite import values

testing = _core._testing
STEP = 1e-5
MOST_ELEMENTS = 300
INEXACT = (np.dtype(np.float64), np.dtype(np.complex128))


def _numbers(tensor, like):
    return np.zeros(like.shape) if tensor is None else tensor.numpy()


def _moves(array):
    return array.dtype in INEXACT


def _smooth(first, second):
    """A mask of where two difference quotients agree, so that a derivative exists."""
    return np.abs(first - second) <= 1e-4 * np.maximum(1, np.abs(second))


def _samples(case, quick):
    """Operands in f64 and c128, small enough to differentiate."""
    random = np.random.default_rng(2)
    for dtype in (plait.f64, plait.c128):
        found = 0
        for sample in case.samples if dtype in case.dtypes else ():
            operands = case.operands_of(sample, dtype, random)
            if sum(x.size for x in operands) > MOST_ELEMENTS or not any(x.size and _moves(x) for x in operands):
                continue
            found += 1
            if quick and found > 3:
                break
            yield sample, operands


def _direction(case, random, i, array):
    if case.direction is not None:
        return case.direction(random, i, array)
    real = random.uniform(-1, 1, array.shape)
    return real + 1j * random.uniform(-1, 1, array.shape) if array.dtype.kind == "c" else real


def _whole(random, array, most):
    """Integers, which every inexact dtype can represent, so that the rounding of a cast does not matter."""
    real = random.integers(-most, most, array.shape)
    return (real + 1j * random.integers(-most, most, array.shape) if array.dtype.kind == "c" else real).astype(array.dtype)


def _moved(operands, directions, step):
    return [x if d is None else x + step * d for x, d in zip(operands, directions)]


def _results(case, operands, attributes):
    """The values whose derivatives are compared: the results, or their unique part."""
    results = values.run(case, operands, attributes)
    return case.invariants(*results) if case.invariants else results


def _quotients(case, operands, directions, attributes, step):
    def results(moved):
        if case.path is None:
            return _results(case, moved, attributes)
        return case.path(moved, operands, _results(case, operands, attributes), attributes)

    ahead, behind = results(_moved(operands, directions, step)), results(_moved(operands, directions, -step))
    with np.errstate(all="ignore"):
        return [(a - b) / (2 * step) if _moves(a) else None for a, b in zip(ahead, behind)]


def _wrong(actual, case, operands, directions, attributes, result=0):
    """A description of how a derivative differs from the difference quotient, where it exists."""
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
    random = np.random.default_rng(5)
    for sample, operands in _samples(case, quick):
        if not _moves(values.run(case, operands, sample.attributes)[0]):
            continue
        for i in range(len(operands)):
            if not _moves(operands[i]) or operands[i].size == 0 or i in case.fixed:
                continue
            partial = testing.partial(case.primitive.name, [plait.borrow(x) for x in operands], i, **sample.attributes)
            direction = np.asarray(_direction(case, random, i, operands[i]))
            directions = [direction if k == i else None for k in range(len(operands))]
            if wrong := _wrong(partial.numpy() * direction, case, operands, directions, sample.attributes):
                yield f"{operands[i].dtype} ({sample}) by operand {i}: {wrong}"


def check_transposes(case, quick=False):
    """Re <cotangent, f(x + v) - f(x)> = Re <transpose(cotangent), v>, since f is linear in each operand."""
    if "transposes" not in case.primitive.rules:
        return
    random = np.random.default_rng(3)
    for sample, operands in _samples(case, quick):
        before = values.run(case, operands, sample.attributes)[0]
        if before.dtype.kind not in "fc":
            continue
        cotangent = _whole(random, before, 4)
        for i, operand in enumerate(operands):
            if _moves(operand):
                yield from _check_transpose(case, sample, operands, i, before, cotangent, _whole(random, operand, 8))


def _check_transpose(case, sample, operands, i, before, cotangent, direction):
    result = testing.transpose(case.primitive.name, [plait.borrow(x) for x in operands], i, plait.borrow(cotangent),
                               **sample.attributes)
    if result is None:
        return
    if result.shape != operands[i].shape or result.numpy().dtype != operands[i].dtype:
        yield f"({sample}) for operand {i}: gives {result.dtype}{result.shape}, not that of the operand"
        return
    moved = [x + direction if k == i else x for k, x in enumerate(operands)]
    after = values.run(case, moved, sample.attributes)[0]
    wide = np.complex128 if before.dtype.kind == "c" else np.float64
    left = np.sum(cotangent.astype(wide) * (after.astype(wide) - before.astype(wide))).real
    right = np.sum(result.numpy() * direction).real
    size = np.sum(np.abs(cotangent) * (np.abs(after.astype(wide)) + np.abs(before.astype(wide))))
    accuracy = 1e-9 if before.dtype in INEXACT else 1e-5 if before.dtype in (np.float32, np.complex64) else 0.3
    if not abs(left - right) <= accuracy * max(1, size):
        yield f"{operands[i].dtype} ({sample}) for operand {i}: <transpose(ct), v> = {right}, <ct, f(v)> = {left}"


def _has_tangents(case, operands, attributes):
    """Some primitives have no derivative for some attributes, and say so."""
    try:
        directions = [plait.borrow(np.ones_like(x)) if _moves(x) else None for x in operands]
        testing.tangents(case.primitive.name, [plait.borrow(x) for x in operands], directions, **attributes)
    except plait.ValueError as error:
        if "has no derivative" in error.message:
            return False
        raise
    return True


def _has_derivative(case, operands, attributes):
    return "tangents" not in case.primitive.rules or _has_tangents(case, operands, attributes)


def check_tangents(case, quick=False):
    if "tangents" not in case.primitive.rules:
        return
    random = np.random.default_rng(4)
    for sample, operands in _samples(case, quick):
        if not _has_tangents(case, operands, sample.attributes):
            continue
        movable = [i for i, x in enumerate(operands) if _moves(x)]
        for moving in [[i] for i in movable] + ([movable] if len(movable) > 1 else []):
            directions = [_direction(case, random, i, x) if i in moving else None for i, x in enumerate(operands)]
            given = [None if d is None else plait.borrow(np.asarray(d)) for d in directions]
            found = testing.tangents(case.primitive.name, [plait.borrow(x) for x in operands], given, **sample.attributes)
            results = values.run(case, operands, sample.attributes)
            for k, actual in enumerate(_tangents_of(case, results, found)):
                if actual is None:
                    continue
                if wrong := _wrong(actual, case, operands, directions, sample.attributes, k):
                    yield f"{operands[moving[0]].dtype} ({sample}) result {k}, operands {moving}: {wrong}"


def _tangents_of(case, results, found):
    """The tangents of the results, or of their unique part; None for those without tangents."""
    found = [_numbers(found[k] if k < len(found) else None, result) for k, result in enumerate(results)]
    if case.invariants is None:
        return [tangent if _moves(result) else None for tangent, result in zip(found, results)]
    ahead, behind = (case.invariants(*_moved(results, found, step)) for step in (STEP, -STEP))
    return [(a - b) / (2 * STEP) for a, b in zip(ahead, behind)]
