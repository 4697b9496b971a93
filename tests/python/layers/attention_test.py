"""Attention and transformers compared with PyTorch's and with loops in NumPy, and run in all ways."""

import functools
import itertools
import unittest

import numpy as np
import plait as pl
import torch
import torch.nn.functional as F

from layer_ways import close, compare, floats, for_symbolic_sizes, in_all_ways, of_database, refused

RANDOM = np.random.default_rng(4)
NAMES = ("MultiheadAttention", "TransformerEncoderLayer", "TransformerDecoderLayer", "TransformerEncoder", "Transformer")
ACTIVATIONS = {F.relu: pl.relu, F.gelu: pl.gelu}


def draw(*shape):
    return RANDOM.normal(size=shape)


def t(*shape):
    return torch.from_numpy(draw(*shape))


def p(*shape):
    return pl.asarray(draw(*shape))


def translated(value):
    """An argument of a constructor, for ours."""
    if isinstance(value, (torch.nn.TransformerEncoderLayer, torch.nn.TransformerDecoderLayer)):
        made = getattr(pl.nn, type(value).__name__)
        attention = value.self_attn
        return made(attention.embed_dim, attention.num_heads, value.linear1.out_features, value.dropout.p, ACTIVATIONS[value.activation],
                    batch_first=attention.batch_first, norm_first=value.norm_first, bias=value.linear1.bias is not None, dtype=pl.f64)
    if isinstance(value, torch.nn.LayerNorm):
        return pl.nn.LayerNorm(value.normalized_shape, dtype=pl.f64)
    return ACTIVATIONS.get(value, value) if callable(value) else value


def made(module, args, named):
    own = getattr(pl.nn, module.__name__)
    dtype = {} if "coder" in module.__name__ and not module.__name__.endswith("Layer") else {"dtype": pl.f64}
    return own(*map(translated, args), **{name: translated(each) for name, each in named.items()}, **dtype)


