"""Functions of images: arguments are put in order, and passed to those in C++."""

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.data.images.image_arguments import (
    center_from, fill_from, flag, image_from, integer, interpolation_from, is_antialiased, number, numbers, padding_from, pixels_from, size_from)
from plait.inside.data.images.on_host import images as _images


def to_image(inpt):
    """A tensor [channels, height, width] from an image of Pillow, or from an array of NumPy [height, width, channels]: a view. Tensors stay as they
    are.

    >>> plait.data.transforms.functional.to_image(np.zeros((2, 3, 3), "u1")).shape
    (3, 2, 3)
    """
    return pixels_from("to_image", inpt)


def to_dtype(inpt, dtype="f32", scale=False):
    """The image in another dtype; with scale, 0 to 255 of u8 becomes 0 to 1 of floats, and back.

    >>> plait.data.transforms.functional.to_dtype(plait.tensor([[[0, 51, 255]]], dtype="u8"), "f32", scale=True)
    [[[0.  0.2 1. ]]] : f32[1, 1, 3]
    """
    return _images.to_dtype(image_from("to_dtype", inpt), dtype, flag("to_dtype", "scale", scale))


def normalize(inpt, mean, std, inplace=False):
    """(x - mean) / std, with a number for each channel.

    >>> plait.data.transforms.functional.normalize(plait.tensor([[[0.0, 0.5, 1.0]]]), [0.5], [0.25])
    [[[-2.  0.  2.]]] : f32[1, 1, 3]
    """
    return _images.normalize(image_from("normalize", inpt), numbers("normalize", "mean", mean, ()), numbers("normalize", "std", std, ()))


def resize(inpt, size, interpolation="bilinear", max_size=None, antialias=True):
    """The image with another size [height, width]; of one number, the shorter side has it, unless the longer one would exceed max_size.

    >>> plait.data.transforms.functional.resize(plait.zeros((3, 40, 60)), 20).shape
    (3, 20, 30)
    """
    image = image_from("resize", inpt)
    most = None if max_size is None else integer("resize", "max_size", max_size)
    if isinstance(size, (list, tuple)) and len(size) == 2:
        if most is not None:
            raise errors.ValueError(f"resize: max_size is {max_size}, but size is {size}: both sides are given")
        height, width = size_from("resize", "size", size)
    else:
        side = None if size is None else size_from("resize", "size", size)[0]
        height, width = _core._images.resized_size(*_core._images.size(image), side, most)
    return _images.resize(image, height, width, interpolation_from("resize", interpolation), is_antialiased("resize", antialias))


def crop(inpt, top, left, height, width):
    """A box of the image: a view. Outside of the image it is 0.

    >>> plait.data.transforms.functional.crop(plait.ones((1, 4, 4)), 3, 0, 2, 2)
    [[[1. 1.]
      [0. 0.]]] : f32[1, 2, 2]
    """
    return _images.crop(image_from("crop", inpt), *numbers("crop", "the box", (top, left, height, width), (4,), integer))


def center_crop(inpt, output_size):
    """The middle of the image: a view. Where the image is smaller, it is padded with 0.

    >>> plait.data.transforms.functional.center_crop(plait.zeros((3, 9, 9)), 4).shape
    (3, 4, 4)
    """
    return _images.center_crop(image_from("center_crop", inpt), *size_from("center_crop", "output_size", output_size))


def resized_crop(inpt, top, left, height, width, size, interpolation="bilinear", antialias=True):
    """A box of the image, resized. Other pixels are not read.

    >>> plait.data.transforms.functional.resized_crop(plait.zeros((3, 9, 9)), 1, 2, 4, 4, 8).shape
    (3, 8, 8)
    """
    box = numbers("resized_crop", "the box", (top, left, height, width), (4,), integer)
    return _images.resized_crop(image_from("resized_crop", inpt), box, *size_from("resized_crop", "size", size),
                                interpolation_from("resized_crop", interpolation), is_antialiased("resized_crop", antialias))


