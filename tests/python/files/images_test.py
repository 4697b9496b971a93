"""Images, compared with Pillow's decoders over sizes, modes and options of the formats, and on damaged files."""

import io
import itertools
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings
import zlib

import numpy as np
import plait as pl
from PIL import Image, ImageOps

SIZES = [*itertools.product((1, 2, 3, 8, 17), (1, 4, 7, 9, 16)), (63, 65), (100, 31)]  # (height, width)
MODES = {"gray": "L", "rgb": "RGB", "rgba": "RGBA"}


def photograph(height, width, seed=0):
    """Smooth, with some noise."""
    y, x = np.mgrid[:height, :width]
    waves = [127 + 90 * np.sin(x / (9 + c) + c) * np.cos(y / (13 - c)) for c in range(3)]
    noise = np.random.default_rng(seed).normal(0, 6, (height, width, 3))
    return Image.fromarray(np.clip(np.stack(waves, -1) + noise, 0, 255).astype(np.uint8))


def cloud(height, width, seed=0):
    """With the spectrum of photographs: its amplitude falls with the frequency."""
    rng = np.random.default_rng(seed)
    frequency = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.fftfreq(width)[None])
    frequency[0, 0] = 1e9
    waves = [np.fft.ifft2(np.exp(2j * np.pi * rng.random((height, width))) / frequency ** 1.2).real for _ in range(4)]
    bands = [waves[0] + 0.3 * each for each in waves[1:]]
    return Image.fromarray(np.clip(np.stack([128 + 50 * each / each.std() for each in bands], -1), 0, 255).astype(np.uint8))


def file_of(image, kind, **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def by_pillow(file, mode):
    pixels = np.asarray(Image.open(io.BytesIO(file)).convert(mode))
    return pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)


def difference(ours, theirs):
    """The greatest difference of two images."""
    assert ours.shape == theirs.shape, (ours.shape, theirs.shape)
    return int(np.abs(ours.numpy().astype(int) - theirs.astype(int)).max())


def png_chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png_file(width, height, depth, colour, rows, interlaced=0, before=b""):
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)
    return b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header) + before + png_chunk(b"IDAT", zlib.compress(rows)) + png_chunk(b"IEND", b"")


def packed_rows(samples, depth):
    """Rows of samples without a filter, each row in whole bytes."""
    rows = b""
    for row in samples.reshape(len(samples), -1):
        bits = ((row[:, None].astype(np.int64) >> np.arange(depth - 1, -1, -1)) & 1).astype(np.uint8).ravel()
        rows += b"\0" + np.packbits(bits).tobytes()
    return rows


def interlaced_rows(samples, depth):
    """The seven passes of Adam7."""
    passes = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
    parts = [samples[top::rows, left::columns] for top, left, rows, columns in passes]
    return b"".join(packed_rows(part, depth) for part in parts if part.size)


