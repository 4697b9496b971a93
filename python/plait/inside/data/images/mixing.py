"""MixUp and CutMix of batches."""

import collections.abc

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.data.collation import default_collate
from plait.inside.data.images.image_arguments import image_from, integer, number
from plait.inside.data.images.image_transform import next_key
from plait.inside.data.images.on_host import on_host
from plait.inside.help.names import in_words
from plait.inside.trees.moving import is_array

_transforms = _core._transforms


class _Mixing:
    """mix(images, labels), mix((images, labels, …)), mix({…, "labels": …}), or, as collate_fn of a loader, mix(samples)."""

    _core_class = None

    def __init__(self, *, alpha=1.0, num_classes=None, labels_getter="default"):
        name = type(self).__name__
        if labels_getter != "default" and not callable(labels_getter):
            raise errors.TypeError(f"{name}: labels_getter is {in_words(labels_getter)}, expected 'default' or a function of the batch")
        classes = None if num_classes is None else integer(name, "num_classes", num_classes)
        self.alpha, self.num_classes, self.labels_getter = number(name, "alpha", alpha), classes, labels_getter
        self._core = type(self)._core_class(self.alpha, classes)

    def __call__(self, *batch, key=None):
        """The batch with mixed images, and with shares of the classes as labels."""
        batch = batch[0] if len(batch) == 1 else batch
        if isinstance(batch, list) and batch and not is_array(batch[0]):
            batch = default_collate(batch)  # samples
        labels = self._labels(batch)
        images = None
        values = batch.values() if isinstance(batch, collections.abc.Mapping) else batch
        for value in values:
            if value is not labels and is_array(value):
                images = value
                break
        if images is None:
            raise errors.ValueError(f"{type(self).__name__}: the batch has labels, but no images")
        mixed = dict(zip((id(images), id(labels)),
                         on_host(type(self).__name__, self._core, image_from(type(self).__name__, images), asarray(labels), next_key(key))))
        if isinstance(batch, collections.abc.Mapping):
            return {name: mixed.get(id(value), value) for name, value in batch.items()}
        return type(batch)(mixed.get(id(value), value) for value in batch)

    def _labels(self, batch):
        name = type(self).__name__
        if self.labels_getter != "default":
            labels = self.labels_getter(batch)
        elif isinstance(batch, collections.abc.Mapping):
            place = next((key for key in batch if str(key).lower() == "labels"), None)
            place = place or next((key for key in batch if "label" in str(key).lower()), None)
            labels = None if place is None else batch[place]
        else:
            labels = batch[1] if isinstance(batch, (list, tuple)) and len(batch) > 1 else None
        if labels is None or not is_array(labels):
            raise errors.TypeError.with_hint(f"{name}: the batch is {in_words(batch)}, expected images and labels",
                                             "labels_getter=function, of the batch, if they are elsewhere")
        return labels

    def __eq__(self, other):
        return type(self) is type(other) and self._values() == other._values()

    def __hash__(self):
        return hash((type(self), self.alpha, self.num_classes))

    def _values(self):
        return {"alpha": self.alpha, "num_classes": self.num_classes, "labels_getter": self.labels_getter}

    def __getstate__(self):
        return self._values()

    def __setstate__(self, values):
        self.__init__(**values)

    def __repr__(self):
        return f"{type(self).__name__}(alpha={self.alpha}, num_classes={self.num_classes})"


class MixUp(_Mixing):
    """Mixes each image of a batch, and its label, with the one before it; the share has the distribution Beta(alpha, alpha). Images are floats, labels
    integers below num_classes, or shares [batch, classes].

    >>> mix = plait.data.transforms.MixUp(num_classes=3)
    >>> images, labels = mix(plait.zeros((2, 3, 8, 8)), plait.tensor([0, 2]), key=plait.random.key(0))
    >>> labels.shape
    (2, 3)
    """

    _core_class = _transforms.MixUp

    def make_params(self, images, key):
        """The share of an image itself."""
        return {"lam": self._core.share(key)}


class CutMix(_Mixing):
    """Replaces a box of each image of a batch by that of the one before it, and mixes their labels accordingly.

    >>> mix = plait.data.transforms.CutMix(num_classes=3)
    >>> images, labels = mix(plait.zeros((2, 3, 8, 8)), plait.tensor([0, 2]), key=plait.random.key(0))
    >>> labels.shape
    (2, 3)
    """

    _core_class = _transforms.CutMix

    def make_params(self, images, key):
        """The box."""
        height, width = _core._images.size(image_from("CutMix", images))
        return {"box": self._core.box(height, width, key)}
