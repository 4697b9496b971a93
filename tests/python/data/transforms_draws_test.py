"""The numbers that random transforms draw have the distributions of torchvision's."""

import itertools
import unittest

import numpy as np
import plait as pl
import torch
from plait.data import transforms as T
from torchvision.transforms import v2
from transform_cases import TransformCase, image, keys

DRAWS, TORCH_DRAWS = 10_000, 1_500
PIXELS = image((3, 37, 53))
TORCH = torch.from_numpy(PIXELS)
LEAST = 1.9495  # the statistic of Kolmogorov and Smirnov is above it with probability 0.001


def drawn(transform, pixels=PIXELS, count=DRAWS):
    """The parameters of calls with different keys, by name, as columns."""
    given = pl.asarray(pixels)
    rows = [transform.make_params(given, key) for key in keys(count)]
    return {name: np.array([row[name] for row in rows], "f8") for name in rows[0]}


def drawn_by_torch(transform, count=TORCH_DRAWS):
    torch.manual_seed(1)
    rows = [transform.make_params([TORCH]) for _ in range(count)]
    return {name: [row[name] for row in rows] for name in rows[0]}


class Distributions(TransformCase):
    def alike(self, ours, theirs, message=None):
        """Two samples of one distribution (Kolmogorov and Smirnov's test)."""
        ours, theirs = np.sort(np.asarray(ours, "f8")), np.sort(np.asarray(theirs, "f8"))
        every = np.concatenate([ours, theirs])
        apart = np.abs(np.searchsorted(ours, every, side="right") / len(ours) - np.searchsorted(theirs, every, side="right") / len(theirs)).max()
        self.assertLess(apart * np.sqrt(len(ours) * len(theirs) / (len(ours) + len(theirs))), LEAST, message)

    def test_boxes(self):
        for ours, theirs in ((T.RandomResizedCrop(9), v2.RandomResizedCrop(9)), (T.RandomResizedCrop(9, (0.5, 0.9), (1, 3)), v2.RandomResizedCrop(9, (0.5, 0.9), (1, 3))),
                             (T.RandomResizedCrop(9, (0.9, 1), (5, 6)), v2.RandomResizedCrop(9, (0.9, 1), (5, 6))),
                             (T.RandomCrop(20, padding=[3, 5]), v2.RandomCrop(20, padding=[3, 5])),
                             (T.RandomCrop((40, 30), pad_if_needed=True), v2.RandomCrop((40, 30), pad_if_needed=True))):
            mine, other = drawn(ours), drawn_by_torch(theirs)
            for name in ("top", "left", "height", "width"):
                self.alike(mine[name], other[name], (ours, name))

    def test_numbers(self):
        mine = drawn(T.RandomAffine((-20, 50), (0.1, 0.3), (0.7, 2), (-5, 5, 10, 20)))
        other = drawn_by_torch(v2.RandomAffine((-20, 50), (0.1, 0.3), (0.7, 2), (-5, 5, 10, 20)))
        for name in ("angle", "scale"):
            self.alike(mine[name], other[name], name)
        for axis, name in itertools.product((0, 1), ("translate", "shear")):
            self.alike(mine[name][:, axis], np.array(other[name], "f8")[:, axis], name)
        self.alike(drawn(T.RandomRotation(33))["angle"], drawn_by_torch(v2.RandomRotation(33))["angle"])
        self.alike(drawn(T.GaussianBlur(3, (0.5, 4)))["sigma"], [each[0] for each in drawn_by_torch(v2.GaussianBlur(3, (0.5, 4)))["sigma"]])

    def test_jitter(self):
        mine = drawn(T.ColorJitter(0.5, (0.2, 0.9), 2.0, 0.3))
        other = drawn_by_torch(v2.ColorJitter(0.5, (0.2, 0.9), 2.0, 0.3))
        for name in ("brightness", "contrast", "saturation", "hue"):
            self.alike(mine[name], other[f"{name}_factor"], name)
        counts = np.unique(mine["order"], axis=0, return_counts=True)[1]
        self.assertEqual(len(counts), 24)
        self.assertLess(((counts - DRAWS / 24) ** 2 / (DRAWS / 24)).sum(), 52)  # chi-square with 23 degrees of freedom, 0.0005

    def test_chances(self):
        for p in (0.0, 0.1, 0.5, 1.0):
            for transform in (T.RandomHorizontalFlip(p), T.RandomVerticalFlip(p), T.RandomGrayscale(p), T.RandomInvert(p),
                              T.RandomApply([T.RandomInvert()], p), T.RandomApply([lambda x: x], p)):
                share = drawn(transform, count=2000)["applied"].mean()
                self.assertLess(abs(share - p), 4 * np.sqrt(p * (1 - p) / 2000) + 1e-9, (transform, share))
        shares = np.bincount(drawn(T.RandomChoice([T.RandomInvert()] * 3, [1, 0, 3]))["index"].astype(int)) / DRAWS
        self.assertLess(np.abs(shares - [0.25, 0, 0.75]).max(), 0.02)

    def test_erasing(self):
        for p, scale, ratio in ((1.0, (0.02, 0.33), (0.3, 3.3)), (1.0, (0.5, 0.9), (0.2, 0.9))):
            ours = T.RandomErasing(p, scale, ratio)
            rows = [row for row in (ours.make_params(PIXELS, key) for key in keys(DRAWS)) if row["applied"]]
            torch.manual_seed(1)
            theirs = [row for row in (v2.RandomErasing(p, scale, ratio).make_params([TORCH]) for _ in range(TORCH_DRAWS)) if row["v"] is not None]
            self.assertLess(abs(len(rows) / DRAWS - len(theirs) / TORCH_DRAWS), 0.05)
            for mine, other in (("top", "i"), ("left", "j"), ("height", "h"), ("width", "w")):
                self.alike([row[mine] for row in rows], [row[other] for row in theirs], mine)
        noise = T.RandomErasing(1.0, (0.9, 0.95), (1, 1), "random")(np.zeros((1, 200, 200), "f4"), pl.random.key(3)).numpy()
        noise = noise[noise != 0]
        self.assertLess(abs(noise.mean()) + abs(noise.std() - 1), 0.03)

    def test_mixing(self):
        for alpha in (0.2, 1.0, 3.5):
            torch.manual_seed(1)
            mix, theirs = T.MixUp(alpha=alpha, num_classes=2), v2.MixUp(alpha=alpha, num_classes=2)
            self.alike([mix.make_params(None, key)["lam"] for key in keys(DRAWS)], [theirs.make_params([])["lam"] for _ in range(TORCH_DRAWS)], alpha)
            cut, theirs = T.CutMix(alpha=alpha, num_classes=2), v2.CutMix(alpha=alpha, num_classes=2)
            mine = np.array([cut.make_params(PIXELS, key)["box"] for key in keys(DRAWS)])
            other = np.array([theirs.make_params([TORCH])["box"] for _ in range(TORCH_DRAWS)])
            for column, wanted in ((0, other[:, 1]), (1, other[:, 0]), (2, other[:, 3] - other[:, 1]), (3, other[:, 2] - other[:, 0])):
                self.alike(mine[:, column], wanted, (alpha, column))


if __name__ == "__main__":
    unittest.main()
