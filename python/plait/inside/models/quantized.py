"""Layers whose weights are integers of 8 or 4 bits, with scales and zero points."""

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.help.unused import expect_model_used
from plait.inside.layers.checks import whole
from plait.inside.layers.embedding import Embedding
from plait.inside.layers.linear import Linear
from plait.inside.layers.on_device import on_device
from plait.inside.models.replaced import replaced
from plait.inside.trees.buffers import Buffer
from plait.inside.trees.module import Module

_CODES = {8: (-128, 127, _core.i8), 4: (0, 15, _core.u8)}  # bits: the least and the greatest code, and the dtype


def _pack(codes):
    """Pairs of codes of 4 bits in one byte, the first in the low half."""
    codes = _core.pad_zeros(codes, -1, 0, codes.shape[-1] % 2)
    return codes[..., 0::2] | _core.left_shift(codes[..., 1::2], 4)


def _unpack(packed, width):
    halves = _core.stack([packed & 15, _core.right_shift(packed, 4)], -1)
    return _core.flatten(halves, -2, -1)[..., :width]


class _Quantized(Module):
    """A matrix [rows, width] as codes: weight = (codes - zero_points) * scales, with one scale and zero point for each row,
    or for each group of group_size columns of it."""

    def _set_weight(self, weight, bits, group_size):
        name = type(self).__name__
        if bits not in tuple(_CODES):
            raise errors.ValueError(f"nn.{name}: bits is {bits}, expected 8 or 4")
        width = weight.shape[1]
        if group_size is not None and width % whole(self, "group_size", group_size, 1):
            raise errors.ValueError(f"nn.{name}: groups of {group_size} of {width} columns: the columns must be a multiple of group_size")
        self.bits, self.group_size, self.width = bits, group_size, width
        least, greatest, dtype = _CODES[bits]
        groups = self._in_groups(weight)
        # 0 is among the numbers, and has a code of its own
        low, high = _core.minimum(_core.min(groups, -1, True), 0), _core.maximum(_core.max(groups, -1, True), 0)
        scales = (high - low) / (greatest - least)
        scales = _core.where(scales == 0, 1, scales)
        zeros = _core.round(least - low / scales)
        codes = _core.flatten(_core.clip(_core.round(groups / scales) + zeros, least, greatest), -2, -1)
        codes = _core.astype(codes, dtype)
        self.codes = Buffer(_pack(codes) if bits == 4 else codes)
        self.scales, self.zero_points = Buffer(scales[..., 0]), Buffer(_core.astype(zeros[..., 0], dtype))

    def _in_groups(self, rows):
        return _core.unflatten(rows, -1, (-1, self.group_size or self.width))

    def _rows(self, *index):
        """Rows of the weight, all or those at the index, as floats."""
        codes, scales, zeros = (each if not index else _core.take(each, index[0], axis=0) for each in (self.codes, self.scales, self.zero_points))
        codes = _unpack(codes, self.width) if self.bits == 4 else codes
        codes, zeros = (_core.astype(each, scales.dtype) for each in (codes, zeros))
        return _core.flatten((self._in_groups(codes) - zeros[..., None]) * scales[..., None], -2, -1)

    @property
    def weight(self):
        """The weight as floats."""
        return self._rows()


class QuantizedLinear(_Quantized):
    """A Linear whose weight is integers of 8 bits, or of 4, two in a byte. Nothing of it is trained. By default each row has
    a scale and a zero point, otherwise each group of group_size columns of it.

    >>> layer = plait.nn.QuantizedLinear(64, 4, bits=4, group_size=32)
    >>> layer.codes.shape, layer.scales.shape, layer(plait.ones((3, 64))).shape
    ((4, 32), (4, 2), (3, 4))
    """

    @on_device
    def __init__(self, in_features, out_features, bias=True, bits=8, group_size=None, *, key=None, dtype=_core.f32):
        self._set_up(Linear(in_features, out_features, bias, key=key, dtype=dtype), bits, group_size)

    @classmethod
    def from_linear(cls, layer, bits=8, group_size=None):
        """The layer with its weight rounded to codes: the error is at most half a scale.

        >>> layer = plait.nn.Linear(6, 4)
        >>> error = plait.abs(plait.nn.QuantizedLinear.from_linear(layer).weight - layer.weight)
        >>> plait.max(error).item() < 0.002
        True
        """
        made = cls.__new__(cls)
        made._set_up(layer, bits, group_size)
        return made

    def _set_up(self, layer, bits, group_size):
        self._set_weight(layer.weight, bits, group_size)
        self.bias = None if layer.bias is None else Buffer(layer.bias)

    def __call__(self, x):
        return _core.linear(x, self.weight, self.bias)

    def dequantized(self):
        """A Linear with this weight, to be trained.

        >>> type(plait.nn.QuantizedLinear(6, 4).dequantized()).__name__
        'Linear'
        """
        weight = self.weight
        made = Linear.__new__(Linear)
        made.weight, made.bias = weight, self.bias
        return made


class QuantizedEmbedding(_Quantized):
    """An Embedding whose table is integers of 8 or 4 bits, as that of QuantizedLinear: a call computes the rows that it
    looks up.

    >>> plait.nn.QuantizedEmbedding(10, 4)(plait.tensor([[1, 2, 9]])).shape
    (1, 3, 4)
    """

    @on_device
    def __init__(self, num_embeddings, embedding_dim, bits=8, group_size=None, *, key=None, dtype=_core.f32):
        self._set_weight(Embedding(num_embeddings, embedding_dim, key=key, dtype=dtype).weight, bits, group_size)

    @classmethod
    def from_embedding(cls, layer, bits=8, group_size=None):
        """The layer with its table rounded to codes.

        >>> plait.nn.QuantizedEmbedding.from_embedding(plait.nn.Embedding(10, 4), bits=4).codes.shape
        (10, 2)
        """
        made = cls.__new__(cls)
        made._set_weight(layer.weight, bits, group_size)
        return made

    def __call__(self, ids):
        return self._rows(asarray(ids))


def quantize(model, bits=8, group_size=None, pattern="*"):
    """The model with a QuantizedLinear in place of each Linear, and a QuantizedEmbedding in place of each Embedding, whose path
    matches the pattern, as in file names, or one of several.

    >>> model = plait.nn.Sequential(plait.nn.Linear(4, 8), plait.relu, plait.nn.Linear(8, 2))
    >>> [type(layer).__name__ for layer in plait.nn.quantize(model, pattern="0") if isinstance(layer, plait.Module)]
    ['QuantizedLinear', 'Linear']
    """

    def make(layer, path):
        try:
            made = QuantizedLinear.from_linear if isinstance(layer, Linear) else QuantizedEmbedding.from_embedding
            return made(layer, bits, group_size)
        except errors.ValueError as error:
            raise errors.ValueError(f"nn.quantize: {path or 'the model'}: {error.message}") from None

    quantized = replaced("nn.quantize", model, (Linear, Embedding), make, pattern)
    expect_model_used("nn.quantize")
    return quantized
