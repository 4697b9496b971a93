"""Each normalizer, pre-tokenizer, post-processor and decoder with its options, and regular expressions, compared with Hugging Face's
`tokenizers`."""

import base64
import itertools
import json
import unittest

import plait as pl
import text_samples as samples
import tokenizers as hf
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

NORMALIZERS = [
    normalizers.NFC(), normalizers.NFD(), normalizers.NFKC(), normalizers.NFKD(), normalizers.Lowercase(), normalizers.StripAccents(),
    normalizers.Nmt(), normalizers.ByteLevel(), normalizers.Prepend("▁"), normalizers.Prepend("ab "),
    *(normalizers.Strip(left, right) for left in (True, False) for right in (True, False)),
    normalizers.Replace("a", "bb"), normalizers.Replace("aa", ""), normalizers.Replace(" ", "▁"), normalizers.Replace("", "-"),
    normalizers.Replace(hf.Regex(r"\s+"), " "), normalizers.Replace(hf.Regex(r"[aeiou]"), "é"), normalizers.Replace(hf.Regex(r"(?i:e)|\d"), ""),
    normalizers.Replace(hf.Regex(r"\p{L}+"), "日本"), normalizers.Replace(hf.Regex(r"$"), "."),
    *(normalizers.BertNormalizer(*flags) for flags in itertools.product((True, False), (True, False), (True, False, None), (True, False))),
    normalizers.Sequence([]),
    normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase(), normalizers.Strip()]),
    normalizers.Sequence([normalizers.Lowercase(), normalizers.NFKC(), normalizers.Replace("ss", "ß"), normalizers.NFD()])]

BEHAVIORS = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]
PRE_TOKENIZERS = [
    pre_tokenizers.Whitespace(), pre_tokenizers.WhitespaceSplit(), pre_tokenizers.BertPreTokenizer(), pre_tokenizers.UnicodeScripts(),
    *(pre_tokenizers.ByteLevel(space, use_regex=regex) for space in (True, False) for regex in (True, False)),
    *(pre_tokenizers.Metaspace("▁", scheme, split) for scheme in ("always", "never", "first") for split in (True, False)),
    pre_tokenizers.Metaspace("_"), *(pre_tokenizers.Punctuation(behavior) for behavior in BEHAVIORS),
    *(pre_tokenizers.Digits(individual) for individual in (True, False)), pre_tokenizers.CharDelimiterSplit("a"), pre_tokenizers.FixedLength(3),
    *(pre_tokenizers.Split(pattern, behavior, invert) for pattern in (" ", "a", "ab", "", hf.Regex(r"\s+"), hf.Regex(r"\w|[.,]"), hf.Regex("x*"))
      for behavior in BEHAVIORS for invert in (True, False)),
    pre_tokenizers.Sequence([]), pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]),
    pre_tokenizers.Sequence([pre_tokenizers.UnicodeScripts(), pre_tokenizers.Metaspace(prepend_scheme="first")]),
    pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.UnicodeScripts(), pre_tokenizers.ByteLevel(False)]),
    pre_tokenizers.Sequence([pre_tokenizers.Digits(True), pre_tokenizers.Punctuation(), pre_tokenizers.ByteLevel(True)]),
    pre_tokenizers.Sequence([pre_tokenizers.ByteLevel(False), pre_tokenizers.Split("Ġ", "merged_with_next")])]

