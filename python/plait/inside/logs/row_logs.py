"""Logs with one row a step, and several logs as one."""

from plait import _core, errors
from plait.inside.logs.log import Log, encoded, resumed_step


class JsonlLog(Log):
    """A log of JSON objects, one a line. NaN is null, and infinities are "Infinity" and "-Infinity", which pandas reads as the numbers that they
    are. With `resume`, which is the step that is logged next, the rows of this step and later ones are cut off first, so that each step stands once;
    without, the file must not exist.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/log.jsonl"
    >>> with plait.io.JsonlLog(path) as log:
    ...     for step in range(3):
    ...         log.log(step, {"loss": 0.5 / (step + 1)})
    >>> with plait.io.JsonlLog(path, resume=2) as log:
    ...     log.log(2, {"loss": 0.125, "rate": plait.tensor(0.5)})
    >>> print(open(path).read(), end="")
    {"step":0,"loss":0.5}
    {"step":1,"loss":0.25}
    {"step":2,"loss":0.125,"rate":0.5}
    """

    def __init__(self, path, *, resume=None):
        super().__init__(_core._JsonlLog(encoded(path), resumed_step(resume)))


class CsvLog(Log):
    """A log as a CSV file with a header. A name that is new makes a column; a value that is not logged in a step is an empty cell. `resume` is as
    in JsonlLog.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/log.csv"
    >>> with plait.io.CsvLog(path) as log:
    ...     log.log(0, {"loss": 0.5})
    ...     log.log(1, {"loss": 0.25, "accuracy": 1.0})
    >>> print(open(path).read(), end="")
    step,loss,accuracy
    0,0.5,
    1,0.25,1.0
    """

    def __init__(self, path, *, resume=None):
        super().__init__(_core._CsvLog(encoded(path), resumed_step(resume)))


class Logs:
    """Several logs as one: all gets to each of them, also if one fails.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with plait.io.Logs(plait.io.JsonlLog(folder + "/log.jsonl"), plait.io.EventLog(folder + "/events")) as log:
    ...     log.log(0, {"loss": 0.5})
    >>> plait.io.read_jsonl(folder + "/log.jsonl")
    [{'step': 0, 'loss': 0.5}]
    """

    def __init__(self, *logs):
        for log in logs:
            if not isinstance(log, (Log, Logs)):
                raise errors.TypeError(f"Logs: expected logs, not {type(log).__name__}")
        self._logs = logs

    def _for_each(self, call):
        first = None
        for log in self._logs:
            try:
                call(log)
            except Exception as error:
                first = first or error
        if first is not None:
            raise first

    def log(self, step, values):
        """Writes named values of a step to each log."""
        self._for_each(lambda log: log.log(step, values))

    def flush(self):
        """Flushes each log."""
        self._for_each(lambda log: log.flush())

    def close(self):
        """Closes each log."""
        self._for_each(lambda log: log.close())

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        self._for_each(lambda log: log.__exit__(kind, error, traceback))
