"""Transforms of the numbers and the sizes of images."""

import os

from plait import _core, errors
from plait.inside.data.images.image_arguments import (
    fill_from, flag, integer, interpolation_from, is_antialiased, number, numbers, padding_from, pixels_from, size_from)
from plait.inside.data.images.image_functions import normalize, to_dtype
from plait.inside.data.images.image_transform import Transform, next_key, with_image
from plait.inside.data.images.on_host import is_on_gpu
from plait.inside.files.file_arguments import path_of
from plait.inside.files.image_files import bytes_from, mode_number
from plait.inside.help.names import in_words

_transforms = _core._transforms


class ToImage(Transform):
    """A tensor [channels, height, width] from an image of Pillow or an array [height, width, channels] of NumPy: a view.

    >>> plait.data.transforms.ToImage()(np.zeros((2, 3, 3), "u1")).shape
    (3, 2, 3)
    """

    is_random = False

    def __init__(self):
        self._set(None)

    def __call__(self, sample, key=None):
        """The sample with its image as a tensor."""
        return with_image("ToImage", sample, lambda image: pixels_from("ToImage", image))

    def make_params(self, image, key):
        return {}


class ToTensor(ToImage):
    """ToImage, and bytes as f32 from 0 to 1.

    >>> plait.data.transforms.ToTensor()(np.full((1, 1, 3), 255, "u1"))
    [[[1.]]
     [[1.]]
     [[1.]]] : f32[3, 1, 1]
    """

    def __call__(self, sample, key=None):
        """The sample with its image as f32."""
        return with_image("ToTensor", sample, self._floats)

    def _floats(self, image):
        pixels = pixels_from("ToTensor", image)
        return to_dtype(pixels, "f32", scale=True) if pixels.dtype.name == "u8" else pixels


class ToDtype(Transform):
    """Converts images to a dtype. With scale, 0 to 255 of u8 becomes 0 to 1 of floats, and back.

    >>> plait.data.transforms.ToDtype("f32", scale=True)(plait.tensor([[[0, 51, 255]]], dtype="u8"))
    [[[0.  0.2 1. ]]] : f32[1, 1, 3]
    """

    def __init__(self, dtype, scale=False):
        self._set(_transforms.ToDtype(dtype, flag("ToDtype", "scale", scale)), dtype=dtype, scale=scale)

    def _of_image(self, image, key):
        return to_dtype(image, self.dtype, self.scale) if is_on_gpu(image) else super()._of_image(image, key)


class Normalize(Transform):
    """(x - mean) / std, with a number for each channel, of floats. After ToDtype("f32", scale=True) in a Compose, both are one pass over the bytes.

    >>> plait.data.transforms.Normalize([0.5], [0.25])(plait.tensor([[[0.0, 0.5, 1.0]]]))
    [[[-2.  0.  2.]]] : f32[1, 1, 3]
    """

    def __init__(self, mean, std, inplace=False):
        mean, std = numbers("Normalize", "mean", mean, ()), numbers("Normalize", "std", std, ())
        self._set(_transforms.Normalize(mean, std), mean=mean, std=std, inplace=inplace)

    def _of_image(self, image, key):
        return normalize(image, self.mean, self.std) if is_on_gpu(image) else super()._of_image(image, key)


class Resize(Transform):
    """Resizes images to [height, width]; of one number, the shorter side has it, unless the longer one would exceed max_size.

    >>> plait.data.transforms.Resize(20)(plait.zeros((3, 40, 60))).shape
    (3, 20, 30)
    """

    def __init__(self, size, interpolation="bilinear", max_size=None, antialias=True):
        most = None if max_size is None else integer("Resize", "max_size", max_size)
        both, side = None, None
        if isinstance(size, (list, tuple)) and len(size) == 2:
            if most is not None:
                raise errors.ValueError(f"Resize: max_size is {max_size}, but size is {in_words(size)}: both sides are given")
            both = size_from("Resize", "size", size)
        elif size is not None:
            side = size_from("Resize", "size", size)[0]
        elif most is None:
            raise errors.ValueError("Resize: size and max_size are None, expected one of them")
        core = _transforms.Resize(both, side, most, interpolation_from("Resize", interpolation), is_antialiased("Resize", antialias))
        self._set(core, size=size, interpolation=interpolation, max_size=max_size, antialias=antialias)


