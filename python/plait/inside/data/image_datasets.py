"""Datasets of images in files: CIFAR's, and folders of images."""

import os

from plait import _core, errors
from plait.inside.data.datasets import Dataset, _expect_index
from plait.inside.data.images.size_transforms import RandomResizedCrop
from plait.inside.files.file_arguments import path_of
from plait.inside.files.image_files import expect_options, read_image
from plait.inside.help.names import in_words

_data = _core._data


class _Cifar(Dataset):
    """The base of CIFAR10 and CIFAR100."""

    _has_100 = False

    def __init__(self, root, train=True, *, groups=False):
        self.root, self.train, self._groups = root, bool(train), bool(groups)
        self._core = _data.Cifar(path_of(type(self).__name__, root), self._has_100, self.train, self._groups)

    def __len__(self):
        return self._core.size()

    def __getitem__(self, index):
        return self._core.sample(_expect_index(index, len(self)))

    def __repr__(self):
        return f"{type(self).__name__}({os.fspath(self.root)!r}, train={self.train})"


class CIFAR10(_Cifar):
    """The images of CIFAR-10: tuples of an image, u8[3, 32, 32], and its label, from the binary version of its files in the folder `root`, or in
    cifar-10-batches-bin there. They are mapped, and images are read when they are used.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> _ = open(f"{folder}/test_batch.bin", "wb").write(bytes([7]) + bytes(3072))
    >>> image, label = plait.data.CIFAR10(folder, train=False)[0]
    >>> image.shape, label
    ((3, 32, 32), 7 : i64[])
    """

    def __init__(self, root, train=True):
        super().__init__(root, train)

    def __reduce__(self):  # another process opens the files itself
        return type(self), (self.root, self.train)


class CIFAR100(_Cifar):
    """The images of CIFAR-100, as those of CIFAR10, from the folder `root`, or cifar-100-binary there. The labels are the 100 classes, or the 20
    groups of them.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> _ = open(f"{folder}/test.bin", "wb").write(bytes([3, 42]) + bytes(3072))
    >>> [plait.data.CIFAR100(folder, train=False, groups=groups)[0][1].item() for groups in (False, True)]
    [42, 3]
    """

    _has_100 = True

    def __reduce__(self):
        return _opened_cifar100, (self.root, self.train, self._groups)


def _opened_cifar100(root, train, groups):
    return CIFAR100(root, train, groups=groups)


class ImageFolder(Dataset):
    """Images in folders whose names are the classes, such as train/cat/1.jpg: tuples of an image, u8[3, height, width], and the number of its
    class. Classes and images are in the order of torchvision's. `mode`, `crop` and others are options of plait.io.decode_image; augment images
    by plait.data.mapped. If `crop` is a RandomResizedCrop, images are read by its method `read`, which decodes a JPEG in part, and has the option
    `reduced`.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for name in ("cat", "dog"):
    ...     os.mkdir(f"{folder}/{name}")
    ...     plait.io.write_image(f"{folder}/{name}/1.png", plait.zeros((3, 4, 5), dtype="u8"))
    >>> dataset = plait.data.ImageFolder(folder)
    >>> dataset.classes, len(dataset), dataset[1][0].shape, dataset[1][1]
    (['cat', 'dog'], 2, (3, 4, 5), 1)
    """

    def __init__(self, root, mode="rgb", *, extensions=(".jpg", ".jpeg", ".png", ".webp"), **options):
        if isinstance(extensions, (str, bytes)) or not all(isinstance(each, str) for each in extensions):
            raise errors.TypeError(f"ImageFolder: extensions is {in_words(extensions)}, expected a tuple of strings")
        if callable(mode) or "transform" in options:
            raise errors.TypeError.with_hint("ImageFolder: it has no transform", "plait.data.mapped(plait.data.ImageFolder(root), transform)")
        self.root, self.mode, self.options = root, mode, options
        self._crop = options.pop("crop") if isinstance(options.get("crop"), RandomResizedCrop) else None
        if self._crop is None:
            expect_options("ImageFolder", mode=mode, **options)
        elif options.keys() - {"reduced"}:
            raise errors.TypeError(f"ImageFolder: {', '.join(options)} with a RandomResizedCrop, expected no option but reduced")
        classes, files = _data.image_folder(path_of("ImageFolder", root), [each.lower() for each in extensions])
        self.classes = [os.fsdecode(each) for each in classes]
        self.class_to_idx = {name: number for number, name in enumerate(self.classes)}
        self.samples = [(os.fsdecode(path), label) for path, label in files]

    @property
    def targets(self):
        """The number of the class of each image."""
        return [label for _, label in self.samples]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        return self.get(index, None)

    def get(self, index, key):
        """A sample, whose random crop is drawn with this key."""
        index = _expect_index(index, len(self))
        path, label = self.samples[index]
        if self._crop is None:
            return read_image(path, self.mode, **self.options), label
        return self._crop.read(path, _data.sample_key(0, 0, index) if key is None else key, self.mode, **self.options), label

    def __repr__(self):
        return f"ImageFolder({os.fspath(self.root)!r}: {len(self.classes)} classes, {len(self)} images)"
