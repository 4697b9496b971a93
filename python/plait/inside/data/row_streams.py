"""Rows of text, JSONL and CSV files, read from the first to the last."""

from plait import _core, errors
from plait.inside.data.streams import IterableDataset
from plait.inside.data.web_datasets import paths_of
from plait.inside.logs.log import encoded
from plait.inside.rows.readers import CsvFile


class _LinesOfFiles(IterableDataset):
    """The base of TextStream and JsonlStream, which say how a sample is made of a line."""

    _skips_blank = False

    def __init__(self, paths):
        self.paths = paths_of(type(self).__name__, paths)
        self._encoded = [encoded(path) for path in self.paths]

    def __repr__(self):
        return f"{type(self).__name__}({self.paths})"

    def __iter__(self):
        return _Lines(self, self._finish)

    def _source(self):
        return _Source(self)


class _Source:
    """Iterates over lines that are not read yet."""

    def __init__(self, dataset):
        self._dataset = dataset

    def __iter__(self):
        return _Lines(self._dataset, lambda line, _key: line)


class _Lines:
    """Its state is the number of the file, and the byte where the next line begins."""

    def __init__(self, dataset, finish):
        self._stream, self._finish = _core._LineStream(dataset._encoded, dataset._skips_blank), finish

    def __iter__(self):
        return self

    def __next__(self):
        line = self._stream.next()
        if line is None:
            raise StopIteration
        return self._finish(line, None)

    def state_dict(self):
        return {"position": self._stream.position()}

    def load_state_dict(self, state):
        self._stream.seek(list(state["position"]))


class TextStream(_LinesOfFiles):
    """The lines of text files in UTF-8, one file after another, without their ends. Unlike TextLines it needs no index: the first line is there
    immediately, however large the files are. A run that continues begins at the file and the byte where it was. Paths are those of WebDataset.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/poem.txt"
    >>> _ = open(path, "w").write("first\\nsecond\\n")
    >>> list(plait.data.TextStream([path, path]))
    ['first', 'second', 'first', 'second']
    """

    def _finish(self, line, _key):
        return line.text()


class JsonlStream(_LinesOfFiles):
    """The values of JSONL files, one file after another; blank lines are skipped. Unlike JsonlFile it needs no index, as TextStream.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/data.jsonl"
    >>> _ = open(path, "w").write('{"x": 1}\\n{"x": 2}\\n')
    >>> list(plait.data.DataLoader(plait.data.JsonlStream(path), batch_size=2))
    [{'x': [1 2] : i64[2]}]
    """

    _skips_blank = True

    def _finish(self, line, _key):
        return line.value()


class CsvStream(IterableDataset):
    """The rows of CSV files, one file after another, as those of CsvFile, with its options. With the types of all columns, the first row is there
    immediately; otherwise a file is read for them when its turn comes. A run that continues begins at the file and the row where it was.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/data.csv"
    >>> _ = open(path, "w").write("x,name\\n1,one\\n2,two\\n")
    >>> list(plait.data.DataLoader(plait.data.CsvStream(path, types={"x": "i64", "name": "text"}), batch_size=2))
    [{'x': [1 2] : i64[2], 'name': ['one', 'two']}]
    """

    def __init__(self, paths, **options):
        self.paths, self._options = paths_of("CsvStream", paths), options

    def __repr__(self):
        return f"CsvStream({self.paths})"

    def __iter__(self):
        return _CsvRows(self.paths, self._options)


class _CsvRows:
    """Its state is the number of the file, and that of the next row."""

    def __init__(self, paths, options):
        self._paths, self._options, self._number, self._row, self._file = paths, options, 0, 0, None

    def __iter__(self):
        return self

    def __next__(self):
        while self._number < len(self._paths):
            self._file = self._file or CsvFile(self._paths[self._number], **self._options)
            try:
                row = self._file[self._row]
            except errors.IndexError:
                self._number, self._row, self._file = self._number + 1, 0, None
            else:
                self._row += 1
                return row
        raise StopIteration

    def state_dict(self):
        return {"position": [self._number, self._row]}

    def load_state_dict(self, state):
        position = [int(each) for each in state["position"]] or [0, 0]
        if len(position) != 2 or not 0 <= position[0] <= len(self._paths) or position[1] < 0:
            raise errors.ValueError(f"CsvStream: the position is {position}, expected the number of one of {len(self._paths)} files and a row")
        (self._number, self._row), self._file = position, None
