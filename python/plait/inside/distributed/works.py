"""Calls in progress."""

import contextlib
import threading

from plait import _core, errors
from plait.inside.distributed.arguments import NO_TIMEOUT, seconds_of
from plait.inside.help.names import in_words


class Pending:
    """Calls of a group, in their order, that were not waited for. It keeps those that the program has dropped: a barrier, and who destroys the
    group, gives their tensors the values."""

    def __init__(self):
        self._works = {}  # by id
        self._lock = threading.RLock()

    def add(self, work):
        self.deliver()
        self._works[id(work)] = work

    def remove(self, work):
        self._works.pop(id(work), None)

    def deliver(self):
        """Gives the tensors of all calls that are over their values: a call is over later than those before it."""
        with self._lock:
            for work in list(self._works.values()):
                if not work.is_completed():
                    return
                self.remove(work)

    def wait(self):
        """Waits for all calls. Their errors are those of who waits for them."""
        for work in list(self._works.values()):
            with contextlib.suppress(Exception):
                work.wait()
            self.remove(work)


class Work:
    """A call that goes on while the program does. The tensors that it changes have their values after wait, or a barrier of their group."""

    def __init__(self, inner, deliver=None, pending=None):
        if not isinstance(inner, _core._comm.Work):
            raise errors.TypeError(f"Work: inner is {in_words(inner)}, expected a call in progress, which async_op=True returns")
        self._inner = inner
        self._deliver = deliver  # None when the tensors have their values
        self._failure = None  # the error of delivering
        self._lock = threading.RLock()  # a handler of a signal may wait, too
        self._pending = pending
        if pending is not None:
            pending.add(self)

    def _finish(self):
        """Gives the tensors their values, once: other threads return when they have them."""
        with self._lock:
            if self._failure is not None:
                raise self._failure
            try:
                if self._deliver is not None:
                    self._deliver(self._inner.result())
            except Exception as error:
                self._failure = error
                raise
            self._deliver = None
            if self._pending is not None:
                self._pending.remove(self)

    def wait(self, timeout=None):
        """Returns True when the call is over; throws the error that it ended with. DistError after the timeout: the call goes on."""
        self._inner.wait(seconds_of("Work.wait", timeout))
        self._finish()
        return True

    def is_completed(self):
        """True if the call is over: the tensors have their values, unless it failed."""
        if not self._inner.is_completed():
            return False
        self.exception()
        return True

    def is_success(self):
        """True if the call is over, without an error."""
        return self._inner.is_completed() and self.exception() is None

    def exception(self):
        """The error that the call ended with; None if it has none, or is not over."""
        if not self._inner.is_completed():
            return None
        try:
            self._inner.wait(NO_TIMEOUT)
            self._finish()
        except Exception as error:  # that of the call
            return error
        return None

    def result(self):
        """The tensors that this rank receives, after waiting."""
        self.wait()
        return self._inner.result()

    def source_rank(self):
        """The rank that has sent what was received, in the group of the call."""
        self.wait()
        return self._inner.source_rank()

    _source_rank = source_rank  # PyTorch's name
