#!/usr/bin/env python3
"""Checks the words of comments, text literals, documents and titles of damages: phrases that docs/glossary.md replaces by the field's terms
must not appear, and comments must not begin with What, Of or Whether. Names in code must not have the phrases of NAMES, and those outside of
tests and benchmarks not those of NAMES_OF_THE_LIBRARY."""

import bisect
import io
import pathlib
import re
import sys
import tokenize

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_rooms  # noqa: E402

ROOT = check_rooms.ROOT
FOLDERS = ("plait", "python", "tools", "examples", "scripts", "docs", "tests", "bench", "cmake")
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile", "CMakeLists.txt")
KINDS = ("*.cpp", "*.h", "*.inl", "*.py", "*.pyi", "*.md", "damages.txt", "*.sh", "*.cmake", "CMakeLists.txt")
# The glossary lists the phrases; outside.md has headings that name groups of other libraries' tests.
EXCEPTIONS = {"docs/glossary.md", "docs/outside.md", "scripts/check_words.py"}
FOREIGN = "tests/others/"  # its messages name the groups of docs/outside.md

# (pattern, what to write instead)
PHRASES = [(re.compile(rf"\b(?:{pattern})\b"), better) for pattern, better in (
    (r"turned round", "transposed"),
    (r"way back", "backward pass"),
    (r"held against", "compared with"),
    (r"(?:goes|go|going) along", "epilogue; along an axis"),
    (r"(?<![Tt]here )(?:is|are) no (?!longer\b|more\b|less\b|problem\b)\w+", "is not a, are not"),
    (r"at once", "eagerly; together"),
    (r"by hand", "manually, or say how"),
    (r"comes? to nothing", "fails, is empty"),
    (r"lately", "recently, or say when"),
    (r"born", "data-dependent"),
    (r"stretch(?:es|ed)?", "broadcast"),
    (r"made? real", "materialise"),
    (r"gives? away|given away", "donate"),
    (r"gives? back|given back|gave back", "return"),
    (r"hands? over|handed over", "pass"),
    (r"whole numbers?", "integer"),
    (r"(?:is|are) (?:there|named) twice", "appears twice"),
    (r"in the place of", "instead of"),
    (r"anew|afresh", "again"),
    (r"nobody|somebody", "name who, or use the passive"),
    (r"of one's own", "custom"),
    (r"comes? out as|came out", "is, was"),
)]


def is_script(file):
    """True for shell, make and CMake, whose comments begin with #."""
    return file.suffix in (".sh", ".cmake") or file.name in ("Makefile", "CMakeLists.txt")


def comments_and_literals(file, text):
    """The text with everything else replaced by spaces, so that lines keep their numbers."""
    if file.suffix == ".md":
        return text
    if file.suffix == ".txt" and not is_script(file):  # damages: comments, and the first lines of paragraphs, which are titles
        lines = text.split("\n")
        return "\n".join(line if line.startswith("#") or not before else " " * len(line) for before, line in zip(["", *lines], lines))
    kept = [" " if c != "\n" else c for c in text]

    def keep(begin, end):
        kept[begin:end] = text[begin:end]

    if file.suffix in (".py", ".pyi"):
        starts = [0]
        for line in text.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in (tokenize.COMMENT, tokenize.STRING):
                keep(starts[token.start[0] - 1] + token.start[1], starts[token.end[0] - 1] + token.end[1])
    elif is_script(file):
        for found in re.finditer(r'"(?:\\.|[^"\\\n])*"|(?<![^\s;])#[^\n]*', text):
            keep(*found.span())
    else:
        for found in re.finditer(r"//[^\n]*|/\*.*?\*/|#include[^\n]*|'(?:\\.|[^'\\\n])'|" r'"(?:\\.|[^"\\\n])*"', text, re.S):
            keep(*found.span())
    return "".join(kept)


def findings(file):
    """(line, phrase, better) for each phrase in a file. Sentences continue on the next line, and texts in the next literal."""
    prose, begins = "", []
    for line in comments_and_literals(file, file.read_text(encoding="utf-8")).split("\n"):
        begins.append(len(prose))
        words = re.sub(r'^\s*(?://+|#+|f?"+)?|"+\s*$', " ", line).split()
        prose += " ".join(words) + " " if words else ". "
    for phrase, better in PHRASES:
        for found in phrase.finditer(prose):
            yield bisect.bisect_right(begins, found.start()), found.group(), better


