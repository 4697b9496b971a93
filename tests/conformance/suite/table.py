"""Checks of the table of primitives as a whole, and statistics."""

import collections

import plait

from suite import differences, oracles
from suite.cases import CASES, UNKNOWN

MOST_DIFFERENCES = 0.02

# Known gaps of the table. A primitive with a gap that is not listed fails, and so does a listed one without a gap.
WITHOUT_DERIVATIVE = set()
WITHOUT_BATCHING = set()

# Along an axis of a function that is recorded for one sample: they cannot be called here.
# tests/python/transforms/named_axes_test.py compares them with JAX.
ALONG_NAMED_AXES = {"all_reduce_sum", "all_reduce_maximum", "all_reduce_minimum", "all_reduce_product", "all_gather", "reduce_scatter", "all_to_all",
                    "axis_shift", "axis_permute", "axis_broadcast"}

DERIVATIVES = {"partials", "transposes", "tangents", "not_differentiable"}


def _problems():
    table = plait.ops()
    for name, primitive in table.items():
        if not primitive.oracle:
            yield f"{name}: no oracle: name in its declaration, after the summary, what it is checked against"
        alone = oracles.named_by(primitive) if primitive.elementwise != "no" else None
        if getattr(alone, "nin", primitive.least_operands) != primitive.least_operands:
            yield f"{name}: {primitive.oracle} takes another number of operands: name in its declaration of which"
        if name in ALONG_NAMED_AXES:
            continue
        if name not in CASES:
            yield f"{name}: no cases: add them to tests/conformance/families (README.md there says how)"
            continue
        yield from (f"{name}: {problem}" for problem in oracles.problems(CASES[name]))
        if not primitive.summary:
            yield f"{name}: no summary"
        if bool(DERIVATIVES & set(primitive.rules)) == (name in WITHOUT_DERIVATIVE):
            yield f"{name}: a derivative rule, or its place in WITHOUT_DERIVATIVE, is missing"
        can_be_batched = primitive.has_signature or "batching" in primitive.rules or primitive.most_operands == 0
        if can_be_batched == (name in WITHOUT_BATCHING):
            yield f"{name}: a batching rule, or its place in WITHOUT_BATCHING, is missing"
        untried = {d.name for d in primitive.takes} - {d.name for d in CASES[name].dtypes}
        if primitive.least_operands and CASES[name].operand_dtypes is None and untried - {"key"}:
            yield f"{name}: takes {', '.join(sorted(untried))} too, which no case has"
    for name in UNKNOWN:
        yield f"{name}: has cases, but is not in the table"
    share = differences.share(table)
    if share > MOST_DIFFERENCES:
        yield f"{share:.1%} of the primitives differ from their oracles, more than {MOST_DIFFERENCES:.0%}"


def check():
    failures = 0
    for problem in _problems():
        failures += 1
        print(f"table: {problem}")
    return failures


def report(cases):
    table = plait.ops()
    covered = {case.primitive.name for case in cases}
    rules = collections.Counter(rule for primitive in table.values() for rule in primitive.rules)
    print(f"{len(covered)} of {len(table)} primitives have cases, {sum(len(case.samples) for case in cases)} samples, "
          f"{sum(len(case.samples) * len(case.dtypes) for case in cases)} with their dtypes")
    print("rules: " + ", ".join(f"{count} {rule}" for rule, count in sorted(rules.items())))
    print(f"without a derivative: {', '.join(sorted(WITHOUT_DERIVATIVE)) or 'none'}")
    print(f"without batching: {', '.join(sorted(WITHOUT_BATCHING)) or 'none'}")
    print(f"differences from the oracle: {len(differences.DIFFERENCES)}, of {differences.share(table):.1%} of the primitives")
    for each in differences.DIFFERENCES:
        print(f"  {each.primitive}: {each.reason} (agrees: {each.agrees})")
    return 0
