"""Random transforms: their keys, and their images for given numbers, against torchvision."""

import pickle
import unittest

import numpy as np
import plait as pl
import torch
from plait import data
from plait.data import transforms as T
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as tv
from transform_cases import TransformCase, image, keys

PIXELS = image((3, 37, 53))


class Images(TransformCase):
    """The image of a call is torchvision's for the parameters of that call."""

    def each(self, transform, wanted, steps=1, pixels=PIXELS, most_beyond=0.0):
        for key in keys(12, seed=5):
            given = transform.make_params(pl.asarray(pixels), key)
            self.close(transform(pl.asarray(pixels), key), wanted(torch.from_numpy(pixels.copy()), given), steps, (transform, given), most_beyond)

    def test_sizes(self):
        self.each(T.RandomResizedCrop((20, 30)), lambda x, p: tv.resized_crop(x, *(int(p[name]) for name in ("top", "left", "height", "width")), [20, 30]), 0)
        self.each(T.RandomResizedCrop((20, 30), interpolation="bicubic"),
                  lambda x, p: tv.resized_crop(x, *(int(p[name]) for name in ("top", "left", "height", "width")), [20, 30], v2.InterpolationMode.BICUBIC), 0)

        def cropped(mode, fill):
            return lambda x, p: tv.crop(tv.pad(x, [int(side) for side in p["padding"]], fill, mode), *(int(p[name]) for name in ("top", "left", "height", "width")))

        self.each(T.RandomCrop(20, 4, fill=9), cropped("constant", 9), 0)
        self.each(T.RandomCrop(60, 4, True, padding_mode="reflect"), cropped("reflect", None), 0)
        self.each(T.RandomHorizontalFlip(), lambda x, p: tv.hflip(x) if p["applied"] else x, 0)
        self.each(T.RandomVerticalFlip(), lambda x, p: tv.vflip(x) if p["applied"] else x, 0)
        self.each(T.RandomErasing(0.7, value=(1, 2, 3)), lambda x, p: tv.erase(
            x, int(p["top"]), int(p["left"]), int(p["height"]), int(p["width"]), torch.tensor([1., 2, 3])[:, None, None]) if p["applied"] else x, 0)

    def test_geometry(self):
        for mode, most in (("nearest", 2e-3), ("bilinear", 0)):
            kind = v2.InterpolationMode(mode)
            self.each(T.RandomRotation(40, mode, expand=True), lambda x, p: tv.rotate(x, p["angle"], kind, True, fill=0), 1, most_beyond=most)  # noqa: B023
            self.each(T.RandomAffine(30, (0.2, 0.2), (0.7, 1.3), 12, mode, fill=3), lambda x, p: tv.affine(
                x, p["angle"], [int(each) for each in p["translate"]], p["scale"], p["shear"], kind, 3), 1, most_beyond=most)  # noqa: B023
        self.each(T.GaussianBlur((5, 3)), lambda x, p: tv.gaussian_blur(x, [5, 3], [p["sigma"]] * 2))

    def test_colours(self):
        def jittered(x, given):
            for i in given["order"]:
                name = ("brightness", "contrast", "saturation", "hue")[int(i)]
                x = getattr(tv, f"adjust_{name}")(x, given[name])
            return x

        self.each(T.ColorJitter(0.4, 0.4, 0.4, 0.1), jittered, 40, most_beyond=0.001)  # a step apart before hue is turned may be more after it
        self.each(T.ColorJitter(0.4, 0.4, 0.4, 0.1), jittered, 1, image((3, 20, 20), "f4"), 0.001)
        self.each(T.RandomGrayscale(0.5), lambda x, p: tv.rgb_to_grayscale(x, 3) if p["applied"] else x)


