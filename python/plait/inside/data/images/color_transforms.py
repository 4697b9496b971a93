"""Transforms of the colours of images, which have one channel or three."""

from plait import _core, errors
from plait.inside.data.images.image_arguments import integer, number, numbers
from plait.inside.data.images.image_transform import Transform

_transforms = _core._transforms


class Grayscale(Transform):
    """Grey images, of one channel or of three equal ones.

    >>> plait.data.transforms.Grayscale()(plait.zeros((3, 2, 2))).shape
    (1, 2, 2)
    """

    def __init__(self, num_output_channels=1):
        channels = integer("Grayscale", "num_output_channels", num_output_channels)
        if channels not in (1, 3):
            raise errors.ValueError(f"Grayscale: num_output_channels is {channels}, expected 1 or 3")
        self._set(_transforms.Grayscale(channels), num_output_channels=channels)


class RandomGrayscale(Transform):
    """Grey images with probability p, of as many channels as before.

    >>> plait.data.transforms.RandomGrayscale(1.0)(plait.zeros((3, 2, 2))).shape
    (3, 2, 2)
    """

    def __init__(self, p=0.1):
        self._set(_transforms.RandomGrayscale(number("RandomGrayscale", "p", p)), p=p)


class ColorJitter(Transform):
    """Changes brightness, contrast, saturation and hue in a random order, by factors from 1 - x to 1 + x or from a range; hues by -x to x.

    >>> plait.data.transforms.ColorJitter(0.4, 0.4, 0.4, 0.1)(plait.zeros((3, 2, 2))).shape
    (3, 2, 2)
    """

    def __init__(self, brightness=None, contrast=None, saturation=None, hue=None):
        core = _transforms.ColorJitter(_factors("brightness", brightness), _factors("contrast", contrast), _factors("saturation", saturation),
                                       _factors("hue", hue, 0.0))
        self._set(core, brightness=brightness, contrast=contrast, saturation=saturation, hue=hue)


def _factors(field, value, center=1.0):
    """A range of factors, or None if all are the one that changes nothing."""
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        low, high = numbers("ColorJitter", field, value, (2,))
    else:
        most = number("ColorJitter", field, value)
        if not most >= 0:
            raise errors.ValueError(f"ColorJitter: {field} is {value}, expected 0 or more, or two numbers")
        low, high = center - most, center + most
        low = max(low, 0.0) if center else low
    return None if low == high == center else [low, high]


class _Applied(Transform):
    """Something with probability p."""

    def _apply(self, core, p, **fields):
        self._set(_transforms.RandomApply([core], number(type(self).__name__, "p", p)), **fields, p=p)


class RandomInvert(_Applied):
    """Inverts the numbers of images with probability p.

    >>> plait.data.transforms.RandomInvert(1.0)(plait.tensor([[[0, 255]]], dtype="u8"))
    [[[255   0]]] : u8[1, 1, 2]
    """

    def __init__(self, p=0.5):
        self._apply(_transforms.Invert(), p)


class RandomPosterize(_Applied):
    """Keeps the upper bits of numbers, with probability p.

    >>> plait.data.transforms.RandomPosterize(4, 1.0)(plait.tensor([[[7, 255]]], dtype="u8"))
    [[[  0 240]]] : u8[1, 1, 2]
    """

    def __init__(self, bits, p=0.5):
        found = integer("RandomPosterize", "bits", bits)
        if not 0 <= found <= 8:
            raise errors.ValueError(f"RandomPosterize: bits is {bits}, expected 0 to 8")
        self._apply(_transforms.Posterize(found), p, bits=bits)


class RandomSolarize(_Applied):
    """Inverts the numbers from a threshold on, with probability p.

    >>> plait.data.transforms.RandomSolarize(128, 1.0)(plait.tensor([[[7, 250]]], dtype="u8"))
    [[[7 5]]] : u8[1, 1, 2]
    """

    def __init__(self, threshold, p=0.5):
        self._apply(_transforms.Solarize(number("RandomSolarize", "threshold", threshold)), p, threshold=threshold)


class RandomAdjustSharpness(_Applied):
    """Blurs (a factor below 1) or sharpens images with probability p.

    >>> plait.data.transforms.RandomAdjustSharpness(2.0, 1.0)(plait.ones((1, 3, 3))).shape
    (1, 3, 3)
    """

    def __init__(self, sharpness_factor, p=0.5):
        factor = number("RandomAdjustSharpness", "sharpness_factor", sharpness_factor)
        if not factor >= 0:
            raise errors.ValueError(f"RandomAdjustSharpness: sharpness_factor is {factor}, expected 0 or more")
        self._apply(_transforms.AdjustSharpness(factor), p, sharpness_factor=sharpness_factor)


class RandomAutocontrast(_Applied):
    """The numbers of each channel from 0 to the maximum, with probability p.

    >>> plait.data.transforms.RandomAutocontrast(1.0)(plait.tensor([[[100, 151, 185]]], dtype="u8"))
    [[[  0 153 255]]] : u8[1, 1, 3]
    """

    def __init__(self, p=0.5):
        self._apply(_transforms.Autocontrast(), p)


class RandomEqualize(_Applied):
    """Numbers such that all are about equally frequent, with probability p.

    >>> plait.data.transforms.RandomEqualize(1.0)(plait.zeros((3, 8, 8), dtype="u8")).shape
    (3, 8, 8)
    """

    def __init__(self, p=0.5):
        self._apply(_transforms.Equalize(), p)