class AgainstPyTorch(unittest.TestCase):
    def test_all_of_the_database(self):
        seen = set()
        for module, args, named, given, training in of_database(NAMES):
            with self.subTest(module=module.__name__, args=args, named=named, training=training, given=given.kwargs):
                compare(made(module, args, named), module(*args, **named).train(training), given.args, given.kwargs)
                seen.add(module.__name__)
        self.assertEqual(seen, set(NAMES))

    def test_multi_head_attention(self):
        for first, others, added, zero, bias in itertools.product((True, False), ({}, {"kdim": 4, "vdim": 7}), *3 * [(True, False)]):
            named = dict(batch_first=first, add_bias_kv=added, add_zero_attn=zero, bias=bias) | others
            theirs, ours = torch.nn.MultiheadAttention(6, 2, **named), pl.nn.MultiheadAttention(6, 2, **named, dtype=pl.f64)
            shapes = [(3, 5, 6), (3, 4, others.get("kdim", 6)), (3, 4, others.get("vdim", 6))]
            given = [t(*shape) if first else t(shape[1], shape[0], shape[2]) for shape in shapes]
            hidden = torch.tensor([[False, False, True, True], [False] * 4, [False, True, False, False]])
            for call in ({}, {"need_weights": False}, {"average_attn_weights": False, "attn_mask": t(5, 4)},
                         {"key_padding_mask": hidden, "attn_mask": torch.rand(6, 5, 4) < 0.2, "need_weights": False},
                         {"key_padding_mask": hidden.double(), "attn_mask": t(6, 5, 4)}):
                with self.subTest(named=named, call=call):
                    if "attn_mask" in call and call["attn_mask"].dtype == torch.bool:
                        call["attn_mask"][..., 0] = False
                    compare(ours, theirs, given, call)

    def test_transformers(self):
        causal = torch.nn.Transformer.generate_square_subsequent_mask(5, dtype=torch.float64)
        np.testing.assert_array_equal(pl.nn.Transformer.generate_square_subsequent_mask(5, pl.f64), causal)
        for first, norm in itertools.product((True, False), (True, False)):
            with self.subTest(first=first, norm=norm):
                named = dict(dropout=0.0, batch_first=first, norm_first=norm)
                x, memory = t(3, 5, 6) if first else t(5, 3, 6), t(3, 4, 6) if first else t(4, 3, 6)
                layer = torch.nn.TransformerDecoderLayer(6, 2, 8, **named)
                stack = torch.nn.TransformerDecoder(layer, 2, torch.nn.LayerNorm(6))
                compare(made(type(stack), (layer, 2, torch.nn.LayerNorm(6)), {}), stack, (x, memory), {"tgt_mask": causal, "tgt_is_causal": True})
                whole = torch.nn.Transformer(6, 2, 2, 1, 8, activation="gelu", **named)
                ours = pl.nn.Transformer(6, 2, 2, 1, 8, activation="gelu", **named, dtype=pl.f64)
                compare(ours, whole, (memory, x), {"tgt_mask": causal, "memory_mask": t(5, 4)})

    def test_causal_without_a_mask(self):
        for named in {}, {"need_weights": False}:
            layer, x = pl.nn.MultiheadAttention(6, 2, batch_first=True, add_bias_kv=True, dtype=pl.f64), p(3, 5, 6)
            causal = pl.triu(pl.ones((5, 5), dtype=pl.bool), 1)
            close(layer(x, x, x, is_causal=True, **named)[0], layer(x, x, x, attn_mask=causal, **named)[0], "causal")

    def test_a_query_that_sees_nothing_has_zeros(self):
        layer, x = pl.nn.MultiheadAttention(6, 2, batch_first=True, dtype=pl.f64), p(2, 4, 6)
        hidden = pl.tensor([[True] * 4, [False, True, False, True]])
        for named in {"need_weights": False}, {"need_weights": True}:
            found, weights = layer(x, x, x, hidden, **named)
            close(found[0], np.broadcast_to(layer.out_proj.bias.numpy(), (4, 6)), "nothing", 1e-15)
            self.assertTrue(np.isfinite(found.numpy()).all())
        np.testing.assert_array_equal(weights[0], np.zeros((4, 4)))

    def test_initial_weights(self):
        torch.manual_seed(3)
        ours = pl.nn.MultiheadAttention(64, 4, add_bias_kv=True, key=pl.random.key(3))
        theirs = torch.nn.MultiheadAttention(64, 4, add_bias_kv=True)
        for path, leaf in pl.tree.leaves_with_paths(ours):
            wanted = dict(theirs.named_parameters())[path].detach().numpy()
            self.assertEqual((leaf.shape, leaf.numpy().dtype), (wanted.shape, wanted.dtype))
            size = np.abs(wanted).mean()
            self.assertAlmostEqual(np.abs(leaf.numpy()).mean(), size, delta=(0.4 if "bias_" in path else 0.05) * size, msg=path)
        model = pl.nn.Transformer(16, 2, 2, 0, 32)
        one, other = (layer.linear1.weight.numpy() for layer in model.encoder.layers)
        self.assertFalse(np.array_equal(one, other))
        self.assertLess(abs(np.abs(one).max() - (6 / 48) ** 0.5), 0.02)
        copied = pl.nn.TransformerEncoder(pl.nn.TransformerEncoderLayer(8, 2, 16), 2)
        one, other = (layer.linear1.weight for layer in copied.layers)
        np.testing.assert_array_equal(one, other)
        self.assertEqual(len({path for path, _ in pl.tree.leaves_with_paths(copied)}), 24)
        slopes = pl.grad(lambda model: pl.sum(model(pl.asarray(draw(5, 3, 8).astype(np.float32))) ** 2))(copied.eval())
        self.assertFalse(np.array_equal(*(layer.linear1.weight for layer in slopes.layers)))


