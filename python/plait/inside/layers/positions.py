"""Positions in attention: rotary embeddings with the scalings of long contexts, ALiBi, sinusoids."""

import difflib
import math

import numpy as np

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.layers.checks import positive, whole
from plait.inside.trees.module import Module


def _positions(length, offset, positions):
    return offset + _core.iota(length) if positions is None else asarray(positions)


def _inverse_frequencies(width, base):
    return 1 / base ** (np.arange(0, width, 2) / width)


def _linear(rope):
    return rope._plain / rope._of("factor"), 1.0


def _llama3(rope):
    """Long wavelengths are interpolated, short ones kept, and those between the two bounds mixed."""
    factor, low, high = (rope._of(name) for name in ("factor", "low_freq_factor", "high_freq_factor"))
    rotations = rope._original / (2 * math.pi / rope._plain)  # within the original context
    kept = np.clip((rotations - low) / (high - low), 0, 1)
    return rope._plain * (kept + (1 - kept) / factor), 1.0


def _mscale(factor, mscale=1.0):
    return 0.1 * mscale * math.log(factor) + 1 if factor > 1 else 1.0


def _yarn_attention_factor(rope):
    given, factor = rope.scaling.get("attention_factor"), rope._of("factor")
    if given is not None:
        return given
    mscale, all_dim = rope.scaling.get("mscale"), rope.scaling.get("mscale_all_dim")
    return _mscale(factor, mscale) / _mscale(factor, all_dim) if mscale and all_dim else _mscale(factor)


