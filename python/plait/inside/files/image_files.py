"""Images in JPEG, PNG and WebP."""

import builtins
import os

from plait import _core, errors
from plait.inside.files.file_arguments import path_of, tensor_of
from plait.inside.help.names import in_words

_MODES = {"unchanged": 0, "gray": 1, "grey": 1, "rgb": 2, "rgba": 3, "rgb_alpha": 3}
_SAMPLINGS = {"4:4:4": 0, "4:2:2": 1, "4:2:0": 2}
_MOST_PIXELS = 178_956_970


def decode_image(data, mode="unchanged", *, crop=None, size=None, apply_exif_orientation=False, accept_truncated=False, max_pixels=_MOST_PIXELS,
                 keep_16_bits=False):
    """The image of a JPEG, PNG or WebP file, u8[channels, height, width], from the bytes of the file or its path. Modes are "unchanged", "gray",
    "rgb" and "rgba". In memory the channels of a pixel are adjacent.

    `crop=(top, left, height, width)` returns only these pixels; of a JPEG only the blocks that they need are decoded. `size=(height, width)` says
    what the image, or its crop, will be resized to: a JPEG is then decoded at the smallest of the scales 1/8, 1/4, 1/2 and 1 that gives at least
    this size, which is faster and changes pixels a little. A file that is damaged or ends early is a ParseError, and so is an image with
    more than `max_pixels`, before memory is allocated. `accept_truncated` accepts a JPEG, whose missing part is grey. A JPEG that is not progressive
    is read no further than a crop needs. A PNG of 16 bits loses its lower 8, unless `keep_16_bits=True` makes it u16.

    >>> image = plait.full((3, 20, 30), 128, dtype="u8")
    >>> file = plait.io.encode_jpeg(image)
    >>> plait.io.decode_image(file).shape, plait.io.decode_image(file, "gray", crop=(0, 0, 5, 5)).shape
    ((3, 20, 30), (1, 5, 5))
    """
    options = _options("decode_image", mode, crop, size, apply_exif_orientation, accept_truncated, max_pixels, keep_16_bits)
    if isinstance(data, (str, os.PathLike)):
        return _core._read_image(path_of("decode_image", data), *options)
    return _core._decode_image(bytes_from("decode_image", data), *options)


def read_image(path, mode="unchanged", *, crop=None, size=None, apply_exif_orientation=False, accept_truncated=False, max_pixels=_MOST_PIXELS,
               keep_16_bits=False):
    """decode_image of a file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plait.io.write_image(f"{folder}/x.png", plait.zeros((3, 4, 5), dtype="u8"))
    ...     plait.io.read_image(f"{folder}/x.png").shape
    (3, 4, 5)
    """
    options = _options("read_image", mode, crop, size, apply_exif_orientation, accept_truncated, max_pixels, keep_16_bits)
    return _core._read_image(path_of("read_image", path), *options)


def image_size(data):
    """(height, width) of an image as it is stored, from the header of the file: its bytes or its path.

    >>> plait.io.image_size(plait.io.encode_png(plait.zeros((3, 4, 5), dtype="u8")))
    (4, 5)
    """
    if isinstance(data, (str, os.PathLike)):
        return _core._image_size_of_file(path_of("image_size", data))
    return _core._image_size(bytes_from("image_size", data))


def encode_jpeg(image, quality=75, *, subsampling="4:2:0", progressive=False):
    """The bytes of a JPEG file of an image: u8[1 or 3 channels, height, width], or u8[height, width]. `subsampling` is that of the colours:
    "4:4:4", "4:2:2" or "4:2:0".

    >>> plait.io.encode_jpeg(plait.zeros((3, 4, 5), dtype="u8"))[:3]
    b'\\xff\\xd8\\xff'
    """
    options = _write_options("encode_jpeg", quality=quality, subsampling=subsampling, progressive=progressive)
    return _core._encode_jpeg(tensor_of("encode_jpeg", image), options)


def encode_png(image, compression_level=6):
    """The bytes of a PNG file of an image: u8[1 to 4 channels, height, width], or u8[height, width]. The level is 0 to 9.

    >>> plait.io.encode_png(plait.zeros((4, 5), dtype="u8"))[1:4]
    b'PNG'
    """
    return _core._encode_png(tensor_of("encode_png", image), _write_options("encode_png", compression_level=compression_level))


