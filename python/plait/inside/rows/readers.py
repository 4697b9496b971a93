"""Readers of CSV, JSONL and text, whole or by row."""

import itertools
import os

from plait import _core, errors
from plait.inside.later import Later
from plait.inside.logs.log import encoded

np = Later("numpy")


class _Rows:
    """A sequence of rows that are read when they are asked for."""

    def _place(self, i):
        try:
            place = i.__index__()
        except (AttributeError, TypeError):
            raise errors.TypeError(f"{type(self).__name__}: expected an integer, not {type(i).__name__}") from None
        return place + len(self) if place < 0 else place

    def __len__(self):
        return self._core.size()

    def __iter__(self):
        for i in itertools.count():  # without len(self), which searches the whole file
            try:
                row = self[i]
            except errors.IndexError:
                return
            yield row

    def __reduce__(self):  # another process opens the file itself
        return type(self)._opened, (self._given,)

    @classmethod
    def _opened(cls, given):
        return cls(*given[0], **given[1])

    def __repr__(self):
        return f"{type(self).__name__}({os.fspath(self._given[0][0])!r})"


class CsvFile(_Rows):
    """The rows of a CSV file (RFC 4180), by number: dicts of integers, floats and strings. Numbers of
    columns of f64 are np.float64, so that a batch of them is f64. The file is mapped, and searched for rows when they
    are first asked for. `rows` reads several as columns. Options are those of read_csv.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/flowers.csv"
    >>> _ = open(path, "w").write('name,width\\nrose,0.5\\n"lily, white",0.25\\n')
    >>> flowers = plait.io.CsvFile(path)
    >>> len(flowers), flowers[1]
    (2, {'name': 'lily, white', 'width': np.float64(0.25)})
    >>> flowers.rows(0, 2)["width"]
    [0.5  0.25] : f64[2]
    """

    def __init__(self, path, *, separator=",", quote='"', header=True, names=None, types=None, missing=None):
        _expect_csv_options(separator, quote, header)
        self._given = (path,), {"separator": separator, "quote": quote, "header": header, "names": names, "types": types, "missing": missing}
        self._core = _core._CsvFile(encoded(path), separator, quote or "", header, list(names or ()), dict(types or {}),
                                    None if missing is None else list(missing))

    @property
    def names(self):
        """The names of the columns."""
        return self._core.names()

    @property
    def types(self):
        """The types of the columns by name: 'i64', 'f64' or 'text'."""
        return dict(zip(self._core.names(), self._core.types()))

    def rows(self, begin=0, end=None):
        """The columns of the rows from `begin` to before `end`, or to the last one: tensors of numbers, and lists of strings."""
        return self._core.rows(begin, 2 ** 63 - 1 if end is None else end)

    def __getitem__(self, i):
        place = self._place(i)
        columns = self._core.rows(place, place + 1) if place >= 0 else {}
        if not columns or not all(map(len, columns.values())):
            raise errors.IndexError(f"{self!r} has {len(self)} rows, not row {i}")
        return {name: column[0] if isinstance(column, list) else _number(column[0].item()) for name, column in columns.items()}


def _number(value):
    """A float of Python would be f32 in a batch."""
    return np.float64(value) if isinstance(value, float) else value


def _expect_csv_options(separator, quote, header):
    if not isinstance(header, bool):
        raise errors.TypeError.with_hint(f"read_csv: header is {header!r}, expected True or False", 'header=False, names=["id", "score"]')
    for name, value in ("separator", separator), ("quote", "" if quote is None else quote):
        if not isinstance(value, str):
            raise errors.TypeError(f"read_csv: the {name} is {value!r}, expected one character")


class JsonlFile(_Rows):
    """The values of a JSONL file, by number; blank lines are skipped. The file is mapped, and searched for lines when they are first asked for.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/data.jsonl"
    >>> _ = open(path, "w").write('{"text": "one", "label": 1}\\n{"text": "two", "label": 2}\\n')
    >>> plait.io.JsonlFile(path)[-1]
    {'text': 'two', 'label': 2}
    """

    def __init__(self, path):
        self._given, self._core = ((path,), {}), _core._JsonlFile(encoded(path))

    def __getitem__(self, i):
        return self._core.value(self._place(i))


class TextLines(_Rows):
    """The lines of a text file in UTF-8, by number, without their ends. The file is mapped, and searched for lines when they are first asked for.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/poem.txt"
    >>> _ = open(path, "w").write("first\\nsecond\\n")
    >>> list(plait.io.TextLines(path))
    ['first', 'second']
    """

    def __init__(self, path):
        self._given, self._core = ((path,), {}), _core._TextLines(encoded(path))

    def __getitem__(self, i):
        return self._core.line(self._place(i))


def read_csv(path, *, separator=",", quote='"', header=True, names=None, types=None, missing=None):
    """The columns of a CSV file (RFC 4180) by name: tensors of numbers, and lists of strings. A column of integers is i64; one of numbers, or
    with missing cells, is f64, and those are NaN; any other is text, also one of integers that would lose digits. `types` says it for columns by
    name: 'i64', 'f64' or 'text'. Cells equal to one of `missing` are missing: by default empty ones, NA, N/A, NaN, nan and null.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/table.csv"
    >>> _ = open(path, "w").write("id,score\\n1,0.5\\n2,\\n")
    >>> plait.io.read_csv(path)
    {'id': [1 2] : i64[2], 'score': [0.5 nan] : f64[2]}
    """
    return CsvFile(path, separator=separator, quote=quote, header=header, names=names, types=types, missing=missing).rows()


def read_jsonl(path):
    """The values of a JSONL file, one a line; blank lines are skipped.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/data.jsonl"
    >>> _ = open(path, "w").write('[1, 2]\\n{"a": null}\\n')
    >>> plait.io.read_jsonl(path)
    [[1, 2], {'a': None}]
    """
    return list(JsonlFile(path))
