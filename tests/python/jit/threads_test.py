"""Ctrl-C interrupts long computations, and other Python threads run meanwhile."""

import os
import signal
import subprocess
import sys
import threading
import time
import unittest

import plait


def counted(steps):
    return lambda x: plait.while_loop(lambda state: state[0] < steps, lambda state: (state[0] + 1, plait.sin(state[1]) + 1),
                                      (plait.asarray(0), x))[1]


ENDLESS = counted(10**12)


def scanned(x):
    return plait.scan(lambda carry, _: (plait.sin(carry) + 1, None), x, length=2 * 10**9)[0]


class Interrupted(unittest.TestCase):
    def interrupt(self, run):
        """The time in seconds until a computation stops after Ctrl-C."""
        asked = []

        def ask():
            time.sleep(0.4)
            asked.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=ask)
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            thread.start()
            with self.assertRaises(KeyboardInterrupt):
                run()
            return time.monotonic() - asked[0]
        finally:
            thread.join()
            signal.signal(signal.SIGINT, before)

    def test_long_runs(self):
        x = plait.ones(4)
        endless, program = plait.jit(ENDLESS), plait.trace(ENDLESS)(x)
        for run in (lambda: endless(x), lambda: program(x), lambda: plait.jit(scanned)(x), lambda: plait.jit(plait.vmap(ENDLESS))(x)):
            self.assertLess(self.interrupt(run), 1)
            # Everything still works.
            self.assertEqual(x.numpy().tolist(), [1, 1, 1, 1])
            self.assertEqual(plait.jit(counted(3))(x).shape, (4,))
        self.assertLess(self.interrupt(lambda: endless(x)), 1)  # and once more

    def test_nothing_is_lost(self):
        x = plait.ones(1000)
        endless = plait.jit(ENDLESS)
        self.interrupt(lambda: endless(x))
        before = plait.memory_statistics().live
        for _ in range(3):
            self.interrupt(lambda: endless(x))
        self.assertEqual(plait.memory_statistics().live, before)

    def test_handlers_of_signals_run(self):
        seen = []
        before = signal.signal(signal.SIGUSR1, lambda *_: seen.append(time.monotonic()))
        timer = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGUSR1))
        try:
            timer.start()
            plait.jit(counted(20_000_000))(plait.ones(4))  # 0.8 s
            end = time.monotonic()
        finally:
            timer.join()
            signal.signal(signal.SIGUSR1, before)
        self.assertEqual(len(seen), 1)
        self.assertLess(seen[0], end)


class Together(unittest.TestCase):
    def progress_during(self, run):
        """The number of Python steps of another thread while it runs, and the duration in seconds."""
        steps, done = [0], threading.Event()

        def count():
            while not done.is_set():
                steps[0] += 1
                time.sleep(0.001)

        thread = threading.Thread(target=count)
        thread.start()
        begin = time.monotonic()
        try:
            run()
        finally:
            seconds = time.monotonic() - begin
            done.set()
            thread.join()
        return steps[0], seconds

    def test_other_threads_run(self):
        x, big = plait.ones(4), plait.ones((2048, 2048))
        loop = plait.jit(counted(2_000_000))
        loop(x)
        for run in (lambda: loop(x), lambda: plait.matmul(big, big) @ big):
            steps, seconds = self.progress_during(run)
            self.assertGreater(seconds, 0.02)
            self.assertGreater(steps, 100 * seconds)  # at most 1000 per second

    def test_daemon_threads_do_not_disturb_the_end(self):
        code = ("import threading, time, plait as pl\n"
                "threading.Thread(target=lambda: [pl.ones(3) + 1 for _ in range(10**9)], daemon=True).start()\n"
                "time.sleep(0.3)")
        for _ in range(3):
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_two_threads_compute(self):
        x, found = plait.ones(4), {}
        loop = plait.jit(counted(1000))
        expected = loop(x).numpy().tolist()

        def work(name):
            found[name] = [loop(x).numpy().tolist() for _ in range(20)]

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertEqual(found, {i: [expected] * 20 for i in range(4)})


if __name__ == "__main__":
    unittest.main()
