"""PyTorch's transformer: its layers, stacks of them, and both together."""

import copy

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.layers.checks import MOST_LAYERS, function, probability, whole
from plait.inside.layers.attention import MultiheadAttention, xavier_weights
from plait.inside.layers.dropped import dropped
from plait.inside.layers.linear import Linear
from plait.inside.layers.normalization import LayerNorm
from plait.inside.layers.first_weights import drawn
from plait.inside.layers.on_device import on_device
from plait.inside.trees.module import Module

_ACTIVATIONS = {"relu": _core.relu, "gelu": _core.gelu}


def _activation(layer, given):
    if not callable(given) and given not in tuple(_ACTIVATIONS):
        raise errors.ValueError(f"nn.{layer}: activation is {given!r}, expected 'relu', 'gelu' or a function")
    return given if callable(given) else _ACTIVATIONS[given]


class _Block(Module):
    """Attention and a network of two Linears, each with a residual connection and a LayerNorm behind or before it."""

    def _set_up(self, attentions, d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, key, dtype):
        name = type(self).__name__
        probability(self, "dropout", dropout)
        whole(self, "dim_feedforward", dim_feedforward)
        keys = _core.random.split_key(drawn(key), 4)
        for place, attention in enumerate(attentions):
            setattr(self, attention, MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, key=keys[place], dtype=dtype))
        self.linear1 = Linear(d_model, dim_feedforward, bias, key=keys[2], dtype=dtype)
        self.linear2 = Linear(dim_feedforward, d_model, bias, key=keys[3], dtype=dtype)
        for place in range(len(attentions) + 1):
            setattr(self, f"norm{place + 1}", LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype))
        self.dropout, self.activation, self.norm_first = dropout, _activation(name, activation), norm_first

    def _keys(self, key, count):
        drops = self.training and self.dropout
        return _core.random.split_key(drawn(key), count) if drops else [None] * count

    def _residual(self, x, norm, part, key):
        if self.norm_first:
            return x + dropped(self, part(norm(x)), self.dropout, key)
        return norm(x + dropped(self, part(x), self.dropout, key))

    def _network(self, x, key):
        return self.linear2(dropped(self, self.activation(self.linear1(x)), self.dropout, key))


class TransformerEncoderLayer(_Block):
    """Self-attention and a network of two Linears. The arguments and the names of tensors are PyTorch's; in boolean masks True
    means that no attention goes there.

    >>> layer = plait.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    >>> layer(plait.ones((3, 5, 8)), is_causal=True).shape
    (3, 5, 8)
    """

    @on_device
    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation="relu", layer_norm_eps=1e-5, batch_first=False,
                 norm_first=False, bias=True, *, key=None, dtype=_core.f32):
        self._set_up(["self_attn"], d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, key, dtype)

    def __call__(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False, *, key=None):
        """The output for src. The masks are PyTorch's: true where there is no attention, or added to the scores; key is for dropout."""
        keys = self._keys(key, 4)

        def attention(x):
            return self.self_attn(x, x, x, src_key_padding_mask, False, src_mask, is_causal=is_causal, dropout_key=keys[0])[0]

        x = self._residual(asarray(src), self.norm1, attention, keys[1])
        return self._residual(x, self.norm2, lambda x: self._network(x, keys[2]), keys[3])


class TransformerDecoderLayer(_Block):
    """Self-attention, attention to the memory, and a network of two Linears, as PyTorch's.

    >>> layer = plait.nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
    >>> layer(plait.ones((3, 5, 8)), plait.ones((3, 7, 8)), tgt_is_causal=True).shape
    (3, 5, 8)
    """

    @on_device
    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation="relu", layer_norm_eps=1e-5, batch_first=False,
                 norm_first=False, bias=True, *, key=None, dtype=_core.f32):
        self._set_up(["self_attn", "multihead_attn"], d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first,
                     bias, key, dtype)

    def __call__(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
                 tgt_is_causal=False, memory_is_causal=False, *, key=None):
        """The output for tgt, given memory, the output of the encoder. The masks are PyTorch's: true where there is no attention, or added to
        the scores; key is for dropout."""
        keys = self._keys(key, 6)

        def attention(x):
            return self.self_attn(x, x, x, tgt_key_padding_mask, False, tgt_mask, is_causal=tgt_is_causal, dropout_key=keys[0])[0]

        def to_memory(x):
            return self.multihead_attn(x, memory, memory, memory_key_padding_mask, False, memory_mask, is_causal=memory_is_causal,
                                       dropout_key=keys[2])[0]

        x = self._residual(asarray(tgt), self.norm1, attention, keys[1])
        x = self._residual(x, self.norm2, to_memory, keys[3])
        return self._residual(x, self.norm3, lambda x: self._network(x, keys[4]), keys[5])


