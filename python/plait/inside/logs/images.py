"""Axes of images, named as PyTorch's SummaryWriter does, and grids of images."""

from plait import errors
from plait.inside.later import Later

np = Later("numpy")

_ROW = 8  # images in a row of a grid


def last_channels(pixels, formats, function):
    """The array with its axes in the order N, H, W, C; N only if the format has it."""
    several = "N" in formats
    names = formats.upper()
    if sorted(names) not in (sorted("NHWC"), sorted("NHW")) if several else sorted(names) not in (sorted("HWC"), sorted("HW")):
        raise errors.ValueError(f"{function}: dataformats is {formats!r}, expected the letters {'NHWC or NHW' if several else 'HWC or HW'} in any "
                                "order")
    if pixels.ndim != len(names):
        raise errors.ShapeError(f"{function}: dataformats is {formats!r}, and the image has {pixels.ndim} axes: {list(pixels.shape)}")
    ordered = pixels.transpose([names.index(each) for each in "NHWC" if each in names])
    return ordered if "C" in names else ordered[..., None]


def grid(images):
    """One image of several, [n, height, width, channels]; places without an image are black."""
    count, height, width, channels = images.shape
    if count == 0:
        raise errors.ShapeError("add_images: there are no images")
    columns = min(count, _ROW)
    rows = -(-count // columns)
    places = np.zeros((rows * columns, height, width, channels), images.dtype)
    places[:count] = images
    return places.reshape(rows, columns, height, width, channels).swapaxes(1, 2).reshape(rows * height, columns * width, channels)
