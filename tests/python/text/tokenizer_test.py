"""Tokenizers in Python: files, added tokens, words, options, what is refused."""

import copy
import itertools
import json
import pathlib
import pickle
import tempfile
import threading
import unittest

import gguf
import numpy as np
import plait as pl
import text_samples as samples
import tokenizers as hf
from tokenizers import models, normalizers, pre_tokenizers, processors

LINES = ["low lower lowest", "new newer newest", "wide wider widest"] * 20


def small():
    """278 tokens: all that these lines give."""
    return pl.text.byte_level_bpe().train(LINES, vocab_size=300, special_tokens=["<s>", "<pad>"])


def parts(**changes):
    """The text of a tokenizer.json of single words."""
    given = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": None,
             "post_processor": None, "decoder": None, "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "a": 1}, "unk_token": "[UNK]"}}
    return json.dumps(given | changes)


class AddedTokens(unittest.TestCase):
    INPUTS = ["<m>", "a <m> b", "a<m>b", "a  <m>  b", "<m><m>", "<m> <m>", "x<M>y", "é<m>é", "_<m>_", "<m>1", "a <<m>>", "<mm>", "<m", "yesterday <m>",
              " <m>", "<m> ", "\u2003<m>\u2003", "<m>\n\n<m>", "A the <m>THE", "n<m>ñ", "ﬁ <m> ﬁ"]

    def check(self, theirs, tokens, encode_special=False):
        theirs.add_tokens(tokens)
        theirs.encode_special_tokens = encode_special
        mine = samples.ours(theirs)
        if encode_special:
            mine = mine.with_encode_special_tokens()
        self.assertEqual(mine.to_str(), theirs.to_str())
        samples.expect_same(self, theirs, self.INPUTS + samples.texts(40, seed=21), mine)

    def test_all_flags(self):
        for flags in itertools.product((True, False), repeat=5):
            names = ("single_word", "lstrip", "rstrip", "normalized", "special")
            options = dict(zip(names, flags))
            for normalizer in (None, normalizers.Lowercase(), normalizers.Sequence([normalizers.NFKC(), normalizers.Strip()])):
                theirs = samples.word_level(pre_tokenizer=pre_tokenizers.Whitespace(), **({"normalizer": normalizer} if normalizer else {}))
                with self.subTest(options, normalizer=str(normalizer)):
                    self.check(theirs, [hf.AddedToken("<m>", **options), hf.AddedToken("Yesterday", **options)])

    def test_the_longest_is_found_first(self):
        theirs = samples.word_level(pre_tokenizer=pre_tokenizers.Whitespace())
        self.check(theirs, [hf.AddedToken(each, normalized=False) for each in ("<", "<m", "<m>", "m>", " ", "  ", "<m> <m>")])

    def test_special_tokens_of_a_text_may_be_split(self):
        theirs = samples.word_level(pre_tokenizer=pre_tokenizers.Whitespace())
        self.check(theirs, [hf.AddedToken("<m>", special=True, normalized=False), hf.AddedToken("the", normalized=False)], encode_special=True)

    def test_before_byte_level_and_metaspace(self):
        for pre_tokenizer in (pre_tokenizers.ByteLevel(True), pre_tokenizers.Metaspace(), pre_tokenizers.Metaspace(prepend_scheme="first")):
            theirs = hf.Tokenizer(models.Unigram([("<unk>", 0.0), ("a", -1.0), ("▁", -2.0)], 0, False))
            theirs.pre_tokenizer = pre_tokenizer
            with self.subTest(str(pre_tokenizer)):
                self.check(theirs, [hf.AddedToken("<m>", normalized=False, lstrip=True), hf.AddedToken("the", normalized=True, rstrip=True)])

    def test_they_are_values(self):
        tokenizer = small()
        more = tokenizer.with_added_tokens(["<x>", pl.text.AddedToken("<y>", lstrip=True)]).with_special_tokens(["<z>", "low"])
        self.assertEqual(tokenizer.get_vocab_size(), 278)
        self.assertEqual(more.get_vocab_size(), 281)
        self.assertEqual([more.token_to_id(each) for each in ("<x>", "<y>", "<z>", "low")], [278, 279, 280, tokenizer.token_to_id("low")])
        self.assertEqual(more.encode("low <y><x><z>").tokens, ["low", " <y>", "<x>", "<z>"])
        self.assertEqual(more.decode([278, 280]), "<x>")
        self.assertEqual(more.get_added_tokens_decoder()[279], pl.text.AddedToken("<y>", lstrip=True))
        self.assertEqual(more.get_added_tokens_decoder()[280], pl.text.AddedToken("<z>", normalized=False, special=True))
        self.assertIsNone(tokenizer.token_to_id("<x>"))