def in_numpy(layer, x, *, context=None, keep=None, offset=0, rotated=lambda x, first: x, bias=None):
    """Attention by loops over heads, from the layer's weights."""
    context = x if context is None else context
    if "qkv" in vars(layer):
        width, kv = layer.heads * layer.head_dim, layer.kv_heads * layer.head_dim
        weight, shift = layer.qkv.weight.numpy(), layer.qkv.bias.numpy()
        weights, shifts = np.split(weight, [width, width + kv]), np.split(shift, [width, width + kv])
    else:
        weights, shifts = ([getattr(getattr(layer, name), part).numpy() for name in "qkv"] for part in ("weight", "bias"))
    q, k, v = (given @ weight.T + shift for given, weight, shift in zip((x, context, context), weights, shifts))
    seen = []
    for head in range(layer.heads):
        at = head // (layer.heads // layer.kv_heads)
        own, keys, values = (each[..., i * layer.head_dim:(i + 1) * layer.head_dim] for each, i in ((q, head), (k, at), (v, at)))
        scores = rotated(own, 0) @ np.swapaxes(rotated(keys, 0), -1, -2) / layer.head_dim**0.5
        scores = scores if bias is None else scores + bias[head]
        scores = scores if keep is None else np.where(keep, scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        seen.append(weights / weights.sum(-1, keepdims=True) @ values)
    return np.concatenate(seen, -1) @ layer.out.weight.numpy().T + layer.out.bias.numpy()


class Today(unittest.TestCase):
    def test_options(self):
        x, context, place = draw(3, 7, 8), draw(3, 5, 8), np.arange(7)
        causal = place[:, None] >= place
        near = causal & (place[:, None] - place < 3)
        named = functools.partial(pl.nn.Attention, 8, 4, dtype=pl.f64)
        alibi = -np.array([2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8])[:, None, None] * np.abs(place[:, None] - place)
        for layer, wanted in (
                (named(), {}), (named(True), {"keep": causal}), (named(joined=False), {}), (named(num_kv_heads=2), {}),
                (named(True, num_kv_heads=1, joined=False), {"keep": causal}), (named(head_dim=3, num_kv_heads=2), {}),
                (named(True, window=3), {"keep": near}), (named(window=3), {"keep": np.abs(place[:, None] - place) < 3}),
                (named(positions=pl.nn.ALiBi(4)), {"bias": alibi}), (named(True, positions=pl.nn.ALiBi(4)), {"bias": alibi, "keep": causal}),
                (named(positions=pl.nn.RoPE(2)), {"rotated": rotated})):
            with self.subTest(repr(layer)):
                close(layer(pl.asarray(x)), in_numpy(layer, x, **wanted), "attention", 1e-12)
        for layer in named(), named(joined=False), named(num_kv_heads=2):
            close(layer(pl.asarray(x), context=pl.asarray(context)), in_numpy(layer, x, context=context), "cross attention", 1e-12)
        layer, wide = named(joined=False, context_dim=6), draw(3, 5, 6)
        close(layer(pl.asarray(x), context=pl.asarray(wide)), in_numpy(layer, x, context=wide), "cross attention", 1e-12)

    def test_norms_of_queries_and_keys(self):
        x = p(3, 7, 8)
        layer = pl.nn.Attention(8, 2, qk_norm=functools.partial(pl.nn.LayerNorm, dtype=pl.f64), dtype=pl.f64)
        q, k, v = (pl.swapaxes(pl.unflatten(part, -1, (2, 4)), -3, -2) for part in pl.split(layer.qkv(x), 3, axis=-1))
        seen = pl.scaled_dot_product_attention(pl.layer_norm(q, 4), pl.layer_norm(k, 4), v)
        close(layer(x), layer.out(pl.flatten(pl.swapaxes(seen, -3, -2), -2, -1)), "norms", 1e-12)
        self.assertIn("q_norm.weight", [path for path, _ in pl.tree.leaves_with_paths(layer)])

    def test_given_positions(self):
        x, layer = p(3, 6, 8), pl.nn.Attention(8, 2, positions=pl.nn.RoPE(4), dtype=pl.f64)
        close(layer(x, positions=pl.arange(6) + 5), layer(x), "rotations are relative", 1e-12)
        order = np.array([[0, 1, 2, 3, 4, 5], [0, 1, 2, 0, 1, 2], [5, 4, 3, 2, 1, 0]])
        mixed = layer(x, positions=pl.asarray(order))
        close(mixed[0], layer(x)[0], "first", 1e-12)
        close(mixed[2], layer(x[:, ::-1])[2, ::-1], "backwards", 1e-12)
        self.assertFalse(np.allclose(mixed[1], layer(x)[1]))

    def test_dropout(self):
        x, key = pl.asarray(draw(2, 64, 8).astype(np.float32)), pl.random.key(3)
        layer = pl.nn.Attention(8, 2, dropout=0.5, num_kv_heads=1)
        np.testing.assert_array_equal(layer(x, key=key), layer(x, key=key))
        self.assertFalse(np.array_equal(layer(x), layer(x)))
        np.testing.assert_allclose(layer.eval()(x).numpy(), pl.mean(pl.stack([layer(x, key=each) for each in pl.random.split_key(key, 400)]), 0),
                                   atol=0.05)
        jitted = pl.jit(lambda layer, x: layer(x))
        self.assertFalse(np.array_equal(jitted(layer, x), jitted(layer, x)))
        theirs = pl.nn.MultiheadAttention(8, 2, 0.5, batch_first=True)
        _, weights = theirs(x, x, x, average_attn_weights=False, dropout_key=key)
        share = np.mean(weights.numpy() == 0)
        self.assertTrue(0.45 < share < 0.55, share)
        block = pl.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.5)
        np.testing.assert_array_equal(block(x, key=key), block(x, key=key))
        self.assertFalse(np.array_equal(block(x), block(x)))
        np.testing.assert_array_equal(block.eval()(x), block.eval()(x))
        whole = pl.nn.Transformer(8, 2, 1, 1, 16)
        np.testing.assert_array_equal(whole(x, x, key=key), whole(x, x, key=key))
        self.assertFalse(np.array_equal(whole(x, x), whole(x, x)))


    def test_all_places_of_dropout_in_a_block(self):
        x = p(2, 300, 8)
        for layers in pl.nn.TransformerEncoderLayer, pl.nn.TransformerDecoderLayer:
            layer = layers(8, 2, 8, dropout=0.5, norm_first=True, batch_first=True, dtype=pl.f64)
            given = (x,) if layers is pl.nn.TransformerEncoderLayer else (x, x)
            attentions = [each for each in (layer.self_attn, vars(layer).get("multihead_attn")) if each is not None]
            layer.linear1.weight, layer.linear1.bias = pl.zeros((8, 8), dtype=pl.f64), pl.ones(8, dtype=pl.f64)
            layer.linear2.weight, layer.linear2.bias = pl.eye(8, dtype=pl.f64), pl.zeros(8, dtype=pl.f64)
            for each in attentions:
                each.out_proj.weight = pl.zeros((8, 8), dtype=pl.f64)
            added = (layer(*given) - x).numpy()  # 1 / 0.25 where neither the inner nor the outer dropout is
            self.assertAlmostEqual(np.mean(np.abs(added) > 1e-9), 0.25, delta=0.04)
            np.testing.assert_allclose(added[np.abs(added) > 1e-9], 4, atol=1e-9)
            layer.linear2.weight = pl.zeros((8, 8), dtype=pl.f64)
            for each in attentions:
                each.out_proj.bias = pl.ones(8, dtype=pl.f64)
                added = (layer(*given) - x).numpy()
                self.assertAlmostEqual(np.mean(np.abs(added) > 1e-9), 0.5, delta=0.04)
                each.out_proj.bias = pl.zeros(8, dtype=pl.f64)

    def test_dropout_of_almost_nothing_changes_nothing(self):
        """The attention weights are computed for dropout, by the same masks and groups."""
        x, mask = p(3, 7, 8), p(7, 7)
        for named in ({}, {"is_causal": True}, {"num_kv_heads": 2, "window": 3}, {"positions": pl.nn.ALiBi(4), "is_causal": True}):
            key = pl.random.key(3)
            layer = pl.nn.Attention(8, 4, **named, dropout=1e-13, key=key, dtype=pl.f64)
            for given in None, mask, mask > -1:
                close(layer(x, given), layer.eval()(x, given), "dropout", 1e-11)
            found, cache = layer(x, cache=layer.cache(9, batch=3))
            close(found, layer.eval()(x, cache=layer.cache(9, batch=3))[0], "dropout with a cache", 1e-11)