# (pattern, better) of phrases in names, whose words are divided at underscores and capitals.
NAMES = (
    (r"at once", "eagerly, together, concurrently, immediately"),
    (r"way back", "backward pass"),
    (r"turned round", "transposed"),
    (r"born", "data-dependent"),
    (r"what is no(?:ne)?", "invalid"),
    (r"comes? back", "is returned, is recursive"),
    (r"looks at", "reads, inspects"),
)
# Tests and benchmarks may name their cases like this.
NAMES_OF_THE_LIBRARY = (
    *NAMES,
    (r"ways?", "update, direction, path, method, form"),
)
NAME = re.compile(r"[^\W\d]\w*")


def poor_names(file, text, names=NAMES):
    """(line, name, better) for each name in the code of a file that has one of these phrases."""
    # Most files have no such name; in the others each name is divided.
    may_be_poor = "|".join(pattern.replace(" ", "_?") for pattern, _ in names)
    if file.suffix in (".md", ".txt") or is_script(file) or not re.search(may_be_poor, text, re.IGNORECASE):
        return
    prose = comments_and_literals(file, text)
    for number, (line, words) in enumerate(zip(text.split("\n"), prose.split("\n")), 1):
        code = "".join(" " if kept != " " else c for c, kept in zip(line, words))
        for name in NAME.findall(code):
            phrase = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_+", " ", name).lower()
            for pattern, better in names:
                if re.search(rf"\b(?:{pattern})\b", phrase):
                    yield number, name, better


# A comment that begins like this is no sentence: begin with the verb, or with the noun of the field. That also holds for comments
# behind code, which begin with a small letter.
BEGINNING = re.compile(r'^(.*\s)?(?:(?://|#|/\*) |[rf]?""")(What|Of|Whether)\b')
TRAILING = re.compile(r"^.*[;,{}()\w].*(?://|#) +(what|of|whether)\b")
COMMENT = re.compile(r"^\s*(?://|#)")


def poor_beginnings(text):
    """(line, word) for each comment and docstring that begins with a word of BEGINNING; a line that continues one does not begin."""
    is_in_comment = False
    for number, line in enumerate(text.split("\n"), 1):
        is_comment = bool(COMMENT.match(line))
        found = BEGINNING.match(line)
        if found and not (is_comment and is_in_comment):
            yield number, found.group(2)
        elif not is_comment and (found := TRAILING.match(line)):
            yield number, found.group(1)
        is_in_comment = is_comment


def files():
    for folder in FOLDERS:
        yield from sorted(file for kind in KINDS for file in (ROOT / folder).rglob(kind))
    yield from (ROOT / page for page in PAGES)


def commented_files():
    kinds = ("*.cpp", "*.h", "*.inl", "*.py", "*.pyi", "*.sh", "*.cmake", "*.txt")
    return sorted(file for folder in FOLDERS for kind in kinds for file in (ROOT / folder).rglob(kind))


def main():
    count = 0
    names = {file: str(file.relative_to(ROOT)) for file in files()}
    checked = [file for file, name in names.items() if name not in EXCEPTIONS and not name.startswith(FOREIGN)]
    for file in checked:
        for number, phrase, better in findings(file):
            print(f'{names[file]}:{number}: "{phrase}": {better} (docs/glossary.md)')
            count += 1
        phrases = NAMES if names[file].startswith(("tests/", "bench/")) else NAMES_OF_THE_LIBRARY
        for number, name, better in poor_names(file, file.read_text(encoding="utf-8"), phrases):
            print(f'{names[file]}:{number}: the name {name}: {better} (docs/glossary.md)')
            count += 1
    for file in commented_files():
        for number, word in poor_beginnings(file.read_text(encoding="utf-8")):
            print(f'{file.relative_to(ROOT)}:{number}: the comment begins with "{word}"; begin with the verb or the noun')
            count += 1
    if not count:
        print(f"   {len(checked)} files, in the words of docs/glossary.md")
    return count > 0


if __name__ == "__main__":
    sys.exit(main())
