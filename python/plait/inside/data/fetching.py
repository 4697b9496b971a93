"""Batches are made here: in the consumer, in threads, or in processes, to which a Fetcher is pickled. Code that draws without a key has a default
stream of its own for each sample, which depends on the seed, the epoch and the sample, as keys do (WorkStream)."""

import functools
from typing import NamedTuple

from plait import _core
from plait.inside.data.collation import default_collate, default_convert, without_rows
from plait.inside.data.datasets import TensorDataset
from plait.inside.data.failures import name_place
from plait.inside.data.keyed import function_takes_key, takes_key
from plait.inside.data.streams import Counted, IterableDataset, set_epoch

_data = _core._data

_OF_BATCH = -2  # the key of a batch is that of its first sample, folded with it


class Job(NamedTuple):
    """A batch to make: the indices of its samples, and all that their keys depend on."""

    seed: int
    epoch: int
    indices: list  # indices of one sample if the batch has none, and is to be like it
    places: list | None  # None: each index is there once in an epoch
    count: int  # count of samples
    rows: int | None  # to which the batch is padded, with a mask


class Fetcher:
    """The dataset and the collation of a loader."""

    def __init__(self, dataset, collate_fn, is_batched):
        self.dataset, self.is_batched = dataset, is_batched
        self.has_own_collate = collate_fn is not None
        self._function = collate_fn or (default_collate if is_batched else default_convert)
        self._function_takes_key = function_takes_key(self._function)
        self._takes_key = takes_key(dataset)

    def batch(self, job):
        """The batch of a job."""
        if type(self.dataset) is TensorDataset and self.is_batched and not self.has_own_collate and job.rows is None:
            try:
                return self.dataset.stacked(job.indices[:job.count])
            except (IndexError, TypeError):  # below, an index may count from the end, and errors name the sample
                pass
        with _data.WorkStream(job.seed, job.epoch) as stream:
            return self.joined_within(stream, job, [self._sample(job, i, stream) for i in range(len(job.indices))])

    def sample(self, job, i):
        """A sample of a job."""
        with _data.WorkStream(job.seed, job.epoch) as stream:
            return self._sample(job, i, stream)

    def joined(self, job, samples):
        """The batch of the samples of a job."""
        with _data.WorkStream(job.seed, job.epoch) as stream:
            return self.joined_within(stream, job, samples)

    def _sample(self, job, i, stream):
        index = job.indices[i]
        stream.begin_sample(index, None if job.places is None else job.places[i])
        try:
            return self.dataset.get(index, key_of(job, i)) if self._takes_key else self.dataset[index]
        except Exception as error:
            name_place(error, f"sample {index}")
            raise

    def joined_within(self, stream, job, samples):
        """The same, where a WorkStream is open."""
        stream.begin_batch(job.indices[0], None if job.places is None else job.places[0])
        try:
            return self._joined(job, samples)
        except Exception as error:
            name_place(error, f"the batch of samples {', '.join(map(str, job.indices[:8]))}{', …' if len(job.indices) > 8 else ''}")
            raise

    def _collate(self, job, samples):
        if self._function_takes_key:
            return self._function(samples, key=_core.random.fold_in(key_of(job, 0), _OF_BATCH))
        return self._function(samples)

    def _joined(self, job, samples):
        if not self.is_batched:
            return self._collate(job, samples[0])
        if job.rows is not None:
            samples = samples + samples[:1] * (job.rows - len(samples))
            return self._collate(job, samples), _core.arange(job.rows) < job.count
        if job.count > 0:
            return self._collate(job, samples)
        return self._collate(job, []) if self.has_own_collate else without_rows(self._collate(job, samples))


def key_of(job, i):
    """The random key of a sample of a job."""
    return _data.sample_key(job.seed, job.epoch, job.indices[i], None if job.places is None else job.places[i])


class StreamJob(NamedTuple):
    """How a stream is read: by which rank, and from where."""

    seed: int
    epoch: int
    place: int
    source: dict | None  # the state of the dataset at the place
    batch_size: int | None  # None: single samples
    ranks: int
    rank: int
    drop_last: bool
    pads: bool


class Group(NamedTuple):
    """The samples that all ranks together read for a step."""

    place: int
    raws: list
    source: dict
    failure: Exception | None

    @property
    def end(self):
        return self.place + len(self.raws) + (self.failure is not None)


class StreamReader:
    """Reads groups of a stream; one thread at a time may."""

    def __init__(self, fetcher, job):
        self._fetcher, self._job, self._place = fetcher, job, job.place
        self._source, self._has_ended = None, False
        self._stream = _data.WorkStream(job.seed, job.epoch)  # the default stream of code that reads
        self._finishes = getattr(type(fetcher.dataset), "_finish", IterableDataset._finish) is not IterableDataset._finish

    def read(self):
        """The next group; None at the end."""
        if self._has_ended:
            return None
        if self._source is None:
            self._has_ended = True  # unless this succeeds
            dataset = self._fetcher.dataset
            with self._stream:
                self._stream.begin_reading(-1)
                set_epoch(dataset, self._job.epoch)
                self._source = Counted(dataset._source() if hasattr(dataset, "_source") else dataset, self._job.place, self._job.source,
                                       self._stream.begin_reading)
            self._has_ended = False
        raws, failure, size = [], None, (self._job.batch_size or 1) * self._job.ranks
        try:
            with self._stream:
                self._source.take(raws, size, self._place)
        except StopIteration:
            self._has_ended = True
        except Exception as error:
            name_place(error, f"sample {self._place + len(raws)}")
            failure = error  # a generator ends here, another iterator may go on
        is_left_out = self._has_ended and self._job.drop_last
        has_none = self._job.rank >= len(raws) if self._job.batch_size is None else not raws  # a batch may have 0 rows
        if failure is None and (is_left_out or has_none):
            return None
        # An iterator that has ended may have closed its file.
        group = Group(self._place, raws, {} if self._has_ended else self._source.state(), failure)
        self._place = group.end
        return group

    def read_batch(self, turn):
        """(begin, end, source, batch, failure) of the next step, which is read while this thread has its turn; None at the end."""
        with turn:
            group = self.read()
        if group is None:
            return None
        try:
            batch, failure = self._batch(group), None
        except BaseException as error:  # noqa: BLE001: it is raised in the consumer
            batch, failure = None, error
        return group.place, group.end, group.source, batch, failure

    def _batch(self, group):
        if group.failure is not None:
            raise group.failure
        job, size = self._job, self._job.batch_size or 1
        plan = _data.EpochPlan(len(group.raws), size, job.ranks, job.rank, False)
        begin, end = plan.share(0, len(group.raws))
        places = list(range(begin, end)) or [0]
        batch = Job(job.seed, job.epoch, [group.place + place for place in places], None, end - begin, size if job.pads else None)
        with _data.WorkStream(job.seed, job.epoch) as stream:
            finish = functools.partial(self._sample, stream) if self._finishes else lambda raw, _: raw
            return self._fetcher.joined_within(stream, batch, [finish(group.raws[place], group.place + place) for place in places])

    def _sample(self, stream, raw, number):
        stream.begin_sample(number)
        try:
            return self._fetcher.dataset._finish(raw, _data.sample_key(self._job.seed, self._job.epoch, number))
        except Exception as error:
            name_place(error, f"sample {number}")
            raise
