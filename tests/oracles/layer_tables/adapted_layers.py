"""Layers around others: weight and spectral norm, and low-rank adapters."""

import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm, weight_norm

from . import Case, numbers


def convolution():
    return nn.Conv2d(4, 6, 3, padding=1, groups=2)


class LoRALinear(nn.Module):
    def __init__(self, rank, alpha):
        super().__init__()
        self.base, self.scale = nn.Linear(3, 4).requires_grad_(False), alpha / rank
        self.lora_A, self.lora_B = nn.Parameter(torch.randn(rank, 3)), nn.Parameter(torch.randn(4, rank))

    def forward(self, x):
        return self.base(x) + self.scale * (x @ self.lora_A.T @ self.lora_B.T)


def lines():
    return [numbers(5, 3)]


def images():
    return [numbers(2, 4, 5, 6)]


CASES = {
    "weight_norm": Case(lambda: weight_norm(nn.Linear(3, 4)), lines),
    "weight_norm_dim": Case(lambda: weight_norm(convolution(), dim=1), images),
    "weight_norm_of_all": Case(lambda: weight_norm(convolution(), dim=None), images),
    "spectral_norm": Case(lambda: spectral_norm(nn.Linear(3, 4)), lines),
    "spectral_norm_eval": Case(lambda: spectral_norm(nn.Linear(3, 4)), lines, eval=True),
    "spectral_norm_options": Case(lambda: spectral_norm(convolution(), n_power_iterations=3, eps=1e-3, dim=1), images),
    "spectral_norm_transposed": Case(lambda: spectral_norm(nn.ConvTranspose1d(4, 6, 3, stride=2)), lambda: [numbers(2, 4, 7)]),
    "lora_linear": Case(lambda: LoRALinear(2, 3.0), lines),
}
