#!/usr/bin/env python3
"""Prints the numbers of docs/architecture.md, "The house in numbers": folders, include cycles by room, and the CPU
seconds that a compiler needs for the umbrella header and an example (best of three; needs an idle machine)."""

import collections
import os
import pathlib
import resource
import subprocess
import tempfile

import check_rooms

COMPILER = [os.environ.get("CXX", "g++"), "-std=c++20", "-O1", "-g1", "-I", str(check_rooms.ROOT), "-c"]


def seconds_to_compile(source, folder):
    """Also the size of the code in KB."""
    objects, best = pathlib.Path(folder) / "object.o", None
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run([*COMPILER, source, "-o", objects], check=True)
        used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        best = used if best is None else min(best, used)
    sizes = subprocess.run(["size", objects], check=True, capture_output=True, text=True).stdout.splitlines()[1].split()
    return best, int(sizes[3]) / 1000


def main():
    folders = collections.Counter(file.parent for file in (check_rooms.ROOT / "plait").rglob("*.*")
                                  if file.suffix in (".h", ".inl", ".cpp"))
    crowded = sum(count > check_rooms.MOST_FILES_IN_A_FOLDER for count in folders.values())
    print(f"{crowded} of {len(folders)} folders have more than {check_rooms.MOST_FILES_IN_A_FOLDER} files")
    largest = {}
    for group in check_rooms.cycles(check_rooms.units_included()):
        room = group[0].split("/")[1]
        largest[room] = max(largest.get(room, 0), len(group))
    print("largest include cycles:", ", ".join(f"{room} {size}" for room, size in sorted(largest.items(), key=lambda each: -each[1])))
    with tempfile.TemporaryDirectory() as folder:
        umbrella = pathlib.Path(folder) / "umbrella.cpp"
        umbrella.write_text("#include <plait/plait.h>\n", encoding="utf-8")
        for name, source in (("plait/plait.h", umbrella), ("examples/train_vit.cpp", check_rooms.ROOT / "examples" / "train_vit.cpp")):
            seconds, size = seconds_to_compile(source, folder)
            print(f"{name}: {seconds:.2f} s of CPU, {size:.0f} KB of code")


if __name__ == "__main__":
    main()
