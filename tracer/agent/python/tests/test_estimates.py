"""What looks say of many arrays: of those that there is no time for, and of views."""

import time
import types
import unittest
import unittest.mock

import torch
from gpumem_agent.frameworks import torch as adapter
from gpumem_agent.holders import naming, running
from gpumem_agent.surveys import Surveys

KIB = 1 << 10
FIRST = 152  # arrays that there is time for


class Unarmed:
    sites_wanted = False


def cut(described):
    """living.described when there is time for some alone."""
    return lambda live, *more: described({i: live[i] for i in list(live)[:FIRST]}, *more)


class EstimatesTest(unittest.TestCase):
    def look(self):
        self.surveys._begun = time.monotonic()
        self.surveys.look_now(self.process, time.monotonic() + 20)
        return {h["path"].split("'")[-2]: h for h in self.surveys.told}

    def setUp(self):
        torch.empty(512)  # the device lives
        frameworks = [adapter.open_framework(torch, Unarmed)]
        self.process = types.SimpleNamespace(
            frameworks=frameworks, sites_wanted=False, held=lambda: (None, None), idle=None, heap_now=lambda: None
        )
        self.surveys = Surveys()
        kept = {"many": [], "few": []}
        globals().update(kept=kept)
        self.addCleanup(globals().pop, "kept")
        self.kept = kept
        self.look()

    def test_each_beginning_of_the_order_is_of_all_parts(self):
        order = list(running.spread({i: None for i in range(1000)}))
        self.assertEqual(sorted(order), list(range(1000)))
        self.assertGreater(sum(i > 500 for i in order[:100]), 40)

    def test_a_holder_has_about_what_there_was_no_time_to_describe(self):
        self.kept["many"] += [torch.empty(KIB) for _ in range(600)]
        self.kept["few"] += [torch.empty(KIB) for _ in range(8)]
        with unittest.mock.patch.object(running.living, "described", cut(running.living.described)):
            told = self.look()
        self.assertAlmostEqual(told["many"]["count"], 600, delta=60)
        self.assertAlmostEqual(told["many"]["bytes"], 600 * KIB, delta=60 * KIB)
        self.assertLessEqual(told.get("few", {"count": 0})["count"], 8, "too few to tell how many there are")

    def test_views_are_told_with_what_they_show(self):
        wholes = [torch.empty(64 * KIB) for _ in range(40)]
        self.kept["rows"] = [torch.Tensor(w.untyped_storage(), w.device, (KIB,)) for w in wholes]
        for _ in range(40):
            wholes.append(torch.empty(64 * KIB))
        self.kept["whole"] = wholes[40:]  # beside a view of each
        self.kept["parts"] = [torch.Tensor(w.untyped_storage(), w.device, (KIB,)) for w in wholes[40:]]
        del wholes
        told = self.look()
        self.assertEqual((told["rows"]["bytes"], told["rows"]["shown_part"]), (40 * 64 * KIB, round(1 / 64, 4)))
        self.assertNotIn("shown_part", told.get("whole") or told["parts"])
        (ended,) = naming.with_gone([{**told["rows"], "shown_part": 0}], [told["rows"]])
        self.assertEqual(ended, told["rows"], "at the end it is not asked again")

    def test_with_time_for_all_each_counts_for_itself(self):
        self.kept["many"] += [torch.empty(KIB) for _ in range(613)]
        told = self.look()
        self.assertEqual((told["many"]["count"], told["many"]["bytes"]), (613, 613 * KIB))


if __name__ == "__main__":
    unittest.main()
