"""Transforms of images, with the names and arguments of torchvision.transforms.v2. Images are tensors [..., channels, height, width] of u8 (0 to
255) or floats (0 to 1). A transform that draws takes a key, transform(image, key), and draws from nothing else; without one, the key is the next of
the default stream. plait.data.mapped(dataset, transform) passes each sample its own key."""

from plait.inside.data.images.color_transforms import (  # noqa: F401
    ColorJitter, Grayscale, RandomAdjustSharpness, RandomAutocontrast, RandomEqualize, RandomGrayscale, RandomInvert, RandomPosterize, RandomSolarize)
from plait.inside.data.images.combinations import Compose, Lambda, RandomApply, RandomChoice, RandomOrder  # noqa: F401
from plait.inside.data.images.geometry_transforms import GaussianBlur, RandomAffine, RandomErasing, RandomRotation  # noqa: F401
from plait.inside.data.images.image_arguments import InterpolationMode  # noqa: F401
from plait.inside.data.images.image_transform import Transform  # noqa: F401
from plait.inside.data.images.mixing import CutMix, MixUp  # noqa: F401
from plait.inside.data.images.policies import AugMix, AutoAugment, AutoAugmentPolicy, RandAugment, TrivialAugmentWide  # noqa: F401
from plait.inside.data.images.size_transforms import (  # noqa: F401
    CenterCrop, Normalize, Pad, RandomCrop, RandomHorizontalFlip, RandomResizedCrop, RandomVerticalFlip, Resize, ToDtype, ToImage, ToTensor)
from plait.inside.help.names import of_public_module as _of_public_module
from plait.data.transforms import functional  # noqa: F401

__getattr__, __dir__, __all__ = _of_public_module(globals())
