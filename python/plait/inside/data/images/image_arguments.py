"""Arguments of transforms, as the functions in C++ expect them."""

import enum
import operator

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.help.names import in_words
from plait.inside.layers.checks import is_number
from plait.inside.later import Later
from plait.inside.trees.moving import is_array

np = Later("numpy")


class InterpolationMode(enum.Enum):
    """How pixels between pixels are computed; their names do as well.

    >>> plait.data.transforms.InterpolationMode("bicubic")
    <InterpolationMode.BICUBIC: 'bicubic'>
    """

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"


_OF_PILLOW = {0: "nearest", 2: "bilinear", 3: "bicubic"}


def interpolation_from(name, value):
    """The name of an interpolation, which is given as a name, as an InterpolationMode, or as Pillow's number."""
    found = getattr(value, "value", value)
    found = _OF_PILLOW.get(found, found) if isinstance(found, int) else found
    known = [mode.value for mode in InterpolationMode]
    if found not in known:
        raise errors.ValueError(f"{name}: interpolation is {in_words(value)}, expected one of {', '.join(known)}")
    return found


def is_pillow(value):
    """True of images of Pillow."""
    return hasattr(value, "getbands") and hasattr(value, "tobytes")


def image_from(name, value, make=asarray):
    """An image as a tensor, which `make` makes of an array."""
    if isinstance(value, _core.Tensor):
        return value
    if is_pillow(value):
        raise errors.TypeError.with_hint(f"{name}: the image is Pillow's, expected a tensor [..., channels, height, width]", "ToImage before it")
    if is_array(value):
        _expect_channels_first(name, value)
        return make(value)
    raise errors.TypeError(f"{name}: the image is {in_words(value)}, expected a tensor [..., channels, height, width]")


def _expect_channels_first(name, array):
    """Images in arrays of NumPy are often [height, width, channels], which would be taken as many channels."""
    if type(array) is np.ndarray and array.ndim == 3 and array.shape[-1] in (1, 3, 4) and array.shape[0] > 4:
        raise errors.ShapeError.with_hint(f"{name}: the image is {list(array.shape)}, expected [..., channels, height, width]",
                                          "ToImage before it, for an array [height, width, channels]")


def pixels_from(name, value):
    """A tensor [channels, height, width]: of an image of Pillow or an array [height, width, channels] of NumPy, a view; tensors as they are."""
    if isinstance(value, _core.Tensor):
        return value
    if not is_pillow(value) and not is_array(value):
        raise errors.TypeError(f"{name}: the image is {in_words(value)}, expected an image of Pillow, an array or a tensor")
    if not is_pillow(value) and type(value) is not np.ndarray:
        return asarray(value)  # from another library, with channels first
    array = np.asarray(value)
    return _core._images.to_image(asarray(np.where(array, np.uint8(255), np.uint8(0)) if array.dtype == bool else array))


def integer(name, field, value):
    """The value as an int."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise errors.TypeError(f"{name}: {field} is {in_words(value)}, expected an integer") from None


def number(name, field, value):
    """The value as a float."""
    if not is_number(value):
        raise errors.TypeError(f"{name}: {field} is {in_words(value)}, expected a number")
    return float(value)


def numbers(name, field, value, counts, of=number):
    """A sequence of so many numbers, as a list."""
    try:
        found = [of(name, field, each) for each in value]
    except TypeError as error:
        if isinstance(error, errors.Error):
            raise
        raise errors.TypeError(f"{name}: {field} is {in_words(value)}, expected {_listed(counts)} numbers") from None
    if counts and len(found) not in counts:
        raise errors.ValueError(f"{name}: {field} is {in_words(value)}, expected {_listed(counts)} numbers")
    return found


def _listed(counts):
    return " or ".join(map(str, counts)) if counts else "some"


def size_from(name, field, value):
    """[height, width]; of one number, a square."""
    if isinstance(value, (list, tuple)):
        found = numbers(name, field, value, (1, 2), integer)
        return found * 2 if len(found) == 1 else found
    return [integer(name, field, value)] * 2


def padding_from(name, value):
    """[left, top, right, bottom] of one, two or four numbers."""
    if not isinstance(value, (list, tuple)):
        return [integer(name, "padding", value)] * 4
    found = numbers(name, "padding", value, (1, 2, 4), integer)
    return found * (4 // len(found))


def fill_from(name, value):
    """A list of numbers, which is empty for None."""
    if value is None:
        return []
    return numbers(name, "fill", value, ()) if isinstance(value, (list, tuple)) else [number(name, "fill", value)]


def center_from(name, value):
    """Two numbers, or None."""
    return None if value is None else numbers(name, "center", value, (2,))


def range_from(name, field, value):
    """Two numbers; of one number, from minus it to it."""
    if isinstance(value, (list, tuple)):
        return numbers(name, field, value, (2,))
    most = number(name, field, value)
    if not most >= 0:
        raise errors.ValueError(f"{name}: {field} is {value}, expected 0 or more, or two numbers")
    return [-most, most]


def flag(name, field, value):
    """True or False."""
    if not isinstance(value, bool):
        raise errors.TypeError(f"{name}: {field} is {in_words(value)}, expected True or False")
    return value


def is_antialiased(name, value):
    """None, which torchvision takes, is False."""
    return value is not None and flag(name, "antialias", value)
