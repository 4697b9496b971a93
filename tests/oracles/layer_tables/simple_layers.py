"""Activations, layers without weights, norms with statistics, tables, and distances: layer_cases_simple*.cpp."""

import torch
from torch import nn
from torch.nn import functional

from . import Case, numbers

SPACE = {1: (7,), 2: (7, 6), 3: (7, 6, 5)}


def rows():
    return [numbers(4, 6)]


def scalar():
    return [numbers(1)[0]]


def image():
    return [numbers(2, 4, 6, 6)]


def images(space, *, positive=False):
    def make():
        x = numbers(2, 4, *SPACE[space])
        return [x.abs() + 0.1 if positive else x]

    return make


def pairs(*shape):
    return lambda: [numbers(*shape), numbers(*shape, seed=2)]


ACTIVATIONS = {
    "relu": nn.ReLU, "relu6": nn.ReLU6, "selu": nn.SELU, "silu": nn.SiLU, "mish": nn.Mish, "sigmoid": nn.Sigmoid, "log_sigmoid": nn.LogSigmoid,
    "tanh": nn.Tanh, "softsign": nn.Softsign, "hardswish": nn.Hardswish, "hardsigmoid": nn.Hardsigmoid, "tanhshrink": nn.Tanhshrink,
    "leaky_relu": nn.LeakyReLU, "leaky_relu_steep": lambda: nn.LeakyReLU(0.3),
    "elu": nn.ELU, "elu_half": lambda: nn.ELU(0.5), "celu": nn.CELU, "celu_half": lambda: nn.CELU(0.5),
    "gelu": nn.GELU, "gelu_tanh": lambda: nn.GELU("tanh"), "softplus": nn.Softplus, "softplus_threshold": lambda: nn.Softplus(2, 1),
    "softshrink": nn.Softshrink, "softshrink_wide": lambda: nn.Softshrink(0.8), "hardshrink": nn.Hardshrink, "hardshrink_wide": lambda: nn.Hardshrink(0.8),
    "hardtanh": nn.Hardtanh, "hardtanh_narrow": lambda: nn.Hardtanh(-0.3, 0.7), "threshold": lambda: nn.Threshold(0.1, 20),
    "softmax": lambda: nn.Softmax(-1), "log_softmax": lambda: nn.LogSoftmax(-1), "softmin": lambda: nn.Softmin(-1), "glu": nn.GLU,
}


def swiglu(dim):
    return lambda _, x: functional.silu(x.chunk(2, dim)[0]) * x.chunk(2, dim)[1]


def _activations():
    for name, make in ACTIVATIONS.items():
        yield name, Case(make, lambda: [numbers(8, 10) * 4])
    for name, make in (("softmax", nn.Softmax), ("log_softmax", nn.LogSoftmax), ("glu", nn.GLU)):
        yield f"{name}_of_channels", Case(lambda make=make: make(1), image)
    yield "prelu", Case(nn.PReLU, rows)
    yield "prelu_of_channels", Case(lambda: nn.PReLU(4, 0.1), image)
    yield "rrelu_eval", Case(lambda: nn.RReLU(0.1, 0.4), rows, eval=True)
    yield "softmin_of_a_scalar", Case(lambda: nn.Softmin(0), scalar)
    yield "softmax2d", Case(nn.Softmax2d, image)
    yield "softmax2d_of_one", Case(nn.Softmax2d, lambda: [numbers(4, 2, 3)])
    yield "swiglu", Case(nn.Identity, rows, call=swiglu(-1))
    yield "swiglu_of_channels", Case(nn.Identity, image, call=swiglu(1))


def _shapes():
    yield "identity", Case(nn.Identity, rows)
    yield "flatten", Case(nn.Flatten, image)
    yield "flatten_first", Case(lambda: nn.Flatten(0, 2), image)
    yield "flatten_a_scalar", Case(lambda: nn.Flatten(0), scalar)
    yield "unflatten", Case(lambda: nn.Unflatten(1, (2, -1)), rows)
    yield "pixel_shuffle", Case(lambda: nn.PixelShuffle(2), image)
    yield "pixel_unshuffle", Case(lambda: nn.PixelUnshuffle(3), image)
    yield "channel_shuffle", Case(lambda: nn.ChannelShuffle(2), image)
    yield "channel_shuffle_of_volumes", Case(lambda: nn.ChannelShuffle(2), images(3))
    yield "unfold", Case(lambda: nn.Unfold((2, 3), 2, 1, 2), image)
    yield "fold", Case(lambda: nn.Fold((5, 6), (2, 3), padding=1, stride=2), lambda: [numbers(2, 12, 9)])


