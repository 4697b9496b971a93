"""Samplers: the order in which an epoch visits the samples."""

import collections.abc
import zlib

from plait import _core, errors
from plait.inside.arrays.interop import of_host
from plait.inside.data.datasets import length_of
from plait.inside.data.keyed import seed_of
from plait.inside.data.streams import set_epoch
from plait.inside.help.names import in_words
from plait.inside.later import Later

np = Later("numpy")
groups = Later("plait.inside.distributed.process_groups")
_Orders = _core._data.Sampler


def integer(name, what, value, least=0):
    """The value as an int; errors name the class and the argument."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise errors.TypeError(f"{name}: {what} is {in_words(value)}, expected an integer")
    if value < least or value >= 2**63:
        raise errors.ValueError(f"{name}: {what} is {int(value)}, expected {least} or more")
    return int(value)


class Sampler:
    """The base of samplers. Iterating gives the indices of one epoch, of which set_epoch chooses the number; len() is their number. Any
    list, or other iterable, of indices is a sampler, too.

    >>> class Backwards(plait.data.Sampler):
    ...     def __init__(self, size):
    ...         self.size = size
    ...     def __len__(self):
    ...         return self.size
    ...     def __iter__(self):
    ...         return iter(range(self.size - 1, -1, -1))
    >>> list(plait.data.DataLoader("abc", sampler=Backwards(3), batch_size=3))
    [['c', 'b', 'a']]
    """

    epoch = 0
    _chosen = False  # set_epoch was called, and no loader has begun that epoch

    def set_epoch(self, epoch):
        """Chooses the epoch that the next iteration gives, here or in a loader, which counts on from there."""
        self.epoch = integer(type(self).__name__, "the epoch", epoch)
        self._chosen = True

    def __iter__(self):
        raise errors.TypeError.with_hint(f"{type(self).__name__}: the order is not defined", "define __iter__(self)")


class _Computed(Sampler):
    """The base of samplers that compute the index at any place of any epoch."""

    _seed = None  # None: that of the loader

    def _orders(self, seed):
        """The sampler of the core, with the seed of a loader unless it has its own."""
        raise NotImplementedError

    def __iter__(self):
        orders = self._orders(0)
        for begin in range(0, len(self), 1024):
            yield from orders.indices(self.epoch, begin, min(begin + 1024, len(self)))

    def __len__(self):
        return self._orders(0).size(0)

    def _seed_or(self, seed):
        return seed if self._seed is None else self._seed


class SequentialSampler(_Computed):
    """0, 1, … up to the length of the dataset.

    >>> list(plait.data.SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source):
        self._size = length_of("SequentialSampler", data_source)

    def _orders(self, seed):
        return _Orders.sequential(self._size)


class RandomSampler(_Computed):
    """Another random order of the indices of a dataset in each epoch; with replacement, each index is drawn by itself. The seed is by default
    that of the loader. A generator, such as torch.Generator, is a seed: the one that it began with.

    >>> sampler = plait.data.RandomSampler(range(5), seed=3)
    >>> sorted(sampler), list(sampler) == list(sampler), len(plait.data.RandomSampler("ab", num_samples=7))
    ([0, 1, 2, 3, 4], True, 7)
    """

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None, *, seed=None):
        self._size = length_of("RandomSampler", data_source)
        if not isinstance(replacement, bool):
            raise errors.TypeError(f"RandomSampler: replacement is {in_words(replacement)}, expected True or False")
        self.replacement = replacement
        self.num_samples = self._size if num_samples is None else integer("RandomSampler", "num_samples", num_samples, 1)
        self._seed = seed_of("RandomSampler", seed, generator)
        self._orders(0)

    def _orders(self, seed):
        return _Orders.random(self._size, self._seed_or(seed), self.replacement, self.num_samples)


class SubsetRandomSampler(_Computed):
    """These indices, in another random order in each epoch.

    >>> sorted(plait.data.SubsetRandomSampler([4, 8, 2]))
    [2, 4, 8]
    """

    def __init__(self, indices, generator=None, *, seed=None):
        self.indices = numbers_in("SubsetRandomSampler", "the indices", indices, "int64")
        self._seed = seed_of("SubsetRandomSampler", seed, generator)
        self._orders(0)

    def _orders(self, seed):
        return _Orders.subset_random(self.indices, self._seed_or(seed))


class WeightedRandomSampler(_Computed):
    """`num_samples` indices, drawn with probabilities proportional to the weights.

    >>> set(plait.data.WeightedRandomSampler([0.0, 1.0, 0.0, 3.0], 50))
    {1, 3}
    """

    def __init__(self, weights, num_samples, replacement=True, generator=None, *, seed=None):
        self.weights = numbers_in("WeightedRandomSampler", "the weights", weights, "float64")
        self.num_samples = integer("WeightedRandomSampler", "num_samples", num_samples)
        if not isinstance(replacement, bool):
            raise errors.TypeError(f"WeightedRandomSampler: replacement is {in_words(replacement)}, expected True or False")
        self.replacement, self._seed = replacement, seed_of("WeightedRandomSampler", seed, generator)
        self._made = {}
        self._orders(0)

    def _orders(self, seed):
        seed = self._seed_or(seed)
        if seed not in self._made:
            self._made = {seed: _Orders.weighted(self.weights, self.num_samples, self.replacement, seed)}
        return self._made[seed]

    def __getstate__(self):
        return {**vars(self), "_made": {}}


