"""Sizes and numbers of images: resize, crop, pad, flip, to_dtype, normalize, against torchvision."""

import itertools
import pickle
import unittest

import numpy as np
import plait as pl
import torch
from plait.data import transforms as T
from plait.data.transforms import functional as F
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as tv
from transform_cases import TransformCase, image

SIZES = [(1, 1, 5, 7), (13, 17, 7, 9), (7, 9, 30, 41), (100, 3, 20, 50), (64, 64, 64, 32), (64, 64, 32, 64), (90, 120, 56, 56), (16, 16, 17, 17),
         (3, 400, 40, 10), (200, 200, 1, 3), (2, 2, 33, 65)]
MODES = [(mode, antialias) for mode in ("nearest", "nearest-exact", "bilinear", "bicubic") for antialias in (True, False)]


def resized_by_torch(pixels, size, mode, antialias):
    """torchvision's; in row-major order where PyTorch fails on other strides."""
    wanted, mode = torch.from_numpy(pixels), v2.InterpolationMode(mode)
    try:
        return tv.resize(wanted, size, mode, antialias=antialias)
    except RuntimeError:
        return tv.resize(wanted.clone(memory_format=torch.contiguous_format), size, mode, antialias=antialias)


class Resizing(TransformCase):
    def test_resize_is_torchvisions(self):
        for channels, interleaved, (height, width, *size), (mode, antialias) in itertools.product((1, 3), (False, True), SIZES, MODES):
            pixels = image((channels, height, width), "u1", interleaved)
            got = F.resize(pixels, size, mode, antialias=antialias)
            self.close(got, resized_by_torch(pixels, size, mode, antialias), 0, (channels, interleaved, height, width, size, mode, antialias))

    def test_channels_come_first(self):
        pixels = np.zeros((100, 120, 3), np.uint8)
        for transform in (T.Resize(64), T.CenterCrop(8), T.Grayscale(), T.ColorJitter(0.5)):
            with self.assertRaisesRegex(pl.ShapeError, "ToImage before it"):
                transform(pixels)
            self.assertEqual(T.ToDtype(torch.float32, scale=True)(T.ToImage()(pixels)).dtype, pl.f32)
        self.assertEqual(T.CenterCrop(2)(torch.zeros(5, 9, 3)).shape, (5, 2, 2))  # PyTorch's have their channels first

    def test_resize_of_floats(self):
        for dtype, channels, interleaved, (height, width, *size), (mode, antialias) in itertools.product(
                ("f4", "f8"), (1, 3), (False, True), SIZES[:8], MODES):
            pixels = image((channels, height, width), dtype, interleaved)
            got = F.resize(pixels, size, mode, antialias=antialias)
            self.close(got, resized_by_torch(pixels, size, mode, antialias), 0, (dtype, channels, interleaved, height, width, size, mode, antialias))

    def test_other_channels_batches_and_strides(self):
        for channels in (2, 4, 5, 9):
            pixels = image((2, 3, channels, 19, 23))
            self.close(F.resize(pixels, [8, 40]), tv.resize(torch.from_numpy(pixels), [8, 40]), 1, channels)
        pixels = image((3, 40, 60))
        for view in (pixels[:, ::-1], pixels[:, :, ::-1], pixels[:, 5:30, 7:50], pixels[:, ::2, ::3], pixels.transpose(0, 2, 1), pixels[::-1]):
            self.close(F.resize(pl.asarray(view), [16, 24]), tv.resize(torch.from_numpy(view.copy()), [16, 24]), 0)
        interleaved = image((3, 40, 60), interleaved=True)
        for view in (interleaved[:, ::-1], interleaved[:, :, ::-1], interleaved[:, 5:30, 7:50], interleaved[:, -4:, -4:]):
            self.close(F.resize(pl.asarray(view), [16, 24]), tv.resize(torch.from_numpy(view.copy()), [16, 24]), 0)
        self.assertEqual(F.resize(pl.zeros((0, 3, 4, 4)), [2, 2]).shape, (0, 3, 2, 2))
        half = F.resize(pl.ones((3, 5, 5), dtype="bf16"), [3, 3])
        self.assertEqual((half.dtype, half.min().item()), (pl.bf16, 1))

    def test_sides(self):
        for shape, size, most in itertools.product([(3, 30, 40), (3, 40, 30), (1, 33, 97), (1, 5, 5)], (8, 17, [20], None), (None, 25, 50)):
            if size is None and most is None:
                continue
            wanted = tv.resize(torch.zeros(shape), size, max_size=most).shape
            self.assertEqual(F.resize(pl.zeros(shape), size, max_size=most).shape, tuple(wanted), (shape, size, most))
            self.assertEqual(T.Resize(size, max_size=most)(pl.zeros(shape)).shape, tuple(wanted))
        self.assertEqual(T.Resize((5, 6), interpolation=2)(pl.zeros((1, 3, 3))).shape, (1, 5, 6))

    def test_resized_crop(self):
        pixels = image((3, 75, 100), interleaved=True)
        for box in ((0, 0, 75, 100), (10, 20, 30, 40), (74, 99, 1, 1), (-5, 90, 20, 30)):
            self.close(F.resized_crop(pixels, *box, 32), tv.resized_crop(torch.from_numpy(pixels.copy()), *box, [32, 32]), 0, box)

    def test_bad_input(self):
        self.refused(pl.ShapeError, r"resize: the image is u8\[4, 4\], expected \[..., channels, height, width\]",
                     lambda: F.resize(np.zeros((4, 4), "u1"), [2, 2]))
        self.refused(pl.TypeError, r"resize: the image is i32\[1, 4, 4\], expected u8 or floats", lambda: F.resize(np.zeros((1, 4, 4), "i4"), [2, 2]))
        self.refused(pl.TypeError, "resize: the image is bool", lambda: F.resize(np.zeros((1, 4, 4), bool), [2, 2]))
        self.refused(pl.ValueError, r"resize: the size is \[0, 2\], expected 1 or more", lambda: F.resize(pl.zeros((1, 4, 4)), [0, 2]))
        self.refused(pl.ShapeError, r"resize: the image is \[1, 0, 4\], which has no pixels", lambda: F.resize(pl.zeros((1, 0, 4)), [2, 2]))
        self.refused(pl.ValueError, "Resize: interpolation is 'cubic', expected one of nearest", lambda: T.Resize(3, "cubic"))
        self.refused(pl.ValueError, "Resize: the size is", lambda: T.Resize(0))
        self.refused(pl.ValueError, "max_size is 5, expected more than the size 8", lambda: T.Resize(8, max_size=5))
        self.refused(pl.ValueError, "both sides are given", lambda: T.Resize((8, 8), max_size=50))
        self.refused(pl.ValueError, "size and max_size are None", lambda: T.Resize(None))
        self.refused(pl.TypeError, "size is 'a', expected an integer", lambda: T.Resize("a"))
        self.refused(pl.TypeError, "the image is 'a', expected a tensor", lambda: T.Resize(3)("a"))
        self.refused((pl.MemoryError, pl.ValueError), "", lambda: F.resize(pl.zeros((1, 4, 4)), [2**40, 2**40]))