def _paddings():
    widths = {"zero": (-1, 2, 1, -2, 0, -1), "constant": (-1, -1, 1, -2, 0, 3), "reflection": (1, 2, 0, 1, 2, 0), "replication": (1, 2, 0, 9, 2, 0),
              "circular": (1, 2, 0, 1, 2, 0)}
    for kind, all_widths in widths.items():
        value = [1.5] if kind == "constant" else []
        for space in 1, 2, 3:
            make = getattr(nn, f"{kind.title()}Pad{space}d")
            yield f"{kind}_pad{space}d", Case(lambda make=make, given=(all_widths[:2 * space], *value): make(*given), images(space))
    yield "zero_pad2d_all_around", Case(lambda: nn.ZeroPad2d(2), image)
    yield "constant_pad1d_of_one", Case(lambda: nn.ConstantPad1d(3, -2), lambda: [numbers(4, 5)])


def _upsampling():
    for name, space, options in (
            ("upsample1d_size", 1, {"size": 9}), ("upsample2d_scales", 2, {"scale_factor": (1.7, 2.3)}), ("upsample3d_scale", 3, {"scale_factor": 2}),
            ("upsample2d_nearest_exact", 2, {"size": 5, "mode": "nearest-exact"}), ("upsample1d_linear", 1, {"scale_factor": 1.5, "mode": "linear"}),
            ("upsample2d_linear", 2, {"size": (9, 3), "mode": "bilinear", "align_corners": True}),
            ("upsample3d_linear", 3, {"size": (9, 3, 4), "mode": "trilinear", "align_corners": True}),
            ("upsample2d_recomputed", 2, {"scale_factor": (1.7, 0.6), "mode": "bilinear", "recompute_scale_factor": True}),
            ("upsample2d_recomputed_whole", 2, {"scale_factor": 2, "mode": "bilinear", "recompute_scale_factor": True}),
            ("upsample2d_cubic", 2, {"scale_factor": 1.5, "mode": "bicubic"}),
            ("upsample2d_cubic_corners", 2, {"size": (9, 4), "mode": "bicubic", "align_corners": True}),
            ("upsample2d_area", 2, {"size": 3, "mode": "area"})):
        yield name, Case(lambda options=options: nn.Upsample(**options), images(space))
    yield "upsampling_nearest2d", Case(lambda: nn.UpsamplingNearest2d(scale_factor=2), image)
    yield "upsampling_bilinear2d", Case(lambda: nn.UpsamplingBilinear2d(size=(9, 5)), image)


def pooled(space, window, **options):
    def make():
        return list(getattr(functional, f"max_pool{space}d")(numbers(2, 3, *(6,) * space), window, return_indices=True, **options))

    return make


def _pooling():
    with_indices = {"return_indices": True}
    for name, space, arguments, options in (
            ("max_pool1d_ceil", 1, (3,), {"ceil_mode": True}), ("max_pool2d_dilated", 2, (3, 1, 1, 2), {}), ("max_pool3d", 3, ((2, 3, 1), (1, 2, 2)), {}),
            ("max_pool1d_indices", 1, (3, 2, 1), with_indices), ("max_pool2d_indices", 2, (3, 2, 1), with_indices), ("max_pool3d_indices", 3, (2,), with_indices),
            ("avg_pool2d_without_padding", 2, (3, 2, 1), {"count_include_pad": False}), ("avg_pool2d_divisor", 2, ((3, 2),), {"divisor_override": 5}),
            ("avg_pool3d_ceil", 3, (3,), {"ceil_mode": True})):
        make = getattr(nn, f"{name[:3].title()}Pool{space}d")
        yield name, Case(lambda make=make, arguments=arguments, options=options: make(*arguments, **options), images(space))
    yield "lp_pool1d", Case(lambda: nn.LPPool1d(3, 2, 1), images(1, positive=True))
    yield "lp_pool2d", Case(lambda: nn.LPPool2d(2.5, 3, ceil_mode=True), images(2, positive=True))
    yield "lp_pool3d", Case(lambda: nn.LPPool3d(2, (2, 3, 2)), images(3))
    for space, size in ((1, 3), (2, (None, 4)), (3, 3)):
        for kind in "Avg", "Max":
            make = getattr(nn, f"Adaptive{kind}Pool{space}d")
            yield f"adaptive_{kind.lower()}_pool{space}d", Case(lambda make=make, size=size: make(size), images(space))
        size = (3, 2) if space == 2 else size
        yield f"adaptive_max_pool{space}d_indices", Case(lambda make=make, size=size: make(size, return_indices=True), images(space))
    samples = {space: torch.rand(2, 4, space, generator=torch.Generator().manual_seed(3), dtype=torch.float64) for space in (2, 3)}
    for name, space, window, options in (("fractional_max_pool2d", 2, 2, {"output_size": (3, 4)}),
                                         ("fractional_max_pool3d", 3, 2, {"output_ratio": (0.5, 0.7, 0.6)}),
                                         ("fractional_max_pool2d_indices", 2, (2, 3), {"output_ratio": 0.6, **with_indices})):
        make = getattr(nn, f"FractionalMaxPool{space}d")
        prefix = "pool." if "indices" in name else ""
        yield name, Case(lambda make=make, window=window, options=options, space=space: make(window, _random_samples=samples[space].clone(), **options),
                         images(space), rename=lambda name, prefix=prefix: prefix + name.removeprefix("_"))
    for space in 1, 2, 3:
        make = getattr(nn, f"MaxUnpool{space}d")
        yield f"max_unpool{space}d", Case(lambda make=make: make(2), pooled(space, 2))
    yield "max_unpool2d_padding", Case(lambda: nn.MaxUnpool2d(2, 2, 1), pooled(2, 2, padding=1))