def rotated(x, first):
    """Rotary embedding of pairs (i, i + width / 2) by complex numbers."""
    half = x.shape[-1] // 2
    angle = (first + np.arange(x.shape[-2]))[:, None] / 10000 ** (np.arange(half) / half)
    turned = (x[..., :half] + 1j * x[..., half:]) * np.exp(1j * angle)
    return np.concatenate([turned.real, turned.imag], -1)


class Caches(unittest.TestCase):
    VARIANTS = ({"is_causal": True}, {"is_causal": True, "num_kv_heads": 2, "joined": False}, {"is_causal": True, "window": 3},
                {"is_causal": True, "positions": pl.nn.RoPE(2)}, {"is_causal": True, "positions": pl.nn.ALiBi(4)},
                {"is_causal": True, "positions": pl.nn.RoPE(2, is_interleaved=True), "window": 2, "num_kv_heads": 1})

    def test_in_parts_it_is_the_whole(self):
        x = p(3, 7, 8)
        for named in self.VARIANTS:
            with self.subTest(**named):
                layer = pl.nn.Attention(8, 4, **named, dtype=pl.f64)
                cache, found = layer.cache(9, batch=3), []
                for first, last in ((0, 3), (3, 4), (4, 7)):
                    y, cache = layer(x[:, first:last], cache=cache)
                    found.append(y)
                self.assertEqual(cache.position.item(), 7)
                close(pl.concat(found, 1), layer(x), "a few steps at a time", 1e-12)

    def test_in_scan_and_jit(self):
        x = p(3, 7, 8)
        for named in self.VARIANTS[:1] + self.VARIANTS[3:]:
            layer = pl.nn.Attention(8, 4, **named, dtype=pl.f64)

            def run(layer, x):
                def step(cache, x):
                    y, cache = layer(x[:, None], cache=cache)
                    return cache, y[:, 0]

                return pl.scan(step, layer.cache(8, batch=(3,)), pl.swapaxes(x, 0, 1))[1]

            for way in run, pl.jit(run):
                close(way(layer, x), pl.swapaxes(layer(x), 0, 1), "scan", 1e-12)
            slopes = pl.grad(lambda layer: pl.sum(run(layer, x) ** 2))(layer), pl.grad(lambda layer: pl.sum(layer(x) ** 2))(layer)
            for one, other in zip(*map(floats, slopes)):
                close(one, other, "gradient", 1e-11)
        step = pl.jit(lambda layer, x, cache: layer(x, cache=cache))
        cache = layer.cache(8, batch=3)
        for place in range(7):
            y, cache = step(layer, x[:, place:place + 1], cache)
        close(y[:, 0], layer(x)[:, -1], "steps", 1e-12)
        self.assertEqual(pl.stats(step).traces, 1)

    def test_a_full_one_is_refused(self):
        layer = pl.nn.Attention(8, 4, True)
        _, cache = layer(pl.ones((2, 8)), cache=layer.cache(3))
        for way in (lambda f: f), pl.jit:
            with self.assertRaisesRegex(pl.CheckError, "KeyValueCache is full"):
                way(lambda layer, cache: layer(pl.ones((2, 8)), cache=cache)[0])(layer, cache)

    def test_a_cache_is_not_trained(self):
        cache = pl.nn.Attention(8, 4, True).cache(3)
        self.assertEqual([leaf for leaf in pl.tree.leaves(pl.grad(lambda cache: pl.sum(cache.keys))(cache)) if leaf is not None], [])


