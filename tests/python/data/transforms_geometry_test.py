"""Rotations and affine maps of images, against torchvision."""

import itertools
import unittest

import plait as pl
import torch
from plait.data import transforms as T
from plait.data.transforms import functional as F
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as tv
from transform_cases import TransformCase, image, smooth

SHAPES = [(3, 24, 31), (1, 16, 16), (2, 3, 9, 40), (3, 1, 1), (3, 2, 50)]
# Where a place is halfway between two pixels, the nearest one may be the other.
FEW = 2e-3
STEPS = [(x, y) for x, y in itertools.product((-2e-3, 0, 2e-3), repeat=2) if x or y]


def nearby_maps(pixels, angle, translate, scale, shear, fill, center):
    """torchvision's affine maps by slightly other translations."""
    return [tv.affine(pixels, angle, [translate[0] + x, translate[1] + y], scale, shear, v2.InterpolationMode.NEAREST, fill, center) for x, y in STEPS]


def nearby_rotations(pixels, angle, expand, center, fill):
    """torchvision's rotations to slightly other places."""
    if not expand:
        return nearby_maps(pixels, -angle, [0, 0], 1.0, [0, 0], fill, center)
    wanted = tv.rotate(pixels, angle, v2.InterpolationMode.NEAREST, expand, center, fill)
    x, y = center or (pixels.shape[-1] / 2, pixels.shape[-2] / 2)
    moves = itertools.product((-1e-3, 0, 1e-3), (-0.02, 0, 0.02), (-0.02, 0, 0.02))  # the angle, and its centre
    found = [tv.rotate(pixels, angle + turned, v2.InterpolationMode.NEAREST, expand, [x + right, y + down], fill) for turned, right, down in moves]
    return [each for each in found if each.shape == wanted.shape]


class Geometry(TransformCase):
    def test_rotate_is_torchvisions(self):
        angles = (0, 10.5, 45, 90, 135.25, 180, 270, -30, 359, 725)
        for dtype, shape, angle, mode, expand in itertools.product(("u1", "f4"), SHAPES, angles, ("nearest", "bilinear"), (False, True)):
            pixels = image(shape, dtype)
            for fill, center in ((None, None), (0, None), (5 if dtype == "u1" else 0.5, [3.0, 2.0]), ([0.25] * shape[-3], None)):
                wanted = tv.rotate(torch.from_numpy(pixels), angle, v2.InterpolationMode(mode), expand, center, fill)
                got = F.rotate(pixels, angle, mode, expand, center, fill)
                self.close(got, wanted, 1, (dtype, shape, angle, mode, expand, fill, center), FEW if mode == "nearest" else 0,
                           lambda: nearby_rotations(torch.from_numpy(pixels), angle, expand, center, fill))  # noqa: B023

    def test_a_batch_of_no_images_is_turned(self):
        for angle in (90, 180, 33.3):
            wanted = tv.rotate(torch.zeros((0, 3, 8, 2)), angle, expand=True)
            self.assertEqual(F.rotate(pl.zeros((0, 3, 8, 2)), angle, expand=True).shape, tuple(wanted.shape))

    def test_affine_is_torchvisions(self):
        maps = [(0, [0, 0], 1.0, [0, 0]), (0, [3, -2], 1.0, [0, 0]), (30, [0, 0], 1.0, [0, 0]), (0, [0, 0], 0.6, [0, 0]), (0, [0, 0], 2.5, [0, 0]),
                (0, [0, 0], 1.0, [20, 0]), (0, [0, 0], 1.0, [0, -15.5]), (-77, [2, 5], 1.2, [12, 7])]
        for dtype, shape, given, mode in itertools.product(("u1", "f4", "f8"), SHAPES, maps, ("nearest", "bilinear")):
            pixels = smooth(shape, dtype) if len(shape) == 3 else image(shape, dtype)
            for fill, center in ((None, None), (0, None), (0.5, [0, 0])):
                wanted = tv.affine(torch.from_numpy(pixels), *given, v2.InterpolationMode(mode), fill, center)
                self.close(F.affine(pixels, *given, mode, fill, center), wanted, 1, (dtype, shape, given, mode, fill, center),
                           FEW if mode == "nearest" else 0, lambda: nearby_maps(torch.from_numpy(pixels), *given, fill, center))  # noqa: B023

    def test_nearest_of_large_images(self):
        pixels = image((3, 160, 211))
        for angle in (1.5, 33, 45, 61.7, 100):
            self.close(F.rotate(pixels, angle), tv.rotate(torch.from_numpy(pixels), angle), 0, angle, FEW)

    def test_bad_input(self):
        pixels = image((3, 6, 7))
        self.refused(pl.ValueError, "rotate: the interpolation is bicubic, expected nearest or bilinear", lambda: F.rotate(pixels, 10, "bicubic"))
        self.refused(pl.ValueError, "rotate: fill has 2 numbers, expected one or 3", lambda: F.rotate(pixels, 10, fill=[1, 2]))
        self.refused(pl.ValueError, "affine: the scale is 0, expected more than 0", lambda: F.affine(pixels, 0, [0, 0], 0, 0))
        self.refused(pl.ValueError, "rotate: the angle is", lambda: F.rotate(pixels, float("inf")))
        self.refused(pl.ValueError, "RandomRotation: degrees is -5", lambda: T.RandomRotation(-5))
        self.refused(pl.ValueError, r"RandomRotation: degrees is \[5, 1\]", lambda: T.RandomRotation((5, 1)))
        self.refused(pl.ValueError, "RandomAffine: translate has 2, expected 0 to 1", lambda: T.RandomAffine(5, translate=(0, 2)))
        self.refused(pl.ValueError, "RandomAffine: scale is", lambda: T.RandomAffine(5, scale=(0, 2)))
        self.refused(pl.ValueError, "shear is", lambda: T.RandomAffine(5, shear=(0, 2, 3)))
        self.refused(pl.ValueError, "GaussianBlur: kernel_size is 4", lambda: T.GaussianBlur(4))
        self.refused(pl.ValueError, "GaussianBlur: sigma is", lambda: T.GaussianBlur(3, 0))


if __name__ == "__main__":
    unittest.main()
