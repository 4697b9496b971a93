"""Random nests of transforms over every differentiable primitive, and without derivatives over the others. Results are
compared with the same derivatives computed one direction at a time by unrolled code, whose outermost derivative is compared
with differences; and with JAX, if it has the function.

    nests.py                     a share of them; exits with 1 where one differs
    nests.py exp sort            of these primitives
    nests.py --like "NEST"       the nest that a failure names, such as "exp[0] (2,)->() | grad:3 vmap:2"

PLAIT_SHARE=20 tries 20 times as many, PLAIT_SEED=7 others.
"""

import collections
import os
import sys
import traceback

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import numpy as np  # noqa: E402

from suite import cases, nest_bases, nest_parts  # noqa: E402
from suite.nest_libraries import Differences, Jax, Ours, Unrolled  # noqa: E402

TOLERANCE = 1e-7  # tolerance of the largest element
NESTS = 5  # per primitive
JAX_EVERY = 6  # one of so many nests is also run by JAX, which compiles each operation of each
DONE = collections.Counter()  # numbers of comparisons


def wrong(found, wanted, tolerance=TOLERANCE):
    """A description of the difference; None if there is none."""
    if found.shape != wanted.shape:
        return f"{list(found.shape)} instead of {list(wanted.shape)}"
    if not np.isfinite(wanted).all():
        return None
    allowed = tolerance * max(1e-2, np.max(np.abs(wanted), initial=0))
    with np.errstate(invalid="ignore"):
        bad = ~(np.abs(found - wanted) <= allowed)
    if not bad.any():
        return None
    place = tuple(int(k[0]) for k in np.nonzero(bad)) if bad.ndim else ()
    return f"{found[place]!r} at {list(place)}, expected {wanted[place]!r}"


def failure_of(nest, with_jax):
    """A description of what is wrong with a nest; None if nothing is, or if it has no derivative there."""
    try:
        wanted = nest.run(Unrolled())
    except Exception:
        return "unrolled: " + _last_lines()
    if not np.isfinite(wanted).all() or not nest.is_finite():
        return None
    try:
        found = nest.run(Ours())
    except Exception:
        return _last_lines()
    if words := wrong(found, wanted):
        return words
    if nest.order and nest.base.case.path is None:  # else the derivative is not that of the computation
        first, second = nest.run(Unrolled(), Differences(1e-3)), nest.run(Unrolled(), Differences(5e-4))
        if wrong(first, second, 1e-5) is None:
            if words := wrong(wanted, second, 1e-4):
                return f"by differences: {words}"
            DONE["by differences"] += 1
    if with_jax and nest.base.in_jax is not None:
        try:
            theirs = nest.run(Jax())
        except Exception:  # unsupported by JAX
            return None
        if words := wrong(wanted, theirs, 1e-6):
            return f"by JAX: {words}"
        DONE["by JAX"] += 1
    return None


def _last_lines():
    error = sys.exc_info()[1]
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({os.path.basename(where.filename)}:{where.lineno})"


def smallest(nest, words):
    """The nest without the transforms that are not needed for the failure."""
    for i in range(len(nest.parts)):
        fewer = nest.without(i)
        if fewer.parts and (again := failure_of(fewer, words.startswith("by JAX"))):
            return smallest(fewer, again)
    return nest, words


def main(arguments):
    if arguments[:1] == ["--like"]:
        nest = nest_parts.parse(arguments[1])
        print(nest, failure_of(nest, True) or "is right")
        return 0
    share, seed = float(os.environ.get("PLAIT_SHARE", "1")), int(os.environ.get("PLAIT_SEED", "0"))
    random = np.random.default_rng(seed)
    tried, failures, used = 0, {}, collections.Counter()
    all_cases = cases.load()
    problems = [] if arguments else list(nest_bases.problems(all_cases))
    print("".join(f"{each}\n" for each in problems), end="")
    for case in [*nest_bases.differentiable(all_cases), *nest_bases.of_values(all_cases)]:
        if arguments and case.primitive.name not in arguments:
            continue
        for _ in range(max(1, round(NESTS * share))):
            nest = nest_parts.drawn(case, random)
            tried += 1
            used.update(part.name for part in nest.parts)
            if words := failure_of(nest, tried % JAX_EVERY == 0):
                nest, words = smallest(nest, words)
                failures.setdefault(str(nest), words)
                print(f"{nest}\n    {words}", flush=True)
    print(f"{tried} nests, {DONE['by differences']} compared with differences, {DONE['by JAX']} with JAX; {len(failures)} differ")
    unused = set(nest_parts.PARTS) - set(used)
    if unused and not arguments:
        print(f"never used: {', '.join(sorted(unused))}")
    return 1 if failures or problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
