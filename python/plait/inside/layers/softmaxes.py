"""Activations along a dimension."""

from plait import _core, errors
from plait.inside.layers.checks import expect_dimensions, name_of, whole
from plait.inside.trees.module import Module


class _Along(Module):
    """A function along the dimension dim."""

    _function = None

    def __init__(self, dim=None):
        if dim is None:
            raise errors.TypeError.with_hint(f"{name_of(self)}: dim is missing: PyTorch's default depends on the number of dimensions",
                                             "dim=-1 is the last one, dim=1 the channels of [batch, channels, …]")
        self.dim = whole(self, "dim", dim, -64)

    def __call__(self, input):
        if input.ndim == 0:
            return self(input[None])[0]
        return type(self)._function(input, self.dim)


class Softmax(_Along):
    """exp(x) / sum(exp(x)) along dim.

    >>> plait.nn.Softmax(dim=-1)(plait.tensor([0.0, 0.0, 1.0]))
    [0.21194156 0.21194156 0.57611686] : f32[3]
    """

    _function = staticmethod(_core.softmax)


class LogSoftmax(_Along):
    """log(softmax(x)) along dim.

    >>> plait.nn.LogSoftmax(dim=-1)(plait.tensor([0.0, 0.0, 1.0]))
    [-1.5514448 -1.5514448 -0.5514447] : f32[3]
    """

    _function = staticmethod(_core.log_softmax)


class Softmin(_Along):
    """softmax(-x) along dim.

    >>> plait.nn.Softmin(dim=-1)(plait.tensor([0.0, 0.0, 1.0]))
    [0.4223188 0.4223188 0.1553624] : f32[3]
    """

    _function = staticmethod(_core.softmin)


class Softmax2d(Module):
    """softmax over the channels of images [batch, channels, height, width], at each place.

    >>> plait.nn.Softmax2d()(plait.zeros((1, 2, 1, 1))).flatten()
    [0.5 0.5] : f32[2]
    """

    def __call__(self, input):
        expect_dimensions(self, input, 3, 4)
        return _core.softmax(input, -3)


class GLU(Module):
    """a · sigmoid(b), where a and b are the halves of x along dim.

    >>> plait.nn.GLU()(plait.tensor([1.0, 2.0, 0.0, 0.0]))
    [0.5 1. ] : f32[2]
    """

    def __init__(self, dim=-1):
        self.dim = whole(self, "dim", dim, -64)

    def __call__(self, input):
        return _core.glu(input, self.dim)


class SwiGLU(Module):
    """silu(a) · b, where a and b are the halves of x along dim.

    >>> plait.nn.SwiGLU()(plait.tensor([1.0, 2.0, 1.0, 10.0]))
    [ 0.73105854 17.615942  ] : f32[2]
    """

    def __init__(self, dim=-1):
        self.dim = whole(self, "dim", dim, -64)

    def __call__(self, input):
        a, b = _core.split(input, parts=2, axis=self.dim)
        return _core.silu(a) * b
