"""How processes find each other: the store of an init_method, the rank, and the number of ranks."""

import contextlib
import os
import time
import urllib.parse
import weakref

from plait import _core, errors
from plait.inside.distributed.arguments import MOST_INT, integer_of, text_of
from plait.inside.distributed.stores import FileStore, PrefixStore, TCPStore

_comm = _core._comm

CALL = "init_process_group"
METHODS = "env://, tcp://host:port or file:///path"

# ---- Numbers that launchers and addresses give.


def _integer_of_text(function, what, text):
    try:
        return int(text)
    except ValueError:
        raise errors.ValueError(f"{function}: {what} is {text!r}, expected an integer") from None


def _place_from_environment():
    """(host, port) of rank 0."""
    found = None if "MASTER_PORT" in os.environ else _comm.place_of_job()
    if found is not None:
        return os.environ.get("MASTER_ADDR") or found[0], found[1]
    return os.environ.get("MASTER_ADDR") or "localhost", _integer_from_environment("MASTER_PORT")


def _integer_from_environment(name):
    """The number in a variable, or in that of another launcher."""
    found = _comm.launch_variable(name)
    if found is None:
        raise errors.ValueError.with_hint(
            f"{CALL}: the environment variable {name} is not set",
            "start the program by a launcher, set it, or pass init_method, rank and world_size")
    return _integer_of_text(CALL, f"the environment variable {found}", os.environ[found])


def expect_place(rank, world_size):
    """ValueError unless the rank is one of the ranks: before anything is connected, as no rank would answer."""
    if world_size < 1:
        raise errors.ValueError(f"{CALL}: world_size is {world_size}, expected 1 or more")
    if not 0 <= rank < world_size:
        raise errors.ValueError(f"{CALL}: rank is {rank} where world_size is {world_size}, expected 0 to {world_size - 1}")


def get_node_local_rank(fallback_rank=None):
    """The rank of this process among those of its host, as launchers say; fallback_rank if none does."""
    call = "get_node_local_rank"
    fallback = None if fallback_rank is None else integer_of(call, "fallback_rank", fallback_rank, 0, MOST_INT)
    found = _comm.launch_variable("LOCAL_RANK")
    if found is not None:
        return _integer_of_text(call, f"the environment variable {found}", os.environ[found])
    if fallback is None:
        raise errors.ValueError.with_hint(f"{call}: the environment variable LOCAL_RANK is not set",
                                          "start the program by a launcher, or pass fallback_rank")
    return fallback


def is_torchelastic_launched():
    """True if torchrun, or python -m plait run, has started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


# ---- Stores of places.

_servers = {}  # by process, host and port: the others may still ask after a group has ended, and come again


def _launcher_serves(host, port):
    """True of the place that a launcher has named: its store outlives the ranks."""
    return os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True" and (
        (os.environ.get("MASTER_ADDR"), os.environ.get("MASTER_PORT")) == (host, str(port)))


def _tcp_store(host, port, rank, world_size, timeout):
    """The store at a place, which rank 0 serves for as long as it lives."""
    integer_of(CALL, "the port", port, 0 if world_size == 1 else 1, 65535)
    served = _servers.get((os.getpid(), host, port))
    if served is not None:
        served.set_timeout(timeout)
        return served
    serves = rank == 0 and not _launcher_serves(host, port)
    try:
        store = TCPStore(host, port, world_size, serves, timeout)
    except (errors.DistError, errors.ParseError) as error:
        if not _launcher_serves(host, port):
            raise
        raise errors.DistError.with_hint(
            f"{CALL}: no store of Plait answers at {host}:{port}, where the launcher is said to serve one ({error.message})",
            "torchrun serves PyTorch's store: start the program by python -m plait run, which has its variables, or set "
            "TORCHELASTIC_USE_AGENT_STORE=False and another MASTER_PORT") from None
    if serves:
        _servers[os.getpid(), host, port] = store
    return store


_USERS = "processes that have the file open"
_REMOVED = "removed"


def _leave_file(inner, path, process):
    """The last process that leaves removes the file. Who opens it meanwhile finds that it counts no more."""
    if os.getpid() == process and inner.add(_USERS, -1) == 0 and inner.compare_set(_USERS, b"0", _REMOVED) == _REMOVED.encode():
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def _file_store(path, timeout):
    end = time.monotonic() + timeout
    while True:
        store = FileStore(path)
        store.set_timeout(timeout)
        try:
            store.add(_USERS, 1)
        except errors.ValueError:  # it is being removed
            if time.monotonic() > end:
                raise errors.ValueError.with_hint(f"{CALL}: the file {path} is that of a job that was killed", "remove it") from None
            time.sleep(0.001)
            continue
        weakref.finalize(store, _leave_file, store._inner, path, os.getpid())
        return store


def _agreed(name, given, query, init_method):
    """The rank or the number of ranks: of the call, or of the address."""
    if name not in query:
        return given
    said = _integer_of_text(CALL, f"{name} in {init_method}", query[name])
    if given not in (-1, said):
        raise errors.ValueError(f"{CALL}: {name} is {given} in the call and {said} in {init_method}, expected one of them")
    return said


def _parsed(init_method, rank, world_size):
    """(the parts of the address, rank, world_size), with those that the address has."""
    try:
        url = urllib.parse.urlparse(text_of(CALL, "init_method", init_method))
        url.port  # noqa: B018: the check is made when it is read
    except ValueError as error:
        if isinstance(error, errors.Error):
            raise
        raise errors.ValueError(f"{CALL}: init_method is {init_method!r}: {error}") from None
    if url.scheme not in ("env", "tcp", "file"):
        raise errors.ValueError(f"{CALL}: init_method is {init_method!r}, expected {METHODS}")
    query = dict(urllib.parse.parse_qsl(url.query))
    return url, _agreed("rank", rank, query, init_method), _agreed("world_size", world_size, query, init_method)


def _path_of(init_method, url):
    if url.netloc not in ("", "localhost") or not url.path.startswith("/") or url.path == "/":
        raise errors.ValueError.with_hint(f"{CALL}: init_method is {init_method!r}, expected the absolute path of a file: file:///path/to/file",
                                          "\"file://\" + os.path.abspath(path)")
    return url.path


def _store_at(init_method, url, rank, world_size, seconds):
    expect_place(rank, world_size)
    if url.scheme == "file":
        return _file_store(_path_of(init_method, url), seconds)
    if url.scheme == "env":
        return _tcp_store(*_place_from_environment(), rank, world_size, seconds)
    if url.port is None or not url.hostname:
        missing = "port" if url.hostname else "host"
        raise errors.ValueError(f"{CALL}: init_method is {init_method!r}, which has no {missing}, expected tcp://host:port")
    return _tcp_store(url.hostname, url.port, rank, world_size, seconds)


def store_of(init_method, rank, world_size, seconds):
    """(store, rank, world_size) of an init_method. A place is used by one group after the other: the store counts how often each rank has come,
    and each time has keys of its own."""
    url, rank, world_size = _parsed(init_method, rank, world_size)
    if url.scheme == "env":
        rank = _integer_from_environment("RANK") if rank == -1 else rank
        world_size = _integer_from_environment("WORLD_SIZE") if world_size == -1 else world_size
    elif rank == -1 or world_size == -1:
        raise errors.ValueError(f"{CALL}: {init_method} needs rank and world_size")
    store = _store_at(init_method, url, rank, world_size, seconds)
    return PrefixStore(f"time {store.add(f'times of rank {rank}', 1)}", store), rank, world_size
