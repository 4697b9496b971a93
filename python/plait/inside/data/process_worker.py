"""The code of a worker process."""

import os
import pickle
import signal
import threading
from multiprocessing import connection, parent_process, reduction

from plait import _core
from plait.inside.arrays.devices import device
from plait.inside.data import fork_server
from plait.inside.data.failures import sent
from plait.inside.data.fetching import StreamReader
from plait.inside.data.runs import perform, without_turns
from plait.inside.data.shared_bytes import SharedBytes


def main(pipe, number):
    """Does the work that comes through a pipe until that is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that has the loader, which ends this one
    threading.Thread(target=_end_with_parent, daemon=True).start()
    limit = _core._data.ThreadLimit(1)  # each process computes by itself
    try:
        with device("cpu"):  # also for what it unpickles; what it sends is moved where the loop wants it
            _serve(pipe, number)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass
    del limit


def _serve(pipe, number):
    shared = SharedBytes(reduction.recv_handle(pipe))
    payload, worker = pipe.recv_bytes(), _Worker(shared)
    worker.begin(payload, number)
    while True:
        pipe.send_bytes(worker.answer(pickle.loads(pipe.recv_bytes())))


def _end_with_parent():
    connection.wait([parent_process().sentinel])
    os._exit(1)


fork_server.end_environment()


class _Worker:
    def __init__(self, shared):
        self._shared, self._fetcher, self._failure = shared, None, None
        self._streams = {}  # the reader of the last run

    def begin(self, payload, number):
        """Makes the dataset; a failure is the answer to the first request."""
        try:
            self._fetcher, init = pickle.loads(payload)
            if init is not None:
                init(number)
        except BaseException as error:  # noqa: BLE001: it is raised in the consumer
            self._failure = sent(error)

    def answer(self, request):
        """The pickled answer: ("made", pickle, layout of its buffers), or ("failed", exception, None)."""
        if self._failure is not None:
            return pickle.dumps(("failed", self._failure, None))
        try:
            value, buffers = self._perform(request), []
            data = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
            return pickle.dumps(("made", data, self._shared.write(buffers)))
        except BaseException as error:  # noqa: BLE001: it is raised in the consumer
            return pickle.dumps(("failed", sent(error), None))

    def _perform(self, request):
        if request[0] != "stream":
            return perform(self._fetcher, request)
        _, run, job = request
        if run not in self._streams:
            self._streams = {run: StreamReader(self._fetcher, job)}
        reply = self._streams[run].read_batch(without_turns())
        if reply is None or reply[4] is None:
            return reply
        return (*reply[:4], sent(reply[4]))
