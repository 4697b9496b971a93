"""AutoAugment, RandAugment, TrivialAugmentWide, AugMix, MixUp and CutMix, against torchvision."""

import collections
import itertools
import unittest

import numpy as np
import plait as pl
import torch
from plait.data import transforms as T
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as tv
from transform_cases import TransformCase, image, keys, smooth

FEW = 3e-3  # places halfway between two pixels, with the nearest one
NO_FILL = {"others": None}


def torch_steps(transform, pixels, count):
    """The steps that calls of torchvision's transform draw: tuples of (name, magnitude)."""
    every = []
    transform._apply_image_or_video_transform = lambda image, name, magnitude, **_: steps.append((name, round(magnitude, 5))) or image
    for _ in range(count):
        steps = []
        transform(pixels)
        every.append(tuple(steps))
    return every


class Policies(TransformCase):
    def steps(self, transform, pixels, key):
        given = transform.make_params(pixels, key)
        return list(given.items()) if isinstance(given, dict) else given

    def test_each_operation_is_torchvisions(self):
        for policy, pixels in itertools.product(("imagenet", "cifar10", "svhn"), (smooth((3, 33, 44)), image((1, 20, 20)), smooth((3, 24, 20), "f4"))):
            self.check(T.AutoAugment(policy), pixels, 60)
        for pixels in (smooth((3, 33, 44)), image((2, 3, 16, 16))):
            self.check(T.RandAugment(3, 12), pixels, 60)
            self.check(T.TrivialAugmentWide(interpolation="bilinear", fill=[10, 20, 30]), pixels, 80, "bilinear", [10, 20, 30])

    def check(self, transform, pixels, count, mode="nearest", fill=None):
        theirs = v2.AutoAugment()
        for key in keys(count):
            steps = self.steps(transform, pixels, key)

            def computed(by=1.0, steps=steps):
                made = torch.from_numpy(pixels)
                for name, magnitude in steps:
                    moves = name.startswith(("Shear", "Translate", "Rotate"))
                    made = theirs._apply_image_or_video_transform(made, name, magnitude * by if moves else magnitude, v2.InterpolationMode(mode), {"others": fill})
                return made

            limit = (1, FEW) if len(steps) == 1 else (8, 0.01)  # a later step makes more of a difference
            self.close(transform(pixels, key), computed(), limit[0], (transform, steps), limit[1], lambda: (computed(0.9999), computed(1.0001)))

    def test_steps_are_drawn_as_torchvision_draws_them(self):
        pixels, count = image((3, 40, 30)), 20_000
        for ours, theirs in ((T.AutoAugment("imagenet"), v2.AutoAugment(v2.AutoAugmentPolicy.IMAGENET)),
                             (T.AutoAugment("cifar10"), v2.AutoAugment(v2.AutoAugmentPolicy.CIFAR10)),
                             (T.AutoAugment("svhn"), v2.AutoAugment(v2.AutoAugmentPolicy.SVHN)),
                             (T.RandAugment(1, 7, 20), v2.RandAugment(1, 7, 20)), (T.TrivialAugmentWide(7), v2.TrivialAugmentWide(7))):
            torch.manual_seed(2)
            mine = collections.Counter(tuple((name, round(magnitude, 5)) for name, magnitude in self.steps(ours, pixels, key)) for key in keys(count))
            other = collections.Counter(torch_steps(theirs, torch.from_numpy(pixels), count))
            seen = {each for counter in (mine, other) for each, times in counter.items() if times > 30}
            for each in seen:
                self.assertTrue(each in mine and each in other, (ours, each, mine[each], other[each]))
                self.assertLess(abs(mine[each] - other[each]) / np.sqrt(mine[each] + other[each]), 4.9, (ours, each, mine[each], other[each]))

    def test_augmix(self):
        for pixels, mode in itertools.product((smooth((3, 30, 40)), image((2, 3, 16, 16)), smooth((3, 30, 40), "f4")), ("bilinear",)):
            transform, theirs = T.AugMix(severity=4), v2.AutoAugment()
            for key in keys(30):
                given, batch = transform.make_params(pixels, key), torch.from_numpy(pixels).reshape(-1, *pixels.shape[-3:])
                values = [(name, np.atleast_1d(numbers)) for name, numbers in given]
                own = torch.tensor(values[0][1], dtype=torch.float32).reshape(-1, 1, 1, 1)
                shares = torch.tensor(np.stack([numbers for name, numbers in values if name == "chain_weights"]), dtype=torch.float32)
                self.assertTrue(np.allclose(own.flatten() + shares.sum(1), 1, atol=1e-5))
                mix, chain = own * batch, -1
                rest = [each for each in values[1:] if each[0] != "chain_weights"]
                for name, numbers in [*rest, ("chain", None)]:
                    if name != "chain":
                        current = theirs._apply_image_or_video_transform(current, name, float(numbers[0]), v2.InterpolationMode(mode), NO_FILL)
                        continue
                    if chain >= 0:
                        mix = mix + shares[:, chain].reshape(-1, 1, 1, 1) * current
                    current, chain = batch, chain + 1
                self.close(transform(pixels, key), mix.reshape(pixels.shape).to(batch.dtype), 3, given, 0.01)

    def test_bad_input(self):
        self.refused(pl.ValueError, "the policy is \"coco\", expected imagenet, cifar10 or svhn", lambda: T.AutoAugment("coco"))
        self.refused(pl.ValueError, "RandAugment: magnitude is 31, expected 0 to 30", lambda: T.RandAugment(2, 31))
        self.refused(pl.ValueError, "num_ops is -1", lambda: T.RandAugment(-1))
        self.refused(pl.ValueError, "AugMix: severity is 11, expected 1 to 10", lambda: T.AugMix(11))
        self.refused(pl.ValueError, "AugMix: alpha is 0", lambda: T.AugMix(alpha=0))
        self.refused(pl.ValueError, "the interpolation is bicubic, expected nearest or bilinear",
                     lambda: [T.TrivialAugmentWide(interpolation="bicubic")(image((3, 4, 4)), key) for key in keys(50)])
        self.refused(pl.ShapeError, "has 2 channels, expected 1 or 3", lambda: T.AugMix()(image((2, 4, 4))))


