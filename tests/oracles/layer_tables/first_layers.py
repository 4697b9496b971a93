"""Layers with weights, and norms."""

import torch
from torch import nn

from . import Case, numbers

IDS = torch.tensor([[0, 2, 4], [1, 1, 3]])

CASES = {
    "linear": Case(lambda: nn.Linear(3, 4), lambda: [numbers(2, 3)]),
    "linear_without_bias": Case(lambda: nn.Linear(3, 4, bias=False), lambda: [numbers(5, 2, 3)]),
    "embedding": Case(lambda: nn.Embedding(5, 3), lambda: [IDS]),
    "layer_norm": Case(lambda: nn.LayerNorm((3, 4)), lambda: [numbers(2, 3, 4)]),
    "group_norm": Case(lambda: nn.GroupNorm(2, 4), lambda: [numbers(3, 4, 5)]),
    "rms_norm": Case(lambda: nn.RMSNorm(4), lambda: [numbers(3, 4)]),
    "layer_norm_eps": Case(lambda: nn.LayerNorm(4, eps=0.1, bias=False), lambda: [numbers(3, 4)]),
    "layer_norm_without_weight": Case(lambda: nn.LayerNorm(4, elementwise_affine=False), lambda: [numbers(3, 4)]),
    "group_norm_eps": Case(lambda: nn.GroupNorm(2, 4, eps=0.1), lambda: [numbers(3, 4, 5)]),
    "group_norm_without_weight": Case(lambda: nn.GroupNorm(2, 4, affine=False), lambda: [numbers(3, 4, 5)]),
    "rms_norm_eps": Case(lambda: nn.RMSNorm(4, eps=0.1), lambda: [numbers(3, 4)]),
    "rms_norm_without_weight": Case(lambda: nn.RMSNorm((3, 4), elementwise_affine=False), lambda: [numbers(2, 3, 4)]),
    "conv1d": Case(lambda: nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2), lambda: [numbers(2, 4, 9)]),
    "conv2d_reflect": Case(lambda: nn.Conv2d(3, 4, 3, padding=(2, 1), padding_mode="reflect"), lambda: [numbers(2, 3, 5, 6)]),
    "conv3d": Case(lambda: nn.Conv3d(2, 3, (2, 3, 1), dilation=(1, 2, 1), bias=False), lambda: [numbers(1, 2, 4, 6, 3)]),
    "conv_transpose2d": Case(lambda: nn.ConvTranspose2d(4, 6, (3, 2), stride=2, padding=1, output_padding=(1, 0), groups=2),
                             lambda: [numbers(2, 4, 5, 4)]),
    "conv_transpose1d_dilated": Case(lambda: nn.ConvTranspose1d(4, 3, 3, dilation=2, bias=False), lambda: [numbers(2, 4, 5)]),
    "sequential": Case(lambda: nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2)), lambda: [numbers(4, 3)]),
    "max_pool2d": Case(lambda: nn.MaxPool2d(2), lambda: [numbers(2, 3, 5, 6)]),
    "avg_pool1d": Case(lambda: nn.AvgPool1d(3, stride=2, padding=1), lambda: [numbers(2, 3, 8)]),
}
