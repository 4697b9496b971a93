"""Transforms that move, blur or erase pixels."""

from plait import _core, errors
from plait.inside.data.images.image_arguments import center_from, fill_from, flag, interpolation_from, number, numbers, range_from, size_from
from plait.inside.data.images.image_transform import Transform
from plait.inside.help.names import in_words

_transforms = _core._transforms


class RandomRotation(Transform):
    """Turns images by an angle from a range, in degrees, counterclockwise; of one number, from minus it to it.

    >>> plait.data.transforms.RandomRotation((90, 90))(plait.tensor([[[1, 2], [3, 4]]], dtype="u8"))
    [[[2 4]
      [1 3]]] : u8[1, 2, 2]
    """

    def __init__(self, degrees, interpolation="nearest", expand=False, center=None, fill=0):
        name = "RandomRotation"
        core = _transforms.RandomRotation(range_from(name, "degrees", degrees), interpolation_from(name, interpolation), flag(name, "expand", expand),
                                          center_from(name, center), fill_from(name, fill))
        self._set(core, degrees=degrees, interpolation=interpolation, expand=expand, center=center, fill=fill)


class RandomAffine(Transform):
    """Turns images by an angle of a range of degrees, moves them by up to these shares of their width and height, scales them by a factor of a range,
    and shears them by angles of ranges: one number or two for x, four for x and y.

    >>> plait.data.transforms.RandomAffine(10, translate=(0.1, 0.1), scale=(0.9, 1.1))(plait.zeros((3, 8, 8))).shape
    (3, 8, 8)
    """

    def __init__(self, degrees, translate=None, scale=None, shear=None, interpolation="nearest", fill=0, center=None):
        name = "RandomAffine"
        core = _transforms.RandomAffine(range_from(name, "degrees", degrees), None if translate is None else numbers(name, "translate", translate, (2,)),
                                        None if scale is None else numbers(name, "scale", scale, (2,)), _shear_from(name, shear),
                                        interpolation_from(name, interpolation), fill_from(name, fill), center_from(name, center))
        self._set(core, degrees=degrees, translate=translate, scale=scale, shear=shear, interpolation=interpolation, fill=fill, center=center)


def _shear_from(name, shear):
    if shear is None:
        return None
    if isinstance(shear, (list, tuple)) and len(shear) != 2:
        found = numbers(name, "shear", shear, (2, 4))
        return [found[:2], found[2:]]
    return [range_from(name, "shear", shear), [0.0, 0.0]]


class GaussianBlur(Transform):
    """Blurs images by a Gaussian kernel of these sizes, which are odd, with a deviation from a range.

    >>> plait.data.transforms.GaussianBlur(3)(plait.ones((1, 4, 4))).shape
    (1, 4, 4)
    """

    def __init__(self, kernel_size, sigma=(0.1, 2.0)):
        deviations = numbers("GaussianBlur", "sigma", sigma, (1, 2)) if isinstance(sigma, (list, tuple)) else [number("GaussianBlur", "sigma", sigma)]
        core = _transforms.GaussianBlur(size_from("GaussianBlur", "kernel_size", kernel_size), deviations * (2 // len(deviations)))
        self._set(core, kernel_size=kernel_size, sigma=sigma)


class RandomErasing(Transform):
    """With probability p, a box with a random share of the area and a random ratio of height to width becomes a number, one number for each channel,
    or random numbers (value="random").

    >>> plait.data.transforms.RandomErasing(1.0, value=7)(plait.zeros((3, 8, 8)), plait.random.key(0)).max()
    7. : f32[]
    """

    def __init__(self, p=0.5, scale=(0.02, 0.33), ratio=(0.3, 3.3), value=0.0, inplace=False):
        name = "RandomErasing"
        if isinstance(value, str) and value != "random":
            raise errors.ValueError(f"{name}: value is {in_words(value)}, expected a number, numbers or 'random'")
        core = _transforms.RandomErasing(number(name, "p", p), numbers(name, "scale", scale, (2,)), numbers(name, "ratio", ratio, (2,)),
                                         [] if value == "random" else fill_from(name, value))
        self._set(core, p=p, scale=scale, ratio=ratio, value=value, inplace=inplace)