class Mixing(TransformCase):
    def test_mixup(self):
        for dtype, labels in itertools.product(("f4", "f8"), (np.array([0, 3, 1]), np.eye(3, 5, dtype="f4"), np.array([0, 3, 1], "i4"))):
            images = image((3, 2, 5, 6), dtype)
            ours, theirs = T.MixUp(alpha=0.7, num_classes=5), v2.MixUp(alpha=0.7, num_classes=5)
            for key in keys(4):
                theirs.make_params = lambda _: ours.make_params(None, key)  # noqa: B023
                given = torch.from_numpy(labels) if labels.dtype != np.int32 else torch.from_numpy(labels.astype("i8"))
                for got, wanted in zip(ours(images, labels, key=key), theirs(torch.from_numpy(images), given)):
                    self.close(got, wanted)

    def test_cutmix(self):
        for dtype in ("u1", "f4"):
            images, labels = image((4, 3, 15, 26), dtype), np.array([0, 3, 1, 1])
            ours, theirs = T.CutMix(num_classes=5), v2.CutMix(num_classes=5)
            for key in keys(20):
                top, left, height, width = ours.make_params(images, key)["box"]
                theirs.make_params = lambda _: {"box": (left, top, left + width, top + height), "lam_adjusted": 1 - height * width / (15 * 26)}  # noqa: B023
                for got, wanted in zip(ours((images, labels), key=key), theirs(torch.from_numpy(images), torch.from_numpy(labels))):
                    self.close(got, wanted)

    def test_batches(self):
        images, labels = image((3, 1, 4, 4), "f4"), np.array([0, 1, 2])
        mix, key = T.MixUp(num_classes=3), pl.random.key(1)
        x, y = mix(images, labels, key=key)
        for batch in ([images, labels, "a"], (images, labels, 7)):
            result = mix(batch, key=key)
            self.assertEqual((type(result), result[2]), (type(batch), batch[2]))
            np.testing.assert_array_equal(result[1].numpy(), y.numpy())
        result = mix({"names": "abc", "the_labels": labels, "images": images}, key=key)
        np.testing.assert_array_equal(result["images"].numpy(), x.numpy())
        np.testing.assert_array_equal(result["the_labels"].numpy(), y.numpy())
        result = T.MixUp(num_classes=3, labels_getter=lambda batch: batch[0])((labels, images), key=key)
        np.testing.assert_array_equal(result[1].numpy(), x.numpy())
        samples = [(images[i], int(labels[i])) for i in range(3)]  # as a loader passes them
        np.testing.assert_array_equal(mix(samples, key=key)[0].numpy(), x.numpy())

    def test_bad_input(self):
        images, labels = image((3, 1, 4, 4), "f4"), np.array([0, 1, 2])
        mix = T.MixUp(num_classes=3)
        self.refused(pl.TypeError, r"MixUp: the images are u8\[3, 1, 4, 4\], expected floats", lambda: mix(images.astype("u1"), labels))
        self.refused(pl.ShapeError, r"MixUp: the images are \[1, 4, 4\], expected \[batch", lambda: mix(images[0], labels))
        self.refused(pl.ShapeError, r"MixUp: the labels are \[2\], expected \[3\]", lambda: mix(images, labels[:2]))
        self.refused(pl.ValueError, "a label is 2, expected 0 to 1", lambda: T.CutMix(num_classes=2)(images, labels))
        self.refused(pl.ValueError, "num_classes is not given", lambda: T.MixUp()(images, labels))
        self.refused(pl.ShapeError, r"the labels are \[3, 2\], but num_classes is 3", lambda: mix(images, np.zeros((3, 2), "f4")))
        self.refused(pl.ValueError, "CutMix: alpha is 0, expected more than 0", lambda: T.CutMix(alpha=0.0))
        self.refused(pl.TypeError, "expected images and labels", lambda: mix(images))


if __name__ == "__main__":
    unittest.main()
