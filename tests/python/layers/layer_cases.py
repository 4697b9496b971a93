"""Layers, and inputs for them, that several tests go through."""

import plait as pl
import torch

SPACE = 7, 6, 5
RANDOM = {"AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout", "RReLU"}
NOT_COMPARED = {
    "LazyBatchNorm1d": "becomes BatchNorm1d", "LazyBatchNorm2d": "becomes BatchNorm2d", "LazyBatchNorm3d": "becomes BatchNorm3d",
    "LazyInstanceNorm1d": "becomes InstanceNorm1d", "LazyInstanceNorm2d": "becomes InstanceNorm2d", "LazyInstanceNorm3d": "becomes InstanceNorm3d",
    "LazyLinear": "becomes Linear", "Sequential": "has its layers under another name", "SyncBatchNorm": "PyTorch's needs a process group",
    "AdaptiveLogSoftmaxWithLoss": "has its tail under another name", "CrossMapLRN2d": "PyTorch's never drops the first channel from its windows",
}


# Layers in these files have tests of their own.
OTHERS = ("recurrent.py", "attention.py", "transformer.py", "losses.py", "linear_cross_entropy.py", "positions.py", "experts.py", "adapters.py",
          "quantized.py", "containers.py")


def is_elsewhere(layer):
    code = getattr(layer.__call__, "__code__", None)
    return code is None or code.co_filename.endswith(OTHERS)


def layers():
    """The names of all classes of plait.nn that are layers."""
    return [name for name, value in vars(pl.nn).items() if isinstance(value, type) and issubclass(value, pl.Module) and value is not pl.Module]


def real(*shape):
    return lambda: torch.randn(shape, dtype=torch.float64)


def positive(*shape):
    return lambda: torch.rand(shape, dtype=torch.float64) + 0.1


def whole(high, *shape):
    return lambda: torch.randint(high, shape)


def given(values):
    return lambda: torch.tensor(values)


def indices_of(space, shape, **options):
    """The values and indices of a max pool of random numbers."""

    def values():
        torch.manual_seed(11)
        return torch.nn.functional.__dict__[f"max_pool{space}d"](torch.randn(shape, dtype=torch.float64), 2, return_indices=True, **options)

    return [lambda: values()[0], lambda: values()[1]]


def case(name, *arguments, forward, forward_named=None, **named):
    return name, arguments, named, forward, forward_named or {}


def _of_space(space):
    """Layers that exist for one, two and three dimensions."""
    sizes = SPACE[:space]
    x, alone = real(2, 4, *sizes), real(4, *sizes)
    for options in ({"stride": 2, "padding": 1, "groups": 2}, {"dilation": 2, "padding": "same"}, {"padding": "valid", "bias": False},
                    {"padding": (1, 2, 0)[:space], "padding_mode": "reflect"}, {"padding": 2, "padding_mode": "replicate", "stride": 2},
                    {"padding": 1, "padding_mode": "circular", "groups": 4}, {"padding": "same", "padding_mode": "reflect"},
                    {"padding": "same", "padding_mode": "circular"}):
        yield case(f"Conv{space}d", 4, 8, (3, 2, 2)[:space], forward=[x], **options)
    for options in ({"stride": 2, "padding": 1, "output_padding": 1, "groups": 2}, {"dilation": 2, "bias": False}):
        yield case(f"ConvTranspose{space}d", 4, 6, (3, 2, 3)[:space], forward=[x], **options)
    yield case(f"ConvTranspose{space}d", 4, 2, 3, 2, forward=[alone])
    for options in ({"ceil_mode": True}, {"stride": 1, "padding": 1, "dilation": 2}, {"return_indices": True, "padding": 1, "stride": 2}):
        yield case(f"MaxPool{space}d", 3, forward=[x], **options)
    for options in ({"ceil_mode": True}, {"stride": 2, "padding": 1, "count_include_pad": False}):
        yield case(f"AvgPool{space}d", 3, forward=[x], **options)
    yield case(f"LPPool{space}d", 3, 2, 1, forward=[positive(2, 4, *sizes)])
    yield case(f"LPPool{space}d", 2.5, 3, ceil_mode=True, forward=[positive(2, 4, *sizes)])
    yield case(f"AdaptiveMaxPool{space}d", 3, return_indices=True, forward=[x])
    yield case(f"MaxUnpool{space}d", 2, forward=indices_of(space, (2, 3, 6, 6, 6)[:2 + space]))
    yield case(f"MaxUnpool{space}d", 2, 2, forward=indices_of(space, (2, 3, 6, 6, 6)[:2 + space]))
    yield case(f"BatchNorm{space}d", 4, momentum=None, forward=[x])
    yield case(f"InstanceNorm{space}d", 4, affine=True, track_running_stats=True, forward=[x])
    yield case(f"Dropout{space}d", 0.3, forward=[x])
    yield case(f"ReflectionPad{space}d", (1, 2, 0, 1, 2, 0)[:2 * space], forward=[x])
    yield case(f"ReplicationPad{space}d", (1, 2, 0, 9, 2, 0)[:2 * space], forward=[x])
    yield case(f"CircularPad{space}d", (1, 2, 0, 1, 2, 0)[:2 * space], forward=[x])
    yield case(f"ZeroPad{space}d", (-1, 2, 1, -2, 0, -1)[:2 * space], forward=[x])
    yield case(f"ConstantPad{space}d", (-1, -1, 1, -2, 0, 3)[:2 * space], 1.5, forward=[x])
    mode = {1: "linear", 2: "bilinear", 3: "trilinear"}[space]
    for options in ({"size": 9}, {"scale_factor": 2}, {"scale_factor": (1.7, 2.3, 0.6)[:space]}, {"size": 5, "mode": "nearest-exact"},
                    {"scale_factor": 1.5, "mode": mode}, {"size": (9, 3, 4)[:space], "mode": mode, "align_corners": True},
                    {"scale_factor": 1.7, "mode": mode, "recompute_scale_factor": True}, {"size": 3, "mode": "area"}):
        yield case("Upsample", forward=[x], **options)
    yield case("LocalResponseNorm", 4, 0.3, 0.6, 1.5, forward=[x])


