"""Transformer blocks, GPT and ViT of examples/models in PyTorch and in JAX, with the same names of tensors. An encoder is a GPT that is not causal.

    PYTHONPATH=build/bench/python .venv/bin/python bench/models/generation.py encoder --rounds 1
"""

import functools


@functools.cache
def torch_block():
    """PyTorch's class of blocks. Attention has memory, a pair of keys and values of all positions, in which those of the places of x are replaced; it
    is read up to `end`, or wholly and with a mask, so that shapes stay the same."""
    import torch
    from torch import nn
    from torch.nn import functional

    class Attention(nn.Module):
        def __init__(self, width, heads, is_causal):
            super().__init__()
            self.qkv, self.out, self.heads, self.is_causal = nn.Linear(width, 3 * width), nn.Linear(width, width), heads, is_causal

        def forward(self, x, memory=None, places=None, end=None):
            batch, count, width = x.shape
            q, k, v = self.qkv(x).reshape(batch, count, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
            mask = None
            if memory is not None:
                k, v = memory[0].index_copy_(2, places, k), memory[1].index_copy_(2, places, v)
                k, v = (k, v) if end is None else (k[:, :, :end], v[:, :, :end])
                mask = torch.arange(k.shape[2]) <= places[:, None] if end is None else None
            is_causal = self.is_causal and mask is None and count > 1
            attended = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=is_causal)
            return self.out(attended.transpose(1, 2).reshape(batch, count, width))

    class Mlp(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            return self.down(functional.gelu(self.up(x)))

    class Block(nn.Module):
        def __init__(self, width, heads, is_causal):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attention, self.mlp = Attention(width, heads, is_causal), Mlp(width)

        def forward(self, x, *memory):
            x = x + self.attention(self.norm1(x), *memory)
            return x + self.mlp(self.norm2(x))

    return Block


def torch_gpt(context, width=384, depth=6, heads=6, is_causal=True):
    import torch
    from torch import nn

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.positions = nn.Embedding(256, width), nn.Parameter(torch.randn(context, width) * 0.02)
            self.blocks = nn.ModuleList([torch_block()(width, heads, is_causal) for _ in range(depth)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 256)

        def forward(self, ids):
            x = self.tokens(ids) + self.positions[:ids.shape[1]]
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

        def decode(self, ids, memories, places, end=None):
            """The logits after the last of the ids, which are at these places."""
            x = self.tokens(ids) + self.positions[places]
            for block, memory in zip(self.blocks, memories):
                x = block(x, memory, places, end)
            return self.head(self.norm(x[:, -1]))

    return GPT()


def torch_vit():
    """ViT-base, of images of 224 x 224."""
    import torch
    from torch import nn

    class ViT(nn.Module):
        def __init__(self):
            super().__init__()
            self.patches = nn.Conv2d(3, 768, 16, 16)
            self.class_token, self.positions = nn.Parameter(torch.randn(1, 1, 768) * 0.02), nn.Parameter(torch.randn(1, 197, 768) * 0.02)
            self.blocks = nn.ModuleList([torch_block()(768, 12, False) for _ in range(12)])
            self.norm, self.head = nn.LayerNorm(768), nn.Linear(768, 1000)

        def forward(self, images):
            x = self.patches(images).flatten(2).transpose(1, 2)
            x = torch.cat([self.class_token.expand(len(x), -1, -1), x], 1) + self.positions
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x)[:, 0])

    return ViT()


# ---- JAX: functions of dicts of weights by name, as steps.for_jax returns them.


def dense(w, name, x):
    return x @ w[f"{name}.weight"] + w[f"{name}.bias"]


def norm(w, name, x):
    import jax
    import jax.numpy as jnp

    wide = x.astype(jnp.float32)
    mean = wide.mean(-1, keepdims=True)
    wide = (wide - mean) * jax.lax.rsqrt(jnp.square(wide - mean).mean(-1, keepdims=True) + 1e-5)
    return wide.astype(x.dtype) * w[f"{name}.weight"] + w[f"{name}.bias"]


def jax_block(w, name, x, heads, is_causal=False, memory=None, place=0):
    """(the output, keys and values). With memory [batch, length, heads, width] for each, they replace those at the place of x and later."""
    import jax
    import jax.numpy as jnp

    batch, count, width = x.shape
    q, k, v = jnp.moveaxis(dense(w, f"{name}.attention.qkv", norm(w, f"{name}.norm1", x)).reshape(batch, count, 3, heads, -1), 2, 0)
    mask = None
    if memory is not None:
        k, v = (jax.lax.dynamic_update_slice_in_dim(old, new, place, 1) for old, new in zip(memory, (k, v)))
    if is_causal:
        mask = jnp.arange(k.shape[1]) <= (place + jnp.arange(count))[:, None]
    attended = jax.nn.dot_product_attention(q, k, v, mask=None if mask is None else mask[None, None])
    x = x + dense(w, f"{name}.attention.out", attended.reshape(batch, count, width))
    hidden = jax.nn.gelu(dense(w, f"{name}.mlp.up", norm(w, f"{name}.norm2", x)), approximate=False)
    return x + dense(w, f"{name}.mlp.down", hidden), (k, v)


def jax_gpt(w, ids, depth=6, heads=6, is_causal=True, memories=None, place=0):
    """(logits, keys and values)."""
    import jax

    x, after = w["tokens.weight"][ids] + jax.lax.dynamic_slice_in_dim(w["positions"], place, ids.shape[1]), []
    for i in range(depth):
        x, memory = jax_block(w, f"blocks.{i}", x, heads, is_causal, memories and memories[i], place)
        after.append(memory)
    x = x if memories is None else x[:, -1]
    return dense(w, "head", norm(w, "norm", x)), after


def jax_vit(w, images):
    import jax.numpy as jnp

    batch = len(images)
    patches = images.reshape(batch, 3, 14, 16, 14, 16).transpose(0, 2, 4, 1, 3, 5).reshape(batch, 196, 768)
    x = dense(w, "patches", patches)
    x = jnp.concatenate([jnp.broadcast_to(w["class_token"], (batch, 1, 768)), x], 1) + w["positions"]
    for i in range(12):
        x, _ = jax_block(w, f"blocks.{i}", x, 12)
    return dense(w, "head", norm(w, "norm", x)[:, 0])
