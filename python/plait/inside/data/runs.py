"""The batches of the rest of an epoch, as pieces of work for several workers: a piece is a batch, or one sample of it."""

import bisect
import contextlib
import itertools
import threading

from plait import _core, errors
from plait.inside.data.failures import received
from plait.inside.data.fetching import Job, StreamJob, StreamReader

_data = _core._data


class BatchesOfOrder:
    """The batches of an order of samples, shared among ranks."""

    def __init__(self, order, position, batch_size, drop_last, ranks, rank):
        self.size = order.size
        self._order, self._plan = order, _data.EpochPlan(order.size, batch_size, ranks, rank, drop_last, position.place, position.done)

    def count(self):
        return self._plan.count()

    def step(self, number):
        """The places (begin, end) of a step."""
        return self._plan.step(number)

    def step_at(self, begin):
        return self._plan.step_at(begin)

    def share(self, number):
        """(indices, places) of this rank's batch."""
        begin, end = self._plan.share(*self._plan.step(number))
        return self._order.indices(begin, end), range(begin, end)

    def first_of(self, number):
        """(index, place) of the first sample of a step, also of another rank."""
        begin, _ = self._plan.step(number)
        return self._order.indices(begin, begin + 1)[0], begin

    @property
    def repeats(self):
        return self._order.repeats


class ListedBatches:
    """The batches of a batch sampler. Each rank takes one of as many as there are ranks; what is left at the end is shared by its samples."""

    repeats = True

    def __init__(self, batches, position, ranks, rank):
        self._starts = [0]
        for number, batch in enumerate(batches):
            if not batch:
                raise errors.ValueError(f"DataLoader: batch {number} of the batch sampler is empty")
            self._starts.append(self._starts[-1] + len(batch))
        self.size, self._indices, self._ranks, self._rank = self._starts[-1], [index for batch in batches for index in batch], ranks, rank
        first = self._number_at(position.place)
        steps = [(number, min(number + ranks, len(batches))) for number in range(first, len(batches), ranks)]
        begins = {self._starts[begin] for begin, _ in steps}
        if not begins >= set(position.done):
            raise _other_batches(min(set(position.done) - begins))
        self._ends = {self._starts[begin]: self._starts[end] for begin, end in steps}
        self._steps = [step for step in steps if self._starts[step[0]] not in position.done]

    def _number_at(self, place):
        number = bisect.bisect_left(self._starts, place)
        if number == len(self._starts) or self._starts[number] != place:
            raise _other_batches(place)
        return number

    def count(self):
        return len(self._steps)

    def step(self, number):
        begin, end = self._steps[number]
        return self._starts[begin], self._starts[end]

    def step_at(self, begin):
        return begin, self._ends[begin]

    def share(self, number):
        first, last = self._steps[number]
        begin, end = self._starts[first], self._starts[last]
        if last - first == self._ranks:
            begin, end = self._starts[first + self._rank], self._starts[first + self._rank + 1]
        else:
            plan = _data.EpochPlan(end - begin, end - begin, self._ranks, self._rank, False)
            begin, end = (begin + each for each in plan.share(0, end - begin))
        return self._indices[begin:end], range(begin, end)

    def first_of(self, number):
        begin, _ = self.step(number)
        return self._indices[begin], begin


def _other_batches(place):
    return errors.ValueError.with_hint(f"DataLoader: the state is at place {place}, where no batch of the batch sampler begins",
                                       "the batches differ from those of the saved run: begin an epoch, or seed the sampler by its set_epoch")


class MapRun:
    """Batches of a dataset whose samples have numbers."""

    is_ordered = False

    def __init__(self, fetcher, batches, position, rows, workers):
        self.fetcher, self.size, self._batches, self._position, self._rows = fetcher, batches.size, batches, position, rows
        self.count = batches.count()
        if not fetcher.is_batched and self.count and not batches.share(self.count - 1)[0]:
            self.count -= 1  # the last samples are those of other ranks
        # If there are few batches, each sample is a piece, so that all workers have something to do.
        self.by_samples, self._firsts = self.count < workers and fetcher.is_batched, [0]
        if self.by_samples:
            for number in range(self.count):
                self._firsts.append(self._firsts[-1] + max(1, len(batches.share(number)[0])))

    def step_at(self, begin):
        return self._batches.step_at(begin)

    def first_piece(self, batch):
        """The number of the first piece of a batch, or the number of all."""
        return self._firsts[batch] if self.by_samples else batch

    def _job(self, number):
        indices, places = self._batches.share(number)
        count = len(indices)
        if count == 0:
            first, place = self._batches.first_of(number)
            indices, places = [first], [place]
        return Job(self._position.seed, self._position.epoch, indices, list(places) if self._batches.repeats else None, count, self._rows)

    def request(self, piece):
        """The work on a piece, as `perform` understands it."""
        if not self.by_samples:
            return "batch", self._job(piece)
        batch = bisect.bisect_right(self._firsts, piece) - 1
        return "sample", self._job(batch), piece - self._firsts[batch]

    def make(self, piece):
        """Does the work on a piece in this thread."""
        return perform(self.fetcher, self.request(piece))

    def note_reply(self, reply):
        """Processes deliver what make() returns."""
        return reply

    def join(self, batch, pieces):
        """(begin, end, source, batch, failure), of the outcomes of the pieces."""
        begin, end = self._batches.step(batch)
        value, failure = None, next((each for is_right, each in pieces if not is_right), None)
        if failure is None and not self.by_samples:
            value = pieces[0][1]
        elif failure is None:
            try:
                value = self.fetcher.joined(self._job(batch), [each for _, each in pieces])
            except Exception as error:  # noqa: BLE001: it is raised in the consumer
                failure = error
        return begin, end, None, value, failure


_numbers = itertools.count()


class StreamRun:
    """Batches of a stream, which is read by one worker at a time in the order of the pieces."""

    is_ordered, by_samples, count, size = True, False, None, -1

    def __init__(self, fetcher, job):
        self.fetcher, self._job, self._reader, self._turns, self._number = fetcher, job, StreamReader(fetcher, job), _Turns(), next(_numbers)

    def first_piece(self, batch):
        return batch

    def request(self, piece):
        return "stream", self._number, self._job

    def make(self, piece):
        return self._reader.read_batch(self._turns.turn(piece))

    def note_reply(self, reply):
        """The next request is for what follows, also if another process gets it."""
        if reply is None:
            return None
        begin, end, source, batch, failure = reply
        self._job = self._job._replace(place=end, source=source)
        return begin, end, source, batch, received(failure) if failure is not None else None

    def join(self, batch, pieces):
        is_right, value = pieces[0]
        return value if is_right else (0, 0, None, None, value)


class _Turns:
    """Threads take turns in the order of numbers."""

    def __init__(self):
        self._changed, self._number = threading.Condition(), 0

    @contextlib.contextmanager
    def turn(self, number):
        with self._changed:
            self._changed.wait_for(lambda: self._number == number)
        try:
            yield
        finally:
            with self._changed:
                self._number += 1
                self._changed.notify_all()


def without_turns():
    """Where only one thread reads."""
    return contextlib.nullcontext()


def perform(fetcher, request):
    """Does a piece of work on samples that have numbers."""
    kind, job, *rest = request
    return fetcher.batch(job) if kind == "batch" else fetcher.sample(job, *rest)


def stream_job(position, batch_size, ranks, rank, drop_last, pads):
    """How a stream is read from a position on."""
    return StreamJob(position.seed, position.epoch, position.place, position.source, batch_size, ranks, rank, drop_last, pads)
