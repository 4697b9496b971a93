"""The options of readers of CSV: checked, and copied."""

import collections.abc

from plait import _core, errors
from plait.inside.help.names import in_words
from plait.inside.later import Later

np = Later("numpy")

_TYPES = ("i64", "f64", "text")
_PYTHONS = {int: "i64", float: "f64", str: "text"}


def csv_options(reader, *, separator, quote, header, names, types, missing, columns):
    """The options as the core takes them. Errors begin with the name of the reader."""
    if not isinstance(header, bool):
        raise errors.TypeError.with_hint(f"{reader}: header is {in_words(header)}, expected True or False", 'header=False, names=["id", "score"]')
    missing = [missing] if isinstance(missing, str) else missing  # one word, not its letters
    return {"separator": _character(reader, "separator", separator), "quote": None if quote in (None, "") else _character(reader, "quote", quote),
            "header": header, "names": _texts(reader, "names", names), "types": _types(reader, types), "missing": _texts(reader, "missing", missing),
            "columns": _columns(reader, columns)}


def _character(reader, what, given):
    if not isinstance(given, str):
        raise errors.TypeError(f"{reader}: the {what} is {in_words(given)}, expected one character")
    if len(given) != 1 or not given.isascii():
        raise errors.ValueError(f"{reader}: the {what} is {given!r}, expected one character of ASCII")
    return given


def _texts(reader, what, given):
    """A list of strings; None if none is given."""
    if given is None:
        return None
    if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
        raise errors.TypeError.with_hint(f"{reader}: {what} is {in_words(given)}, expected a list of strings", f'{what}=["id", "score"]')
    texts = list(given)
    for each in texts:
        if not isinstance(each, str):
            raise errors.TypeError(f"{reader}: {what} has {in_words(each)}, expected strings")
        if not _is_utf8(each):
            raise errors.ValueError(f"{reader}: {what} has {each!a}, which is not UTF-8")
    return texts


def _is_utf8(text):
    return text.encode("utf-8", "ignore").decode() == text  # False with lone surrogates


def _columns(reader, given):
    columns = _texts(reader, "columns", given)
    if columns == []:
        raise errors.ValueError(f"{reader}: columns is empty, expected the names of one or more")
    return columns


def _types(reader, given):
    if given is None:
        return None
    if not isinstance(given, collections.abc.Mapping):
        raise errors.TypeError.with_hint(f"{reader}: types is {in_words(given)}, expected a dict of types by the names of columns",
                                         'types={"id": "i64", "score": "f64"}')
    names = _texts(reader, "types", given)
    return {name: _type(reader, name, given[name]) for name in names}


def _type(reader, column, given):
    """'i64', 'f64' or 'text'; also of Python's types, and dtypes of Plait and NumPy."""
    found = given if isinstance(given, str) else _PYTHONS.get(given) if isinstance(given, type) else None
    if found is None:
        try:
            found = _core.DType(given).name
        except TypeError:
            found = None
    if found not in _TYPES:
        raise errors.ValueError(f"{reader}: the type of column {column!r} is {in_words(given)}, expected 'i64', 'f64' or 'text'")
    return found


def cells_of(columns):
    """Columns of the core as lists. Numbers of f64 are np.float64, so that a batch of them is f64: a float of Python would be f32."""
    return [list(np.frombuffer(each)) if isinstance(each, bytes) else each for each in columns]