PATTERNS = [
    r"a|b|c", r"(?:ab|a)(?:c|bcd)?", r"a+b*c?", r"a+?b", r"a*?b|.", r"a{2,3}", r"a{2,3}?", r"a{2}", r"a{2,}", r"a{,2}b", r"a++b|a", r"(?>a+)b|a", r"a?+a|b",
    r"[abc]", r"[^abc]", r"[a-c\d]", r"[^\s\d]+", r"[\]\-\\^]", r"[a\-z]", r"[-a]", r"[a-]", r"[a-z&&[^aeiou]]+", r"[\p{L}&&\p{Lu}]", r"[[a-c][x-z]]+",
    r"\p{L}+", r"\p{Lu}\p{Ll}*", r"\P{L}+", r"\p{^L}+", r"\p{N}{1,3}", r"\p{Letter}", r"\p{Han}+", r"\p{Hiragana}|\p{Katakana}|\p{Hangul}|\p{Thai}",
    r"\s", r"\S+", r"\d+", r"\D+", r"\w+", r"\W+", r"\h+", r"\H", r"\bа|\bth", r"e\b", r"\B.", r"^.", r".$", r"\A.", r".\z", r".\Z", r"(?m:.)", r".",
    r"a(?=b)", r"a(?!b)", r"(?<=a)b", r"(?<!a)b", r"(?<=ab|cd)e", r"(?i:AB)c", r"(?i)the|AND", r"x(?i)y|Z", r"(?i:[k-s]+)", r"(?-i:a)",
    r"\n|\t|\r", r"\x41|\x{e9}|\u00e9", r"(?<name>a)b", r"a(?#comment)b", r"()", r"(?:)|a", r"(a|ab)(c|bcd)(d*)", r"\.|\+|\*|\?|\(|\)|\[|\{|\}|\||\^|\$|/",
    r"{|}", r"a{x}", r"é+|日本", r"\s+(?!\S)|\s+", r"(?=a)", r"(?i)a|b(?-i)c|D", r"[^\r\n\p{L}\p{N}]?\p{L}+", r"(?:a(?:b(?:c)?)?)?d|."]
REFUSED = [r"(", r")", r"[", r"[]", r"a**", r"*a", r"(?x:a b)", r"\1", r"\k<name>", r"(?(1)a|b)", r"\X", r"\R", r"\K", r"\p{Nonsense}", r"\p{Greek}",
           r"\p{L", r"(?:a*)*", r"(?:a|)*", r"(a?)+", r"(?<=a+)b", r"[b-a]", r"a{3,2}", r"a{2}?", r"[[:alpha:]]", r"[a-\d]", r"(?i:é)", r"\xff", r"\ud800",
           r"\x{110000}", r"a{1001}", r"(?:(?:a{1000}){1000})", "(" * 100 + ")" * 100, r"(?<n", r"\q", "\\", r"(?<=", r"a{99999999999}", r"[\q]"]


class Normalizers(unittest.TestCase):
    def test_texts_and_where_they_come_from(self):
        """A pre-tokenizer of single characters shows what became of each."""
        inputs = samples.texts(100, seed=11)
        for part in NORMALIZERS:
            theirs = samples.word_level(normalizer=part, pre_tokenizer=pre_tokenizers.FixedLength(1))
            with self.subTest(theirs.to_str()[:400]):
                samples.quietly(lambda: samples.expect_same(self, theirs, inputs))
                self.assertEqual(samples.ours(theirs).to_str(), theirs.to_str())

    def test_all_characters(self):
        """After a letter. Unknown tokens of Unigram are spelt as the text."""
        characters = samples.characters()
        chunks = ["".join(f"a{c}\n" for c in characters[i:i + 20000]) for i in range(0, len(characters), 20000)]
        for part in (normalizers.NFC(), normalizers.NFKD(), normalizers.Lowercase(), normalizers.StripAccents(), normalizers.BertNormalizer()):
            theirs = hf.Tokenizer(models.Unigram([("<unk>", 0.0)], 0, False))
            theirs.normalizer = part
            mine = samples.ours(theirs)
            for chunk in chunks:
                with self.subTest(str(part), first=chunk[1]):
                    self.assertEqual("".join(mine.encode(chunk).tokens), part.normalize_str(chunk))


def charsmap(rules):
    """SentencePiece's compiled form of {text: replacement}: a prefix tree in a double array (Darts-clone), and the replacements."""
    texts, places = b"", {}
    for old, new in rules.items():
        places[old.encode()] = len(texts)
        texts += new.encode() + b"\0"
    units = [None] * 4096

    def place(prefix, at):
        keys = [key for key in places if key.startswith(prefix)]
        labels = sorted({key[len(prefix)] for key in keys if len(key) > len(prefix)})
        is_key = prefix in places
        base = next(base for base in range(1, 4096 - 256) if all(units[base ^ label] is None for label in [*labels, *([0] * is_key)]) and base != at)
        units[at] = (prefix[-1] if prefix else 0) | is_key << 8 | (at ^ base) << 10
        if is_key:
            units[base] = 1 << 31 | places[prefix]
        for label in labels:
            units[base ^ label] = 0  # taken
        for label in labels:
            place(prefix + bytes([label]), base ^ label)

    place(b"", 0)
    array = b"".join((unit or 0).to_bytes(4, "little") for unit in units)
    return len(array).to_bytes(4, "little") + array + texts


