"""Exceptions: one class per kind of plait::Error, each also derived from the matching Python class."""

import builtins

from plait import _core


class Error(Exception):
    """An error of Plait: `message`, `location` in your code, and `hint`, a suggested fix."""

    message = ""
    hint = ""
    location = ""
    context = ""

    @classmethod
    def with_hint(cls, message, hint):
        """The text in the format of the library."""
        made = cls(f"{message}\n  hint: {hint}")
        made.message, made.hint = message, hint
        return made

    def __init__(self, *arguments):
        super().__init__(*arguments)
        if not isinstance(self, builtins.AttributeError):  # which hasattr() catches
            _core._count_error()

    def __str__(self):  # a KeyError would show the text as a repr
        return str(self.args[0]) if self.args else ""


class ShapeError(Error, builtins.ValueError):
    """Sizes do not match."""


class TypeError(Error, builtins.TypeError):
    """An unsupported dtype or kind of value."""


class ValueError(Error, builtins.ValueError):
    """An argument is outside of its range."""


class IndexError(Error, builtins.IndexError):
    """An index is out of range."""


class KeyError(Error, builtins.KeyError):
    """A name does not exist."""


class AttributeError(Error, builtins.AttributeError):
    """An attribute does not exist."""


class MemoryError(Error, builtins.MemoryError):
    """More memory was requested than is available."""


class DeviceError(Error, builtins.RuntimeError):
    """A device is missing or failed."""


class ParseError(Error, builtins.ValueError):
    """Malformed text or file."""


class IoError(Error, builtins.OSError):
    """The operating system refused an operation."""


class DistError(Error, builtins.RuntimeError):
    """Processes disagree, or one has ended."""


class CompileError(Error, builtins.RuntimeError):
    """A program breaks a rule of the IR, or cannot be compiled."""


class CheckError(Error, builtins.AssertionError):
    """A check that the user wrote failed."""


class UnconnectedWarning(builtins.UserWarning):
    """A gradient is zero because the result of the function does not depend on what it is differentiated by."""


class HostStateWarning(builtins.UserWarning):
    """jit cannot keep a record of the host code: it runs at each call, or is recorded again and again."""