def _norms():
    for name, make, space, options in (
            ("batch_norm", nn.BatchNorm2d, 2, {}), ("batch_norm1d", nn.BatchNorm1d, 1, {"momentum": 0.3}), ("batch_norm1d_of_rows", nn.BatchNorm1d, 0, {"eps": 0.1}),
            ("batch_norm1d_cumulative", nn.BatchNorm1d, 1, {"momentum": None}), ("batch_norm2d", nn.BatchNorm2d, 2, {"affine": False}),
            ("batch_norm2d_cumulative", nn.BatchNorm2d, 2, {"momentum": None}), ("batch_norm3d", nn.BatchNorm3d, 3, {}), ("sync_batch_norm", nn.BatchNorm1d, 1, {}),
            ("instance_norm1d", nn.InstanceNorm1d, 1, {}), ("instance_norm1d_tracked", nn.InstanceNorm1d, 1, {"affine": True, "track_running_stats": True}),
            ("instance_norm2d_tracked", nn.InstanceNorm2d, 2, {"momentum": 0.4, "track_running_stats": True}),
            ("instance_norm2d_of_one", nn.InstanceNorm2d, -2, {"affine": True, "track_running_stats": True}),
            ("instance_norm2d_without_momentum", nn.InstanceNorm2d, 2, {"momentum": None, "track_running_stats": True})):
        x = {0: lambda: [numbers(5, 4)], -2: lambda: [numbers(4, 5, 6)]}.get(space) or images(space)
        yield name, Case(warmed(make, options), x)
    for name, make, space, options in (("batch_norm_eval", nn.BatchNorm2d, 2, {}), ("batch_norm2d_eval", nn.BatchNorm2d, 2, {}),
                                       ("batch_norm3d_untracked_eval", nn.BatchNorm3d, 3, {"track_running_stats": False}),
                                       ("instance_norm2d_tracked_eval", nn.InstanceNorm2d, 2, {"affine": True, "track_running_stats": True}),
                                       ("instance_norm3d_eval", nn.InstanceNorm3d, 3, {"eps": 0.01, "affine": True})):
        yield name, Case(warmed(make, options), images(space), eval=True)
    yield "local_response_norm", Case(lambda: nn.LocalResponseNorm(4, 0.3, 0.6, 1.5), image)
    yield "local_response_norm_of_lines", Case(lambda: nn.LocalResponseNorm(3), images(1))
    yield "cross_map_lrn2d", Case(lambda: nn.LocalResponseNorm(3, 0.3, 0.6, 1.5), image)


def warmed(make, options):
    """The layer with random weights and statistics, as after two batches."""

    def made():
        layer = make(4, **options)
        with torch.no_grad():
            for i, tensor in enumerate([*layer.parameters(), *layer.buffers()]):
                if tensor.is_floating_point():
                    tensor.copy_(numbers(4, seed=i + 3).abs() + 0.2)
                elif "Batch" in make.__name__:
                    tensor.fill_(2)
        return layer

    return made