class Words(unittest.TestCase):
    """Texts that are split into words already."""

    def test_they_give_the_same(self):
        for theirs in (samples.word_level(pre_tokenizer=pre_tokenizers.ByteLevel(True), post_processor=processors.ByteLevel(True, True)),
                       samples.word_level(pre_tokenizer=pre_tokenizers.Whitespace(),
                                          post_processor=processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2)))):
            mine = samples.ours(theirs)
            for words, pair in itertools.product(([], ["a"], ["a", "the b"], ["", "é", " a "], ["a"] * 5), repeat=2):
                with self.subTest(words=words, pair=pair):
                    samples.expect_same_encoding(self, mine.encode(words, is_pretokenized=True), theirs.encode(words, is_pretokenized=True))
                    samples.expect_same_encoding(self, mine.encode(words, pair, is_pretokenized=True), theirs.encode(words, pair, is_pretokenized=True))
            batch = [["a", "b"], ["the"]]
            for a, b in zip(mine.encode_batch(batch, is_pretokenized=True), theirs.encode_batch(batch, is_pretokenized=True)):
                samples.expect_same_encoding(self, a, b)


class Encodings(unittest.TestCase):
    def test_places_are_found(self):
        theirs = samples.word_level(pre_tokenizer=pre_tokenizers.Whitespace(), post_processor=processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2)))
        mine = samples.ours(theirs)
        a, b = mine.encode("a thé b", "b a!"), theirs.encode("a thé b", "b a!")
        for sequence in (0, 1):
            for i in range(9):
                self.assertEqual(a.char_to_token(i, sequence), b.char_to_token(i, sequence))
                self.assertEqual(a.char_to_word(i, sequence), b.char_to_word(i, sequence))
                self.assertEqual(a.word_to_tokens(i, sequence), b.word_to_tokens(i, sequence))
                self.assertEqual(a.word_to_chars(i, sequence), b.word_to_chars(i, sequence))
        for i in range(1, len(a) - 1):
            self.assertEqual(a.token_to_word(i), a.word_ids[i])
            self.assertEqual(a.token_to_chars(i), a.offsets[i])
            self.assertEqual(a.token_to_sequence(i), b.token_to_sequence(i))
        self.assertEqual(repr(a), "Encoding(9 tokens)")
        self.assertRaises(pl.IndexError, a.token_to_word, 9)
        self.assertRaises(pl.IndexError, a.char_to_token, -1)
        self.assertRaises(pl.TypeError, a.char_to_token, "a")

    def test_offsets_count_characters_or_bytes(self):
        tokenizer = small()
        self.assertEqual(tokenizer.encode("éas").offsets, [(0, 1), (0, 1), (1, 2), (2, 3)])
        self.assertEqual(tokenizer.encode("éas", byte_offsets=True).offsets, [(0, 2), (0, 2), (2, 3), (3, 4)])

    def test_tensors(self):
        tokenizer = small().with_padding(pad_id=1, pad_token="<pad>")
        batch = pl.text.stack(tokenizer.encode_batch(["low", "low newest"]))
        self.assertEqual(batch.ids.shape, (2, 2))
        np.testing.assert_array_equal(batch.attention_mask.numpy(), [[1, 0], [1, 1]])
        np.testing.assert_array_equal(batch.special_tokens_mask.numpy(), [[0, 1], [0, 0]])
        self.assertEqual(tokenizer.decode_batch(batch.ids), ["low", "low newest"])
        self.assertEqual(tokenizer.decode(batch.ids[1]), "low newest")
        self.assertEqual(tokenizer.decode(batch.ids[1].numpy()), "low newest")
        self.assertEqual(pl.text.stack([]).ids.shape, (0, 0))
        with self.assertRaisesRegex(pl.ShapeError, r"encoding 0 has 1 tokens, encoding 1 has 2(.|\n)*with_padding"):
            pl.text.stack(small().encode_batch(["low", "low newest"]))
        self.assertRaises(pl.TypeError, pl.text.stack, ["low"])


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_a_tokenizer_is_saved_and_read(self):
        tokenizer = small().with_padding(pad_id=1).with_truncation(5, 2)
        for pretty in (True, False):
            path = self.folder / "tokenizer.json"
            tokenizer.save(path, pretty)
            again = pl.text.Tokenizer.from_file(path)
            self.assertEqual(again.to_str(), tokenizer.to_str())
            self.assertEqual(path.read_text(), tokenizer.to_str(pretty))
            self.assertEqual(hf.Tokenizer.from_file(str(path)).to_str(), tokenizer.to_str())
        self.assertEqual(len(list(self.folder.iterdir())), 1)

    def test_copies_and_pickles(self):
        tokenizer = small().with_truncation(3)
        for again in (copy.copy(tokenizer), copy.deepcopy(tokenizer), pickle.loads(pickle.dumps(tokenizer))):
            self.assertEqual(again.to_str(), tokenizer.to_str())

    def test_a_vocab_txt_is_that_of_bert(self):
        tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "##re", "a", "é", "e", "##s", "!", ",", "The", "日", "  "]
        path = self.folder / "vocab.txt"
        path.write_text("\n".join(tokens) + "\n", encoding="utf-8")
        for lowercase in (True, False):
            theirs = hf.Tokenizer(models.WordPiece({token.rstrip(): id for id, token in enumerate(tokens)}, unk_token="[UNK]"))
            theirs.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
            theirs.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
            theirs.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
            theirs.decoder = hf.decoders.WordPiece()
            theirs.add_special_tokens(["[UNK]", "[SEP]", "[CLS]", "[PAD]", "[MASK]"])
            mine = pl.text.Tokenizer.from_file(path, lowercase=lowercase)
            self.assertEqual(mine.to_str(), theirs.to_str())
            samples.expect_same(self, theirs, ["There, the ES!", "The é 日", "[MASK] the"], mine)
        path.write_bytes(b"[UNK]\n[CLS]\n[SEP]\n\xff\n")
        with self.assertRaisesRegex(pl.ParseError, "vocab.txt: byte 18: this is not UTF-8"):
            pl.text.Tokenizer.from_file(path)
        path.write_text("a\nb\n")
        with self.assertRaisesRegex(pl.ParseError, r'vocab.txt: the token "\[UNK\]" is missing'):
            pl.text.Tokenizer.from_file(path)

    def test_truncated_files_are_refused(self):
        text = small().to_str()
        for size in range(0, len(text), 97):
            self.assertRaises(pl.ParseError, pl.text.Tokenizer.from_str, text[:size])
        with self.assertRaisesRegex(pl.IoError, "cannot open .*no_such.json"):
            pl.text.Tokenizer.from_file(self.folder / "no_such.json")
        with self.assertRaisesRegex(pl.IoError, "cannot write"):
            small().save(self.folder / "no" / "folder.json")


