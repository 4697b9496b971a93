"""safetensors files."""

import collections.abc
import re

from plait import _core, errors
from plait.inside.files.file_arguments import Opened, chosen_names, loaded, named_by, path_of, refuse_others, tensors_of, text_of
from plait.inside.help.names import in_words


def load_safetensors(path, *, only=(), skip=(), raw=(), values=(), device=None, **others):
    """The tensors of a safetensors file, {name: tensor}; or of all shards of a model.safetensors.index.json. They are not copied: their
    pages are read when they are first used. plait.nn.load_state puts them into a model. `only` and `skip` are names to load, or to leave out, or
    patterns of them: "encoder.*". They are on the host unless a device is given.

    Tensors of dtypes that Plait lacks are a TypeError, or named so: `raw` are read as u8 tensors of their bytes, whose last axis is in bytes;
    `values`, of F8_E8M0, F8_E4M3FNUZ and F8_E5M2FNUZ, as f32. True is all of them; with both, raw are those that have no values: F4 and F6.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plait.io.save_safetensors(f"{folder}/model.safetensors", {"weight": plait.ones((1, 2)), "bias": plait.zeros(1)})
    ...     state = plait.io.load_safetensors(f"{folder}/model.safetensors")
    >>> model = plait.nn.load_state(plait.nn.Linear(2, 1), state)
    >>> model(plait.ones(2))
    [2.] : f32[1]
    """
    refuse_others("load_safetensors", others, "device='cuda' is where they are loaded, the host without it")
    file = _core._open_safetensors(path_of("load_safetensors", path))
    readers = _readers(file, raw, values)
    return loaded({name: readers.get(name, _tensor_in)(file, name) for name in chosen_names("load_safetensors", file.names(), only, skip)}, device)


_WITH_VALUES = {"F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"}
_LACKING = {"F4", "F6_E2M3", "F6_E3M2", *_WITH_VALUES}


def _readers(file, raw, values):
    """The functions that read tensors otherwise, by name of the tensor."""
    names, readers = file.names(), {}
    choices = [("raw", raw, _LACKING, _core._Safetensors.bytes), ("values", values, _WITH_VALUES, _core._Safetensors.values)]
    for argument, given, kinds, read in sorted(choices, key=lambda choice: not isinstance(choice[1], bool)):  # names count more than True
        if isinstance(given, bool):
            found = [name for name in names if given and file.info(name)[0] in kinds]
        else:
            found = named_by("load_safetensors", argument, given, names)
        readers |= dict.fromkeys(found, read)
    return readers


def _tensor_in(file, name):
    try:
        return file.tensor(name)
    except errors.TypeError as error:  # a dtype that the library lacks
        option = "values" if file.info(name)[0] in _WITH_VALUES else "raw"
        reads = "as f32" if option == "values" else "the bytes"
        raise errors.TypeError.with_hint(error.message, f"load_safetensors(path, {option}=True) reads {reads}, skip={name!r} leaves it out") from None


def save_safetensors(path, tensors, metadata=None, *, max_shard_size=None):
    """Writes a dict of tensors by name, such as the state of a model, to a safetensors file, with metadata {str: str}. The file is
    replaced atomically.

    With max_shard_size, a number of bytes or a text such as "5GB", a larger model is divided in the order of the names: model.safetensors
    becomes model-00001-of-00003.safetensors and so on, and model.safetensors.index.json, which load_safetensors takes; files of an
    earlier division are removed.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/model.safetensors"
    ...     plait.io.save_safetensors(path, {"x": plait.ones(3)}, {"made": "today"})
    ...     plait.io.load_safetensors(path)
    {'x': [1. 1. 1.] : f32[3]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plait.io.save_safetensors(f"{folder}/model.safetensors", {"x": plait.ones(3), "y": plait.ones(3)}, max_shard_size=12)
    ...     sorted(os.listdir(folder))
    ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors', 'model.safetensors.index.json']
    """
    _core._save_safetensors(path_of("save_safetensors", path), tensors_of("save_safetensors", tensors),
                            metadata_of("io.save_safetensors", metadata), bytes_of_size("io.save_safetensors", max_shard_size))


def open_safetensors(path):
    """An open safetensors file, or the index of several: a context manager with keys(), get_tensor(name), get_slice(name)[…] and
    metadata(). Only the header is read; shards are opened when they are needed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plait.io.save_safetensors(f"{folder}/x.safetensors", {"x": plait.arange(6).reshape(3, 2)}, {"made": "today"})
    ...     with plait.io.open_safetensors(f"{folder}/x.safetensors") as file:
    ...         file.keys(), file.metadata(), file.get_slice("x")[1:]
    (['x'], {'made': 'today'}, [[2 3]
     [4 5]] : i64[2, 2])
    """
    return SafetensorsFile(path)


