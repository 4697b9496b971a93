"""Functions of images, with the names and arguments of torchvision.transforms.v2.functional: what transforms do, with given numbers."""

from plait.inside.data.images.image_functions import (  # noqa: F401
    adjust_brightness, adjust_contrast, adjust_hue, adjust_saturation, adjust_sharpness, affine, autocontrast, center_crop, crop, equalize, erase,
    gaussian_blur, horizontal_flip, invert, normalize, pad, posterize, resize, resized_crop, rgb_to_grayscale, rotate, solarize, to_dtype, to_image,
    vertical_flip)
from plait.inside.help.names import of_public_module as _of_public_module

hflip, vflip, to_grayscale = horizontal_flip, vertical_flip, rgb_to_grayscale

__getattr__, __dir__, __all__ = _of_public_module(globals())
