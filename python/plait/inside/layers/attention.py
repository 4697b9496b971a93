"""Attention, PyTorch's and that of models of today, with its cache of keys and values."""

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.layers.checks import function, probability, whole
from plait.inside.layers.dropped import dropped
from plait.inside.layers.linear import Linear
from plait.inside.layers.on_device import on_device
from plait.inside.layers.positions import ALiBi, RoPE
from plait.inside.layers.first_weights import drawn, fans, uniform_weights
from plait.inside.trees.buffers import Buffer
from plait.inside.trees.module import Module


def xavier_weights(shape, key, dtype, deviation=False):
    """Xavier's initial weights, uniform or normal."""
    variance = 2 / max(sum(fans(shape)), 1)
    return _core.random.normal(key, shape, 0.0, variance**0.5, dtype) if deviation else uniform_weights(shape, (3 * variance) ** 0.5, key, dtype)


def _joined(masks):
    """Several masks as one: a boolean one, True where attention goes, or a number to add."""
    keep = bias = None
    for mask in masks:
        if mask.dtype.kind == "boolean":
            keep = mask if keep is None else keep & mask
        else:
            bias = mask if bias is None else bias + mask
    return keep if bias is None else bias if keep is None else _core.where(keep, bias, float("-inf"))


def _causal(queries, keys, offset=0):
    return offset + _core.iota(queries)[:, None] >= _core.iota(keys)


def _expect_mask(layer, name, mask):
    """The mask as an array; TypeError unless it is of booleans or floating numbers."""
    mask = asarray(mask)
    if mask.dtype.kind in ("boolean", "floating"):
        return mask
    raise errors.TypeError.with_hint(f"nn.{type(layer).__name__}: {name} is {mask.dtype}[{', '.join(map(str, mask.shape))}], expected bool, or "
                                     "floating numbers that are added to the scores", f"{name} != 0 is boolean")


def _attended(layer, q, k, v, masks, is_causal, key, needs_weights=False):
    """The attention of each query, and its weights after dropout, or None where they are not needed."""
    if not needs_weights and not (layer.training and layer.dropout):
        return _core.scaled_dot_product_attention(q, k, v, attn_mask=_joined(masks), is_causal=is_causal), None
    groups = q.shape[-3] // k.shape[-3]
    k, v = (each if groups == 1 else _core.repeat(each, groups, axis=-3) for each in (k, v))
    scores = (q * q.shape[-1] ** -0.5) @ _core.swapaxes(k, -1, -2)
    mask = _joined([*masks, _causal(q.shape[-2], k.shape[-2])] if is_causal else masks)
    if mask is not None:
        scores = _core.where(mask, scores, float("-inf")) if mask.dtype.kind == "boolean" else scores + mask
    weights = dropped(layer, _core.masked_softmax(scores, -1), layer.dropout, key)
    return weights @ v, weights


def _by_heads(x, heads):
    """[..., length, heads * width] as [..., heads, length, width]."""
    return _core.swapaxes(_core.unflatten(x, -1, (heads, -1)), -3, -2)


def _from_heads(x):
    return _core.flatten(_core.swapaxes(x, -3, -2), -2, -1)


