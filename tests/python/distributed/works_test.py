"""plait.distributed: calls in progress have delivered what they received when they say that they are over, in every thread."""

import threading
import time
import unittest

import plait as pl
import plait.distributed as dist


class AtTheLastMoment:
    """A call that ends between two looks at it."""

    def __init__(self):
        self.looks = 0

    def is_success(self):
        self.looks += 1
        return self.looks > 1

    def is_completed(self):
        return True

    def wait(self, seconds):
        pass

    def result(self):
        return [pl.full((2,), 5.0)]


class Works(unittest.TestCase):
    def setUp(self):
        dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
        self.addCleanup(dist.destroy_process_group)
        self.x = pl.ones(2)
        self.work = dist.all_reduce(self.x, async_op=True)
        self.work._inner.wait(-1.0)

    def test_delivers_before_it_is_completed(self):
        self.work._inner = AtTheLastMoment()
        self.assertTrue(self.work.is_completed())
        self.assertEqual(self.x.tolist(), [5, 5])
        self.work._inner, self.work._deliver = AtTheLastMoment(), lambda results: self.x.__setitem__(..., results[0] + 1)
        self.assertTrue(self.work.is_success())
        self.assertEqual(self.x.tolist(), [6, 6])

    def test_each_thread_waits_for_delivery(self):
        begun, seen, delivered = threading.Event(), [], []

        def deliver(results):
            begun.set()
            time.sleep(0.3)
            delivered.append(results)

        self.work._deliver = deliver
        first = threading.Thread(target=self.work.wait)
        first.start()
        begun.wait()
        asked = (self.work.wait, self.work.is_completed, self.work.is_success)
        others = [threading.Thread(target=lambda ask=ask: seen.append((ask(), len(delivered)))) for ask in asked]
        for each in others:
            each.start()
        for each in (first, *others):
            each.join()
        self.assertEqual(seen, [(True, 1)] * 3)

    def test_a_delivery_that_failed_stays_failed(self):
        def deliver(results):
            self.x[...] = pl.ones(3)

        self.work._deliver = deliver
        errors = []
        for _ in range(2):
            with self.assertRaises(pl.errors.ShapeError) as caught:
                self.work.wait()
            errors.append(caught.exception)
        self.assertIs(errors[0], errors[1])
        self.assertIs(self.work.exception(), errors[0])
        self.assertTrue(self.work.is_completed())
        self.assertFalse(self.work.is_success())

    def test_a_group_keeps_calls_that_are_not_waited_for(self):
        """Until a barrier, or the next call that finds them over; none that has delivered or failed."""
        kept = dist.group.WORLD._pending._works
        self.work.wait()
        self.assertEqual(len(kept), 0)
        x, y = pl.ones(2), pl.ones(2)
        dist.all_reduce(x, dist.premul_sum(3.0), async_op=True)
        self.assertEqual(len(kept), 1)
        while not next(iter(kept.values()))._inner.is_completed():
            time.sleep(0.001)
        dist.all_reduce(y, dist.premul_sum(4.0), async_op=True)
        self.assertEqual((x.tolist(), len(kept)), ([3, 3], 1))
        dist.barrier()
        self.assertEqual((y.tolist(), len(kept)), ([4, 4], 0))
        work = dist.all_reduce(x, async_op=True)
        work._deliver = lambda results: x.__setitem__(..., pl.ones(3))
        dist.barrier(async_op=True).wait()
        self.assertEqual(len(kept), 0)
        with self.assertRaises(pl.errors.ShapeError):
            work.wait()

    def test_an_interrupted_delivery_is_repeated(self):
        deliver, attempts = self.work._deliver, []

        def interrupted(results):
            attempts.append(results)
            if len(attempts) == 1:
                raise KeyboardInterrupt
            deliver(results)

        self.work._deliver = interrupted
        with self.assertRaises(KeyboardInterrupt):
            self.work.wait()
        self.assertTrue(self.work.wait() and self.work.is_success())
        self.assertEqual(len(attempts), 2)


if __name__ == "__main__":
    unittest.main()
