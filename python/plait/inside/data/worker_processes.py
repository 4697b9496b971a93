"""Worker processes, each driven by a thread of this one.

They are never forked from this process: a fork has only one of its threads, and locks that the others held stay locked in it
for ever. A fork server, which is a process without threads, forks them, or they are started as new interpreters ("spawn")."""

import multiprocessing
import os
import pickle
import signal
import time
from multiprocessing import connection, reduction

from plait import errors
from plait.inside.data import fork_server, process_worker
from plait.inside.data.failures import received
from plait.inside.data.shared_bytes import SharedBytes
from plait.inside.help.names import in_words

_SECONDS_BETWEEN_CHECKS = 0.1  # seconds between checks for cancellation
_OF_LOST_SERVER = 255  # the exit code that multiprocessing gives for a process whose fork server has ended
_SECONDS_UNTIL_A_SERVER = (0.01, 0.1, 0.5)  # tries to begin a process, while the fork server begins again


class WorkerProcess:
    """A process that does one piece of work after another. It begins when it is first needed, and again after it has died."""

    def __init__(self, context, number, fetcher, init):
        self._context, self._number, self._payload, self._owner = context, number, _pickled(fetcher, init), os.getpid()
        self._process = self._connection = self._shared = None
        self._sent = self._answered = 0  # requests, and those whose answers were received
        self.start()

    def start(self):
        """Begins the process, which gets ready while this one goes on."""
        self._connection, theirs = self._context.Pipe()
        self._shared = SharedBytes.create()
        self._process = self._begun(theirs)
        self._server = fork_server.number() if self._context.get_start_method() == "forkserver" else None
        theirs.close()
        self._sent = self._answered = 0
        try:
            reduction.send_handle(self._connection, self._shared.descriptor, self._process.pid)
            self._connection.send_bytes(self._payload)
        except OSError:  # it has died already, which the first call reports
            pass

    def _begun(self, theirs):
        """The process, which has begun. If the fork server has just ended, another one begins as soon as that is noticed."""
        for seconds in (*_SECONDS_UNTIL_A_SERVER, None):
            process = self._context.Process(target=process_worker.main, args=(theirs, self._number), name=f"plait-data-{self._number}", daemon=True)
            try:
                process.start()
                return process
            except (EOFError, ConnectionError) as error:
                if seconds is None:
                    raise errors.DistError(f"DataLoader: worker process {self._number} does not begin: the fork server has ended") from error
                time.sleep(seconds)

    def call(self, request, is_cancelled):
        """Lets the process do a request, and returns its result; None if the caller does not need it any more. Raises what it raises."""
        if self._process is None:
            self.start()
        try:
            self._connection.send(request)
        except OSError:
            raise self._died(request) from None
        self._sent += 1
        while True:
            if not self._connection.poll():
                ends = [] if self._is_orphan() else [self._process.sentinel]
                connection.wait([self._connection, *ends], _SECONDS_BETWEEN_CHECKS)
            if self._connection.poll():
                try:
                    answer = pickle.loads(self._connection.recv_bytes())
                except (EOFError, OSError):
                    raise self._died(request) from None
                self._answered += 1
                if self._answered == self._sent:  # else the answer to a call that was cancelled
                    return self._value_of(answer)
            elif not self._process.is_alive() and not self._is_orphan():
                raise self._died(request)
            elif is_cancelled():
                return None

    def _is_orphan(self):
        """True if the fork server, which tells of the end of its processes, has ended; the process goes on, and closes its pipe when it ends."""
        return self._process.exitcode == _OF_LOST_SERVER and self._server is not None and fork_server.has_ended(self._server)

    def _value_of(self, answer):
        kind, data, layout = answer
        if kind == "failed":
            raise received(data)
        return pickle.loads(data, buffers=self._shared.read(layout))

    def _died(self, request):
        process = self._process
        process.join(1)
        code = "that is unknown, since the fork server has ended, too" if self._is_orphan() else process.exitcode
        self._forget()
        name = f" ({signal.Signals(-code).name})" if isinstance(code, int) and code < 0 else ""
        message = f"DataLoader: worker process {self._number} has ended with exit code {code}{name}, while it worked on {_named(request)}"
        if code == 1:
            return errors.DistError.with_hint(message, 'its error is printed above; a script that uses processes needs if __name__ == "__main__":')
        return errors.DistError.with_hint(message, "a kill by the system often means too little memory" if code == -9 else
                                          "num_workers=0 runs the dataset in this process, where a debugger sees it")

    def _forget(self):
        self._connection.close()
        self._shared.close()
        self._process = self._connection = self._shared = None

    @classmethod
    def begin_all(cls, context, count, fetcher, init):
        """So many processes. If one does not begin, none is left."""
        begun = []
        try:
            for number in range(count):
                begun.append(cls(context, number, fetcher, init))
        except BaseException:
            cls.end_all(begun)
            raise
        return begun

    @staticmethod
    def end_all(processes):
        """Ends processes: by closing their pipes, then by signals."""
        running = [each._process for each in processes if each._process is not None and each._owner == os.getpid()]
        for each in processes:
            if each._process is not None and each._owner == os.getpid():
                each._connection.close()
        for stop, seconds in ((None, 0.3), (multiprocessing.process.BaseProcess.terminate, 1.0), (multiprocessing.process.BaseProcess.kill, 1.0)):
            running = [process for process in running if process.is_alive()]
            for process in running:
                if stop is not None:
                    stop(process)
            end = time.monotonic() + seconds
            for process in running:
                process.join(max(0.0, end - time.monotonic()))
        for each in processes:
            if each._process is not None and each._owner == os.getpid():
                each._shared.close()
                each._process = None


def _named(request):
    kind, job, *rest = request
    if kind == "stream":
        return "a stream"
    indices = [job.indices[rest[0]]] if rest else job.indices
    return f"sample{'s' if len(indices) > 1 else ''} {', '.join(map(str, indices[:8]))}{', …' if len(indices) > 8 else ''}"


def _pickled(fetcher, init):
    try:
        return bytes(reduction.ForkingPickler.dumps((fetcher, init)))
    except Exception as error:
        raise errors.TypeError.with_hint(
            f"DataLoader: {in_words(fetcher.dataset)}, or a function of the loader, cannot be sent to worker processes: {error}",
            'define classes and functions at the top of a module, not inside of functions; or use threads: worker="thread"') from error


def context_of(name):
    """A context of multiprocessing, by its name. The fork server begins while the program goes on."""
    if name is None:
        name = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    if isinstance(name, multiprocessing.context.BaseContext):
        name = name.get_start_method()
    if name == "fork":
        raise errors.ValueError.with_hint("DataLoader: 'fork' copies a process without its threads, and locks that they hold stay locked",
                                          "multiprocessing_context='forkserver' or 'spawn'")
    if name not in ("forkserver", "spawn"):
        raise errors.ValueError(f"DataLoader: multiprocessing_context is {in_words(name)}, expected 'forkserver' or 'spawn'")
    if multiprocessing.current_process().daemon:
        raise errors.DistError.with_hint("DataLoader: a worker process cannot have worker processes of its own",
                                         "num_workers=0, or worker='thread', where the dataset of another loader has a loader")
    if name == "forkserver":
        fork_server.begin()
    return multiprocessing.get_context(name)