class MultiheadAttention(Module):
    """PyTorch's attention from queries [length, batch, embed_dim], or with batch_first [batch, length, embed_dim], or [length,
    embed_dim], to keys and values. Returns the output and the attention weights, None if need_weights is False. In boolean
    masks True means that no attention goes there; numbers are added. is_causal needs no mask: a query sees keys at its own
    and earlier places. A query that sees nothing has the output of zeros, not NaN.

    >>> layer = plait.nn.MultiheadAttention(8, 2, batch_first=True)
    >>> x = plait.ones((3, 5, 8))
    >>> output, weights = layer(x, x, x, is_causal=True)
    >>> output.shape, weights.shape
    ((3, 5, 8), (3, 5, 5))
    """

    @on_device
    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None, vdim=None,
                 batch_first=False, *, key=None, dtype=_core.f32):
        if whole(self, "embed_dim", embed_dim, 1) % whole(self, "num_heads", num_heads, 1):
            raise errors.ValueError(f"nn.MultiheadAttention: {num_heads} heads of an embed_dim of {embed_dim}: it must be a multiple of the heads")
        probability(self, "dropout", dropout)
        kdim, vdim = (embed_dim if each is None else each for each in (kdim, vdim))
        whole(self, "kdim", kdim, 1), whole(self, "vdim", vdim, 1)
        keys = _core.random.split_key(drawn(key), 6)
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.add_zero_attn = add_zero_attn
        self.in_proj_weight = self.q_proj_weight = self.k_proj_weight = self.v_proj_weight = None
        if kdim == vdim == embed_dim:
            self.in_proj_weight = xavier_weights((3 * embed_dim, embed_dim), keys[0], dtype)
        else:
            for place, (name, width) in enumerate(zip("qkv", (embed_dim, kdim, vdim))):
                setattr(self, f"{name}_proj_weight", xavier_weights((embed_dim, width), keys[place], dtype))
        self.in_proj_bias = _core.zeros(3 * embed_dim, dtype=dtype) if bias else None
        self.out_proj = Linear(embed_dim, embed_dim, bias, key=keys[3], dtype=dtype)
        if bias:
            self.out_proj.bias = _core.zeros(embed_dim, dtype=dtype)
        self.bias_k, self.bias_v = (xavier_weights((1, 1, embed_dim), keys[place], dtype, True) if add_bias_kv else None for place in (4, 5))

    def __call__(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True, is_causal=False,
                 *, dropout_key=None):
        """(output, weights of attention, or None without need_weights). The masks are PyTorch's: key_padding_mask [batch, keys] and attn_mask
        are true where there is no attention, or are added to the scores; dropout_key is for dropout."""
        query, key, value = map(asarray, (query, key, value))
        is_batched = query.ndim == 3
        if query.ndim not in (2, 3) or not query.ndim == key.ndim == value.ndim:
            raise errors.ShapeError(f"nn.MultiheadAttention: query, key and value have {query.ndim}, {key.ndim} and {value.ndim} dimensions, "
                                    "expected 3 of each, or 2 without a batch")
        q, k, v = self._projected(query, key, value)
        if not is_batched:
            q, k, v = (each[None] for each in (q, k, v))
        elif not self.batch_first:
            q, k, v = (_core.swapaxes(each, 0, 1) for each in (q, k, v))
        bias_k, bias_v = self.bias_k, self.bias_v
        k, v = self._with_bias(k, bias_k), self._with_bias(v, bias_v)
        q, k, v = (_by_heads(each, self.num_heads) for each in (q, k, v))
        if self.add_zero_attn:
            k, v = (_core.pad_zeros(each, -2, 0, 1) for each in (k, v))
        added = (bias_k is not None) + bool(self.add_zero_attn)
        keys = k.shape[-2] - added
        if key_padding_mask is not None:
            key_padding_mask = self._expect_padding(key_padding_mask, (q.shape[0], keys) if is_batched else (keys,))
        masks = self._masks(key_padding_mask, attn_mask, is_causal, q.shape[-2], keys, added)
        output, weights = _attended(self, q, k, v, masks, False, dropout_key, need_weights)
        output = self.out_proj(_from_heads(output))
        weights = _core.mean(weights, axis=-3) if need_weights and average_attn_weights else weights
        if not is_batched:
            return output[0], weights[0] if need_weights else None
        return output if self.batch_first else _core.swapaxes(output, 0, 1), weights if need_weights else None

    def _projected(self, query, key, value):
        joined, bias = self.in_proj_weight, self.in_proj_bias
        if joined is None:
            weights = self.q_proj_weight, self.k_proj_weight, self.v_proj_weight
        elif query is key and key is value:
            return _core.split(_core.linear(query, joined, bias), parts=3, axis=-1)
        else:
            weights = _core.split(joined, parts=3)
        biases = (None,) * 3 if bias is None else _core.split(bias, parts=3)
        return [_core.linear(*each) for each in zip((query, key, value), weights, biases)]

    @staticmethod
    def _with_bias(x, bias):
        """Keys or values, with one more at the end."""
        return x if bias is None else _core.concat([x, _core.broadcast_to(bias[0], (*x.shape[:-2], 1, x.shape[-1]))], -2)

    def _expect_padding(self, mask, shape):
        """The mask as an array; ShapeError unless it is of the shape [batch, keys], or [keys]."""
        mask = _expect_mask(self, "key_padding_mask", mask)
        if tuple(mask.shape) == tuple(shape):
            return mask
        raise errors.ShapeError(f"nn.MultiheadAttention: key_padding_mask is {list(mask.shape)}, expected {list(shape)}: "
                                f"{'[batch, keys]' if len(shape) == 2 else '[keys]'}")

    def _masks(self, key_padding_mask, attn_mask, is_causal, queries, keys, added):
        """Masks as those of scaled_dot_product_attention: True where attention goes. The keys that the layer has added are seen."""
        masks = []
        if key_padding_mask is not None:
            masks.append(key_padding_mask[..., None, None, :])
        if attn_mask is not None:
            mask = _expect_mask(self, "attn_mask", attn_mask)
            if mask.ndim not in (2, 3):
                raise errors.ShapeError(f"nn.MultiheadAttention: attn_mask has {mask.ndim} dimensions, expected [queries, keys] or "
                                        "[batch * num_heads, queries, keys]")
            masks.append(mask if mask.ndim == 2 else _core.unflatten(mask, 0, (-1, self.num_heads)))
        if is_causal:
            masks.append(~_causal(queries, keys))
        masks = [_core.pad_zeros(mask, -1, 0, added) if added else mask for mask in masks]
        return [~mask if mask.dtype.kind == "boolean" else mask for mask in masks]


