"""Readers of CSV, JSONL and text, whole or by row."""

import itertools
import os

from plait import _core, errors
from plait.inside.logs.log import encoded
from plait.inside.rows.csv_options import cells_of, csv_options


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

    def __init__(self, path, *, separator=",", quote='"', header=True, names=None, types=None, missing=None, columns=None):
        options = csv_options("CsvFile", separator=separator, quote=quote, header=header, names=names, types=types, missing=missing, columns=columns)
        self._given, self._core = ((path,), options), _core._CsvFile(encoded(path), options)

    @property
    def names(self):
        """The names of the columns that are read."""
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
        columns = cells_of(self._core.cells(place)) if place >= 0 else []
        if not columns or not all(columns):
            raise errors.IndexError(f"{self!r} has {len(self)} rows, not row {i}")
        return dict(zip(self.names, (column[0] for column in columns)))


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


def read_csv(path, *, separator=",", quote='"', header=True, names=None, types=None, missing=None, columns=None):
    """The columns of a CSV file (RFC 4180) by name: tensors of numbers, and lists of strings. A column of integers is i64; one of numbers, or
    with missing cells, is f64, and those are NaN; any other is text, also one of integers that would lose digits. `types` says it for columns by
    name: 'i64', 'f64' or 'text'. Cells equal to one of `missing` are missing: by default empty ones, NA, N/A, NaN, nan and null. `columns` are
    the names of those that are read, in this order.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/table.csv"
    >>> _ = open(path, "w").write("id,score\\n1,0.5\\n2,\\n")
    >>> plait.io.read_csv(path)
    {'id': [1 2] : i64[2], 'score': [0.5 nan] : f64[2]}
    """
    options = csv_options("read_csv", separator=separator, quote=quote, header=header, names=names, types=types, missing=missing, columns=columns)
    return CsvFile(path, **options).rows()


def read_jsonl(path):
    """The values of a JSONL file, one a line; blank lines are skipped.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/data.jsonl"
    >>> _ = open(path, "w").write('[1, 2]\\n{"a": null}\\n')
    >>> plait.io.read_jsonl(path)
    [[1, 2], {'a': None}]
    """
    return list(JsonlFile(path))
