"""Layers without weights that rearrange their input."""

from plait import _core, errors
from plait.inside.layers.checks import each, name_of, whole
from plait.inside.trees.module import Module


class Flatten(Module):
    """Joins the dimensions from start_dim to end_dim into one.

    >>> plait.nn.Flatten()(plait.ones((2, 3, 4))).shape
    (2, 12)
    """

    def __init__(self, start_dim=1, end_dim=-1):
        self.start_dim, self.end_dim = whole(self, "start_dim", start_dim, -64), whole(self, "end_dim", end_dim, -64)
        if (self.start_dim < 0) == (self.end_dim < 0) and self.start_dim > self.end_dim:
            raise errors.ValueError(f"nn.Flatten: start_dim is {start_dim} and end_dim is {end_dim}, expected the first dimension before the last one")

    def __call__(self, input):
        return _core.flatten(input, self.start_dim, self.end_dim)


class Unflatten(Module):
    """Splits the dimension dim into several of these sizes, one of which may be -1.

    >>> plait.nn.Unflatten(1, (2, -1))(plait.ones((5, 6))).shape
    (5, 2, 3)
    """

    def __init__(self, dim, unflattened_size):
        self.dim = whole(self, "dim", dim, -64)
        if not isinstance(unflattened_size, (tuple, list)):
            raise errors.TypeError(f"{name_of(self)}: unflattened_size is {unflattened_size!r}, expected a tuple of sizes")
        self.unflattened_size = tuple(whole(self, "unflattened_size", size, -1) for size in unflattened_size)
        if self.unflattened_size.count(-1) > 1:
            raise errors.ValueError(f"{name_of(self)}: unflattened_size is {unflattened_size!r}, expected -1 at one place at most")

    def __call__(self, input):
        return _core.unflatten(input, self.dim, self.unflattened_size)


class PixelShuffle(Module):
    """Moves channels into space: [..., c·r², h, w] to [..., c, h·r, w·r].

    >>> plait.nn.PixelShuffle(2)(plait.ones((1, 12, 3, 5))).shape
    (1, 3, 6, 10)
    """

    def __init__(self, upscale_factor):
        self.upscale_factor = whole(self, "upscale_factor", upscale_factor, 1)

    def __call__(self, input):
        return _core.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(Module):
    """Moves space into channels: [..., c, h·r, w·r] to [..., c·r², h, w].

    >>> plait.nn.PixelUnshuffle(2)(plait.ones((1, 3, 6, 10))).shape
    (1, 12, 3, 5)
    """

    def __init__(self, downscale_factor):
        self.downscale_factor = whole(self, "downscale_factor", downscale_factor, 1)

    def __call__(self, input):
        return _core.pixel_unshuffle(input, self.downscale_factor)


class ChannelShuffle(Module):
    """Interleaves the groups of channels, which are along axis 1.

    >>> plait.nn.ChannelShuffle(2)(plait.arange(4).reshape(1, 4, 1, 1)).flatten()
    [0 2 1 3] : i64[4]
    """

    def __init__(self, groups):
        self.groups = whole(self, "groups", groups, 1)

    def __call__(self, input):
        return _core.channel_shuffle(input, self.groups)


class _Windows(Module):
    def _set(self, kernel_size, dilation, padding, stride):
        self.kernel_size = each(self, "kernel_size", kernel_size, 2, 1)
        self.dilation = each(self, "dilation", dilation, 2, 1)
        self.padding = each(self, "padding", padding, 2)
        self.stride = each(self, "stride", stride, 2, 1)

    @property
    def _options(self):
        return {"dilation": self.dilation, "padding": self.padding, "stride": self.stride}


class Unfold(_Windows):
    """The elements of each window of images [..., channels, height, width], as columns [..., channels · elements, windows].

    >>> plait.nn.Unfold(2)(plait.ones((1, 3, 4, 5))).shape
    (1, 12, 12)
    """

    def __init__(self, kernel_size, dilation=1, padding=0, stride=1):
        self._set(kernel_size, dilation, padding, stride)

    def __call__(self, input):
        return _core.unfold(input, self.kernel_size, **self._options)


class Fold(_Windows):
    """Sums the columns of Unfold into images of output_size.

    >>> plait.nn.Fold((4, 5), 2)(plait.ones((1, 12, 12))).shape
    (1, 3, 4, 5)
    """

    def __init__(self, output_size, kernel_size, dilation=1, padding=0, stride=1):
        self.output_size = each(self, "output_size", output_size, 2, 1)
        self._set(kernel_size, dilation, padding, stride)

    def __call__(self, input):
        return _core.fold(input, self.output_size, self.kernel_size, **self._options)