class Jpeg(unittest.TestCase):
    def test_the_bits_of_pillow(self):
        worst = 0
        for (height, width), sampling, progressive in itertools.product(SIZES, (0, 1, 2), (False, True)):
            file = file_of(photograph(height, width), "JPEG", subsampling=sampling, quality=85, progressive=progressive)
            worst = max(worst, difference(pl.io.decode_image(file), by_pillow(file, "RGB")))
        self.assertEqual(worst, 0)

    def test_qualities_and_restarts(self):
        for quality in (1, 30, 75, 95, 100):
            file = file_of(photograph(50, 70), "JPEG", quality=quality, restart_marker_rows=1, optimize=True)
            for mode in ("rgb", "rgba"):
                self.assertEqual(difference(pl.io.decode_image(file, mode), by_pillow(file, MODES[mode])), 0)

    def test_grey(self):
        file = file_of(photograph(33, 35).convert("L"), "JPEG")
        self.assertEqual(pl.io.decode_image(file).shape, (1, 33, 35))
        for mode, theirs in MODES.items():
            self.assertEqual(difference(pl.io.decode_image(file, mode), by_pillow(file, theirs)), 0)
        file = file_of(photograph(33, 35), "JPEG")
        drafted = Image.open(io.BytesIO(file))
        drafted.draft("L", (35, 33))  # the luminance, which is decoded alone
        self.assertEqual(difference(pl.io.decode_image(file, "gray"), np.asarray(drafted)[None]), 0)
        self.assertLessEqual(difference(pl.io.decode_image(file, "gray"), by_pillow(file, "L")), 3)

    def test_cmyk(self):
        file = file_of(photograph(20, 30).convert("CMYK"), "JPEG")
        self.assertEqual(pl.io.decode_image(file).shape, (3, 20, 30))
        for mode in ("rgb", "rgba", "gray"):
            self.assertEqual(difference(pl.io.decode_image(file, mode), by_pillow(file, MODES[mode])), 0, mode)

    def test_orientations(self):
        for orientation, kind in itertools.product(range(1, 9), ("JPEG", "PNG", "WEBP")):
            exif = Image.Exif()
            exif[0x112] = orientation
            file = file_of(photograph(12, 20), kind, exif=exif.tobytes())
            turned = np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(file))).convert("RGB")).transpose(2, 0, 1)
            ours = pl.io.decode_image(file, apply_exif_orientation=True)
            self.assertEqual(difference(ours, turned), 0, (orientation, kind))
            self.assertEqual(difference(pl.io.decode_image(file), by_pillow(file, "RGB")), 0)
            part = pl.io.decode_image(file, crop=(1, 3, 7, 5), apply_exif_orientation=True)
            self.assertEqual(difference(part, turned[:, 1:8, 3:8]), 0, (orientation, kind))
            half = pl.io.decode_image(file, size=(ours.shape[1] // 2, ours.shape[2] // 2), apply_exif_orientation=True)
            self.assertEqual(half.shape[1:] == (ours.shape[1] // 2, ours.shape[2] // 2), kind == "JPEG")
        with self.assertRaisesRegex(pl.ValueError, "which has 20 rows and 12 columns"):
            pl.io.decode_image(file, crop=(20, 0, 1, 1), apply_exif_orientation=True)

    def test_a_crop_of_a_jpeg_without_its_last_scans_has_the_bits_of_the_whole(self):
        order = random.Random(6)
        for number in range(12):
            file = file_of(cloud(50 + number, 61, number), "JPEG", progressive=True, quality=90)
            scans = [at for at in range(len(file)) if file.startswith(b"\xff\xda", at)]
            file = file[:file.find(b"\xff\xc4", scans[number % 3])] + b"\xff\xd9"
            whole = pl.io.decode_image(file).numpy()
            for _ in range(8):
                top, left = order.randrange(50), order.randrange(61)
                height, width = order.randrange(1, 51 - top), order.randrange(1, 62 - left)
                part = pl.io.decode_image(file, crop=(top, left, height, width)).numpy()
                self.assertTrue((part == whole[:, top:top + height, left:left + width]).all(), (number, top, left, height, width))

    def test_partial_decoding_changes_pixels_little(self):
        file = file_of(cloud(375, 500), "JPEG", quality=90)
        whole, order = Image.open(io.BytesIO(file)).convert("RGB"), random.Random(1)
        differences = {8: [], 1: []}  # by what the edges are multiples of
        for _ in range(40):
            step = order.choice([8, 1])
            height, width = (order.randrange(200, most) // step * step for most in (376, 501))
            top, left = (order.randrange(most) // step * step for most in (376 - height, 501 - width))
            crop = whole.crop((left, top, left + width, top + height))
            exact = pl.io.decode_image(file, crop=(top, left, height, width))
            self.assertEqual(difference(exact, np.asarray(crop).transpose(2, 0, 1)), 0)
            part = pl.io.decode_image(file, crop=(top, left, height, width), size=90)
            self.assertTrue(90 <= min(part.shape[1:]) < min(height, width))
            one, other = (each.resize((90, 90), Image.Resampling.BILINEAR) for each in (crop, Image.fromarray(part.numpy().transpose(1, 2, 0))))
            differences[step].append(np.abs(np.asarray(one).astype(int) - np.asarray(other)))
        for step, mean, greatest in ((8, 2, 20), (1, 4, 45)):
            self.assertLess(np.mean(differences[step]), mean)
            self.assertLess(np.max(differences[step]), greatest)


class Png(unittest.TestCase):
    def test_modes_of_pillow(self):
        image = photograph(23, 37)
        alpha = image.convert("RGBA")
        alpha.putalpha(photograph(23, 37, 1).convert("L"))
        files = {name: file_of(each, "PNG") for name, each in
                 {"1": image.convert("1"), "L": image.convert("L"), "LA": alpha.convert("LA"), "RGB": image, "RGBA": alpha,
                  "P": image.quantize(200), "P4": image.quantize(11), "P2": image.quantize(4), "P1": image.quantize(2)}.items()}
        files["transparent palette"] = file_of(image.quantize(50), "PNG", transparency=bytes(range(0, 250, 5)))
        files["transparent colour"] = file_of(image, "PNG", transparency=image.getpixel((3, 4)))
        files["transparent grey"] = file_of(image.convert("L"), "PNG", transparency=image.convert("L").getpixel((3, 4)))
        self.enterContext(warnings.catch_warnings())  # from Pillow, for transparent palettes
        warnings.simplefilter("ignore")
        for (name, file), (mode, theirs) in itertools.product(files.items(), MODES.items()):
            self.assertEqual(difference(pl.io.decode_image(file, mode), by_pillow(file, theirs)), 0, (name, mode))
        shapes = {name: pl.io.decode_image(file).shape[0] for name, file in files.items()}
        self.assertEqual(shapes, {"1": 1, "L": 1, "LA": 2, "RGB": 3, "RGBA": 4, "P": 3, "P4": 3, "P2": 3, "P1": 3, "transparent palette": 4,
                                  "transparent colour": 4, "transparent grey": 2})
        self.assertEqual(difference(pl.io.decode_image(files["LA"]), np.asarray(alpha.convert("LA")).transpose(2, 0, 1)), 0)

    def test_sizes(self):
        for height, width in SIZES:
            file = file_of(photograph(height, width), "PNG")
            self.assertEqual(difference(pl.io.decode_image(file), by_pillow(file, "RGB")), 0)
            self.assertEqual(pl.io.image_size(file), (height, width))

    def test_depths_and_interlacing(self):
        rng = np.random.default_rng(3)
        for depth, (colour, channels), (height, width) in itertools.product((1, 2, 4, 8, 16), ((0, 1), (2, 3), (3, 1), (4, 2), (6, 4)), ((1, 1), (5, 3), (19, 34))):
            if depth < 8 and colour in (2, 4, 6) or depth == 16 and colour == 3:
                continue
            samples = rng.integers(0, 2 ** depth, (height, width, channels))
            palette = png_chunk(b"PLTE", rng.integers(0, 256, 3 * 2 ** min(depth, 8), np.uint8).tobytes()) if colour == 3 else b""
            files = [png_file(width, height, depth, colour, packed_rows(samples, depth), 0, palette),
                     png_file(width, height, depth, colour, interlaced_rows(samples, depth), 1, palette)]
            if depth == 16:
                expected = (samples >> 8).transpose(2, 0, 1)
            elif colour == 3:
                expected = by_pillow(files[0], "RGB")
            else:
                expected = (samples * (255 // (2 ** depth - 1))).transpose(2, 0, 1)
            for file in files:
                self.assertEqual(difference(pl.io.decode_image(file), expected), 0, (depth, colour, height))
                kept = pl.io.decode_image(file, keep_16_bits=True)
                self.assertEqual(kept.dtype, pl.u16 if depth == 16 else pl.u8)
                np.testing.assert_array_equal(kept.numpy(), samples.transpose(2, 0, 1) if depth == 16 else expected)

    def test_16_bits(self):
        samples = np.random.default_rng(4).integers(0, 2 ** 16, (5, 7, 3))
        grey = png_file(7, 5, 16, 0, packed_rows(samples[..., :1], 16))
        with Image.open(io.BytesIO(grey)) as opened:
            np.testing.assert_array_equal(pl.io.decode_image(grey, keep_16_bits=True)[0].numpy(), np.asarray(opened))
        rgb = png_file(7, 5, 16, 2, packed_rows(samples, 16))
        read = lambda mode, **options: pl.io.decode_image(rgb, mode, keep_16_bits=True, **options).numpy()  # noqa: E731
        np.testing.assert_array_equal(read("grey")[0], (samples @ [19595, 38470, 7471] + 2 ** 15) >> 16)
        np.testing.assert_array_equal(read("rgba")[3], np.full((5, 7), 2 ** 16 - 1))
        np.testing.assert_array_equal(read("rgb", crop=(1, 2, 3, 4)), samples[1:4, 2:6].transpose(2, 0, 1))

    def test_bombs(self):
        for width, height in ((60000, 60000), (2 ** 31 - 1, 2 ** 31 - 1), (1, 2 ** 31 - 1)):
            with self.assertRaisesRegex(pl.errors.ParseError, "more than the limit of 178956970"):
                pl.io.decode_image(png_file(width, height, 8, 2, b""))
        with self.assertRaises(pl.ParseError) as caught:
            pl.io.decode_image(png_file(60000, 60000, 8, 2, b""))
        self.assertEqual(caught.exception.hint, "raise max_pixels if the file is trusted")
        with self.assertRaisesRegex(pl.errors.ParseError, "too early for 12000 x 12000 pixels"):
            pl.io.decode_image(png_file(12000, 12000, 8, 2, b""))
        self.assertEqual(pl.io.image_size(png_file(60000, 50000, 8, 2, b"")), (50000, 60000))


class WebP(unittest.TestCase):
    def test_lossless_has_the_bits_of_pillow(self):
        for (height, width), alpha in itertools.product(SIZES, (False, True)):
            image = photograph(height, width)
            if alpha:
                image.putalpha(photograph(height, width, 1).convert("L"))
            file = file_of(image, "WEBP", lossless=True, exact=True)
            self.assertEqual(difference(pl.io.decode_image(file), np.asarray(image).transpose(2, 0, 1)), 0)
            for mode in MODES:
                self.assertEqual(difference(pl.io.decode_image(file, mode), by_pillow(file, MODES[mode])), 0)

    def test_lossy(self):
        worst = 0
        for height, width in SIZES:
            image = photograph(height, width)
            image.putalpha(photograph(height, width, 1).convert("L"))
            for each in (image, image.convert("RGB")):
                file = file_of(each, "WEBP", quality=70)
                worst = max(worst, difference(pl.io.decode_image(file), by_pillow(file, each.mode)))
        self.assertEqual(worst, 0)

    def test_animations_are_refused(self):
        file = file_of(photograph(8, 8), "WEBP", save_all=True, append_images=[photograph(8, 8, 1)])
        with self.assertRaisesRegex(pl.errors.ParseError, "an animation"):
            pl.io.decode_image(file)


class Written(unittest.TestCase):
    def test_pillow_reads_what_is_written(self):
        for channels in (1, 2, 3, 4):
            image = np.random.default_rng(channels).integers(0, 256, (channels, 21, 18), np.uint8)
            theirs = np.asarray(Image.open(io.BytesIO(pl.io.encode_png(image)))).reshape(21, 18, channels)
            self.assertTrue((theirs == image.transpose(1, 2, 0)).all())
            if channels > 2:
                theirs = np.asarray(Image.open(io.BytesIO(pl.io.encode_webp(image, lossless=True))))
                self.assertTrue((theirs == image.transpose(1, 2, 0)).all())

    def test_jpeg_as_pillow_writes_it(self):
        image = photograph(64, 50)
        pixels = np.asarray(image).transpose(2, 0, 1)
        for quality, (name, sampling), progressive in itertools.product((30, 75, 95), (("4:4:4", 0), ("4:2:2", 1), ("4:2:0", 2)), (False, True)):
            ours = pl.io.encode_jpeg(pixels, quality, subsampling=name, progressive=progressive)
            theirs = file_of(image, "JPEG", quality=quality, subsampling=sampling, progressive=progressive)
            self.assertEqual(difference(pl.io.decode_image(ours), by_pillow(theirs, "RGB")), 0)
            self.assertEqual(bool(Image.open(io.BytesIO(ours)).info.get("progressive")), progressive)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "héllo.webp"
            pl.io.write_image(path, np.asarray(photograph(9, 7)).transpose(2, 0, 1), quality=90)
            self.assertEqual(pl.io.image_size(path), (9, 7))
            for read in (pl.io.read_image, pl.io.decode_image):
                self.assertEqual(read(str(path)).shape, (3, 9, 7))
            with self.assertRaisesRegex(pl.ValueError, "does not end with"):
                pl.io.write_image(f"{folder}/x.gif", pl.zeros((3, 4, 5), dtype="u8"))
            path.write_bytes(path.read_bytes()[:-3])
            with self.assertRaisesRegex(pl.errors.ParseError, "llo.webp: byte"):
                pl.io.read_image(path)
            with self.assertRaises(pl.errors.IoError):
                pl.io.read_image(f"{folder}/nothing.png")

    def test_refusals(self):
        image = pl.zeros((3, 4, 5), dtype="u8")
        for kind, text, call in [
                (pl.TypeError, r"the image is f32\[3, 4, 5\], expected u8", lambda: pl.io.encode_png(pl.zeros((3, 4, 5)))),
                (pl.ShapeError, "expected 1 or 3", lambda: pl.io.encode_jpeg(pl.zeros((2, 4, 5), dtype="u8"))),
                (pl.ShapeError, r"u8\[5, 4, 5\], expected \[1 to 4 channels", lambda: pl.io.encode_png(pl.zeros((5, 4, 5), dtype="u8"))),
                (pl.ValueError, "the quality is 101, expected 1 to 100", lambda: pl.io.encode_jpeg(image, 101)),
                (pl.ValueError, "quality is inf", lambda: pl.io.encode_jpeg(image, float("inf"))),
                (pl.TypeError, "quality is 'best'", lambda: pl.io.encode_jpeg(image, "best")),
                (pl.ValueError, "the subsampling is '4:1:1'", lambda: pl.io.encode_jpeg(image, subsampling="4:1:1")),
                (pl.ValueError, "the mode is 'bgr'", lambda: pl.io.decode_image(b"", "bgr")),
                (pl.TypeError, "crop is", lambda: pl.io.decode_image(b"", crop=(1, 2))),
                (pl.TypeError, "the data are 3", lambda: pl.io.decode_image(3)),
                (pl.TypeError, "expected the bytes of a file", lambda: pl.io.decode_image(np.zeros(3)))]:
            with self.assertRaisesRegex(kind, text):
                call()


class BadInput(unittest.TestCase):
    def files(self):
        image = photograph(40, 50)
        alpha = image.convert("RGBA")
        return [file_of(image, "JPEG"), file_of(image, "JPEG", progressive=True), file_of(image.convert("CMYK"), "JPEG"), file_of(image, "PNG"),
                file_of(image.quantize(20), "PNG"), file_of(alpha, "WEBP", lossless=True), file_of(image, "WEBP")]

    def test_kinds_of_bytes(self):
        file = self.files()[0]
        expected = pl.io.decode_image(file).numpy()
        for each in (bytearray(file), memoryview(file), np.frombuffer(file, np.uint8), pl.asarray(np.frombuffer(file, np.uint8)), memoryview(b"ab" + file)[2:]):
            self.assertTrue((pl.io.decode_image(each).numpy() == expected).all())

    def test_files_that_end_early(self):
        for number, file in enumerate(self.files()):
            for size in range(0, len(file), 7):
                with self.assertRaises(pl.errors.ParseError, msg=(number, size)):
                    pl.io.decode_image(file[:size])

    def test_truncated_jpegs_are_accepted_if_asked(self):
        file = self.files()[0]
        cut, whole = file[:-200], pl.io.decode_image(file).numpy()
        part = pl.io.decode_image(cut, accept_truncated=True).numpy()
        self.assertTrue((part[:, :8] == whole[:, :8]).all() and not (part == whole).all())

    def test_damage_gives_pixels_or_an_error(self):
        order, refused = random.Random(5), 0
        for file in self.files():
            for _ in range(300):
                damaged = bytearray(file)
                for _ in range(order.randrange(1, 4)):
                    damaged[order.randrange(len(file))] = order.randrange(256)
                try:
                    pl.io.decode_image(damaged, size=order.choice([None, 9]), accept_truncated=order.random() < 0.3, max_pixels=100_000)
                except pl.errors.ParseError:
                    refused += 1
        self.assertGreater(refused, 500)

    def test_nothing_is_printed(self):
        code = "import sys, plait\nfor cut in (300, 500, 700, 900):\n" \
               "    for accept in (False, True):\n" \
               "        try:\n            plait.io.decode_image(data[:cut], accept_truncated=accept)\n" \
               "        except plait.errors.ParseError:\n            pass\n"
        data = f"data = {self.files()[0]!r}\n"
        done = subprocess.run([sys.executable, "-c", data + code], capture_output=True, check=True)
        self.assertEqual((done.stdout, done.stderr), (b"", b""))

    def test_threads(self):
        files, failures = self.files(), []
        expected = [pl.io.decode_image(file, "rgb").numpy() for file in files]

        def work():
            for _ in range(20):
                for file, image in zip(files, expected):
                    if not (pl.io.decode_image(file, "rgb").numpy() == image).all():
                        failures.append(file)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertEqual(failures, [])


if __name__ == "__main__":
    unittest.main()