class CropsAndPadding(TransformCase):
    def test_crop(self):
        pixels = image((2, 3, 9, 11))
        for box in itertools.product((-12, -2, 0, 5, 10), (-20, -1, 0, 3, 15), (1, 4, 30), (1, 2, 40)):
            if box[0] + box[2] > 0 and box[1] + box[3] > 0:  # else torchvision's slices begin at the other end
                self.close(F.crop(pixels, *box), tv.crop(torch.from_numpy(pixels), *box), 0, box)
            else:
                self.assertEqual((F.crop(pixels, *box).shape, F.crop(pixels, *box).numpy().any()), ((2, 3, *box[2:]), False))
        for size in (1, 4, (5, 8), (9, 11), (20, 3), (3, 20), (13, 14)):
            self.close(F.center_crop(pixels, size), tv.center_crop(torch.from_numpy(pixels), size if isinstance(size, int) else list(size)), 0, size)
            self.close(T.CenterCrop(size)(pixels), v2.CenterCrop(size)(torch.from_numpy(pixels)), 0, size)
        self.refused(pl.ValueError, r"crop: the box has the size \[-1, 2\]", lambda: F.crop(pixels, 0, 0, -1, 2))
        self.refused(pl.ValueError, r"CenterCrop: the size is \[0, 0\]", lambda: T.CenterCrop(0))

    def test_crops_and_flips_are_views(self):
        pixels = image((3, 9, 11))
        for view in (F.crop(pixels, 1, 1, 5, 5), F.center_crop(pixels, 4), F.horizontal_flip(pixels), F.vertical_flip(pixels)):
            self.assertTrue(np.shares_memory(view.numpy(), pixels))

    def test_flips(self):
        for shape in ((3, 4, 5), (2, 1, 3, 1), (1, 1, 1)):
            pixels = image(shape)
            self.close(F.hflip(pixels), tv.hflip(torch.from_numpy(pixels)), 0)
            self.close(F.vflip(F.hflip(pixels)), tv.vflip(tv.hflip(torch.from_numpy(pixels))), 0)

    def test_pad(self):
        for dtype, mode, padding in itertools.product(("u1", "f4"), ("constant", "edge", "reflect", "symmetric"), (0, 2, [1, 3], [1, 2, 3, 4], [0, 0, 0, 4])):
            pixels = image((2, 3, 5, 6), dtype)
            for fill in ([0, 7, None, [1, 2, 3]] if mode == "constant" else [0]):
                wanted = tv.pad(torch.from_numpy(pixels), padding, fill=fill, padding_mode=mode)
                self.close(F.pad(pixels, padding, fill, mode), wanted, 0, (dtype, mode, padding, fill))
        self.close(T.Pad((1, 2), 3, "constant")(pixels), v2.Pad((1, 2), 3)(torch.from_numpy(pixels)), 0)
        self.close(F.pad(pixels, [-1, 0, -2, 1]), tv.pad(torch.from_numpy(pixels), [-1, 0, -2, 1]), 0)
        self.refused(pl.ValueError, "pad: 6 and 6 pixels are added to an axis of 6, where reflect padding has 5", lambda: F.pad(pixels, [6, 0], padding_mode="reflect"))
        self.refused(pl.ValueError, "the padding mode is \"wrap\"", lambda: T.Pad(1, padding_mode="wrap"))
        self.refused(pl.ValueError, "fill has 2 numbers, expected one or 3", lambda: F.pad(pixels, 1, [1, 2]))
        self.refused(pl.ValueError, "padding is", lambda: F.pad(pixels, [1, 2, 3]))
        self.refused(pl.ValueError, "4 and 4 pixels are taken from an axis of 5", lambda: F.pad(pixels, [0, -4]))

    def test_erase(self):
        for dtype in ("u1", "f4"):
            pixels = image((2, 3, 8, 9), dtype)
            for value in (7.0, np.array([1.0, 2.0, 3.0], "f4").reshape(3, 1, 1)):
                wanted = tv.erase(torch.from_numpy(pixels), 1, 2, 3, 4, torch.as_tensor(value))
                self.close(F.erase(pixels, 1, 2, 3, 4, value), wanted, 0)
        self.refused(pl.ValueError, "erase: the box", lambda: F.erase(pixels, 6, 0, 3, 4, 0))
        self.refused(pl.ShapeError, "", lambda: F.erase(pixels, 0, 0, 3, 4, np.zeros((2, 1, 1))))


