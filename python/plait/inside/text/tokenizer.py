"""Tokenizers, and the tokens that are added to them."""

import dataclasses
import functools
import os

from plait import _core, errors
from plait.inside.text.encodings import Encoding


@dataclasses.dataclass(frozen=True)
class AddedToken:
    """A token beside those that a model was trained with. `single_word`: it is not found within words. `lstrip`, `rstrip`: it takes the
    spaces before it, or after it. `normalized`: it is found in the normalized text. `special`: decode leaves it out.

    >>> tokenizer = plait.text.byte_level_bpe().train(["a b"], vocab_size=256)
    >>> tokenizer.with_added_tokens([plait.text.AddedToken("<mask>", lstrip=True)]).encode("a <mask>").tokens
    ['a', ' <mask>']
    """

    content: str
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool = True
    special: bool = False


class DecodeStream:
    """Decodes ids that arrive one by one: Tokenizer.decode_stream.

    >>> tokenizer = plait.text.byte_level_bpe().train(["a b"], vocab_size=256)
    >>> stream = tokenizer.decode_stream()
    >>> [stream.step(id) for id in tokenizer.encode("aé").ids]
    ['a', '', 'é']
    """

    def __init__(self, core):
        if not isinstance(core, _core._DecodeStream):
            raise errors.TypeError.with_hint(f"text.DecodeStream: it is made by a tokenizer, not of {type(core).__name__}",
                                             "tokenizer.decode_stream()")
        self._core = core

    def step(self, id):
        """The text that is certain now, after this id too: "" within a character."""
        return self._core.step(id)

    def finish(self):
        """The rest of the text, when all ids were there."""
        return self._core.finish()


def _of_texts(train):
    """The method, which refuses what `train` of `tokenizers` takes: files, and a trainer."""
    train = _core._boundary(train)

    @functools.wraps(train)
    def checked(self, *texts, **named):
        if named.keys() & {"files", "trainer"}:
            raise errors.TypeError.with_hint("Tokenizer.train: it takes texts, not files or a trainer", "tokenizer.train(plait.io.TextLines(path), "
                                             "vocab_size=1000) learns from the lines of a file")
        return train(self, *texts, **named)

    return checked


