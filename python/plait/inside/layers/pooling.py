"""Pooling: maxima, means and norms of windows, of one to three dimensions."""

from plait import _core, errors
from plait.inside.layers.checks import each, expect_dimensions, flag, name_of, number, whole
from plait.inside.trees.module import Module


class _Pool(Module):
    _space = None

    def _set(self, kernel_size, stride, padding=0, ceil_mode=False, dilation=1):
        self.kernel_size = each(self, "kernel_size", kernel_size, self._space, 1)
        self.stride = self.kernel_size if stride is None else each(self, "stride", stride, self._space, 1)
        self.padding = each(self, "padding", padding, self._space)
        self.dilation = each(self, "dilation", dilation, self._space, 1)
        extents = tuple((window - 1) * spread + 1 for window, spread in zip(self.kernel_size, self.dilation))
        if any(2 * width > extent for width, extent in zip(self.padding, extents)):
            raise errors.ValueError(f"{name_of(self)}: padding is {self.padding}, expected at most half of the windows, {extents}")
        self.ceil_mode = flag(self, "ceil_mode", ceil_mode)

    def _function(self, name):
        return getattr(_core, name.format(self._space))

    def _check(self, input):
        expect_dimensions(self, input, self._space + 1, self._space + 2)


class _MaxPool(_Pool):
    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False):
        self._set(kernel_size, stride, padding, ceil_mode, dilation)
        self.return_indices = flag(self, "return_indices", return_indices)

    def __call__(self, input):
        self._check(input)
        pool = self._function("max_pool{}d_with_indices" if self.return_indices else "max_pool{}d")
        found = pool(input, self.kernel_size, stride=self.stride, padding=self.padding, dilation=self.dilation, ceil_mode=self.ceil_mode)
        return tuple(found) if self.return_indices else found


class _AvgPool(_Pool):
    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        self._set(kernel_size, stride, padding, ceil_mode)
        self.count_include_pad = flag(self, "count_include_pad", count_include_pad)
        self.divisor_override = None if divisor_override is None else whole(self, "divisor_override", divisor_override, 1)

    def __call__(self, input):
        self._check(input)
        return self._function("avg_pool{}d")(input, self.kernel_size, stride=self.stride, padding=self.padding, ceil_mode=self.ceil_mode,
                                             count_include_pad=self.count_include_pad, divisor_override=self.divisor_override)


class _LPPool(_Pool):
    def __init__(self, norm_type, kernel_size, stride=None, ceil_mode=False):
        self.norm_type = number(self, "norm_type", norm_type)
        if norm_type == 0:
            raise errors.ValueError(f"{name_of(self)}: norm_type is 0, expected another number")
        self._set(kernel_size, stride, ceil_mode=ceil_mode)

    def __call__(self, input):
        self._check(input)
        pool = getattr(_core, f"lp_pool{self._space}d")
        return pool(input, self.norm_type, self.kernel_size, stride=self.stride, ceil_mode=self.ceil_mode)


class _AdaptivePool(_Pool):
    def _set_output(self, output_size):
        sizes = output_size if isinstance(output_size, (tuple, list)) else (output_size,) * self._space
        if len(sizes) != self._space:
            raise errors.ValueError(f"{name_of(self)}: output_size has {len(sizes)} numbers, expected one or {self._space}")
        self.output_size = tuple(None if size is None else whole(self, "output_size", size) for size in sizes)

    def _sizes(self, input):
        self._check(input)
        return tuple(given if size is None else size for size, given in zip(self.output_size, input.shape[-self._space:]))


class _AdaptiveAvgPool(_AdaptivePool):
    def __init__(self, output_size):
        self._set_output(output_size)

    def __call__(self, input):
        return self._function("adaptive_avg_pool{}d")(input, self._sizes(input))


class _AdaptiveMaxPool(_AdaptivePool):
    def __init__(self, output_size, return_indices=False):
        self._set_output(output_size)
        self.return_indices = flag(self, "return_indices", return_indices)

    def __call__(self, input):
        pool = self._function("adaptive_max_pool{}d_with_indices" if self.return_indices else "adaptive_max_pool{}d")
        found = pool(input, self._sizes(input))
        return tuple(found) if self.return_indices else found


class MaxPool1d(_MaxPool):
    """The maximum of each window of [..., channels, length]; with return_indices, also its flat index in its plane.

    >>> plait.nn.MaxPool1d(2)(plait.ones((2, 3, 8))).shape
    (2, 3, 4)
    """

    _space = 1