class Keys(TransformCase):
    EVERY = [T.RandomResizedCrop(9), T.RandomCrop(9), T.RandomHorizontalFlip(), T.RandomVerticalFlip(), T.RandomRotation(30), T.RandomAffine(30),
             T.ColorJitter(0.4, 0.4, 0.4, 0.1), T.RandomGrayscale(0.5), T.GaussianBlur(3), T.RandomErasing(0.5, value="random"), T.AutoAugment(),
             T.RandAugment(), T.TrivialAugmentWide(), T.AugMix(), T.RandomInvert(), T.RandomPosterize(3), T.RandomSolarize(100),
             T.RandomAdjustSharpness(2), T.RandomAutocontrast(), T.RandomEqualize(),
             T.RandomApply([T.RandomVerticalFlip()]), T.RandomChoice([T.RandomVerticalFlip(), T.RandomInvert()]),
             T.RandomOrder([T.RandomVerticalFlip(), T.RandomInvert()])]

    def test_an_image_is_a_function_of_its_key(self):
        for transform in self.EVERY:
            self.assertTrue(transform.is_random)
            pixels = PIXELS // 2 + 20
            one = [transform(pixels, key).numpy() for key in keys(8)]
            again = pickle.loads(pickle.dumps(transform))
            self.assertEqual((again, repr(again)), (transform, repr(transform)))
            self.assertTrue(all(np.array_equal(x, again(pixels, key).numpy()) for x, key in zip(one, keys(8))), transform)
            self.assertTrue(any(not np.array_equal(one[0], each) for each in one[1:]), transform)

    def test_without_a_key(self):
        for transform in (*self.EVERY, T.Compose(self.EVERY[:1]), T.Compose([T.RandomHorizontalFlip(), lambda x: x]), T.Lambda(lambda x, key: pl.random.bits(key, (3,)))):
            pl.random.seed(3)
            expected = [pl.random.draw_key() for _ in range(3)]
            pl.random.seed(3)
            for key in expected:
                np.testing.assert_array_equal(transform(PIXELS).numpy(), transform(PIXELS, key).numpy(), str(transform))
        pl.random.seed(3)
        T.Compose([T.Resize(3), T.Lambda(lambda x: x)])(PIXELS)
        np.testing.assert_array_equal(pl.random.draw_key().numpy(), expected[0].numpy())

    def test_functions_in_python_draw_the_same(self):
        members = [T.RandomCrop(20), T.RandomHorizontalFlip(), T.ColorJitter(0.5), T.ToDtype("f32", scale=True), T.Normalize([0.5] * 3, [0.2] * 3)]
        for i in range(len(members) + 1):
            mixed = T.Compose([*members[:i], T.Lambda(lambda x: x), *members[i:]])
            image_ = PIXELS
            for key in keys(3):
                image_ = pl.asarray(PIXELS)
                for number, member in enumerate([*members[:i], None, *members[i:]]):
                    image_ = image_ if member is None else member(image_, pl.random.fold_in(key, number))
                np.testing.assert_array_equal(mixed(PIXELS, key).numpy(), image_.numpy())
        plain = T.Compose(members)
        for combination in (T.RandomApply, T.RandomChoice, T.RandomOrder):
            ours, theirs = combination([plain, T.RandomInvert()][::-1]), combination([lambda x, key: plain(x, key), lambda x, key: T.RandomInvert()(x, key)][::-1])
            for key in keys(10):
                try:
                    np.testing.assert_array_equal(ours(PIXELS, key).numpy(), pl.asarray(theirs(PIXELS, key)).numpy())
                except pl.Error as error:  # a crop of a crop may be too large
                    self.refused(type(error), "", lambda: theirs(PIXELS, key))  # noqa: B023

    def test_samples(self):
        flip = T.RandomHorizontalFlip(1.0)
        for transform in (flip, T.Compose([flip]), T.Compose([T.Lambda(lambda x: x), flip]), T.RandomApply([flip], 1.0)):
            for sample in ((PIXELS, 3), [PIXELS, 3]):
                result = transform(sample)
                self.assertEqual((type(result), result[1]), (type(sample), 3))
                np.testing.assert_array_equal(result[0].numpy(), PIXELS[..., ::-1])
            result = transform({"label": 3, "image": PIXELS})
            self.assertEqual((list(result), result["label"]), (["label", "image"], 3))
            np.testing.assert_array_equal(result["image"].numpy(), PIXELS[..., ::-1])
        self.refused(pl.ValueError, "the sample has label, but no image", lambda: flip({"label": 3}))
        self.refused(pl.TypeError, "transforms is 3, expected a list", lambda: T.Compose(3))
        self.refused(pl.TypeError, "a transform is 3, expected a function", lambda: T.Compose([3]))
        self.refused(pl.ValueError, "there are no transforms", lambda: T.RandomApply([]))
        self.refused(pl.ValueError, "RandomCrop: the size is \\[40, 40\\], larger than the image \\[37, 53\\]", lambda: T.RandomCrop(40)(PIXELS))
        self.refused(pl.ValueError, "RandomHorizontalFlip: p is 2, expected 0 to 1", lambda: T.RandomHorizontalFlip(2))

    def test_loaders(self):
        images = image((20, 3, 24, 30))
        dataset = data.TensorDataset(images, np.arange(20))
        augment = T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToDtype("f32", scale=True), T.Normalize([0.5] * 3, [0.2] * 3)])
        mix = T.MixUp(num_classes=20)

        def batches(**options):
            loader = data.DataLoader(data.mapped(dataset, augment), batch_size=6, shuffle=True, seed=4, collate_fn=mix, **options)
            return [(x.numpy(), y.numpy()) for _ in range(2) for x, y in loader]

        one = batches()
        for other in (batches(), batches(num_workers=2), batches(num_workers=2, worker="process")):
            self.assertEqual(len(other), len(one))
            for (x, y), (x2, y2) in zip(one, other):
                np.testing.assert_array_equal(x, x2)
                np.testing.assert_array_equal(y, y2)
        self.assertFalse(np.array_equal(one[0][0], one[4][0]))  # the next epoch
        self.assertEqual((one[0][0].shape, one[0][1].shape, one[3][0].shape), ((6, 3, 16, 16), (6, 20), (2, 3, 16, 16)))


if __name__ == "__main__":
    unittest.main()
