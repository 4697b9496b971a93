"""Tokenizers of the known families, compared with Hugging Face's `tokenizers`: ids, tokens, offsets and what is decoded, on real text and
on random characters of all planes. PLAIT_TEXTS=100000 compares so many texts instead of a few hundred."""

import functools
import json
import os
import pickle
import unittest

import plait as pl
import text_samples as samples
import tokenizers as hf
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

COUNT = int(os.environ.get("PLAIT_TEXTS", "150"))
GPT2_WORDS = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CL100K = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DEEPSEEK = (r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+",
            r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
KIMI = (r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
ALPHABET = pre_tokenizers.ByteLevel.alphabet()


def byte_level(patterns, normalizer=None, special=("<|end|>",), size=1500, **options):
    """A byte-level BPE whose text is split by these patterns."""
    tokenizer = hf.Tokenizer(models.BPE(**options))
    steps = [pre_tokenizers.Split(hf.Regex(each), "isolated") for each in patterns]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*steps, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    return samples.trained(tokenizer, trainers.BpeTrainer(vocab_size=size, show_progress=False, special_tokens=list(special), initial_alphabet=ALPHABET))


def gpt2():
    tokenizer = hf.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return samples.trained(tokenizer, trainers.BpeTrainer(vocab_size=3000, show_progress=False, special_tokens=["<|end|>"], initial_alphabet=ALPHABET))


def roberta():
    tokenizer = hf.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=True), decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>", hf.AddedToken("<mask>", lstrip=True)]
    samples.trained(tokenizer, trainers.BpeTrainer(vocab_size=2000, show_progress=False, special_tokens=special, initial_alphabet=ALPHABET))
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=True)
    return tokenizer


def llama3():
    tokenizer = byte_level([LLAMA3], special=("<s>", "<|end|>"), ignore_merges=True)
    template = processors.TemplateProcessing(single="<s> $A", pair="<s>:0 $A:0 <s>:1 $B:1", special_tokens=[("<s>", 0)])
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    return tokenizer


def sentencepiece_bpe():
    """Spaces are ▁, and the text is split before each."""
    tokenizer = hf.Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    special = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    return samples.trained(tokenizer, trainers.BpeTrainer(vocab_size=2500, show_progress=False, limit_alphabet=120, special_tokens=special))


def llama2():
    """Without a pre-tokenizer: the whole text is one word, and unknown characters are bytes."""
    parts = json.loads(sentencepiece_bpe().to_str())
    parts["model"] |= {"byte_fallback": True, "fuse_unk": True}
    parts |= {"pre_tokenizer": None, "decoder": None, "added_tokens": [each | {"normalized": False} for each in parts["added_tokens"][:3]]}
    tokenizer = hf.Tokenizer.from_str(json.dumps(parts))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)])
    return tokenizer


def unigram():
    tokenizer = hf.Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(hf.Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=1200, show_progress=False, special_tokens=["<unk>", "<s>", "</s>"], unk_token="<unk>")
    samples.trained(tokenizer, trainer, samples.corpus()[::4])
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 2)])
    return tokenizer


def unigram_of_bytes():
    parts = json.loads(unigram().to_str())
    parts["model"]["byte_fallback"] = True
    parts["model"]["vocab"] += [[f"<0x{byte:02X}>", -20.0] for byte in range(256)]
    parts["pre_tokenizer"] = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False}
    return hf.Tokenizer.from_str(json.dumps(parts))


def bert():
    tokenizer = hf.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    samples.trained(tokenizer, trainers.WordPieceTrainer(vocab_size=2000, show_progress=False, special_tokens=special))
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


def clip():
    """BPE whose words end in </w>."""
    tokenizer = hf.Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(strip_accents=False), pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.BPEDecoder()
    return samples.trained(tokenizer, trainers.BpeTrainer(vocab_size=1500, show_progress=False, special_tokens=["<unk>"], end_of_word_suffix="</w>",
                                                          limit_alphabet=100))


def prefixed_bpe():
    """BPE whose symbols within words begin with ##."""
    tokenizer = hf.Tokenizer(models.BPE(unk_token="<unk>", continuing_subword_prefix="##"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return samples.trained(tokenizer, trainers.BpeTrainer(vocab_size=1500, show_progress=False, special_tokens=["<unk>"],
                                                          continuing_subword_prefix="##"))


def words():
    tokenizer = hf.Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=True)])
    return samples.trained(tokenizer, trainers.WordLevelTrainer(vocab_size=1500, show_progress=False, special_tokens=["[UNK]"]))


FAMILIES = {
    "gpt2": gpt2, "roberta": roberta, "llama3": llama3, "sentencepiece_bpe": sentencepiece_bpe, "llama2": llama2, "unigram": unigram,
    "unigram_of_bytes": unigram_of_bytes, "bert": bert, "clip": clip, "prefixed_bpe": prefixed_bpe, "words": words,
    "cl100k": lambda: byte_level([CL100K]), "qwen2": lambda: byte_level([QWEN2], normalizers.NFC()), "o200k": lambda: byte_level([O200K]),
    "deepseek": lambda: byte_level(DEEPSEEK), "starcoder": lambda: byte_level([r"\p{N}", GPT2_WORDS]), "kimi": lambda: byte_level([KIMI])}


@functools.cache
def family(name):
    return samples.reread(FAMILIES[name]())


