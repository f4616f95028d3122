"""What a process is known to hold, by which it is seen whether a look is worth it."""

import unittest

from gpumem_agent import process
from gpumem_agent.own import own
from gpumem_agent.steps import STILL


class HeldTest(unittest.TestCase):
    def setUp(self):
        self.process = process.Process("", 1.0, 0.0, True, False)
        self.process.connection.send_sample = lambda row, wait=True: None

    def sampled(self, *live):
        """Bytes of arrays that it is known to hold after some samples."""
        for size in live:
            self.process.figures.row = lambda heap, size=size: {"pool_live_bytes": size}
            self.process.sample()
        return self.process.held()[0]

    def test_of_a_program_without_steps_it_is_what_stays_of_what_comes_and_goes(self):
        self.assertEqual(self.sampled(100, 900, 500), 100)
        self.assertEqual(self.sampled(*[200, 900] * process.LIVES), 200)

    def test_of_one_that_tells_steps_it_is_what_there_was_at_a_step(self):
        self.step()
        self.assertIsNone(self.sampled(100))

    def test_of_one_that_has_done_with_its_steps_it_is_what_stays_again(self):
        self.step(own.monotonic() - 2 * STILL)
        self.assertEqual(self.sampled(100, 900, 500), 100)
        self.step()
        self.assertEqual(self.sampled(900), 100)

    def test_steps_that_take_long_are_no_end_of_them(self):
        for ago in (50, 30, 10):
            self.step(own.monotonic() - ago)
        self.assertIsNone(self.sampled(900))

    def step(self, when=None):
        self.process.steps.user()
        self.process.steps.look(own.monotonic() if when is None else when)

    def test_what_nobody_tells_is_unknown(self):
        self.assertIsNone(self.sampled(None))