class Tokenizer:
    """Turns texts into ids and back. It is read from a file, or made by `train`. Tokenizers are values: nothing changes one, and
    `with_padding` and the like return another one. Threads may share it; others run while it works.

    >>> tokenizer = plait.text.byte_level_bpe().train(["low lower lowest"] * 9, vocab_size=262)
    >>> encoding = tokenizer.encode("lower lowest")
    >>> encoding.tokens
    ['low', 'e', 'r', 'Ġlowe', 'st']
    >>> tokenizer.decode(encoding.ids)
    'lower lowest'
    >>> tokenizer.get_vocab_size(), tokenizer.token_to_id("low")
    (262, 257)
    """

    def __init__(self, core):
        if not isinstance(core, _core._Tokenizer):
            raise errors.TypeError.with_hint(f"text.Tokenizer: it is not made of {type(core).__name__}", "plait.text.Tokenizer.from_file(path)")
        self._core = core

    @classmethod
    def from_file(cls, path, *, lowercase=True):
        """Reads a tokenizer.json, a vocab.txt of BERT, which does not say whether it is for lowercase, or the tokenizer of a .gguf file. What the
        file says is obeyed, or is a ParseError that names the field."""
        return cls(_core._Tokenizer.load(_file(path), _flag("lowercase", lowercase)))

    @classmethod
    def from_pretrained(cls, folder):
        """Reads the tokenizer.json, or else the vocab.txt, of a folder. Nothing is downloaded."""
        path = _path(folder)
        for name in ("tokenizer.json", "vocab.txt"):
            file = os.path.join(path, name)
            if os.path.isfile(file):
                return cls.from_file(file)
        said = f"there is no tokenizer.json or vocab.txt in {path!r}" if os.path.isdir(path) else f"{path!r} is not a folder, and nothing is downloaded"
        raise errors.IoError.with_hint(f"Tokenizer.from_pretrained: {said}",
                                       "download the tokenizer.json of the model, and read it by plait.text.Tokenizer.from_file(path)")

    @classmethod
    def from_str(cls, json):
        """The tokenizer of the text of a tokenizer.json."""
        return cls(_core._Tokenizer.parse(json, False))

    @classmethod
    def from_parts(cls, kind, tokens, *, scores=(), types=(), merges=(), pre="gpt-2", charsmap=b"", unk_id=None, bos_id=None, eos_id=None,
                   sep_id=None, cls_id=None, add_bos=False, add_eos=False, add_space_prefix=True):
        """A tokenizer of lists of tokens, as GGUF files have them. `kind`: "bpe" (gpt2), "sentencepiece_bpe" (llama with scores, gemma4 with
        merges), "unigram" (t5) or "word_piece" (bert). `types` are GGUF's numbers, `merges` are texts with a space, `pre` says how byte-level BPE
        splits text."""
        lists = {"tokens": tokens, "scores": scores, "types": types, "merges": merges}
        for name, each in lists.items():
            lists[name] = each = each.tolist() if hasattr(each, "tolist") else each
            if not isinstance(each, (list, tuple)):
                raise errors.TypeError(f"Tokenizer: {name} is {type(each).__name__}, expected a list")
        if not all(isinstance(each, (int, float)) for each in lists["scores"]):
            raise errors.TypeError("Tokenizer: the scores are not numbers")
        if not isinstance(charsmap, bytes):
            raise errors.TypeError(f"Tokenizer: charsmap is {type(charsmap).__name__}, expected bytes")
        return cls(_core._Tokenizer.from_parts(
            _word("kind", kind), lists.pop("tokens"), **lists, pre=_word("pre", pre), charsmap=charsmap, unk_id=unk_id, bos_id=bos_id, eos_id=eos_id,
            sep_id=sep_id, cls_id=cls_id, add_bos=_flag("add_bos", add_bos), add_eos=_flag("add_eos", add_eos),
            add_space_prefix=_flag("add_space_prefix", add_space_prefix)))

    def to_str(self, pretty=False):
        """The text of a tokenizer.json."""
        return self._core.json(_flag("pretty", pretty))

    def save(self, path, pretty=True):
        """Writes a tokenizer.json; the file is replaced atomically."""
        self._core.save(_file(path), _flag("pretty", pretty))

    # ---- Encoding.

    def encode(self, text, pair=None, add_special_tokens=True, *, is_pretokenized=False, byte_offsets=False, key=None):
        """The tokens of a text, or of a pair of texts. `is_pretokenized`: texts are lists of words. Offsets count characters, or bytes of
        UTF-8. `key`: the random key that a model with dropout draws from (see with_dropout); others ignore it."""
        if text is None:
            raise errors.TypeError("Tokenizer: the text is None, expected a str")
        return Encoding(self._core.encode(text, pair, _flag("add_special_tokens", add_special_tokens), _flag("is_pretokenized", is_pretokenized),
                                          _flag("byte_offsets", byte_offsets), _key(key)))

    def encode_batch(self, texts, pairs=None, add_special_tokens=True, *, is_pretokenized=False, byte_offsets=False, key=None):
        """The encodings of several texts, on all threads. `texts` may have tuples, (text, pair). With padding, all are equally long. Text i of a
        model with dropout draws from `random.fold_in(key, i)`."""
        texts, pairs = _batch(texts, pairs)
        found = self._core.encode_batch(texts, pairs, _flag("add_special_tokens", add_special_tokens), _flag("is_pretokenized", is_pretokenized),
                                        _flag("byte_offsets", byte_offsets), _key(key))
        return [Encoding(each) for each in found]

    # ---- Decoding.

    def decode(self, ids, skip_special_tokens=True):
        """The text of a list, an array or a tensor of ids. Ids that do not exist are left out."""
        return self._core.decode(_ids(ids), _flag("skip_special_tokens", skip_special_tokens))

    def decode_batch(self, batch, skip_special_tokens=True):
        """The texts of several lists of ids, or of a matrix, on all threads."""
        return self._core.decode_batch([_ids(each) for each in _rows(batch)], _flag("skip_special_tokens", skip_special_tokens))

    def decode_stream(self, skip_special_tokens=True):
        """Decodes ids that arrive one by one, in whole characters. The parts together are what `decode` returns."""
        return DecodeStream(self._core.decode_stream(_flag("skip_special_tokens", skip_special_tokens)))

    # ---- Vocabulary.

    def token_to_id(self, token):
        """The id of a token, or None."""
        return self._core.token_to_id(token)

    def id_to_token(self, id):
        """The token with this id, or None."""
        return self._core.id_to_token(id)

    def get_vocab(self, with_added_tokens=True):
        """All tokens with their ids."""
        return self._core.vocab(_flag("with_added_tokens", with_added_tokens))

    def get_vocab_size(self, with_added_tokens=True):
        """The number of tokens."""
        return self._core.vocab_size(_flag("with_added_tokens", with_added_tokens))

    def get_added_tokens_decoder(self):
        """{id: AddedToken} of the added tokens."""
        return {id: AddedToken(*fields) for id, *fields in self._core.added_tokens()}

    def num_special_tokens_to_add(self, is_pair=False):
        """The number of special tokens that `encode` adds to a text, or to a pair."""
        return self._core.special_token_count(_flag("is_pair", is_pair))

    # ---- Other tokenizers.

    @property
    def truncation(self):
        """The arguments of `with_truncation`, or None."""
        return self._core.truncation()

    @property
    def padding(self):
        """The arguments of `with_padding`, or None."""
        return self._core.padding()

    def with_truncation(self, max_length, stride=0, strategy="longest_first", direction="right"):
        """A tokenizer whose encodings have at most `max_length` tokens, special ones included. What is cut off is in `Encoding.overflowing`, in
        pieces that overlap by `stride` tokens. `strategy`, for pairs: longest_first, only_first or only_second."""
        return Tokenizer(self._core.with_truncation(max_length, stride, _word("strategy", strategy), _word("direction", direction)))

    def no_truncation(self):
        """A tokenizer that does not truncate."""
        return Tokenizer(self._core.without_truncation())

    def with_padding(self, direction="right", pad_id=0, pad_type_id=0, pad_token="[PAD]", length=None, pad_to_multiple_of=None):
        """A tokenizer whose encodings of a batch are equally long: as long as the longest, or as `length`."""
        return Tokenizer(self._core.with_padding(_word("direction", direction), pad_id, pad_type_id, pad_token, length, pad_to_multiple_of))

    def no_padding(self):
        """A tokenizer that does not pad."""
        return Tokenizer(self._core.without_padding())

    def with_added_tokens(self, tokens):
        """A tokenizer with more tokens: texts, or AddedToken. Those that it has keep their ids."""
        return Tokenizer(self._core.with_added_tokens([_fields(each, special=False) for each in _tokens(tokens)]))

    def with_special_tokens(self, tokens):
        """The same, where texts are special tokens."""
        return Tokenizer(self._core.with_added_tokens([_fields(each, special=True) for each in _tokens(tokens)]))

    def with_encode_special_tokens(self, value=True):
        """A tokenizer that splits special tokens in texts like other text: for texts of others."""
        return Tokenizer(self._core.with_encode_special_tokens(_flag("value", value)))

    @property
    def dropout(self):
        """The probability with which BPE leaves a merge out, or None."""
        value = self._core.dropout()
        return None if value is None else float(f"{value:.9g}")

    def with_dropout(self, probability):
        """A tokenizer whose BPE leaves each merge out with this probability, so that a text has other tokens for each key (Provilkov, Emelianenko
        and Voita, "BPE-dropout", 2020). Its `encode` needs `key=`. None: all merges are done, as for inference.

        >>> tokenizer = plait.text.byte_level_bpe().train(["low lower lowest"] * 9, vocab_size=262).with_dropout(0.4)
        >>> [tokenizer.encode("lowest", key=plait.random.key(seed)).tokens for seed in (0, 1)]
        [['l', 'o', 'w', 'e', 'st'], ['lo', 'w', 'e', 'st']]
        """
        if probability is not None:
            probability = _real("the dropout", probability)
        return Tokenizer(self._core.with_dropout(probability))

    @_of_texts
    def train(self, texts, vocab_size=30000, special_tokens=(), *, min_frequency=0, initial_alphabet=None, limit_alphabet=None,
              max_token_length=None, unk_token=None, shrinking_factor=0.75, n_sub_iterations=2):
        """A tokenizer that is like this one, with tokens learned from an iterable of texts. The first ids are those of the special tokens.
        `initial_alphabet`: characters that are tokens even if they do not appear; `limit_alphabet`: the most that are. The last three are for
        Unigram."""
        if isinstance(texts, (str, bytes)):
            raise errors.TypeError.with_hint("Tokenizer.train: the texts are one str, expected an iterable of them", "tokenizer.train([text])")
        _expect_no_files(texts)
        if initial_alphabet is None:
            initial_alphabet = _core._byte_level_alphabet() if '"type":"ByteLevel"' in self.to_str().partition('"model":')[0] else ""
        trainer = _core._Trainer(self._core)
        for some in _chunks(texts):
            trainer.add(some)
        alphabet = initial_alphabet if isinstance(initial_alphabet, str) else "".join(initial_alphabet)
        special = [_fields(each, special=True) for each in _tokens(special_tokens)]
        return Tokenizer(trainer.train(vocab_size=vocab_size, special_tokens=special, min_frequency=min_frequency, initial_alphabet=alphabet,
                                       limit_alphabet=limit_alphabet, max_token_length=max_token_length, unk_token=unk_token,
                                       shrinking_factor=_real("shrinking_factor", shrinking_factor), n_sub_iterations=n_sub_iterations))

    def __getattr__(self, name):
        message, said = f"a Tokenizer has no {name!r}", _RENAMED.get(name)
        if name in _INSTEAD:
            message, said = f"{message}: nothing changes it", _INSTEAD[name]
        raise errors.AttributeError(message) if said is None else errors.AttributeError.with_hint(message, said)

    def __call__(self, *texts, **named):
        raise errors.TypeError.with_hint("a Tokenizer is not called", "tokenizer.encode(text).ids; plait.text.stack(tokenizer.encode_batch(texts)) "
                                         "makes tensors of several, with padding: tokenizer.with_padding(…)")

    def __len__(self):
        return self.get_vocab_size()

    def __bool__(self):
        return True  # also before it is trained

    def __reduce__(self):
        return _unpickled, (self.to_str(),)

    def __repr__(self):
        return f"Tokenizer({self.get_vocab_size()} tokens)"


