"""Texts, tokenizers of the reference library, and a comparison of both libraries."""

import os
import pathlib
import random
import sys

os.environ["TOKENIZERS_PARALLELISM"] = "false"

import plait as pl  # noqa: E402
import tokenizers as hf  # noqa: E402

DOCS = pathlib.Path(__file__).resolve().parents[3] / "docs"
LANGUAGES = ["Grüße aus Köln, é è ê naïve café", "日本語のテキスト 漢字かな交じり文", "Привет, мир! Как дела?", "مرحبا بالعالم", "🙂 emoji 👨‍👩‍👧‍👦 test",
             "नमस्ते दुनिया", "12345 67,890.12", "ὁ λόγος", "한국어 텍스트", "Tiếng Việt"]
WORDS = ["it's", "Hello", "WORLD", "don't", "naïve", "日本語", "Привет", "123", "4567", "--", "!!", "\n", "\t", "émigré", "a\u0301", "<s>", "</s>",
         "<mask>", "[MASK]", "<|end|>", "👍🏽", "🇩🇪", "नमस्ते", "\r\n", "foo_bar", "C++", "ſ", "K", "İ", "ﬁ", "①"]
SPECIAL = ["", " ", "  ", "a", "é", "e\u0301", "\r\n", "a\r\nb", "\x00", "a\x00b", "<s>", "<mask> x", "a <mask>  b", "[MASK] [CLS]", "<|end|>a",
           "I'm DON'T it'ſ 'LL", "▁▁a ▁", "<0x41>", "   leading", "trailing   ", "A" * 300, "日本" * 100, "\u0345\u0316\u0301a\u0323\u0301",
           "ﬁ ﬀ ① ½", "가각힣", "x" * 2000, " " * 1000 + "x", "1234567890 3.14", "\U0010ffff\ue000", "\ufffd", "a\u200db\u200c"]


def corpus():
    """Lines of text for training: the documents of this repository, and some in other languages."""
    lines = [line for file in sorted(DOCS.glob("*.md")) for line in file.read_text(encoding="utf-8").splitlines()]
    return lines[:1500] + LANGUAGES * 20


def character(source):
    """A random one, more often of those that rules treat in a special way."""
    kind = source.random()
    if kind < 0.35:
        return chr(source.randrange(32, 127))
    if kind < 0.45:
        return source.choice(" \n\t\r\x0b\x85\u00a0\u3000\u2028\u200b▁Ġ")
    first, last = source.choice([(0xA0, 0x250), (0x300, 0x370), (0x370, 0x2000), (0x2000, 0x3100), (0x3100, 0xD800), (0xE000, 0x10000),
                                 (0x10000, 0x20000), (0x20000, 0x110000)])
    return chr(source.randrange(first, last))


def characters():
    """All characters of the planes that have many, and some of the others, where few are assigned. PLAIT_TEXTS: all."""
    full = range(0x110000) if "PLAIT_TEXTS" in os.environ else [*range(0x32000), *range(0x32000, 0xE0000, 97), *range(0xE0000, 0xE0200)]
    return [chr(c) for c in full if not 0xD800 <= c < 0xE000]


def texts(count, seed):
    """Pieces of the documents, words, random characters of all planes, and what is hard."""
    source, lines, found = random.Random(seed), "\n".join(corpus()), list(SPECIAL)
    while len(found) < count:
        kind = source.random()
        if kind < 0.3:
            begin = source.randrange(len(lines) - 300)
            found.append(lines[begin:begin + source.randrange(1, 300)])
        elif kind < 0.5:
            found.append("".join(character(source) for _ in range(source.randrange(1, 60))))
        elif kind < 0.6:
            found.append("".join(chr(source.randrange(0x300, 0x370)) if source.random() < 0.5 else source.choice("aeouAEOUsk") for _ in range(30)))
        elif kind < 0.7:
            first = source.randrange(0, 0x20000)
            found.append("".join(chr(c) for c in (first + source.randrange(64) for _ in range(40)) if not 0xD800 <= c < 0xE000))
        elif kind < 0.9:
            found.append(" ".join(source.choice(WORDS) for _ in range(source.randrange(1, 25))))
        else:
            found.append("".join(source.choice(" \n\r\tab1.'") for _ in range(40)))
    return found[:count]


def ours(theirs):
    """The same tokenizer, read by Plait."""
    return pl.text.Tokenizer.from_str(theirs.to_str())


def reread(theirs):
    """The same tokenizer as it is after it was read from its file: then the scores of Unigram differ in the last digit, until they are those of a
    number that the reference reads as it is."""
    text = None
    while text != theirs.to_str():
        text = theirs.to_str()
        theirs = hf.Tokenizer.from_str(text)
    return theirs


FIELDS = {"ids": "ids", "tokens": "tokens", "offsets": "offsets", "type_ids": "type_ids", "word_ids": "word_ids", "sequence_ids": "sequence_ids",
          "attention_mask": "attention_mask", "special_tokens_mask": "special_tokens_mask", "n_sequences": "n_sequences"}


def columns(encoding):
    found = {name: getattr(encoding, name) for name in FIELDS}
    found["overflowing"] = [columns(each) for each in encoding.overflowing]
    return found


def expect_same_encoding(test, mine, theirs, message=""):
    a, b = columns(mine), columns(theirs)
    if a != b:
        name = next(name for name in a if a[name] != b[name])
        test.assertEqual(a[name], b[name], f"{name}: {message}")


def expect_same(test, theirs, inputs, mine=None):
    """Both libraries give the same for each text: encodings and what they decode to. Where the reference fails, Plait may, too."""
    mine = ours(theirs) if mine is None else mine
    for text in inputs:
        try:
            expected = theirs.encode(text)
        except BaseException:  # a panic of Rust is a BaseException
            continue
        encoding = mine.encode(text)
        expect_same_encoding(test, encoding, expected, repr(text))
        for skip in (True, False):
            try:
                decoded = theirs.decode(expected.ids, skip_special_tokens=skip)
            except BaseException:
                continue
            test.assertEqual(mine.decode(encoding.ids, skip_special_tokens=skip), decoded, repr(text))


def quietly(function):
    """Calls it without what the reference prints when it panics."""
    sys.stderr.flush()
    saved, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        return function()
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(nowhere)


def trained(tokenizer, trainer, lines=None):
    tokenizer.train_from_iterator(iter(corpus() if lines is None else lines), trainer)
    return tokenizer


def word_level(**parts):
    """A tokenizer of single words, around parts that are compared."""
    tokenizer = hf.Tokenizer(hf.models.WordLevel({"[UNK]": 0, "a": 1, "b": 2, "the": 3}, unk_token="[UNK]"))
    for name, part in parts.items():
        setattr(tokenizer, name, part)
    return tokenizer
