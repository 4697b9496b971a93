"""The process that forks worker processes: multiprocessing's fork server, which imports Plait before it forks.

An import takes longer than everything else until the first batch, so the server does it once, while the program goes on, for the workers of all
loaders. It has one thread: those of NumPy's BLAS end at a fork. What it imports is what the program would import: it begins with the program's
paths, and without the current folder, which `python -c` would look into first."""

import atexit
import json
import multiprocessing
import os
import sys
import threading
import time
from multiprocessing import forkserver

_lock = threading.Lock()
_PRELOADED = "plait.inside.data.process_worker"
_OF_PROGRAM = "PLAIT_ENVIRONMENT_OF_PROGRAM"  # the variables below as the program has them


def begin():
    """Begins the server, unless it runs. One that the program began before has not imported Plait: then each worker does."""
    if multiprocessing.parent_process() is not None:  # a worker, whose processes import Plait themselves
        return
    with _lock:
        _begin(forkserver._forkserver)


def _begin(server):
    _forget_server_of_parent(server)
    modules = list(getattr(server, "_preload_modules", ["__main__"]))  # also those that the program chose
    paths = _paths()
    if paths is None:
        forkserver.ensure_running()
        return
    if _PRELOADED not in modules:
        forkserver.set_forkserver_preload([_PRELOADED, *modules])
    variables = {"PYTHONPATH": os.pathsep.join(paths), "PYTHONSAFEPATH": "1"}
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables, **{_OF_PROGRAM: json.dumps(before)})
    try:
        forkserver.ensure_running()
    finally:
        end_environment()


def number():
    """The number of the server's process; None before it begins."""
    return forkserver._forkserver._forkserver_pid


def has_ended(server):
    """True if the server with this number was killed, say; another one may have begun since. Its files are closed a moment before the
    system says that it has ended."""
    for seconds in (0.01, 0.1, 0.5, None):
        try:
            if server != number() or os.waitid(os.P_PID, server, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                return True
        except ChildProcessError:  # multiprocessing has waited for it
            return True
        if seconds is not None:
            time.sleep(seconds)
    return False


def end_environment():
    """The environment as the program has it, in this process and those that it begins."""
    for name, value in json.loads(os.environ.pop(_OF_PROGRAM, "{}")).items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _paths():
    """The paths where the program finds modules; None if a new interpreter cannot be told of them."""
    try:
        paths = [path or os.getcwd() for path in sys.path]
    except FileNotFoundError:  # the folder was removed
        return None
    can_be_told = all(isinstance(path, str) and os.pathsep not in path for path in paths) and not sys.flags.ignore_environment
    return paths if can_be_told else None


def _forget_server_of_parent(server):
    """After a fork the server is that of the parent, which this process can neither wait for nor use."""
    if server._forkserver_pid is not None and _is_of_parent(server._forkserver_pid):
        os.close(server._forkserver_alive_fd)
        server._forkserver_alive_fd = server._forkserver_pid = server._forkserver_address = None


def _is_of_parent(pid):
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return True
    return False


_process, _parent = os.getpid(), os.getppid()


@atexit.register
def _remove_socket():
    """In the server, which ends when the program and its processes have ended: removes the socket on which it has listened, and the folder of that,
    if the program was killed."""
    address, is_server = forkserver._forkserver._forkserver_address, number() is None and os.getpid() == _process
    if is_server and isinstance(address, str) and os.path.isabs(address) and os.getppid() != _parent:
        try:
            os.unlink(address)
            os.rmdir(os.path.dirname(address))
        except OSError:  # the program has removed them, or has more files in the folder
            pass


def _forget_lock():
    """A thread that held it does not exist in a process that was forked."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forget_lock)
