"""Random keys of samples: passed to what takes them; and seeds."""

import functools
import inspect

from plait import _core, errors
from plait.inside.help.names import in_words


def takes_key(dataset):
    """True if its samples are drawn by get(index, key). Other classes have a method `get` with another meaning."""
    get = getattr(dataset, "get", None)
    return callable(get) and _is_keyed(type(dataset))


@functools.lru_cache(maxsize=256)
def _is_keyed(cls):
    try:
        parameters = list(inspect.signature(cls.get).parameters)
    except (AttributeError, TypeError, ValueError):
        return False
    return parameters[2:3] == ["key"]


def sample_of(dataset, index, key):
    """A sample of a dataset, drawn with the key if it draws."""
    return dataset.get(index, key) if takes_key(dataset) else dataset[index]


def function_takes_key(function):
    """True if a function has a parameter `key`."""
    try:
        return _takes_key(function)
    except TypeError:  # it has no hash
        return _takes_key.__wrapped__(function)


@functools.lru_cache(maxsize=256)
def _takes_key(function):
    try:
        return "key" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # for a builtin
        return False


def call_with_key(function, sample_with, key):
    """function(sample), where sample_with(key) is the sample. A function that takes a key gets that of the sample, and the sample another one,
    so that both draw independently."""
    if not function_takes_key(function):
        return function(sample_with(key))
    if key is None:
        key = _core._data.sample_key(0, 0, 0)
    return function(sample_with(_core.random.fold_in(key, 0)), key=key)


def seed_of(name, seed, generator=None):
    """None, or the seed as an int of 64 bits; with a generator, such as PyTorch's, the one that it began with."""
    if generator is not None:
        if not callable(getattr(generator, "initial_seed", None)):
            raise errors.TypeError.with_hint(f"{name}: generator is {in_words(generator)}, expected one with initial_seed()", "seed=0, an integer")
        if seed is not None:
            raise errors.ValueError(f"{name}: both a seed and a generator are given")
        seed = generator.initial_seed()
    if seed is None:
        return None
    if isinstance(seed, bool) or not hasattr(seed, "__index__"):
        raise errors.TypeError(f"{name}: the seed is {in_words(seed)}, expected an integer")
    if not 0 <= seed < 2**64:
        raise errors.ValueError(f"{name}: the seed is {int(seed)}, expected 0 to 2**64 - 1")
    return int(seed)
