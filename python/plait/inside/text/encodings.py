"""Encodings: the tokens of a text, as lists or as tensors."""

from typing import NamedTuple

from plait import _core, errors


class Encoding:
    """The tokens of a text, or of a pair of texts. All lists have one element for each token.

    >>> tokenizer = plait.text.byte_level_bpe().train(["low lower lowest"] * 9, vocab_size=262)
    >>> encoding = tokenizer.encode("lower")
    >>> encoding.tokens, encoding.offsets
    (['low', 'e', 'r'], [(0, 3), (3, 4), (4, 5)])
    """

    def __init__(self, core):
        if not isinstance(core, _core._Encoding):
            raise errors.TypeError.with_hint(f"text.Encoding: it is returned by tokenizers, and not made of {type(core).__name__}",
                                             "tokenizer.encode(text)")
        self._core = core

    @property
    def ids(self):
        """The ids of the tokens."""
        return self._core.ids

    @property
    def tokens(self):
        """The texts of the tokens, as in the vocabulary."""
        return self._core.tokens

    @property
    def offsets(self):
        """(begin, end) of each token in its text; (0, 0) for special tokens and padding."""
        return self._core.offsets

    @property
    def type_ids(self):
        """0 for the first text and 1 for the second one, unless the tokenizer says otherwise."""
        return self._core.type_ids

    @property
    def attention_mask(self):
        """1 for tokens, 0 for padding."""
        return self._core.attention_mask

    @property
    def special_tokens_mask(self):
        """1 for special tokens and padding, which are not from a text."""
        return self._core.special_tokens_mask

    @property
    def word_ids(self):
        """The number of the word that each token is a part of, or None."""
        return self._core.word_ids

    @property
    def sequence_ids(self):
        """The number of the text that each token is from, 0 or 1, or None."""
        return self._core.sequence_ids

    @property
    def n_sequences(self):
        """The number of texts."""
        return self._core.n_sequences

    @property
    def overflowing(self):
        """The encodings of what truncation has cut off."""
        return [Encoding(each) for each in self._core.overflowing]

    def char_to_token(self, char_pos, sequence_index=0):
        """The index of the token that contains this character of a text, or None."""
        return self._core.char_to_token(_natural("char_pos", char_pos), _natural("sequence_index", sequence_index))

    def word_to_tokens(self, word_index, sequence_index=0):
        """(first, last + 1) of the tokens of this word, or None."""
        return self._core.word_to_tokens(_natural("word_index", word_index), _natural("sequence_index", sequence_index))

    def token_to_chars(self, token_index):
        """The offsets of a token."""
        return self.offsets[self._index(token_index)]

    def token_to_word(self, token_index):
        """The number of the word of a token, or None."""
        return self.word_ids[self._index(token_index)]

    def token_to_sequence(self, token_index):
        """The number of the text of a token, or None."""
        return self.sequence_ids[self._index(token_index)]

    def char_to_word(self, char_pos, sequence_index=0):
        """The number of the word that contains this character of a text, or None."""
        token = self.char_to_token(char_pos, sequence_index)
        return None if token is None else self.word_ids[token]

    def word_to_chars(self, word_index, sequence_index=0):
        """(begin, end) of a word in its text, or None."""
        tokens = self.word_to_tokens(word_index, sequence_index)
        return None if tokens is None else (self.offsets[tokens[0]][0], self.offsets[tokens[1] - 1][1])

    def _index(self, token):
        index = _natural("token_index", token)
        if index >= len(self):
            raise errors.IndexError(f"text.Encoding: token {index} is out of range, there are {len(self)}")
        return index

    def __len__(self):
        return len(self._core)

    def __repr__(self):
        return f"Encoding({len(self)} tokens)"


class Stacked(NamedTuple):
    """The encodings of a batch as tensors, i64[batch, length].

    >>> tokenizer = plait.text.byte_level_bpe().train(["a b"], vocab_size=256)
    >>> plait.text.stack(tokenizer.encode_batch(["ab", "cd"]))._fields
    ('ids', 'attention_mask', 'type_ids', 'special_tokens_mask')
    """

    ids: _core.Tensor
    attention_mask: _core.Tensor
    type_ids: _core.Tensor
    special_tokens_mask: _core.Tensor


def stack(encodings):
    """The encodings of a batch as tensors, with one row for each. They must be equally long.

    >>> tokenizer = plait.text.byte_level_bpe().train(["a b"], vocab_size=256).with_padding(pad_token="!")
    >>> plait.text.stack(tokenizer.encode_batch(["abc", "a"])).attention_mask
    [[1 1 1]
     [1 0 0]] : i64[2, 3]
    """
    if isinstance(encodings, Encoding):
        encodings = [encodings]
    encodings = list(encodings) if isinstance(encodings, (list, tuple)) else [encodings]
    for each in encodings:
        if not isinstance(each, Encoding):
            raise errors.TypeError(f"text.stack: expected a list of encodings, not {type(each).__name__}")
    return Stacked(*_core._stack_encodings([each._core for each in encodings]))


def _natural(name, value):
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise errors.TypeError(f"text.Encoding: {name} is {type(value).__name__}, expected an integer")
    value = value.__index__()
    if not 0 <= value < 2**32 - 1:
        raise errors.IndexError(f"text.Encoding: {name} is {value}, expected 0 or more")
    return value
