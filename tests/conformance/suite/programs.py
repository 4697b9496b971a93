"""Traced compared with eager, print -> parse -> same program, and the type by the type rule compared with the
result."""

import numpy as np
import plait

from suite import values


def _same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def check_programs(case, quick=False):
    random = np.random.default_rng(6)
    dtypes = [plait.f32 if plait.f32 in case.dtypes else case.dtypes[0]] if quick else case.dtypes
    for dtype in dtypes:
        for sample in case.samples if dtype is dtypes[0] else case.samples[-1:]:
            operands = case.operands_of(sample, dtype, random)
            if sum(x.size for x in operands) <= 5_000:
                yield from (f"{dtype} ({sample}): {wrong}" for wrong in _check(case, operands, sample.attributes))


def _check(case, operands, attributes):
    stated = []

    def function(*tensors):
        results = plait.apply(case.primitive.name, tensors, **attributes)
        stated.extend((each.dtype, each.shape) for each in (results if isinstance(results, tuple) else (results,)))
        return results

    program = plait.trace(function)(*operands)
    text = program.text()
    again = plait.Program.parse(text)
    if again.text() != text:
        yield f"the text reads back to another program:\n{text}\n{again.text()}"
    if plait.Program.from_bytes(program.bytes()).text() != text:
        yield "the bytes read back to another program"
    eager = values.run(case, operands, attributes)
    for way, run in (("traced", program), ("parsed", again)):
        results = run(*operands)
        results = [each.numpy() for each in (results if isinstance(results, (list, tuple)) else [results])]
        if len(results) != len(eager) or (case.repeatable and not all(map(_same, results, eager))):
            yield f"{way}, it gives other results than eager: {results} instead of {eager}"
    for (dtype, shape), result in zip(stated, eager):
        known = [a == b for a, b in zip(shape, result.shape) if type(a) is int]
        if dtype != values.DTYPE_OF[result.dtype] or len(shape) != result.ndim or not all(known):
            yield f"the type rule says {dtype}{shape}, the kernel gives {result.dtype}{result.shape}"
