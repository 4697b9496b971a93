"""Random tokenizers of all parts that exist, compared with Hugging Face's `tokenizers`. PLAIT_TEXTS=5000 tries so many tokenizers."""

import functools
import json
import os
import random
import unittest

import parts_test as parts
import text_samples as samples
import tokenizers as hf
from tokenizers import models, pre_tokenizers, trainers

COUNT = int(os.environ.get("PLAIT_TEXTS", "60"))
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
ADDED = ["<m>", "<s>", "the", "Th", " ", "  ", "é", "日本", "\n", "a b", "▁", "Ġ", "[UNK]", "ab", "[X]"]


@functools.cache
def bpe_of(kind):
    """Merges to take parts of: of bytes, of characters with ▁, with a prefix, with a suffix."""
    options = {"prefix": {"continuing_subword_prefix": "##"}, "suffix": {"end_of_word_suffix": "</w>"}}.get(kind, {})
    tokenizer = hf.Tokenizer(models.BPE(**options))
    tokenizer.pre_tokenizer = {"bytes": pre_tokenizers.ByteLevel(False), "spaces": pre_tokenizers.Metaspace()}.get(kind, pre_tokenizers.Whitespace())
    alphabet = pre_tokenizers.ByteLevel.alphabet() if kind == "bytes" else []
    trainer = trainers.BpeTrainer(vocab_size=900, show_progress=False, initial_alphabet=alphabet, **options)
    model = json.loads(samples.trained(tokenizer, trainer, samples.corpus()[::5]).to_str())["model"]
    return list(model["vocab"]), [tuple(each) for each in model["merges"]], options


def random_bpe(source):
    tokens, merges, options = bpe_of(source.choice(["bytes", "spaces", "words", "prefix", "suffix"]))
    with_bytes = source.random() < 0.3
    tokens = [*tokens, "<unk>", *(BYTES if with_bytes else BYTES[:5])]
    return models.BPE({token: id for id, token in enumerate(tokens)}, merges[:source.choice([0, 20, 300, len(merges)])],
                      unk_token=source.choice([None, "<unk>"]), fuse_unk=source.random() < 0.5,
                      byte_fallback=source.random() < 0.5 and not options,  # with a prefix, its bytes get places of their own, past the text
                      ignore_merges=source.random() < 0.3, **options)


def random_unigram(source):
    tokens = {"<unk>": 0.0} | {each: -10 * source.random() for each in [*"abcdehinorst▁ éĠ", "日本"]}
    words = [each for line in samples.corpus()[:300:7] for each in line.split()] or ["a"]
    for _ in range(300):
        word = source.choice(words)
        begin = source.randrange(len(word))
        tokens[source.choice(["", "▁"]) + word[begin:begin + source.randrange(1, 6)]] = -source.choice([3, 5, 12 * source.random()])
    if source.random() < 0.4:
        tokens |= dict.fromkeys(BYTES, -20.0)
    return models.Unigram(list(tokens.items()), 0, source.random() < 0.5)


def random_word_model(source):
    words = {each for line in samples.corpus()[:400:9] for each in line.split()}
    tokens = ["[UNK]", *sorted(words | {each.lower() for each in words}), *"abcdeſé日▁Ġ", *(f"##{each}" for each in "abcdefghijklmnopqrstuvwxyz"),
              "##ing", "##ed", "##é"]
    vocabulary = {token: id for id, token in enumerate(dict.fromkeys(tokens))}
    if source.random() < 0.3:
        return models.WordLevel(vocabulary, unk_token="[UNK]")
    return models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=source.choice([100, 3, 10]),
                            continuing_subword_prefix=source.choice(["##", "##", ""]))


def some(source, choices, sequence, most):
    """One of the parts, a sequence of several, or None."""
    count = source.randrange(most + 1)
    chosen = [source.choice(choices) for _ in range(count)]
    return None if count == 0 else chosen[0] if count == 1 else sequence(chosen)


def added_tokens(source, normalizer):
    """Some, but none that its normalizer makes empty: the reference splits the text at each character there. Of those that it makes equal the
    reference finds any."""
    flags = ("single_word", "lstrip", "rstrip", "normalized")
    tokens = [hf.AddedToken(each, **{flag: source.random() < 0.4 for flag in flags}) for each in source.sample(ADDED, source.choice([0, 0, 2, 5]))]
    if normalizer is None:
        return tokens
    by_text = {normalizer.normalize_str(each.content): each for each in tokens}
    return [each for text, each in by_text.items() if text]


# Replacements of nothing: the reference inserts before the first character in a way that breaks its table of places, and panics or duplicates
# characters later.
NORMALIZERS = [each for each in parts.NORMALIZERS if not any(pattern in str(each) for pattern in ('Regex("$")', 'String("")'))]


def random_tokenizer(source):
    theirs = hf.Tokenizer(source.choice([random_bpe, random_bpe, random_unigram, random_word_model])(source))
    processors = [each for each in parts.PROCESSORS if each is not None]
    for name, part in (("normalizer", some(source, NORMALIZERS, hf.normalizers.Sequence, 3)),
                       ("pre_tokenizer", some(source, parts.PRE_TOKENIZERS, pre_tokenizers.Sequence, 3)),
                       ("post_processor", some(source, processors, hf.processors.Sequence, 1)),
                       ("decoder", some(source, parts.DECODERS, hf.decoders.Sequence, 3))):
        if part is not None:
            setattr(theirs, name, part)
    tokens = added_tokens(source, theirs.normalizer)
    special = [each for each in tokens if source.random() < 0.5]
    theirs.add_tokens([each for each in tokens if each not in special])
    theirs.add_special_tokens(special)
    theirs = samples.reread(theirs)
    if source.random() < 0.2:
        theirs.encode_special_tokens = True
    return theirs


class Random(unittest.TestCase):
    def test_all_give_the_same(self):
        first = int(os.environ.get("PLAIT_FIRST", "0"))
        inputs = samples.texts(400, seed=50)
        for seed in range(first, first + COUNT):
            source = random.Random(seed)
            try:
                theirs = samples.quietly(lambda: random_tokenizer(source))
            except BaseException:  # a panic of Rust
                continue
            mine = samples.ours(theirs)
            if theirs.encode_special_tokens:
                mine = mine.with_encode_special_tokens()
            with self.subTest(seed=seed, parts=theirs.to_str().partition('"model"')[0]):
                samples.quietly(lambda: samples.expect_same(self, theirs, source.sample(inputs, 12), mine))


if __name__ == "__main__":
    unittest.main()
