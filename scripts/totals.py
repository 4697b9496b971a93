#!/usr/bin/env python3
"""Sums up ctest's JUnit files: `N passed, N failed`, then the tests that did not run."""

import argparse
import sys
import xml.etree.ElementTree as ElementTree

SHOWN_LINES = 60


def outcome_of(case):
    """Passed, failed or skipped. A test whose program is missing counts as failed, as in ctest."""
    status = case.get("status")
    if status == "run":
        return "passed"
    skipped = case.find("skipped")
    reason = skipped.get("message", "") if skipped is not None else ""
    if status == "disabled" or (status == "notrun" and reason.startswith("SKIP")):
        return "skipped"
    return "failed"


def show_failure(case):
    print(f"-- {case.get('name')} failed:")
    lines = (case.findtext("system-out") or "").rstrip().splitlines()
    if len(lines) > SHOWN_LINES:
        print(f"   ({len(lines) - SHOWN_LINES} earlier lines left out)")
    for line in lines[-SHOWN_LINES:]:
        print(f"   {line}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--failures", action="store_true", help="show each failed test's output instead")
    parser.add_argument("--bare", action="store_true", help="print `PASSED FAILED SKIPPED` only")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()

    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for file in options.files:
        for case in ElementTree.parse(file).getroot().iter("testcase"):
            outcome = outcome_of(case)
            counts[outcome] += 1
            if options.failures and outcome == "failed":
                show_failure(case)
    if options.bare:
        print(counts["passed"], counts["failed"], counts["skipped"])
    elif not options.failures:
        skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
        print(f"{counts['passed']} passed, {counts['failed']} failed{skipped}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
