"""Models of images, beside PyTorch's and JAX's: training steps of ResNet-18, ResNet-50 (SGD with momentum, BatchNorm in training mode) and a small
U-Net, and ViT-base's logits.

    PYTHONPATH=build/bench/python .venv/bin/python bench/models/vision.py resnet18-224 unet vit-1-bf16 --rounds 1

The U-Net has three levels of 32, 64 and 128 channels, with two convolutions, GroupNorm and SiLU at each, and goes up by transposed convolutions: 8
images of 64 x 64. In bf16 ViT's weights are bf16, too; steps have products and convolutions in bf16 by autocast, without JAX, which has none. The
ResNets' limit is wide, since BatchNorm of few samples amplifies rounding: compiled PyTorch is as far from eager PyTorch as JAX and Plait are; in bf16
all are so far apart (0.4 to 1.3) that only the order of magnitude is compared. A row has the median of a step, its ratio to the fastest peer's, the
first call, and the peak memory of the process. THREADS=1 in the environment selects one thread.
"""

import functools

import blocks
import sides
import steps

DEPTHS = {18: (2, 2, 2, 2), 50: (3, 4, 6, 3)}
LEVELS = (32, 64, 128)
GROUPS = 8


def convolution(w, name, x, stride=1, padding=0):
    """JAX's, of channels first."""
    import jax

    y = jax.lax.conv_general_dilated(x, w[f"{name}.weight"], (stride, stride), [(padding, padding)] * 2, dimension_numbers=("NCHW", "OIHW", "NCHW"))
    return y + w[f"{name}.bias"][:, None, None] if f"{name}.bias" in w else y


def jax_cross_entropy(logits, y):
    """The mean over the last axis' classes."""
    import jax
    import jax.numpy as jnp

    return -jnp.take_along_axis(jax.nn.log_softmax(logits), y[..., None], -1).mean()


# ---- ResNets, with torchvision's names of tensors.


def plait_resnet(depth):
    import plait as pl
    from models.resnet import ResNet
    from plait import nn

    class Bottleneck(pl.Module):
        """Convolutions of 1 x 1, 3 x 3 and 1 x 1 beside a shortcut."""

        def __init__(self, channels, width, stride):
            self.conv1, self.bn1 = nn.Conv2d(channels, width, 1, bias=False), nn.BatchNorm2d(width)
            self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
            self.conv3, self.bn3 = nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width)
            self.downsample = None
            if stride != 1 or channels != 4 * width:
                self.downsample = nn.Sequential(nn.Conv2d(channels, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width))

        def __call__(self, x):
            shortcut = x if self.downsample is None else self.downsample(x)
            x = pl.relu(self.bn1(self.conv1(x)))
            x = pl.relu(self.bn2(self.conv2(x)))
            return pl.relu(self.bn3(self.conv3(x)) + shortcut)

    model, channels = ResNet(DEPTHS[18], key=pl.random.key(0)), 64
    if depth == 18:
        return model
    for i, count in enumerate(DEPTHS[depth]):
        width, layers = 64 << i, []
        for j in range(count):
            layers.append(Bottleneck(channels, width, 2 if i > 0 and j == 0 else 1))
            channels = 4 * width
        setattr(model, f"layer{i + 1}", nn.Sequential(*layers))
    model.fc = nn.Linear(channels, 1000)
    return model


def jax_resnet(depth, w, statistics, x, y):
    import jax
    import jax.numpy as jnp

    after = {}

    def normalised(name, x):
        mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
        count = x.size // x.shape[1]
        for kind, value in (("mean", mean), ("var", variance * count / (count - 1))):
            after[f"{name}.running_{kind}"] = 0.9 * statistics[f"{name}.running_{kind}"] + 0.1 * jax.lax.stop_gradient(value)
        scale = w[f"{name}.weight"] * jax.lax.rsqrt(variance + 1e-5)
        return (x - mean[:, None, None]) * scale[:, None, None] + w[f"{name}.bias"][:, None, None]

    def block(name, x, stride):
        shortcut = x
        if f"{name}.downsample.0.weight" in w:
            shortcut = normalised(f"{name}.downsample.1", convolution(w, f"{name}.downsample.0", x, stride))
        if depth == 18:
            x = jax.nn.relu(normalised(f"{name}.bn1", convolution(w, f"{name}.conv1", x, stride, 1)))
            return jax.nn.relu(normalised(f"{name}.bn2", convolution(w, f"{name}.conv2", x, 1, 1)) + shortcut)
        x = jax.nn.relu(normalised(f"{name}.bn1", convolution(w, f"{name}.conv1", x)))
        x = jax.nn.relu(normalised(f"{name}.bn2", convolution(w, f"{name}.conv2", x, stride, 1)))
        return jax.nn.relu(normalised(f"{name}.bn3", convolution(w, f"{name}.conv3", x)) + shortcut)

    x = jax.nn.relu(normalised("bn1", convolution(w, "conv1", x, 2, 3)))
    x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 3, 3), (1, 1, 2, 2), ((0, 0), (0, 0), (1, 1), (1, 1)))
    for i, count in enumerate(DEPTHS[depth]):
        for j in range(count):
            x = block(f"layer{i + 1}.{j}", x, 2 if i > 0 and j == 0 else 1)
    return jax_cross_entropy(blocks.dense(w, "fc", x.mean((2, 3))), y), after


