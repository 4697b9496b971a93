"""Training, compared with Hugging Face's `tokenizers`: the same merges and tokens from the same text."""

import collections
import json
import unittest

import plait as pl
import text_samples as samples
import tokenizers as hf
from tokenizers import models, normalizers, pre_tokenizers, trainers


def model_of(tokenizer):
    return json.loads(tokenizer.to_str())["model"]


def pair_of(model, trainer, **parts):
    """A tokenizer without tokens of each library, and the reference's trainer."""
    theirs = hf.Tokenizer(model)
    for name, part in parts.items():
        setattr(theirs, name, part)
    return samples.ours(theirs), theirs, trainer


class Bpe(unittest.TestCase):
    def check(self, given, lines=None, **options):
        mine, theirs, trainer = given
        lines = samples.corpus() if lines is None else lines
        theirs.train_from_iterator(iter(lines), trainer)
        mine = mine.train(iter(lines), **options)
        self.assertEqual(mine.to_str(), theirs.to_str())
        samples.expect_same(self, theirs, samples.texts(40, seed=41), mine)

    def test_of_bytes(self):
        for size, frequency, space in ((3000, 0, False), (600, 0, True), (20000, 3, False)):
            trainer = trainers.BpeTrainer(vocab_size=size, min_frequency=frequency, show_progress=False, special_tokens=["<s>", "</s>"],
                                          initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
            self.check(pair_of(models.BPE(), trainer, pre_tokenizer=pre_tokenizers.ByteLevel(space)), vocab_size=size, min_frequency=frequency,
                       special_tokens=["<s>", "</s>"])

    def test_of_characters(self):
        # The reference keeps any of the characters that are equally frequent.
        counts = sorted(collections.Counter("".join(samples.corpus())).values(), reverse=True)
        limit = max(range(55, 130), key=lambda size: (len(set(counts[size - 4:size + 4])), counts[size - 1] - counts[size]))
        for options in ({}, {"max_token_length": 4}, {"limit_alphabet": limit}, {"initial_alphabet": ["ж", "a"]}):
            trainer = trainers.BpeTrainer(vocab_size=1500, show_progress=False, special_tokens=["<unk>"], **options)
            self.check(pair_of(models.BPE(unk_token="<unk>", fuse_unk=True), trainer, pre_tokenizer=pre_tokenizers.Metaspace()), vocab_size=1500,
                       special_tokens=["<unk>"], **options)

    def test_ties_are_broken_by_ids(self):
        for line in ("abcabcabc", "aaaa aaaa aa", "ab ba ab ba", "abab baba", "aabb bbaa abab baba ccc"):
            trainer = trainers.BpeTrainer(vocab_size=40, show_progress=False)
            self.check(pair_of(models.BPE(), trainer, pre_tokenizer=pre_tokenizers.Whitespace()), [line], vocab_size=40)

    def test_few_texts(self):
        for lines in ([], [""], ["a"], ["a", "b"], ["é"]):
            trainer = trainers.BpeTrainer(vocab_size=100, show_progress=False)
            self.check(pair_of(models.BPE(), trainer), lines, vocab_size=100)

    def test_words_that_begin_and_end(self):
        """The reference numbers the symbols with a prefix or suffix at random: the tokens are the same, and mostly the merges."""
        for model, options in ((models.BPE(unk_token="<unk>", continuing_subword_prefix="##"), {"continuing_subword_prefix": "##"}),
                               (models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"), {"end_of_word_suffix": "</w>"})):
            trainer = trainers.BpeTrainer(vocab_size=1000, show_progress=False, special_tokens=["<unk>"], **options)
            mine, theirs, trainer = pair_of(model, trainer, pre_tokenizer=pre_tokenizers.Whitespace())
            theirs.train_from_iterator(iter(samples.corpus()), trainer)
            mine = mine.train(samples.corpus(), 1000, ["<unk>"])
            self.assertGreater(len(set(mine.get_vocab()) & set(theirs.get_vocab())), 990)
            a, b = ({tuple(each) for each in model_of(each)["merges"]} for each in (mine, theirs))
            self.assertGreater(len(a & b), 0.98 * len(a))


class OtherModels(unittest.TestCase):
    def test_word_piece(self):
        trainer = trainers.WordPieceTrainer(vocab_size=1500, show_progress=False, special_tokens=["[UNK]", "[CLS]"])
        mine, theirs, trainer = pair_of(models.WordPiece(unk_token="[UNK]"), trainer, normalizer=normalizers.BertNormalizer(),
                                        pre_tokenizer=pre_tokenizers.BertPreTokenizer())
        theirs.train_from_iterator(iter(samples.corpus()), trainer)
        mine = mine.train(samples.corpus(), 1500, ["[UNK]", "[CLS]"])
        self.assertEqual(mine.get_vocab_size(), theirs.get_vocab_size())
        # The reference takes pairs of equal counts in any order.
        self.assertGreater(len(set(mine.get_vocab()) & set(theirs.get_vocab())), 1450)
        self.assertEqual([mine.id_to_token(id) for id in range(40)], [theirs.id_to_token(id) for id in range(40)])

    def test_word_level(self):
        for size, frequency in ((500, 0), (10**6, 2)):
            trainer = trainers.WordLevelTrainer(vocab_size=size, min_frequency=frequency, show_progress=False, special_tokens=["[UNK]"])
            mine, theirs, trainer = pair_of(models.WordLevel(unk_token="[UNK]"), trainer, pre_tokenizer=pre_tokenizers.Whitespace())
            theirs.train_from_iterator(iter(samples.corpus()), trainer)
            self.assertEqual(mine.train(samples.corpus(), size, ["[UNK]"], min_frequency=frequency).to_str(), theirs.to_str())

    def test_unigram(self):
        """The tokens are the same. The reference sums in another order, so that scores differ in the last digits, and one of two that are equally
        useful may be the other one."""
        lines = samples.corpus()[:1200]
        for size, options in ((10**5, {}), (10**5, {"n_sub_iterations": 1}), (2500, {}), (800, {}), (300, {}),
                              (600, {"shrinking_factor": 0.5, "n_sub_iterations": 1}), (600, {"initial_alphabet": ["ж"]})):
            trainer = trainers.UnigramTrainer(vocab_size=size, show_progress=False, special_tokens=["<s>", "<unk>"], unk_token="<unk>", **options)
            mine, theirs, trainer = pair_of(models.Unigram(), trainer, pre_tokenizer=pre_tokenizers.Metaspace())
            theirs.train_from_iterator(iter(lines), trainer)
            a, b = model_of(mine.train(lines, size, ["<s>", "<unk>"], unk_token="<unk>", **options)), model_of(theirs)
            self.assertEqual((a["unk_id"], len(a["vocab"])), (b["unk_id"], len(b["vocab"])))
            ours, others = dict(a["vocab"]), dict(b["vocab"])
            self.assertLessEqual(len(set(ours) ^ set(others)), 2, (size, options))
            rare = min(others.values()) + 0.1  # characters that no token was learned for have scores by their order
            for token in set(ours) & set(others):
                if others[token] > rare and size == 10**5:
                    self.assertAlmostEqual(ours[token], others[token], delta=1e-9, msg=token)

    def test_an_unknown_token_is_added(self):
        tokenizer = pl.text.sentencepiece_unigram().train(["low lower"] * 5, 12, ["<s>"], unk_token="<unk>")
        self.assertEqual([tokenizer.id_to_token(id) for id in (0, 1)], ["<unk>", "<s>"])
        self.assertEqual(tokenizer.encode("é").ids[-1], 0)


class Presets(unittest.TestCase):
    """Tokenizers without tokens, beside those of the reference: the same parts, and the same tokens of texts that are not in NFKC."""

    def test_sentencepiece(self):
        lines = samples.corpus()[:600] + ["½ ﬁne ① Ⅷ x² µm ｆｕｌｌ", "…  two  spaces"] * 20
        for mine, theirs, options in (
                (pl.text.sentencepiece_bpe(), hf.SentencePieceBPETokenizer(), {"min_frequency": 2, "limit_alphabet": 1000}),
                (pl.text.sentencepiece_unigram(), hf.SentencePieceUnigramTokenizer(), {"unk_token": "<unk>"})):
            self.assertEqual(json.loads(mine.to_str()), json.loads(theirs.to_str()))
            theirs.train_from_iterator(lines, vocab_size=900, show_progress=False, special_tokens=["<unk>"], **options)
            mine = mine.train(lines, 900, ["<unk>"], **options)
            self.assertLessEqual(len(set(mine.get_vocab()) ^ set(theirs.get_vocab())), 2)
            if "min_frequency" in options:
                self.assertEqual(mine.to_str(), theirs.to_str())

    def test_bert(self):
        self.assertEqual(json.loads(pl.text.bert_word_piece().to_str()), json.loads(hf.BertWordPieceTokenizer().to_str()))


class Characters(unittest.TestCase):
    def test_each_character_is_a_token(self):
        text = "Ein Wörterbuch, 語 and\n\tspaces  too 🙂"
        tokenizer = pl.text.characters(["no more", text])
        theirs = hf.Tokenizer.from_str(tokenizer.to_str())
        for each in (text, text * 1000, "", "x? 字", "<unk>"):
            ids = tokenizer.encode(each).ids
            self.assertEqual(ids, theirs.encode(each).ids)
            self.assertEqual(len(ids), len(each))
            self.assertEqual(tokenizer.decode(ids), theirs.decode(ids))
        self.assertEqual(tokenizer.decode(tokenizer.encode(text).ids), text)
        self.assertEqual(pl.text.characters(iter([]), None).encode("abc").ids, [])
        for texts, message in (("abc", r"\[text\] has the characters"), ([b"a"], "a text is")):
            with self.assertRaisesRegex(pl.errors.TypeError, message):
                pl.text.characters(texts)


class Values(unittest.TestCase):
    def test_training_changes_nothing_and_texts_may_be_a_generator(self):
        untrained = pl.text.byte_level_bpe()
        tokenizer = untrained.train((f"line {i}" for i in range(3000)), vocab_size=300)
        self.assertEqual(untrained.get_vocab_size(), 0)
        self.assertEqual(tokenizer.get_vocab_size(), 300)
        self.assertEqual(tokenizer.decode(tokenizer.encode("line 7, é").ids), "line 7, é")

    def test_added_tokens_stay(self):
        tokenizer = pl.text.byte_level_bpe().with_added_tokens(["<x>"]).train(["low lower"], 258, ["<s>"])
        self.assertEqual(tokenizer.encode("low<x><s>").tokens[-2:], ["<x>", "<s>"])
        self.assertEqual(tokenizer.token_to_id("<s>"), 0)

    def test_words_are_learned_after_normalization(self):
        tokenizer = pl.text.bert_word_piece().train(["LOW Lower"] * 5, 30, ["[UNK]"])
        self.assertEqual(tokenizer.encode("Low LOWER").tokens, ["low", "lower"])

    def test_errors_of_iterators_pass(self):
        def texts():
            yield "a"
            raise KeyError("mine")

        self.assertRaises(KeyError, pl.text.byte_level_bpe().train, texts())

    def test_paths_of_files_are_no_texts(self):
        with self.assertRaisesRegex(pl.ValueError, "the texts are paths of files.*[\\s\\S]*TextLines"):
            pl.text.byte_level_bpe().train([__file__, __file__])
        pl.text.byte_level_bpe().train([__file__, "a text"])


if __name__ == "__main__":
    unittest.main()