def _yarn(rope):
    """Dimensions with fewer than beta_slow rotations within the original context are interpolated, those with more than
    beta_fast kept, and those between them mixed."""

    def dimension(rotations):
        return rope.width * math.log(rope._original / (rotations * 2 * math.pi)) / (2 * math.log(rope.base))

    low, high = dimension(rope.scaling.get("beta_fast") or 32), dimension(rope.scaling.get("beta_slow") or 1)
    if rope.scaling.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, rope.width - 1)
    interpolated = np.clip((np.arange(rope.width // 2) - low) / (high - low or 0.001), 0, 1)
    return rope._plain * ((1 - interpolated) + interpolated / rope._of("factor")), _yarn_attention_factor(rope)


# rope_type: (how it changes the frequencies, its fields that are needed, its fields that may be there)
_SCALINGS = {
    "default": (lambda rope: (rope._plain, 1.0), (), ()),
    "linear": (_linear, ("factor",), ()),
    "dynamic": (lambda rope: (rope._plain, 1.0), ("factor",), ("original_max_position_embeddings",)),
    "llama3": (_llama3, ("factor", "low_freq_factor", "high_freq_factor"), ("original_max_position_embeddings",)),
    "yarn": (_yarn, ("factor",), ("original_max_position_embeddings", "attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim",
                                  "truncate"))}


def _one(name, given, of_scaling, default):
    """An argument, or what the scaling says of it."""
    if given is not None and of_scaling is not None and given != of_scaling:
        raise errors.ValueError(f"nn.RoPE: {name} is {given}, and {of_scaling} by the scaling")
    return default if given is None and of_scaling is None else of_scaling if given is None else given


class RoPE(Module):
    """Rotary position embedding of x [..., length, head_dim]: pairs of numbers are rotated by position * frequency. The
    pairs are (i, i + width / 2), as in Llama and GPT-NeoX, or with is_interleaved (2 i, 2 i + 1). Only the first `width`
    numbers are rotated, by default all; frequencies are powers of base, by default 10000. `scaling` has the fields of rope_scaling in configurations of Hugging Face:
    rope_type ("default", "linear", "dynamic", "yarn", "llama3"), factor, and those of the type, rope_theta for base;
    max_position_embeddings is the length of training, if original_max_position_embeddings is not among them. With the type "dynamic" the
    frequencies depend on the length: keys in a cache keep those that they were rotated with, so that steps with a cache beyond the length of
    training differ from a call with the whole sequence, as they do in Transformers.

    >>> rope = plait.nn.RoPE(4)
    >>> rope(plait.ones((2, 3, 4))).shape
    (2, 3, 4)
    >>> rope(plait.ones((1, 4)), offset=2).tolist() == rope(plait.ones((3, 4)))[2:].tolist()
    True
    >>> long = plait.nn.RoPE(64, scaling={"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096})
    >>> round(long.attention_factor, 4)
    1.1386
    """

    def __init__(self, head_dim, base=None, is_interleaved=False, *, width=None, scaling=None, max_position_embeddings=None):
        if not isinstance(scaling, dict | None):
            raise errors.TypeError(f"nn.RoPE: scaling is {scaling!r}, expected a dict")
        whole(self, "head_dim", head_dim)
        fields = dict(scaling or {})
        theta, share = fields.pop("rope_theta", None), fields.pop("partial_rotary_factor", None)
        width = _one("width", width, None if share is None else int(head_dim * share), head_dim)
        base = _one("base", base, theta, 10000.0)
        if not 0 < whole(self, "width", width) <= head_dim or width % 2:
            raise errors.ValueError(f"nn.RoPE: a width of {width} in heads of {head_dim}, expected an even one of 2 to {head_dim}")
        positive(self, "base", base)
        self.head_dim, self.width, self.base, self.is_interleaved = head_dim, width, float(base), is_interleaved
        self.scaling, self.max_position_embeddings = fields, max_position_embeddings
        self._expect_scaling()

    def _expect_scaling(self):
        if self.rope_type not in _SCALINGS:
            raise errors.ValueError(f"nn.RoPE: rope_type is {self.rope_type!r}, expected one of {', '.join(map(repr, _SCALINGS))}")
        _, needed, possible = _SCALINGS[self.rope_type]
        fields = {"rope_type", "type", "rope_theta", "partial_rotary_factor", *needed, *possible}
        for name in self.scaling:
            if name not in fields:
                near = difflib.get_close_matches(name, fields, 1)
                raise errors.ValueError.with_hint(f"nn.RoPE: unknown field {name!r} of the scaling {self.rope_type!r}",
                                                  f"did you mean {near[0]!r}?" if near else f"the fields are {', '.join(sorted(fields))}")
        for name in needed:
            if not self._of(name, 0) > 0:
                raise errors.ValueError(f"nn.RoPE: the scaling {self.rope_type!r} needs {name}, a number greater than 0")
        if possible and not (self._original or 0) > 0:
            raise errors.ValueError(f"nn.RoPE: the scaling {self.rope_type!r} needs original_max_position_embeddings or max_position_embeddings")
        if self.rope_type == "llama3" and not self._of("low_freq_factor") < self._of("high_freq_factor"):
            raise errors.ValueError("nn.RoPE: low_freq_factor must be less than high_freq_factor")
        if self.rope_type == "dynamic" and self.width < 4:
            raise errors.ValueError(f"nn.RoPE: the scaling 'dynamic' needs a width of 4 or more, not {self.width}")

    @property
    def rope_type(self):
        return self.scaling.get("rope_type", self.scaling.get("type", "default"))

    def _of(self, name, default=None):
        return self.scaling.get(name, default)

    @property
    def _plain(self):
        return _inverse_frequencies(self.width, self.base)

    @property
    def _original(self):
        return self._of("original_max_position_embeddings") or self.max_position_embeddings

    @property
    def attention_factor(self):
        """The factor of sines and cosines: YaRN's, else 1."""
        return _SCALINGS[self.rope_type][0](self)[1]

    def frequencies(self, length=None):
        """The angle per position of each pair; "dynamic" depends on the length of the sequence.

        >>> plait.nn.RoPE(4).frequencies()
        [1.   0.01] : f64[2]
        """
        plain = _core._constants(_SCALINGS[self.rope_type][0](self)[0].tolist())
        if self.rope_type != "dynamic" or length is None:
            return plain
        share = _core.astype(asarray(length), _core.f64) / self._original
        growth = _core.maximum(self._of("factor") * share - (self._of("factor") - 1), 1.0)  # growth of the base, as the context grows
        return plain * growth ** _core._constants((-np.arange(0, self.width, 2) / (self.width - 2)).tolist())

    def __call__(self, x, positions=None, offset=0):
        """x, rotated by its positions, by default offset, offset + 1, … along its length."""
        x = asarray(x)
        if x.ndim < 2 or x.shape[-1] != self.head_dim:
            raise errors.ShapeError(f"nn.RoPE: x is {x.dtype.name}{list(x.shape)}, expected [..., length, {self.head_dim}]")
        cos, sin = self.tables(_positions(x.shape[-2], offset, positions), x.dtype)
        rotated = self._rotated(x[..., :self.width], cos, sin)
        return rotated if self.width == self.head_dim else _core.concat([rotated, x[..., self.width:]], -1)

    def tables(self, positions, dtype=_core.f32):
        """Cosines and sines for these positions: [*positions.shape, width / 2].

        >>> plait.nn.RoPE(2).tables(plait.tensor([0, 1]))[1]
        [[0.        ]
         [0.84147096]] : f32[2, 1]
        """
        positions = asarray(positions)
        length = _core.max(positions) + 1 if self.rope_type == "dynamic" else None
        angles = _core.astype(positions, _core.f64)[..., None] * self.frequencies(length)
        factor = self.attention_factor
        return tuple(_core.astype(function(angles) * factor, dtype) for function in (_core.cos, _core.sin))

    def _rotated(self, x, cos, sin):
        if self.is_interleaved:
            first, second = x[..., 0::2], x[..., 1::2]
        else:
            first, second = x[..., :self.width // 2], x[..., self.width // 2:]
        turned = first * cos - second * sin, second * cos + first * sin
        return _core.flatten(_core.stack(turned, -1), -2, -1) if self.is_interleaved else _core.concat(turned, -1)


def _slopes(heads):
    """ALiBi's: powers of 2**(-8 / n) for n heads, a power of two; further heads have every second one of those for 2 n."""
    n = 1 << (heads.bit_length() - 1)
    return [2 ** (-8 * i / n) for i in range(1, n + 1)] + [2 ** (-4 * i / n) for i in range(1, 2 * (heads - n), 2)]


class ALiBi(Module):
    """Attention with linear biases: a bias [num_heads, queries, keys] of attention scores, -slope * distance, whose slopes
    are powers of two for each head.

    >>> alibi = plait.nn.ALiBi(2)
    >>> alibi.slopes
    [0.0625, 0.00390625]
    >>> alibi(3)[0].tolist()
    [[0.0, -0.0625, -0.125], [-0.0625, 0.0, -0.0625], [-0.125, -0.0625, 0.0]]
    """

    def __init__(self, num_heads):
        self.num_heads = whole(self, "num_heads", num_heads, 1)

    @property
    def slopes(self):
        return _slopes(self.num_heads)

    def __call__(self, queries, keys=None, offset=0, dtype=_core.f32):
        """`queries` and `keys` are numbers of positions; the first query is at the position `offset` of the keys."""
        keys = queries if keys is None else keys
        distance = abs(offset + _core.iota(queries)[:, None] - _core.iota(keys))
        return _core.astype(_core._constants(self.slopes), dtype)[:, None, None] * _core.astype(-distance, dtype)


class SinusoidalEmbedding(Module):
    """Sines and cosines of positions, of any shape, at frequencies from 1 to 1 / base: [..., embedding_dim]. They
    alternate, as in the first transformer; without is_interleaved all sines come first.

    >>> plait.nn.SinusoidalEmbedding(4)(plait.tensor([0, 1]))
    [[0.         1.         0.         1.        ]
     [0.84147096 0.5403023  0.00999983 0.99995   ]] : f32[2, 4]
    """

    def __init__(self, embedding_dim, base=10000.0, is_interleaved=True, *, dtype=_core.f32):
        if whole(self, "embedding_dim", embedding_dim, 2) % 2:
            raise errors.ValueError(f"nn.SinusoidalEmbedding: embedding_dim is {embedding_dim}, expected an even number of 2 or more")
        positive(self, "base", base)
        self.embedding_dim, self.base, self.is_interleaved, self.dtype = embedding_dim, float(base), is_interleaved, dtype

    def __call__(self, positions):
        frequencies = _core._constants(_inverse_frequencies(self.embedding_dim, self.base).tolist())
        angles = _core.astype(asarray(positions), _core.f64)[..., None] * frequencies
        parts = [_core.sin(angles), _core.cos(angles)]
        made = _core.flatten(_core.stack(parts, -1), -2, -1) if self.is_interleaved else _core.concat(parts, -1)
        return _core.astype(made, self.dtype)