class SafetensorsFile(Opened):
    """An open safetensors file, as plait.io.open_safetensors returns it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plait.io.save_safetensors(f"{folder}/x.safetensors", {"x": plait.ones((3, 2)), "y": plait.zeros(3)})
    ...     with plait.io.SafetensorsFile(f"{folder}/x.safetensors") as file:
    ...         {name: (file.get_type(name), file.get_shape(name)) for name in file}
    {'x': ('F32', (3, 2)), 'y': ('F32', (3,))}
    """

    _open = staticmethod(_core._open_safetensors)

    def get_slice(self, name):
        """The tensor of this name, of which brackets read a part: file.get_slice(name)[:, 8:16]. It has get_shape() and get_dtype(), too."""
        self.get_shape(name)
        return _Part(self, name)

    def get_bytes(self, name):
        """The bytes of the tensor of this name, as u8; the last axis is in bytes. A tensor of F4 or F6 has only one axis if its rows end within
        a byte."""
        return self._opened().bytes(self._named("get_bytes", name))

    def get_values(self, name):
        """A tensor of F8_E8M0, F8_E4M3FNUZ or F8_E5M2FNUZ, dtypes that Plait lacks, as f32, which is exact."""
        return self._opened().values(self._named("get_values", name))


class _Part:
    """A tensor of an open file that is not read yet."""

    def __init__(self, file, name):
        self._file, self._name = file, name

    def get_shape(self):
        """The shape of the whole tensor."""
        return self._file.get_shape(self._name)

    def get_dtype(self):
        """The dtype as the file names it: "F32"."""
        return self._file.get_type(self._name)

    def __getitem__(self, index):
        shape = self.get_shape()
        indices = _for_each_axis(index, len(shape))
        slices = [_slice_of(each, size) for each, size in zip(indices, shape)]
        part = self._file._opened().slice(self._name, slices)
        return part[tuple(slice(None) if isinstance(each, slice) else 0 for each in indices)]


def _for_each_axis(index, rank):
    """The index of each axis: an integer or a slice."""
    indices = list(index) if isinstance(index, tuple) else [index]
    places = [i for i, each in enumerate(indices) if each is Ellipsis]
    given = len(indices) - len(places)
    if len(places) > 1 or given > rank:
        raise errors.IndexError(f"get_slice: {in_words(index)} is not an index of {rank} axes")
    place = places[0] if places else len(indices)
    return [*indices[:place], *[slice(None)] * (rank - given), *indices[place + 1:]]


def _slice_of(index, size):
    """(start, stop, step) of an axis; an integer is a slice of one element."""
    if isinstance(index, slice):
        return index.start, index.stop, index.step
    if isinstance(index, bool) or not hasattr(index, "__index__"):
        raise errors.TypeError.with_hint(f"get_slice: the index is {in_words(index)}, expected integers and slices",
                                         "file.get_tensor(name)[…] takes all of NumPy's indices")
    place = index.__index__()
    if not -size <= place < size:
        raise errors.IndexError(f"get_slice: index {place} is out of range for an axis of {size}")
    return place % size, place % size + 1, 1


def metadata_of(what, metadata):
    """Strings by name; or None."""
    if metadata is None:
        return None
    if not isinstance(metadata, collections.abc.Mapping):
        raise errors.TypeError(f"{what}: the metadata is {in_words(metadata)}, expected a dict of strings by name")
    for name, value in metadata.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise errors.TypeError.with_hint(f"{what}: the metadata {in_words(name)} is {in_words(value)}, expected strings",
                                             "json.dumps(value) makes a string of anything")
    return {text_of("save_safetensors", name): text_of("save_safetensors", value) for name, value in metadata.items()}


_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def bytes_of_size(what, size):
    """The largest shard in bytes; 0 for None, any number."""
    if size is None:
        return 0
    if isinstance(size, str):
        found = re.fullmatch(r"(\d+)\s*([A-Za-z]*)", size.strip())
        size = int(found[1]) * _UNITS[found[2].upper()] if found and found[2].upper() in _UNITS else size
    if isinstance(size, int) and not isinstance(size, bool) and 0 < size < 2**63:
        return size
    raise errors.ValueError(f'{what}: max_shard_size is {in_words(size)}, expected a number of bytes or a text such as "5GB"')
