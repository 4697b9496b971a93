"""Times tokenizers and Hugging Face's `tokenizers`, which do the same work on one thread, by turns:

    PYTHONPATH=build/bench/python .venv/bin/python bench/text/tokenizer_bench.py [--seconds 1] [--families gpt2,bert] [--json OUT] [FILE]

Trains tokenizers of the known families on the file; without one, on documents of the checkout and Python's standard library. For each: 5 MB of it
as one text; 3,000 of its lines, one at a time (`lines`), each as a batch of one text (`batch 1`) and as one batch; and decoding. Results are
compared first. Prints medians; the goal is a ratio of 2. The exit status is 1 if results differ.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import sysconfig
import time

os.environ |= {"TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1", "PLAIT_THREADS": "1"}
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tests/python/text"))

import at_size  # noqa: E402
import families_test as families  # noqa: E402
import text_samples as samples  # noqa: E402

FAMILIES = "gpt2,llama3,cl100k,o200k,llama2,sentencepiece_bpe,bert,unigram"
GOAL = 2
_SIZE = 5_000_000


def default_text(size):
    """Documents of the checkout, then sources of Python's standard library."""
    root, library = pathlib.Path(__file__).resolve().parents[2], pathlib.Path(sysconfig.get_path("stdlib"))
    paths = [*sorted(root.glob("docs/**/*.md")), *sorted(library.glob("*.py")), *sorted(library.glob("*/*.py"))]
    return "".join(at_size.text_of(path, size) for path in paths)[:size]


def works(tokenizer, text, lines, ids):
    """The functions that are timed, by name. Each returns what is compared."""
    return {"whole": lambda: tokenizer.encode(text).ids, "lines": lambda: [tokenizer.encode(line).ids for line in lines],
            "batch 1": lambda: [tokenizer.encode_batch([line])[0].ids for line in lines],
            "batch": lambda: [each.ids for each in tokenizer.encode_batch(lines)], "decode": lambda: tokenizer.decode(ids)}


def seconds_of(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def medians(own, other, seconds):
    """The medians of both, by turns, for so many seconds and at least three times."""
    times, start = ([], []), time.perf_counter()
    while len(times[0]) < 3 or time.perf_counter() - start < seconds:
        for each, function in zip(times, (own, other)):
            each.append(seconds_of(function))
    return [statistics.median(each) for each in times]


def rows_of(name, text, lines, seconds):
    theirs = families.family(name)
    mine = samples.ours(theirs)
    ids = theirs.encode(text).ids
    others = works(theirs, text, lines, ids)
    for work, own in works(mine, text, lines, ids).items():
        is_same = own() == others[work]()
        plait, reference = medians(own, others[work], seconds)
        yield {"family": name, "work": work, "same": is_same, "plait": plait, "tokenizers": reference, "ratio": reference / plait}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path, nargs="?")
    parser.add_argument("--seconds", type=float, default=1, help="for each measurement")
    parser.add_argument("--families", default=FAMILIES)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    text = at_size.text_of(options.file, _SIZE) if options.file else default_text(_SIZE)
    lines = [line for line in text.splitlines() if line.strip()]
    samples.corpus = lambda: lines[:40_000]
    at_size.at_size(30_000)
    rows = []
    for name in options.families.split(","):
        for row in rows_of(name, text, lines[:3000], options.seconds):
            rows.append(row)
            below = "" if row["ratio"] >= GOAL else f", below the goal of {GOAL}"
            print(f"{name:18} {row['work']:7} {row['plait'] * 1e3:9.1f} ms, tokenizers {row['tokenizers'] * 1e3:9.1f} ms, {row['ratio']:5.2f} times{below}"
                  f"{'' if row['same'] else ': RESULTS DIFFER'}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    sys.exit(not all(row["same"] for row in rows))


if __name__ == "__main__":
    main()
