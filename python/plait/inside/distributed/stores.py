"""Stores: small tables of bytes that the processes of a job share."""

import datetime
import os

from plait import _core, errors
from plait.inside.help.names import in_words

_comm = _core._comm


NO_TIMEOUT = -1.0


def seconds_of(function, timeout):
    """A timedelta, or a number of seconds, as seconds; None as NO_TIMEOUT."""
    if timeout is None:
        return NO_TIMEOUT
    if isinstance(timeout, datetime.timedelta):
        timeout = timeout.total_seconds()
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise errors.TypeError(f"{function}: timeout is {in_words(timeout)}, expected a timedelta or seconds")
    if not timeout > 0:
        raise errors.ValueError(f"{function}: the timeout is {timeout} s, expected more than 0")
    return float(timeout)


class Store:
    """The base of stores. Values are bytes; str is encoded as UTF-8."""

    def __init__(self, inner):
        self._inner = inner

    def set(self, key, value):
        """Sets the key."""
        self._inner.set(key, value)

    def get(self, key):
        """The value of the key, as bytes; waits until it is set."""
        return self._inner.get(key)

    def add(self, key, amount):
        """Adds to an integer, which is 0 at first, and returns the sum."""
        return self._inner.add(key, amount)

    def compare_set(self, key, expected_value, desired_value):
        """Sets the key if its value is the expected one, or if it is not set and that is empty. Returns its value then."""
        return self._inner.compare_set(key, expected_value, desired_value)

    def append(self, key, value):
        """Appends bytes to the value of the key."""
        self._inner.append(key, value)

    def delete_key(self, key):
        """Deletes the key; True if it was set."""
        return self._inner.delete_key(key)

    def check(self, keys):
        """True if all keys are set."""
        return self._inner.check(list(keys))

    def num_keys(self):
        """The number of keys that are set."""
        return self._inner.num_keys()

    def wait(self, keys, timeout=None):
        """Waits until all keys are set. DistError, which names those that are not, after the timeout."""
        self._inner.wait(list(keys), seconds_of("Store.wait", timeout))

    def multi_get(self, keys):
        """The values of the keys; waits until all are set."""
        return self._inner.multi_get(list(keys))

    def multi_set(self, keys, values):
        """Sets all keys together."""
        self._inner.multi_set(list(keys), list(values))

    @property
    def timeout(self):
        """How long get and wait do, as a timedelta."""
        return datetime.timedelta(seconds=self._inner.timeout())

    def set_timeout(self, timeout):
        """How long get and wait do: a timedelta, or seconds."""
        self._inner.set_timeout(seconds_of("Store.set_timeout", timeout))


class HashStore(Store):
    """A store for the threads of one process.

    >>> store = plait.distributed.HashStore()
    >>> store.set("host", "a"), store.add("count", 3), store.get("count")
    (None, 3, b'3')
    """

    def __init__(self):
        super().__init__(_comm.HashStore())


class FileStore(Store):
    """A store in a file that all processes reach. With the number of processes, the last one that is deleted removes the file, which must not
    be that of a former job.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/store"
    >>> plait.distributed.FileStore(path).set("host", "a")
    >>> plait.distributed.FileStore(path).get("host")
    b'a'
    """

    def __init__(self, file_name, world_size=0):
        super().__init__(_comm.FileStore(os.fspath(file_name), max(world_size, 0)))

    @property
    def path(self):
        """The path of the file."""
        return self._inner.path


class TCPStore(Store):
    """A store that one process, the master, serves to the others by TCP. With world_size, the master waits until all are connected. Port 0, for
    the master, is any that is free.

    >>> server = plait.distributed.TCPStore("localhost", 0, is_master=True)
    >>> client = plait.distributed.TCPStore("localhost", server.port)
    >>> server.set("host", "a")
    >>> client.get("host")
    b'a'
    """

    def __init__(self, host_name, port, world_size=None, is_master=False, timeout=datetime.timedelta(seconds=300), wait_for_workers=True):
        seconds = seconds_of("TCPStore", timeout)
        super().__init__(_comm.TCPStore(host_name, port, -1 if world_size is None else world_size, is_master, seconds, wait_for_workers))

    @property
    def host(self):
        """The host that was given."""
        return self._inner.host

    @property
    def port(self):
        """The port of the server."""
        return self._inner.port


class PrefixStore(Store):
    """A store within another one, where its keys have a prefix.

    >>> store = plait.distributed.HashStore()
    >>> plait.distributed.PrefixStore("job", store).set("host", "a")
    >>> store.get("job/host")
    b'a'
    """

    def __init__(self, prefix, store):
        if not isinstance(store, Store):
            raise errors.TypeError(f"PrefixStore: store is {in_words(store)}, expected a store")
        super().__init__(_comm.PrefixStore(prefix, store._inner))
        self.underlying_store = store
