"""Calls in progress."""

from plait.inside.distributed.stores import NO_TIMEOUT, seconds_of


class Work:
    """A call that goes on while the program does. The tensors that it changes have their values after wait."""

    def __init__(self, inner, deliver=None):
        self._inner = inner
        self._deliver = deliver

    def wait(self, timeout=None):
        """Returns True when the call is over; throws the error that it ended with. DistError after the timeout: the call goes on."""
        self._inner.wait(seconds_of("Work.wait", timeout))
        deliver, self._deliver = self._deliver, None
        if deliver is not None:
            deliver(self._inner.result())
        return True

    def is_completed(self):
        """True if the call is over."""
        if self._inner.is_success():
            self.wait()
        return self._inner.is_completed()

    def is_success(self):
        """True if the call is over, without an error."""
        return self.is_completed() and self._inner.is_success()

    def exception(self):
        """The error that the call ended with; None if it has none, or is not over."""
        if not self._inner.is_completed() or self._inner.is_success():
            return None
        try:
            self._inner.wait(NO_TIMEOUT)
        except Exception as error:  # that of the call
            return error

    def result(self):
        """The tensors that this rank receives, after waiting."""
        self.wait()
        return self._inner.result()

    def source_rank(self):
        """The rank that has sent what was received, in the group of the call."""
        self.wait()
        return self._inner.source_rank()
