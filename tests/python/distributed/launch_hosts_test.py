"""python -m plait run on several hosts, whose launchers meet before ranks are started."""

import argparse
import json
import signal
import threading
import time
import unittest
from unittest import mock

import plait as pl
from plait.distributed import PrefixStore, TCPStore
from plait.inside.distributed import meeting_of_hosts

from launching import PREPARED, Launching
from ranks import expect_error, free_port

CALLING = PREPARED + ("from plait import distributed as dist\ndist.init_process_group()\nprint(dist.get_world_size())\ndist.barrier()\n")


class Hosts(Launching):
    def begin_host(self, port, node, *options, text="print('ran')\n"):
        return self.begin(text, "--rendezvous", f"localhost:{port}", "--node-rank", str(node), *options, str(self.file))

    def expect_refusal(self, launchers, *parts):
        """All end with one line, and none has run the program."""
        for launcher in launchers:
            output, errors = launcher.communicate(timeout=60)
            self.assertEqual((launcher.returncode, output, errors.count("\n")), (2, "", 1), errors)
            for part in parts:
                self.assertIn(part, errors)

    def test_numbers_of_ranks_differ(self):
        port = free_port()
        self.expect_refusal([self.begin_host(port, 0, "--nodes", "2", "-n", "1"), self.begin_host(port, 1, "--nodes", "2", "-n", "3")],
                            "plait run: the hosts differ: host 0 has --nodes 2 -n 1, host 1 has --nodes 2 -n 3")

    def test_numbers_of_hosts_differ(self):
        port = free_port()
        self.expect_refusal([self.begin_host(port, 0, "--nodes", "3"), self.begin_host(port, 1, "--nodes", "2")],
                            "plait run: the hosts differ: host 0 has --nodes 3 -n 1, host 1 has --nodes 2 -n 1")

    def test_hosts_of_one_rank(self):
        port = free_port()
        launchers = [self.begin_host(port, node, "--nodes", "3") for node in (0, 1, 1)]
        processes = [f"process {each.pid} on " for each in launchers[1:]]
        self.expect_refusal(launchers, "plait run: two launchers have --node-rank 1: process ", *processes)

    def test_hosts_of_rank_0(self):
        port = free_port()
        serving = meeting_of_hosts.serve("localhost", port, True)
        launcher = self.begin_host(port, 0, "--nodes", "2")
        _, errors = launcher.communicate(timeout=60)
        self.assertEqual(launcher.returncode, 2)
        self.assertIn("another launcher with --node-rank 0, listens there", errors)
        self.assertNotIn("port 0", errors)
        launcher = self.begin_host(serving.port, 0)
        self.assertIn("by port 0", launcher.communicate(timeout=60)[1])

    def test_says_for_whom_it_waits(self):
        port, options = free_port(), ("--nodes", "3")
        first, second = (self.begin_host(port, node, *options, text=CALLING) for node in (0, 1))
        for launcher, node in ((first, 0), (second, 1)):
            self.assertEqual(launcher.stderr.readline(), f"plait run: host {node} of 3 waits at localhost:{port} for host 2\n")
        second.send_signal(signal.SIGINT)
        self.assertEqual((second.communicate(timeout=60), second.returncode), (("", "plait run: interrupted\n"), 130))
        launchers = [first, *(self.begin_host(port, node, *options, text=CALLING) for node in (1, 2))]
        for node, launcher in enumerate(launchers):
            output, errors = launcher.communicate(timeout=60)
            self.assertEqual((launcher.returncode, output), (0, f"[rank {node}] 3\n"), errors)


class Meetings(unittest.TestCase):
    def meeting(self, node, port, nodes=2, said=None):
        given = argparse.Namespace(nodes=nodes, node_rank=node, nproc_per_node=1)
        return meeting_of_hosts.Meeting(given, "localhost", port, (said if said is not None else []).append)

    def test_host_0_starts_again(self):
        served = TCPStore("localhost", 0, is_master=True)
        port, met = served.port, []
        other = threading.Thread(target=lambda: met.append(self.meeting(1, port).hold(None)), daemon=True)
        other.start()
        served.wait(["launchers/host 1"], 20)
        del served
        self.meeting(0, port).hold(meeting_of_hosts.serve("localhost", port, False))
        other.join(20)
        self.assertEqual(met, [None])

    def test_host_0_serves_until_all_have_read(self):
        served = TCPStore("localhost", 0, is_master=True)
        store = PrefixStore("launchers", served)
        store.add("come", 1)
        store.set("host 1", json.dumps({"--nodes": 2, "-n": 5, "launcher": "process 1 on b"}))
        reading = threading.Timer(0.3, store.add, ("told", 1))
        reading.start()
        expect_error(pl.errors.ValueError, ["host 0 has --nodes 2 -n 1, host 1 has --nodes 2 -n 5"], self.meeting(0, served.port).hold, served)
        self.assertEqual(store.add("told", 0), 2)
        reading.join()

    def test_a_host_that_does_not_come(self):
        served = TCPStore("localhost", 0, is_master=True)
        said = []
        begin = time.monotonic()
        with mock.patch.multiple(meeting_of_hosts, FIRST=0, LIMIT=0.5):
            expect_error(pl.errors.DistError, ["plait run: host 1, host 2 did not come to localhost:", "within 0.5 s"],
                         self.meeting(0, served.port, 3, said).hold, served)
        self.assertEqual(said, [f"plait run: host 0 of 3 waits at localhost:{served.port} for host 1, host 2"])
        self.assertLess(time.monotonic() - begin, 20)

    def test_host_0_does_not_serve(self):
        port, said = free_port(), []
        with mock.patch.multiple(meeting_of_hosts, FIRST=0, LIMIT=0.5):
            expect_error(pl.errors.DistError, [f"plait run: host 0 did not come to localhost:{port} within 0.5 s (", "Connection refused)"],
                         self.meeting(1, port, said=said).hold, None)

    def test_host_0_elsewhere(self):
        expect_error(pl.errors.DistError, ["plait run: host 0 listens at port", "does not reach itself as 192.0.2.1", "--rendezvous"],
                     mock.patch.object(meeting_of_hosts, "ANSWER", 0.2)(meeting_of_hosts.serve), "192.0.2.1", free_port(), False)


if __name__ == "__main__":
    unittest.main()
