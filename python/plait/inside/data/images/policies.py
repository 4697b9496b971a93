"""Policies of augmentation."""

import enum

from plait import _core
from plait.inside.data.images.image_arguments import fill_from, flag, integer, interpolation_from, number
from plait.inside.data.images.image_transform import Transform

_transforms = _core._transforms


class AutoAugmentPolicy(enum.Enum):
    """The data sets for which AutoAugment has policies; their names do as well.

    >>> plait.data.transforms.AutoAugmentPolicy("svhn")
    <AutoAugmentPolicy.SVHN: 'svhn'>
    """

    IMAGENET = "imagenet"
    CIFAR10 = "cifar10"
    SVHN = "svhn"


class AutoAugment(Transform):
    """One of 25 pairs of operations, which were found for a data set.

    >>> plait.data.transforms.AutoAugment("cifar10")(plait.zeros((3, 8, 8), dtype="u8")).shape
    (3, 8, 8)
    """

    def __init__(self, policy=AutoAugmentPolicy.IMAGENET, interpolation="nearest", fill=None):
        core = _transforms.AutoAugment(str(getattr(policy, "value", policy)), interpolation_from("AutoAugment", interpolation),
                                       fill_from("AutoAugment", fill))
        self._set(core, policy=policy, interpolation=interpolation, fill=fill)


class RandAugment(Transform):
    """Random operations, num_ops one after another, of one magnitude.

    >>> plait.data.transforms.RandAugment()(plait.zeros((3, 8, 8), dtype="u8")).shape
    (3, 8, 8)
    """

    def __init__(self, num_ops=2, magnitude=9, num_magnitude_bins=31, interpolation="nearest", fill=None):
        name = "RandAugment"
        core = _transforms.RandAugment(integer(name, "num_ops", num_ops), integer(name, "magnitude", magnitude),
                                       integer(name, "num_magnitude_bins", num_magnitude_bins), interpolation_from(name, interpolation),
                                       fill_from(name, fill))
        self._set(core, num_ops=num_ops, magnitude=magnitude, num_magnitude_bins=num_magnitude_bins, interpolation=interpolation, fill=fill)


class TrivialAugmentWide(Transform):
    """One random operation of a random magnitude.

    >>> plait.data.transforms.TrivialAugmentWide()(plait.zeros((3, 8, 8), dtype="u8")).shape
    (3, 8, 8)
    """

    def __init__(self, num_magnitude_bins=31, interpolation="nearest", fill=None):
        name = "TrivialAugmentWide"
        core = _transforms.TrivialAugmentWide(integer(name, "num_magnitude_bins", num_magnitude_bins), interpolation_from(name, interpolation),
                                              fill_from(name, fill))
        self._set(core, num_magnitude_bins=num_magnitude_bins, interpolation=interpolation, fill=fill)


class AugMix(Transform):
    """The weighted sum of the image and of mixture_width chains of operations.

    >>> plait.data.transforms.AugMix()(plait.zeros((3, 8, 8), dtype="u8")).shape
    (3, 8, 8)
    """

    def __init__(self, severity=3, mixture_width=3, chain_depth=-1, alpha=1.0, all_ops=True, interpolation="bilinear", fill=None):
        name = "AugMix"
        core = _transforms.AugMix(integer(name, "severity", severity), integer(name, "mixture_width", mixture_width),
                                  integer(name, "chain_depth", chain_depth), number(name, "alpha", alpha), flag(name, "all_ops", all_ops),
                                  interpolation_from(name, interpolation), fill_from(name, fill))
        self._set(core, severity=severity, mixture_width=mixture_width, chain_depth=chain_depth, alpha=alpha, all_ops=all_ops,
                  interpolation=interpolation, fill=fill)
