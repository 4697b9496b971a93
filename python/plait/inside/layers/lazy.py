"""Layers that learn the size of their input at the first call."""

from plait import _core, errors
from plait.inside.layers.batch_normalization import BatchNorm1d, BatchNorm2d, BatchNorm3d, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from plait.inside.layers.checks import expect_dimensions, name_of
from plait.inside.layers.convolution import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from plait.inside.layers.linear import Linear
from plait.inside.trees.module import Module
from plait.inside.trees.unmade import Unmade

_LATER = {"weight", "bias", "running_mean", "running_var", "num_batches_tracked", "in_features", "in_channels", "num_features"}


class _Lazy(Module):
    """A layer of the class _plain, which it becomes at its first call."""

    _plain = None

    def _postpone(self, *arguments, probe=1, **named):
        """Checks the arguments, with a small size in place of that of the input, and keeps them."""
        self._plain.__init__(object.__new__(type(self)), probe, *arguments, **{**named, **self._probe_key(named)})
        self._unmade = Unmade(type(self).__name__, arguments, named)

    @staticmethod
    def _probe_key(named):
        return {"key": _core.random.key(0)} if "key" in named else {}

    def __getattr__(self, name):
        if name in _LATER:
            raise errors.AttributeError.with_hint(f"{name_of(self)}: {name} is made at the first call", "call the model once before, on an input "
                                                  "of the right size")
        return super().__getattr__(name)

    def __call__(self, input, *arguments, **named):
        """Makes the weights for this input, and calls the layer."""
        unmade = self._unmade
        if _core._is_staging():
            raise unmade.refused()
        size = self._size(input)
        del self._unmade
        object.__setattr__(self, "__class__", self._plain)
        self.__init__(size, *unmade.arguments, **unmade.named)
        return self(input, *arguments, **named)


class LazyLinear(_Lazy, Linear):
    """A Linear whose in_features is that of its first input. The first call makes the weights, and the layer a Linear. It must not
    be in a transform.

    >>> layer = plait.nn.LazyLinear(2)
    >>> layer(plait.ones((5, 3))).shape, type(layer).__name__, layer.weight.shape
    ((5, 2), 'Linear', (2, 3))
    """

    _plain = Linear

    def __init__(self, out_features, bias=True, *, key=None, dtype=_core.f32, device=None):
        self._postpone(out_features, bias, key=key, dtype=dtype, device=device)

    def _size(self, input):
        return input.shape[-1]


class _LazyConvolution(_Lazy):
    def _size(self, input):
        expect_dimensions(self, input, self._space + 1, self._space + 2)
        return input.shape[-self._space - 1]


class _LazyConv(_LazyConvolution):
    def __init__(self, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, padding_mode="zeros", *, key=None,
                 dtype=_core.f32, device=None):
        self._postpone(out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, probe=groups, key=key,
                       dtype=dtype, device=device)


class _LazyConvTranspose(_LazyConvolution):
    def __init__(self, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1,
                 padding_mode="zeros", *, key=None, dtype=_core.f32, device=None):
        self._postpone(out_channels, kernel_size, stride, padding, output_padding, groups, bias, dilation, padding_mode, probe=groups, key=key,
                       dtype=dtype, device=device)


class _LazyNorm(_Lazy):
    def __init__(self, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, *, bias=True, dtype=_core.f32, device=None):
        self._postpone(eps, momentum, affine, track_running_stats, bias=bias, dtype=dtype, device=device)

    def _size(self, input):
        expect_dimensions(self, input, *self._dimensions)
        return input.shape[self._channel_axis(input)]


class _LazyBatchNorm(_LazyNorm):
    def _channel_axis(self, input):
        return 1


class _LazyInstanceNorm(_LazyNorm):
    def _channel_axis(self, input):
        return input.ndim - self._dimensions[0]


