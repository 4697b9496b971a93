"""Transforms made of others. Those whose parts are all in C++ are so themselves; the others draw the same."""

from plait import _core, errors
from plait.inside.data.images.image_arguments import number
from plait.inside.data.images.image_transform import Transform, next_key, with_image
from plait.inside.data.keyed import function_takes_key
from plait.inside.help.names import in_words

_transforms, _fold_in = _core._transforms, _core.random.fold_in


def _members(name, transforms):
    if not isinstance(transforms, (list, tuple)):
        raise errors.TypeError(f"{name}: transforms is {in_words(transforms)}, expected a list")
    for each in transforms:
        if not callable(each):
            raise errors.TypeError(f"{name}: a transform is {in_words(each)}, expected a function of an image")
    return list(transforms)


def _core_of(member):
    return member._core if isinstance(member, Transform) else None


def _called(member, image, key):
    return member(image, key=key) if function_takes_key(member) else member(image)


class _Combination(Transform):
    """The base: _make(cores) is it in C++, and _in_python(image, key) the same for other functions."""

    def _combine(self, transforms, make, **fields):
        cores = [_core_of(each) for each in transforms]
        self._set(make(cores) if transforms and None not in cores else None, transforms=transforms, **fields)

    def __call__(self, sample, key=None):
        """The sample with its image transformed."""
        if self._core is not None:
            return super().__call__(sample, key)
        key = next_key(key) if self.is_random else key
        return with_image(type(self).__name__, sample, lambda image: self._in_python(image, key))

    @property
    def is_random(self):
        """True if the key makes a difference."""
        return self._core.is_random() if self._core is not None else self._draws()

    def _draws(self):
        return True

    def __repr__(self):
        lines = "".join(f"\n    {line}" for each in self.transforms for line in repr(each).split("\n"))
        rest = "".join(f", {name}={value!r}" for name, value in self._values().items() if name != "transforms" and value is not None)
        return f"{type(self).__name__}({lines}\n{rest[2:]})"


class Compose(_Combination):
    """Transforms one after another, each with a key of its own. Of a sample that is a tuple, a list or a dict, all apply to the first image.

    >>> augment = plait.data.transforms.Compose([plait.data.transforms.RandomCrop(4), plait.data.transforms.ToDtype("f32", scale=True)])
    >>> augment
    Compose(
        RandomCrop(size=4, pad_if_needed=False, fill=0, padding_mode='constant')
        ToDtype(dtype='f32', scale=True)
    )
    >>> image, label = augment((plait.zeros((3, 9, 9), dtype="u8"), 7), plait.random.key(0))
    >>> image.shape, label
    ((3, 4, 4), 7)
    """

    def __init__(self, transforms):
        members = _members("Compose", transforms)
        self._combine(members, lambda cores: _transforms.Compose(cores, 0))
        vars(self)["_steps"] = _steps(members)

    def _in_python(self, image, key):
        for member, number in self._steps:
            image = member(image, key) if number is None else _called(member, image, None if key is None else _fold_in(key, number))
        return image

    def _draws(self):
        return any(function_takes_key(each) if not isinstance(each, Transform) else each.is_random for each in self.transforms)

    def make_params(self, image, key):
        raise errors.TypeError.with_hint("Compose: its transforms draw from keys of their own", "make_params of each")


class _Group(Transform):
    """Neighbours in C++, which are composed there."""

    def __init__(self, cores, first):
        self._set(_transforms.Compose(cores, first))


def _steps(members):
    """(function, number of its key), or (neighbours in C++, None)."""
    steps, cores = [], []
    for i, member in enumerate([*members, None]):
        core = None if member is None else _core_of(member)
        if core is not None:
            cores.append(core)
            continue
        if cores:
            steps.append((_Group(cores, i - len(cores)), None))
            cores = []
        if member is not None:
            steps.append((member, i))
    return steps


class Lambda(Transform):
    """function(image), or function(image, key) with a random key if it has such a parameter.

    >>> plait.data.transforms.Lambda(lambda image: image + 1)(plait.zeros((1, 1, 1)))
    [[[1.]]] : f32[1, 1, 1]
    """

    def __init__(self, lambd):
        if not callable(lambd):
            raise errors.TypeError(f"Lambda: lambd is {in_words(lambd)}, expected a function of an image")
        self._set(None, lambd=lambd)

    def __call__(self, sample, key=None):
        """The sample with the function of its image."""
        key = next_key(key) if self.is_random else key
        return with_image("Lambda", sample, lambda image: _called(self.lambd, image, key))

    @property
    def is_random(self):
        """True if the function takes a key."""
        return function_takes_key(self.lambd)

    def make_params(self, image, key):
        return {}


class RandomApply(_Combination):
    """All of the transforms with probability p, or none.

    >>> plait.data.transforms.RandomApply([plait.data.transforms.RandomInvert(1.0)], p=1.0)(plait.tensor([[[0]]], dtype="u8"))
    [[[255]]] : u8[1, 1, 1]
    """

    def __init__(self, transforms, p=0.5):
        members, chance = _some("RandomApply", transforms), number("RandomApply", "p", p)
        if not 0 <= chance <= 1:
            raise errors.ValueError(f"RandomApply: p is {p}, expected 0 to 1")
        self._combine(members, lambda cores: _transforms.RandomApply(cores, chance), p=p)

    def _in_python(self, image, key):
        if not _transforms.chance(key, float(self.p)):
            return image
        for i, member in enumerate(self.transforms):
            image = _called(member, image, _fold_in(key, i))
        return image

    def make_params(self, image, key):
        return {"applied": float(_transforms.chance(key, float(self.p)))}


class RandomChoice(_Combination):
    """One of the transforms, each with its probability.

    >>> plait.data.transforms.RandomChoice([plait.data.transforms.RandomInvert(1.0), lambda image: image], p=[1, 0])(plait.tensor([[[0]]], dtype="u8"))
    [[[255]]] : u8[1, 1, 1]
    """

    def __init__(self, transforms, p=None):
        members = _some("RandomChoice", transforms)
        weights = [1.0] * len(members) if p is None else [number("RandomChoice", "p", each) for each in p]
        if len(weights) != len(members) or not all(each >= 0 for each in weights) or not sum(weights) > 0:
            raise errors.ValueError(f"RandomChoice: p is {in_words(p)}, expected {len(members)} numbers of 0 or more, one for each transform")
        self._combine(members, lambda cores: _transforms.RandomChoice(cores, weights), p=p)
        vars(self)["_weights"] = weights

    def _in_python(self, image, key):
        chosen = _transforms.choice(key, self._weights)
        return _called(self.transforms[chosen], image, _fold_in(key, chosen))

    def make_params(self, image, key):
        return {"index": float(_transforms.choice(key, self._weights))}


class RandomOrder(_Combination):
    """The transforms in a random order.

    >>> plait.data.transforms.RandomOrder([plait.data.transforms.RandomInvert(1.0)])(plait.tensor([[[0]]], dtype="u8"))
    [[[255]]] : u8[1, 1, 1]
    """

    def __init__(self, transforms):
        self._combine(_some("RandomOrder", transforms), _transforms.RandomOrder)

    def _in_python(self, image, key):
        for i in _transforms.order(key, len(self.transforms)):
            image = _called(self.transforms[i], image, _fold_in(key, i))
        return image

    def make_params(self, image, key):
        return {"order": [float(i) for i in _transforms.order(key, len(self.transforms))]}


def _some(name, transforms):
    members = _members(name, transforms)
    if not members:
        raise errors.ValueError(f"{name}: there are no transforms")
    return members