class CenterCrop(Transform):
    """The middle of images: a view. Where an image is smaller, it is padded with 0.

    >>> plait.data.transforms.CenterCrop(4)(plait.zeros((3, 9, 9))).shape
    (3, 4, 4)
    """

    def __init__(self, size):
        self._set(_transforms.CenterCrop(size_from("CenterCrop", "size", size)), size=size)


class Pad(Transform):
    """Adds pixels: as many on all sides, [left and right, top and bottom] or [left, top, right, bottom]. The mode is constant, edge, reflect or
    symmetric.

    >>> plait.data.transforms.Pad([1, 0], fill=5)(plait.ones((1, 1, 1)))
    [[[5. 1. 5.]]] : f32[1, 1, 3]
    """

    def __init__(self, padding, fill=0, padding_mode="constant"):
        self._set(_transforms.Pad(padding_from("Pad", padding), fill_from("Pad", fill), str(padding_mode)),
                  padding=padding, fill=fill, padding_mode=padding_mode)


class RandomHorizontalFlip(Transform):
    """Flips images from right to left with probability p: a view.

    >>> plait.data.transforms.RandomHorizontalFlip(1.0)(plait.tensor([[[1, 2]]], dtype="u8"))
    [[[2 1]]] : u8[1, 1, 2]
    """

    def __init__(self, p=0.5):
        self._set(_transforms.RandomHorizontalFlip(number("RandomHorizontalFlip", "p", p)), p=p)


class RandomVerticalFlip(Transform):
    """Flips images upside down with probability p: a view.

    >>> plait.data.transforms.RandomVerticalFlip(1.0)(plait.tensor([[[1], [2]]], dtype="u8"))
    [[[2]
      [1]]] : u8[1, 2, 1]
    """

    def __init__(self, p=0.5):
        self._set(_transforms.RandomVerticalFlip(number("RandomVerticalFlip", "p", p)), p=p)


class RandomCrop(Transform):
    """A box of this size at a random place: a view, unless the image is padded first.

    >>> plait.data.transforms.RandomCrop(4, padding=1)(plait.zeros((3, 4, 9))).shape
    (3, 4, 4)
    """

    def __init__(self, size, padding=None, pad_if_needed=False, fill=0, padding_mode="constant"):
        around = None if padding is None else padding_from("RandomCrop", padding)
        core = _transforms.RandomCrop(size_from("RandomCrop", "size", size), around, flag("RandomCrop", "pad_if_needed", pad_if_needed),
                                      fill_from("RandomCrop", fill), str(padding_mode))
        self._set(core, size=size, padding=padding, pad_if_needed=pad_if_needed, fill=fill, padding_mode=padding_mode)


class RandomResizedCrop(Transform):
    """A box with a random share of the area and a random ratio of width to height, resized. Pixels outside of it are not read.

    >>> plait.data.transforms.RandomResizedCrop(224)(plait.zeros((3, 40, 60)), plait.random.key(0)).shape
    (3, 224, 224)
    """

    def __init__(self, size, scale=(0.08, 1.0), ratio=(3.0 / 4.0, 4.0 / 3.0), interpolation="bilinear", antialias=True):
        name = "RandomResizedCrop"
        crop = _transforms.ResizedCrop(size_from(name, "size", size), numbers(name, "scale", scale, (2,)), numbers(name, "ratio", ratio, (2,)),
                                       interpolation_from(name, interpolation), is_antialiased(name, antialias))
        self._set(crop.transform(), size=size, scale=scale, ratio=ratio, interpolation=interpolation, antialias=antialias)
        vars(self)["_crop"] = crop

    def read(self, file, key=None, mode="rgb", *, reduced=True):
        """The crop of an image in a file (its path or its bytes), resized. Only the blocks of a JPEG that the crop needs are decoded, at 1/8, 1/4 or
        1/2 of its size if that is enough: this is faster and changes pixels a little. With `reduced=False` the pixels are those of the whole
        image, transformed.

        >>> file = plait.io.encode_jpeg(plait.zeros((3, 40, 60), dtype="u8"))
        >>> plait.data.transforms.RandomResizedCrop(16).read(file, plait.random.key(0)).shape
        (3, 16, 16)
        """
        how = mode_number("decode_image", mode), bool(reduced)
        if isinstance(file, (str, os.PathLike)):
            return self._crop.read(path_of("decode_image", file), next_key(key), *how)
        return self._crop.decode(bytes_from("decode_image", file), next_key(key), *how)