def pad(inpt, padding, fill=None, padding_mode="constant"):
    """The image with more pixels around it: as many everywhere, [left and right, top and bottom] or [left, top, right, bottom]. The mode is constant,
    edge, reflect or symmetric.

    >>> plait.data.transforms.functional.pad(plait.ones((1, 1, 1)), [1, 0], fill=5)
    [[[5. 1. 5.]]] : f32[1, 1, 3]
    """
    return _images.pad(image_from("pad", inpt), padding_from("pad", padding), fill_from("pad", fill), str(padding_mode))


def horizontal_flip(inpt):
    """The image from right to left: a view.

    >>> plait.data.transforms.functional.horizontal_flip(plait.tensor([[[1, 2]]], dtype="u8"))
    [[[2 1]]] : u8[1, 1, 2]
    """
    return _images.horizontal_flip(image_from("horizontal_flip", inpt))


def vertical_flip(inpt):
    """The image upside down: a view.

    >>> plait.data.transforms.functional.vertical_flip(plait.tensor([[[1], [2]]], dtype="u8"))
    [[[2]
      [1]]] : u8[1, 2, 1]
    """
    return _images.vertical_flip(image_from("vertical_flip", inpt))


def erase(inpt, i, j, h, w, v, inplace=False):
    """The image with the box from row i and column j on replaced by v.

    >>> plait.data.transforms.functional.erase(plait.ones((1, 2, 2)), 0, 1, 2, 1, 0)
    [[[1. 0.]
      [1. 0.]]] : f32[1, 2, 2]
    """
    return _images.erase(image_from("erase", inpt), numbers("erase", "the box", (i, j, h, w), (4,), integer), asarray(v))


