"""Layers that change the resolution of their input."""

from plait import _core, errors
from plait.inside.layers.checks import each, expect_dimensions, name_of, one_of, positive
from plait.inside.trees.module import Module

_MODES = {"nearest": "nearest", "nearest-exact": "nearest_exact", "linear": "linear", "bilinear": "linear", "trilinear": "linear",
          "bicubic": "cubic", "area": "area"}
_DIMENSIONS = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}


class Upsample(Module):
    """Resamples the spatial dimensions of [batch, channels, …] to a size, or by a scale_factor. Modes: nearest, nearest-exact, linear,
    bilinear, bicubic, trilinear, area.

    >>> plait.nn.Upsample(scale_factor=2)(plait.tensor([[[1.0, 2.0]]]))
    [[[1. 1. 2. 2.]]] : f32[1, 1, 4]
    """

    def __init__(self, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None):
        if (size is None) == (scale_factor is None):
            raise errors.ValueError(f"{name_of(self)}: size is {size} and scale_factor {scale_factor}, expected one of them")
        self.size = size if size is None else each(self, "size", size, len(size) if isinstance(size, (tuple, list)) else 1, 1)
        self.scale_factor = self._checked_scale(scale_factor)
        self.mode = one_of(self, "mode", mode, _MODES)
        if align_corners is not None and mode not in _DIMENSIONS:
            raise errors.ValueError(f"{name_of(self)}: align_corners is {align_corners}, which the mode {mode} does not have")
        self.align_corners, self.recompute_scale_factor = align_corners, recompute_scale_factor

    def _checked_scale(self, scale_factor):
        if isinstance(scale_factor, (tuple, list)):
            return tuple(positive(self, "scale_factor", scale) for scale in scale_factor)
        return scale_factor if scale_factor is None else positive(self, "scale_factor", scale_factor)

    def __call__(self, input):
        expect_dimensions(self, input, *((_DIMENSIONS[self.mode],) if self.mode in _DIMENSIONS else (3, 4, 5)))
        size, scale = self.size, self.scale_factor
        space = input.ndim - 2
        if size is not None and len(size) == 1:
            size = size * space
        if scale is not None and self.recompute_scale_factor:
            scales = scale if isinstance(scale, tuple) else (scale,) * space
            size, scale = tuple(int(given * factor) for given, factor in zip(input.shape[2:], scales)), None
        return _core.interpolate(input, size=size, scale_factor=scale, mode=_MODES[self.mode], align_corners=bool(self.align_corners))


class UpsamplingNearest2d(Upsample):
    """Upsample of images, in which each element is that of the nearest one.

    >>> plait.nn.UpsamplingNearest2d(scale_factor=2)(plait.tensor([[[[1.0, 2.0]]]]))
    [[[[1. 1. 2. 2.]
       [1. 1. 2. 2.]]]] : f32[1, 1, 2, 4]
    """

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Upsample of images by linear interpolation, in which the corners stay where they are.

    >>> plait.nn.UpsamplingBilinear2d(size=(1, 3))(plait.tensor([[[[1.0, 2.0]]]]))
    [[[[1.  1.5 2. ]]]] : f32[1, 1, 1, 3]
    """

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
