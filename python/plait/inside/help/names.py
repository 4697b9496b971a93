"""Words of errors: values, and suggestions for names that do not exist."""

import sys

from plait import _core, errors
from plait.inside.later import Later

difflib = Later("difflib")
peers = Later("plait.inside.help.peers")


def nearest(name, names, cutoff=0.6):
    """The most similar of the names, or None."""
    found = difflib.get_close_matches(name, names, 1, cutoff)
    return found[0] if found else None


def _public(thing):
    return [name for name in dir(thing) if not name.startswith("_")]


def _missing(message, name, names_and_hint, prefix=""):
    """An error that names the equivalent in Plait, or the most similar name. `names_and_hint` returns the names and the equivalent, if any; it
    is called when the text is read."""
    if name.startswith("_"):
        return errors.AttributeError(message)

    def text():
        names, said = names_and_hint()
        if said is not None:
            return str(errors.AttributeError.with_hint(message, said))
        near = nearest(name, names)
        return message if near is None else f"{message}; did you mean {prefix}{near}?"

    return errors.AttributeError.described_by(text)


def of_module(module):
    """The __getattr__ of a module."""

    def missing(name):
        raise _missing(f"{module} has no {name!r}", name, lambda: (_public(sys.modules[module]), peers.of_module(module, name)), f"{module}.")

    return _core._boundary(missing)


def of_public_module(namespace):
    """The __getattr__, __dir__ and __all__ of a module for users, at the end of its file: its names without an underscore are public."""
    names = sorted(name for name in namespace if not name.startswith("_"))
    return of_module(namespace["__name__"]), lambda: list(names), names


def of_tensor(tensor, name):
    """Tensor.__getattr__, for attributes of other libraries that Plait does not have."""
    kind = type(tensor)

    def names_and_hint():
        own, said = _public(kind), peers.of_tensor(name)
        if said is None and nearest(name, own) is None:
            functions = [each for each, value in vars(sys.modules["plait"]).items() if callable(value) and not isinstance(value, type)]
            near = nearest(name, functions)
            said = near and f"plait.{near}(x)"
        return own, said

    raise _missing(f"a tensor has no {name!r}", name, names_and_hint)


def of_object(thing, name):
    """The error of Module.__getattr__ for attributes of modules and optimizers of other libraries. Python itself suggests similar
    names."""
    said = None if name.startswith("_") else peers.of_object(thing, name)
    message = f"{type(thing).__name__} has no {name!r}"
    error = errors.AttributeError(message) if said is None else errors.AttributeError.with_hint(message, said)
    error.name, error.obj = name, thing
    return error


def of_assignment(thing, name, names):
    """The error of an assignment to an attribute that does not exist."""
    return _missing(f"{type(thing).__name__} has no {name!r}", name,
                    lambda: ([each for each in names if not each.startswith("_")], peers.of_object(thing, name)))


def in_words(value):
    """A value in an error: as Python shows it if that is short, else its type."""
    text = repr(value)
    return text if len(text) <= 80 and "\n" not in text else f"of the type {type(value).__name__}"
