"""Residual networks (He et al., 2015), with torchvision's names of tensors."""

import plait as pl
from plait import nn


class BasicBlock(pl.Module):
    """Two 3 x 3 convolutions beside a shortcut, which is projected where the shape changes."""

    def __init__(self, channels, width, stride, *, key):
        keys = pl.random.split_key(key, 3)
        self.conv1 = nn.Conv2d(channels, width, 3, stride, 1, bias=False, key=keys[0])
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False, key=keys[1])
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample = None
        if stride != 1 or channels != width:
            self.downsample = nn.Sequential(nn.Conv2d(channels, width, 1, stride, bias=False, key=keys[2]), nn.BatchNorm2d(width))

    def __call__(self, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        x = pl.relu(self.bn1(self.conv1(x)))
        return pl.relu(self.bn2(self.conv2(x)) + shortcut)


class ResNet(pl.Module):
    """ResNet-18 by default: maps images [batch, 3, height, width] to logits [batch, labels]."""

    def __init__(self, depths=(2, 2, 2, 2), labels=1000, *, key):
        keys = pl.random.split_key(key, 6)
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False, key=keys[0])
        self.bn1 = nn.BatchNorm2d(64)
        channels = 64
        for i, depth in enumerate(depths):
            width, blocks = 64 << i, []
            for j, one in enumerate(pl.random.split_key(keys[i + 1], depth)):
                blocks.append(BasicBlock(channels, width, 2 if i > 0 and j == 0 else 1, key=one))
                channels = width
            setattr(self, f"layer{i + 1}", nn.Sequential(*blocks))
        self.depth = len(depths)
        self.fc = nn.Linear(channels, labels, key=keys[5])

    def __call__(self, images):
        x = pl.max_pool2d(pl.relu(self.bn1(self.conv1(images))), 3, stride=2, padding=1)
        for i in range(self.depth):
            x = getattr(self, f"layer{i + 1}")(x)
        return self.fc(pl.mean(x, axis=(2, 3)))
