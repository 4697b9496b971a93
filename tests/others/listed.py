"""Reads and writes docs/outside.md for run.py: for each suite the failing tests, by reason, and the reasons to skip."""

import collections
import fnmatch
import re

SKIPPED = "Skipped"
UNSORTED = "Not sorted yet"


# Reasons that name a missing function: one line represents all of a kind.
KINDS = [re.compile(each) for each in (
    r"(no function )\S+( here)", r"(no jax )\S+( here)", r"(no pad of mode ).*( here)", r"(no dtype of kind )\S+( here)",
    r"(no memory of an array to be looked into )\(.*\)( here)", r"(no ufunc ).*( here)", r"(no )\S+( of a jitted function here)",
    r"(no \S+ of ufunc ).*( here)", r"(no such types or arguments here: ).*()", r"(no policy ).*( of remat here)",
    r"(no )\S+( of what vjp and linearize give here)")]


def general(why):
    for kind in KINDS:
        if kind.fullmatch(why):
            return kind.sub(r"\1*\2", why)
    return why.replace("`", "'") or "without a reason"


def short(suite, test):
    """The name of a test without what distinguishes its cases: brackets, or the numbers that absl appends."""
    if suite != "jax":
        return re.sub(r"\[.*\]$", "*", test)
    file, _, name = re.sub(r" \(.*\)$", "*", test).partition("::")
    return f"{file}::{re.sub('[0-9]+', '*', name)}"


class Document:
    """Sections `## suite` with subsections `### reason` and lines `- file: names`; under `### Skipped` lines
    `- count: why`."""

    def __init__(self, path):
        self._path = path
        self._lines = path.read_text(encoding="utf-8").splitlines()
        self._tests = collections.defaultdict(dict)  # suite: {pattern: reason}
        self._skips = collections.defaultdict(dict)  # suite: {pattern: count}
        self._read()

    def _read(self):
        suite = reason = None
        for line in self._lines:
            if line.startswith("## "):
                suite, reason = line[3:].split()[0].lower(), None
            elif line.startswith("### "):
                reason = line[4:]
            elif reason == SKIPPED and (found := re.match(r"- (\d+): (.*)", line)):
                self._skips[suite][found[2].strip("`")] = int(found[1])
            elif reason is not None and (found := re.match(r"- `([^`]*)`: (.*)", line)):
                for name in re.findall(r"`([^`]*)`", found[2]):
                    self._tests[suite][f"{found[1]}::{name}"] = reason

    def entries_of(self, suite, outcome):
        """The entries for a failing test: names, or patterns of names."""
        test = outcome["test"]
        if outcome["outcome"] != "failed":
            return set()
        return {each for each in self._tests[suite] if each == test or fnmatch.fnmatchcase(test, each.replace("[", "[[]"))}

    def reason_of(self, suite, outcome):
        """The listed reason why it fails or is skipped; None if it is not listed."""
        if outcome["outcome"] == "skipped":
            why = general(outcome["why"])
            return f"skipped: {why}" if why in self._skips[suite] else None
        entries = self.entries_of(suite, outcome)
        return self._tests[suite][max(entries, key=len)] if entries else None

    def entries(self, suite):
        return set(self._tests[suite])

    def write(self, suite, found):
        """Adds unlisted failures under UNSORTED, removes passing tests, and counts skipped ones again."""
        met = set().union(*(self.entries_of(suite, each) for each in found))
        unsorted = {short(suite, each["test"]): each["why"] for each in found if each["outcome"] == "failed" and
                    self.reason_of(suite, each) is None}
        skips = collections.Counter(general(each["why"]) for each in found
                                    if each["outcome"] == "skipped")
        self._tests[suite] = {pattern: reason for pattern, reason in self._tests[suite].items() if pattern in met}
        for test in unsorted:
            self._tests[suite][test] = UNSORTED
        self._skips[suite] = dict(skips)
        self._rewrite(suite)

    def _rewrite(self, suite):
        start = next(i for i, line in enumerate(self._lines) if line.lower().startswith(f"## {suite}"))
        end = next((i for i in range(start + 1, len(self._lines)) if self._lines[i].startswith("## ")), len(self._lines))
        words = []  # the text between the heading and the first reason
        for line in self._lines[start + 1:end]:
            if line.startswith("### "):
                break
            words.append(line)
        by_reason = collections.defaultdict(lambda: collections.defaultdict(list))
        for pattern, reason in self._tests[suite].items():
            file, _, name = pattern.partition("::")
            by_reason[reason][file].append(name)
        words = "\n".join(words).strip()
        lines = [self._lines[start], "", *([words, ""] if words else [])]
        for reason, files in by_reason.items():
            lines += [f"### {reason}", "", *(f"- `{file}`: {', '.join(f'`{name}`' for name in names)}" for file, names in files.items()), ""]
        lines += [f"### {SKIPPED}", "", *(f"- {count}: `{why}`" for why, count in sorted(self._skips[suite].items(),
                                                                                    key=lambda each: (-each[1], each[0]))), ""]
        self._lines[start:end] = lines
        self._path.write_text("\n".join(self._lines).rstrip() + "\n", encoding="utf-8")
