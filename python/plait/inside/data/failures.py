"""Exceptions in workers: they name the sample and the user's line, and pass from one process to another."""

import os
import pickle
import traceback

from plait import errors
from plait.inside.folder import FOLDER

_LIBRARY = os.path.dirname(os.__file__) + os.sep  # Python's own modules


def _is_users(file):
    """True unless code is of Plait or of Python's own modules."""
    return not file.startswith((FOLDER, "<frozen")) and (not file.startswith(_LIBRARY) or "site-packages" in file)


def user_line(error):
    """Where an exception was raised, "data.py:12, in __getitem__": the innermost line of the user's code; None if there is none."""
    users = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_users(frame.filename)]
    return f"{users[-1].filename}:{users[-1].lineno}, in {users[-1].name}" if users else None


def from_users_code(error):
    """The exception, with a traceback that begins in the user's code, if that was called."""
    _leave_out_threads(error)
    found = error.__traceback__
    while found is not None and not _is_users(found.tb_frame.f_code.co_filename):
        found = found.tb_next
    return error if found is None else error.with_traceback(found)


def name_place(error, place):
    """Adds "sample 17" to an exception, with the user's line, and begins the message of an error of Plait with it."""
    line = user_line(error)
    if isinstance(error, errors.Error):
        _leave_out_threads(error)
        error.message = f"{place}: {error.message}"
        error.args = (f"{place}: {error}", *error.args[1:])
    error.add_note(f"{place}" if line is None else f"{place}, at {line}")


def _leave_out_threads(error):
    """An error of Plait has the innermost line outside of Plait. Where a worker calls no code of the user, that is one of Python's own."""
    if isinstance(error, errors.Error) and error.location.startswith(("threading.py:", "process.py:")):
        error.args = (str(error).replace(f", at {error.location}", "", 1), *error.args[1:])
        error.message = error.message.replace(f", at {error.location}", "", 1)
        error.location = ""


def again(error):
    """The same exception as another object. One that was raised refers to the frames that it passed, so who keeps it would keep those."""
    try:
        made = type(error).__new__(type(error), *error.args)
    except Exception:  # noqa: BLE001: of any kind, in the user's class
        return error
    vars(made).update(vars(error))
    made.__cause__, made.__context__, made.__suppress_context__ = error.__cause__, error.__context__, error.__suppress_context__
    return made.with_traceback(error.__traceback__)


class WorkerTraceback(Exception):
    """The traceback of an exception in another process, as its cause."""

    def __str__(self):
        return f"\n{self.args[0]}"


def sent(error):
    """An exception as bytes, to be raised by `received` in another process."""
    text = "".join(traceback.format_exception(from_users_code(error))).rstrip()
    try:
        pickled = pickle.dumps(error)
        pickle.loads(pickled)
    except Exception:  # noqa: BLE001: of any kind, in the user's class
        pickled = None
    return pickle.dumps((pickled, type(error).__name__, str(error), getattr(error, "__notes__", []), text))


def received(data):
    """The exception, or a RuntimeError that has its type and text if it cannot be pickled."""
    pickled, name, said, notes, text = pickle.loads(data)
    try:
        error = pickle.loads(pickled) if pickled is not None else None
    except Exception:  # noqa: BLE001: the class is not there in this process, or does not unpickle
        error = None
    if not isinstance(error, BaseException):
        error = RuntimeError(f"{name}: {said}")
    for note in notes:
        if note not in getattr(error, "__notes__", []):
            error.add_note(note)
    error.__cause__ = WorkerTraceback(text)
    return error
