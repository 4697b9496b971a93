"""The arguments of functions that read and write files."""

import builtins
import collections.abc
import os

from plait import errors
from plait.inside.arrays.devices import moved
from plait.inside.arrays.interop import asarray
from plait.inside.help.names import in_words
from plait.inside.trees.moving import to_device
from plait.inside.trees.patterns import as_patterns, chosen


def path_of(function, path):
    """The path as the operating system takes it, in bytes."""
    try:
        given = os.fsencode(path)
    except (builtins.TypeError, builtins.UnicodeError):
        raise errors.TypeError(f"io.{function}: the path is {in_words(path)}, expected a string or an os.PathLike") from None
    if b"\0" in given:
        raise errors.ValueError(f"io.{function}: the path {in_words(path)} has a zero byte")
    return given


def tensors_of(function, tensors):
    """A dict of tensors by name, as the core takes it."""
    if not isinstance(tensors, collections.abc.Mapping):
        raise errors.TypeError.with_hint(f"io.{function}: the tensors are {in_words(tensors)}, expected a dict of tensors by name",
                                         "plait.nn.state(model) gives those of a model")
    return {name_of(function, name): tensor_of(function, tensor) for name, tensor in tensors.items()}


def name_of(function, name):
    if not isinstance(name, str):
        raise errors.TypeError(f"io.{function}: the name of a tensor is {in_words(name)}, expected a string")
    return text_of(function, name)


def text_of(function, text):
    """The text, which is written in UTF-8: that has no lone surrogates."""
    try:
        text.encode()
    except builtins.UnicodeError:
        raise errors.ValueError(f"io.{function}: {text!a} is not UTF-8") from None
    return text


def loaded(tree, device):
    """The tensors that were read from a file, on a device if one is named; else on the host, where the bytes are."""
    return tree if device is None else to_device(tree, device)


def chosen_names(function, names, only, skip):
    """The tensors of a file that `only` and `skip`, names or patterns of them, choose, in the order of the file."""
    wanted = set(named_by(function, "only", only, names)) if only else set(names)
    return [name for name in names if name in wanted - set(named_by(function, "skip", skip, names))]


def named_by(function, argument, given, names):
    """The tensors of a file that an argument names."""
    return chosen(f"{function}: {argument}", as_patterns(function, given), names, "tensor of the file")


def refuse_others(function, given, hint):
    """TypeError if there are other arguments, such as those of PyTorch."""
    for each in given:
        raise errors.TypeError.with_hint(f"io.{function}: unknown argument {each!r}", hint)


def tensor_of(function, tensor):
    """A tensor that is written, on the host; its numbers must be known."""
    made = asarray(tensor)
    if made.is_traced:
        raise errors.ValueError.with_hint(f"io.{function}: a tensor that is being recorded has no values yet", "return it, and save it outside")
    return moved(made, "cpu")


class Opened:
    """The base of open files: context managers with the names of their tensors. The core's file is `_file`; None when it is closed."""

    def __init__(self, path):
        given = path_of(type(self).__name__, path)
        self._path, self._file = os.fsdecode(given), self._open(given)

    def __enter__(self):
        self._opened()
        return self

    def __exit__(self, *_error):
        self.close()

    def close(self):
        """Closes the file. Tensors that were read stay valid."""
        self._file = None

    def __repr__(self):
        return f"<{type(self).__name__} {self._path}{'' if self._file else ', closed'}>"

    def __len__(self):
        return len(self.keys())

    def __iter__(self):
        return iter(self.keys())

    def __contains__(self, name):
        self._opened()
        is_text = isinstance(name, str) and name.encode("utf-8", "ignore").decode() == name  # without lone surrogates
        return is_text and self._file.contains(name)

    def keys(self):
        """The names of the tensors, in the order of the file."""
        return self._opened().names()

    def metadata(self):
        """The metadata of the file."""
        return self._opened().metadata()

    def get_tensor(self, name):
        """The tensor of this name."""
        return self._opened().tensor(self._named("get_tensor", name))

    def get_shape(self, name):
        """The shape of the tensor of this name, which is not read."""
        return self._opened().info(self._named("get_shape", name))[1]

    def get_type(self, name):
        """The type of the elements of the tensor, as the file names it."""
        return self._opened().info(self._named("get_type", name))[0]

    def _opened(self):
        if self._file is None:
            raise errors.ValueError(f"{self._path} is closed")
        return self._file

    def _named(self, method, name):
        return name_of(f"{type(self).__name__}.{method}", name)
