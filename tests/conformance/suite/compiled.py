"""Compiled programs in which a kernel fuses the primitive with its neighbours: every dtype, every layout, sizes that
differ from call to call, and sizes of 0 and 1. The suite also runs it in guarded memory (PLAIT_ARENA=guarded), which
detects reads and writes outside of arrays."""

import numpy as np
import plait

from suite.cases import MOST_ELEMENTS, small_samples
from suite.jitted import are_alike
from suite.layouts import LAYOUTS, laid_out

LAYOUTS_TRIED = [None, *(layout for layout in LAYOUTS if layout != "repeated")]


def _kept(x):
    """The identity, as three operations with which a kernel may begin or end."""
    return plait.where(plait.abs(x) > 1e4, x * 2, x) if x.dtype.kind == "floating" else x


def _results(case, given, attributes):
    results = plait.apply(case.primitive.name, [_kept(x) for x in given], **attributes)
    return [_kept(x) for x in (results if isinstance(results, (list, tuple)) else [results])]


def _jitted(case):
    return plait.jit(lambda given, attributes: _results(case, given, attributes))


def _difference(given, attributes, run, eager):
    compiled = [x.numpy() for x in run(given, attributes)]
    if [x.shape for x in compiled] != [x.shape for x in eager]:
        return f"{[x.shape for x in compiled]}, eager {[x.shape for x in eager]}"
    return None if all(map(are_alike, compiled, eager)) else "other numbers than eager ones"


def check_compiled(case, quick=False):
    if not case.repeatable:
        return
    random = np.random.default_rng(21)
    jitted = _jitted(case)
    for dtype in case.dtypes:
        tried = 0
        for sample in case.samples:
            operands = case.operands_of(sample, dtype, random)
            if sum(x.size for x in operands) > MOST_ELEMENTS or quick and tried > 2:
                continue
            layout = LAYOUTS_TRIED[tried % len(LAYOUTS_TRIED)]
            tried += 1
            given = [plait.borrow(x) for x in layout and laid_out(operands, layout) or operands]
            eager = [x.numpy() for x in _results(case, given, sample.attributes)]
            if wrong := _difference(given, sample.attributes, jitted, eager):
                yield f"{dtype} ({sample}) {layout or 'dense'}: {wrong}"
    yield from _check_small(case, jitted, random)


def _check_small(case, jitted, random):
    """Compares programs compiled for symbolic sizes with those for concrete ones. What eager code refuses is
    refused."""
    for sample, dtype in small_samples(case, like=plait.f32):  # a dtype that neighbours support
        given = [plait.borrow(x) for x in case.operands_of(sample, dtype, random)]
        for run, sizes in ((jitted, "any"), (_jitted(case), "these")):
            if wrong := _small_difference(case, given, sample.attributes, run):
                yield f"{dtype} ({sample}) for {sizes} sizes: {wrong}"


def _small_difference(case, given, attributes, run):
    try:
        eager = [x.numpy() for x in _results(case, given, attributes)]
    except plait.Error:
        try:
            run(given, attributes)
        except plait.Error:
            return None
        return "runs, and is refused in eager"
    try:
        run(given, attributes)  # the first call may only record
        return _difference(given, attributes, run, eager)
    except plait.Error as error:
        return f"is refused: {error}"
