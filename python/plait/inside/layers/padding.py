"""Layers that pad their input. Widths are given from the last dimension to the first: (left, right, top, bottom, front, back)."""

from plait import _core
from plait.inside.layers.checks import each, expect_dimensions, number, whole
from plait.inside.trees.module import Module


class _Pad(Module):
    _space = None
    _mode = "constant"
    _least = 0
    _value = 0.0

    def __init__(self, padding):
        self.padding = each(self, "padding", padding, 2 * self._space, self._least)

    def __call__(self, input):
        expect_dimensions(self, input, self._space + 1, self._space + 2)
        return padded(input, self.padding, self._mode, self._value)


def padded(x, padding, mode, value=0.0):
    """The tensor padded by these widths, last dimension first; negative ones cut."""
    pairs = list(zip(padding[::2], padding[1::2]))[::-1]
    cut = tuple(slice(max(-before, 0), x.shape[axis] + min(after, 0)) if min(before, after) < 0 else slice(None)
                for axis, (before, after) in enumerate(pairs, x.ndim - len(pairs)))
    if any(each != slice(None) for each in cut):
        x = x[(..., *cut)]
    widths = [(max(before, 0), max(after, 0)) for before, after in pairs]
    return _core.pad(x, widths, mode, value) if mode == "constant" else _core.pad(x, widths, mode)


class _ConstantPad(_Pad):
    _least = -2**31

    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = number(self, "value", value)

    @property
    def _value(self):
        return self.value


class _ZeroPad(_Pad):
    _least = -2**31


class _ReflectionPad(_Pad):
    _mode = "reflect"


class _ReplicationPad(_Pad):
    _mode = "edge"


class _CircularPad(_Pad):
    _mode = "wrap"


class ZeroPad1d(_ZeroPad):
    """Pads [..., channels, length] by zeros: by one width, or by (left, right).

    >>> plait.nn.ZeroPad1d((1, 0))(plait.arange(2.0).reshape(1, 2))
    [[0. 0. 1.]] : f32[1, 3]
    """

    _space = 1


class ZeroPad2d(_ZeroPad):
    """Pads images [..., channels, height, width] by zeros: by one width, or by (left, right, top, bottom).

    >>> plait.nn.ZeroPad2d(1)(plait.arange(4.0).reshape(1, 2, 2)).shape
    (1, 4, 4)
    """

    _space = 2


class ZeroPad3d(_ZeroPad):
    """Pads volumes [..., channels, depth, height, width] by zeros: by one width, or by (left, right, top, bottom, front, back).

    >>> plait.nn.ZeroPad3d(1)(plait.arange(8.0).reshape(1, 2, 2, 2)).shape
    (1, 4, 4, 4)
    """

    _space = 3


class ConstantPad1d(_ConstantPad):
    """Pads [..., channels, length] by the value: by one width, or by (left, right).

    >>> plait.nn.ConstantPad1d((1, 0), 7)(plait.arange(2.0).reshape(1, 2))
    [[7. 0. 1.]] : f32[1, 3]
    """

    _space = 1


class ConstantPad2d(_ConstantPad):
    """Pads images [..., channels, height, width] by the value: by one width, or by (left, right, top, bottom).

    >>> plait.nn.ConstantPad2d(1, 7)(plait.arange(4.0).reshape(1, 2, 2)).shape
    (1, 4, 4)
    """

    _space = 2


class ConstantPad3d(_ConstantPad):
    """Pads volumes [..., channels, depth, height, width] by the value: by one width, or by (left, right, top, bottom, front, back).

    >>> plait.nn.ConstantPad3d(1, 7)(plait.arange(8.0).reshape(1, 2, 2, 2)).shape
    (1, 4, 4, 4)
    """

    _space = 3


class ReflectionPad1d(_ReflectionPad):
    """Pads [..., channels, length] by the elements before and after the ends, in reverse: by one width, or by (left, right).

    >>> plait.nn.ReflectionPad1d((1, 0))(plait.arange(2.0).reshape(1, 2))
    [[1. 0. 1.]] : f32[1, 3]
    """

    _space = 1


class ReflectionPad2d(_ReflectionPad):
    """Pads images [..., channels, height, width] by the elements before and after the ends, in reverse: by one width, or by (left,
    right, top, bottom).

    >>> plait.nn.ReflectionPad2d(1)(plait.arange(4.0).reshape(1, 2, 2)).shape
    (1, 4, 4)
    """

    _space = 2


class ReflectionPad3d(_ReflectionPad):
    """Pads volumes [..., channels, depth, height, width] by the elements before and after the ends, in reverse: by one
    width, or by (left, right, top, bottom, front, back).

    >>> plait.nn.ReflectionPad3d(1)(plait.arange(8.0).reshape(1, 2, 2, 2)).shape
    (1, 4, 4, 4)
    """

    _space = 3


class ReplicationPad1d(_ReplicationPad):
    """Pads [..., channels, length] by repeating the elements at the ends: by one width, or by (left, right).

    >>> plait.nn.ReplicationPad1d((1, 0))(plait.arange(2.0).reshape(1, 2))
    [[0. 0. 1.]] : f32[1, 3]
    """

    _space = 1


class ReplicationPad2d(_ReplicationPad):
    """Pads images [..., channels, height, width] by repeating the elements at the ends: by one width, or by (left, right, top, bottom).

    >>> plait.nn.ReplicationPad2d(1)(plait.arange(4.0).reshape(1, 2, 2)).shape
    (1, 4, 4)
    """

    _space = 2


class ReplicationPad3d(_ReplicationPad):
    """Pads volumes [..., channels, depth, height, width] by repeating the elements at the ends: by one width, or by (left,
    right, top, bottom, front, back).

    >>> plait.nn.ReplicationPad3d(1)(plait.arange(8.0).reshape(1, 2, 2, 2)).shape
    (1, 4, 4, 4)
    """

    _space = 3


class CircularPad1d(_CircularPad):
    """Pads [..., channels, length] by what is at the other end: by one width, or by (left, right).

    >>> plait.nn.CircularPad1d((1, 0))(plait.arange(2.0).reshape(1, 2))
    [[1. 0. 1.]] : f32[1, 3]
    """

    _space = 1


class CircularPad2d(_CircularPad):
    """Pads images [..., channels, height, width] by what is at the other end: by one width, or by (left, right, top, bottom).

    >>> plait.nn.CircularPad2d(1)(plait.arange(4.0).reshape(1, 2, 2)).shape
    (1, 4, 4)
    """

    _space = 2


class CircularPad3d(_CircularPad):
    """Pads volumes [..., channels, depth, height, width] by what is at the other end: by one width, or by (left, right, top, bottom, front, back).

    >>> plait.nn.CircularPad3d(1)(plait.arange(8.0).reshape(1, 2, 2, 2)).shape
    (1, 4, 4, 4)
    """

    _space = 3