class KeyValueCache(Module):
    """Keys and values [..., heads, length, head_dim] of earlier positions, for attention: memory for `length` positions, of
    which `position` are filled. It is a value: attention returns the next one.

    >>> layer = plait.nn.Attention(8, 2, is_causal=True)
    >>> cache = layer.cache(16, batch=3)
    >>> y, cache = layer(plait.ones((3, 5, 8)), cache=cache)
    >>> cache.keys.shape, cache.position.item()
    ((3, 2, 16, 4), 5)
    """

    def __init__(self, keys, values, position=0):
        self.keys, self.values, self.position = Buffer(keys), Buffer(values), Buffer(_core.astype(asarray(position), _core.i64))

    def extended(self, keys, values):
        """The cache with further keys and values; CheckError if they do not fit."""
        position, count = self.position, keys.shape[-2]
        _core.check(position + count <= self.keys.shape[-2], "nn.KeyValueCache is full: make a longer one, layer.cache(length)")

        def written(memory, new):
            return _core.slice_update(memory, _core.astype(new, memory.dtype), _core.reshape(position, (1,)), [memory.ndim - 2])

        return KeyValueCache(written(self.keys, keys), written(self.values, values), position + count)


class Attention(Module):
    """Multi-head attention over x of [..., length, embed_dim]: one product, qkv, computes queries, keys and values, or with
    joined=False three, q, k and v; `out` projects the concatenated heads. A causal one attends only to the same and earlier
    positions, one with a window only to that many nearest ones. num_kv_heads is the number of heads of keys and values, which
    groups of query heads share. `positions` is a RoPE or an ALiBi, `qk_norm` a class of layers for queries and keys, made with
    head_dim. With context= keys and values are those of a second input, of width context_dim. With cache= the call returns
    the output and the next cache.

    >>> layer = plait.nn.Attention(8, 2, is_causal=True)
    >>> layer(plait.ones((1, 5, 8))).shape
    (1, 5, 8)
    >>> layer = plait.nn.Attention(8, 4, True, num_kv_heads=2, window=3, positions=plait.nn.RoPE(2))
    >>> y, cache = layer(plait.ones((1, 5, 8)), cache=layer.cache(10, batch=1))
    >>> y, cache = layer(plait.ones((1, 1, 8)), cache=cache)
    >>> y.shape, cache.position.item()
    ((1, 1, 8), 6)
    """

    @on_device
    def __init__(self, embed_dim, num_heads, is_causal=False, bias=True, *, num_kv_heads=None, head_dim=None, joined=True, context_dim=None,
                 out_bias=None, window=None, positions=None, qk_norm=None, dropout=0.0, key=None, dtype=_core.f32):
        num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        whole(self, "num_heads", num_heads, 1), whole(self, "embed_dim", embed_dim)
        if head_dim is None and embed_dim % num_heads:
            raise errors.ValueError(f"nn.Attention: {num_heads} heads of a width of {embed_dim}: the width must be a multiple of the heads")
        if num_heads % whole(self, "num_kv_heads", num_kv_heads, 1):
            raise errors.ValueError(f"nn.Attention: {num_heads} heads share {num_kv_heads} heads of keys and values: they must be a multiple")
        head_dim = embed_dim // num_heads if head_dim is None else whole(self, "head_dim", head_dim)
        if window is not None:
            whole(self, "window", window, 1)
        probability(self, "dropout", dropout)
        _expect_positions(positions, num_heads, head_dim)
        if joined and context_dim not in (None, embed_dim):
            raise errors.ValueError.with_hint(f"nn.Attention: a context of {context_dim} beside inputs of {embed_dim} needs weights of its own",
                                              "joined=False")
        self._set_projections(embed_dim, num_heads * head_dim, num_kv_heads * head_dim, joined, context_dim, bias,
                              bias if out_bias is None else out_bias, drawn(key), dtype)
        if qk_norm is not None:
            function(self, "qk_norm", qk_norm, "a class of layers")
        self.q_norm, self.k_norm = (None, None) if qk_norm is None else (qk_norm(head_dim), qk_norm(head_dim))
        self.heads, self.kv_heads, self.head_dim, self.is_causal = num_heads, num_kv_heads, head_dim, is_causal
        self.window, self.positions, self.dropout = window, positions, dropout

    def _set_projections(self, embed_dim, width, kv_width, joined, context_dim, bias, out_bias, key, dtype):
        context_dim, keys = embed_dim if context_dim is None else context_dim, _core.random.split_key(key, 2)
        if joined:
            self.qkv = Linear(embed_dim, width + 2 * kv_width, bias, key=keys[0], dtype=dtype)
        else:
            three = _core.random.split_key(keys[0], 3)
            self.q = Linear(embed_dim, width, bias, key=three[0], dtype=dtype)
            self.k = Linear(context_dim, kv_width, bias, key=three[1], dtype=dtype)
            self.v = Linear(context_dim, kv_width, bias, key=three[2], dtype=dtype)
        self.out = Linear(width, embed_dim, out_bias, key=keys[1], dtype=dtype)

    def cache(self, length, batch=(), dtype=None):
        """An empty KeyValueCache for `length` positions.

        >>> plait.nn.Attention(8, 2).cache(16, batch=(3,)).values.shape
        (3, 2, 16, 4)
        """
        shape = (*((batch,) if not isinstance(batch, (tuple, list)) else batch), self.kv_heads, length, self.head_dim)
        dtype = self.out.weight.dtype if dtype is None else dtype
        return KeyValueCache(*(_core._made_beside(self.out.weight, _core.zeros(shape, dtype=dtype)) for _ in range(2)))

    def __call__(self, x, attn_mask=None, *, context=None, cache=None, positions=None, key=None):
        """The output for x [..., length, dim]. attn_mask is of booleans, true where attention is, or is added to the scores; context is what is
        attended to instead of x; cache has keys and values of earlier calls, and positions are those of x for position embeddings; key is for
        dropout."""
        x = asarray(x)
        if context is not None and (cache is not None or self.positions is not None):
            raise errors.ValueError("nn.Attention: a context has no cache, and no positions: they are those of x")
        q, k, v = self._projected(x, x if context is None else asarray(context))
        if self.q_norm is not None:
            q, k = self.q_norm(q), self.k_norm(k)
        offset = 0 if cache is None else cache.position
        if isinstance(self.positions, RoPE):
            positions = None if positions is None else asarray(positions)[..., None, :]
            q, k = (self.positions(each, positions, offset) for each in (q, k))
        if cache is not None:
            cache = cache.extended(k, v)
            k, v = cache.keys, cache.values
        masks = self._masks(attn_mask, q.shape[-2], k.shape[-2], offset, cache is not None, x.dtype)
        is_plain = self.is_causal and cache is None and self.window is None
        seen, _ = _attended(self, q, k, v, masks, is_plain, key)
        y = self.out(_from_heads(seen))
        return y if cache is None else (y, cache)

    def _projected(self, x, context):
        """Queries, keys and values, by heads."""
        width, kv_width = self.heads * self.head_dim, self.kv_heads * self.head_dim
        if "qkv" not in vars(self):
            parts = self.q(x), self.k(context), self.v(context)
        else:
            parts = _core.split(self.qkv(x), size=[width, kv_width, kv_width], axis=-1)
            if context is not x:
                parts = parts[0], *_core.split(self.qkv(context), size=[width, kv_width, kv_width], axis=-1)[1:]
        return [_by_heads(part, heads) for part, heads in zip(parts, (self.heads, self.kv_heads, self.kv_heads))]

    def _masks(self, attn_mask, queries, keys, offset, is_cached, dtype):
        masks = [] if attn_mask is None else [_expect_mask(self, "attn_mask", attn_mask)]
        if is_cached or self.window is not None:
            masks.append(self._seen(queries, keys, offset))
        if isinstance(self.positions, ALiBi):
            masks.append(self.positions(queries, keys, offset, dtype))
        return masks

    def _seen(self, queries, keys, offset):
        """Which keys queries see, by their places in the cache and by the window."""
        ahead = _core.iota(keys) - (offset + _core.iota(queries)[:, None])
        seen = ahead <= 0 if self.is_causal else _core.iota(keys) < offset + queries
        return seen if self.window is None else seen & (abs(ahead) < self.window)


