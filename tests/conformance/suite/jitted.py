"""Under plait.jit: from the record, for sizes that differ, and with derivatives inside and outside."""

import numpy as np
import plait

from suite import derivatives, values
from suite.cases import MOST_ELEMENTS


def check_jit(case, quick=False):
    yield from _check_values(case, quick)
    yield from _check_derivatives(case)


def _check_values(case, quick):
    """One jitted function for all samples, whose sizes differ from call to call, and then for all of them again."""
    random = np.random.default_rng(12)
    dtype = plait.f32 if plait.f32 in case.dtypes else case.dtypes[0]
    name = case.primitive.name
    jitted = plait.jit(lambda given, attributes: plait.apply(name, given, **attributes))
    tried = []
    for sample in case.samples:
        operands = case.operands_of(sample, dtype, random)
        if sum(x.size for x in operands) <= MOST_ELEMENTS and not (quick and len(tried) > 5):
            tried.append((sample, operands, values.run(case, operands, sample.attributes)))
    for way in ("recorded", "from the record"):
        for sample, operands, eager in tried:
            results = jitted([plait.asarray(x) for x in operands], sample.attributes)
            results = [each.numpy() for each in (results if isinstance(results, (list, tuple)) else [results])]
            if [x.shape for x in results] != [x.shape for x in eager]:
                yield f"({sample}) {way}: {[x.shape for x in results]}, eagerly {[x.shape for x in eager]}"
            elif case.repeatable and not all(map(are_alike, results, eager)):
                yield f"({sample}) {way}: other numbers than eagerly"
    if tried and jitted.stats().hits == 0:
        yield f"never ran from the record: {jitted.stats()}"


def are_alike(compiled, eager):
    """Equal to the last bit, except where kernels sum along rows in another order: then a few units of the greatest
    number."""
    if compiled.tobytes() == eager.tobytes():
        return True
    if compiled.dtype != eager.dtype or plait.asarray(eager).dtype.kind not in ("floating", "complex"):
        return False
    unit = plait.finfo(plait.asarray(eager).dtype).eps
    units = 8
    if eager.dtype.kind not in "fc":  # bf16 and f8, which NumPy does not know
        compiled, eager, units = compiled.astype(np.float32), eager.astype(np.float32), 2
    greatest = np.max(np.abs(eager[np.isfinite(eager)]), initial=0)
    return np.allclose(compiled, eager, rtol=0, atol=units * unit * greatest, equal_nan=True)


def _check_derivatives(case):
    """jit of the gradient, the gradient of jit, each mode over the other through it, and vmap."""
    for sample, f in derivatives._samples(case, quick=True):
        if not case.repeatable:
            continue
        every = tuple(range(len(f.points)))
        jitted = plait.jit(f.number)

        def inside(*points):
            return plait.grad(jitted, argnums=every)(*points)

        outside = plait.jit(lambda *points: derivatives._gradient(f, *points))
        gradient = derivatives._gradient(f, *f.points)
        ways = {
            "grad of jit": lambda: (inside(*f.points), gradient),
            "grad of jit, from the record": lambda: (inside(*f.points), gradient),
            "jit of grad": lambda: (outside(*f.points), gradient),
            "jit of grad, from the record": lambda: (outside(*f.points), gradient),
            "jit of grad of jit": lambda: (plait.jit(inside)(*f.points), gradient),
        }
        if not case.once:
            slope = plait.jvp(lambda *x: derivatives._gradient(f, *x), f.points, f.directions)[1]
            ways["jvp of jit of grad"] = lambda: (plait.jvp(outside, f.points, f.directions)[1], slope)
            ways["jvp of grad of jit"] = lambda: (plait.jvp(inside, f.points, f.directions)[1], slope)
        if not case.cannot_batch:
            stacked = [plait.stack([x, x]) for x in f.points]
            ways["vmap of jit of grad"] = lambda: (plait.vmap(outside)(*stacked), [plait.stack([x, x]) for x in gradient])
        for way, found in ways.items():
            if wrong := derivatives._unlike(*found()):
                yield f"{f.operands[f.moving[0]].dtype} ({sample}) {way}: {wrong}"
