"""Results compared with the oracle: over dtypes, shapes, layouts and attributes; then special values."""

import itertools

import numpy as np
import plait
from plait.inside.arrays.interop import numpy_dtype

from suite import compare, differences, tolerances
from suite.cases import LARGE, Sample, small_samples
from suite.layouts import LAYOUTS, laid_out

WIDER = {"f32": np.float64, "f16": np.float64, "bf16": np.float64, "f8e4m3": np.float64, "f8e5m2": np.float64,
         "c64": np.complex128}
DTYPE_OF = {numpy_dtype(dtype): dtype for dtype in plait.dtypes}


def run(case, operands, attributes):
    """Plait's results as arrays."""
    results = plait.apply(case.primitive.name, [plait.borrow(x) for x in operands], **attributes)
    return [each.numpy() for each in (results if isinstance(results, tuple) else (results,))]


def ask(case, operands, attributes):
    """The oracle's results for the same numbers, in the widest dtype that it supports."""
    def widened(array):
        dtype = DTYPE_OF[array.dtype]
        if dtype.name == "f64" and case.extended:
            return array.astype(np.longdouble)
        wide = case.wide or (case.wide is False and dtype.name in ("bf16", "f8e4m3", "f8e5m2"))
        return array.astype(WIDER[dtype.name]) if wide and dtype.name in WIDER else array

    with np.errstate(all="ignore"):
        results = case.oracle(*map(widened, operands), **attributes)
    return [np.asarray(each) for each in (results if isinstance(results, tuple) else (results,))]


def expected_dtype(case, operands, attributes, expected):
    if case.result_dtype is not None:
        dtype = case.result_dtype(DTYPE_OF[operands[-1].dtype] if operands else None, attributes)
        return dtype or DTYPE_OF[operands[0].dtype]
    if expected.dtype.kind in "fcV" or expected.dtype == np.longdouble:
        inexact = [DTYPE_OF[x.dtype] for x in operands if DTYPE_OF[x.dtype].kind in ("floating", "complex")]
        if inexact:
            dtype = inexact[-1]
            is_real = dtype.kind == "complex" and expected.dtype.kind == "f"
            return {"c64": plait.f32, "c128": plait.f64}[dtype.name] if is_real else dtype
    return DTYPE_OF[expected.dtype]


def scale_of(case, operands, attributes, expected, dtype):
    """The magnitude that errors are relative to; None if it is the result's."""
    if case.scale is None or dtype.kind not in ("floating", "complex"):
        return None
    wide = [np.abs(x.astype(np.complex128)) if x.dtype.kind == "c" else np.abs(x.astype(np.float64)) for x in operands]
    with np.errstate(all="ignore"):
        return np.maximum(case.scale(*wide, **attributes), np.abs(expected).astype(np.float64))


def disagreements(case, operands, attributes, special=False):
    """A description of the differences between Plait and the oracle."""
    actual = run(case, operands, attributes)
    if case.check is not None:
        wrong = case.check(operands, actual, attributes)
        return [wrong] if wrong else []
    expected = ask(case, operands, attributes)
    if len(actual) != len(expected):
        return [f"{len(actual)} results, expected {len(expected)}"]
    found = []
    for a, e in zip(actual, expected):
        dtype = expected_dtype(case, operands, attributes, e)
        if a.dtype != numpy_dtype(dtype) or a.shape != e.shape:
            found.append(f"gives {DTYPE_OF[a.dtype]}{list(a.shape)}, expected {dtype}{list(e.shape)}")
            continue
        scale = scale_of(case, operands, attributes, e, dtype)
        mask = compare.differing(a, e, dtype, tolerances.ulps(case.tolerance, dtype), scale, special and case.zero_signs)
        if special:
            mask &= ~differences.known(case.primitive.name, operands, a)
        if mask.any():
            found.append(compare.report(a, e, mask, operands, dtype))
    return found


