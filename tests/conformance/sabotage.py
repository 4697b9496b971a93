"""Damages each primitive in several ways, and requires that the suite's check of that kind fails and names the
primitive.

    sabotage.py [--rules] [PRIMITIVE or FAMILY...]    lists what survives; exits with 1 when something does
                                                      --rules: only derivatives: partials, transposes, tangents
"""

import argparse
import sys
import time

import numpy as np
import plait
from plait import _core

import run
from suite import cases, values

testing = _core._testing


def has_axis(case, result):
    """True if the elements of a sample's result differ along an axis, so that a shift is visible."""
    random = np.random.default_rng(7)
    for sample in case.samples:
        found = values.run(case, case.operands_of(sample, case.dtypes[-1], random), sample.attributes)[result]
        if found.size and any(count > 1 for count in found.shape) and len({x.tobytes() for x in found.ravel()}) > 1:
            return True
    return False


def results_of(case):
    sample = case.samples[0]
    return values.run(case, case.operands_of(sample, case.dtypes[0], np.random.default_rng(7)), sample.attributes)


def damages(case):
    """(kind, number, check): a way to damage the primitive, and the check that must notice it."""
    if not results_of(case):  # primitives without results are tested elsewhere
        return
    for result in range(len(results_of(case))):
        yield "values", result, "values"
        if has_axis(case, result):
            yield "axis", result, "values"
    yield from damages_to_rules(case)
    if not case.cannot_batch:
        yield "batching", 0, "batching"
        if case.repeatable:
            yield from ((kind, 0, "axes") for kind in ("batching", "batching_again"))
    if case.has_loops:
        yield "signature", 0, "signature"


def damages_to_rules(case):
    """The rule of each operand; for a rule that computes all tangents, each operand's part and each result's
    tangent."""
    primitive = case.primitive
    if not {plait.f64, plait.c128} & set(case.dtypes) or not results_of(case):
        return
    for operand in range(max(len(sample.operands) for sample in case.samples)):
        for kind, checks in RULES.items():
            if kind.removesuffix("_by") in primitive.rules and not why_not(case, kind, operand):
                yield from ((kind, operand, check) for check in checks)
    if "tangents" in primitive.rules and not moving_operands(case) <= set(case.fixed):
        dtype = next(each for each in (plait.f64, plait.c128) if each in case.dtypes)
        sample = case.samples[0]
        found = values.run(case, case.operands_of(sample, dtype, np.random.default_rng(7)), sample.attributes)
        for result in (i for i, array in enumerate(found) if array.dtype.kind in "fc"):
            yield from (("tangents", result, check) for check in ("tangents", "jvp"))


def moving_operands(case):
    dtype = next(each for each in (plait.f64, plait.c128) if each in case.dtypes)
    random = np.random.default_rng(7)
    drawn = [case.operands_of(sample, dtype, random) for sample in case.samples if not sample.large]
    return {i for operands in drawn for i, array in enumerate(operands) if array.dtype.kind in "fc"}


# The damages to a rule of one operand, and the checks that must notice them: of the rule alone, and of the derivative.
RULES = {
    "partials": ("partials", "jvp"),
    "transposes": ("transposes", "vjp"),
    "tangents_by": ("tangents", "jvp"),
}


def why_not(case, kind, operand):
    """The reason why damage to the rule of an operand has no effect; empty if it has one."""
    if operand in case.fixed:
        return "it is not differentiated by that"
    if operand not in moving_operands(case):
        return "it is not a real or complex number"
    if kind != "transposes" and case.blocks_derivative:
        return "it says zero on purpose"
    if kind == "partials" and case.primitive.elementwise == "truth":
        return "it gives truth values"
    return ""


def is_noticed(case, check):
    return next(iter(run.failures_of(case, check, quick=True)), None)


def selected_by(names):
    every = cases.load()
    unknown = set(names) - {case.primitive.name for case in every} - {case.family for case in every}
    if unknown:
        sys.exit(f"neither a primitive nor a family: {', '.join(sorted(unknown))}")
    return [case for case in every if not names or {case.primitive.name, case.family} & set(names)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rules", action="store_true")
    options = parser.parse_args()
    start = time.monotonic()
    selected = selected_by(options.names)
    tried, survivors, sound, untouched = 0, [], set(), []
    for case in selected:
        name = case.primitive.name
        rules_tried = 0
        for kind, number, check in list(damages_to_rules(case) if options.rules else damages(case)):
            if (name, check) not in sound:
                if wrong := is_noticed(case, check):
                    survivors.append(f"{name}: {check} fails without damage: {wrong}")
                sound.add((name, check))
            try:
                if not testing.damage(name, kind, number):
                    continue
                tried += 1
                rules_tried += kind in RULES or kind == "tangents"
                if not is_noticed(case, check):
                    survivors.append(f"{name}: {kind} {number}: the check of {check} does not notice")
            finally:
                testing.repair()
        if rules_tried == 0 and {"partials", "transposes", "tangents"} & set(case.primitive.rules):
            untouched.append(name)
    print("\n".join(survivors))
    if untouched:
        print(f"without a derivative that could be damaged: {', '.join(untouched)}")
    print(f"{tried} damages to {len(selected)} primitives, {len(survivors)} not noticed, {time.monotonic() - start:.0f} s")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
