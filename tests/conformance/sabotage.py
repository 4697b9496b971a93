"""Damages each primitive in each way, and demands that the suite's check of that kind fails by the primitive's name.

    sabotage.py [PRIMITIVE...]    lists what survives; exits with 1 when something does
"""

import sys
import time

import numpy as np
import plait
from plait import _core

import run
from suite import cases, values

testing = _core._testing


def count_of_results(case):
    random = np.random.default_rng(7)
    sample = case.samples[0]
    return len(values.run(case, case.operands_of(sample, case.dtypes[0], random), sample.attributes))


def has_axis(case, result):
    """Whether a sample gives elements that differ along an axis, so that shifting it shows."""
    random = np.random.default_rng(7)
    for sample in case.samples:
        found = values.run(case, case.operands_of(sample, case.dtypes[-1], random), sample.attributes)[result]
        if found.size and any(count > 1 for count in found.shape) and len({x.tobytes() for x in found.ravel()}) > 1:
            return True
    return False


def damages(case):
    """(kind, number, check): a way to damage the primitive and the check that must notice."""
    primitive = case.primitive
    if count_of_results(case) == 0:  # what has no results is tested elsewhere
        return
    for result in range(count_of_results(case)):
        yield "values", result, "values"
        if has_axis(case, result):
            yield "axis", result, "values"
    inexact = {plait.f64, plait.c128} & set(case.dtypes)
    for operand in range(max(1, primitive.least_operands)) if inexact else ():
        fixed = operand in case.fixed or case.blocks_derivative or case.dtypes_of(plait.f64)[operand] == plait.boolean
        if "partials" in primitive.rules and primitive.elementwise != "truth" and not fixed:
            yield "partials", operand, "partials"
            yield "partials", operand, "jvp"
        if "transposes" in primitive.rules:
            yield "transposes", operand, "transposes"
            yield "transposes", operand, "vjp"
    if "tangents" in primitive.rules and inexact:
        yield "tangents", 0, "tangents"
        yield "tangents", 0, "jvp"
    if not case.cannot_batch:
        yield "batching", 0, "batching"
    if case.has_loops:
        yield "signature", 0, "signature"


def is_noticed(case, check):
    return next(iter(run.failures_of(case, check, quick=True)), None)


def main():
    start = time.monotonic()
    selected = [case for case in cases.load() if not sys.argv[1:] or case.primitive.name in sys.argv[1:]]
    tried, survivors, sound = 0, [], set()
    for case in selected:
        name = case.primitive.name
        for kind, number, check in list(damages(case)):
            if (name, check) not in sound:
                if wrong := is_noticed(case, check):
                    survivors.append(f"{name}: {check} fails without damage: {wrong}")
                sound.add((name, check))
            try:
                if not testing.damage(name, kind, number):
                    continue
                tried += 1
                if not is_noticed(case, check):
                    survivors.append(f"{name}: {kind} {number}: the check of {check} does not notice")
            finally:
                testing.repair()
    print("\n".join(survivors))
    print(f"{tried} damages to {len(selected)} primitives, {len(survivors)} not noticed, {time.monotonic() - start:.0f} s")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
