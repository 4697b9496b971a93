"""A primitive recorded once for symbolic sizes must return, on each sample, the eager result."""

import numpy as np
import plait

from suite import values
from suite.cases import MOST_ELEMENTS

# Their attributes contain sizes as numbers, which symbols cannot equal.
SAYS_SIZES = ("broadcast", "irfft")


def _specs(operands):
    """The types of the operands, with a symbol for each size but 0 and 1, and the same symbol for equal sizes."""
    names = {}
    texts = []
    for x in operands:
        sizes = [str(n) if n < 2 else names.setdefault(n, f"n{len(names)}") for n in x.shape]
        texts.append(plait.Spec(f"{values.DTYPE_OF[x.dtype]}[{', '.join(sizes)}]"))
    return texts, bool(names)


def check_symbolic(case, quick=False):
    random = np.random.default_rng(8)
    dtype = plait.f32 if plait.f32 in case.dtypes else case.dtypes[0]
    tried = taken = 0
    reason = None
    for sample in case.samples:
        operands = case.operands_of(sample, dtype, random)
        specs, any_symbols = _specs(operands)
        if not any_symbols or sum(x.size for x in operands) > MOST_ELEMENTS or quick and taken > 5:
            continue
        tried += 1
        try:
            program = plait.trace(lambda *x, sample=sample: plait.apply(case.primitive.name, x, **sample.attributes))(*specs)
        except plait.Error as error:  # attributes may contain sizes as numbers
            reason = error
            continue
        taken += 1
        eager = values.run(case, operands, sample.attributes)
        results = program(*operands)
        results = [each.numpy() for each in (results if isinstance(results, (list, tuple)) else [results])]
        if [x.shape for x in results] != [x.shape for x in eager]:
            yield f"({sample}) of {', '.join(map(str, specs))}: {[x.shape for x in results]}, eagerly {[x.shape for x in eager]}"
        elif case.repeatable and not all(a.tobytes() == b.tobytes() for a, b in zip(results, eager)):
            yield f"({sample}) of {', '.join(map(str, specs))}: other numbers than eagerly"
    if tried and not taken and case.primitive.name not in SAYS_SIZES:
        yield f"is refused for every symbolic size: {reason}"
