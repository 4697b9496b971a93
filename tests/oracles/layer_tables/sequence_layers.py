"""Layers for sequences."""

import itertools

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from . import Case, numbers

LENGTHS = torch.tensor([3, 6, 1, 4])


def within(name):
    return f"layer.{name}"


def with_states(layer, x, *states):
    return layer(x, states if len(states) > 1 else states[0])


def with_lengths(layer, x, *states_and_lengths):
    """PyTorch's layer over sequences of these lengths, in any order."""
    *states, lengths = states_and_lengths
    packed = pack_padded_sequence(x, lengths, layer.batch_first, enforce_sorted=False)
    output, last = layer(packed, tuple(states) if len(states) > 1 else states[0])
    return pad_packed_sequence(output, layer.batch_first, total_length=x.shape[1 if layer.batch_first else 0])[0], last


RECURRENT = {
    "rnn_cell": Case(lambda: nn.RNNCell(3, 5), lambda: [numbers(4, 3)]),
    "rnn_cell_relu": Case(lambda: nn.RNNCell(3, 5, bias=False, nonlinearity="relu"), lambda: [numbers(3), numbers(5, seed=2)]),
    "gru_cell": Case(lambda: nn.GRUCell(3, 5), lambda: [numbers(4, 3), numbers(4, 5, seed=2)]),
    "gru_cell_without_bias": Case(lambda: nn.GRUCell(3, 5, bias=False), lambda: [numbers(3)]),
    "lstm_cell": Case(lambda: nn.LSTMCell(3, 5, bias=False), lambda: [numbers(4, 3)]),
    "lstm_cell_with_states": Case(lambda: nn.LSTMCell(3, 5), lambda: [numbers(3), numbers(5, seed=2), numbers(5, seed=3)], rename=within,
                                  call=with_states),
    "rnn": Case(lambda: nn.RNN(3, 5), lambda: [numbers(6, 4, 3)]),
    "rnn_relu": Case(lambda: nn.RNN(3, 5, 2, "relu", False, True, 0.0, True), lambda: [numbers(4, 6, 3), numbers(4, 4, 5, seed=2)]),
    "rnn_dropout_eval": Case(lambda: nn.RNN(3, 5, 3, dropout=0.5), lambda: [numbers(6, 4, 3)], eval=True),
    "gru": Case(lambda: nn.GRU(3, 5, 2, bidirectional=True), lambda: [numbers(6, 4, 3)]),
    "gru_without_batch": Case(lambda: nn.GRU(3, 5, 2, False, True), lambda: [numbers(6, 3), numbers(2, 5, seed=2)]),
    "lstm": Case(lambda: nn.LSTM(3, 5, 2, bidirectional=True), lambda: [numbers(6, 4, 3)]),
    "lstm_projected": Case(lambda: nn.LSTM(3, 5, 2, False, True, 0.0, True, 2), lambda: [numbers(4, 6, 3)]),
    "lstm_with_states": Case(lambda: nn.LSTM(3, 5, 2, batch_first=True), lambda: [numbers(4, 6, 3), numbers(2, 4, 5, seed=2),
                                                                                 numbers(2, 4, 5, seed=3)], rename=within, call=with_states),
    "lstm_dropout_eval": Case(lambda: nn.LSTM(3, 5, 2, dropout=0.9), lambda: [numbers(6, 4, 3)], eval=True),
    "rnn_lengths": Case(lambda: nn.RNN(3, 5, bidirectional=True), lambda: [numbers(6, 4, 3), numbers(2, 4, 5, seed=2), LENGTHS], rename=within,
                        call=with_lengths),
    "gru_lengths": Case(lambda: nn.GRU(3, 5, 2, batch_first=True, bidirectional=True),
                        lambda: [numbers(4, 6, 3), numbers(4, 4, 5, seed=2), LENGTHS], rename=within, call=with_lengths),
    "lstm_lengths": Case(lambda: nn.LSTM(3, 5, 2, batch_first=True, bidirectional=True, proj_size=2),
                         lambda: [numbers(4, 6, 3), numbers(4, 4, 2, seed=2), numbers(4, 4, 5, seed=3), LENGTHS], rename=within,
                         call=with_lengths),
}

# ---- Attention: all combinations of five flags, each called in one of five ways.

HIDDEN = torch.tensor([[False, False, True, True], [False] * 4, [False, True, False, False]])
WAYS = [lambda hidden, mask: {},
        lambda hidden, mask: {"need_weights": False},
        lambda hidden, mask: {"average_attn_weights": False, "attn_mask": mask},
        lambda hidden, mask: {"key_padding_mask": hidden, "attn_mask": mask, "need_weights": False},
        lambda hidden, mask: {"key_padding_mask": hidden, "attn_mask": mask}]


def attention_mask(way):
    if way in (0, 1, 2):
        return numbers(5, 4, seed=5)
    mask = numbers(6, 5, 4, seed=5)
    if way == 3:
        mask = mask < -0.8
        mask[..., 0] = False
    return mask


