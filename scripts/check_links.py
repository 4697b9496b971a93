#!/usr/bin/env python3
"""Checks that every relative link of the Markdown files leads to an existing file: in the files of this repository,
and in the folders on the command line."""

import pathlib
import re
import subprocess
import sys

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
CODE = re.compile(r"(?<!\[)`[^`]*`")


def prose_of(file):
    """The numbered lines of a file without code blocks and code spans."""
    in_code = False
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif not in_code and not line.startswith("    "):
            yield number, CODE.sub("", line)


def broken_links(file):
    for number, line in prose_of(file):
        for target in LINK.findall(line):
            if "://" in target or target.startswith("mailto:"):
                continue
            if not (file.parent / target).exists():
                yield f"{file}:{number}: {target} is not there"


def main():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
                            check=True, capture_output=True, text=True)
    files = [pathlib.Path(name) for name in listed.stdout.split()]
    files += [file for folder in sys.argv[1:] for file in sorted(pathlib.Path(folder).rglob("*.md"))]
    broken = [problem for file in files if file.exists() for problem in broken_links(file)]
    print("\n".join(broken) if broken else f"   {len(files)} files, no broken link")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