REFUSED = [
    ({"version": "2.0"}, 'version: "2.0" is not supported'), ({"more": 1}, "more is not supported"), ({"model": None}, "model is missing"),
    ({"model": {"type": "WordLevel", "vocab": {"a": -1}, "unk_token": "a"}}, r'model.vocab\["a"\] is -1, expected 0 to 2147483647'),
    ({"model": {"type": "WordLevel", "vocab": {"a": 2**40}, "unk_token": "a"}}, r'model.vocab\["a"\] is 1099511627776'),
    ({"model": {"type": "WordLevel", "vocab": ["a"], "unk_token": "a"}}, "model.vocab is a list, expected an object"),
    ({"model": {"type": "WordLevel", "vocab": {}}}, "model.unk_token is missing"),
    ({"model": {"type": "Magic", "vocab": {}}}, 'model.type: the model "Magic" is not supported'),
    ({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}}, r'model.merges\[0\]: the token "b" is not in the vocabulary'),
    ({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": ["a b"]}}, r'model.merges\[0\]: the token "ab" is not in the vocabulary'),
    ({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a"]}}, r'model.merges\[0\]: expected two tokens with a space between, not "a"'),
    ({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [["a"]]}}, r"model.merges\[0\]: expected two tokens, not 1"),
    ({"model": {"type": "BPE", "vocab": {}, "merges": [], "dropout": 1.5}}, "model.dropout: it is 1.5, expected 0 to 1"),
    ({"model": {"type": "BPE", "vocab": {}, "merges": [], "dropout": -0.1}}, "model.dropout: it is -0.1, expected 0 to 1"),
    ({"model": {"type": "BPE", "vocab": {}, "merges": [], "dropout": True}}, "model.dropout"),
    ({"model": {"type": "BPE", "vocab": {}, "merges": [], "magic": 1}}, "model.magic is not supported"),
    ({"model": {"type": "Unigram", "vocab": [["a", 0.0]], "unk_id": 5}}, "model.unk_id is 5, but there are 1 tokens"),
    ({"model": {"type": "Unigram", "vocab": [["a"]], "unk_id": 0}}, r"model.vocab\[0\]: expected a token and its score"),
    ({"model": {"type": "WordPiece", "vocab": {}, "unk_token": "a", "continuing_subword_prefix": "##"}}, "model.max_input_chars_per_word is missing"),
    ({"normalizer": {"type": "Magic"}}, 'normalizer.type: the normalizer "Magic" is not supported'),
    ({"normalizer": {"type": "NFC", "form": 1}}, "normalizer.form is not supported"),
    ({"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Strip"}]}}, r"normalizer.normalizers\[1\].strip_left is missing"),
    ({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "?"}}, "normalizer.precompiled_charsmap: this is not base64"),
    ({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "/////w=="}}, "normalizer.precompiled_charsmap: byte 0: an array of"),
    ({"pre_tokenizer": {"type": "Magic"}}, 'pre_tokenizer.type: the pre-tokenizer "Magic" is not supported'),
    ({"pre_tokenizer": {"type": "UnicodeScripts", "version": 9}}, "pre_tokenizer.version is not supported"),
    ({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated", "invert": False}}, "pre_tokenizer.pattern: the regular"),
    ({"pre_tokenizer": {"type": "Split", "pattern": {"String": "a"}, "behavior": "Lost", "invert": False}}, 'the behavior "Lost" is not supported'),
    ({"pre_tokenizer": {"type": "Metaspace", "replacement": "ab"}}, 'pre_tokenizer.replacement: expected one character, not "ab"'),
    ({"pre_tokenizer": {"type": "FixedLength", "length": 0}}, "pre_tokenizer.length: it is 0"),
    ({"post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x", "type_id": 0}}], "pair": [], "special_tokens": {}}},
     'post_processor.single: the special token "x" is not in special_tokens'),
    ({"post_processor": {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "B", "type_id": 0}}], "pair": [], "special_tokens": {}}},
     "post_processor.single: it uses the second text"),
    ({"post_processor": {"type": "BertProcessing", "sep": ["a"], "cls": ["b", 1]}}, "post_processor.sep: expected a token and its id"),
    ({"decoder": {"type": "Magic"}}, 'decoder.type: the decoder "Magic" is not supported'),
    ({"added_tokens": [{"id": 7, "content": "x", "single_word": False, "lstrip": False, "rstrip": False, "normalized": True, "special": False}]},
     r'added_tokens\[0\]: the id of "x" is 7, but its place gives it 2'),
    ({"truncation": {"max_length": 5, "strategy": "Random", "stride": 0}}, 'truncation.strategy: "Random" is not supported'),
    ({"padding": {"strategy": "Longest", "direction": "Right", "pad_id": 0, "pad_type_id": 0, "pad_token": ""}}, 'padding.strategy: "Longest"')]


