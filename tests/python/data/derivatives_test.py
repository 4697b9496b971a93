"""A derivative with respect to samples, batches or images of plait.data is an error, not 0."""

import unittest

import numpy as np
import plait as pl
from plait import data
from plait.data import transforms as T
from plait.data.transforms import functional as F

# Numbers for each function of images.
ARGUMENTS = {
    "resize": ([2, 2],), "crop": (0, 0, 2, 2), "center_crop": ([2, 2],), "pad": ([1],), "hflip": (), "vflip": (), "horizontal_flip": (), "vertical_flip": (),
    "rotate": (30.0,), "affine": (10.0, [0, 0], 1.0, [0, 0]), "gaussian_blur": ([3, 3],), "adjust_brightness": (2.0,), "adjust_contrast": (2.0,),
    "adjust_saturation": (2.0,), "adjust_hue": (0.1,), "adjust_sharpness": (2.0,), "invert": (), "solarize": (0.5,), "autocontrast": (), "equalize": (),
    "posterize": (3,), "normalize": ([0.5], [0.5]), "rgb_to_grayscale": (), "to_grayscale": (), "erase": (0, 0, 1, 1, 0.0),
    "resized_crop": (0, 0, 2, 2, [2, 2]), "to_dtype": ("f64",)}


class Derivatives(unittest.TestCase):
    def refused(self, function, x):
        for derivative in (pl.grad(lambda x: function(x).sum()), lambda x: pl.jvp(function, (x,), (x,))):
            with self.assertRaisesRegex(pl.TypeError, "a derivative with respect to .* is computed"):
                derivative(x)

    def test_of_functions_of_images(self):
        image = pl.asarray(np.random.default_rng(0).random((3, 4, 4), dtype="f4"))
        for name in dir(F):
            if name.startswith("_") or name == "to_image":
                continue
            with self.subTest(name):
                function, given = getattr(F, name), ARGUMENTS[name]
                self.refused(lambda x: function(x, *given), image)  # noqa: B023
        key = pl.random.key(0)
        for transform in (T.Normalize([0.5], [0.5]), T.Compose([T.RandomCrop(2), T.RandomHorizontalFlip()]), T.Resize(2)):
            self.refused(lambda x: transform(x, key), image)  # noqa: B023

    def test_of_batches(self):
        x = pl.ones((4, 2))
        self.refused(lambda x: data.default_collate([x, x]), x)
        self.refused(lambda x: data.pad_sequence([x, x[:1]]), x)
        self.refused(lambda x: data.TensorDataset(x)[1][0], x)
        for options in {}, {"num_workers": 2}:
            self.refused(lambda x: next(iter(data.DataLoader(data.TensorDataset(x), 2, **options)))[0], x)  # noqa: B023
            self.refused(lambda x: next(iter(data.DataLoader(data.mapped([1.0, 2.0], lambda sample: sample * x), 2, **options))), x)  # noqa: B023
        loader = data.DataLoader(data.TensorDataset(x), 2)
        self.assertEqual(pl.grad(lambda w: sum((w * x).sum() for x, in loader))(pl.ones(2)).tolist(), [4, 4])


if __name__ == "__main__":
    unittest.main()
