"""Training runs that are killed at random moments, and continued, end as the undisturbed run: `make torture` kills more."""

import unittest

import killed_runs


class KilledRuns(unittest.TestCase):
    def test_end_as_the_undisturbed_run(self):
        self.assertGreater(killed_runs.kill(20), 0)


if __name__ == "__main__":
    unittest.main()
