"""The base of transforms."""

from plait import _core, errors
from plait.inside.arrays.devices import placed
from plait.inside.arrays.interop import of_host
from plait.inside.data.images.image_arguments import image_from
from plait.inside.data.images.on_host import on_host
from plait.inside.help.names import in_words
from plait.inside.trees.moving import is_array


def with_image(name, sample, change):
    """The sample with its image replaced by change(image): the first element of a tuple or a list, the first image of a dict, or the sample."""
    if isinstance(sample, tuple) and hasattr(sample, "_fields"):
        return type(sample)(change(sample[0]), *sample[1:])
    if isinstance(sample, (tuple, list)):
        if not sample:
            raise errors.ValueError(f"{name}: the sample is {sample!r}, expected an image first")
        return type(sample)((change(sample[0]), *sample[1:]))
    if isinstance(sample, dict):
        place = next((key for key, value in sample.items() if is_array(value) or hasattr(value, "getbands")), None)
        if place is None:
            raise errors.ValueError(f"{name}: the sample has {', '.join(map(str, sample)) or 'nothing'}, but no image")
        return {key: change(value) if key == place else value for key, value in sample.items()}
    return change(sample)


def _made(cls, fields):
    return cls(**fields)


class Transform:
    """The base of transforms: values that are called with an image and a key, transform(image, key). Without a key, one that draws takes the next
    of the default stream. Of a sample that is a tuple, a list or a dict, the first image is changed and the rest is kept.

    >>> flip = plait.data.transforms.RandomHorizontalFlip(p=1.0)
    >>> flip((plait.tensor([[[1, 2]]], dtype="u8"), 7))
    ([[[2 1]]] : u8[1, 1, 2], 7)
    """

    def _set(self, core, **fields):
        vars(self).update(fields, _fields=tuple(fields), _core=core)

    def __call__(self, sample, key=None):
        """The sample with its image transformed."""
        return with_image(type(self).__name__, sample, lambda image: self._of_image(image, key))

    def _of_image(self, image, key):
        if not hasattr(self, "_core"):
            raise errors.TypeError.with_hint(f"{type(self).__name__}: what it does to an image is not defined", "plait.data.transforms.Lambda(function)")
        is_tensor = isinstance(image, _core.Tensor)
        image = image_from(type(self).__name__, image, of_host)
        compute = self._core.with_next_key if key is None else lambda image: self._core(image, key)
        made = on_host(type(self).__name__, compute, image)
        return made if is_tensor else placed(made, None)

    def make_params(self, image, key):
        """The numbers that a call with this image and this key draws, as a dict; a list of pairs if a name occurs more than once."""
        drawn = [(name, numbers) for name, numbers in self._core.parameters(image_from(type(self).__name__, image), key)]
        named = {name: numbers[0] if len(numbers) == 1 else numbers for name, numbers in drawn}
        return named if len(named) == len(drawn) else [(name, numbers[0] if len(numbers) == 1 else numbers) for name, numbers in drawn]

    @property
    def is_random(self):
        """True if the key makes a difference."""
        return self._core.is_random()

    def __setattr__(self, name, value):
        raise errors.AttributeError.with_hint(f"{type(self).__name__}: {name} cannot be set to {in_words(value)}, since a transform is a value",
                                              "make another one")

    def _values(self):
        return {name: getattr(self, name) for name in self._fields}

    def __eq__(self, other):
        return type(self) is type(other) and self._values() == other._values()

    def __hash__(self):
        return hash((type(self), repr(self)))

    def __reduce__(self):
        return _made, (type(self), self._values())

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{name}={_shown(value)}' for name, value in self._values().items() if value is not None)})"


def _shown(value):
    return str(value) if isinstance(value, _core.DType) else repr(value)


def next_key(key):
    """The key, or else the next of the default stream."""
    return _core.random.draw_key() if key is None else key