def encode_webp(image, quality=80, *, lossless=False, effort=4):
    """The bytes of a WebP file of an image: u8[3 or 4 channels, height, width]. The effort is 0 to 6.

    >>> image = np.arange(60, dtype="u1").reshape(3, 4, 5)
    >>> plait.array_equal(plait.io.decode_image(plait.io.encode_webp(image, lossless=True)), image).item()
    True
    """
    options = _write_options("encode_webp", quality=quality, lossless=lossless, effort=effort)
    return _core._encode_webp(tensor_of("encode_webp", image), options)


def write_image(path, image, *, quality=None, subsampling="4:2:0", progressive=False, compression_level=6, lossless=False, effort=4):
    """Writes an image to a file whose name ends with .jpg, .jpeg, .png or .webp, with the options of encode_jpeg, encode_png and encode_webp.
    The file is replaced atomically.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plait.io.write_image(f"{folder}/x.jpg", plait.zeros((3, 4, 5), dtype="u8"), quality=90)
    ...     plait.io.image_size(f"{folder}/x.jpg")
    (4, 5)
    """
    options = _write_options("write_image", quality=quality, subsampling=subsampling, progressive=progressive, compression_level=compression_level,
                             lossless=lossless, effort=effort)
    _core._write_image(path_of("write_image", path), tensor_of("write_image", image), options)


def bytes_from(function, data):
    """The bytes of a file. An object with a buffer of bytes; a tensor of bytes is one."""
    if isinstance(data, _core.Tensor):
        data = tensor_of(function, data).numpy()
    if hasattr(data, "__array_interface__") and not (data.dtype == "u1" and data.ndim == 1 and data.flags.c_contiguous):
        raise errors.TypeError(f"io.{function}: the data are {data.dtype}{list(data.shape)}, expected the bytes of a file, or u8[n]")
    try:
        return memoryview(data).cast("B")
    except builtins.TypeError:
        raise errors.TypeError(f"io.{function}: the data are {in_words(data)}, expected the bytes of a file, or its path") from None


def mode_number(function, mode):
    """The number of a mode, by its name."""
    name = getattr(mode, "name", mode)  # an enum, as torchvision's
    number = _MODES.get(name.lower()) if isinstance(name, str) else None
    if number is None:
        raise errors.ValueError(f"io.{function}: the mode is {mode!r}, expected 'unchanged', 'gray', 'rgb' or 'rgba'")
    return number


def expect_options(name, **given):
    """An error unless these are options of read_image."""
    known = {"mode": "unchanged", **read_image.__kwdefaults__}
    for each in given:
        if each not in known:
            raise errors.TypeError(f"{name}: unknown argument {each!r}, expected {', '.join(known)}")
    _options("read_image", **{**known, **given})


def _options(function, mode, crop, size, apply_exif_orientation, accept_truncated, max_pixels, keep_16_bits):
    if size is not None and not hasattr(size, "__len__"):
        size = (size, size)
    return (mode_number(function, mode), _integers(function, "crop", crop, "(top, left, height, width)", 4),
            _integers(function, "size", size, "(height, width)", 2), bool(apply_exif_orientation), bool(accept_truncated),
            *_integers(function, "max_pixels", (max_pixels,), "an integer", 1), bool(keep_16_bits))


def _integers(function, name, given, expected, count):
    if given is None:
        return None
    try:
        numbers = tuple(each.__index__() for each in given)
    except (builtins.TypeError, AttributeError):
        numbers = ()
    if len(numbers) != count or any(abs(each) >= 2 ** 63 for each in numbers):
        raise errors.TypeError(f"io.{function}: {name} is {in_words(given)}, expected {expected}")
    return numbers


def _write_options(function, quality=None, subsampling="4:2:0", progressive=False, compression_level=6, lossless=False, effort=4):
    sampling = _SAMPLINGS.get(subsampling) if isinstance(subsampling, str) else None
    if sampling is None:
        raise errors.ValueError(f"io.{function}: the subsampling is {subsampling!r}, expected '4:4:4', '4:2:2' or '4:2:0'")
    jpeg, webp = (75, 80.0) if quality is None else (int(_number(function, "quality", quality)), float(quality))
    compression_level, effort = (int(_number(function, name, given)) for name, given in (("compression_level", compression_level), ("effort", effort)))
    return _core._WriteImageOptions(jpeg, sampling, bool(progressive), compression_level, webp, bool(lossless), effort)


def _number(function, name, given):
    if isinstance(given, (str, bytes)) or not hasattr(given, "__float__"):
        raise errors.TypeError(f"io.{function}: {name} is {in_words(given)}, expected a number")
    number = float(given)
    if not abs(number) < 2 ** 31:
        raise errors.ValueError(f"io.{function}: {name} is {given}, which is out of range")
    return number