def _unpickled(json):
    """The same tokenizer, where from_str reads the scores of Unigram as `tokenizers` does, which rounds them twice."""
    return Tokenizer(_core._Tokenizer.parse(json, True))


# Methods of other libraries that change a tokenizer in place, and what to write here.
_INSTEAD = {"enable_padding": "tokenizer = tokenizer.with_padding(…)", "enable_truncation": "tokenizer = tokenizer.with_truncation(…)",
            "add_tokens": "tokenizer = tokenizer.with_added_tokens(…)", "add_special_tokens": "tokenizer = tokenizer.with_special_tokens(…)",
            "train_from_iterator": "tokenizer = tokenizer.train(texts)", "encode_special_tokens": "tokenizer.with_encode_special_tokens()", "model": "tokenizer.with_dropout(p) for another dropout"}


# Other names of transformers' tokenizers.
_RENAMED = {"vocab_size": "tokenizer.get_vocab_size()", "vocab": "tokenizer.get_vocab()", "batch_decode": "tokenizer.decode_batch(batch)",
            **dict.fromkeys(("encode_plus", "tokenize"), "tokenizer.encode(text), which has ids and tokens"),
            "batch_encode_plus": "tokenizer.encode_batch(texts)", "convert_tokens_to_ids": "tokenizer.token_to_id(token)",
            "convert_ids_to_tokens": "tokenizer.id_to_token(id)", "save_pretrained": "tokenizer.save(path), a tokenizer.json",
            **{f"{name}_token_id": "tokenizer.token_to_id(token), of the token's text"
               for name in ("pad", "eos", "bos", "unk", "cls", "sep", "mask")}}


