"""Holders that are entries of one dictionary, at looks and at a program's end."""

import time
import types
import unittest
import uuid

import torch
from gpumem_agent.frameworks import torch as adapter
from gpumem_agent.holders import ending, naming, running
from gpumem_agent.holders.siblings import is_below
from gpumem_agent.surveys import Surveys

MIB = 1 << 20


class Unarmed:
    sites_wanted = False


class Session:
    def __init__(self, layers=2):
        self.layers = [torch.empty(MIB) for _ in range(layers)]


class Text(str):
    """A key that counts who asks it."""

    asked = 0

    def __hash__(self):
        Text.asked += 1
        return str.__hash__(self)


def sessions(number):
    return {uuid.uuid4().hex: Session() for _ in range(number)}


class SiblingsTest(unittest.TestCase):
    def setUp(self):
        torch.empty(512)  # the device lives
        self.process = types.SimpleNamespace(
            frameworks=[adapter.open_framework(torch, Unarmed)],
            sites_wanted=False,
            held=lambda: (None, None), idle=None, heap_now=lambda: None,
            exiting=True,
        )
        self.surveys = Surveys()
        self.surveys.take(self.process, self.process.frameworks)

    def look(self):
        self.assertTrue(self.surveys.look_now(self.process, time.monotonic() + 20))
        return {h["path"]: (h["bytes"], h["count"]) for h in self.surveys.told}

    def end(self):
        self.process.survivors = self.surveys.reference()
        found = ending.find(self.process, time.monotonic() + 20)
        return {h["path"]: (h["bytes"], h["count"]) for h in found}

    def keep(self, **names):
        globals().update(names)
        self.addCleanup(lambda: [globals().pop(n, None) for n in names])

    def path(self, text):
        return text.replace("M.", "%s." % __name__)

    def test_a_few_entries_with_numbered_keys_are_one_holder(self):
        self.keep(kept={"reader-%d" % n: Session() for n in range(5)}, parts=dict(zip("abcde", sessions(5).values())))
        told = self.look()
        self.assertEqual(told.pop(self.path("dict M.kept[…].layers[…]")), (5 * 2 * MIB, 10))
        self.assertEqual(len(told), 5)

    def test_many_entries_with_the_same_below_them_are_one_holder(self):
        self.keep(kept=sessions(8))
        told = {self.path("dict M.kept[…].layers[…]"): (8 * 2 * MIB, 16)}
        self.assertEqual(self.look(), told)
        self.assertEqual(self.surveys.told[0]["length"], 8)
        self.assertIn("test_siblings.py", self.surveys.told[0]["filled"])
        self.assertEqual(self.end(), told)

    def test_a_few_more_keys_than_at_a_look_before_are_enough(self):
        self.keep(kept=sessions(3))
        self.assertEqual(len(self.look()), 3)
        kept.update(sessions(4))  # a name of this module
        told = {self.path("dict M.kept[…].layers[…]"): (7 * 2 * MIB, 14)}
        self.assertEqual(self.look(), told)
        self.assertEqual(self.end(), told)
        gone = naming.with_gone([], self.surveys.told)
        self.assertEqual([e["path"] for e in gone], [next(iter(told)) + " (gone at the end)"])

    def test_constant_keys_stay_apart(self):
        self.keep(state={name: Session() for name in ("momentum", "gradient", "average", "train", "test")})
        self.assertEqual(len(self.look()), 5)
        for name in state:
            state[name] = Session(3)
        told = {self.path("list M.state['%s'].layers" % name): (3 * MIB, 3) for name in state}
        self.assertEqual(self.look(), told)
        self.assertEqual(self.end(), told)

    def test_attributes_that_are_made_as_the_program_goes_on_are_one_holder(self):
        self.keep(server=Session(0))
        vars(server).update({"setting_%d" % n: n for n in range(20)})
        for name in ("weight", "bias", "scale"):
            setattr(server, name, torch.empty(MIB))
        self.assertEqual(self.look(), {}, "each alone")
        for number in range(5):
            setattr(server, "update_%d" % number, torch.empty(MIB))  # the line of updates
        self.assertEqual(self.look(), {self.path("dict M.server.__dict__"): (8 * MIB, 8)})
        self.assertIn("test_siblings.py", self.surveys.told[0]["filled"])

    def test_arrays_that_are_entries_stay_apart_until_keys_come(self):
        self.keep(state={"layer%d" % n: torch.empty(MIB) for n in range(10)})
        self.look()
        self.assertEqual(len(self.end()), 10)
        state.update(("layer%d" % n, torch.empty(MIB)) for n in range(10, 14))
        self.assertEqual(self.look(), {self.path("dict M.state"): (14 * MIB, 14)})

    def test_a_look_says_which_arrays_of_the_look_before_are_still_there(self):
        self.keep(kept=[torch.empty(MIB) for _ in range(6)], working=[torch.empty(MIB) for _ in range(6)])
        self.look()
        globals()["working"][:] = [torch.empty(MIB) for _ in range(8)]
        globals()["kept"].extend(torch.empty(MIB) for _ in range(2))
        self.look()
        stayed = {h["path"]: (h["before"], h["stayed"]) for h in self.surveys.told}
        self.assertEqual(stayed, {self.path("list M.kept"): (6, 6), self.path("list M.working"): (6, 0)})

    def test_what_has_stayed_is_asked_for_once_more(self):
        self.keep(kept=[torch.empty(MIB) for _ in range(6)])
        self.look()
        (again,) = self.asked_between_looks()
        self.assertEqual((again["old"], again["old_stayed"]), (6, 6), "nobody asked for what the look found")
        del kept[1]
        kept.extend(torch.empty(MIB) for _ in range(2))
        self.look()
        (told,) = self.surveys.told
        self.assertEqual((told["before"], told["stayed"]), (6, 5))
        self.assertNotIn("old", told)
        del kept[2]
        (again,) = self.asked_between_looks()
        self.assertEqual((again["old"], again["old_stayed"]), (5, 4), "of those that had stayed")
        kept.extend(torch.empty(MIB) for _ in range(4))
        self.look()
        (told,) = self.surveys.told
        self.assertEqual((told["before"], told["stayed"], told["old"], told["old_stayed"]), (7, 6, 5, 4))
        self.assertGreater(told["old_over_ms"], 0)

    def asked_between_looks(self):
        told = [dict(entry) for entry in self.surveys.told]
        running.mark_old(told, self.surveys._notes[-1][1])
        return told

    def test_graphs_are_looked_at_where_autograd_made_something(self):
        self.keep(kept=[torch.empty(MIB) for _ in range(6)])
        self.look()
        self.assertFalse(self.surveys.wants_below(self.process))
        self.keep(loss=torch.operation("Mean", torch.empty(512)))
        self.look()
        self.assertTrue(self.surveys.wants_below(self.process))
        self.surveys.look_below(self.process)

    def test_what_differs_below_the_keys_goes_by_the_dictionary(self):
        self.keep(kept=sessions(8))
        for session in list(kept.values())[:2]:
            session.mask = torch.empty(MIB)
        self.assertEqual(self.look(), {self.path("dict M.kept"): (18 * MIB, 18)})

    def test_lists_of_lists_and_a_dictionary_below_a_constant_key(self):
        lists = {uuid.uuid4().hex: [[torch.empty(MIB)], [torch.empty(MIB)]] for _ in range(9)}
        self.keep(caches={"train": lists, "test": [torch.empty(MIB), torch.empty(MIB)]})
        self.assertEqual(
            self.look(),
            {
                self.path("dict M.caches['train'][…][…][…]"): (18 * MIB, 18),
                self.path("list M.caches['test']"): (2 * MIB, 2),
            },
        )

    def test_parts_of_a_model_are_no_entries(self):
        model = torch.nn.Module()
        model._modules = {"part%d" % n: Session() for n in range(9)}
        self.keep(model=model)
        del model
        self.assertEqual(self.look()[self.path("list M.model.part3.layers")], (2 * MIB, 2))

    def test_no_code_of_a_key_runs(self):
        self.keep(kept={Text(n): Session() for n in range(9)})
        asked = Text.asked
        self.assertEqual(len(self.look()), 1)
        self.end()
        self.assertEqual(Text.asked, asked)

    def test_an_entry_that_was_told_is_not_told_beside_its_dictionary(self):
        whole = ["dict main() local kept[…].layers[…]"]
        self.assertTrue(is_below("list main() local kept['a'].layers", whole))
        self.assertTrue(is_below("main() local kept['a']", ["dict main() local kept"]))
        self.assertFalse(is_below("list main() local other['a'].layers", whole))
        self.assertFalse(is_below("list main() local kept", whole))
        nodes = ["Node objects below main.tree.root"]
        self.assertTrue(is_below("Node main.tree.root", nodes), "the first of them")
        self.assertFalse(is_below("list main.tree.root", nodes))


if __name__ == "__main__":
    unittest.main()
