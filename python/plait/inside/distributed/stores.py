"""Stores: small tables of bytes that the processes of a job share."""

import datetime
import os

from plait import _core, errors
from plait.inside.distributed.arguments import MOST_INT, bytes_of, flag_of, integer_of, seconds_of, text_of, texts_of
from plait.inside.help.names import in_words

_comm = _core._comm
_DEFAULT_TIMEOUT = datetime.timedelta(seconds=300)


class Store:
    """The base of stores. Values are bytes; str is encoded as UTF-8."""

    def __init__(self, inner):
        if not isinstance(inner, _comm.Store):
            raise errors.TypeError(f"Store: it is the base of stores, which cannot be made of {in_words(inner)}")
        self._inner = inner

    def set(self, key, value):
        """Sets the key."""
        self._inner.set(text_of("Store.set", "key", key), bytes_of("Store.set", "value", value))

    def get(self, key):
        """The value of the key, as bytes; waits until it is set."""
        return self._inner.get(text_of("Store.get", "key", key))

    def add(self, key, amount):
        """Adds to an integer, which is 0 at first, and returns the sum."""
        return self._inner.add(text_of("Store.add", "key", key), integer_of("Store.add", "amount", amount))

    def compare_set(self, key, expected_value, desired_value):
        """Sets the key if its value is the expected one, or if it is not set and that is empty. Returns its value then."""
        call = "Store.compare_set"
        key, expected = text_of(call, "key", key), bytes_of(call, "expected_value", expected_value)
        return self._inner.compare_set(key, expected, bytes_of(call, "desired_value", desired_value))

    def append(self, key, value):
        """Appends bytes to the value of the key."""
        self._inner.append(text_of("Store.append", "key", key), bytes_of("Store.append", "value", value))

    def delete_key(self, key):
        """Deletes the key; True if it was set."""
        return self._inner.delete_key(text_of("Store.delete_key", "key", key))

    def check(self, keys):
        """True if all keys are set."""
        return self._inner.check(texts_of("Store.check", "keys", keys))

    def num_keys(self):
        """The number of keys that are set."""
        return self._inner.num_keys()

    def wait(self, keys, timeout=None):
        """Waits until all keys are set. DistError, which names those that are not, after the timeout."""
        self._inner.wait(texts_of("Store.wait", "keys", keys), seconds_of("Store.wait", timeout))

    def multi_get(self, keys):
        """The values of the keys; waits until all are set."""
        return self._inner.multi_get(texts_of("Store.multi_get", "keys", keys))

    def multi_set(self, keys, values):
        """Sets all keys together."""
        keys = texts_of("Store.multi_set", "keys", keys)
        if not isinstance(values, (list, tuple)) or len(values) != len(keys):
            raise errors.ValueError(f"Store.multi_set: values is {in_words(values)}, expected a list of {len(keys)} values, as there are keys")
        self._inner.multi_set(keys, [bytes_of("Store.multi_set", f"values[{i}]", value) for i, value in enumerate(values)])

    @property
    def timeout(self):
        """How long get and wait do, as a timedelta."""
        return datetime.timedelta(seconds=self._inner.timeout())

    def set_timeout(self, timeout):
        """How long get and wait do: a timedelta, or seconds."""
        seconds = seconds_of("Store.set_timeout", timeout)
        if timeout is None:
            raise errors.TypeError("Store.set_timeout: timeout is None, expected a timedelta or seconds")
        self._inner.set_timeout(seconds)


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

    def __init__(self, file_name, world_size=-1):
        if not isinstance(file_name, (str, os.PathLike)):
            raise errors.TypeError(f"FileStore: file_name is {in_words(file_name)}, expected a path")
        path = text_of("FileStore", "file_name", os.fspath(file_name))
        super().__init__(_comm.FileStore(path, max(integer_of("FileStore", "world_size", world_size, -1), 0)))

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

    def __init__(self, host_name, port, world_size=None, is_master=False, timeout=_DEFAULT_TIMEOUT, wait_for_workers=True):
        host, is_master = text_of("TCPStore", "host_name", host_name), flag_of("TCPStore", "is_master", is_master)
        port = integer_of("TCPStore", "port", port, 0 if is_master else 1, 65535)
        count = -1 if world_size is None else integer_of("TCPStore", "world_size", world_size, 1, MOST_INT)
        seconds = seconds_of("TCPStore", _DEFAULT_TIMEOUT if timeout is None else timeout)
        super().__init__(_comm.TCPStore(host, port, count, is_master, seconds, flag_of("TCPStore", "wait_for_workers", wait_for_workers)))

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
        super().__init__(_comm.PrefixStore(text_of("PrefixStore", "prefix", prefix), store._inner))
        self.underlying_store = store
