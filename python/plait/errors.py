"""Exceptions: one class per kind of plait::Error, each also derived from the matching Python class."""

import builtins as _builtins
import os as _os
import sys as _sys

from plait import _core
from plait.inside.folder import FOLDER as _FOLDER

_HINT = "\n  hint: "


class Error(Exception):
    """An error of Plait: `message`, `location` in your code, and `hint`, a suggested fix."""

    message = ""
    hint = ""
    location = ""
    context = ""

    @classmethod
    def with_hint(cls, message, hint):
        """The text in the format of the library."""
        return cls(f"{message}{_HINT}{hint}")

    def __init__(self, *arguments):
        super().__init__(*arguments)
        if not isinstance(self, _builtins.AttributeError):  # which hasattr() catches
            self.message, _, self.hint = str(self).partition(_HINT)
            _core._count_error()
            self._add_location()

    def _add_location(self):
        """Adds the user's line, the innermost one outside of the package and of NumPy, to the message of an error that code of the package makes. Errors of
        the core have it."""
        maker = _outside(_sys._getframe(), __file__)
        if maker is None or not maker.f_code.co_filename.startswith(_FOLDER) or self.message.startswith(f"{type(self).__name__}: "):
            return
        frame = _outside(maker, _folders_of_libraries())
        if frame is None:
            return
        self.location = f"{_os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
        if f", at {self.location}" not in self.message:  # the location of another error, whose text is part of it
            self.args = (f"{self.message}, at {self.location}{str(self)[len(self.message):]}", *self.args[1:])

    def __str__(self):  # a KeyError would show the text as a repr
        return str(self.args[0]) if self.args else ""

    def __reduce__(self):  # the text has its location already, or has none
        return _unpickled, (type(self), self.args), vars(self)


def _unpickled(cls, arguments):
    return cls.__new__(cls, *arguments)


def _outside(frame, place):
    """The innermost frame, from this one outwards, whose code is not in a file, a folder or one of several; None if there is none."""
    while frame is not None and frame.f_code.co_filename.startswith(place):
        frame = frame.f_back
    return frame


def _folders_of_libraries():
    """Those of the package, and of NumPy, whose functions call methods of tensors."""
    numpy = getattr(_sys.modules.get("numpy"), "__file__", None)
    return (_FOLDER, _os.path.join(_os.path.dirname(numpy), "")) if numpy else _FOLDER


class ShapeError(Error, _builtins.ValueError):
    """Sizes do not match."""


class TypeError(Error, _builtins.TypeError):
    """An unsupported dtype or kind of value."""


class ValueError(Error, _builtins.ValueError):
    """An argument is outside of its range."""


class IndexError(Error, _builtins.IndexError):
    """An index is out of range."""


class KeyError(Error, _builtins.KeyError):
    """A name does not exist."""


def _part_of_text(name, index):
    """A property, computed when it is read: hasattr() drops most of these errors unread."""
    def read(self):
        return vars(self).get(name, str(self).partition(_HINT)[index])

    def write(self, value):
        vars(self)[name] = value

    return property(read, write)


class _LaterText:
    """A text that a function computes when it is first read."""

    def __init__(self, describe):
        self._describe, self._text = describe, None

    def __str__(self):
        if self._text is None:
            self._text = self._describe()
        return self._text

    def __repr__(self):
        return repr(str(self))

    def __reduce__(self):
        return str, (str(self),)


class AttributeError(Error, _builtins.AttributeError):
    """An attribute does not exist."""

    message, hint = _part_of_text("message", 0), _part_of_text("hint", 2)

    @classmethod
    def described_by(cls, describe):
        """An error whose text is what the function returns, when it is first read."""
        return cls(_LaterText(describe))


class ImportError(Error, _builtins.ImportError):
    """A module or a name that is imported does not exist."""

    def _add_location(self):
        """Python's own code is between the user's import and this."""


class MemoryError(Error, _builtins.MemoryError):
    """More memory was requested than is available."""


class DeviceError(Error, _builtins.RuntimeError):
    """A device is missing or failed."""


class ParseError(Error, _builtins.ValueError):
    """Malformed text or file."""


class IoError(Error, _builtins.OSError):
    """The operating system refused an operation."""


class DistError(Error, _builtins.RuntimeError):
    """Processes disagree, or one has ended."""


class CompileError(Error, _builtins.RuntimeError):
    """A program breaks a rule of the IR, or cannot be compiled."""


class CheckError(Error, _builtins.AssertionError):
    """A check that the user wrote failed."""


class UnconnectedWarning(_builtins.UserWarning):
    """A gradient is zero because the result of the function does not depend on what it is differentiated by, or lacks what float() or complex()
    has read."""


class HostStateWarning(_builtins.UserWarning):
    """jit cannot keep a record of the host code: it runs at each call, or is recorded again and again."""


from plait.inside.help.names import of_public_module as _of_public_module  # noqa: E402: it needs the classes

__getattr__, __dir__, __all__ = _of_public_module(globals())
