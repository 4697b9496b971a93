"""docs/outside.md as run.py reads and writes it: of each suite the tests that fail, by reason, and the reasons to skip."""

import collections
import fnmatch
import re

SKIPPED = "Skipped"
UNSORTED = "Not sorted yet"


# Reasons that name what is lacking: one line stands for all of a kind.
KINDS = [re.compile(each) for each in (
    r"(no function )\S+( here)", r"(no jax )\S+( here)", r"(no pad of mode ).*( here)", r"(no dtype of kind )\S+( here)",
    r"(no memory of an array to be looked into )\(.*\)( here)", r"(no ufunc ).*( here)", r"(no )\S+( of a jitted function here)",
    r"(no \S+ of ufunc ).*( here)", r"(no such types or arguments here: ).*()", r"(no policy ).*( of remat here)")]


def general(why):
    for kind in KINDS:
        if kind.fullmatch(why):
            return kind.sub(r"\1*\2", why)
    return why.replace("`", "'")


def short(suite, test):
    """A test without what tells the cases of one function apart: brackets, or of absl's the number behind the name."""
    return re.sub(r"\d+( \(.*\))?$" if suite == "jax" else r"\[.*\]$", "*", test)


class Document:
    """`## suite`, in it `### reason`, and in that `- file: names`; under `### Skipped` `- count: why`."""

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

    def _pattern(self, suite, outcome):
        table = self._skips[suite] if outcome["outcome"] == "skipped" else self._tests[suite]
        given = general(outcome["why"]) if outcome["outcome"] == "skipped" else outcome["test"]
        if given in table:
            return given
        return next((each for each in table if fnmatch.fnmatchcase(given, each.replace("[", "[[]"))), None)

    def reason_of(self, suite, outcome):
        """Why it fails or is skipped; None where it is not listed."""
        pattern = self._pattern(suite, outcome)
        if pattern is None:
            return None
        return f"skipped: {pattern}" if outcome["outcome"] == "skipped" else self._tests[suite][pattern]

    def entry_of(self, suite, outcome):
        return {self._pattern(suite, outcome)} if outcome["outcome"] == "failed" else set()

    def entries(self, suite):
        return set(self._tests[suite])

    def write(self, suite, found):
        """Puts what is not listed under UNSORTED, and counts what is skipped anew."""
        unsorted = {short(suite, each["test"]): each["why"] for each in found if each["outcome"] == "failed" and
                    self.reason_of(suite, each) is None}
        skips = collections.Counter(self._pattern(suite, each) or general(each["why"]) for each in found
                                    if each["outcome"] == "skipped")
        for test in unsorted:
            self._tests[suite][test] = UNSORTED
        self._skips[suite] = dict(skips)
        self._rewrite(suite)

    def _rewrite(self, suite):
        start = next(i for i, line in enumerate(self._lines) if line.lower().startswith(f"## {suite}"))
        end = next((i for i in range(start + 1, len(self._lines)) if self._lines[i].startswith("## ")), len(self._lines))
        words = []  # between the heading and the first reason
        for line in self._lines[start + 1:end]:
            if line.startswith("### "):
                break
            words.append(line)
        by_reason = collections.defaultdict(lambda: collections.defaultdict(list))
        for pattern, reason in self._tests[suite].items():
            file, _, name = pattern.partition("::")
            by_reason[reason][file].append(name)
        lines = [self._lines[start], *words]
        for reason, files in by_reason.items():
            lines += [f"### {reason}", "", *(f"- `{file}`: {', '.join(f'`{name}`' for name in names)}" for file, names in files.items()), ""]
        lines += [f"### {SKIPPED}", "", *(f"- {count}: `{why}`" for why, count in sorted(self._skips[suite].items(),
                                                                                    key=lambda each: (-each[1], each[0]))), ""]
        self._lines[start:end] = lines
        self._path.write_text("\n".join(self._lines).rstrip() + "\n", encoding="utf-8")
