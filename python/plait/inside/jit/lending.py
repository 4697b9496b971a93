"""Tensors of a caller that hold recorded values, while host code is recorded."""

import threading

from plait import _core


class Lending:
    """While it exists, tensors hold recorded values. Other threads that call jitted functions wait."""

    _lock = threading.RLock()
    thread = None  # the one that has lent tensors
    _all = []  # those that exist

    def __init__(self, lent):
        self._lent = list(lent)  # (tensor, content)

    def __enter__(self):
        if self._lent:
            self._lock.acquire()
            self._earlier, Lending.thread = Lending.thread, threading.get_ident()
            Lending._all.append(self)
            self._own = [_core._exchange(tensor, content) for tensor, content in self._lent]
        return self

    def __exit__(self, *_):
        if not self._lent:
            return
        for (tensor, content), own in zip(self._lent, self._own):
            if _core._is_same(tensor, content):  # otherwise host code has assigned to it
                _core._exchange(tensor, own)
        Lending._all.remove(self)
        Lending.thread = self._earlier
        self._lock.release()

    @classmethod
    def wait(cls):
        if cls.thread is not None and cls.thread != threading.get_ident():
            with cls._lock:
                pass

    @classmethod
    def lends(cls, tensor):
        """True of an argument of a jitted function that is being recorded, and of a tensor that it finds outside."""
        return any(each is tensor for lending in cls._all for each, _ in lending._lent)