def _tables():
    ids, bags, offsets = (lambda: torch.tensor([[0, 3, 2, 9, 3], [1, 3, 3, 7, 2]])), (lambda: torch.tensor([0, 3, 3, 5, 1, 9, 2, 3, 8, 8, 1, 4])), \
        (lambda: torch.tensor([0, 4, 4, 9]))

    def renormed(norm_type, padding_idx=None):  # on a copy, because PyTorch changes the weight in place
        return lambda layer, x: functional.embedding(x, layer.weight.clone(), padding_idx, 1.5, norm_type)

    yield "embedding_padding", Case(lambda: nn.Embedding(10, 3, 3), lambda: [ids()])
    yield "embedding_padding_last", Case(lambda: nn.Embedding(10, 3, -1), lambda: [torch.tensor([9, 0, 9])])
    yield "embedding_max_norm", Case(lambda: nn.Embedding(10, 3), lambda: [ids()], call=renormed(2.0))
    yield "embedding_max_norm_1", Case(lambda: nn.Embedding(10, 3), lambda: [ids()], call=renormed(1.0, 1))
    yield "embedding_by_frequency", Case(lambda: nn.Embedding(10, 3, scale_grad_by_freq=True), lambda: [ids()])
    for name, options, inputs in (
            ("embedding_bag", {}, [ids]), ("embedding_bag_offsets", {}, [bags, offsets]), ("embedding_bag_sum", {"mode": "sum", "padding_idx": 3}, [ids]),
            ("embedding_bag_sum_offsets", {"mode": "sum", "scale_grad_by_freq": True}, [bags, offsets]), ("embedding_bag_max", {"mode": "max"}, [ids]),
            ("embedding_bag_max_offsets", {"mode": "max", "padding_idx": 3}, [bags, offsets]),
            ("embedding_bag_last_offset", {"include_last_offset": True}, [bags, lambda: torch.tensor([0, 4, 4, 9, 12])]),
            ("embedding_bag_weighted", {"mode": "sum"}, [bags, offsets, lambda: numbers(12)])):
        yield name, Case(lambda options=options: nn.EmbeddingBag(10, 3, **options), lambda inputs=inputs: [each() for each in inputs])
    yield "embedding_bag_max_norm", Case(lambda: nn.EmbeddingBag(10, 3), lambda: [ids()],
                                         call=lambda layer, x: functional.embedding_bag(x, layer.weight.clone(), max_norm=1.5))
    yield "embedding_bag_weighted_rows", Case(lambda: nn.EmbeddingBag(10, 3, mode="sum", padding_idx=2), lambda: [ids(), numbers(2, 5)],
                                              rename=lambda name: f"bag.{name}", call=lambda layer, x, weights: layer(x, per_sample_weights=weights))


def _maps():
    yield "bilinear", Case(lambda: nn.Bilinear(6, 5, 3), lambda: [numbers(2, 4, 6), numbers(2, 4, 5, seed=2)])
    yield "bilinear_without_bias", Case(lambda: nn.Bilinear(6, 5, 3, bias=False), lambda: [numbers(4, 6), numbers(4, 5, seed=2)])
    yield "cosine_similarity", Case(nn.CosineSimilarity, pairs(4, 6))
    yield "cosine_similarity_of_columns", Case(lambda: nn.CosineSimilarity(0, 1e-4), pairs(4, 6))
    yield "pairwise_distance", Case(nn.PairwiseDistance, pairs(4, 6))
    yield "pairwise_distance_eps", Case(lambda: nn.PairwiseDistance(eps=0.1), pairs(4, 6))
    yield "pairwise_distance_1", Case(lambda: nn.PairwiseDistance(1.0, keepdim=True), pairs(4, 6))
    targets = torch.tensor([0, 5, 6, 13, 14, 19, 20, 29])
    for name, bias in (("adaptive_softmax", False), ("adaptive_softmax_bias", True)):
        yield name, Case(lambda bias=bias: adaptive(bias), lambda: [numbers(8, 16), targets], rename="softmax.{}".format)
    yield "adaptive_softmax_scores", Case(lambda: adaptive(True), lambda: [numbers(8, 16)], rename="softmax.{}".format,
                                          call=lambda layer, x: (layer.log_prob(x), layer.predict(x)))


def adaptive(bias):
    return nn.AdaptiveLogSoftmaxWithLoss(16, 30, [6, 14, 20], div_value=2.0, head_bias=bias)


def _convolutions():
    yield "conv1d_same", Case(lambda: nn.Conv1d(4, 8, 4, dilation=2, padding="same"), images(1))
    yield "conv2d_same_reflect", Case(lambda: nn.Conv2d(4, 8, (3, 2), padding="same", padding_mode="reflect"), images(2))
    yield "conv3d_same", Case(lambda: nn.Conv3d(4, 8, (3, 2, 2), padding="same", groups=2), images(3))
    for name, size in (("least", (13, 16)), ("more", (15, 17)), ("whole_size", (2, 3, 14, 18))):
        yield f"conv_transpose2d_{name}", Case(lambda: nn.ConvTranspose2d(4, 3, 3, 3, 1), lambda: [numbers(2, 4, 5, 6)],
                                               rename="convolution.{}".format, call=lambda layer, x, size=size: layer(x, output_size=size))


CASES = dict(case for part in (_activations, _shapes, _paddings, _upsampling, _pooling, _norms, _tables, _maps, _convolutions) for case in part())