class MaxPool2d(_MaxPool):
    """The maximum of each window of images [..., channels, height, width]; with return_indices, also its flat index in its plane.

    >>> plait.nn.MaxPool2d(2)(plait.ones((2, 3, 8, 8))).shape
    (2, 3, 4, 4)
    """

    _space = 2


class MaxPool3d(_MaxPool):
    """The maximum of each window of volumes [..., channels, depth, height, width]; with return_indices, also its flat index in its plane.

    >>> plait.nn.MaxPool3d(2)(plait.ones((2, 3, 8, 8, 8))).shape
    (2, 3, 4, 4, 4)
    """

    _space = 3


class AvgPool1d(_AvgPool):
    """The mean of each window of [..., channels, length].

    >>> plait.nn.AvgPool1d(2)(plait.ones((2, 3, 8))).shape
    (2, 3, 4)
    """

    _space = 1

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)


class AvgPool2d(_AvgPool):
    """The mean of each window of images [..., channels, height, width].

    >>> plait.nn.AvgPool2d(2)(plait.ones((2, 3, 8, 8))).shape
    (2, 3, 4, 4)
    """

    _space = 2


class AvgPool3d(_AvgPool):
    """The mean of each window of volumes [..., channels, depth, height, width].

    >>> plait.nn.AvgPool3d(2)(plait.ones((2, 3, 8, 8, 8))).shape
    (2, 3, 4, 4, 4)
    """

    _space = 3


class LPPool1d(_LPPool):
    """The norm of each window of [..., channels, length]: the sum of its elements to the power norm_type, to the power 1 / norm_type.

    >>> plait.nn.LPPool1d(2, 2)(plait.ones((2, 3, 8))).shape
    (2, 3, 4)
    """

    _space = 1


class LPPool2d(_LPPool):
    """The norm of each window of images [..., channels, height, width]: the sum of its elements to the power norm_type, to the power 1 / norm_type.

    >>> plait.nn.LPPool2d(2, 2)(plait.ones((2, 3, 8, 8))).shape
    (2, 3, 4, 4)
    """

    _space = 2


class LPPool3d(_LPPool):
    """The norm of each window of volumes [..., channels, depth, height, width]: the sum of its elements to the power
    norm_type, to the power 1 / norm_type.

    >>> plait.nn.LPPool3d(2, 2)(plait.ones((2, 3, 8, 8, 8))).shape
    (2, 3, 4, 4, 4)
    """

    _space = 3


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """The means of windows of [..., channels, length], whose size follows from output_size; None keeps a size.

    >>> plait.nn.AdaptiveAvgPool1d(3)(plait.ones((2, 3, 8))).shape
    (2, 3, 3)
    """

    _space = 1


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """The means of windows of images [..., channels, height, width], whose size follows from output_size; None keeps a size.

    >>> plait.nn.AdaptiveAvgPool2d(3)(plait.ones((2, 3, 8, 8))).shape
    (2, 3, 3, 3)
    """

    _space = 2


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """The means of windows of volumes [..., channels, depth, height, width], whose size follows from output_size; None keeps a size.

    >>> plait.nn.AdaptiveAvgPool3d(3)(plait.ones((2, 3, 8, 8, 8))).shape
    (2, 3, 3, 3, 3)
    """

    _space = 3


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """The maxima of windows of [..., channels, length], whose size follows from output_size; None keeps a size. With return_indices, also their flat
    indices in their planes.

    >>> plait.nn.AdaptiveMaxPool1d(3)(plait.ones((2, 3, 8))).shape
    (2, 3, 3)
    """

    _space = 1


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """The maxima of windows of images [..., channels, height, width], whose size follows from output_size; None keeps a
    size. With return_indices, also their flat indices in their planes.

    >>> plait.nn.AdaptiveMaxPool2d(3)(plait.ones((2, 3, 8, 8))).shape
    (2, 3, 3, 3)
    """

    _space = 2


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """The maxima of windows of volumes [..., channels, depth, height, width], whose size follows from output_size; None
    keeps a size. With return_indices, also their flat indices in their planes.

    >>> plait.nn.AdaptiveMaxPool3d(3)(plait.ones((2, 3, 8, 8, 8))).shape
    (2, 3, 3, 3, 3)
    """

    _space = 3
