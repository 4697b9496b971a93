#!/usr/bin/env python3
"""Runs clang-tidy over a compilation database: tidy.py BUILD_FOLDER [PATH_PREFIX...].

A source without warnings is not checked again until it, a header of the project that it includes, its command or the
configuration changes.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIDY = "clang-tidy-19"


def entries_of(build_folder, prefixes):
    """(file, compiler arguments) of each source of the project below one of the prefixes."""
    for entry in json.loads((build_folder / "compile_commands.json").read_text()):
        file = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if not file.is_relative_to(ROOT) or file.is_relative_to(build_folder):
            continue
        if prefixes and not str(file.relative_to(ROOT)).startswith(prefixes):
            continue
        words = shlex.split(entry["command"])
        # Before the compiler's name comes a launcher; after it come arguments.
        compiler = next(n for n, word in enumerate(words) if "++" in pathlib.Path(word).name)
        yield file, entry["directory"], words[compiler:]


def project_files_behind(words, directory):
    """The source and all headers of the project that it includes."""
    output = subprocess.run([*without_output(words), "-MM", "-MG"], cwd=directory, check=False,
                            capture_output=True, text=True).stdout
    names = shlex.split(output.replace("\\\n", " "))[1:]
    paths = {pathlib.Path(directory, name).resolve() for name in names}
    return sorted(path for path in paths if path.is_relative_to(ROOT) and path.exists())


def without_output(words):
    """A compile command without its outputs: -o FILE, -c and the -M options."""
    kept, skip = [], False
    for word in words:
        if not skip and word not in ("-o", "-MF", "-MT", "-MD", "-c"):
            kept.append(word)
        skip = word in ("-o", "-MF", "-MT")
    return kept


def key_of(words, directory, configuration):
    digest = hashlib.sha256(configuration)
    digest.update("\0".join(words).encode())
    for path in project_files_behind(words, directory):
        digest.update(str(path).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def check(file, directory, words, build_folder, configuration):
    """clang-tidy's output for a file; empty if there is no warning."""
    marker = build_folder / "tidy" / key_of(words, directory, configuration)
    if marker.exists():
        return ""
    run = subprocess.run([TIDY, "--quiet", "-p", str(build_folder), str(file)], check=False,
                         capture_output=True, text=True)
    if run.returncode == 0:
        marker.touch()
        return ""
    return run.stdout or run.stderr


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build_folder = pathlib.Path(sys.argv[1]).resolve()
    (build_folder / "tidy").mkdir(exist_ok=True)
    version = subprocess.run([TIDY, "--version"], check=True, capture_output=True).stdout
    configuration = version + (ROOT / ".clang-tidy").read_bytes()
    entries = list(entries_of(build_folder, tuple(sys.argv[2:])))
    complained = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        running = [pool.submit(check, *entry, build_folder, configuration) for entry in entries]
        for done, each in enumerate(concurrent.futures.as_completed(running), 1):
            if said := each.result():
                complained += 1
                print(said, flush=True)
            if sys.stdout.isatty() or done % 50 == 0:
                print(f"   {done} of {len(entries)} sources", end="\r" if sys.stdout.isatty() else "\n", flush=True)
    print(f"   {len(entries) - complained} of {len(entries)} sources are tidy")
    return 1 if complained else 0


if __name__ == "__main__":
    sys.exit(main())
