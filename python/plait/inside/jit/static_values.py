"""Static values that are equal but different, such as 1 and True in a set: what distinguishes them in the key of a record."""

import datetime
import decimal
import pathlib

from plait import _core

_BY_REPR = (decimal.Decimal, datetime.datetime, datetime.time, datetime.timezone, pathlib.PureWindowsPath)
_SAME_WHERE_EQUAL = frozenset((str, bytes, type(None)))


def told_apart(constants):
    """The exact values of those constants that may equal different ones."""
    return tuple(exact for value in constants if (exact := _exact(value)) is not None)


def _exact(value):
    if isinstance(value, (set, frozenset)):
        if all(type(each) in _SAME_WHERE_EQUAL for each in value):
            return None
        return frozenset(map(_with_type, value))
    return repr(value) if isinstance(value, _BY_REPR) else None


def _with_type(value):
    if isinstance(value, tuple):
        return type(value), tuple(map(_with_type, value))
    if isinstance(value, (int, float, complex)):
        return type(value), repr(value)  # 0.0 is not -0.0
    exact = _exact(value)
    return type(value), value if exact is None else exact


def keys_told_apart(tree):
    """The same for keys of dicts that are not strings."""
    found = []
    _add_keys(tree, found)
    return tuple(found)


def _add_keys(tree, found):
    if type(tree) is _core.Tensor or type(tree) in _SAME_WHERE_EQUAL:
        return
    if isinstance(tree, dict):
        found += [_with_type(key) for key in tree if type(key) is not str]
        children = tree.values()
    elif isinstance(tree, (list, tuple)):
        children = tree
    else:
        children = [child for _, child in _core._children(tree) or ()]
    for child in children:
        _add_keys(child, found)
