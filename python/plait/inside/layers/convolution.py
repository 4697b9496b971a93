"""Convolutions and their transposes, of one to three dimensions."""

from plait import _core, errors
from plait.inside.layers.checks import each, expect_dimensions, multiple, name_of, one_of, whole
from plait.inside.layers.on_device import on_device
from plait.inside.layers.padding import padded
from plait.inside.layers.first_weights import default_weights
from plait.inside.trees.module import Module

_PAD_MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


class _Convolution(Module):
    _space = None
    _is_transposed = False

    def _set(self, in_channels, out_channels, kernel_size, stride, dilation, groups):
        self.in_channels, self.out_channels = whole(self, "in_channels", in_channels), whole(self, "out_channels", out_channels)
        self.groups = whole(self, "groups", groups, 1)
        multiple(self, "in_channels", self.in_channels, "groups", self.groups)
        multiple(self, "out_channels", self.out_channels, "groups", self.groups)
        self.kernel_size = each(self, "kernel_size", kernel_size, self._space, 1)
        self.stride = each(self, "stride", stride, self._space, 1)
        self.dilation = each(self, "dilation", dilation, self._space, 1)

    def _make_weights(self, bias, key, dtype):
        rows, columns = (self.in_channels, self.out_channels) if self._is_transposed else (self.out_channels, self.in_channels)
        shape = (rows, columns // self.groups, *self.kernel_size)
        self.weight, self.bias = default_weights(shape, bias, key, dtype, outputs=self.out_channels)


class _Conv(_Convolution):
    @on_device
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, padding_mode="zeros", *,
                 key=None, dtype=_core.f32):
        self._set(in_channels, out_channels, kernel_size, stride, dilation, groups)
        self.padding = self._checked_padding(padding)
        self.padding_mode = one_of(self, "padding_mode", padding_mode, _PAD_MODES)
        self._make_weights(bias, key, dtype)

    def _checked_padding(self, padding):
        if not isinstance(padding, str):
            return each(self, "padding", padding, self._space)
        one_of(self, "padding", padding, ("valid", "same"))
        if padding == "same" and max(self.stride) > 1:
            raise errors.ValueError(f"{name_of(self)}: padding is 'same' with a stride of {max(self.stride)}, expected a stride of 1")
        return padding

    def __call__(self, input):
        expect_dimensions(self, input, self._space + 1, self._space + 2)
        padding = self.padding
        if self.padding_mode != "zeros" and padding != "valid":
            input, padding = padded(input, self._widths(), _PAD_MODES[self.padding_mode]), 0
        convolve = getattr(_core, f"conv{self._space}d")
        return convolve(input, self.weight, self.bias, stride=self.stride, padding=padding, dilation=self.dilation, groups=self.groups)

    def _widths(self):
        """The widths before and after each dimension, from the last one to the first."""
        if self.padding == "same":
            totals = [dilation * (size - 1) for dilation, size in zip(self.dilation, self.kernel_size)]
            pairs = [(total // 2, total - total // 2) for total in totals]
        else:
            pairs = [(width, width) for width in self.padding]
        return [width for pair in reversed(pairs) for width in pair]


class _ConvTranspose(_Convolution):
    _is_transposed = True

    @on_device
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1,
                 padding_mode="zeros", *, key=None, dtype=_core.f32):
        self._set(in_channels, out_channels, kernel_size, stride, dilation, groups)
        self.padding = each(self, "padding", padding, self._space)
        self.output_padding = each(self, "output_padding", output_padding, self._space)
        if any(extra >= max(step, spread) for extra, step, spread in zip(self.output_padding, self.stride, self.dilation)):
            raise errors.ValueError(f"{name_of(self)}: output_padding is {self.output_padding}, expected less than the stride, {self.stride}, "
                                    f"or the dilation, {self.dilation}")
        self.padding_mode = one_of(self, "padding_mode", padding_mode, ("zeros",))
        self._make_weights(bias, key, dtype)

    def __call__(self, input, output_size=None):
        """The output; output_size is its size in space, one of those that the stride allows."""
        expect_dimensions(self, input, self._space + 1, self._space + 2)
        extra = self.output_padding if output_size is None else self._extra(input.shape[-self._space:], output_size)
        convolve = getattr(_core, f"conv_transpose{self._space}d")
        return convolve(input, self.weight, self.bias, stride=self.stride, padding=self.padding, output_padding=extra, groups=self.groups,
                        dilation=self.dilation)

    def _extra(self, sizes, output_size):
        """The output padding that leads to this size, which may be given with the batch and the channels."""
        wanted = tuple(output_size)[-self._space:]
        least = [(size - 1) * step - 2 * width + spread * (window - 1) + 1
                 for size, step, width, spread, window in zip(sizes, self.stride, self.padding, self.dilation, self.kernel_size)]
        most = [size + max(step, spread) - 1 for size, step, spread in zip(least, self.stride, self.dilation)]
        if len(wanted) < self._space or not all(low <= size <= high for low, size, high in zip(least, wanted, most)):
            raise errors.ValueError(f"{name_of(self)}: output_size is {tuple(output_size)}, expected sizes from {tuple(least)} to {tuple(most)}")
        return tuple(size - low for size, low in zip(wanted, least))


class Conv1d(_Conv):
    """A convolution of [..., channels, length]; weight is [out_channels, in_channels / groups, *kernel_size].

    >>> plait.nn.Conv1d(3, 8, 2, stride=2)(plait.ones((2, 3, 8))).shape
    (2, 8, 4)
    """

    _space = 1


class Conv2d(_Conv):
    """A convolution of images [..., channels, height, width]; weight is [out_channels, in_channels / groups, *kernel_size].

    >>> plait.nn.Conv2d(3, 8, 2, stride=2)(plait.ones((2, 3, 8, 8))).shape
    (2, 8, 4, 4)
    """

    _space = 2


class Conv3d(_Conv):
    """A convolution of volumes [..., channels, depth, height, width]; weight is [out_channels, in_channels / groups, *kernel_size].

    >>> plait.nn.Conv3d(3, 8, 2, stride=2)(plait.ones((2, 3, 4, 4, 4))).shape
    (2, 8, 2, 2, 2)
    """

    _space = 3


class ConvTranspose1d(_ConvTranspose):
    """The transpose of Conv1d, which enlarges [..., channels, length]; weight is [in_channels, out_channels / groups, *kernel_size]. The call may
    choose one of the possible output sizes: output_size=.

    >>> plait.nn.ConvTranspose1d(3, 8, 2, stride=2)(plait.ones((2, 3, 8))).shape
    (2, 8, 16)
    """

    _space = 1


class ConvTranspose2d(_ConvTranspose):
    """The transpose of Conv2d, which enlarges images [..., channels, height, width]; weight is [in_channels, out_channels /
    groups, *kernel_size]. The call may choose one of the possible output sizes: output_size=.

    >>> plait.nn.ConvTranspose2d(3, 8, 2, stride=2)(plait.ones((2, 3, 8, 8))).shape
    (2, 8, 16, 16)
    """

    _space = 2


class ConvTranspose3d(_ConvTranspose):
    """The transpose of Conv3d, which enlarges volumes [..., channels, depth, height, width]; weight is [in_channels,
    out_channels / groups, *kernel_size]. The call may choose one of the possible output sizes: output_size=.

    >>> plait.nn.ConvTranspose3d(3, 8, 2, stride=2)(plait.ones((2, 3, 4, 4, 4))).shape
    (2, 8, 8, 8, 8)
    """

    _space = 3