def _chunks(texts, size=1000):
    try:
        iterator = iter(texts)
    except TypeError:
        raise errors.TypeError(f"Tokenizer.train: the texts are {type(texts).__name__}, expected an iterable of them") from None
    some = []
    for text in iterator:
        some.append(text)
        if len(some) == size:
            yield some
            some = []
    yield some


def _expect_no_files(texts):
    """`train` of `tokenizers` reads files. Here, a list of their paths would give a vocabulary of paths."""
    if isinstance(texts, (list, tuple)) and texts and all(map(_is_file, texts)):
        raise errors.ValueError.with_hint(f"Tokenizer.train: the texts are paths of files, such as {os.fspath(texts[0])!r}",
                                          "tokenizer.train(plait.io.TextLines(path)) learns from the lines of a file")


def _is_file(text):
    return isinstance(text, (str, os.PathLike)) and len(os.fspath(text)) < 4096 and os.path.isfile(text)


def _path(path):
    try:
        return os.fsdecode(path)
    except TypeError:
        raise errors.TypeError(f"Tokenizer: the path is {type(path).__name__}, expected a str") from None


def _file(path):
    """The path as the operating system takes it, in bytes."""
    try:
        given = os.fsencode(_path(path))
    except UnicodeError:
        raise errors.ValueError(f"Tokenizer: the path {path!a} is not UTF-8") from None
    if b"\0" in given:
        raise errors.ValueError(f"Tokenizer: the path {path!r} has a zero byte")
    return given


