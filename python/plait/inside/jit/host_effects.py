"""Calls of host code that a record cannot contain: functions whose result differs from call to call, and functions that read or
change state outside of the program, such as files."""

import os
import sys
import types

from plait import _core

UNSTEADY_MODULES = {"random", "secrets", "numpy.random", "numpy.random.mtrand", "numpy.random._generator"}
_UNSTEADY = {"time": {"time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time",
                      "process_time_ns", "thread_time", "thread_time_ns", "localtime", "gmtime", "ctime", "asctime", "strftime",
                      "clock_gettime", "clock_gettime_ns"},
             "uuid": {"uuid1", "uuid4"}, "os": {"urandom", "getrandom", "times"}, "posix": {"urandom", "getrandom", "times"},
             "datetime": {"now", "utcnow", "today"}}

# All their contents except exceptions.
_OUTSIDE_MODULES = {"subprocess", "socket", "_socket", "select", "selectors", "shutil", "tempfile", "glob", "urllib.request", "http.client",
                    "ftplib", "smtplib", "imaplib", "sqlite3", "_sqlite3", "dbm", "shelve", "gzip", "bz2", "lzma", "zipfile", "tarfile",
                    "mmap", "syslog", "fileinput", "getpass", "webbrowser", "fcntl", "signal", "multiprocessing", "requests", "httpx",
                    "urllib3", "aiohttp", "plait.inside.files", "plait.io", "wandb", "mlflow", "loguru", "comet_ml"}
_OF_PATHS = {"exists", "lexists", "isfile", "isdir", "islink", "ismount", "getsize", "getmtime", "getatime", "getctime", "samefile",
             "realpath", "abspath", "expanduser", "expandvars"}
_OF_FILES = {"open", "open_code", "FileIO", "fdopen", "popen", "listdir", "scandir", "walk", "fwalk", "stat", "lstat", "fstat", "statvfs", "access",
             "getcwd", "getcwdb", "chdir", "read", "write", "pread", "pwrite", "close", "pipe", "dup", "dup2", "lseek", "truncate",
             "ftruncate", "fsync", "remove", "unlink", "rename", "renames", "replace", "mkdir", "makedirs", "rmdir", "removedirs", "link",
             "symlink", "readlink", "chmod", "chown", "utime", "getenv", "getenvb", "putenv", "unsetenv", "system", "fork", "kill",
             "waitpid", "getloadavg", "umask"}
_OUTSIDE = {"builtins": {"input", "breakpoint"}, "io": _OF_FILES, "_io": _OF_FILES, "codecs": {"open"}, "os": _OF_FILES, "posix": _OF_FILES,
            "posixpath": _OF_PATHS, "genericpath": _OF_PATHS, "pathlib": {"cwd", "home"}, "time": {"sleep"}, "atexit": {"register"},
            "resource": {"getrusage"},
            "threading": {"get_ident", "get_native_id", "current_thread", "active_count", "enumerate", "Thread", "Timer"},
            "_thread": {"get_ident", "get_native_id", "start_new_thread"},
            "logging": {"debug", "info", "warning", "warn", "error", "critical", "exception", "log", "getLogger"},
            "numpy": {"load", "save", "savez", "savez_compressed", "loadtxt", "savetxt", "genfromtxt", "fromfile", "memmap"}}
# Methods that only files, paths and similar objects have.
OUTSIDE_METHODS = {"read_text", "write_text", "read_bytes", "write_bytes", "iterdir", "rglob", "is_file", "is_dir", "readline", "readlines",
                   "writelines", "tofile"}
# Others of paths.
_PATH_METHODS = OUTSIDE_METHODS | {"open", "exists", "stat", "lstat", "unlink", "mkdir", "touch", "rmdir", "rename", "replace", "glob", "is_symlink",
                                   "resolve", "absolute", "samefile", "chmod", "owner", "walk"}
_STREAMS = ("stdin", "stdout", "stderr")


def kind_of(thing, name):
    """ "value" if each call returns a different result, "outside" if a call reads or changes state outside of the program; None
    for all others. `name` is the name by which it was found."""
    if is_outside(thing):
        return "outside"
    if isinstance(thing, types.ModuleType) or not callable(thing):
        return None
    module, own = _module_of(thing), getattr(thing, "__name__", name)
    if isinstance(thing, type) and issubclass(thing, BaseException):
        return None
    if _top(module, _OUTSIDE_MODULES) or own in _OUTSIDE.get("numpy" if module.startswith("numpy.") else module, ()):
        return "outside"
    is_unsteady = module in UNSTEADY_MODULES or own in _UNSTEADY.get(module, ())
    return "value" if is_unsteady and not isinstance(thing, type) else None


def is_outside(thing):
    """True if it is itself outside of the program: the environment, a stream or a logger."""
    if thing is os.environ or thing is getattr(os, "environb", None) or is_logger(thing):
        return True
    return any(thing is getattr(sys, name, None) or thing is getattr(sys, f"__{name}__") for name in _STREAMS) and thing is not None


def is_logger(thing):
    logging = sys.modules.get("logging")  # not imported only for this
    return logging is not None and isinstance(thing, (logging.Logger, logging.LoggerAdapter, logging.Handler))


def is_path(thing):
    """True for a path, or the class of one."""
    pathlib = sys.modules.get("pathlib")
    return pathlib is not None and (isinstance(thing, pathlib.Path) or isinstance(thing, type) and issubclass(thing, pathlib.Path))


def method_of_path(thing, names):
    """The method among these names that accesses files, if the object is a path or their class; None otherwise."""
    if not is_path(thing):
        return None
    return next((name for name in names if name in _PATH_METHODS), None)


def _module_of(thing):
    """The module of a function, or of the object of a method."""
    thing = thing.__wrapped__ if isinstance(thing, _core._Boundary) else thing
    belongs = getattr(thing, "__self__", None)
    if isinstance(belongs, types.ModuleType):
        return belongs.__name__
    if belongs is not None:
        thing = belongs if isinstance(belongs, type) else type(belongs)
    module = getattr(thing, "__module__", None)
    return module if isinstance(module, str) else ""


def _top(module, among):
    return module in among or any(module.startswith(each + ".") for each in among)
