"""Classes whose objects are in no container that grows."""

import asyncio
import atexit
import collections
import concurrent.futures
import gc
import itertools
import signal
import string
import sys
import threading
import time
import types
import unittest
import unittest.mock
import weakref
import xml.etree.ElementTree as elements

import torch
from gpumem_agent.frameworks import torch as adapter
from gpumem_agent import atomic
from gpumem_agent.holders import classes, downward, living, naming
from gpumem_agent.surveys import Surveys

NUMBER = 3000
BLOB = 200_000
M = __name__


class Node:
    def __init__(self, text):
        self.text = text
        self.children = {}


class Stalled(Exception):
    pass


class Tree:
    """With a short dictionary at each node."""

    def __init__(self):
        self.root = Node("")

    def insert(self, word):
        node = self.root
        for letter in word:
            if letter not in node.children:
                node.children[letter] = Node(word * 50)  # makes nodes
            node = node.children[letter]


class Link:
    __slots__ = ("next", "text")


class Chain:
    def __init__(self):
        self.last = None

    def add(self):
        link = Link()  # makes links
        link.next, link.text = self.last, "%d" % id(link) * 50
        self.last = link


class HostArray:
    """It has memory of its own and knows how much, as NumPy's does."""

    dtype, shape = "uint8", (BLOB,)
    nbytes = property(lambda self: BLOB)
    base = property(lambda self: None)

    def __sizeof__(self):
        return BLOB


class Unarmed:
    sites_wanted = False


class Step:
    def __init__(self, state, before):
        self.state, self.before = state, before


class Yard:
    """A node of a tree that knows its parent."""

    def __init__(self, state, parent):
        self.state, self.parent, self.children = state, parent, {}


class Entry:
    """Has those that were written just before it, which have others."""

    def __init__(self, state, before):
        self.state, self.before = state, list(before)


class Kept(collections.namedtuple("Kept", "state before")):
    """A tuple, which is a container of few elements."""


class Session:
    """Asks to be closed at the program's end, which keeps it."""

    open_ones = [None, None]

    def __init__(self):
        self.text = "%d" % id(self) * 5000
        atexit.register(self.close)  # keeps sessions
        self.open_ones[:] = [self.open_ones[-1], self]

    def close(self):
        self.text = ""


class Note:
    """Of which the latest two are in use."""

    open_ones = [None, None]

    def __init__(self):
        self.text = "%d" % id(self) * 5000
        self.open_ones[:] = [self.open_ones[-1], self]

    def close(self, *_):
        self.text = ""


class Largest:
    """Stands for an autograd Function: applied, it makes a context of a class of its own."""

    @staticmethod
    def apply(kind):
        context = kind()
        context.kept = bytes(20_000)
        return context


def quiet():
    """A class whose metaclass nobody may ask."""

    class Failing(type):
        def __getattribute__(cls, name):
            raise AssertionError(name)

        def __hash__(cls):
            raise AssertionError("hash")

        def __eq__(cls, other):
            raise AssertionError("eq")

    class Quiet(metaclass=Failing):
        pass

    return Quiet


class Poller(threading.Thread):
    def __init__(self, end):
        super().__init__(daemon=True)
        self.end, self.page = end, bytes(9000)

    def run(self):
        self.end.wait()


def words():
    return map("".join, itertools.product("abcdefghijklmno", repeat=4))


