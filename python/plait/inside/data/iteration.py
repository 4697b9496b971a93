"""One pass of a loader over the batches of an epoch."""

import dataclasses
import threading
import time

from plait import _core, errors
from plait.inside.arrays.devices import device
from plait.inside.data.crew import prefetcher_of
from plait.inside.data.failures import from_users_code
from plait.inside.settings.memory_tag import memory_tag
from plait.inside.trees.moving import to_device

_data = _core._data
_SECONDS_BETWEEN_SIGNALS = 0.05  # Python handles Ctrl-C between two waits


class Iteration:
    """Yields batches. After an exception of a sample, next() goes on with the batch after it."""

    def __init__(self, loader, run, position, crew, ahead):
        self._loader, self._run, self._position, self._crew = loader, run, position, crew
        self._progress, self._next, self._prefetcher, self._done = _data.Progress(position.place), 0, None, None
        for begin in position.done:
            self._progress.note(*run.step_at(begin))
        self._pieces = []  # pieces of the next batch, as far as they are there
        self._turn = threading.RLock()  # lock of threads that share the iteration: each batch is for one of them
        self._has_lost_workers = False
        self._device = device()  # the default device where the iteration began
        if crew is not None:
            self._prefetcher = prefetcher_of(run, ahead, loader.in_order)
            self._done = crew.begin(self._prefetcher, run)

    @property
    def has_ended(self):
        """True after the last batch."""
        return self._run is None

    def __iter__(self):
        return self

    def __next__(self):
        with self._turn, self._device, memory_tag("batches"):
            return self._batch()

    def _batch(self):
        if self._has_lost_workers:
            raise errors.ValueError.with_hint("DataLoader: a later iteration has begun, and has the persistent workers of this one",
                                              "a loader for each, or persistent_workers=False")
        if self._run is None:
            raise StopIteration
        batch = self._make() if self._crew is None else self._collect()
        if batch is None:
            self._finish()
            raise StopIteration
        self._next = batch + 1
        pieces, self._pieces = self._pieces, []
        begin, end, source, value, failure = self._run.join(batch, pieces)
        del pieces
        if failure is None and self._loader.device is not None:
            value = to_device(value, self._loader.device)
        if end > begin:
            self._note(begin, end, source)
        if failure is None:
            return value
        try:
            raise _as_error(failure)
        finally:
            del failure  # it refers to this frame

    def _make(self):
        """Makes the pieces of the next batch here. Returns its number; None at the end."""
        run = self._run
        if run.count is not None and self._next >= run.count:
            return None
        for piece in range(run.first_piece(self._next), run.first_piece(self._next + 1)):
            try:
                value = run.make(piece)
            except Exception as error:  # noqa: BLE001: it is raised by __next__
                self._pieces.append((False, from_users_code(error)))
                continue
            if value is None and run.count is None:
                return None
            self._pieces.append((True, value))
        return self._next

    def _collect(self):
        """Waits for the pieces of a batch. Returns its number; None at the end."""
        while self._wait():
            piece, outcome = self._prefetcher.pop()
            self._pieces.append(outcome)
            if not self._run.by_samples:
                return piece
            if piece + 1 == self._run.first_piece(self._next + 1):
                return self._next
        return None

    def _wait(self):
        """False if all pieces are consumed."""
        timeout, begin = self._loader.timeout, time.monotonic()
        while True:
            left = timeout - (time.monotonic() - begin) if timeout else _SECONDS_BETWEEN_SIGNALS
            state = self._prefetcher.wait(max(0.0, min(left, _SECONDS_BETWEEN_SIGNALS)))
            if state != "late":
                return state == "ready"
            if timeout and left <= 0:
                raise errors.IoError.with_hint(f"DataLoader: the next batch is not ready after {timeout:g} s",
                                               "a longer timeout, or 0 for none; next() waits for the same batch again")

    def _note(self, begin, end, source):
        self._progress.note(begin, end)
        done = self._progress.done()
        self._position = dataclasses.replace(self._position, place=self._progress.place(), done=done, source=source,
                                             division=self._loader._division(self._position, done))
        self._loader._moved(self, self._position)

    def _finish(self):
        position = self._position
        self.close()
        self._loader._moved(self, position.following())

    def lose_workers(self):
        """Ends the work for a later iteration, which gets the workers. This one must not seem to have no more batches."""
        self._has_lost_workers = self._run is not None
        self.close()

    def close(self):
        """Ends the work on further batches."""
        self._run, self._pieces = None, []
        prefetcher, self._prefetcher = self._prefetcher, None
        if prefetcher is not None:
            prefetcher.cancel()
            self._crew.wait(self._done)
            self._loader._release(self._crew)

    def __del__(self):
        if getattr(self, "_prefetcher", None) is not None:
            self.close()


def _as_error(failure):
    """StopIteration would end the caller's loop without a word."""
    if not isinstance(failure, StopIteration):
        return failure
    error = RuntimeError("a sample raised StopIteration")
    error.__cause__ = failure
    return error
