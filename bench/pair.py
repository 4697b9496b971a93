#!/usr/bin/env python3
"""Compares two builds of a benchmark program, which run in turn: median times and their ratio.

    bench/pair.py ../before/build/bench/plait_bench_ops build/bench/plait_bench_ops --filter 'add_in_a_loop|exponentials'
"""

import argparse
import collections
import json
import statistics
import subprocess


def times(program, arguments):
    output = subprocess.run([program, *arguments, "--benchmark_format=json"], check=True, capture_output=True, text=True).stdout
    return {each["name"]: each["real_time"] for each in json.loads(output)["benchmarks"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", help="the program of the first build")
    parser.add_argument("after", help="the same program of the second build")
    parser.add_argument("--filter", default=".", help="a regular expression of the cases (default: all)")
    parser.add_argument("--rounds", type=int, default=12, help="runs of each program (default: 12)")
    parser.add_argument("--seconds", type=float, default=0.15, help="least time of a case in a run (default: 0.15)")
    asked = parser.parse_args()
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    arguments = [f"--benchmark_filter={asked.filter}", f"--benchmark_min_time={asked.seconds}"]
    for i in range(asked.rounds):
        for program in (asked.before, asked.after)[:: -1 if i % 2 else 1]:
            for name, time in times(program, arguments).items():
                found[name][program].append(time)
    print(f"{'case':40} {'before':>12} {'after':>12} {'ratio':>7}")
    for name, by_program in found.items():
        before, after = (statistics.median(by_program[program]) for program in (asked.before, asked.after))
        print(f"{name:40} {before:12.1f} {after:12.1f} {after / before:7.3f}")


if __name__ == "__main__":
    main()