def torch_resnet(depth):
    import torchvision

    return getattr(torchvision.models, f"resnet{depth}")()


def torch_loss(model, x, y):
    from torch.nn import functional

    return functional.cross_entropy(model(x), y)


def plait_loss(model, x, y):
    import plait as pl

    return pl.cross_entropy(model(x), y, reduction="mean")


def resnet(depth, size, batch, autocast=False):
    def data():
        import torch

        model = torch_resnet(depth)
        return steps.state_of(model) | {"x": torch.randn(batch, 3, size, size).numpy(), "y": torch.randint(1000, (batch,)).numpy()}

    makes = functools.partial(torch_resnet, depth), functools.partial(plait_resnet, depth)
    jax_loss = None if autocast else functools.partial(jax_resnet, depth)
    return sides.Case(data, steps.training(makes[0], torch_loss, makes[1], plait_loss, jax_loss, autocast=autocast), apart=3.0 if autocast else 5e-2)


# ---- A U-Net. The classes differ only in where the layers are from.


def unet_of(nn, module, concat, silu, call):
    """The class of the U-Net in PyTorch or in Plait, whose modules have a method of this name."""
    class Pair(module):
        def __init__(self, channels, width):
            super().__init__()
            self.conv1, self.norm1 = nn.Conv2d(channels, width, 3, padding=1), nn.GroupNorm(GROUPS, width)
            self.conv2, self.norm2 = nn.Conv2d(width, width, 3, padding=1), nn.GroupNorm(GROUPS, width)

        def result(self, x):
            return silu(self.norm2(self.conv2(silu(self.norm1(self.conv1(x))))))

    class UNet(module):
        def __init__(self):
            super().__init__()
            self.down = nn.ModuleList([Pair(before, width) for before, width in zip((3, *LEVELS), LEVELS)])
            self.shrink = nn.MaxPool2d(2)
            self.grow = nn.ModuleList([nn.ConvTranspose2d(LEVELS[i + 1], LEVELS[i], 2, 2) for i in range(2)])
            self.up = nn.ModuleList([Pair(2 * width, width) for width in LEVELS[:2]])
            self.last = nn.Conv2d(LEVELS[0], 3, 1)

        def result(self, x):
            first = self.down[0](x)
            second = self.down[1](self.shrink(first))
            x = self.down[2](self.shrink(second))
            x = self.up[1](concat([self.grow[1](x), second], 1))
            x = self.up[0](concat([self.grow[0](x), first], 1))
            return self.last(x)

    for each in Pair, UNet:
        setattr(each, call, each.result)
    return UNet


def torch_unet():
    import torch

    return unet_of(torch.nn, torch.nn.Module, torch.cat, torch.nn.functional.silu, "forward")()


def plait_unet():
    import plait as pl

    return unet_of(pl.nn, pl.Module, pl.concat, pl.silu, "__call__")()


def mean_square(model, x, y):
    return ((model(x) - y) ** 2).mean()