class Charsmap(unittest.TestCase):
    def test_characters_and_clusters_are_replaced(self):
        rules = {"a": "b", "ab": "x", "\r": " ", "\n": " ", "é": "e", "e\u0301": "é", "ﬁ": "fi", "K": "", "①": "1", "日": "日本", "c": "", "ｶﾞ": "ガ"}
        for normalizer in (normalizers.Precompiled(charsmap(rules)), normalizers.Sequence([normalizers.Lowercase(), normalizers.Precompiled(charsmap(rules))])):
            theirs = hf.Tokenizer(models.Unigram([("<unk>", 0.0)], 0, False))
            theirs.normalizer, theirs.pre_tokenizer = normalizer, pre_tokenizers.FixedLength(1)
            inputs = ["ab", "cab", "K", "\r\n", "e\u0301", "fﬁ①", "日K日", "ｶﾞ", "ccc", "aé\u0301", *samples.texts(100, seed=16)]
            samples.quietly(lambda: samples.expect_same(self, theirs, inputs))
            self.assertEqual(samples.ours(theirs).to_str(), theirs.to_str())

    def test_broken_ones_are_refused_or_harmless(self):
        whole = charsmap({"a": "b", "é": "e"})
        parts = json.loads(hf.Tokenizer(models.Unigram([("<unk>", 0.0)], 0, False)).to_str())
        for size in (0, 3, 4, 100, len(whole) - 3, len(whole)):
            self.encode_with(parts, whole[:size])
        source = samples.random.Random(17)
        for _ in range(100):
            broken = bytearray(whole)
            for _ in range(20):
                broken[source.randrange(len(broken))] = source.randrange(256)
            self.encode_with(parts, bytes(broken))

    def encode_with(self, parts, content):
        text = base64.b64encode(content).decode()
        try:
            pl.text.Tokenizer.from_str(json.dumps(parts | {"normalizer": {"type": "Precompiled", "precompiled_charsmap": text}})).encode("aéaé日")
        except pl.ParseError as error:
            self.assertIn("normalizer.precompiled_charsmap: byte", error.message)


class PreTokenizers(unittest.TestCase):
    def test_pieces_and_where_they_come_from(self):
        """Words of Unigram whose characters are all unknown are tokens, which are spelt as the text."""
        inputs = samples.texts(80, seed=12)
        for part in PRE_TOKENIZERS:
            theirs = hf.Tokenizer(models.Unigram([("<unk>", 0.0)], 0, False))
            theirs.pre_tokenizer = part
            with self.subTest(theirs.to_str()[:400]):
                samples.expect_same(self, theirs, inputs)
                self.assertEqual(samples.ours(theirs).to_str(), theirs.to_str())

    def test_all_characters(self):
        characters = samples.characters()
        chunks = ["a".join(characters[i:i + 20000]) for i in range(0, len(characters), 20000)]
        for part in (pre_tokenizers.Whitespace(), pre_tokenizers.Punctuation(), pre_tokenizers.Digits(), pre_tokenizers.BertPreTokenizer(),
                     pre_tokenizers.UnicodeScripts(),
                     *(pre_tokenizers.Split(hf.Regex(pattern), "isolated") for pattern in (r"\p{L}+|\p{N}+|\p{M}+|\s+", r"\p{P}+|\p{S}+|\w+|\d+"))):
            theirs = hf.Tokenizer(models.Unigram([("<unk>", 0.0)], 0, False))
            theirs.pre_tokenizer = part
            mine = samples.ours(theirs)
            for chunk in chunks:
                with self.subTest(str(part), first=chunk[0]):
                    self.assertEqual(mine.encode(chunk).tokens, [piece for piece, _ in part.pre_tokenize_str(chunk)])


    def test_scripts_of_random_characters(self):
        """Characters of random places and of neighbours, with those that belong to any script, or to none, between them."""
        source = samples.random.Random(18)
        part = pre_tokenizers.UnicodeScripts()
        theirs = hf.Tokenizer(models.Unigram([("<unk>", 0.0)], 0, False))
        theirs.pre_tokenizer = part
        mine = samples.ours(theirs)
        characters = samples.characters()
        for _ in range(2000):
            text = ""
            while len(text) < 40:
                first = source.choice((source.randrange(0x3000), source.randrange(len(characters))))
                text += "".join(source.choice(characters[first:first + 200]) for _ in range(source.randrange(1, 5)))
                text += source.choice(("", "", "", " ", "  ", "\u30fc", "\u0301", ".", "\u0378", "a"))
            self.assertEqual(mine.encode(text).tokens, [piece for piece, _ in part.pre_tokenize_str(text)], repr(text))


