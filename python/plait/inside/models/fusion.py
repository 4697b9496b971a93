"""A batch normalisation that is fused into the layer before it, for evaluation."""

from plait import _core, errors
from plait.inside.help.names import in_words
from plait.inside.layers.batch_normalization import _BatchNorm
from plait.inside.layers.convolution import _Convolution
from plait.inside.layers.linear import Linear
from plait.inside.models.parametrizations import make_plain
from plait.inside.trees.module import copy_of


def fuse_conv_bn_eval(conv, bn, transpose=None):
    """The convolution, or transposed convolution, that computes bn(conv(x)): both are in evaluation mode, and bn has running
    statistics. transpose says that the convolution is a transposed one; the layer itself says so, too.

    >>> conv, bn = plait.nn.Conv2d(3, 4, 2).eval(), plait.nn.BatchNorm2d(4).eval()
    >>> x = plait.random.normal(plait.random.key(1), (1, 3, 5, 5))
    >>> plait.allclose(plait.nn.utils.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), atol=1e-5).item()
    True
    """
    what = "nn.utils.fuse_conv_bn_eval"
    if not isinstance(conv, _Convolution):
        raise _refused(what, "conv", conv, "a convolution such as plait.nn.Conv2d", "plait.nn.utils.fuse_linear_bn_eval(linear, bn)", Linear)
    is_transposed = conv._is_transposed
    if transpose is not None and transpose != is_transposed:
        raise errors.ValueError(f"{what}: transpose is {in_words(transpose)}, and conv a {type(conv).__name__}, expected {is_transposed}")
    _expect_statistics(what, "conv", conv, bn)
    if bn.num_features != conv.out_channels:
        raise errors.ShapeError(f"{what}: bn has {bn.num_features} features, and conv {conv.out_channels} output channels, expected as many")
    scale, weight = _scale(bn), conv.weight
    ones = (1,) * (weight.ndim - 2)
    if is_transposed:  # [in_channels, out_channels / groups, ...]
        inputs, outputs, *space = weight.shape
        grouped = _core.reshape(weight, (conv.groups, inputs // conv.groups, outputs, *space))
        scaled = _core.reshape(grouped * _core.reshape(scale, (conv.groups, 1, outputs, *ones)), weight.shape)
    else:
        scaled = weight * _core.reshape(scale, (-1, 1, *ones))
    return _fused(conv, scaled, bn, scale)


def fuse_linear_bn_eval(linear, bn):
    """The Linear that computes bn(linear(x)): both are in evaluation mode, and bn has running statistics, of as many features as
    there are outputs, or of 1.

    >>> linear, bn = plait.nn.Linear(3, 4).eval(), plait.nn.BatchNorm1d(4).eval()
    >>> x = plait.random.normal(plait.random.key(1), (2, 3))
    >>> plait.allclose(plait.nn.utils.fuse_linear_bn_eval(linear, bn)(x), bn(linear(x)), atol=1e-5).item()
    True
    """
    what = "nn.utils.fuse_linear_bn_eval"
    if not isinstance(linear, Linear):
        raise _refused(what, "linear", linear, "a plait.nn.Linear", "plait.nn.utils.fuse_conv_bn_eval(conv, bn)", _Convolution)
    _expect_statistics(what, "linear", linear, bn)
    if bn.num_features not in (linear.out_features, 1):
        raise errors.ShapeError(f"{what}: bn has {bn.num_features} features, and linear {linear.out_features} outputs, expected as many, or 1 feature")
    scale = _scale(bn)
    return _fused(linear, linear.weight * scale[:, None], bn, scale)


def _refused(what, name, layer, expected, other, others):
    message = f"{what}: {name} is a {type(layer).__name__}, expected {expected}"
    return errors.TypeError.with_hint(message, other) if isinstance(layer, others) else errors.TypeError(message)


def _expect_statistics(what, name, layer, bn):
    if not isinstance(bn, _BatchNorm):
        raise errors.TypeError(f"{what}: bn is a {type(bn).__name__}, expected a batch normalisation such as plait.nn.BatchNorm2d")
    training = next((each for each, part in ((name, layer), ("bn", bn)) if part.training), None)
    if training is not None:
        raise errors.ValueError.with_hint(f"{what}: {training} is in training mode, where bn normalises by the batch", "model = model.eval()")
    if bn.running_mean is None:
        raise errors.ValueError(f"{what}: bn has no running statistics: it was made with track_running_stats=False")


def _scale(bn):
    scale = _core.rsqrt(bn.running_var + bn.eps)
    return scale if bn.weight is None else scale * bn.weight


def _fused(layer, weight, bn, scale):
    dtype = layer.weight.dtype
    outputs = layer.out_features if isinstance(layer, Linear) else layer.out_channels
    moved = -bn.running_mean if layer.bias is None else layer.bias - bn.running_mean
    bias = moved * scale if bn.bias is None else moved * scale + bn.bias
    made = copy_of(layer)
    make_plain(made, "weight", _core.astype(weight, dtype))
    make_plain(made, "bias", _core.astype(_core.broadcast_to(bias, (outputs,)), dtype if layer.bias is None else layer.bias.dtype))
    return made
