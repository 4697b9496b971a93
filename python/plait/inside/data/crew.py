"""The workers of a loader: threads, each of which works itself or drives a process."""

import atexit
import os
import queue
import threading
import time
import weakref

from plait import _core
from plait.inside.arrays.devices import device
from plait.inside.data.failures import again, from_users_code
from plait.inside.data.worker_processes import WorkerProcess
from plait.inside.settings.memory_tag import memory_tag

_data = _core._data
_SECONDS_TO_END = 5.0  # threads and processes that take longer are left to themselves, or killed


class Crew:
    """Threads that do pieces of work for one iteration after another."""

    def __init__(self, count, init, processes=None):
        self._process, self._queues, self._threads = os.getpid(), [], []
        self.processes = processes
        for number in range(count):
            tasks = queue.SimpleQueue()
            thread = threading.Thread(target=_main, args=(tasks, number, init), name=f"plait-data-{number}", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the system starts no more: fewer take longer
                if not self._threads:
                    raise
                break
            self._queues.append(tasks)
            self._threads.append(thread)
        self._end = weakref.finalize(self, _end, self._process, self._queues, self._threads, processes)
        self._end.atexit = False  # _end_all is earlier than other functions of atexit
        _crews.add(self)

    def begin(self, prefetcher, run):
        """Lets all threads work at the pieces of a run. Returns what `wait` waits for."""
        done, place = threading.Semaphore(0), device()  # threads make tensors where this thread does
        for number, each in enumerate(self._queues):
            make = run.make if self.processes is None else _ByProcess(self.processes[number], run, prefetcher)
            each.put((prefetcher, make, run.count is None, place, done))
        return done

    def wait(self, done):
        """Waits until all threads are done with a run that was cancelled, or has ended."""
        if os.getpid() != self._process or not self._end.alive:  # a fork, or the end of the interpreter
            return
        end = time.monotonic() + _SECONDS_TO_END
        for thread in self._threads:
            if thread is threading.current_thread() or not done.acquire(timeout=max(0.0, end - time.monotonic())):
                return

    def close(self):
        """Ends the threads and processes."""
        self._end()


class _ByProcess:
    """Makes pieces in a process."""

    def __init__(self, process, run, prefetcher):
        self._process, self._run, self._prefetcher = process, run, prefetcher

    def __call__(self, piece):
        return self._run.note_reply(self._process.call(self._run.request(piece), self._prefetcher.is_cancelled))


def _main(tasks, number, init):
    limit = _data.ThreadLimit(1)  # kernels in this thread take no helpers from the program's computations
    failure = None
    if init is not None:
        try:
            init(number)
        except BaseException as error:  # noqa: BLE001: it is raised in the consumer
            failure = error
    while (task := tasks.get()) is not None:
        *work, place, done = task
        with place, memory_tag("batches"):
            _work(*work, failure)
        done.release()
        work = done = None
        del task
    del limit


def _work(prefetcher, make, ends_by_none, failure):
    while (piece := prefetcher.take()) is not None:
        if failure is not None:
            prefetcher.deliver(piece, (False, again(failure)))
            continue
        try:
            value = make(piece)
            if value is None and ends_by_none:
                prefetcher.shorten(piece)
            outcome = True, value
        except BaseException as error:  # noqa: BLE001: it is raised in the consumer
            outcome = False, from_users_code(error)
        prefetcher.deliver(piece, outcome)
        value = outcome = None


def _end(process, queues, threads, processes):
    if os.getpid() != process:  # a fork: they are of the first process
        return
    for each in queues:
        each.put(None)
    if processes is not None:
        WorkerProcess.end_all(processes)
    end = time.monotonic() + _SECONDS_TO_END
    for thread in threads:
        if thread is not threading.current_thread():
            thread.join(max(0.0, end - time.monotonic()))


# At the end of the interpreter threads must not run any more, and processes must not outlive it.
_crews, _prefetchers = weakref.WeakSet(), weakref.WeakSet()


def prefetcher_of(run, ahead, in_order):
    """A prefetcher, which is cancelled at the end of the interpreter."""
    last = None if run.count is None else run.first_piece(run.count)
    most = ahead if run.count is None else run.first_piece(min(ahead, run.count))
    made = _data.Prefetcher(last, max(1, most), in_order or run.is_ordered or run.by_samples)
    _prefetchers.add(made)
    return made


@atexit.register
def _end_all():
    for each in list(_prefetchers):
        each.cancel()
    for each in list(_crews):
        each.close()