def _expect_positions(positions, heads, head_dim):
    if positions is not None and not isinstance(positions, (RoPE, ALiBi)):
        raise errors.TypeError(f"nn.Attention: positions is a {type(positions).__name__}, expected a nn.RoPE or a nn.ALiBi")
    if isinstance(positions, RoPE) and positions.head_dim != head_dim:
        raise errors.ValueError(f"nn.Attention: a RoPE for heads of {positions.head_dim}, expected one for {head_dim}")
    if isinstance(positions, ALiBi) and positions.num_heads != heads:
        raise errors.ValueError(f"nn.Attention: an ALiBi for {positions.num_heads} heads, expected one for {heads}")


class Mlp(Module):
    """Two Linears, `up` to the hidden size and `down` back, with an activation between them.

    >>> plait.nn.Mlp(8, 32)(plait.ones((5, 8))).shape
    (5, 8)
    """

    @on_device
    def __init__(self, features, hidden, activation=_core.gelu, bias=True, *, key=None, dtype=_core.f32):
        keys = _core.random.split_key(drawn(key), 2)
        self.up = Linear(features, hidden, bias, key=keys[0], dtype=dtype)
        self.down = Linear(hidden, features, bias, key=keys[1], dtype=dtype)
        self.activation = activation

    def __call__(self, x):
        return self.down(self.activation(self.up(x)))