def _flag(name, value):
    if not isinstance(value, bool):
        raise errors.TypeError(f"Tokenizer: {name} is {type(value).__name__}, expected a bool")
    return value


def _word(name, value):
    if not isinstance(value, str):
        raise errors.TypeError(f"Tokenizer: {name} is {type(value).__name__}, expected a str")
    return value


def _real(name, value):
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise errors.TypeError(f"Tokenizer: {name} is {type(value).__name__}, expected a number")
    return float(value)


def _key(key):
    if key is not None and not isinstance(key, _core.Tensor):
        raise errors.TypeError.with_hint(f"Tokenizer: the key is {type(key).__name__}, expected a random key", "plait.random.key(seed)")
    return key


def _rows(batch):
    if hasattr(batch, "tolist"):
        batch = batch.tolist()
    if not isinstance(batch, (list, tuple)):
        raise errors.TypeError(f"Tokenizer: the batch is {type(batch).__name__}, expected a list")
    return batch


def _ids(ids):
    return ids.tolist() if hasattr(ids, "tolist") else ids


def _batch(texts, pairs):
    """Lists of texts and of pairs, or None; tuples of two are divided."""
    if isinstance(texts, str) or not isinstance(texts, (list, tuple)):
        raise errors.TypeError.with_hint(f"Tokenizer: the texts are {type(texts).__name__}, expected a list", "tokenizer.encode_batch([text])")
    if pairs is None and any(isinstance(each, tuple) and len(each) == 2 for each in texts):
        both = [each if isinstance(each, tuple) and len(each) == 2 else (each, None) for each in texts]
        return [text for text, _ in both], [pair for _, pair in both]
    if pairs is not None and (not isinstance(pairs, (list, tuple)) or len(pairs) != len(texts)):
        raise errors.ValueError(f"Tokenizer: the pairs are not a list of {len(texts)}, as the texts are")
    return list(texts), None if pairs is None else list(pairs)


def _tokens(tokens):
    if isinstance(tokens, (str, AddedToken)) or not isinstance(tokens, (list, tuple)):
        raise errors.TypeError(f"Tokenizer: the tokens are {type(tokens).__name__}, expected a list")
    return tokens


def _fields(token, special):
    if isinstance(token, str):
        token = AddedToken(token, normalized=not special, special=special)
    if not isinstance(token, AddedToken):
        raise errors.TypeError(f"Tokenizer: a token is {type(token).__name__}, expected a str or an AddedToken")
    return (token.content, *(_flag(f"{each} of an added token", getattr(token, each))
                             for each in ("single_word", "lstrip", "rstrip", "normalized", "special")))