class LazyConv1d(_LazyConv, Conv1d):
    """A Conv1d whose in_channels is that of its first input, as with LazyLinear.

    >>> layer = plait.nn.LazyConv1d(8, 2)
    >>> layer(plait.ones((2, 3, 4))).shape, type(layer).__name__, layer.in_channels
    ((2, 8, 3), 'Conv1d', 3)
    """

    _plain = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """A Conv2d whose in_channels is that of its first input, as with LazyLinear.

    >>> layer = plait.nn.LazyConv2d(8, 2)
    >>> layer(plait.ones((2, 3, 4, 4))).shape, type(layer).__name__, layer.in_channels
    ((2, 8, 3, 3), 'Conv2d', 3)
    """

    _plain = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    """A Conv3d whose in_channels is that of its first input, as with LazyLinear.

    >>> layer = plait.nn.LazyConv3d(8, 2)
    >>> layer(plait.ones((2, 3, 4, 4, 4))).shape, type(layer).__name__, layer.in_channels
    ((2, 8, 3, 3, 3), 'Conv3d', 3)
    """

    _plain = Conv3d


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """A ConvTranspose1d whose in_channels is that of its first input, as with LazyLinear.

    >>> layer = plait.nn.LazyConvTranspose1d(8, 2)
    >>> layer(plait.ones((2, 3, 4))).shape, type(layer).__name__, layer.in_channels
    ((2, 8, 5), 'ConvTranspose1d', 3)
    """

    _plain = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """A ConvTranspose2d whose in_channels is that of its first input, as with LazyLinear.

    >>> layer = plait.nn.LazyConvTranspose2d(8, 2)
    >>> layer(plait.ones((2, 3, 4, 4))).shape, type(layer).__name__, layer.in_channels
    ((2, 8, 5, 5), 'ConvTranspose2d', 3)
    """

    _plain = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """A ConvTranspose3d whose in_channels is that of its first input, as with LazyLinear.

    >>> layer = plait.nn.LazyConvTranspose3d(8, 2)
    >>> layer(plait.ones((2, 3, 4, 4, 4))).shape, type(layer).__name__, layer.in_channels
    ((2, 8, 5, 5, 5), 'ConvTranspose3d', 3)
    """

    _plain = ConvTranspose3d


class LazyBatchNorm1d(_LazyBatchNorm, BatchNorm1d):
    """A BatchNorm1d whose num_features is that of its first input, as with LazyLinear.

    >>> layer = plait.nn.LazyBatchNorm1d()
    >>> layer(plait.ones((2, 3, 4))).shape, type(layer).__name__, layer.num_features
    ((2, 3, 4), 'BatchNorm1d', 3)
    """

    _plain = BatchNorm1d


class LazyBatchNorm2d(_LazyBatchNorm, BatchNorm2d):
    """A BatchNorm2d whose num_features is that of its first input, as with LazyLinear.

    >>> layer = plait.nn.LazyBatchNorm2d()
    >>> layer(plait.ones((2, 3, 4, 4))).shape, type(layer).__name__, layer.num_features
    ((2, 3, 4, 4), 'BatchNorm2d', 3)
    """

    _plain = BatchNorm2d


class LazyBatchNorm3d(_LazyBatchNorm, BatchNorm3d):
    """A BatchNorm3d whose num_features is that of its first input, as with LazyLinear.

    >>> layer = plait.nn.LazyBatchNorm3d()
    >>> layer(plait.ones((2, 3, 4, 4, 4))).shape, type(layer).__name__, layer.num_features
    ((2, 3, 4, 4, 4), 'BatchNorm3d', 3)
    """

    _plain = BatchNorm3d


class LazyInstanceNorm1d(_LazyInstanceNorm, InstanceNorm1d):
    """A InstanceNorm1d whose num_features is that of its first input, as with LazyLinear.

    >>> layer = plait.nn.LazyInstanceNorm1d()
    >>> layer(plait.ones((2, 3, 4))).shape, type(layer).__name__, layer.num_features
    ((2, 3, 4), 'InstanceNorm1d', 3)
    """

    _plain = InstanceNorm1d


class LazyInstanceNorm2d(_LazyInstanceNorm, InstanceNorm2d):
    """A InstanceNorm2d whose num_features is that of its first input, as with LazyLinear.

    >>> layer = plait.nn.LazyInstanceNorm2d()
    >>> layer(plait.ones((2, 3, 4, 4))).shape, type(layer).__name__, layer.num_features
    ((2, 3, 4, 4), 'InstanceNorm2d', 3)
    """

    _plain = InstanceNorm2d


class LazyInstanceNorm3d(_LazyInstanceNorm, InstanceNorm3d):
    """A InstanceNorm3d whose num_features is that of its first input, as with LazyLinear.

    >>> layer = plait.nn.LazyInstanceNorm3d()
    >>> layer(plait.ones((2, 3, 4, 4, 4))).shape, type(layer).__name__, layer.num_features
    ((2, 3, 4, 4, 4), 'InstanceNorm3d', 3)
    """

    _plain = InstanceNorm3d