def check_values(case, quick=False):
    random = np.random.default_rng(1)
    layouts = list(LAYOUTS)
    for number, dtype in enumerate(case.dtypes):
        for sample in case.samples:
            if sample.large:
                continue
            operands = case.operands_of(sample, dtype, random)
            for wrong in disagreements(case, operands, sample.attributes):
                yield f"{dtype} ({sample}): {wrong}"
            for layout in (layouts if not quick else [layouts[number % len(layouts)]]):
                laid = laid_out(operands, layout)
                # Repetition would change numbers that were chosen for their meaning.
                if laid is None or (layout == "repeated" and any(isinstance(x, np.ndarray) for x in sample.operands)):
                    continue
                if layout == "repeated" and case.primitive.elementwise == "no":
                    continue
                for wrong in disagreements(case, laid, sample.attributes):
                    yield f"{dtype} ({sample}) {layout}: {wrong}"
    yield from check_large(case, random, quick)
    if not quick:
        yield from check_small(case, random)


def check_small(case, random):
    """Sizes of 0 and 1 that neither Plait nor the oracle refuses."""
    for sample, dtype in small_samples(case):
        operands = case.operands_of(sample, dtype, random)
        try:
            run(case, operands, sample.attributes)
        except plait.Error:
            continue
        try:
            found = disagreements(case, operands, sample.attributes)
        except Exception:  # whatever the oracle raises
            continue
        for wrong in found:
            yield f"{dtype} ({sample}): {wrong}"


def check_large(case, random, quick):
    dtype = plait.f32 if plait.f32 in case.dtypes else case.dtypes[0]
    samples = [sample for sample in case.samples if sample.large]
    if case.large:
        samples.append(Sample((LARGE,) * len(case.samples[0].operands), case.samples[0].attributes))
    for sample in samples if not quick else ():
        for wrong in disagreements(case, case.operands_of(sample, dtype, random), sample.attributes):
            yield f"{dtype} ({sample}): {wrong}"


def special_values(dtype, few):
    """Special values of the operands of functions."""
    to = numpy_dtype(dtype)
    if dtype.kind == "boolean":
        return np.array([False, True])
    if dtype.kind == "integer":
        limits = np.iinfo(to)
        values = [0, 1, 2, 3, 7, limits.max, limits.min, limits.max - 1, limits.min + 1, limits.bits - 1, limits.bits]
        values += [-1, -2, -7] if limits.min < 0 else []
        return np.array(sorted(set(values)), to)
    mantissa, least = compare.FORMATS[dtype.name]
    tiny = 2.0 ** (least - mantissa)
    values = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan]
    if not few:
        values += [0.5, -0.5, 2.0, -2.0, 3.0, 1e-3, tiny, -tiny, 3 * tiny, 2.0**least, -(2.0**least), 88.0, -88.0,
                   400.0, 1.5, 2.5, -2.5]
    with np.errstate(over="ignore"):
        return np.array(values).astype(to)


def check_special(case):
    """Every combination of special values for real elementwise primitives; for others, the special samples of the
    case."""
    for dtype in case.dtypes:
        if dtype.kind == "floating":
            for sample in case.specials:
                with np.errstate(over="ignore"):
                    operands = [x.astype(numpy_dtype(dtype)) for x in sample.operands]
                for wrong in disagreements(case, operands, sample.attributes, special=True):
                    yield f"{dtype} ({sample}): {wrong}"
        if case.special and case.primitive.elementwise != "no" and dtype.kind not in ("complex", "key"):
            operands = combinations(case, dtype)
            for wrong in disagreements(case, operands, {}, special=True):
                yield f"{dtype}: {wrong}"


def combinations(case, dtype):
    dtypes = case.dtypes_of(dtype)
    count = case.primitive.least_operands
    axes = [special_values(dtypes[i], few=count > 2) for i in range(count)]
    rows = list(itertools.product(*axes))
    return [np.array([row[i] for row in rows], axes[i].dtype) for i in range(count)]
