"""Pooling by windows at random places, and what undoes the pooling of maxima."""

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.layers.checks import each, expect_dimensions, expect_indices, flag, name_of, number
from plait.inside.layers.first_weights import drawn
from plait.inside.trees.buffers import Buffer
from plait.inside.trees.module import Module


class _MaxUnpool(Module):
    _space = None

    def __init__(self, kernel_size, stride=None, padding=0):
        self.kernel_size = each(self, "kernel_size", kernel_size, self._space, 1)
        self.stride = self.kernel_size if stride is None else each(self, "stride", stride, self._space, 1)
        self.padding = each(self, "padding", padding, self._space)

    def __call__(self, input, indices, output_size=None):
        """The values at their indices, as max pooling returns them, and 0 elsewhere; output_size is the size in space."""
        expect_dimensions(self, input, self._space + 1, self._space + 2)
        expect_indices(self, "indices", asarray(indices), "those of max pooling")
        unpool = getattr(_core, f"max_unpool{self._space}d")
        return unpool(input, indices, self.kernel_size, stride=self.stride, padding=self.padding, output_size=self._sizes(input, output_size))

    def _sizes(self, input, output_size):
        usual = tuple((size - 1) * step - 2 * width + window for size, step, width, window in
                      zip(input.shape[-self._space:], self.stride, self.padding, self.kernel_size))
        if output_size is None:
            return usual
        wanted = tuple(output_size)[-self._space:]
        if len(wanted) < self._space or not all(size - step < given < size + step for given, size, step in zip(wanted, usual, self.stride)):
            raise errors.ValueError(f"{name_of(self)}: output_size is {tuple(output_size)}, expected sizes within the stride of {usual}")
        return wanted


class _FractionalMaxPool(Module):
    _space = None

    def __init__(self, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        self.kernel_size = each(self, "kernel_size", kernel_size, self._space, 1)
        if (output_size is None) == (output_ratio is None):
            raise errors.ValueError(f"{name_of(self)}: output_size is {output_size} and output_ratio {output_ratio}, expected one of them")
        self.output_size = None if output_size is None else each(self, "output_size", output_size, self._space, 1)
        self.output_ratio = None if output_ratio is None else self._ratios(output_ratio)
        self.return_indices = flag(self, "return_indices", return_indices)
        self._random_samples = None if _random_samples is None else Buffer(asarray(_random_samples))

    def _ratios(self, given):
        ratios = tuple(given) if isinstance(given, (tuple, list)) else (given,) * self._space
        if len(ratios) != self._space or not all(0 < number(self, "output_ratio", ratio) < 1 for ratio in ratios):
            raise errors.ValueError(f"{name_of(self)}: output_ratio is {given}, expected one number or {self._space}, between 0 and 1")
        return ratios

    def __call__(self, input, key=None):
        """The maxima; key draws the places of the windows."""
        expect_dimensions(self, input, self._space + 1, self._space + 2)
        pool = getattr(_core, f"fractional_max_pool{self._space}d_with_indices")
        found = tuple(pool(input, self.kernel_size, output_size=self._sizes(input), samples=self._samples(input, key)))
        return found if self.return_indices else found[0]

    def _sizes(self, input):
        sizes = input.shape[-self._space:]
        wanted = self.output_size or tuple(int(size * ratio) for size, ratio in zip(sizes, self.output_ratio))
        if not all(size + window - 1 <= given for size, window, given in zip(wanted, self.kernel_size, sizes)):
            raise errors.ShapeError(f"{name_of(self)}: {wanted} windows of {self.kernel_size} do not fit into {tuple(sizes)}")
        return wanted

    def _samples(self, input, key):
        """A number from 0 to 1 for each plane and dimension."""
        planes = input.shape[:-self._space]
        if self._random_samples is None:
            return _core.random.uniform(drawn(key), (*planes, self._space), dtype=input.dtype)
        samples = _core.astype(self._random_samples, input.dtype)
        return samples[0] if input.ndim == self._space + 1 else samples


class MaxUnpool1d(_MaxUnpool):
    """Puts the maxima of MaxPool1d back where its indices say, among zeros. The call may choose one of the possible sizes: output_size=.

    >>> values, indices = plait.nn.MaxPool1d(2, return_indices=True)(plait.ones((2, 3, 8)))
    >>> plait.nn.MaxUnpool1d(2)(values, indices).shape
    (2, 3, 8)
    """

    _space = 1


class MaxUnpool2d(_MaxUnpool):
    """Puts the maxima of MaxPool2d back where its indices say, among zeros. The call may choose one of the possible sizes: output_size=.

    >>> values, indices = plait.nn.MaxPool2d(2, return_indices=True)(plait.ones((2, 3, 8, 8)))
    >>> plait.nn.MaxUnpool2d(2)(values, indices).shape
    (2, 3, 8, 8)
    """

    _space = 2


class MaxUnpool3d(_MaxUnpool):
    """Puts the maxima of MaxPool3d back where its indices say, among zeros. The call may choose one of the possible sizes: output_size=.

    >>> values, indices = plait.nn.MaxPool3d(2, return_indices=True)(plait.ones((2, 3, 8, 8, 8)))
    >>> plait.nn.MaxUnpool3d(2)(values, indices).shape
    (2, 3, 8, 8, 8)
    """

    _space = 3


class FractionalMaxPool2d(_FractionalMaxPool):
    """The maxima of windows at random places of images [..., channels, height, width], for output_size or as a part of
    the input's: output_ratio. The call takes a key; without one, it is the next of the default stream.

    >>> plait.nn.FractionalMaxPool2d(2, output_ratio=0.5)(plait.ones((2, 3, 8, 8)), key=plait.random.key(0)).shape
    (2, 3, 4, 4)
    """

    _space = 2


class FractionalMaxPool3d(_FractionalMaxPool):
    """The maxima of windows at random places of volumes [..., channels, depth, height, width], for output_size or as a part of
    the input's: output_ratio. The call takes a key; without one, it is the next of the default stream.

    >>> plait.nn.FractionalMaxPool3d(2, output_ratio=0.5)(plait.ones((2, 3, 8, 8, 8)), key=plait.random.key(0)).shape
    (2, 3, 4, 4, 4)
    """

    _space = 3
