"""Datasets whose samples have numbers."""

import bisect
import collections.abc
import itertools

from plait import _core, errors
from plait.inside.arrays.devices import placed
from plait.inside.arrays.interop import of_host
from plait.inside.data.keyed import call_with_key, sample_of, seed_of, takes_key
from plait.inside.files.file_arguments import path_of
from plait.inside.help.names import in_words

_data = _core._data


class Dataset:
    """The base of datasets: `__len__` is the number of samples, `__getitem__(index)` returns one. Any object with these two will do, such as
    a list. If samples are drawn at random, define `get(index, key)` instead of `__getitem__`: the loader passes a random key for each sample
    of each epoch, so the batches are the same for any number of workers, and when a run is continued. So are those of samples that draw without
    a key.

    >>> class Squares(plait.data.Dataset):
    ...     def __len__(self):
    ...         return 4
    ...     def __getitem__(self, index):
    ...         return index ** 2
    >>> list(plait.data.DataLoader(Squares(), batch_size=2))
    [[0 1] : i64[2], [4 9] : i64[2]]
    """

    def __getitem__(self, index):
        if takes_key(self):
            return self.get(index, _core._data.sample_key(0, 0, index))
        raise errors.TypeError.with_hint(f"{type(self).__name__}: samples are not defined", "define __getitem__(self, index), or get(self, index, key)")

    def __add__(self, other):
        return ConcatDataset([self, other])


def length_of(name, dataset):
    """The number of samples; TypeError if the dataset has none."""
    try:
        size = len(dataset)
    except TypeError:
        raise errors.TypeError.with_hint(f"{name}: {in_words(dataset)} has no length, expected a dataset", "define __len__(self)") from None
    return size


def _expect_index(index, size):
    """The index from the front; IndexError if it is out of range."""
    if not hasattr(index, "__index__"):
        raise errors.TypeError(f"the index is {in_words(index)}, expected an integer")
    found = index + size if index < 0 else index
    if not 0 <= found < size:
        raise errors.IndexError(f"the index {index} is out of range for a dataset of {size} samples")
    return found


class TensorDataset(Dataset):
    """The rows of tensors of one length: tuples of them, or dicts of the rows of a dict of tensors, such as load_npz returns. Rows of a tensor are
    where it is. Memory of arrays is shared, so rows of np.load(file, mmap_mode="r") are read when they are used, and made on the default device.

    >>> dataset = plait.data.TensorDataset(plait.tensor([[1.0, 2.0], [3.0, 4.0]]), plait.tensor([0, 1]))
    >>> dataset[1]
    ([3. 4.] : f32[2], 1 : i64[])
    >>> plait.data.TensorDataset({"x": plait.zeros((3, 2)), "y": plait.arange(3)})[2]
    {'x': [0. 0.] : f32[2], 'y': 2 : i64[]}
    """

    def __init__(self, *tensors):
        self._names = None
        if len(tensors) == 1 and isinstance(tensors[0], collections.abc.Mapping):
            self._names, tensors = tuple(tensors[0]), tuple(tensors[0].values())
        self._have_place = [isinstance(each, _core.Tensor) for each in tensors]
        self.tensors = tuple(each if has_place else of_host(each) for each, has_place in zip(tensors, self._have_place))
        if not tensors:
            raise errors.TypeError("TensorDataset: expected one tensor or more")
        for each in self.tensors:
            if each.ndim == 0 or each.shape[0] != self.tensors[0].shape[0]:
                shapes = ", ".join(str(list(one.shape)) for one in self.tensors)
                raise errors.ShapeError(f"TensorDataset: the tensors are {shapes}, expected one first size")

    def __len__(self):
        return int(self.tensors[0].shape[0])

    def __getitem__(self, index):
        index = _expect_index(index, len(self))
        return self._sample([_data.row(each, index) for each in self.tensors])

    def stacked(self, indices):
        """The batch of these samples."""
        return self._sample(_data.rows(self.tensors, indices))

    def _sample(self, rows):
        rows = [row if has_place else placed(row, None) for row, has_place in zip(rows, self._have_place)]
        return tuple(rows) if self._names is None else dict(zip(self._names, rows))


class _Wrapping(Dataset):
    """The base of datasets made of others, which pass their keys on."""

    def __getitem__(self, index):
        return self.get(index, None)


class Subset(_Wrapping):
    """These samples of a dataset, in this order.

    >>> list(plait.data.Subset(["a", "b", "c"], [2, 0]))
    ['c', 'a']
    """

    def __init__(self, dataset, indices):
        length_of("Subset", dataset)
        try:
            self.dataset, self.indices = dataset, list(indices)
        except TypeError:
            raise errors.TypeError(f"Subset: the indices are {in_words(indices)}, expected a list") from None

    def __len__(self):
        return len(self.indices)

    def get(self, index, key):
        """The sample at this place of the indices."""
        return sample_of(self.dataset, self.indices[_expect_index(index, len(self))], key)