class DistributedSampler(_Computed):
    """The samples of one of several processes, as PyTorch's: each has the same number of them, so the first ones are repeated at the end, or
    the last ones dropped. By default, the processes are those of plait.distributed. DataLoader(rank=, world_size=) divides an epoch without
    either, and another number of processes may continue it.

    >>> [list(plait.data.DistributedSampler(range(5), 2, rank, shuffle=False)) for rank in range(2)]
    [[0, 2, 4], [1, 3, 0]]
    """

    def __init__(self, dataset, num_replicas=None, rank=None, shuffle=True, seed=0, drop_last=False):
        self._size = length_of("DistributedSampler", dataset)
        num_replicas = groups.the_group("DistributedSampler", None).size() if num_replicas is None else num_replicas
        rank = groups.the_group("DistributedSampler", None).rank() if rank is None else rank
        self.num_replicas = integer("DistributedSampler", "num_replicas", num_replicas, 1)
        self.rank = integer("DistributedSampler", "the rank", rank)
        if self.rank >= self.num_replicas:
            raise errors.ValueError(f"DistributedSampler: the rank is {self.rank}, expected 0 to {self.num_replicas - 1}")
        self.shuffle, self.drop_last, self._seed = bool(shuffle), bool(drop_last), seed_of("DistributedSampler", seed)

    def _orders(self, seed):
        orders = _Orders.random(self._size, self._seed_or(seed), False, self._size) if self.shuffle else _Orders.sequential(self._size)
        return _Orders.distributed(orders, self.num_replicas, self.rank, self.drop_last)

    @property
    def num_samples(self):
        """The number of samples of this process."""
        return len(self)

    @property
    def total_size(self):
        """The number of samples of all processes, with those that are repeated."""
        return len(self) * self.num_replicas


class BatchSampler(Sampler):
    """Lists of indices: batches of a sampler.

    >>> list(plait.data.BatchSampler(range(5), 2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler, batch_size, drop_last=False):
        if not hasattr(sampler, "__iter__"):
            raise errors.TypeError(f"BatchSampler: the sampler is {in_words(sampler)}, expected indices")
        if not isinstance(drop_last, bool):
            raise errors.TypeError(f"BatchSampler: drop_last is {in_words(drop_last)}, expected True or False")
        self.sampler, self.batch_size, self.drop_last = sampler, integer("BatchSampler", "batch_size", batch_size, 1), drop_last

    def set_epoch(self, epoch):
        """Chooses the epoch of its sampler."""
        super().set_epoch(epoch)
        set_epoch(self.sampler, epoch)

    def __iter__(self):
        batch = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self):
        size = len(self.sampler)
        return size // self.batch_size if self.drop_last else -(-size // self.batch_size)


def numbers_in(name, what, given, dtype):
    """A list of numbers as a tensor of this dtype."""
    message = f"{name}: {what} are {in_words(given)}, expected a list of {'integers' if dtype == 'int64' else 'numbers'}"
    if not isinstance(given, collections.abc.Iterable) or isinstance(given, (str, bytes, collections.abc.Mapping)):
        raise errors.TypeError(message)
    given = given.cpu() if isinstance(given, _core.Tensor) else given
    try:
        array = np.asarray(given if hasattr(given, "__array__") else list(given))
    except ValueError:  # lists of different lengths
        raise errors.TypeError(message) from None
    is_right = array.ndim == 1 and (array.size == 0 or array.dtype.kind in ("iu" if dtype == "int64" else "iuf"))
    if not is_right:
        raise errors.TypeError(message)
    return of_host(np.ascontiguousarray(array, dtype))


# ---- The order of an epoch, as a loader reads it.


class ComputedOrder:
    """The order of a sampler that computes any place."""

    checksum = None

    def __init__(self, orders, epoch):
        self._orders, self._epoch = orders, epoch
        self.size, self.repeats = orders.size(epoch), orders.repeats()

    def indices(self, begin, end):
        """The indices at these places."""
        return self._orders.indices(self._epoch, begin, end)


class ListedOrder:
    """The indices of any other sampler. The checksum is part of the state of a loader, since such a sampler may have another order when the
    run continues."""

    repeats = True

    def __init__(self, sampler, epoch):
        set_epoch(sampler, epoch)
        self._indices = sampler if isinstance(sampler, (list, tuple, range)) else list(sampler)
        self.size, self.checksum = len(self._indices), checksum_of(self._indices)

    def indices(self, begin, end):
        """The indices at these places."""
        return list(self._indices[begin:end])


def checksum_of(indices):
    """A number that differs for other indices."""
    if isinstance(indices, range):
        return zlib.crc32(repr(indices).encode())
    try:
        return zlib.crc32(np.asarray(indices, np.int64).tobytes())
    except (TypeError, ValueError, OverflowError):
        return zlib.crc32(repr(indices).encode())


def is_computed(sampler):
    """True if a sampler computes the index at any place of any epoch."""
    return isinstance(sampler, _Computed)


def order_of(sampler, seed, epoch):
    """The order of an epoch."""
    if is_computed(sampler):
        return ComputedOrder(sampler._orders(seed), epoch)
    return ListedOrder(sampler, epoch)
