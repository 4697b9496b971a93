"""Colours and filters of images, against torchvision."""

import itertools
import unittest

import numpy as np
import plait as pl
import torch
from plait.data import transforms as T
from plait.data.transforms import functional as F
from torchvision.transforms.v2 import functional as tv
from transform_cases import TransformCase, image, smooth

FACTORS = (0.0, 0.3, 0.5, 1.0, 1.3, 2.0, 7.5)


def pictures():
    """Random and smooth images, of u8 and floats, with one channel and three, strided and in batches."""
    for dtype, channels in itertools.product(("u1", "f4", "f8"), (1, 3)):
        yield image((channels, 17, 23), dtype)
        yield smooth((channels, 40, 30), dtype)
        yield image((2, 2, channels, 5, 6), dtype)
        yield image((channels, 1, 1), dtype)
    yield image((3, 17, 23), "u1", interleaved=True)
    yield image((3, 17, 23), "f4")[:, ::-1, ::2]


class Colors(TransformCase):
    def test_each_function_is_torchvisions(self):
        cases = [(name, [(factor,) for factor in FACTORS]) for name in
                 ("adjust_brightness", "adjust_contrast", "adjust_saturation", "adjust_sharpness")]
        cases += [("adjust_hue", [(factor,) for factor in (-0.5, -0.2, 0.0, 0.01, 0.3, 0.5)]), ("posterize", [(bits,) for bits in range(9)]),
                  ("invert", [()]), ("autocontrast", [()]), ("equalize", [()]), ("rgb_to_grayscale", [(1,), (3,)])]
        for pixels, (name, arguments) in itertools.product(pictures(), cases):
            for given in arguments:
                wanted = getattr(tv, name)(torch.from_numpy(pixels.copy()), *given)
                self.close(getattr(F, name)(pl.asarray(pixels), *given), wanted, 1, (name, given, pixels.dtype, pixels.shape))

    def test_solarize(self):
        for pixels in pictures():
            for threshold in (0.0, 0.3, 0.999, 1.0) if pixels.dtype != np.uint8 else (0, 1, 100.5, 128, 255):
                self.close(F.solarize(pl.asarray(pixels), threshold), tv.solarize(torch.from_numpy(pixels.copy()), threshold), 0, threshold)

    def test_equalize_of_few_colours(self):
        for pixels in (np.full((3, 9, 9), 7, "u1"), np.zeros((1, 4, 4), "u1"), np.arange(300, dtype="u2").astype("u1").reshape(1, 15, 20)):
            self.close(F.equalize(pixels), tv.equalize(torch.from_numpy(pixels)), 0)
            self.close(F.autocontrast(pixels), tv.autocontrast(torch.from_numpy(pixels)), 0)

    def test_colours_outside_of_the_range(self):
        pixels = image((3, 6, 7), "f4") * 4 - 2
        for name, given in (("adjust_brightness", 1.5), ("adjust_contrast", 0.5), ("adjust_saturation", 2.0)):
            self.close(getattr(F, name)(pixels, given), getattr(tv, name)(torch.from_numpy(pixels), given), 0, name)

    def test_blur(self):
        for pixels, kernel, sigma in itertools.product(pictures(), (1, 3, [5, 3], [3, 9]), (None, 0.3, [1.0, 2.5])):
            size = kernel if isinstance(kernel, list) else [kernel, kernel]
            if size[0] // 2 >= pixels.shape[-1] or size[1] // 2 >= pixels.shape[-2]:
                self.refused(pl.ValueError, "too large for the image", lambda: F.gaussian_blur(pl.asarray(pixels), kernel, sigma))  # noqa: B023
                continue
            wanted = tv.gaussian_blur(torch.from_numpy(pixels.copy()), size, sigma)
            self.close(F.gaussian_blur(pl.asarray(pixels), kernel, sigma), wanted, 1, (kernel, sigma, pixels.dtype, pixels.shape))

    def test_narrow_floats(self):
        pixels = pl.asarray(image((3, 6, 7), "f4")).astype("f16")
        self.close(F.adjust_hue(pixels, 0.2).astype("f32"), F.adjust_hue(pixels.astype("f32"), 0.2).astype("f16").astype("f32").numpy())

    def test_bad_input(self):
        pixels = image((3, 6, 7))
        self.refused(pl.ShapeError, r"adjust_hue: the image \[2, 6, 7\] has 2 channels, expected 1 or 3", lambda: F.adjust_hue(pixels[:2], 0.1))
        self.refused(pl.ShapeError, r"has 7 channels.*\n.*to_image", lambda: F.rgb_to_grayscale(pixels.transpose(2, 0, 1)))
        self.refused(pl.ValueError, "the factor is -1, expected 0 or more", lambda: F.adjust_brightness(pixels, -1))
        self.refused(pl.ValueError, "the factor is 0.6, expected -0.5 to 0.5", lambda: F.adjust_hue(pixels, 0.6))
        self.refused(pl.ValueError, "the factor is nan", lambda: F.adjust_contrast(pixels, float("nan")))
        self.refused(pl.ValueError, "bits is 9, expected 0 to 8", lambda: F.posterize(pixels, 9))
        self.refused(pl.ValueError, "the threshold is 256, expected 255 at most", lambda: F.solarize(pixels, 256))
        self.refused(pl.ValueError, r"kernel_size is \[2, 3\], expected odd", lambda: F.gaussian_blur(pixels, [2, 3]))
        self.refused(pl.ValueError, "sigma is", lambda: F.gaussian_blur(pixels, 3, 0.0))
        self.refused(pl.ValueError, "ColorJitter: hue is", lambda: T.ColorJitter(hue=0.7))
        self.refused(pl.ValueError, "ColorJitter: brightness is -1", lambda: T.ColorJitter(brightness=-1))
        self.refused(pl.ValueError, "RandomGrayscale: p is 1.5, expected 0 to 1", lambda: T.RandomGrayscale(1.5))
        self.refused(pl.ValueError, "num_output_channels is 2", lambda: T.Grayscale(2))


if __name__ == "__main__":
    unittest.main()
