"""Rows of text, JSONL and CSV files, read from the first to the last."""

import threading

from plait import _core
from plait.inside.data.streams import IterableDataset, position_of_state
from plait.inside.data.web_datasets import paths_of
from plait.inside.logs.log import encoded
from plait.inside.rows.csv_options import cells_of, csv_options


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
        self._name, self._finish = type(dataset).__name__, finish
        self._stream = _core._LineStream(dataset._encoded, dataset._skips_blank)

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
        self._stream.seek(position_of_state(self._name, state))


class TextStream(_LinesOfFiles):
    """The lines of text files in UTF-8, one file after another, without their ends. Unlike TextLines it needs no index: the first line is there
    immediately, however large the files are. A run that continues begins at the file and the byte where it was. Paths are those of WebDataset. Files may
    be compressed by gzip; one in which a run continues is decompressed from its beginning.

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
    """The rows of CSV files, one file after another: dicts, as those of CsvFile, with its options. All files have the columns of the first one, and
    the types that its cells have; a cell that does not fit is an error, after which the next row comes. With the types of all columns, the first
    row is there immediately; otherwise the first file is read for them. A run that continues begins at the file and the byte where it was, and
    refuses a file of another size. A file that is compressed by gzip is decompressed into memory when its turn comes.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/data.csv"
    >>> _ = open(path, "w").write("x,name\\n1,one\\n2,two\\n")
    >>> list(plait.data.DataLoader(plait.data.CsvStream(path, types={"x": "i64", "name": "text"}), batch_size=2))
    [{'x': [1 2] : i64[2], 'name': ['one', 'two']}]
    """

    def __init__(self, paths, *, separator=",", quote='"', header=True, names=None, types=None, missing=None, columns=None):
        self.paths = paths_of("CsvStream", paths)
        self._options = csv_options("CsvStream", separator=separator, quote=quote, header=header, names=names, types=types, missing=missing,
                                    columns=columns)
        self._encoded = [encoded(path) for path in self.paths]
        self._blocks()  # which checks the characters

    def __repr__(self):
        return f"CsvStream({self.paths})"

    def __iter__(self):
        return _CsvRows(self._blocks())

    def _blocks(self):
        return _core._CsvBlocks(self._encoded, self._options)


class _CsvRows:
    """Its state is the number of the file, the byte where the next row is searched for, and the size of the file. Threads may share it."""

    def __init__(self, blocks):
        self._blocks, self._turn = blocks, threading.Lock()
        self._drop()

    def _drop(self):
        self._block, self._rows = None, iter([])

    def __iter__(self):
        return self

    def __next__(self):
        for row in self._rows:  # the iterator of a list has each row for one thread, also without a lock
            return row
        with self._turn:
            for row in self._rows:  # another thread has read them
                return row
            self._drop()
            block = self._blocks.next()
            if block is None:
                raise StopIteration
            rows = iter(_core._rows_of(block.names(), cells_of(block.cells())))
            row = next(rows)
            self._block, self._rows = block, rows
            return row

    def state_dict(self):
        with self._turn:
            return {"position": self._blocks.position() if self._block is None else self._block.position(self._block.size() - self._rows.__length_hint__())}

    def load_state_dict(self, state):
        position = position_of_state("CsvStream", state)
        with self._turn:
            self._blocks.seek(position)
            self._drop()
