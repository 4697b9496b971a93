"""Runs the conformance suite: `run.py` all of it, `run.py values reduce` one check of one family.

    run.py CHECK [FAMILY] [--quick]    a check (values, special, signature, batching, axes, programs, symbolic, partials,
                                       transposes, tangents, jvp, vjp, second, third, staged, remat, vmap, jit,
                                       compiled, table, functions) or `all`; of the primitives of a family;
                                       or devices, with PLAIT_CUDA=emulated
    run.py report                      how many primitives and functions are covered, and what is listed as different

Exits with 1 when something disagrees; each line begins with the primitive and the check.
"""

import argparse
import sys
import time

from suite import batching, cases, compiled, derivatives, devices, functions, jitted, programs, rules, symbolic, table, values

CHECKS = {
    "values": values.check_values,
    "special": values.check_special,
    "signature": batching.check_signature,
    "batching": batching.check_batching,
    "axes": batching.check_axes,
    "programs": programs.check_programs,
    "symbolic": symbolic.check_symbolic,
    "partials": rules.check_partials,
    "transposes": rules.check_transposes,
    "tangents": rules.check_tangents,
    "jvp": derivatives.check_jvp,
    "vjp": derivatives.check_vjp,
    "second": derivatives.check_second,
    "third": derivatives.check_third,
    "staged": derivatives.check_staged,
    "remat": derivatives.check_remat,
    "vmap": derivatives.check_vmap,
    "jit": jitted.check_jit,
    "compiled": compiled.check_compiled,
    "devices": devices.check_devices,
}
OF_THEIR_OWN = ("devices",)  # not part of `all`: they need settings
HAS_QUICK = set(CHECKS) - {"special"}
SHOWN = 3  # shown failures of one primitive in one check


def failures_of(case, check, quick):
    """The findings of one check; an exception is a finding too."""
    function = CHECKS[check]
    try:
        yield from function(case, quick=quick) if check in HAS_QUICK else function(case)
    except Exception as error:  # continue with the next primitive, whatever it is
        yield f"{type(error).__name__}: {error}"


def run(selected, checks, quick):
    failures = 0
    for case in selected:
        for check in checks:
            for number, wrong in enumerate(failures_of(case, check, quick)):
                failures += 1
                if number < SHOWN:
                    print(f"{case.primitive.name}: {check}: {wrong}")
                if number == 20:
                    print(f"{case.primitive.name}: {check}: and more")
                    break
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("check", nargs="?", default="all", choices=["all", "table", "functions", "report", *CHECKS])
    parser.add_argument("family", nargs="?")
    parser.add_argument("--quick", action="store_true", help="fewer samples and layouts")
    options = parser.parse_args()
    selected = cases.load(options.family)
    if not selected:
        parser.error(f"no family {options.family}; there are {', '.join(cases.families())}")
    start = time.monotonic()
    if options.check == "report":
        return table.report(selected)
    failures = 0
    if options.check == "functions":
        count, found = functions.check()
        print("\n".join(found))
        print(f"{count} calls, {len(found)} failures, {time.monotonic() - start:.1f} s")
        return 1 if found else 0
    if options.check == "table" or (options.check == "all" and options.family is None):
        failures += table.check()
    if options.check != "table":
        checks = [each for each in CHECKS if each not in OF_THEIR_OWN] if options.check == "all" else [options.check]
        failures += run(selected, checks, options.quick)
    print(f"{len(selected)} primitives, {failures} failures, {time.monotonic() - start:.1f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