class InAllWays(unittest.TestCase):
    def test_layers(self):
        x, y = p(2, 3, 4), p(2, 5, 4)
        nn = pl.nn
        for make, call, given in (
                (lambda key: nn.MultiheadAttention(4, 2, batch_first=True, add_bias_kv=True, key=key, dtype=pl.f64),
                 lambda layer, x, y: layer(x, y, y), (x, y)),
                (lambda key: nn.MultiheadAttention(4, 2, kdim=4, vdim=4, add_zero_attn=True, key=key, dtype=pl.f64),
                 lambda layer, x: layer(x, x, x, need_weights=False)[0], (x,)),
                (lambda key: nn.Attention(4, 2, True, num_kv_heads=1, window=2, positions=nn.RoPE(2), key=key, dtype=pl.f64),
                 lambda layer, x: layer(x), (x,)),
                (lambda key: nn.Attention(4, 2, joined=False, positions=nn.ALiBi(2), key=key, dtype=pl.f64), lambda layer, x: layer(x), (x,)),
                (lambda key: nn.Attention(4, 2, True, key=key, dtype=pl.f64),
                 lambda layer, x: layer(x, cache=layer.cache(6, batch=2))[0], (x,)),
                (lambda key: nn.TransformerEncoderLayer(4, 2, 6, activation="gelu", batch_first=True, key=key, dtype=pl.f64).eval(),
                 lambda layer, x: layer(x), (x,)),
                (lambda key: nn.TransformerDecoderLayer(4, 2, 6, activation="gelu", norm_first=True, key=key, dtype=pl.f64).eval(),
                 lambda layer, x, y: layer(x, y), (x, p(4, 3, 4))),
                (lambda key: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 6, 0.0, "gelu", key=key, dtype=pl.f64), 2),
                 lambda layer, x: layer(x, is_causal=True), (x,)),
                (lambda key: nn.Transformer(4, 2, 1, 1, 6, activation="gelu", batch_first=True, key=key, dtype=pl.f64).eval(),
                 lambda layer, x, y: layer(x, y, tgt_is_causal=True), (x, y))):
            with self.subTest(repr(make(None))):
                in_all_ways(make, call, given, accuracy=1e-10)

    def test_symbolic_batch_and_length(self):
        sizes = ((2, 3), (4, 5), (3, 6), (5, 2))
        cases = [(p(batch, length, 4),) for batch, length in sizes]
        for layer, call in (
                (pl.nn.MultiheadAttention(4, 2, batch_first=True, add_bias_kv=True, dtype=pl.f64), lambda layer, x: layer(x, x, x, is_causal=True)),
                (pl.nn.Attention(4, 2, True, num_kv_heads=1, window=2, positions=pl.nn.RoPE(2), dtype=pl.f64), lambda layer, x: layer(x)),
                (pl.nn.Attention(4, 2, positions=pl.nn.ALiBi(2), dtype=pl.f64), lambda layer, x: layer(x)),
                (pl.nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0, dtype=pl.f64), lambda layer, x: layer(x)),
                (pl.nn.TransformerDecoderLayer(4, 2, 6, dropout=0.0, dtype=pl.f64), lambda layer, x: layer(x, x, tgt_is_causal=True)),
                (pl.nn.Transformer(4, 2, 1, 1, 6, 0.0, dtype=pl.f64), lambda layer, x: layer(x, x))):
            with self.subTest(repr(layer)):
                for_symbolic_sizes(call, layer, cases)


