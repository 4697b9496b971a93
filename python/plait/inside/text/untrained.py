"""Tokenizers without tokens, for training, and the one of characters."""

import json

from plait import errors
from plait.inside.help.names import in_words
from plait.inside.text.tokenizer import Tokenizer, _flag, _word

_MARK = "▁"
_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
_METASPACE = {"type": "Metaspace", "replacement": _MARK, "prepend_scheme": "always", "split": True}


def _tokenizer(model, **parts):
    return Tokenizer.from_str(json.dumps({"version": "1.0", **parts, "model": model}))


def _bpe(**options):
    return {"type": "BPE", "vocab": {}, "merges": [], **options}


def byte_level_bpe(add_prefix_space=False):
    """GPT-2's kind: BPE over bytes, which knows every text. It has no tokens yet.

    >>> tokenizer = plait.text.byte_level_bpe().train(["a text", "another text"] * 5, vocab_size=262)
    >>> tokenizer.encode("a text").tokens
    ['a', 'Ġtext']
    """
    level = {**_BYTE_LEVEL, "add_prefix_space": _flag("add_prefix_space", add_prefix_space)}
    return _tokenizer(_bpe(), pre_tokenizer=level, post_processor={**level, "trim_offsets": False}, decoder=level)


def bert_word_piece(lowercase=True):
    """BERT's kind: WordPiece over words. It has no tokens yet; its special tokens for training are [PAD], [UNK], [CLS], [SEP] and [MASK],
    and `with_special_tokens` adds none of them to texts.

    >>> tokenizer = plait.text.bert_word_piece().train(["Low, lower, lowest"] * 9, 40, ["[UNK]"])
    >>> tokenizer.encode("Lowest!").tokens
    ['lowest', '[UNK]']
    """
    normalizer = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
                  "lowercase": _flag("lowercase", lowercase)}
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": {}}
    return _tokenizer(model, normalizer=normalizer, pre_tokenizer={"type": "BertPreTokenizer"},
                      decoder={"type": "WordPiece", "prefix": "##", "cleanup": True})


def sentencepiece_bpe(unk_token="<unk>"):
    """Llama's kind: BPE over characters, where ▁ stands for a space, of texts in NFKC. It has no tokens yet. The class of this name in `tokenizers`
    trains with min_frequency=2 and limit_alphabet=1000.

    >>> tokenizer = plait.text.sentencepiece_bpe().train(["low lower"] * 9, 20, ["<unk>"])
    >>> tokenizer.encode("lower").tokens
    ['▁lower']
    """
    return _tokenizer(_bpe(unk_token=_word("unk_token", unk_token)), normalizer={"type": "NFKC"}, pre_tokenizer=_METASPACE, decoder=_METASPACE)


def sentencepiece_unigram(unk_token="<unk>"):
    """T5's kind: SentencePiece's Unigram, which takes the most likely tokens. It has no tokens yet.

    >>> tokenizer = plait.text.sentencepiece_unigram().train(["low lower", "slow"] * 9, 14, ["<unk>"], unk_token="<unk>")
    >>> tokenizer.decode(tokenizer.encode("lower").ids)
    'lower'
    """
    normalizer = {"type": "Sequence", "normalizers": [{"type": "Nmt"}, {"type": "NFKC"}, {
        "type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]}
    model = {"type": "Unigram", "unk_id": 0, "vocab": [[_word("unk_token", unk_token), 0.0]], "byte_fallback": False}
    return _tokenizer(model, normalizer=normalizer, pre_tokenizer=_METASPACE, decoder=_METASPACE)


def characters(texts, unk_token="<unk>"):
    """A tokenizer whose tokens are the characters of texts, in the order of their code points, after the unknown token, if there is one.

    >>> tokenizer = plait.text.characters(["hello", "world"])
    >>> tokenizer.encode("low?").ids, tokenizer.decode(tokenizer.encode("hold").ids)
    ([4, 5, 7, 0], 'hold')
    """
    if isinstance(texts, (str, bytes)) or not hasattr(texts, "__iter__"):
        raise errors.TypeError.with_hint(f"characters: texts is {in_words(texts)}, expected an iterable of strings", "[text] has the characters of one text")
    found = set()
    for text in texts:
        if not isinstance(text, str):
            raise errors.TypeError(f"characters: a text is {in_words(text)}, expected a string")
        found.update(text)
    tokens = [] if unk_token is None else [_word("unk_token", unk_token)]
    tokens += sorted(found.difference(tokens))
    vocabulary = {token: number for number, token in enumerate(tokens)}
    return _tokenizer(_bpe(unk_token=unk_token) | {"vocab": vocabulary}, decoder={"type": "Fuse"})