class RegularExpressions(unittest.TestCase):
    def test_they_match_as_in_the_reference(self):
        inputs = samples.texts(60, seed=13) + ["aaab", "abcd", "xyz the AND", "ab\ncd\n", "a b\n\n", "aBc ABC", "aab aaab", "th the еа", "a{x} {}"]
        for pattern in PATTERNS:
            part = pre_tokenizers.Split(hf.Regex(pattern), "isolated")
            theirs = hf.Tokenizer(models.Unigram([("<unk>", 0.0)], 0, False))
            theirs.pre_tokenizer = part
            mine = samples.ours(theirs)
            for text in inputs:
                with self.subTest(pattern, text=text):
                    self.assertEqual(mine.encode(text).tokens, [piece for piece, _ in part.pre_tokenize_str(text)])

    def test_what_is_not_supported_is_refused_by_name(self):
        for pattern in REFUSED:
            with self.subTest(pattern), self.assertRaisesRegex(pl.ParseError, r"pre_tokenizer\.pattern: the regular expression"):
                split(pattern)

    def test_hostile_texts_take_no_long(self):
        """Backtracking would take exponential or quadratic time here."""
        for pattern, text in ((r"(?:a|aa)+b", "a" * 30000), (r"(?:a|a)+b", "a" * 30000), (r"(?:a+)+b", "a" * 30000), (r"a*a*a*a*b", "a" * 30000),
                              (r"(?:a?){30}a{30}b", "a" * 5000), (r"\s+\n", " " * 30000), (r"(?:\w+\s?)+!", "word " * 6000), (r".*?x", "a" * 30000),
                              (r"a++b", "a" * 30000)):
            with self.subTest(pattern):
                self.assertEqual(split(pattern).encode(text).tokens, [text])


def split(pattern):
    parts = json.loads(hf.Tokenizer(models.Unigram([("<unk>", 0.0)], 0, False)).to_str())
    parts["pre_tokenizer"] = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    return pl.text.Tokenizer.from_str(json.dumps(parts))


TEMPLATE = processors.TemplateProcessing(single="[X]:7 $A:3 [Y]", pair="[X] $B:1 [Y]:5 $A:4 [Y]", special_tokens=[("[X]", 1), ("[Y]", 2)])
PROCESSORS = [
    None, TEMPLATE, processors.TemplateProcessing(single="$A", pair="$A $B", special_tokens=[]),
    processors.TemplateProcessing(single="[X] $0", pair="$A [X] $B:1 [X]:1",
                                  special_tokens=[{"id": "[X]", "ids": [5, 6], "tokens": ["x", "y"]}]),
    processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2)),
    *(processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim, space) for trim in (True, False) for space in (True, False)),
    *(processors.ByteLevel(space, trim) for space in (True, False) for trim in (True, False)),
    processors.Sequence([processors.ByteLevel(trim_offsets=True), TEMPLATE])]