class Refusals(unittest.TestCase):
    def test_what_is_refused(self):
        nn, x = pl.nn, pl.ones((2, 3, 4))
        refused(self, (
            (lambda: nn.MultiheadAttention(6, 4), pl.ValueError, "nn.MultiheadAttention: 4 heads of an embed_dim of 6"),
            (lambda: nn.MultiheadAttention(6, 0), pl.ValueError, "nn.MultiheadAttention: num_heads is 0"),
            (lambda: nn.MultiheadAttention(6, 2, dropout=-0.1), pl.ValueError, "nn.MultiheadAttention: dropout is -0.1"),
            (lambda: nn.MultiheadAttention(6, 2, kdim=0), pl.ValueError, "kdim is 0"),
            (lambda: nn.MultiheadAttention(4, 2)(x, x, x[0]), pl.ShapeError, "have 3, 3 and 2 dimensions"),
            (lambda: nn.MultiheadAttention(4, 2)(x, x, x, attn_mask=pl.ones((1, 1, 3, 3))), pl.ShapeError, "attn_mask has 4 dimensions"),
            (lambda: nn.MultiheadAttention(4, 2)(x, x, x, attn_mask=pl.ones((2, 2), dtype=pl.i64)), pl.TypeError,
             r"nn.MultiheadAttention: attn_mask is i64\[2, 2\], expected bool[\s\S]*attn_mask != 0"),
            (lambda: nn.MultiheadAttention(4, 2)(x, x, x, pl.ones((3, 2), dtype=pl.i64)), pl.TypeError, r"key_padding_mask is i64\[3, 2\]"),
            (lambda: nn.Attention(4, 2)(x, pl.ones((3, 3), dtype=pl.i64)), pl.TypeError, r"nn.Attention: attn_mask is i64\[3, 3\]"),
            (lambda: nn.TransformerEncoderLayer(4, 2, 4)(x, src_key_padding_mask=pl.ones((3, 2), dtype=pl.i64)), pl.TypeError, "key_padding_mask is i64"),
            *((lambda shape=shape: nn.MultiheadAttention(4, 2, batch_first=True)(x, x, x, pl.zeros(shape, dtype=pl.bool)), pl.ShapeError,
               r"nn.MultiheadAttention: key_padding_mask is \[.*\], expected \[2, 3\]: \[batch, keys\]") for shape in ((1, 3), (3,), (2, 1), (2, 4))),
            (lambda: nn.MultiheadAttention(4, 2)(x[0], x[0], x[0], pl.zeros((1, 3), dtype=pl.bool)), pl.ShapeError, r"expected \[3\]: \[keys\]"),
            (lambda: nn.Attention(6, 4), pl.ValueError, "nn.Attention: 4 heads of a width of 6"),
            (lambda: nn.Attention(8, 4, num_kv_heads=3), pl.ValueError, "4 heads share 3 heads"),
            (lambda: nn.Attention(8, 4, window=0), pl.ValueError, "window is 0, expected 1 or more"),
            (lambda: nn.Attention(8, 4, dropout=2), pl.ValueError, "nn.Attention: dropout is 2"),
            (lambda: nn.Attention(8, 4, positions=nn.RoPE(4)), pl.ValueError, "a RoPE for heads of 4, expected one for 2"),
            (lambda: nn.Attention(8, 4, positions=nn.ALiBi(2)), pl.ValueError, "an ALiBi for 2 heads, expected one for 4"),
            (lambda: nn.Attention(8, 4, positions="rope"), pl.TypeError, "positions is a str"),
            (lambda: nn.Attention(8, 4, context_dim=6), pl.ValueError, r"a context of 6 beside inputs of 8[\s\S]*joined=False"),
            (lambda: nn.Attention(4, 2, positions=nn.RoPE(2))(x, context=x), pl.ValueError, "a context has no cache, and no positions"),
            (lambda: nn.TransformerEncoderLayer(8, 3), pl.ValueError, "3 heads of an embed_dim of 8"),
            (lambda: nn.TransformerEncoderLayer(8, 2, activation="swish"), pl.ValueError, "nn.TransformerEncoderLayer: activation is 'swish'"),
            (lambda: nn.TransformerDecoderLayer(8, 2, -1), pl.ValueError, "nn.TransformerDecoderLayer: dim_feedforward is -1"),
            (lambda: nn.TransformerDecoderLayer(8, 2, 4, dropout=7), pl.ValueError, "nn.TransformerDecoderLayer: dropout is 7"),
            (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 4), -1), pl.ValueError, "nn.TransformerEncoder: num_layers is -1"),
            (lambda: nn.Transformer(8, 2, -1), pl.ValueError, "nn.Transformer: num_encoder_layers is -1")))


if __name__ == "__main__":
    unittest.main()