def _embeddings():
    ids = whole(10, 4, 5)
    for options in ({"padding_idx": 3}, {"padding_idx": -1}, {"scale_grad_by_freq": True}):
        yield case("Embedding", 10, 3, forward=[ids], **options)
    bags, offsets = whole(10, 12), given([0, 4, 4, 9])
    for mode in "sum", "mean", "max":
        for options in ({}, {"padding_idx": 3}):
            yield case("EmbeddingBag", 10, 3, mode=mode, forward=[ids], **options)
            yield case("EmbeddingBag", 10, 3, mode=mode, forward=[bags, offsets], **options)
        yield case("EmbeddingBag", 10, 3, mode=mode, include_last_offset=True, forward=[bags, given([0, 4, 4, 9, 12])])
    yield case("EmbeddingBag", 10, 3, mode="sum", forward=[bags, offsets, real(12)])
    yield case("EmbeddingBag", 10, 3, mode="sum", padding_idx=2, forward=[ids], forward_named={"per_sample_weights": real(4, 5)})
    yield case("EmbeddingBag", 10, 3, mode="sum", scale_grad_by_freq=True, forward=[bags, offsets])


def _others():
    x, image = real(4, 6), real(2, 4, 6, 6)
    yield case("Identity", 1, some="thing", forward=[x])
    yield case("Flatten", forward=[image])
    yield case("Flatten", 0, 2, forward=[image])
    yield case("Unflatten", 1, (2, -1), forward=[x])
    yield case("CosineSimilarity", forward=[x, real(4, 6)])
    yield case("CosineSimilarity", dim=0, eps=1e-4, forward=[x, real(4, 6)])
    yield case("PairwiseDistance", forward=[x, real(4, 6)])
    yield case("PairwiseDistance", 1.0, keepdim=True, forward=[x, real(4, 6)])
    yield case("Unfold", (2, 3), 2, 1, 2, forward=[image])
    yield case("Fold", (5, 6), (2, 3), padding=1, stride=2, forward=[real(2, 12, 9)])
    yield case("PixelShuffle", 2, forward=[image])
    yield case("PixelUnshuffle", 3, forward=[image])
    yield case("ChannelShuffle", 2, forward=[image])
    yield case("UpsamplingNearest2d", scale_factor=2, forward=[image])
    yield case("UpsamplingBilinear2d", size=(9, 5), forward=[image])
    yield case("Upsample", scale_factor=1.5, mode="bicubic", forward=[image])
    yield case("Upsample", size=(9, 4), mode="bicubic", align_corners=True, forward=[image])
    for name in "Dropout", "AlphaDropout", "FeatureAlphaDropout":
        yield case(name, 0.3, forward=[image])
    yield case("RReLU", 0.1, 0.4, forward=[x])
    yield case("GELU", "tanh", forward=[x])
    yield case("Hardsigmoid", forward=[real(20, 20)])
    yield case("Hardtanh", -0.3, 0.7, forward=[x])
    yield case("Hardswish", forward=[real(20, 20)])
    yield case("ReLU", True, forward=[x])
    yield case("RMSNorm", 6, forward=[x])