class _Stack(Module):
    def _set_up(self, name, layer, num_layers, norm):
        count = whole(self, "num_layers", num_layers, most=MOST_LAYERS)
        function(self, name, layer, "a layer")
        self.layers = [copy.deepcopy(layer) for _ in range(count)]
        self.norm = norm if norm is None else function(self, "norm", norm, "a layer")

    def _through(self, x, key, call):
        """call(layer, x, key) for each layer, then the norm."""
        drops = self.training and any(layer.dropout for layer in self.layers)
        keys = _core.random.split_key(drawn(key), len(self.layers)) if drops else [None] * len(self.layers)
        for layer, each in zip(self.layers, keys):
            x = call(layer, x, each)
        return x if self.norm is None else self.norm(x)


class TransformerEncoder(_Stack):
    """num_layers copies of a TransformerEncoderLayer, which begin with the same weights, and a norm. The arguments
    enable_nested_tensor and mask_check are PyTorch's, and have no effect.

    >>> encoder = plait.nn.TransformerEncoder(plait.nn.TransformerEncoderLayer(8, 2, 16), 2)
    >>> encoder(plait.ones((5, 3, 8))).shape
    (5, 3, 8)
    """

    def __init__(self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True):
        self._set_up("encoder_layer", encoder_layer, num_layers, norm)

    def __call__(self, src, mask=None, src_key_padding_mask=None, is_causal=None, *, key=None):
        """The output for src. The masks are PyTorch's: true where there is no attention, or added to the scores; key is for dropout."""
        return self._through(asarray(src), key, lambda layer, x, key: layer(x, mask, src_key_padding_mask, bool(is_causal), key=key))


class TransformerDecoder(_Stack):
    """num_layers copies of a TransformerDecoderLayer, which begin with the same weights, and a norm.

    >>> decoder = plait.nn.TransformerDecoder(plait.nn.TransformerDecoderLayer(8, 2, 16), 2)
    >>> decoder(plait.ones((5, 3, 8)), plait.ones((7, 3, 8))).shape
    (5, 3, 8)
    """

    def __init__(self, decoder_layer, num_layers, norm=None):
        self._set_up("decoder_layer", decoder_layer, num_layers, norm)

    def __call__(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
                 tgt_is_causal=None, memory_is_causal=False, *, key=None):
        """The output for tgt, given memory, the output of the encoder. The masks are PyTorch's: true where there is no attention, or added to
        the scores; key is for dropout."""
        def call(layer, x, key):
            return layer(x, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, bool(tgt_is_causal), memory_is_causal,
                         key=key)

        return self._through(asarray(tgt), key, call)


class Transformer(Module):
    """An encoder and a decoder, each with a LayerNorm at its end; all matrices begin with Xavier's uniform weights.

    >>> model = plait.nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
    >>> model(plait.ones((3, 7, 8)), plait.ones((3, 5, 8)), tgt_is_causal=True).shape
    (3, 5, 8)
    """

    @on_device
    def __init__(self, d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, dim_feedforward=2048, dropout=0.1, activation="relu",
                 custom_encoder=None, custom_decoder=None, layer_norm_eps=1e-5, batch_first=False, norm_first=False, bias=True, *, key=None,
                 dtype=_core.f32):
        whole(self, "num_encoder_layers", num_encoder_layers, most=MOST_LAYERS)
        whole(self, "num_decoder_layers", num_decoder_layers, most=MOST_LAYERS)
        keys = _core.random.split_key(drawn(key), 2)
        given = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)

        def stack(kind, layer, count, key):
            norm = LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)
            return _with_xavier(kind(layer(*given, key=key, dtype=dtype), count, norm), key, dtype)

        self.encoder = custom_encoder or stack(TransformerEncoder, TransformerEncoderLayer, num_encoder_layers, keys[0])
        self.decoder = custom_decoder or stack(TransformerDecoder, TransformerDecoderLayer, num_decoder_layers, keys[1])
        self.d_model, self.batch_first = d_model, batch_first

    def __call__(self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, src_key_padding_mask=None, tgt_key_padding_mask=None,
                 memory_key_padding_mask=None, src_is_causal=None, tgt_is_causal=None, memory_is_causal=False, *, key=None):
        """The output of the decoder for tgt, given src. The masks are PyTorch's: true where there is no attention, or added to the scores; key is
        for dropout."""
        first, second = (None, None) if key is None else _core.random.split_key(key, 2)
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal, key=first)
        return self.decoder(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, tgt_is_causal, memory_is_causal,
                            key=second)

    @staticmethod
    def generate_square_subsequent_mask(sz, dtype=_core.f32):
        """The causal mask as numbers to add: 0, and -inf for later places.

        >>> plait.nn.Transformer.generate_square_subsequent_mask(2)
        [[  0. -inf]
         [  0.   0.]] : f32[2, 2]
        """
        place = _core.iota(sz)
        return _core.where(place[:, None] >= place, _core.zeros((), dtype=dtype), float("-inf"))


def _with_xavier(stack, key, dtype):
    """The stack, with new weights in all of its matrices, which differ from layer to layer."""
    leaves, structure = _core._flatten(stack)
    keys = _core.random.split_key(key, max(len(leaves), 1))
    return structure.unflatten([xavier_weights(leaf.shape, each, dtype) if leaf.ndim > 1 else leaf for leaf, each in zip(leaves, keys)])