class Refusals(unittest.TestCase):
    def test_files_name_the_field(self):
        pl.text.Tokenizer.from_str(parts())
        for change, words in REFUSED:
            with self.subTest(change), self.assertRaisesRegex(pl.ParseError, words):
                pl.text.Tokenizer.from_str(parts(**change))

    def test_every_field_of_a_file_is_needed_or_has_its_default(self):
        """A member that is left out or of another type gives an error of the library, or a tokenizer that the reference reads, too."""
        tokenizer = json.loads(samples.word_level(
            normalizer=normalizers.Sequence([normalizers.BertNormalizer(), normalizers.Replace("a", "b"), normalizers.Strip()]),
            pre_tokenizer=pre_tokenizers.Sequence([pre_tokenizers.ByteLevel(), pre_tokenizers.Metaspace(), pre_tokenizers.Digits(), pre_tokenizers.Split(
                "a", "removed")]),
            post_processor=processors.RobertaProcessing(("a", 1), ("b", 2))).to_str())
        count = 0
        for changed in changes_of(tokenizer):
            try:
                pl.text.Tokenizer.from_str(json.dumps(changed))
            except pl.Error:
                count += 1
        self.assertGreater(count, 100)

    def test_texts_and_types(self):
        tokenizer = small()
        for call in (lambda: tokenizer.encode("\ud800"), lambda: tokenizer.encode("a", "\udfff"), lambda: tokenizer.encode_batch(["a", "\ud800"]),
                     lambda: tokenizer.decode([-1]), lambda: tokenizer.decode([2**32]), lambda: tokenizer.encode_batch(["a"], ["b", "c"]),
                     lambda: tokenizer.with_padding(direction="up"), lambda: tokenizer.with_padding(pad_id=-1), lambda: tokenizer.with_truncation(-1),
                     lambda: tokenizer.with_truncation(3, 3), lambda: tokenizer.with_truncation(3, strategy="some"),
                     lambda: tokenizer.train(LINES, vocab_size=-1), lambda: tokenizer.train(["\ud800"]), lambda: tokenizer.train(LINES, shrinking_factor=2)):
            self.assertRaises(pl.ValueError, call)
        for call in (lambda: tokenizer.encode(1), lambda: tokenizer.encode(b"a"), lambda: tokenizer.encode(["a"]), lambda: tokenizer.encode_batch("ab"),
                     lambda: tokenizer.encode("a", is_pretokenized=True), lambda: tokenizer.encode([1], is_pretokenized=True),
                     lambda: tokenizer.decode(1), lambda: tokenizer.decode(["a"]), lambda: tokenizer.encode("a", add_special_tokens=1),
                     lambda: tokenizer.with_added_tokens("x"), lambda: tokenizer.with_added_tokens([1]), lambda: tokenizer.train("text"),
                     lambda: tokenizer.token_to_id(1), lambda: pl.text.Tokenizer("gpt2"), lambda: pl.text.Tokenizer.from_str(b"{}"),
                     lambda: pl.text.Tokenizer.from_file(1.5), lambda: tokenizer.train(LINES, special_tokens="<s>")):
            self.assertRaises(pl.TypeError, call)
        with self.assertRaisesRegex(pl.TypeError, "the text is None, expected a str"):
            tokenizer.encode(None)
        with self.assertRaisesRegex(pl.ValueError, "text 1 of the batch: .*lone surrogate|lone surrogate"):
            tokenizer.encode_batch(["a", "\ud800"])
        with self.assertRaisesRegex(pl.AttributeError, r"nothing changes it\n  hint: tokenizer = tokenizer.with_padding"):
            tokenizer.enable_padding()
        for name, words in (("vocab_size", "get_vocab_size"), ("batch_decode", "decode_batch"), ("encode_plus", r"encode\(text\)"),
                            ("pad_token_id", "token_to_id")):
            with self.subTest(name), self.assertRaisesRegex(pl.AttributeError, f"no '{name}'\n  hint: tokenizer.{words}"):
                getattr(tokenizer, name)
        with self.assertRaisesRegex(pl.TypeError, r"hint: tokenizer.encode\(text\).ids; plait.text.stack"):
            tokenizer("a text")
        for named in {"files": ["a.txt"]}, {"texts": LINES, "trainer": None}:
            with self.assertRaisesRegex(pl.TypeError, r"takes texts, not files or a trainer[\s\S]*plait.io.TextLines"):
                tokenizer.train(**named)
        with self.assertRaisesRegex(pl.TypeError, "did you mean 'vocab_size'"):
            tokenizer.train(LINES, vocab_sise=3)
        untrained = pl.text.byte_level_bpe()
        self.assertEqual((len(tokenizer), len(untrained), bool(untrained)), (tokenizer.get_vocab_size(), 0, True))
        self.assertEqual(tokenizer.decode([10**6, 0]), "")

    def test_what_a_text_lacks(self):
        for model, words in (({"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "?"}, '"b" is not in the vocabulary, nor is the unknown token'),
                             ({"type": "WordPiece", "vocab": {"a": 0}, "unk_token": "?", "continuing_subword_prefix": "##",
                               "max_input_chars_per_word": 9}, '"b" has no tokens, and the unknown token "\\?" is not'),
                             ({"type": "BPE", "vocab": {"a": 0}, "merges": [], "unk_token": "?"}, 'the unknown token "\\?" is not in the vocabulary'),
                             ({"type": "Unigram", "vocab": [["a", 0.0]], "unk_id": None}, "the model has no unknown token")):
            tokenizer = pl.text.Tokenizer.from_str(parts(model=model))
            self.assertEqual(tokenizer.encode("a").ids, [0])
            with self.assertRaisesRegex(pl.ValueError, words):
                tokenizer.encode("b")
            with self.assertRaisesRegex(pl.ValueError, f"text 1 of the batch: .*{words}"):
                tokenizer.encode_batch(["a", "b"])


def changes_of(value):
    """The value with one member left out or replaced, in all ways."""
    if isinstance(value, dict):
        for name, member in value.items():
            others = {each: other for each, other in value.items() if each != name}
            yield others
            for other in (None, 1, -1, "x", [], {}, True, 1.5, *changes_of(member)):
                yield others | {name: other}
    elif isinstance(value, list):
        for i, member in enumerate(value):
            for other in changes_of(member):
                yield [*value[:i], other, *value[i + 1:]]


class Threads(unittest.TestCase):
    def test_one_tokenizer_is_shared(self):
        tokenizer, inputs = small(), samples.texts(100, seed=31)
        expected = [tokenizer.encode(text).ids for text in inputs]
        found = [None] * 4

        def work(number):
            found[number] = [tokenizer.encode(text).ids for text in inputs * 3][-len(inputs):]

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [expected] * 4)


class OtherFiles(unittest.TestCase):
    """The tokenizers of GGUF files, and of folders."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def gguf(self, fill):
        path = self.folder / "x.gguf"
        writer = gguf.GGUFWriter(path, "llama")
        fill(writer)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path

    def test_bytes(self):
        """The tokens and merges of a tokenizer.json as llama.cpp's converter writes them."""
        tokenizer = small()
        model = json.loads(tokenizer.to_str())["model"]

        def fill(writer):
            writer.add_tokenizer_model("gpt2")
            writer.add_tokenizer_pre("gpt-2")
            writer.add_token_list(list(model["vocab"]))
            writer.add_token_types([3, 3] + [1] * (len(model["vocab"]) - 2))
            writer.add_token_merges([" ".join(each) for each in model["merges"]])
            writer.add_bos_token_id(0)
            writer.add_add_bos_token(True)

        read = pl.text.Tokenizer.from_file(self.gguf(fill))
        for text in ("low newest wides", "é日本 <s>", "  a\n\n"):
            self.assertEqual(read.encode(text).ids, [0, *tokenizer.encode(text).ids])
        self.assertEqual(read.decode(read.encode("newest é").ids), "newest é")

    def test_sentencepiece(self):
        tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "l", "o", "w", "lo", "low", "▁low"]

        def fill(writer):
            writer.add_tokenizer_model("llama")
            writer.add_token_list(tokens)
            writer.add_token_scores([0.0] * 259 + [-9.0, -8.0, -7.0, -6.0, -3.0, -2.0, -1.0])
            writer.add_token_types([2, 3, 3] + [6] * 256 + [1] * 7)
            for add, id in ((writer.add_unk_token_id, 0), (writer.add_bos_token_id, 1), (writer.add_eos_token_id, 2)):
                add(id)

        read = pl.text.Tokenizer.from_file(self.gguf(fill))
        self.assertEqual(read.encode("low lolé").tokens, ["<s>", "▁low", "▁", "lo", "l", "<0xC3>", "<0xA9>"])
        self.assertEqual(read.decode(read.encode("low lolé").ids), "low lolé")

    def test_sentencepiece_with_merges(self):
        """As gemma4 has them: newlines are apart, no space is added before, and <bos> is."""
        tokens = ["<unk>", "<bos>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "\n", "\n\n", "l", "o", "w", "lo", "low", "▁low", "▁▁"]

        def fill(writer):
            writer.add_tokenizer_model("gemma4")
            writer.add_token_list(tokens)
            writer.add_token_scores([0.0] * len(tokens))
            writer.add_token_types([2, 3] + [6] * 256 + [1] * 10)
            writer.add_token_merges(["▁ ▁", "\n \n", "l o", "lo w", "▁ low"])
            writer.add_unk_token_id(0)
            writer.add_bos_token_id(1)
            writer.add_add_bos_token(False)

        read = pl.text.Tokenizer.from_file(self.gguf(fill))
        text = "low  low low\n\n\nlé"
        self.assertEqual(read.encode(text).tokens,
                         ["<bos>", "low", "▁▁", "low", "▁low", "\n\n", "\n", "l", "<0xC3>", "<0xA9>"])
        self.assertEqual(read.decode(read.encode(text).ids), text)

    def test_words_and_unigram(self):
        def bert(writer):
            writer.add_tokenizer_model("bert")
            writer.add_token_list(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁low", "er"])
            writer.add_token_types([3, 3, 3, 3, 1, 1])
            writer.add_unk_token_id(1)
            writer.add_bos_token_id(2)
            writer.add_sep_token_id(3)

        self.assertEqual(pl.text.Tokenizer.from_file(self.gguf(bert)).encode("Lower x").ids, [2, 4, 5, 1, 3])

        def t5(writer):
            writer.add_tokenizer_model("t5")
            writer.add_token_list(["<pad>", "</s>", "<unk>", "▁low", "er"])
            writer.add_token_scores([0.0, 0.0, 0.0, -2.0, -3.0])
            writer.add_token_types([3, 3, 2, 1, 1])
            writer.add_unk_token_id(2)
            writer.add_eos_token_id(1)

        self.assertEqual(pl.text.Tokenizer.from_file(self.gguf(t5)).encode("lower").ids, [3, 4, 1])

    def test_what_is_missing_is_named(self):
        for fill, said in ((lambda writer: None, r"x\.gguf: tokenizer\.ggml\.model is missing"),
                           (lambda writer: writer.add_tokenizer_model("rwkv"), r'tokenizer\.ggml\.model: "rwkv" is not supported'),
                           (lambda writer: writer.add_tokenizer_model("gpt2"), r"tokenizer\.ggml\.tokens is missing"),
                           (lambda writer: (writer.add_tokenizer_model("gpt2"), writer.add_token_list(["a"]), writer.add_token_types([9])),
                            r"tokenizer\.ggml\.token_type\[0\] is 9")):
            with self.assertRaisesRegex(pl.ParseError, said):
                pl.text.Tokenizer.from_file(self.gguf(fill))

    def test_folders(self):
        small().save(self.folder / "tokenizer.json")
        self.assertEqual(pl.text.Tokenizer.from_pretrained(self.folder).to_str(), small().to_str())
        (self.folder / "tokenizer.json").unlink()
        with self.assertRaisesRegex(pl.IoError, r"there is no tokenizer.json"):
            pl.text.Tokenizer.from_pretrained(self.folder)
        with self.assertRaisesRegex(pl.IoError, r"nothing is downloaded(.|\n)*from_file"):
            pl.text.Tokenizer.from_pretrained("bert-base-uncased")


if __name__ == "__main__":
    unittest.main()
