"""Shards in WebDataset's layout."""

import glob
import json
import os
import re

from plait import _core, errors
from plait.inside.data.datasets import Dataset, _expect_index
from plait.inside.data.streams import IterableDataset, position_of_state
from plait.inside.files.file_arguments import path_of
from plait.inside.files.image_files import decode_image
from plait.inside.help.names import in_words

_data = _core._data
_RANGE = re.compile(r"\{(\d+)\.\.(\d+)\}")


class _Shards:
    """The paths and the decoding of WebDataset and WebStream."""

    def _set_up(self, paths, decode, mode):
        name = type(self).__name__
        self.paths, self.decode, self.mode = paths_of(name, paths), decode, mode
        self._decoders = dict(decode) if isinstance(decode, dict) else {}
        if not isinstance(decode, (bool, dict)) or not all(map(callable, self._decoders.values())):
            raise errors.TypeError(f"{name}: decode is {in_words(decode)}, expected True, False, or functions by extension")
        self._encoded = [path_of(name, path) for path in self.paths]

    def __reduce__(self):  # another process opens the files itself
        return type(self), (self.paths, self.decode, self.mode)

    def __repr__(self):
        return f"{type(self).__name__}({len(self.paths)} shards)"

    def _decoded(self, sample):
        key, shard, members = sample
        made = {"__key__": os.fsdecode(key), "__url__": os.fsdecode(shard)}
        for extension, content in members:
            name = os.fsdecode(extension)
            try:
                made[name] = self._member(name, content)
            except Exception as error:
                place = f"{made['__url__']}: {made['__key__']}.{name}"
                if isinstance(error, (errors.Error, json.JSONDecodeError, UnicodeDecodeError)):
                    raise errors.ParseError(f"{place}: {getattr(error, 'message', error)}") from None
                error.add_note(place)
                raise
        return made

    def _member(self, name, content):
        if not self.decode:
            return content
        kind = name.rsplit(".", 1)[-1]
        function = self._decoders.get(name, self._decoders.get(kind))
        if function is not None:
            return function(content)
        if kind in ("jpg", "jpeg", "png", "webp"):
            return decode_image(content, self.mode)
        if kind == "cls":
            return _integer(content)
        if kind in ("txt", "text"):
            return content.decode()
        if kind == "json":
            return json.loads(content)
        return _data.read_npy(content) if kind == "npy" else content


class WebDataset(_Shards, Dataset):
    """The samples of tar archives in WebDataset's layout, by number. Members with one name up to the first dot are a sample: a dict by the rest of
    the name. .jpg, .png and .webp become images, .npy tensors, .cls integers, .txt strings, and .json objects; `decode` may have functions of bytes
    by extension, or be False. Paths may have ranges, as in "train-{000..012}.tar", and be patterns, as "train-*.tar", of files in the order of their
    names. Opening reads only headers; WebStream opens no shard before its turn, and reads compressed ones.

    >>> import io, tarfile, tempfile
    >>> path = tempfile.mkdtemp() + "/train-0.tar"
    >>> with tarfile.open(path, "w") as shard:
    ...     for name, content in [("a.txt", b"one"), ("a.cls", b"7"), ("b.txt", b"two"), ("b.cls", b"8")]:
    ...         member = tarfile.TarInfo(name)
    ...         member.size = len(content)
    ...         shard.addfile(member, io.BytesIO(content))
    >>> dataset = plait.data.WebDataset(path)
    >>> len(dataset), dataset[1]["txt"], dataset[1]["cls"], dataset[1]["__key__"]
    (2, 'two', 8, 'b')
    """

    def __init__(self, paths, decode=True, mode="rgb"):
        self._set_up(paths, decode, mode)
        self._core = _data.Shards(self._encoded)

    def __len__(self):
        return self._core.size()

    def __getitem__(self, index):
        return self._decoded(self._core.sample(_expect_index(index, len(self))))


class WebStream(_Shards, IterableDataset):
    """The samples of WebDataset, read from the first to the last. A run that continues begins at the shard and the byte where it was. Shards may be
    compressed by gzip ("train-{000..012}.tar.gz"); one in which a run continues is decompressed from its beginning.

    >>> import io, tarfile, tempfile
    >>> path = tempfile.mkdtemp() + "/train-0.tar"
    >>> with tarfile.open(path, "w") as shard:
    ...     member = tarfile.TarInfo("a.txt")
    ...     member.size = 3
    ...     shard.addfile(member, io.BytesIO(b"one"))
    >>> [sample["txt"] for sample in plait.data.WebStream([path])]
    ['one']
    """

    def __init__(self, paths, decode=True, mode="rgb"):
        self._set_up(paths, decode, mode)

    def __iter__(self):
        return _DecodedSamples(self)

    def _source(self):
        return _RawSamples(self._encoded)

    def _finish(self, raw, _key):
        return self._decoded(raw)


class _RawSamples:
    """Iterates over samples that are not decoded."""

    def __init__(self, paths):
        self._paths = paths

    def __iter__(self):
        return _RawIterator(self._paths)


class _RawIterator:
    def __init__(self, paths):
        self._stream = _data.ShardStream(paths)

    def __iter__(self):
        return self

    def __next__(self):
        sample = self._stream.next()
        if sample is None:
            raise StopIteration
        return sample

    def state_dict(self):
        return {"position": self._stream.position()}

    def load_state_dict(self, state):
        self._stream.seek(position_of_state("WebStream", state))


class _DecodedSamples(_RawIterator):
    def __init__(self, dataset):
        super().__init__(dataset._encoded)
        self._dataset = dataset

    def __next__(self):
        return self._dataset._decoded(super().__next__())


def _integer(content):
    try:
        return int(content)
    except ValueError:
        raise errors.ParseError(f"byte 0: {content[:20]!r} is not an integer") from None


def paths_of(name, given):
    """A list of paths, with ranges in braces written out, and the files that match patterns in the order of their names."""
    if isinstance(given, (str, os.PathLike)):
        given = [given]
    try:
        paths = None if hasattr(given, "read") else [os.fspath(each) for each in given]  # an open file would be asked for its lines
    except TypeError:
        paths = None
    if paths is None:
        raise errors.TypeError(f"{name}: the paths are {in_words(given)}, expected a path, or a list of paths")
    return [each for path in paths for each in (_found(name, path) if isinstance(path, str) else [path])]


def _found(name, path):
    return [each for written in _written_out(path) for each in _matching(name, written)]


def _matching(name, path):
    """The files that match a pattern of the shell; a file that has its characters in its own name is that file."""
    if not glob.has_magic(path) or os.path.exists(path):
        return [path]
    files = sorted(glob.glob(path, recursive=True))
    if not files:
        raise errors.IoError(f"{name}: no file matches {path!r}")
    return files


def _written_out(path):
    found = _RANGE.search(path)
    if found is None:
        return [path]
    first, last = found.groups()  # as the shell does it: also downwards, and a zero before one of them gives both the same width
    is_padded = any(len(each) > 1 and each[0] == "0" for each in (first, last))
    width, step = max(len(first), len(last)) if is_padded else 0, 1 if int(first) <= int(last) else -1
    numbers = [str(number).zfill(width) for number in range(int(first), int(last) + step, step)]
    return [each for number in numbers for each in _written_out(path[:found.start()] + number + path[found.end():])]