# Names that GGUF files give byte-level pre-tokenizers, one of each kind.
PRE_TOKENIZERS = ("gpt-2", "llama-bpe", "qwen2", "qwen35", "smollm", "gpt-4o", "tekken", "bailingmoe", "deepseek-v3", "deepseek-coder",
                  "deepseek-llm", "falcon", "default", "bloom", "viking", "minicpm5", "spark2_5", "afmoe", "youtu", "kimi-k2", "seed-coder",
                  "ufakzeka", "exaone-moe", "jais-2", "laguna", "superbpe", "tiny_aya", "granite-embed-multi-97m", "chameleon")


class PreTokenizers(unittest.TestCase):
    """The words of each pre-tokenizer, beside the reference, which reads the same regular expressions."""

    def test_words_are_the_same(self):
        digits = [" ".join("1234567890"[:count] for count in range(11)), "1234567,12 ٣٤٥٦٧ ½ x1y22z333", "12345678901234567890"]
        inputs = [*samples.texts(COUNT, seed=8), *digits, "a  \n\n  b \n", "漢字かな한국어 ok ไทย ລາວ", "<sentinel:12>IMGIMGABZ\t    x"]
        for pre in PRE_TOKENIZERS:
            mine = pl.text.Tokenizer.from_parts("bpe", sorted(ALPHABET), pre=pre)
            theirs = hf.Tokenizer.from_str(mine.to_str())
            for text in inputs:
                with self.subTest(pre, text=text):
                    a, b = mine.encode(text), theirs.encode(text)
                    self.assertEqual((a.word_ids, a.ids), (b.word_ids, b.ids))

    def test_digits_in_threes_from_the_end(self):
        for pre in "afmoe", "superbpe", "tiny_aya":
            words = pl.text.Tokenizer.from_parts("bpe", sorted(ALPHABET), pre=pre).encode("1234567").word_ids
            self.assertEqual(words, [0, 1, 1, 1, 2, 2, 2], pre)


class Families(unittest.TestCase):
    def test_all_give_the_same(self):
        inputs = samples.texts(COUNT, seed=5)
        for name in FAMILIES:
            with self.subTest(name):
                samples.expect_same(self, family(name), inputs)

    def test_files_are_written_as_the_reference_writes_them(self):
        for name in FAMILIES:
            with self.subTest(name):
                theirs = family(name)
                mine = samples.ours(theirs)
                self.assertEqual(mine.to_str(), theirs.to_str())
                self.assertEqual(mine.to_str(pretty=True), theirs.to_str(pretty=True))

    def test_scores_are_rounded_as_the_reference_rounds_them(self):
        """Equally likely divisions are chosen by the last digits of scores."""
        written = unigram().to_str()
        theirs, mine = hf.Tokenizer.from_str(written), pl.text.Tokenizer.from_str(written)
        self.assertNotEqual(written, theirs.to_str())
        self.assertEqual(mine.to_str(), theirs.to_str())
        self.assertEqual(pickle.loads(pickle.dumps(mine)).to_str(), mine.to_str())

    def test_vocabularies_are_the_same(self):
        for name in FAMILIES:
            with self.subTest(name):
                theirs = family(name)
                mine = samples.ours(theirs)
                self.assertEqual(mine.get_vocab(), theirs.get_vocab())
                self.assertEqual(mine.get_vocab(False), theirs.get_vocab(False))
                self.assertEqual((mine.get_vocab_size(), mine.get_vocab_size(False)), (theirs.get_vocab_size(), theirs.get_vocab_size(False)))
                for id in (0, 5, 100, 10**6):
                    self.assertEqual(mine.id_to_token(id), theirs.id_to_token(id))
                for token in ("the", "▁the", "Ġthe", "<unk>", "no such token"):
                    self.assertEqual(mine.token_to_id(token), theirs.token_to_id(token))

    def test_pairs_and_special_tokens(self):
        inputs = samples.texts(40, seed=6)
        for name in ("gpt2", "roberta", "llama3", "llama2", "unigram", "bert", "words"):
            theirs = family(name)
            mine = samples.ours(theirs)
            for text, pair in zip(inputs, inputs[1:]):
                for special in (True, False):
                    with self.subTest(name, text=text, pair=pair, special=special):
                        samples.expect_same_encoding(self, mine.encode(text, pair, special), theirs.encode(text, pair, add_special_tokens=special))

    def test_a_long_text(self):
        text = "\n".join(samples.corpus()[:1500])
        for name in FAMILIES:
            with self.subTest(name):
                self.assertEqual(samples.ours(family(name)).encode(text).ids, family(name).encode(text).ids)

    def test_streams_give_the_whole_text_in_whole_characters(self):
        for name in FAMILIES:
            mine = samples.ours(family(name))
            for text in samples.texts(50, seed=8):
                ids = mine.encode(text).ids
                stream = mine.decode_stream()
                parts = [stream.step(id) for id in ids]
                with self.subTest(name, text=text):
                    self.assertEqual("".join(parts) + stream.finish(), mine.decode(ids))


class Batches(unittest.TestCase):
    def test_a_batch_gives_what_single_texts_do(self):
        inputs = samples.texts(200, seed=9)
        for name in ("gpt2", "bert", "unigram", "llama2"):
            mine = samples.ours(family(name))
            found = mine.encode_batch(inputs)
            for encoding, text in zip(found, inputs):
                self.assertEqual(samples.columns(encoding), samples.columns(mine.encode(text)))
            batch = [each.ids for each in found]
            self.assertEqual(mine.decode_batch(batch), [mine.decode(ids) for ids in batch])


if __name__ == "__main__":
    unittest.main()
