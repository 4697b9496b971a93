"""Datasets that are read from the beginning to the end."""

import operator

from plait import errors
from plait.inside.data.datasets import Dataset, MappedDataset, length_of
from plait.inside.data.keyed import call_with_key
from plait.inside.help.names import in_words


class IterableDataset(Dataset):
    """The base of datasets without numbers of samples: `__iter__` yields them. A loader reads them in order, one thread or process at a time,
    and collates in several threads.

    A run that continues skips the samples that it has had. So that it need not read them, let `__iter__` return an iterator with
    `state_dict()`, such as {"offset": file.tell()}, and `load_state_dict(state)`. An iterator with another order in each epoch is made by a
    dataset with `set_epoch(epoch)`, which the loader calls.

    >>> class Lines(plait.data.IterableDataset):
    ...     def __iter__(self):
    ...         yield from ["one", "two", "three"]
    >>> list(plait.data.DataLoader(Lines(), batch_size=2))
    [['one', 'two'], ['three']]
    """

    def __getitem__(self, index):
        raise errors.TypeError(f"{type(self).__name__}: its samples have no numbers")

    def __add__(self, other):
        return ChainDataset([self, other])

    def __iter__(self):
        raise errors.TypeError.with_hint(f"{type(self).__name__}: samples are not defined", "define __iter__(self)")

    def _source(self):
        """The iterable that is read in order; _finish makes samples of what it yields, in several threads."""
        return self

    def _finish(self, raw, _key):
        return raw


def is_stream(dataset):
    """True if a dataset has no numbers of samples."""
    if isinstance(dataset, IterableDataset):
        return True
    return not hasattr(dataset, "__getitem__") and not hasattr(dataset, "get") and hasattr(dataset, "__iter__")


class ChainDataset(IterableDataset):
    """The samples of several iterable datasets, one dataset after another.

    >>> list(plait.data.ChainDataset(["ab", "c"]))
    ['a', 'b', 'c']
    """

    def __init__(self, datasets):
        try:
            self.datasets = list(datasets)
        except TypeError:
            raise errors.TypeError(f"ChainDataset: the datasets are {in_words(datasets)}, expected a list") from None
        for each in self.datasets:
            if not hasattr(each, "__iter__"):
                raise errors.TypeError(f"ChainDataset: {in_words(each)} is not iterable")

    def __len__(self):
        return sum(length_of("ChainDataset", each) for each in self.datasets)

    def __iter__(self):
        return _Chain(self.datasets)


class _Chain:
    """Iterates over datasets; its state is the number of the current one, with that one's state."""

    def __init__(self, datasets):
        self._datasets, self._number, self._current = datasets, 0, None

    def __iter__(self):
        return self

    def __next__(self):
        while self._number < len(self._datasets):
            if self._current is None:
                self._current = Counted(self._datasets[self._number])
            try:
                return next(self._current)
            except StopIteration:
                self._number, self._current = self._number + 1, None
        raise StopIteration

    def state_dict(self):
        place = {} if self._current is None else {"place": self._current.place}
        source = self._current.state() if place else {}
        return {"number": self._number, **place, **({"source": source} if source else {})}

    def load_state_dict(self, state):
        self._number, self._current = state["number"], None
        if "place" in state:
            self._current = Counted(self._datasets[self._number], state["place"], state.get("source"))


class Counted:
    """An iterator that counts, and begins at a place: with the state that it had there, or else by skipping. begin_reading(its place) is called
    before each sample."""

    def __init__(self, dataset, place=0, state=None, begin_reading=None):
        self.place, self._begin_reading = 0, begin_reading
        self._iterator = iter(dataset)
        if state:
            self._iterator.load_state_dict(state)
            self.place = place
        while self.place < place:
            try:
                next(self)
            except StopIteration:
                raise errors.ValueError(f"the state is at sample {place} of the dataset, which has {self.place}") from None

    def __next__(self):
        if self._begin_reading is not None:
            self._begin_reading(self.place)
        sample = next(self._iterator)
        self.place += 1
        return sample

    def take(self, samples, size, place):
        """Adds samples to a list, the first of which is at a place, until it has this size. What ends that is raised; the samples before it are
        there."""
        begin, iterator = len(samples), self._iterator
        try:
            while len(samples) < size:
                self._begin_reading(place + len(samples))
                samples.append(next(iterator))
        finally:
            self.place += len(samples) - begin

    def state(self):
        """The iterator's own, or {}."""
        save = getattr(self._iterator, "state_dict", None)
        return save() if callable(save) and callable(getattr(self._iterator, "load_state_dict", None)) else {}


class MappedStream(IterableDataset):
    """function(sample) for each sample of an iterable dataset; made by mapped()."""

    def __init__(self, dataset, function):
        self.dataset, self.function = dataset, function

    def __len__(self):
        return len(self.dataset)

    def __iter__(self):
        return (self._finish(raw, None) for raw in self._source())

    def set_epoch(self, epoch):
        """Tells the dataset which epoch begins."""
        set_epoch(self.dataset, epoch)

    def _source(self):
        return self.dataset._source() if isinstance(self.dataset, IterableDataset) else self.dataset

    def _finish(self, raw, key):
        if isinstance(self.dataset, IterableDataset):
            return call_with_key(self.function, lambda inner: self.dataset._finish(raw, inner), key)
        return call_with_key(self.function, lambda inner: raw, key)


def position_of_state(name, state):
    """The numbers of a state {"position": [...]}, which are few integers."""
    try:
        position = [operator.index(each) for each in state["position"]]
    except (TypeError, LookupError):
        position = None
    if position is None or not all(abs(each) < 2**63 for each in position):
        raise errors.ValueError.with_hint(f"{name}: the state is {in_words(state)}, expected a dict with a position of integers",
                                          "what state_dict() of an iterator returned")
    return position


def set_epoch(dataset, epoch):
    """Tells a dataset or a sampler which epoch begins, if it asks for that."""
    tell = getattr(dataset, "set_epoch", None)
    if callable(tell):
        tell(epoch)


def mapped(dataset, function):
    """The dataset of function(sample), or of function(sample, key=key), if the function has a parameter `key`: a random key for what it
    draws for this sample in this epoch.

    >>> dataset = plait.data.mapped(range(3), lambda x: x + 0.5)
    >>> list(plait.data.DataLoader(dataset, batch_size=3))
    [[0.5 1.5 2.5] : f32[3]]
    >>> def noisy(x, key):
    ...     return x + plait.random.uniform(key, ())
    >>> batches = [list(plait.data.DataLoader(plait.data.mapped(range(3), noisy), seed=1))[2].item() for _ in range(2)]
    >>> batches[0] == batches[1], 2 < batches[0] < 3
    (True, True)
    """
    if not callable(function):
        raise errors.TypeError(f"mapped: {in_words(function)} is not a function")
    if is_stream(dataset):
        return MappedStream(dataset, function)
    length_of("mapped", dataset)
    return MappedDataset(dataset, function)