class ConcatDataset(_Wrapping):
    """The samples of several datasets, one dataset after another.

    >>> list(plait.data.ConcatDataset(["ab", "c"]))
    ['a', 'b', 'c']
    """

    def __init__(self, datasets):
        try:
            self.datasets = list(datasets)
        except TypeError:
            raise errors.TypeError(f"ConcatDataset: the datasets are {in_words(datasets)}, expected a list") from None
        if not self.datasets:
            raise errors.ValueError("ConcatDataset: there are no datasets")
        self.cumulative_sizes = list(itertools.accumulate(length_of("ConcatDataset", each) for each in self.datasets))

    def __len__(self):
        return self.cumulative_sizes[-1]

    def get(self, index, key):
        """The sample with this number among all."""
        index = _expect_index(index, len(self))
        part = bisect.bisect_right(self.cumulative_sizes, index)
        return sample_of(self.datasets[part], index - (self.cumulative_sizes[part - 1] if part else 0), key)


class StackDataset(_Wrapping):
    """The samples of several datasets of one length side by side: tuples, or dicts if the datasets have names. Each has random keys of its
    own.

    >>> plait.data.StackDataset(image=["cat.png", "dog.png"], label=[0, 1])[1]
    {'image': 'dog.png', 'label': 1}
    """

    def __init__(self, *datasets, **named):
        if bool(datasets) == bool(named):
            raise errors.TypeError("StackDataset: expected datasets, all with names or all without")
        self.datasets = named or datasets
        sizes = [length_of("StackDataset", each) for each in (named.values() or datasets)]
        if len(set(sizes)) > 1:
            raise errors.ValueError(f"StackDataset: the datasets have {', '.join(map(str, sizes))} samples, expected the same")
        self._size = sizes[0]

    def __len__(self):
        return self._size

    def get(self, index, key):
        """The samples with this number."""
        index, named = _expect_index(index, len(self)), isinstance(self.datasets, dict)
        parts = self.datasets.values() if named else self.datasets
        keys = [None if key is None else _core.random.fold_in(key, i) for i in range(len(parts))]
        samples = [sample_of(each, index, own) for each, own in zip(parts, keys)]
        return dict(zip(self.datasets, samples)) if named else tuple(samples)


class MappedDataset(_Wrapping):
    """function(sample) for each sample of a dataset; made by mapped()."""

    def __init__(self, dataset, function):
        self.dataset, self.function = dataset, function

    def __len__(self):
        return len(self.dataset)

    def get(self, index, key):
        """The function of the sample with this number."""
        return call_with_key(self.function, lambda inner: sample_of(self.dataset, index, inner), key)


def random_split(dataset, lengths, key=None, *, seed=None, generator=None):
    """Subsets of a dataset that have these lengths, or these shares of its samples, chosen at random by a key or a seed, 0 by default. A generator,
    such as torch.Generator, is a seed: the one that it began with.

    >>> train, test = plait.data.random_split(range(10), [0.8, 0.2])
    >>> len(train), len(test), sorted([*train, *test]) == list(range(10))
    (8, 2, True)
    """
    size = length_of("random_split", dataset)
    try:
        lengths = list(lengths)
        has_shares = any(isinstance(each, float) for each in lengths)
        lengths = _data.sizes_of_shares(size, [float(each) for each in lengths]) if has_shares else [int(each) for each in lengths]
    except (TypeError, ValueError) as error:
        if isinstance(error, errors.Error):
            raise
        raise errors.TypeError(f"random_split: the lengths are {in_words(lengths)}, expected a list of numbers") from None
    if hasattr(key, "initial_seed"):  # PyTorch's third argument is the generator
        key, generator = None, key
    seed = seed_of("random_split", seed, generator)
    if key is not None and generator is not None:
        raise errors.ValueError("random_split: both a key and a generator are given")
    parts = _data.split_indices(size, lengths, _core.random.key(seed or 0) if key is None else key)
    return [Subset(dataset, indices) for indices in parts]


def npy_dataset(path):
    """The rows of the array in a .npy file. Those of a large file are read when they are used.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "x.npy")
    >>> np.save(path, np.arange(3))
    >>> plait.data.npy_dataset(path)[2]
    (2 : i64[],)
    """
    return TensorDataset(_data.npy_rows(path_of("npy_dataset", path)))


def npz_dataset(path):
    """The rows of the arrays in a .npz file, as dicts by name.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "x.npz")
    >>> np.savez(path, x=np.arange(3), y=np.ones(3))
    >>> plait.data.npz_dataset(path)[2]
    {'x': 2 : i64[], 'y': 1. : f64[]}
    """
    return StackDataset(**{name: _Rows(each) for name, each in _data.npz_rows(path_of("npz_dataset", path)).items()})


def idx_dataset(*paths):
    """The rows of the arrays in IDX files, such as the images and the labels of MNIST; files may be compressed by gzip.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "labels")
    >>> with open(path, "wb") as file:
    ...     _ = file.write(bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 9]))
    >>> plait.data.idx_dataset(path)[1]
    (9 : u8[],)
    """
    return TensorDataset(*[_data.idx_rows(path_of("idx_dataset", path)) for path in paths])


class _Rows(Dataset):
    """The rows of one tensor."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __len__(self):
        return int(self.tensor.shape[0])

    def __getitem__(self, index):
        return _data.row(self.tensor, _expect_index(index, len(self)))
