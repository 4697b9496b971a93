"""A vision transformer and a language model, as in vit.h and gpt.h with the same names of tensors; and a training step."""

import plait as pl
from plait import nn


class Block(pl.Module):
    def __init__(self, width, heads, is_causal=False, *, key):
        keys = pl.random.split_key(key, 2)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.Attention(width, heads, is_causal, key=keys[0])
        self.mlp = nn.Mlp(width, 4 * width, key=keys[1])

    def __call__(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


def blocks_of(key, depth, width, heads, is_causal=False):
    keys = pl.random.split_key(key, depth)
    return [Block(width, heads, is_causal, key=keys[i]) for i in range(depth)]


class ViT(pl.Module):
    """A vision transformer (Dosovitskiy et al., 2020): maps [batch, channels, image, image] to logits [batch, labels]."""

    def __init__(self, image=224, patch=16, channels=3, width=768, depth=12, heads=12, labels=1000, *, key):
        keys = pl.random.split_key(key, 4)
        count = (image // patch) ** 2
        self.patches = nn.Conv2d(channels, width, patch, stride=patch, key=keys[0])
        self.class_token = pl.zeros((1, 1, width))  # summarises the image
        self.positions = pl.random.normal(keys[1], (1, count + 1, width), 0.0, 0.02)
        self.blocks = blocks_of(keys[2], depth, width, heads)
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, labels, key=keys[3])

    def __call__(self, images):
        patches = self.patches(images)  # [batch, width, rows, columns]
        batch, width, rows, columns = patches.shape
        words = pl.matrix_transpose(pl.reshape(patches, (batch, width, rows * columns)))
        x = pl.concat([pl.broadcast_to(self.class_token, (batch, 1, width)), words], 1) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


class GPT(pl.Module):
    """A language model (Radford et al., 2018): maps ids [batch, length] to logits [batch, length, vocabulary] of the next token."""

    def __init__(self, vocabulary=256, context=256, width=384, depth=6, heads=6, *, key):
        keys = pl.random.split_key(key, 4)
        self.tokens = nn.Embedding(vocabulary, width, key=keys[0])
        self.positions = pl.random.normal(keys[1], (context, width), 0.0, 0.02)
        self.blocks = blocks_of(keys[2], depth, width, heads, is_causal=True)
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, key=keys[3])

    def __call__(self, ids):
        x = self.tokens(ids) + self.positions[:ids.shape[-1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def loss_of(model, x, y):
    return nn.cross_entropy(model(x), y, axis=-1)


def step(model, optimizer, x, y):
    """Returns the next model, the next optimizer, and the loss before the step."""
    loss, gradient = pl.value_and_grad(loss_of)(model, x, y)
    return *optimizer.update(model, gradient), loss