def attention(place, flags):
    first, wide, bias_kv, zero, bias = flags
    way, kdim, vdim = place % 5, 4 if wide else 6, 7 if wide else 6

    def inputs():
        shapes = (3, 5, 6), (3, 4, kdim), (3, 4, vdim)
        given = [numbers(*(shape if first else (shape[1], shape[0], shape[2])), seed=i + 1) for i, shape in enumerate(shapes)]
        return [*given, HIDDEN.double() if way == 4 else HIDDEN, attention_mask(way)]

    return Case(lambda: nn.MultiheadAttention(6, 2, bias=bias, add_bias_kv=bias_kv, add_zero_attn=zero, kdim=kdim, vdim=vdim, batch_first=first),
                inputs, rename=within, call=lambda layer, q, k, v, hidden, mask: layer(q, k, v, **WAYS[way](hidden, mask)))


CAUSAL = nn.Transformer.generate_square_subsequent_mask(5, dtype=torch.float64)
ATTENTION = {f"attention_{place}": attention(place, flags) for place, flags in enumerate(itertools.product((False, True), repeat=5))}
ATTENTION |= {
    "attention_self": Case(lambda: nn.MultiheadAttention(6, 3, dropout=0.5, batch_first=True), lambda: [numbers(3, 5, 6)], eval=True, rename=within,
                           call=lambda layer, x: layer(x, x, x)),
    "attention_causal": Case(lambda: nn.MultiheadAttention(6, 3, add_bias_kv=True), lambda: [numbers(5, 6)], rename=within,
                             call=lambda layer, x: layer(x, x, x, attn_mask=CAUSAL, need_weights=False)),
}

# ---- Transformers: all combinations of four flags.

PADDED = torch.tensor([[False, False, False, False, True], [False] * 5, [False, True, False, False, True]])


def placed(first, *shape, seed):
    return numbers(*(shape if first else (shape[1], shape[0], shape[2])), seed=seed)


def options(flags):
    first, norm_first, bias, gelu = flags
    return dict(dim_feedforward=8, dropout=0.0, batch_first=first, norm_first=norm_first, bias=bias, activation="gelu" if gelu else "relu")


def encoder_layer(flags):
    return Case(lambda: nn.TransformerEncoderLayer(6, 2, **options(flags)), lambda: [placed(flags[0], 3, 5, 6, seed=1), numbers(5, 5, seed=2), PADDED],
                rename=within, call=lambda layer, x, mask, padded: layer(x, mask, padded.double() * -5))


def decoder_layer(flags):
    def inputs():
        return [placed(flags[0], 3, 5, 6, seed=1), placed(flags[0], 3, 4, 6, seed=2), numbers(5, 4, seed=3), PADDED, HIDDEN]

    return Case(lambda: nn.TransformerDecoderLayer(6, 2, **options(flags)), inputs, rename=within,
                call=lambda layer, x, memory, mask, padded, hidden: layer(x, memory, CAUSAL, mask, padded.double() * -5, hidden.double() * -5,
                                                                          tgt_is_causal=True))


def encoder():
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, 8, 0.0), 2, nn.LayerNorm(6), enable_nested_tensor=False)


def whole(**named):
    return nn.Transformer(6, 2, 2, 1, 8, **named)


TRANSFORMERS = {
    **{f"encoder_layer_{place}": encoder_layer(flags) for place, flags in enumerate(itertools.product((False, True), repeat=4))},
    **{f"decoder_layer_{place}": decoder_layer(flags) for place, flags in enumerate(itertools.product((False, True), repeat=4))},
    "encoder_layer_eval": Case(lambda: nn.TransformerEncoderLayer(6, 2, 8, 0.5, layer_norm_eps=0.1), lambda: [numbers(5, 3, 6)], eval=True),
    "encoder": Case(encoder, lambda: [numbers(5, 3, 6)], rename=within,
                    call=lambda layer, x: layer(x, CAUSAL, is_causal=True)),
    "decoder": Case(lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(6, 2, 8, 0.0), 2, nn.LayerNorm(6)),
                    lambda: [numbers(5, 3, 6), numbers(4, 3, 6, seed=2)]),
    "transformer": Case(lambda: whole(dropout=0.0, activation="gelu"), lambda: [numbers(4, 3, 6), numbers(5, 3, 6, seed=2), numbers(5, 4, seed=3)],
                        rename=within, call=lambda layer, x, y, mask: layer(x, y, tgt_mask=CAUSAL, memory_mask=mask, tgt_is_causal=True)),
    "transformer_eval": Case(lambda: whole(dropout=0.5, batch_first=True, norm_first=True, bias=False),
                             lambda: [numbers(3, 4, 6), numbers(3, 5, 6, seed=2)], eval=True),
}

CASES = RECURRENT | ATTENTION | TRANSFORMERS