class Numbers(TransformCase):
    def test_to_dtype(self):
        pixels = image((3, 7, 300))
        pixels.flat[:256] = range(256)
        for dtype, scale in itertools.product(("float32", "float64", "int32", "int16", "uint8"), (True, False)):
            wanted = tv.to_dtype(torch.from_numpy(pixels), getattr(torch, dtype), scale)
            self.close(F.to_dtype(pixels, dtype, scale), wanted, 0, (dtype, scale))
        for source in ("f4", "f8"):
            floats = image((3, 7, 300), source)
            floats.flat[:256] = np.arange(256) / 255
            for dtype in ("uint8", "int16", "float32", "float64"):
                wanted = tv.to_dtype(torch.from_numpy(floats), getattr(torch, dtype), True)
                self.close(F.to_dtype(floats, dtype, True), wanted, 0, (source, dtype))
        self.assertEqual(F.to_dtype(np.array([[[-1.0, 2.0]]], "f4"), "u8", scale=True).tolist(), [[[0, 255]]])
        self.refused(pl.TypeError, "f32 has too few digits for the range of i32", lambda: F.to_dtype(pl.ones((1, 1, 1)), "i32", scale=True))
        self.refused(pl.TypeError, "to_dtype: bool", lambda: F.to_dtype(np.ones((1, 1, 1), bool), "f32", True))

    def test_normalize(self):
        mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
        for dtype, interleaved, shape in itertools.product(("f4", "f8"), (False, True), ((3, 5, 7), (2, 2, 3, 4, 4), (3, 1, 1))):
            pixels = image(shape, dtype, interleaved)
            self.close(T.Normalize(mean, std)(pixels), v2.Normalize(mean, std)(torch.from_numpy(pixels)))
        self.refused(pl.TypeError, r"normalize: the image is u8\[3, 2, 2\], expected floats.*\n  hint: .*ToDtype", lambda: T.Normalize(mean, std)(image((3, 2, 2))))
        self.refused(pl.ShapeError, r"mean has 3 numbers, but the image \[1, 2, 2\] has 1 channels", lambda: F.normalize(image((1, 2, 2), "f4"), mean, std))
        self.refused(pl.ValueError, "std is 0", lambda: T.Normalize(mean, [1, 0, 1]))

    def test_floats_in_one_pass(self):
        mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
        both, theirs = T.Compose([T.ToDtype("f32", scale=True), T.Normalize(mean, std)]), v2.Compose(
            [v2.ToDtype(torch.float32, scale=True), v2.Normalize(mean, std)])
        for interleaved, (height, width) in itertools.product((False, True), ((1, 1), (5, 3), (7, 16), (9, 33), (64, 65))):
            pixels = image((3, height, width), interleaved=interleaved)
            for view in (pixels, pixels[:, ::-1], pixels[:, :, ::-1], pixels[::-1], pixels[:, :, ::2], pixels[:, :, 1:], pixels[None][[0, 0]]):
                got = both(pl.asarray(view))
                self.close(got, theirs(torch.from_numpy(view.copy())))
                apart = T.Normalize(mean, std)(T.ToDtype("f32", scale=True)(pl.asarray(view)))
                self.assertTrue(pl.array_equal(got, apart).item())

    def test_images_of_others(self):
        from PIL import Image

        pixels = image((3, 5, 7), interleaved=True).transpose(1, 2, 0)
        pillow = Image.fromarray(np.ascontiguousarray(pixels))
        for made in (pillow, pixels):
            self.close(T.ToImage()(made), np.ascontiguousarray(pixels.transpose(2, 0, 1)), 0)
        self.close(T.ToTensor()(pillow), v2.functional.to_dtype(tv.to_image(pillow), torch.float32, True).as_subclass(torch.Tensor))
        self.close(T.ToImage()(pillow.convert("L")), tv.to_image(pillow.convert("L")).as_subclass(torch.Tensor), 0)
        self.assertEqual(T.ToImage()(Image.new("1", (3, 2), 1)).tolist(), [[[255] * 3] * 2])
        self.assertEqual(T.ToImage()((pillow, 4))[1], 4)
        self.refused(pl.TypeError, "the image is Pillow's.*\n.*ToImage", lambda: T.Resize(3)(pillow))
        self.refused(pl.TypeError, "ToImage: the image is 3", lambda: T.ToImage()(3))
        self.refused(pl.ShapeError, r"to_image: the array is \[2\]", lambda: T.ToImage()(np.zeros(2)))


class Values(TransformCase):
    def test_values(self):
        made = T.Resize(5, "bicubic")
        self.assertEqual(repr(made), "Resize(size=5, interpolation='bicubic', antialias=True)")
        self.assertEqual((made, hash(made)), (T.Resize(5, "bicubic"), hash(T.Resize(5, "bicubic"))))
        self.assertNotEqual(made, T.Resize(6, "bicubic"))
        self.assertEqual(pickle.loads(pickle.dumps(made)), made)
        self.refused(pl.AttributeError, "Resize: size cannot be set to 3", lambda: setattr(made, "size", 3))


if __name__ == "__main__":
    unittest.main()
