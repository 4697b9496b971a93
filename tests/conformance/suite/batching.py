"""Index signatures compared with kernels, and batching (by the signature or by a rule) compared with a loop over
slices: the rule itself, and plait.vmap along any axis."""

import numpy as np
import plait
from plait import _core

from suite import compare, tolerances, values

testing = _core._testing
MOST_ELEMENTS = 2_000
MOST_ELEMENTS_BY_AXIS, MOST_SAMPLES_BY_AXIS = 200, 4


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


def _difference(case, actual, expected, attributes, operands, scale=None):
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return f"gives {actual.dtype}{list(actual.shape)}, expected {expected.dtype}{list(expected.shape)}"
    dtype = values.DTYPE_OF[actual.dtype]
    allowed = 2 * tolerances.ulps(case.tolerance, dtype) if dtype.kind in ("floating", "complex") else 0
    if scale is None and case.scale is not None:
        scale = np.max(np.abs(expected), initial=0)
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


# ---- The same through plait.vmap, with the samples along any axis.

SIZES = (2, 3)  # sizes of two levels of vmap


def _samples_by_axis(case, quick):
    """Small samples, and of those whose operands have equal shapes the first."""
    known = set()
    for sample, draws in _samples(case, quick=False):
        kind = tuple(x.shape for x in draws[0])
        if kind in known or sum(x.size for x in draws[0]) > MOST_ELEMENTS_BY_AXIS:
            continue
        known.add(kind)
        if len(known) > (2 if quick else MOST_SAMPLES_BY_AXIS):
            return
        yield sample, draws


def _loop(function, sizes, place=()):
    """The results of the function at each index, in arrays with these leading sizes."""
    if not sizes:
        return function(*place)
    parts = [_loop(function, sizes[1:], (*place, k)) for k in range(sizes[0])]
    return [np.stack(each) for each in zip(*parts)]


def _levels_of_one(draws):
    """For one level of vmap: the axis of the samples of each operand, and of the results."""
    for flags in _patterns(len(draws[0])):
        ranks = [x.ndim for x, flag in zip(draws[0], flags) if flag]
        for place in range(max(ranks) + 1):
            yield [([min(place, x.ndim) if flag else None for x, flag in zip(draws[0], flags)], 0)]
        yield [([0 if flag else None for flag in flags], -1)]


def _levels_of_two(draws):
    """For two levels, the outer one first, with one batched operand each."""
    operands = draws[0][:3]
    for i in range(len(operands)):
        for j in range(len(operands)):
            first, last_of_inner, last = 0, operands[j].ndim, operands[i].ndim + (i == j)
            for outer, inner in (((last, 0), (first, -1)), ((first, -1), (last_of_inner, 0))):
                yield [([axis if k == which else None for k in range(len(draws[0]))], out)
                       for which, (axis, out) in ((i, outer), (j, inner))]


def _laid_out(draws, levels, sizes):
    """The operands with samples along the axes of the levels, and the operands at each index."""
    def at(*place):
        """Which draw an operand is: by the levels in which it has samples."""
        return [draws[sum(k for k, (axes, _) in zip(place, levels) if axes[i] is not None) % len(draws)][i]
                for i in range(len(draws[0]))]

    arrays = []
    for i in range(len(draws[0])):
        axes = [level[0][i] for level in levels]
        array = _loop(lambda *place: [at(*(k if axis is not None else 0 for k, axis in zip(place, axes)))[i]], sizes)[0]
        # The outer level's axis belongs to an operand that has the inner one's already.
        for depth in reversed(range(len(levels))):
            array = np.moveaxis(array, depth, depth + axes[depth]) if axes[depth] is not None else array.take(0, depth)
        arrays.append(array)
    return arrays, at


def _wrong_by_axis(case, sample, draws, levels):
    sizes = (len(draws),) if len(levels) == 1 else SIZES

    def function(*given):
        return plait.apply(case.primitive.name, list(given), **sample.attributes)

    for axes, out in reversed(levels):
        function = plait.vmap(function, tuple(axes), out)
    arrays, at = _laid_out(draws, levels, sizes)
    found = function(*[plait.borrow(x.copy()) for x in arrays])
    found = [each.numpy() for each in (found if isinstance(found, tuple) else (found,))]
    expected = _loop(lambda *place: values.run(case, at(*place), sample.attributes), sizes)
    if len(found) != len(expected):
        return f"{len(found)} results, expected {len(expected)}"
    for result, wanted in zip(found, expected):
        for depth, (_, out) in enumerate(levels):
            result = np.moveaxis(result, depth if out == 0 else -1, depth)
        if wrong := _difference(case, result, wanted, sample.attributes, arrays):
            return wrong
    return None


def check_axes(case, quick=False):
    """vmap with the samples along each axis of each operand alone and of all of them, and vmap of vmap."""
    for sample, draws in _samples_by_axis(case, quick):
        has_results = case.oracle is None or values.ask(case, draws[0], sample.attributes)
        if not case.repeatable or not has_results:
            continue
        for levels in (*_levels_of_one(draws), *_levels_of_two(draws)):
            try:
                wrong = _wrong_by_axis(case, sample, draws, levels)
                if case.cannot_batch:
                    wrong = f"is batched, though {case.cannot_batch}"
            except plait.Error as error:
                wrong = None if case.cannot_batch else f"{type(error).__name__}: {error}"
            if wrong:
                described = ", in ".join(f"axes {axes} to {out}" for axes, out in levels)
                yield f"({sample}) vmap along {described}: {wrong}"
