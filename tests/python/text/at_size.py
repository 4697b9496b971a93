"""Compares tokenizers with Hugging Face's `tokenizers` on files of text, at size:

    at_size.py [--size 5000000] [--vocab 30000] [--families gpt2,bert] [--random 1000] FILE…

Trains each family of families_test.py on the lines of the files, then compares the encoding of all text in one piece and line by line, pairs of lines, what
is decoded, whole and in a stream, and the files that are written. `--random` compares so many random tokenizers (random_tokenizers_test.py), too. Exits with 1
if something differs. It takes minutes.
"""

import argparse
import os
import pathlib
import random
import sys

import families_test as families
import random_tokenizers_test
import text_samples as samples
import tokenizers as hf
from tokenizers import models, pre_tokenizers, trainers


def text_of(path, size):
    return path.read_bytes()[:size].decode(errors="ignore").replace("\0", "")


def at_size(vocabulary):
    """Trains with so many tokens, a quarter for Unigram."""
    for name in ("BpeTrainer", "WordPieceTrainer", "WordLevelTrainer", "UnigramTrainer"):
        make = getattr(trainers, name)

        def trainer(*arguments, make=make, size=vocabulary // 4 if name == "UnigramTrainer" else vocabulary, **options):
            options |= {"vocab_size": size} | ({"limit_alphabet": 1000} if "limit_alphabet" in options else {})
            return make(*arguments, **options)

        setattr(trainers, name, trainer)


def first_difference(a, b):
    return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


class Comparison:
    def __init__(self, name, theirs):
        self.name, self.theirs, self.mine = name, theirs, samples.ours(theirs)
        self.compared = self.differences = 0

    def check(self, what, mine, theirs, text):
        self.compared += 1
        if mine == theirs:
            return
        self.differences += 1
        place = first_difference(mine, theirs) if isinstance(mine, (list, str)) else 0
        if self.differences <= 5:
            print(f"  {self.name}: {what} differs at {place}: {mine[place:place + 8]!r}, expected {theirs[place:place + 8]!r}; {text[:100]!r}")

    def encodings(self, text, pair=None):
        mine, theirs = self.mine.encode(text, pair), self.theirs.encode(text, pair)
        for field in samples.FIELDS:
            self.check(field, getattr(mine, field), getattr(theirs, field), text)
        return theirs.ids

    def texts(self, text, lines):
        ids = self.encodings(text)
        self.check("decoded", self.mine.decode(ids), self.theirs.decode(ids), text)
        stream = self.mine.decode_stream()
        some = ids[:20000]
        self.check("streamed", "".join(map(stream.step, some)) + stream.finish(), self.mine.decode(some), text)
        for line, pair in zip(lines, lines[1:]):
            ids = self.encodings(line)
            self.encodings(line, pair)
            self.check("decoded", self.mine.decode(ids, False), self.theirs.decode(ids, False), line)
        found = self.mine.encode_batch(lines)
        self.check("batch", [each.ids for each in found], [each.ids for each in self.theirs.encode_batch(lines)], "")
        self.check("file", self.mine.to_str(), self.theirs.to_str(), "")


def trainings(lines, vocabulary):
    """The reference and Plait trained on the same lines: BPE and WordLevel, where both give one result."""
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    for name, model, splitter, kind, options in (
            ("bytes", models.BPE(), pre_tokenizers.ByteLevel(False), trainers.BpeTrainer, {"initial_alphabet": alphabet}),
            ("characters", models.BPE(unk_token="<unk>"), pre_tokenizers.Metaspace(), trainers.BpeTrainer, {}),
            ("words", models.WordLevel(unk_token="<unk>"), pre_tokenizers.Whitespace(), trainers.WordLevelTrainer, {})):
        theirs = hf.Tokenizer(model)
        theirs.pre_tokenizer = splitter
        mine = samples.ours(theirs).train(lines, vocabulary, ["<unk>"], **options)
        theirs.train_from_iterator(iter(lines), kind(vocab_size=vocabulary, special_tokens=["<unk>"], show_progress=False, **options))
        yield f"trained on {name}", mine.to_str() == theirs.to_str()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--size", type=int, default=5_000_000, help="bytes of each file")
    parser.add_argument("--vocab", type=int, default=30_000, help="tokens")
    parser.add_argument("--lines", type=int, default=3000, help="lines that are compared one by one")
    parser.add_argument("--families", default=",".join(families.FAMILIES))
    parser.add_argument("--random", type=int, default=0, help="random tokenizers")
    options = parser.parse_args()
    whole = {path.name: text_of(path, options.size) for path in options.files}
    lines = [line for text in whole.values() for line in text.splitlines() if line]
    random.Random(0).shuffle(lines)
    failed = 0
    for what, is_same in trainings(lines[:60_000], options.vocab):
        failed += not is_same
        print(f"{what}: {'the same' if is_same else 'DIFFERENT'}", flush=True)
    samples.corpus = lambda: lines[:60_000]
    at_size(options.vocab)
    for name in options.families.split(","):
        comparison = Comparison(name, families.family(name))
        for text in whole.values():
            comparison.texts(text, lines[-options.lines:])
        failed += comparison.differences
        print(f"{name}: {comparison.compared} compared, {comparison.differences} different", flush=True)
    if options.random:
        os.environ["PLAIT_TEXTS"] = str(options.random)
        random_tokenizers_test.COUNT = options.random
        result = random_tokenizers_test.unittest.TextTestRunner().run(random_test.unittest.defaultTestLoader.loadTestsFromModule(random_test))
        failed += not result.wasSuccessful()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
