"""Tokenizers: texts to ids and back, as Hugging Face's `tokenizers` does it from a tokenizer.json, and their training.

A Tokenizer is a value: nothing changes it, and `with_padding`, `train` and the like return another one."""

from plait.inside.help.names import of_public_module as _of_public_module
from plait.inside.text.encodings import Encoding, Stacked, stack  # noqa: F401
from plait.inside.text.tokenizer import AddedToken, DecodeStream, Tokenizer  # noqa: F401
from plait.inside.text.untrained import bert_word_piece, byte_level_bpe, characters, sentencepiece_bpe, sentencepiece_unigram  # noqa: F401

__getattr__, __dir__, __all__ = _of_public_module(globals())