def affine(inpt, angle, translate, scale, shear, interpolation="nearest", fill=None, center=None):
    """The image turned by an angle in degrees, clockwise, scaled and sheared around its center, then moved by translate, in pixels.

    >>> plait.data.transforms.functional.affine(plait.tensor([[[1.0, 2.0]]]), 0, [1, 0], 1, 0)
    [[[0. 1.]]] : f32[1, 1, 2]
    """
    shear = numbers("affine", "shear", shear, (1, 2)) if isinstance(shear, (list, tuple)) else [number("affine", "shear", shear), 0.0]
    return _images.affine(image_from("affine", inpt), number("affine", "angle", angle), numbers("affine", "translate", translate, (2,)),
                          number("affine", "scale", scale), shear * (2 // len(shear)), interpolation_from("affine", interpolation),
                          fill_from("affine", fill), center_from("affine", center))


def rotate(inpt, angle, interpolation="nearest", expand=False, center=None, fill=None):
    """The image turned by an angle in degrees, counterclockwise. With expand, the result is large enough for all of it.

    >>> plait.data.transforms.functional.rotate(plait.tensor([[[1, 2]]], dtype="u8"), 90, expand=True)
    [[[2]
      [1]]] : u8[1, 2, 1]
    """
    return _images.rotate(image_from("rotate", inpt), number("rotate", "angle", angle), flag("rotate", "expand", expand),
                          interpolation_from("rotate", interpolation), fill_from("rotate", fill), center_from("rotate", center))


def gaussian_blur(inpt, kernel_size, sigma=None):
    """The image blurred by a Gaussian kernel with these sizes along x and y, which are odd; sigma is 0.15 size + 0.35 by default.

    >>> plait.data.transforms.functional.gaussian_blur(plait.ones((1, 3, 3)), 3, 1.0).shape
    (1, 3, 3)
    """
    sizes = size_from("gaussian_blur", "kernel_size", kernel_size)
    if sigma is None:
        sigma = [size * 0.15 + 0.35 for size in sizes]
    sigma = numbers("gaussian_blur", "sigma", sigma, (1, 2)) if isinstance(sigma, (list, tuple)) else [number("gaussian_blur", "sigma", sigma)]
    return _images.gaussian_blur(image_from("gaussian_blur", inpt), sizes, sigma * (2 // len(sigma)))


def rgb_to_grayscale(inpt, num_output_channels=1):
    """0.2989 r + 0.587 g + 0.114 b, in one channel or three equal ones.

    >>> plait.data.transforms.functional.rgb_to_grayscale(plait.tensor([[[255]], [[0]], [[0]]], dtype="u8"))
    [[[76]]] : u8[1, 1, 1]
    """
    return _images.rgb_to_grayscale(image_from("rgb_to_grayscale", inpt), integer("rgb_to_grayscale", "num_output_channels", num_output_channels))


def adjust_brightness(inpt, brightness_factor):
    """From black (0) to the image (1), and beyond.

    >>> plait.data.transforms.functional.adjust_brightness(plait.tensor([[[10, 200]]], dtype="u8"), 2.0)
    [[[ 20 255]]] : u8[1, 1, 2]
    """
    return _images.adjust_brightness(image_from("adjust_brightness", inpt), number("adjust_brightness", "brightness_factor", brightness_factor))


def adjust_contrast(inpt, contrast_factor):
    """From the mean of the grey image (0) to the image (1), and beyond.

    >>> plait.data.transforms.functional.adjust_contrast(plait.tensor([[[10, 20]]], dtype="u8"), 2.0)
    [[[ 5 25]]] : u8[1, 1, 2]
    """
    return _images.adjust_contrast(image_from("adjust_contrast", inpt), number("adjust_contrast", "contrast_factor", contrast_factor))


def adjust_saturation(inpt, saturation_factor):
    """From the grey image (0) to the image (1), and beyond.

    >>> plait.data.transforms.functional.adjust_saturation(plait.tensor([[[255]], [[0]], [[0]]], dtype="u8"), 0.0)[:, 0, 0]
    [76 76 76] : u8[3]
    """
    return _images.adjust_saturation(image_from("adjust_saturation", inpt), number("adjust_saturation", "saturation_factor", saturation_factor))


def adjust_hue(inpt, hue_factor):
    """Turns the hues by a part of the circle, from -0.5 to 0.5.

    >>> plait.data.transforms.functional.adjust_hue(plait.tensor([[[255]], [[0]], [[0]]], dtype="u8"), 0.5)[:, 0, 0]
    [  0 255 255] : u8[3]
    """
    return _images.adjust_hue(image_from("adjust_hue", inpt), number("adjust_hue", "hue_factor", hue_factor))


def adjust_sharpness(inpt, sharpness_factor):
    """From a blurred image (0) to the image (1), and beyond.

    >>> plait.data.transforms.functional.adjust_sharpness(plait.ones((1, 3, 3)), 2.0).shape
    (1, 3, 3)
    """
    return _images.adjust_sharpness(image_from("adjust_sharpness", inpt), number("adjust_sharpness", "sharpness_factor", sharpness_factor))


def invert(inpt):
    """255 - x, or 1 - x.

    >>> plait.data.transforms.functional.invert(plait.tensor([[[0, 255]]], dtype="u8"))
    [[[255   0]]] : u8[1, 1, 2]
    """
    return _images.invert(image_from("invert", inpt))


def posterize(inpt, bits):
    """Keeps the upper bits of each number, 0 to 8 of them.

    >>> plait.data.transforms.functional.posterize(plait.tensor([[[7, 255]]], dtype="u8"), 4)
    [[[  0 240]]] : u8[1, 1, 2]
    """
    return _images.posterize(image_from("posterize", inpt), integer("posterize", "bits", bits))


def solarize(inpt, threshold):
    """Inverts the numbers from a threshold on.

    >>> plait.data.transforms.functional.solarize(plait.tensor([[[7, 250]]], dtype="u8"), 128)
    [[[7 5]]] : u8[1, 1, 2]
    """
    return _images.solarize(image_from("solarize", inpt), number("solarize", "threshold", threshold))


def autocontrast(inpt):
    """The least number of each channel becomes 0, and the greatest one the maximum.

    >>> plait.data.transforms.functional.autocontrast(plait.tensor([[[100, 151, 185]]], dtype="u8"))
    [[[  0 153 255]]] : u8[1, 1, 3]
    """
    return _images.autocontrast(image_from("autocontrast", inpt))


def equalize(inpt):
    """Numbers such that all are about equally frequent, for each channel.

    >>> plait.data.transforms.functional.equalize(plait.ones((3, 8, 8), dtype="u8")).shape
    (3, 8, 8)
    """
    return _images.equalize(image_from("equalize", inpt))