class PostProcessors(unittest.TestCase):
    def tokenizer(self, part, **others):
        return samples.word_level(post_processor=part, **{"pre_tokenizer": pre_tokenizers.ByteLevel(True), **others})

    def test_texts_and_pairs(self):
        inputs = samples.texts(30, seed=14)
        for part in PROCESSORS:
            theirs = self.tokenizer(part)
            mine = samples.ours(theirs)
            self.assertEqual(mine.to_str(), theirs.to_str())
            for is_pair in (False, True):
                self.assertEqual(mine.num_special_tokens_to_add(is_pair), theirs.num_special_tokens_to_add(is_pair))
            for text, pair in zip(inputs, inputs[1:]):
                for special in (True, False):
                    with self.subTest(str(part), text=text, pair=pair, special=special):
                        samples.expect_same_encoding(self, mine.encode(text, None, special), theirs.encode(text, None, add_special_tokens=special))
                        samples.expect_same_encoding(self, mine.encode(text, pair, special), theirs.encode(text, pair, add_special_tokens=special))

    def test_truncated(self):
        inputs = ["", "a", "a b", "a b the a b", "the a b " * 7]
        for part in PROCESSORS:
            for length, stride, strategy, direction in itertools.product((4, 5, 9, 16), (0, 1, 2), ("longest_first", "only_first", "only_second"),
                                                                         ("left", "right")):
                theirs = self.tokenizer(part)
                mine = samples.ours(theirs)
                options = {"max_length": length, "stride": stride, "strategy": strategy, "direction": direction}
                try:
                    theirs.enable_truncation(**options)
                except ValueError:
                    self.assertRaises(pl.ValueError, mine.with_truncation, **options)
                    continue
                self.check_truncated(theirs, mine.with_truncation, options, inputs)

    def check_truncated(self, theirs, with_truncation, options, inputs):
        try:
            mine = with_truncation(**options)
        except pl.ValueError:  # the reference panics later
            return
        self.assertEqual(mine.truncation, options)
        self.assertEqual(mine.to_str(), theirs.to_str())
        for text, pair in itertools.product(inputs, [None, *inputs]):
            with self.subTest(theirs.to_str()[:600], text=text, pair=pair):
                try:
                    expected = samples.quietly(lambda: theirs.encode(text, pair))
                except BaseException:
                    self.assertRaises(pl.ValueError, mine.encode, text, pair)
                    continue
                samples.expect_same_encoding(self, mine.encode(text, pair), expected)

    def test_padded(self):
        inputs = ["", "a", "a b", "a b the a b"]
        for part, direction, length, multiple in itertools.product(PROCESSORS, ("left", "right"), (None, 3, 20), (None, 8)):
            theirs = self.tokenizer(part)
            options = {"direction": direction, "length": length, "pad_to_multiple_of": multiple, "pad_id": 2, "pad_type_id": 9, "pad_token": "<pad>"}
            mine = samples.ours(theirs).with_padding(**options)
            theirs.enable_padding(**options)
            self.assertEqual(mine.padding, options)
            self.assertEqual(mine.to_str(), theirs.to_str())
            with self.subTest(theirs.to_str()[:600]):
                for a, b in zip(mine.encode_batch(inputs), theirs.encode_batch(inputs)):
                    samples.expect_same_encoding(self, a, b)
                for a, b in zip(mine.encode_batch(inputs, inputs[::-1]), theirs.encode_batch(list(zip(inputs, inputs[::-1])))):
                    samples.expect_same_encoding(self, a, b)
                for text in inputs:
                    samples.expect_same_encoding(self, mine.encode(text), theirs.encode(text))


DECODERS = [
    decoders.ByteLevel(), decoders.WordPiece(), decoders.WordPiece("@@", False), decoders.Metaspace(), decoders.Metaspace("_", "never"),
    decoders.Metaspace("▁", "first"), decoders.BPEDecoder(), decoders.BPEDecoder("@"), decoders.ByteFallback(), decoders.Fuse(),
    decoders.Replace("a", "bb"), decoders.Replace(hf.Regex("[aeiou]+"), ""), decoders.CTC(), decoders.CTC("a", "b", False),
    *(decoders.Strip("a", start, stop) for start in (0, 1, 3) for stop in (0, 1)),
    decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])]
TOKENS = ["a", "aa", "ab", "▁a", "▁▁b▁", "Ġthe", "Ã", "©", "Ã©", "é", "日", "##b", "@@c", "a</w>", "b@", "<0x41>", "<0xC3>", "<0xA9>", "<0xff>", "<0x+4>",
          "<0xZZ>", "|", "<pad>", ".", "n't", " ' ", "'s", "do not", "_x", "aab", "aaaa", "baaa", "", " "]


class Decoders(unittest.TestCase):
    def test_random_tokens(self):
        source = samples.random.Random(15)
        for part in DECODERS:
            theirs = hf.Tokenizer(models.WordLevel({token: id for id, token in enumerate(TOKENS)}, unk_token="a"))
            theirs.decoder = part
            mine = samples.ours(theirs)
            self.assertEqual(mine.to_str(), theirs.to_str())
            for _ in range(300):
                ids = [source.randrange(len(TOKENS) + 2) for _ in range(source.randrange(1, 12))]
                try:
                    expected = samples.quietly(lambda: theirs.decode(ids))
                except BaseException:
                    continue
                with self.subTest(str(part), tokens=[TOKENS[id] if id < len(TOKENS) else None for id in ids]):
                    self.assertEqual(mine.decode(ids), expected)


if __name__ == "__main__":
    unittest.main()
