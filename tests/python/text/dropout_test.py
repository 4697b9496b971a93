"""Dropout of BPE: its distribution compared with Hugging Face's `tokenizers`, which draws from its threads' randomness, and its keys."""

import collections
import functools
import pickle
import unittest

import plait as pl
import text_samples as samples
import tokenizers as hf
from tokenizers import models, pre_tokenizers

MERGES = [("l", "o"), ("lo", "w"), ("e", "r"), ("e", "s"), ("es", "t"), ("low", "er"), ("low", "low"), ("r", "l"), ("lowlow", "er")]
TOKENS = list(dict.fromkeys(["l", "o", "w", "e", "r", "s", "t", "▁", *(left + right for left, right in MERGES), "▁l", "▁▁"]))


def tokenizer_of(dropout, merges=MERGES, **options):
    tokenizer = hf.Tokenizer(models.BPE({token: id for id, token in enumerate(TOKENS)}, merges, dropout=dropout, **options))
    return tokenizer


@functools.cache
def trained():
    tokenizer = hf.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(False)
    return samples.trained(tokenizer, hf.trainers.BpeTrainer(vocab_size=700, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()),
                           samples.corpus()[::5])


def with_dropout(theirs, dropout):
    theirs = hf.Tokenizer.from_str(theirs.to_str())
    theirs.model.dropout = dropout
    return theirs


def ids_of(tokenizer, texts, seed=0):
    return [each.ids for each in tokenizer.encode_batch(texts, key=pl.random.key(seed))]


class Distribution(unittest.TestCase):
    COUNT = 20000

    def expect_same_distribution(self, theirs, text):
        """A chi-squared test of two samples. The limit is five standard deviations above the mean."""
        mine = collections.Counter(map(tuple, ids_of(samples.ours(theirs), [text] * self.COUNT)))
        other = collections.Counter(tuple(theirs.encode(text).ids) for _ in range(self.COUNT))
        often = [each for each in mine | other if mine[each] + other[each] >= 40]
        pairs = [(mine[each], other[each]) for each in often]
        pairs.append((self.COUNT - sum(a for a, _ in pairs), self.COUNT - sum(b for _, b in pairs)))
        statistic = sum((a - b) ** 2 / (a + b) for a, b in pairs if a + b)
        freedom = len(pairs) - 1
        self.assertLess(statistic, freedom + 5 * (2 * freedom + 1) ** 0.5 + 5, (text, pairs))

    def test_it_is_that_of_the_reference(self):
        for dropout in (0.05, 0.1, 0.5, 0.9):
            for text in ("lower", "lowlower", "lowestlow"):
                with self.subTest(text, dropout=dropout):
                    self.expect_same_distribution(tokenizer_of(dropout), text)

    def test_words_with_spaces_within(self):
        """The reference merges over the whole word, so merges of one part bring back those of another."""
        merges = [("l", "o"), ("lo", "w"), ("▁", "l"), ("▁", "▁")]
        for dropout in (0.3, 0.6):
            self.expect_same_distribution(tokenizer_of(dropout, merges), "low▁low▁▁low")

    def test_bytes(self):
        for dropout in (0.2, 0.6):
            self.expect_same_distribution(with_dropout(trained(), dropout), "the other")


class Extremes(unittest.TestCase):
    def test_none_is_left_out(self):
        inputs = samples.texts(100, seed=21)
        plain = samples.ours(trained())
        for dropout in (0.0, 1e-50, None):
            mine = samples.ours(with_dropout(trained(), dropout))
            self.assertEqual(ids_of(mine, inputs), [plain.encode(text).ids for text in inputs])
            self.assertEqual([mine.encode(text).ids for text in inputs], ids_of(mine, inputs))

    def test_all_are_left_out(self):
        for theirs in (with_dropout(trained(), 1.0), tokenizer_of(1.0, ignore_merges=True), tokenizer_of(1.0, unk_token="e", fuse_unk=True)):
            mine = samples.ours(theirs)
            for text in [*samples.texts(100, seed=22), "lower lowest"]:
                samples.expect_same_encoding(self, mine.encode(text, key=pl.random.key(3)), theirs.encode(text), repr(text))

    def test_a_small_one_changes_few_words(self):  # the vocabulary is trained on the documents, and changes with them
        text = "the other words of a text " * 200
        mine = samples.ours(with_dropout(trained(), 0.01))
        plain = samples.ours(trained()).encode(text)
        self.assertLess(len(mine.encode(text, key=pl.random.key(1)).ids), len(plain.ids) * 1.1)
        self.assertGreater(len(mine.encode(text, key=pl.random.key(1)).ids), len(plain.ids))

    def test_tokens_spell_the_text(self):
        mine = samples.ours(with_dropout(trained(), 0.4))
        for i, text in enumerate(samples.texts(200, seed=23)):
            encoding = mine.encode(text, key=pl.random.key(i))
            alphabet = samples.ours(trained()).encode(text)
            self.assertEqual("".join(encoding.tokens), "".join(alphabet.tokens))
            self.assertEqual(encoding.word_ids[-1:], alphabet.word_ids[-1:])

    def test_long_words(self):
        mine = samples.ours(with_dropout(trained(), 0.1))
        self.assertEqual("".join(mine.encode("word" * 20000, key=pl.random.key(0)).tokens), "word" * 20000)


