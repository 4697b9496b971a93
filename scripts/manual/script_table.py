#!/usr/bin/env python3
"""script_table.py FOLDER: writes the table of the pre-tokenizer UnicodeScripts, plait/text/inside/script_groups.cpp, from Scripts.txt and
DerivedAge.txt of Unicode's character database (Debian's unicode-data has them in /usr/share/unicode). --check: fails if the file differs.

The reference has the table of Unicode 9. So characters that are newer have no script, and four have the one that Unicode changed later."""

import argparse
import pathlib
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent / "plait" / "text" / "inside" / "script_groups.cpp"
LAST, VERSION = 0x10FFFF, (9, 0)
AS_IN_UNICODE_9 = {0x589: "Common", 0x61C: "Common", 0x953: "Devanagari", 0x954: "Devanagari"}
# The rules of the reference: Japanese is one script, with its prolonged sound mark, and a space belongs to any.
JOINED = {"Hiragana": "Han", "Katakana": "Han"}
CHANGED = {0x20: None, 0x30FC: "Han"}
PER_LINE = 8

HEAD = """// Written by scripts/manual/script_table.py.
#include "plait/text/inside/script_groups.h"

#include <algorithm>

namespace plait::text {
namespace {

// Each is the first character of a range, shifted by 8 bits, and the number of its group.
constexpr uint32_t kRanges[] = {
"""
TAIL = """};

}  // namespace

uint8_t script_group(char32_t c) {
  const auto* const after = std::ranges::upper_bound(kRanges, uint32_t{c} << 8 | 0xff);
  return static_cast<uint8_t>(*(after - 1));  // the first range begins with character 0
}

}  // namespace plait::text
"""


def values_of(file):
    """{character: value} of a file of the database."""
    values = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        fields = [field.strip() for field in line.partition("#")[0].split(";")]
        if len(fields) == 2:
            first, _, last = fields[0].partition("..")
            values.update(dict.fromkeys(range(int(first, 16), int(last or first, 16) + 1), fields[1]))
    return values


def group_of(c, scripts, ages):
    """The script that the reference sees, or None."""
    if c in CHANGED:
        return CHANGED[c]
    if c not in ages or tuple(map(int, ages[c].split("."))) > VERSION:
        return None
    script = AS_IN_UNICODE_9.get(c, scripts.get(c))
    return JOINED.get(script, script)


def table_of(folder):
    scripts, ages = values_of(folder / "Scripts.txt"), values_of(folder / "DerivedAge.txt")
    numbers, ranges = {None: 0}, []
    for c in range(LAST + 1):
        number = numbers.setdefault(group_of(c, scripts, ages), len(numbers))
        if not ranges or ranges[-1] & 0xFF != number:
            ranges.append(c << 8 | number)
    return ranges


def text_of(ranges):
    lines = [ranges[i:i + PER_LINE] for i in range(0, len(ranges), PER_LINE)]
    return HEAD + "".join("    " + ", ".join(f"0x{each:08x}" for each in line) + ",\n" for line in lines) + TAIL


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path, nargs="?", default="/usr/share/unicode")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    text = text_of(table_of(given.folder))
    if not given.check:
        SOURCE.write_text(text, encoding="utf-8")
    elif SOURCE.read_text(encoding="utf-8") != text:
        sys.exit(f"script_table.py: {SOURCE} differs from what {given.folder} gives")


if __name__ == "__main__":
    main()
