"""The launchers of several hosts meet before they start ranks: each says how it was called, and all compare."""

import contextlib
import errno
import json
import os
import socket
import time

from plait import errors
from plait.inside.distributed.stores import PrefixStore, TCPStore

FIRST, NEXT = 3, 30  # seconds until a launcher says for which hosts it waits, and until it says so again
LIMIT = 600  # seconds that it waits
ANSWER = 5  # seconds in which the store answers
LINGER = 3  # seconds that the store of a job that cannot begin is served on, so that all hosts read why


def serve(host, port, is_one_host):
    """The store of the job, which the launcher of host 0 serves."""
    try:
        store = TCPStore(host, port, is_master=True, timeout=ANSWER)
    except errors.DistError as error:
        place = f"{host}:{port}"
        if os.strerror(errno.EADDRINUSE) in error.message:
            free = ", or let any that is free be taken, by port 0" if is_one_host else ""
            raise errors.DistError.with_hint(
                f"plait run: cannot listen at {place}: the address is already in use",
                f"another program, or another launcher with --node-rank 0, listens there: end it, or choose another port{free}") from None
        if "cannot connect" in error.message:
            raise errors.DistError.with_hint(f"plait run: host 0 listens at port {port}, but does not reach itself as {host}",
                                             "--rendezvous, or --master_addr, is the name or address of host 0") from None
        raise
    store.set_timeout(300)
    return store


def _listed(numbers):
    return ", ".join(f"host {number}" for number in numbers)


class _Disagreement(Exception):
    """The launchers do not fit together: a text that all of them show."""


class Meeting:
    """The launcher of one host among those of all; say writes a line."""

    def __init__(self, given, host, port, say):
        self.rank, self.count, self.host, self.port, self.say = given.node_rank, given.nodes, host, port, say
        self.own = json.dumps({"--nodes": given.nodes, "-n": given.nproc_per_node, "launcher": f"process {os.getpid()} on {socket.gethostname()}"})
        self.begun = time.monotonic()
        self.next_line = self.begun + FIRST

    def hold(self, served):
        """Returns when all have come and fit together. served is the store where this launcher serves it, else None."""
        while True:
            store = None
            try:
                store = PrefixStore("launchers", served or self._connected())
                store.add("come", 1)
                return self._wait(store)
            except _Disagreement as error:
                with contextlib.suppress(errors.DistError):
                    store.add("told", 1)
                if served is not None:
                    self._linger(store)
                raise errors.ValueError(f"plait run: {error}") from None
            except errors.DistError as error:  # the launcher of host 0 has ended, and may be started again
                if served is not None or self._is_late():
                    raise
                self._expect_patience([0], error)
            time.sleep(0.2)

    def _connected(self):
        while True:
            try:
                store = TCPStore(self.host, self.port, timeout=2)
                store.set_timeout(ANSWER)
                return store
            except errors.DistError as error:
                self._expect_patience([0], error)

    def _wait(self, store):
        key, pause = f"host {self.rank}", 0.02
        found = store.compare_set(key, "", self.own).decode()
        if found != self.own:
            launchers = " and ".join(json.loads(each)["launcher"] for each in (found, self.own))
            self._disagree(store, f"two launchers have --node-rank {self.rank}: {launchers}")
        try:
            while absent := self._absent(store):
                self._expect_patience(absent)
                time.sleep(pause)
                pause = min(2 * pause, 0.5)
        except (KeyboardInterrupt, errors.DistError):
            with contextlib.suppress(errors.DistError):
                store.delete_key(key)  # this launcher may be started again
            raise

    def _absent(self, store):
        """The hosts that have not come. Those that have are compared."""
        come = [number for number in range(self.count) if store.check([f"host {number}"])]
        called = {number: json.loads(text) for number, text in zip(come, store.multi_get([f"host {number}" for number in come]), strict=True)}
        said = {number: f"--nodes {each['--nodes']} -n {each['-n']}" for number, each in called.items()}
        if len(set(said.values())) > 1:
            self._disagree(store, "the hosts differ: " + ", ".join(f"host {number} has {options}" for number, options in said.items()))
        if store.check(["disagreement"]):
            self._disagree(store, "")
        return [number for number in range(self.count) if number not in come]

    @staticmethod
    def _disagree(store, text):
        """Raises the text, or that of a launcher which was first."""
        raise _Disagreement(store.compare_set("disagreement", "", text).decode())

    @staticmethod
    def _linger(store):
        end = time.monotonic() + LINGER
        while store.add("told", 0) < store.add("come", 0) and time.monotonic() < end:
            time.sleep(0.05)

    def _is_late(self):
        return time.monotonic() > self.begun + LIMIT

    def _expect_patience(self, absent, error=None):
        """Says from time to time for whom this launcher waits; DistError at the limit."""
        reason = "" if error is None else f" ({error.message.removeprefix('DistError: ').partition(', at ')[0]})"
        if self._is_late():
            raise errors.DistError.with_hint(f"plait run: {_listed(absent)} did not come to {self.host}:{self.port} within {LIMIT} s{reason}",
                                             "see whether plait run was started there, with this --rendezvous and its own --node-rank")
        if time.monotonic() > self.next_line:
            self.next_line = time.monotonic() + NEXT
            self.say(f"plait run: host {self.rank} of {self.count} waits at {self.host}:{self.port} for {_listed(absent)}{reason}")