class Keys(unittest.TestCase):
    TEXT = "the other words of another text"

    def test_tokens_are_a_function_of_text_and_key(self):
        mine = samples.ours(with_dropout(trained(), 0.3))
        found = [mine.encode(self.TEXT, key=pl.random.key(seed)).ids for seed in range(20)]
        self.assertEqual(found, [mine.encode(self.TEXT, key=pl.random.key(seed)).ids for seed in range(20)])
        self.assertGreater(len(set(map(tuple, found))), 15)
        mine.encode("something else", key=pl.random.key(99))
        self.assertEqual(found[0], mine.encode(self.TEXT, key=pl.random.key(0)).ids)

    def test_text_i_of_a_batch_has_the_key_i(self):
        mine = samples.ours(with_dropout(trained(), 0.3))
        key = pl.random.key(5)
        alone = [mine.encode(self.TEXT, key=pl.random.fold_in(key, i)).ids for i in range(30)]
        self.assertEqual([each.ids for each in mine.encode_batch([self.TEXT] * 30, key=key)], alone)
        self.assertGreater(len(set(map(tuple, alone))), 20)
        words = [self.TEXT.split()] * 4
        self.assertEqual([each.ids for each in mine.encode_batch(words, is_pretokenized=True, key=key)],
                         [mine.encode(words[0], is_pretokenized=True, key=pl.random.fold_in(key, i)).ids for i in range(4)])

    def test_it_is_needed(self):
        mine = samples.ours(with_dropout(trained(), 0.3))
        for call in (lambda: mine.encode("a"), lambda: mine.encode_batch(["a"]), lambda: mine.encode(["a"], is_pretokenized=True)):
            with self.assertRaisesRegex(pl.ValueError, "with a dropout of 0.3, and draws from a key, which is missing"):
                call()
        for key in (3, "a", pl.tensor([1.0]), pl.random.split_key(pl.random.key(0), 2)):
            with self.subTest(key), self.assertRaises(pl.TypeError):
                mine.encode("a", key=key)

    def test_others_ignore_it(self):
        mine = samples.ours(trained())
        self.assertEqual(mine.encode(self.TEXT, key=pl.random.key(1)).ids, mine.encode(self.TEXT).ids)


class Tokenizers(unittest.TestCase):
    def test_files(self):
        for dropout in (None, 0.0, 0.1, 1 / 3, 1e-5, 1e-7, 0.123456789, 1.0):
            theirs = tokenizer_of(dropout)
            mine = samples.ours(theirs)
            self.assertEqual(mine.to_str(), theirs.to_str())
            self.assertEqual(pickle.loads(pickle.dumps(mine)).to_str(), theirs.to_str())
            if dropout is None:
                self.assertIsNone(mine.dropout)
            else:
                self.assertAlmostEqual(mine.dropout, dropout, places=7)
            self.assertEqual(samples.ours(tokenizer_of(0.7)).with_dropout(dropout).to_str(), theirs.to_str())

    def test_another_one(self):
        plain = samples.ours(trained())
        mine = plain.with_dropout(0.5)
        self.assertIsNone(plain.dropout)
        self.assertEqual(mine.dropout, 0.5)
        self.assertEqual(mine.with_dropout(None).encode("another").ids, plain.encode("another").ids)
        self.assertNotEqual(ids_of(mine, ["another"] * 3), ids_of(plain, ["another"] * 3))
        self.assertEqual(ids_of(mine.with_added_tokens(["<new>"]), ["another"] * 3), ids_of(mine, ["another"] * 3))

    def test_a_trained_one_keeps_it(self):
        trained_again = samples.ours(with_dropout(trained(), 0.25)).train(["some words of a text"] * 5, vocab_size=270)
        self.assertEqual(trained_again.dropout, 0.25)

    def test_bad_ones_are_refused(self):
        plain = samples.ours(trained())
        for bad in (-0.1, 1.1, float("nan"), float("inf")):
            with self.assertRaisesRegex(pl.ValueError, "the dropout is .*expected 0 to 1"):
                plain.with_dropout(bad)
        self.assertRaises(pl.TypeError, plain.with_dropout, "a")
        with self.assertRaisesRegex(pl.ValueError, "only models of BPE"):
            samples.ours(samples.word_level()).with_dropout(0.1)


if __name__ == "__main__":
    unittest.main()
