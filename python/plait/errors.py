"""What is raised: one class a kind of plait::Error, each also of Python's own kin."""

import builtins

from . import _core


class Error(Exception):
    """Something that Plait refuses: `message`, `location` in your code, `hint` at the way out."""

    message = ""
    hint = ""
    location = ""
    context = ""

    @classmethod
    def with_hint(cls, message, hint):
        """As the library writes it."""
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
    """Sizes do not fit each other."""


class TypeError(Error, builtins.TypeError):
    """A dtype or a kind of value that the operation does not take."""


class ValueError(Error, builtins.ValueError):
    """An argument outside its range."""


class IndexError(Error, builtins.IndexError):
    """An index out of range."""


class KeyError(Error, builtins.KeyError):
    """A name that is not there."""


class AttributeError(Error, builtins.AttributeError):
    """An attribute that is not there."""


class MemoryError(Error, builtins.MemoryError):
    """More memory asked for than there is."""


class DeviceError(Error, builtins.RuntimeError):
    """A device is missing or failed."""


class ParseError(Error, builtins.ValueError):
    """Malformed text or file."""


class IoError(Error, builtins.OSError):
    """The operating system refused."""


class DistError(Error, builtins.RuntimeError):
    """Processes disagree or one is gone."""


class CompileError(Error, builtins.RuntimeError):
    """A program that breaks a rule of the IR, or cannot be compiled."""


class CheckError(Error, builtins.AssertionError):
    """A check that the user wrote did not hold."""


class HostStateWarning(builtins.UserWarning):
    """Host code that jit cannot record for good: it is run at each call, or recorded again and again."""