def jax_unet(w, statistics, x, y):
    import jax
    import jax.numpy as jnp

    def normalised(name, x):
        parts = x.reshape(len(x), GROUPS, -1)
        mean, variance = parts.mean(-1, keepdims=True), parts.var(-1, keepdims=True)
        parts = (parts - mean) * jax.lax.rsqrt(variance + 1e-5)
        return parts.reshape(x.shape) * w[f"{name}.weight"][:, None, None] + w[f"{name}.bias"][:, None, None]

    def pair(name, x):
        for i in (1, 2):
            x = jax.nn.silu(normalised(f"{name}.norm{i}", convolution(w, f"{name}.conv{i}", x, 1, 1)))
        return x

    def shrink(x):
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    def grow(name, x):
        batch, _, height, width = x.shape
        y = jnp.einsum("bihw,iokl->bohkwl", x, w[f"{name}.weight"])  # kernels of 2 x 2 do not overlap
        return y.reshape(batch, -1, 2 * height, 2 * width) + w[f"{name}.bias"][:, None, None]

    first = pair("down.0", x)
    second = pair("down.1", shrink(first))
    deep = pair("down.2", shrink(second))
    x = pair("up.1", jnp.concatenate([grow("grow.1", deep), second], 1))
    x = pair("up.0", jnp.concatenate([grow("grow.0", x), first], 1))
    return jnp.square(convolution(w, "last", x) - y).mean(), statistics


def unet(autocast=False):
    def data():
        import torch

        return steps.state_of(torch_unet()) | {name: torch.randn(8, 3, 64, 64).numpy() for name in ("x", "y")}

    return sides.Case(data, steps.training(torch_unet, mean_square, plait_unet, mean_square, None if autocast else jax_unet, 0.1, autocast=autocast),
                      apart=2e-1 if autocast else 1e-2)


# ---- ViT's logits.


def torch_vit(compiles, dtype, data):
    import torch

    state, (x,) = steps.parted(data)
    kind = torch.bfloat16 if dtype == "bf16" else torch.float32
    model, x = steps.loaded(blocks.torch_vit(), state).eval().to(kind), torch.from_numpy(x).to(kind)
    if compiles:
        torch._inductor.config.freezing = True
    call, y = torch.compile(model) if compiles else model, None

    def run():
        nonlocal y
        with torch.inference_mode():
            y = call(x)

    return run, lambda: {"logits": y.float().numpy()}


def plait_vit(dtype, data):
    import numpy as np
    import plait as pl
    from models import ViT

    state, (x,) = steps.parted(data)
    kind = pl.bf16 if dtype == "bf16" else pl.f32
    model, x = pl.nn.load_state(ViT(key=pl.random.key(0)), state).to(dtype=kind), pl.asarray(x).astype(kind)
    call, y = pl.jit(lambda model, x: model(x)), None

    def run():
        nonlocal y
        y = call(model, x)

    return run, lambda: {"logits": np.asarray(y.astype(pl.f32))}


def jax_vit(dtype, data):
    import jax
    import jax.numpy as jnp
    import numpy as np

    state, (x,) = steps.parted(data)
    kind = jnp.bfloat16 if dtype == "bf16" else jnp.float32
    state["patches.weight"] = state["patches.weight"].reshape(768, 768)
    w, x = steps.for_jax(state, kind), jnp.asarray(x, kind)
    call, y = jax.jit(blocks.jax_vit), None

    def run():
        nonlocal y
        y = call(w, x).block_until_ready()

    return run, lambda: {"logits": np.asarray(y.astype(jnp.float32))}


def vit(batch, dtype):
    def data():
        import torch

        return steps.state_of(blocks.torch_vit()) | {"x": torch.randn(batch, 3, 224, 224).numpy()}

    functions = {"plait": functools.partial(plait_vit, dtype), "torch": functools.partial(torch_vit, False, dtype),
                 "torch-compile": functools.partial(torch_vit, True, dtype), "jax": functools.partial(jax_vit, dtype)}
    return sides.Case(data, functions, apart=3e-2 if dtype == "bf16" else 1e-4)


CASES = {"resnet18-64": resnet(18, 64, 32), "resnet18-224": resnet(18, 224, 8), "resnet50-64": resnet(50, 64, 16),
         "resnet50-224": resnet(50, 224, 4), "unet": unet(), "resnet18-64-bf16": resnet(18, 64, 32, True),
         "resnet18-224-bf16": resnet(18, 224, 8, True), "resnet50-64-bf16": resnet(50, 64, 16, True),
         "resnet50-224-bf16": resnet(50, 224, 4, True), "unet-bf16": unet(True), "vit-1": vit(1, "fp32"), "vit-8": vit(8, "fp32"),
         "vit-1-bf16": vit(1, "bf16"), "vit-8-bf16": vit(8, "bf16")}

if __name__ == "__main__":
    sides.main(__doc__, __file__, CASES)