COMPARED = [each for space in (1, 2, 3) for each in _of_space(space)] + list(_embeddings()) + list(_others())

# ---- One small input for each layer: name, arguments, named arguments, inputs whose first dimension is the batch.

ELEMENTWISE = ("ReLU", "ReLU6", "SELU", "SiLU", "Mish", "Sigmoid", "LogSigmoid", "Tanh", "Softsign", "Hardswish", "Hardsigmoid", "Tanhshrink",
               "LeakyReLU", "ELU", "CELU", "GELU", "Softplus", "Softshrink", "Hardshrink", "Hardtanh", "PReLU", "RReLU", "Identity", "GLU", "SwiGLU",
               "Dropout", "AlphaDropout", "FeatureAlphaDropout", "DropPath", "Flatten")


def _small_of_space(space):
    x, channels = real(2, 4, *SPACE[:space]), real(2, 4, *(4,) * space)
    yield case(f"Conv{space}d", 4, 6, 3, 2, 1, groups=2, forward=[x])
    yield case(f"ConvTranspose{space}d", 4, 6, 3, 2, 1, 1, groups=2, forward=[x])
    for name in "MaxPool", "AvgPool", "ZeroPad", "ReflectionPad", "ReplicationPad", "CircularPad":
        yield case(f"{name}{space}d", 2, forward=[x])
    yield case(f"LPPool{space}d", 2, 2, forward=[positive(2, 4, *SPACE[:space])])
    for name in "AdaptiveAvgPool", "AdaptiveMaxPool":
        yield case(f"{name}{space}d", 3, forward=[x])
    yield case(f"MaxUnpool{space}d", 2, forward=indices_of(space, (2, 3, 6, 6, 6)[:2 + space]))
    yield case(f"ConstantPad{space}d", 2, 1.5, forward=[x])
    yield case(f"BatchNorm{space}d", 4, forward=[x])
    yield case(f"InstanceNorm{space}d", 4, affine=True, track_running_stats=True, forward=[x])
    yield case(f"Dropout{space}d", 0.4, forward=[x])
    if space > 1:
        yield case(f"FractionalMaxPool{space}d", 2, 3, forward=[channels])


def _small():
    x, image, ids = real(2, 4, 6), real(2, 4, 6, 6), whole(10, 2, 5)
    for name in ELEMENTWISE:
        yield case(name, forward=[x])
    for name in "Softmax", "LogSoftmax", "Softmin":
        yield case(name, -1, forward=[x])
    yield case("Softmax2d", forward=[image])
    yield case("Threshold", 0.1, 0.5, forward=[x])
    yield case("Linear", 6, 3, forward=[x])
    yield case("Bilinear", 6, 5, 3, forward=[x, real(2, 4, 5)])
    yield case("Unflatten", 2, (2, 3), forward=[x])
    yield case("CosineSimilarity", forward=[x, real(2, 4, 6)])
    yield case("PairwiseDistance", forward=[x, real(2, 4, 6)])
    yield case("Embedding", 10, 3, 1, max_norm=0.5, forward=[ids])
    yield case("EmbeddingBag", 10, 3, padding_idx=1, forward=[ids])
    yield case("Unfold", 2, forward=[image])
    yield case("Fold", (5, 6), 2, forward=[real(2, 12, 20)])
    for name in "PixelShuffle", "PixelUnshuffle", "ChannelShuffle":
        yield case(name, 2, forward=[image])
    yield case("LayerNorm", 6, forward=[x])
    yield case("RMSNorm", 6, forward=[x])
    yield case("GroupNorm", 2, 4, forward=[x])
    yield case("SyncBatchNorm", 4, forward=[x])
    yield case("LocalResponseNorm", 3, forward=[image])
    yield case("CrossMapLRN2d", 3, forward=[image])
    yield case("Upsample", scale_factor=2, mode="bilinear", forward=[image])
    yield case("UpsamplingNearest2d", scale_factor=2, forward=[image])
    yield case("UpsamplingBilinear2d", scale_factor=2, forward=[image])
    yield case("AdaptiveLogSoftmaxWithLoss", 16, 20, [5, 10], forward=[real(3, 16), whole(20, 3)])


SMALL = {name: (arguments, named, forward) for space in (1, 2, 3) for name, arguments, named, forward, _ in _small_of_space(space)}
SMALL |= {name: (arguments, named, forward) for name, arguments, named, forward, _ in _small()}
