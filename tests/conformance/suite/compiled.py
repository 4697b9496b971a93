"""Compiled between neighbours that a kernel takes along: every dtype, every layout, sizes that differ from call to call.
The suite runs it in guarded memory, too (PLAIT_ARENA=guarded), where whoever reads or writes beside an array is found."""

import numpy as np
import plait

from suite import values
from suite.jitted import MOST_ELEMENTS, are_alike
from suite.layouts import LAYOUTS, laid_out

LAYOUTS_TRIED = [None, *(layout for layout in LAYOUTS if layout != "repeated")]


def _kept(x):
    """The numbers themselves, by three operations that a kernel may begin or end with."""
    return plait.where(plait.abs(x) > 1e4, x * 2, x) if x.dtype.kind == "floating" else x


def _results(case, given, attributes):
    results = plait.apply(case.primitive.name, [_kept(x) for x in given], **attributes)
    return [_kept(x) for x in (results if isinstance(results, (list, tuple)) else [results])]


def check_compiled(case, quick=False):
    if not case.repeatable:
        return
    random = np.random.default_rng(21)
    jitted = plait.jit(lambda given, attributes: _results(case, given, attributes))
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
            compiled = [x.numpy() for x in jitted(given, sample.attributes)]
            if [x.shape for x in compiled] != [x.shape for x in eager]:
                yield f"{dtype} ({sample}) {layout or 'dense'}: {[x.shape for x in compiled]}, at once {[x.shape for x in eager]}"
            elif not all(map(are_alike, compiled, eager)):
                yield f"{dtype} ({sample}) {layout or 'dense'}: other numbers than at once"
