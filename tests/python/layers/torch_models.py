"""The models of examples/models in PyTorch, with the same names of tensors."""

import torch
from torch import nn
from torch.nn import functional


class Attention(nn.Module):
    def __init__(self, width, heads, is_causal):
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.heads, self.is_causal = heads, is_causal

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.reshape(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        seen = functional.scaled_dot_product_attention(q, k, v, is_causal=self.is_causal)
        return self.out(seen.transpose(1, 2).reshape(batch, length, width))


class Mlp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return self.down(functional.gelu(self.up(x)))


class Block(nn.Module):
    def __init__(self, width, heads, is_causal=False):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention, self.mlp = Attention(width, heads, is_causal), Mlp(width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class ViT(nn.Module):
    def __init__(self, image, patch, channels, width, depth, heads, labels):
        super().__init__()
        self.patches = nn.Conv2d(channels, width, patch, patch)
        self.class_token = nn.Parameter(torch.randn(1, 1, width))
        self.positions = nn.Parameter(torch.randn(1, (image // patch) ** 2 + 1, width))
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(depth)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, labels)

    def forward(self, images):
        words = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.class_token.expand(len(images), -1, -1), words], 1) + self.positions
        return self.head(self.norm(self.blocks(x))[:, 0])


class GPT(nn.Module):
    def __init__(self, vocabulary, context, width, depth, heads):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Parameter(torch.randn(context, width))
        self.blocks = nn.Sequential(*(Block(width, heads, True) for _ in range(depth)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)

    def forward(self, ids):
        return self.head(self.norm(self.blocks(self.tokens(ids) + self.positions[:ids.shape[1]])))


# The sizes in the tests, and a batch.
VIT = dict(image=12, patch=4, channels=3, width=16, depth=2, heads=4, labels=5)
GPT_SIZES = dict(vocabulary=17, context=9, width=12, depth=2, heads=3)
OPTIMIZERS = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.05),
    "momentum": lambda parameters: torch.optim.SGD(parameters, lr=0.02, momentum=0.9, weight_decay=0.01),
    "nesterov": lambda parameters: torch.optim.SGD(parameters, lr=0.02, momentum=0.9, nesterov=True),
    "adam": lambda parameters: torch.optim.Adam(parameters, lr=3e-3, betas=(0.8, 0.95), weight_decay=0.01),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=3e-3, weight_decay=0.1),
}


def case(name, dtype=torch.float64):
    """A model, its input and the target classes."""
    torch.manual_seed(7)
    if name == "vit":
        model, x, y = ViT(**VIT), torch.randn(4, 3, 12, 12, dtype=dtype), torch.randint(5, (4,))
    else:
        ids = torch.randint(17, (3, 9))
        model, x, y = GPT(**GPT_SIZES), ids[:, :-1], ids[:, 1:]
    model = model.to(dtype)
    for parameter in model.parameters():  # so that no weight is 0 or 1
        parameter.data += 0.1 * torch.randn_like(parameter)
    return model, x, y


def loss_of(model, x, y):
    logits = model(x)
    return functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))


def arrays(model):
    return {name: parameter.detach().numpy().copy() for name, parameter in model.named_parameters()}


def trained(model, x, y, optimizer, steps):
    """The weights and losses after that many steps."""
    optimizer, losses = OPTIMIZERS[optimizer](model.parameters()), []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model, x, y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return arrays(model), losses