class ClassesTest(unittest.TestCase):
    def setUp(self):
        gc.collect()
        self.process = types.SimpleNamespace(
            frameworks=[], sites_wanted=False, held=lambda: (None, None), idle=None, heap_now=lambda: None
        )
        self.surveys = Surveys()

    def keep(self, **names):
        globals().update(names)
        self.addCleanup(lambda: [globals().pop(n, None) for n in names])

    def look(self):
        self.surveys._begun = time.monotonic()
        self.assertTrue(self.surveys.look_now(self.process, time.monotonic() + 20))
        return {h["path"]: h for h in self.surveys.told}

    def grown(self, step):
        """What the last of three looks finds, of a program that does a step between them."""
        self.look()
        for times in (1, 2):  # what grew by no more than before may have come to its end
            for _ in range(times):
                step()
            found = self.look()
        return found

    def test_nodes_of_a_tree_are_told_with_its_root_and_the_line_that_makes_them(self):
        self.keep(tree=Tree())
        every = words()
        found = self.grown(lambda: [tree.insert(w) for w in itertools.islice(every, NUMBER)])
        (path,) = found
        self.assertEqual(path, "Node objects below %s.tree.root" % M)
        told = found[path]
        self.assertEqual(told["filled"].split("; ")[-1], self.line("makes nodes") + " insert")
        self.assertGreater(told["length"], 3 * NUMBER)
        self.assertTrue(2 * NUMBER <= told["count"] < 3 * NUMBER, told)
        least = sys.getsizeof("abcd" * 50) + sys.getsizeof({})  # what a leaf has
        self.assertTrue(least < told["bytes"] / told["count"] < 3 * least, (least, told))

    def test_what_the_last_few_refer_to_is_told_by_its_class(self):
        torch.empty(512)  # the device lives
        self.process.frameworks, held = [adapter.open_framework(torch, self.process)], [1 << 20]
        self.process.held = lambda: (held[0], None)
        self.keep(journal=types.SimpleNamespace(last=[]))

        def step():
            for _ in range(40):
                journal.last = journal.last[-2:] + [Entry(torch.empty(1 << 18), journal.last)]  # makes entries
                held[0] += 1 << 18

        for _ in range(4):
            step()
            found = self.look()
        path = "Entry objects below %s.journal.last" % M
        self.assertEqual(list(found), [path])
        self.assertGreaterEqual(found[path]["bytes"], 40 << 18)
        self.assertIn(self.line("makes entries"), found[path]["filled"])

    def test_what_one_object_takes_does_not_depend_on_how_many_are_looked_at(self):
        self.keep(tree=Tree())
        for word in itertools.islice(words(), 2 * NUMBER):
            tree.insert(word)
        with unittest.mock.patch.object(classes, "MOST", 300):
            ((_, few),) = classes._weighed([(Node, 2 * NUMBER)])
        ((_, all_of_them),) = classes._weighed([(Node, 2 * NUMBER)])
        self.assertTrue(0.5 < few / all_of_them < 2, (few, all_of_them))

    def test_links_of_a_chain_are_told_with_its_end(self):
        self.keep(chain=Chain())
        found = self.grown(lambda: [chain.add() for _ in range(NUMBER)])
        (path,) = found
        self.assertEqual(path, "Link objects below %s.chain.last" % M)
        self.assertEqual(found[path]["filled"], self.line("makes links") + " add")

    def test_classes_of_the_host_are_not_counted_where_holders_explain_what_came(self):
        self.keep(rows=[])
        heap = [1 << 20]
        self.process.held = lambda: (None, heap[0])

        def step():
            rows.extend("%d" % i * 3000 for i in range(1000, 2000))
            heap[0] += 12_000_000

        with unittest.mock.patch.object(living, "census", side_effect=living.census) as census:
            self.look()  # counts, for those that compare
            step()
            self.look()  # from here on it is known how much came
            counted = census.call_count
            step()
            self.assertEqual((list(self.look()), census.call_count), (["list %s.rows" % M], counted))

    def test_objects_of_a_library_are_told_where_the_program_makes_them(self):
        self.keep(letters=types.SimpleNamespace(last=None))

        def write():
            letter = string.Template("%d" % time.monotonic_ns() * 50)  # makes letters
            letter.before, letters.last = letters.last, letter

        found = self.grown(lambda: [write() for _ in range(NUMBER)])
        self.assertEqual(list(found), ["Template objects below %s.letters.last" % M])
        self.assertEqual(next(iter(found.values()))["filled"], self.line("makes letters") + " write")

    def test_the_end_of_a_chain_is_among_the_objects_that_are_looked_at(self):
        self.keep(chain=Chain())
        for _ in range(NUMBER):
            chain.add()
        gc.collect()
        for number in (NUMBER, NUMBER + 1):  # the youngest is the last of the old ones, or is apart
            with unittest.mock.patch.object(classes, "MOST", 300):
                ((identities, _),) = classes._weighed([(Link, number)])
            self.assertTrue(id(chain.last) in identities)
            self.assertEqual(len(identities), 300)
            chain.add()

    def test_a_chain_is_told_with_its_end_though_that_is_another_link_by_then(self):
        weighed = classes._weighed

        def further(*args):
            chain.add()
            vars(chain)  # from 3.11 on an object has a dictionary once somebody asks for it
            return weighed(*args)

        self.keep(chain=Chain())
        with unittest.mock.patch.object(classes, "_weighed", further):
            found = self.grown(lambda: [chain.add() for _ in range(NUMBER)])
        self.assertEqual(list(found), ["Link objects below %s.chain.last" % M])

    @unittest.skipUnless(hasattr(atexit, "_ncallbacks"), "nobody tells how many there are")
    def test_objects_that_callbacks_for_the_end_keep_are_not_where_the_few_in_use_are(self):
        self.addCleanup(lambda: [atexit.unregister(s.close) for s in self.sessions])
        self.sessions = ()

        def step():
            for _ in range(100):
                Session()

        found = self.grown(step)
        self.sessions = [o for o in gc.get_objects() if type(o) is Session]
        told = found["Session objects below callbacks of atexit.register"]
        self.assertIn(self.line("keeps sessions") + " __init__", told["filled"].split("; "))
        self.assertEqual(told["count"], 200)

    @unittest.skipUnless(hasattr(atexit, "_ncallbacks"), "nobody tells how many there are")
    def test_beside_a_device_what_callbacks_for_the_end_keep_is_told_for_them(self):
        torch.empty(512)  # the device lives
        self.process.frameworks = [adapter.open_framework(torch, Unarmed)]
        self.process.held = lambda: (None, 100 << 20)
        self.surveys._heap, self.surveys._explains = 0, lambda process, found: False
        self.addCleanup(lambda: [atexit.unregister(s.close) for s in self.sessions])
        self.sessions = []

        def step():
            for _ in range(100):
                session = Session()
                session.sound = torch.empty(1 << 20, "cpu")
                self.sessions[:] = [*self.sessions[-1:], session]

        found = self.grown(step)
        self.sessions = [o for o in gc.get_objects() if type(o) is Session]
        told = found["Session objects below callbacks of atexit.register"]
        self.assertIn(self.line("keeps sessions") + " __init__", told["filled"].split("; "))
        self.assertTrue(told["host"])

    def test_a_chain_of_arrays_of_a_device_is_told_once_no_holder_has_what_came(self):
        torch.empty(512)  # the device lives
        self.process.frameworks = [adapter.open_framework(torch, Unarmed)]
        self.keep(last=None)

        def step():
            for _ in range(100):
                globals()["last"] = Step(torch.empty(1 << 20), last)  # makes steps

        found = self.grown(step)
        told = found["Step objects below %s.last" % M]
        self.assertEqual(told["filled"], self.line("makes steps") + " step")
        self.assertEqual((told["count"], told["bytes"]), (200, 200 << 20))
        self.assertNotIn("host", told)

    def test_a_tree_whose_root_moves_on_and_knows_its_parents_is_told_by_its_nodes(self):
        torch.empty(512)  # the device lives
        self.process.frameworks = [adapter.open_framework(torch, Unarmed)]
        self.keep(planner=types.SimpleNamespace(root=Yard(torch.empty(1 << 20), None)))

        def step():
            for _ in range(40):
                root = planner.root
                for move in range(4):
                    root.children[move] = Yard(torch.empty(1 << 20), root)  # makes yards
                planner.root = root.children[0]

        found = self.grown(step)
        (told,) = [h for p, h in found.items() if p.startswith("Yard objects")]
        self.assertIn(self.line("makes yards") + " step", told["filled"].split("; "))
        self.assertEqual((told["count"], told["bytes"]), (2 * 160, 2 * 160 << 20))

    def test_a_chain_of_arrays_of_the_host_is_told_though_its_first_ones_are_followed(self):
        numpy = types.SimpleNamespace(ndarray=HostArray)
        self.keep(last=None)
        for kind in (Step, Kept):

            def step():
                for _ in range(100):
                    globals()["last"] = kind(HostArray(), last)

            with unittest.mock.patch.dict(sys.modules, numpy=numpy):
                found = self.grown(step)
            told = found["%s objects below %s.last" % (kind.__name__, M)]
            self.assertEqual((told["count"], told["bytes"] // BLOB), (200, 200))
            self.assertNotIn("%s %s.last" % (kind.__name__, M), found)
            globals()["last"], self.surveys = None, Surveys()

    def test_no_class_is_counted_on_a_device_where_a_holder_has_what_came(self):
        torch.empty(512)
        self.process.frameworks = [adapter.open_framework(torch, Unarmed)]
        self.keep(rows=[])
        with unittest.mock.patch.object(living, "census", side_effect=living.census) as census:
            found = self.grown(lambda: rows.extend(torch.empty(1 << 20) for _ in range(100)))
            self.assertEqual((list(found), census.call_count), (["list %s.rows" % M], 0))
            rows[:] = []
            self.keep(batch=torch.empty(1 << 20))
            self.assertEqual((self.look(), census.call_count), ({}, 0))  # some are in variables

    def test_a_name_that_leads_to_the_few_in_use_does_not_hold_the_many(self):
        self.addCleanup(signal.signal, signal.SIGTERM, signal.getsignal(signal.SIGTERM))

        def handler(note, before):
            return lambda *_: (note.close(), before)

        def step():  # no collector sees the handlers
            for _ in range(100):
                note = Note()  # makes notes
                signal.signal(signal.SIGTERM, handler(note, signal.getsignal(signal.SIGTERM)))

        found = self.grown(step)
        self.assertEqual(list(found), ["Note objects"])
        self.assertIn(self.line("makes notes") + " step", found["Note objects"]["filled"].split("; "))

    def test_a_holder_without_a_type_hides_no_class_without_a_name(self):
        found = naming.Holders(time.monotonic() + 9, None)
        found.add("main.total", 1, 1)
        kept = [Note() for _ in range(100)]
        reach, register = downward.Reach(()), types.SimpleNamespace(classes_since=None, of_class=lambda _: 0)
        with unittest.mock.patch.object(classes, "_place", return_value=""):
            classes.add(found, reach, register, {atomic.key(Note): len(kept)}, [])
        self.assertIn("Note objects", found.found)

    def test_what_keeps_callbacks_is_told_and_not_the_few_in_use(self):
        loop = asyncio.new_event_loop()
        self.addCleanup(loop.close)
        self.keep(loop=loop, future=concurrent.futures.Future(), owner=Note())
        for path, register in {
            "list %s.loop._scheduled" % M: lambda note: loop.call_later(9999, note.close),
            "list %s.future._done_callbacks" % M: lambda note: future.add_done_callback(note.close),
            "dict class weakref.finalize._registry": lambda note: weakref.finalize(owner, note.close),
        }.items():
            with self.subTest(path):
                self.surveys = Surveys()
                self.assertEqual(list(self.grown(lambda: [register(Note()) for _ in range(100)])), [path])

    def test_elements_of_a_document_are_told_with_the_line_that_parses_it(self):
        self.keep(document=elements.Element("feed"))

        def step():
            for _ in range(NUMBER):
                elements.SubElement(document, "item").text = "%d" % time.monotonic_ns() * 20

        found = self.grown(step)
        (path,) = found
        self.assertEqual(path, "Element objects below %s.document" % M)
        self.assertIn("test_classes.py", found[path]["filled"])

    def test_threads_that_do_not_end_are_told_as_such(self):
        end = threading.Event()
        self.addCleanup(end.set)
        pollers = []

        def start():
            for _ in range(20):
                pollers.append(Poller(end))
                pollers[-1].start()

        with unittest.mock.patch.object(classes, "WEIGHTY", 1 << 10):
            found = self.grown(start)
        (told,) = [h for path, h in found.items() if path.startswith("Poller objects")]
        self.assertEqual(told["kind"], "threads-left")

    def test_exceptions_of_which_each_has_the_last_as_its_cause_keep_its_frames(self):
        last = types.SimpleNamespace(fault=None)

        def fail():
            for number in range(NUMBER):
                fault = Stalled("%d" % number * 99)
                fault.__cause__, last.fault = last.fault, fault

        found = self.grown(fail)
        (told,) = [h for path, h in found.items() if path.startswith("Stalled objects")]
        self.assertEqual(told["kind"], "tracebacks-kept")
        while last.fault is not None:  # or to free them would go as deep
            last.fault = last.fault.__cause__

    def test_a_list_of_objects_is_told_alone(self):
        self.keep(rows=[])
        found = self.grown(lambda: rows.extend(Node("%d" % i * 99) for i in range(NUMBER)))
        self.assertEqual(list(found), ["list %s.rows" % M])

    def test_a_container_in_another_is_told_as_such(self):
        self.keep(tables=[{}, {}])
        numbers = itertools.count()
        found = self.grown(lambda: tables[1].update((n, bytes(900)) for n in range(next(numbers) * NUMBER)))
        self.assertEqual(list(found), ["dict in list %s.tables" % M])

    def test_few_objects_and_light_ones_are_not_told(self):
        self.keep(chain=Chain())
        self.assertEqual(self.grown(lambda: [chain.add() for _ in range(100)]), {})
        with unittest.mock.patch.object(classes, "WEIGHTY", 1 << 30):
            self.assertEqual(self.grown(lambda: [chain.add() for _ in range(NUMBER)]), {})

    def test_objects_without_a_name_are_told_as_such(self):
        def step():
            for _ in range(NUMBER):
                ring = Node("%d" % id(gc) * 90)
                ring.children["itself"] = ring

        gc.disable()
        self.addCleanup(gc.enable)
        found = self.grown(step)
        self.assertEqual(list(found), ["Node objects: a reference cycle through .children"])

    def test_contexts_of_a_function_are_a_cycle_made_where_it_is_applied(self):
        # PyTorch makes their class; an output has its context in C++, and the context the output.
        kind = type("LargestBackward", (), {"_forward_cls": Largest, "__module__": "torch.autograd.function"})

        def handler(context, before):
            return lambda *_: (context, before)

        def step():  # no collector sees the handlers
            for _ in range(100):
                context = Largest.apply(kind)  # makes contexts
                signal.signal(signal.SIGTERM, handler(context, signal.getsignal(signal.SIGTERM)))

        self.addCleanup(signal.signal, signal.SIGTERM, signal.getsignal(signal.SIGTERM))
        (path, told), = self.grown(step).items()
        self.assertEqual(path, "LargestBackward objects: a reference cycle")
        self.assertEqual((told["kind"], told["filled"]), ("reference-cycle", self.line("makes contexts") + " step"))

    def test_no_code_of_a_class_runs(self):
        Quiet = quiet()
        self.addCleanup(gc.collect)
        kept = [Quiet() for _ in range(NUMBER)]
        counts = living.census()[0]
        self.assertIn(NUMBER, counts.values())
        self.assertEqual(len(classes.kinds_of({atomic.key(Quiet)})), 1)
        (chosen,) = classes._chosen([Quiet], {atomic.key(Quiet): 20})
        self.assertIs(chosen, Quiet)
        self.assertEqual(classes.name_of(Quiet), "Quiet")
        del kept

    def line(self, words):
        with open(__file__) as source:
            ends = [line.rstrip().endswith("# " + words) for line in source]
        return "%s:%d" % (__file__, ends.index(True) + 1)


if __name__ == "__main__":
    unittest.main()
