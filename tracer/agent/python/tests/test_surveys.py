"""When the program is looked at while it runs, and what is kept of that."""

import time
import types
import unittest
import unittest.mock

import acted
from gpumem_agent import allowance, gains, mappings, surveys, unseen
from gpumem_agent.frameworks import Framework
from gpumem_agent.holders import lasting, recounts, running


class Recorded(Framework):
    """A framework with a live device that records sites."""

    def __init__(self):
        self.now = {}

    def active(self):
        return True

    def sites(self):
        return self.now


class SurveysTest(unittest.TestCase):
    def setUp(self):
        self.framework = Recorded()
        self.held = (None, None)
        self.process = types.SimpleNamespace(
            frameworks=[self.framework],
            sites_wanted=True,
            steps=acted.Steps(True),
            held=lambda: self.held,
            idle=None, heap_now=lambda: None,
        )
        self.surveys = surveys.Surveys()

    def test_the_first_look_comes_after_the_survey_that_it_is_compared_with(self):
        self.surveys._next = time.monotonic() - 1  # a slow start, the look is due
        self.surveys.take(self.process, [self.framework])
        self.assertFalse(self.surveys.look(self.process, time.monotonic()))

    def test_a_first_look_that_comes_late_is_compared_with_after_half_as_long_again(self):
        begun = self.surveys._begun
        for lasted, compares, want in ((2.0, False, 2.0), (16.0, False, 8.0), (16.0, True, 16.0)):
            self.assertAlmostEqual(self.surveys._pause(begun + lasted, compares), want)

    def test_the_first_looks_may_cost_more_than_their_share(self):
        self.surveys.take(self.process, [self.framework])
        looks, begun = self.surveys.allowance, self.surveys._begun
        looks.spent = allowance.CREDIT
        self.assertEqual(looks.paid(begun), begun)
        looks.spent += 0.01
        self.assertAlmostEqual(looks.paid(begun) - begun, 0.01 / allowance.SHARE, places=3)

    def test_a_program_with_steps_that_pins_more_and_more_is_looked_at(self):
        self.held = (1 << 20, 1 << 20)
        with unittest.mock.patch.object(mappings, "shared", lambda: 100 << 20):
            self.surveys.take(self.process, [self.framework])
        for shared, steady in ((100, True), (104, True), (120, False)):
            with unittest.mock.patch.object(mappings, "shared", lambda size=shared: size << 20):
                self.assertEqual(self.surveys._is_steady(self.process), steady, shared)

    def test_what_was_told_before_the_survey_is_no_holder_of_what_comes_after(self):
        told = [{"path": "list imports() local paths", "bytes": 4096, "count": 2}]
        self.surveys._told = told
        self.surveys.restart()
        self.assertEqual(self.surveys.told, [])
        self.surveys._told = told
        self.surveys.take(self.process, [self.framework])
        self.assertEqual(self.surveys.told, [])
        self.surveys._told = told
        self.surveys.restart()  # of another framework: the survey stays
        self.assertEqual(self.surveys.told, told)

    def test_a_last_look_a_moment_later_takes_nothing_back_of_a_holder_that_grows(self):
        told = [{"path": "list t.kept", "bytes": 8 << 20, "count": 8, "over_ms": 8000.0}]
        once = [{"path": "list t.kept", "bytes": 1 << 20, "count": 1, "over_ms": 1000.0}]
        self.assertEqual(lasting.lasting(once, told), told)
        more = [{"path": "list t.kept", "bytes": 9 << 20, "count": 9, "over_ms": 9000.0}]
        self.assertEqual(lasting.lasting(more, told), more)
        # What is made anew at each step is as much after twice the time.
        same = [{"path": "list t.kept", "bytes": 8 << 20, "count": 8, "over_ms": 16000.0}]
        self.assertEqual(lasting.lasting(same, told), [])
        self.assertEqual(lasting.lasting([], told), [])
        # What comes in portions is, too, but keeps those before.
        told[0]["length"], longer = 8, [dict(same[0], length=16)]
        self.assertEqual(lasting.lasting(longer, told), longer)
        self.assertEqual(lasting.lasting([dict(same[0], length=9)], told), [])
        # One that keeps what it has need not be longer by half: half as many came as before.
        told[0]["length"], longer = 40, [dict(same[0], length=44)]
        self.assertEqual(lasting.lasting(longer, told), longer)
        self.assertEqual(lasting.lasting([dict(same[0], length=43)], told), [])
        # One that is made anew for each request has by chance a little more.
        again = dict(same[0], length=40, bytes=told[0]["bytes"] + 1000)
        self.assertEqual(lasting.lasting([again], told), [])
        self.assertEqual(lasting.lasting([dict(again, length=41)], told), [dict(again, length=41)])
        swollen = [dict(again, bytes=2 * told[0]["bytes"])]
        self.assertEqual(lasting.lasting(swollen, told), swollen)

    def test_a_look_a_moment_after_another_takes_nothing_back(self):
        now = time.monotonic()
        told = [{"path": "list t.kept", "bytes": 8 << 20, "count": 8, "over_ms": 8000.0}]
        noted = types.SimpleNamespace(places={}, sizes={}, kept={}, outlived={}, complete=True)
        original, running.look = running.look, lambda *_: ([], noted)
        try:
            for age, left in ((1, told), (9, [])):
                self.surveys._begun, self.surveys._told = now - 17, told
                self.surveys._notes = [(now - 12, noted), (now - age, noted)]
                self.surveys.look_now(self.process, now + 100)
                self.assertEqual(self.surveys.told, left)
            for noted.complete, deadline in ((True, now - 1), (False, now + 100)):  # not seen whole
                self.surveys._told = told
                self.surveys.look_now(self.process, deadline)
                self.assertEqual(self.surveys.told, told)
            # Nor does one that finds nobody while the program goes on to hold more.
            noted.complete, self.surveys._told = True, told
            noted.ways = {}
            before = types.SimpleNamespace(**{**vars(noted), "ways": {"w": 1}})
            self.surveys._notes = [(now - 12, noted), (now - 9, before)]
            self.surveys.look_now(self.process, now + 100, [(2, 1)])
            self.assertEqual((self.surveys.told, noted.ways), (told, {"w": 1}))
            # It does of one that it finds, and that got no more.
            running.look = lambda *_: ([dict(told[0])], noted)
            self.surveys._notes = [(now - 17, noted), (now - 16, before)]
            self.surveys.look_now(self.process, now + 100, [(2, 1)])
            self.assertEqual(self.surveys.told, [])
        finally:
            running.look = original

    def test_of_a_program_that_stands_since_the_look_before_no_more_is_asked_than_its_names(self):
        noted = types.SimpleNamespace(places={}, sizes={}, kept={}, outlived={}, complete=True)
        answers = []

        def look(process, reference, deadline, before, on_host, explains):
            answers.append(explains([]))
            return [], noted

        with unittest.mock.patch.object(running, "look", look):
            for came in ((), [(0, 1 << 20)], [(2 << 20, 1 << 20)], [(0, 256 << 10), (2 << 20, 1 << 20)]):
                self.surveys.look_now(self.process, time.monotonic() + 100, came)
        self.assertEqual(answers, [None, True, None, None])

    def test_holders_are_asked_again_right_after_the_look_that_found_them(self):
        now, asked = time.monotonic(), []
        self.process.steps.known, self.surveys._begun = False, now - 4
        self.surveys._next = self.surveys._unpaid = now
        with unittest.mock.patch.object(recounts, "asked_again", lambda *_: asked.append(1) or {}):
            self.assertTrue(self.surveys.look(self.process, now))
            for later, times in ((0.5, 0), (1.01, 1), (1.5, 1), (2.3, 2)):
                self.surveys.look(self.process, now + later)
                self.assertEqual(len(asked), times, later)

    def test_a_look_that_only_notes_is_followed_by_one_that_compares(self):
        self.process.steps.known = False
        self.surveys.allowance.spent = 100.0  # dearer than any life is long
        self.assertTrue(self.looks(3))
        self.assertFalse(self.looks(5))
        self.assertTrue(self.looks(7))
        self.assertFalse(self.looks(1000))

    def test_a_look_has_its_time_after_what_it_needs_was_imported(self):
        self.process.steps.known = False
        asked = []
        self.surveys.look_now = lambda _, deadline, came: asked.append(deadline - time.monotonic())
        late = self.surveys._begun + 3 - 100  # the imports took long
        self.surveys._begun, self.surveys._next = late - 3, late - 1
        self.assertTrue(self.surveys.look(self.process, late))
        self.assertGreater(asked[0], 0)

    def test_a_program_that_grows_while_nobody_is_known_is_looked_at_again(self):
        self.held = (10 << 20, None)
        self.surveys.take(self.process, [self.framework])
        self.surveys.allowance.spent = 100.0  # dearer than any life is long
        for at in (3, 7, 15, 31):
            self.held = (at << 24, None)
            self.assertTrue(self.looks(at))
            self.assertFalse(self.looks(at + 1), "no twice its age")
        self.held = (surveys.MUCH - 1 + (31 << 24), None)
        self.assertFalse(self.looks(63), "that much is not to be spent")

    def test_a_program_whose_holder_is_known_or_that_does_not_grow_waits_for_the_next_look(self):
        self.held = (10 << 20, None)
        self.surveys.take(self.process, [self.framework])
        self.surveys.allowance.spent = 100.0
        self.held = (20 << 20, None)
        self.assertTrue(self.looks(3))
        self.assertFalse(self.looks(7), "it holds what it held")
        self.held = (30 << 20, None)
        self.surveys._told = [{"path": "list t.kept", "bytes": 10 << 20, "count": 8}]
        self.assertFalse(self.looks(7), "half of what came")
        self.surveys._told[0]["bytes"] -= 1
        self.assertTrue(self.looks(7))

    def test_a_host_that_grows_beside_a_device_that_does_not_is_looked_at_again(self):
        self.held = (10 << 20, 100 << 20)
        self.surveys.take(self.process, [self.framework])
        self.surveys.allowance.spent = 100.0
        self.held = (10 << 20, 120 << 20)
        self.assertTrue(self.looks(3))
        self.held = (10 << 20, 140 << 20)
        self.surveys._told = [{"path": "list t.kept", "bytes": 30 << 20, "count": 8, "host": True}]
        self.assertFalse(self.looks(7), "its holder is known")
        self.surveys._told[0]["host"] = False
        self.assertTrue(self.looks(7), "the device's is another")
        self.surveys._told, self.surveys.allowance.free = [], 1
        self.held = (10 << 20, 107 << 20)
        self.assertFalse(self.looks(31), "the heap is hardly larger than it was")

    def test_much_that_nobody_has_is_looked_for_whatever_looks_have_cost(self):
        self.held = (10 << 20, 100 << 20)
        self.surveys.take(self.process, [self.framework])
        self.surveys.allowance.spent, self.surveys.allowance.free = 100.0, 0
        self.held = (10 << 20, 120 << 20)
        self.assertTrue(self.looks(3), "the first look is due")
        self.held = (10 << 20, 140 << 20)
        self.assertFalse(self.looks(7), "that much is not to be spent")
        self.held = (10 << 20, (120 << 20) + surveys.MUCH)
        self.assertTrue(self.looks(7.5))
        self.held = (10 << 20, (120 << 20) + 3 * surveys.MUCH)
        self.assertFalse(self.looks(10), "it was looked a moment ago")
        self.assertTrue(self.looks(16))

    def test_a_program_whose_pool_keeps_ever_more_is_looked_at_again(self):
        self.held, self.process.idle = (10 << 20, None), 1 << 20
        self.surveys.take(self.process, [self.framework])
        self.surveys.allowance.spent = 100.0
        self.process.idle += unseen.IDLE - 1
        self.assertFalse(self.looks(3), "no more than before")
        for at in (7, 15, 31):  # the first is paid for
            self.process.idle += unseen.IDLE
            self.assertTrue(self.looks(at))
            self.assertFalse(self.looks(at + 1), "no more since")
        self.process.idle += unseen.IDLE
        self.assertFalse(self.looks(63), "that much is not to be spent")
        self.assertEqual(self.surveys.allowance.free, 3)

    def test_a_program_that_pins_ever_more_is_looked_at_again(self):
        self.process.steps.known = False
        size = 100 << 20
        with unittest.mock.patch.object(mappings, "shared", lambda: size):
            self.assertTrue(self.looks(3), "the first look")
            self.surveys._unseen.note_shared(size)
            self.surveys.allowance.spent = 100.0
            self.assertTrue(self.looks(7), "it compares, whatever that costs")
            self.assertFalse(self.looks(15), "no more since")
            size += unseen.SHARED
            self.assertFalse(self.looks(15.5), "it was just asked")
            self.assertTrue(self.looks(16))
            self.assertFalse(self.looks(33), "no more since")

    def test_what_was_spent_before_the_device_came_to_life_counts_no_more(self):
        self.process.steps.known = False
        self.assertTrue(self.looks(3))
        self.surveys.allowance.spent = 100.0
        self.surveys.restart()
        self.assertTrue(self.looks(3))
        self.assertTrue(self.looks(7))
        self.assertTrue(self.looks(15))

    def looks(self, now):
        """Whether it looks at that many seconds after the survey, with so much held."""
        return self.surveys.look(self.process, self.surveys._begun + now)

    def test_a_program_whose_holders_got_all_that_came_is_only_asked_how_long_they_are(self):
        self.held = (10 << 20, 50 << 20)
        self.surveys.take(self.process, [self.framework])
        entry = {"path": "list t.kept", "bytes": 18 << 20, "count": 18, "filled": "t.py:7 keep"}
        looked, got = [], {}

        def look_now(process, *_):
            looked.append(self.held)
            self.surveys._told, self.surveys._recounted = [entry], {}
            self.surveys._notes = [(0.0, types.SimpleNamespace(ways={}, kept={}, outlived={}))]

        self.surveys.look_now = look_now
        with unittest.mock.patch.object(recounts, "asked_again", lambda *_: dict(got)):
            for when, arrays, more, want in (
                *((3, 20, 0, 1), (6, 28, 9, 2)),  # two looks that compare
                *((12, 36, 8, 2), (24, 60, 32, 2)),  # all that came is the list's
                *((48, 120, 40, 3), (96, 120, 0, 3)),  # and here it is not; no more came
            ):
                self.held = (arrays << 20, 51 << 20)
                got[entry["path"]] = dict(entry, bytes=entry["bytes"] + (more << 20))
                self.surveys.allowance.spent = 0.0
                self.looks(when)
                self.assertEqual(len(looked), want, when)

    def test_a_program_that_holds_what_it_held_is_not_looked_at(self):
        self.held = (10 << 20, 50 << 20)
        self.surveys.take(self.process, [self.framework])
        self.held = (10 << 20, 51 << 20)
        self.assertFalse(self.looks(3))
        self.held = (11 << 20, 51 << 20)
        self.assertFalse(self.looks(3.5), "it was just asked")
        self.assertTrue(self.looks(5))
        self.assertFalse(self.looks(60), "no more than at the last look")
        self.held = (11 << 20, 53 << 20)
        self.assertTrue(self.looks(62))

    def test_nor_is_one_that_pinned_what_it_needs_before_the_survey(self):
        self.held = (10 << 20, 50 << 20)
        size = 10 << 20
        with unittest.mock.patch.object(mappings, "shared", lambda: size):
            self.process.steps.known = False
            self.assertTrue(self.looks(3), "it has none to begin with")
            self.process.steps.known, size = True, size + unseen.SHARED
            self.surveys.take(self.process, [self.framework])
            self.assertFalse(self.looks(3), "that was there at the survey")
            size += unseen.SHARED
            self.assertTrue(self.looks(5))

    def test_what_a_call_is_given_is_no_holder_that_got_more(self):
        cases = ("tuple append() local args", 2, False), ("tuple t.rows", 9, True), ("list t.rows", 2, True)
        for path, count, lasts in cases:
            entry = {"path": path, "bytes": 1 << 20, "count": count}
            self.assertEqual(lasting.lasting([entry], []), [entry] if lasts else [], path)
        single, told = {}, []
        for size in (10, 20, 40):
            single, told = lasting.swelling([{"path": "tuple t.state", "bytes": size, "count": 2}], single)
        self.assertTrue(told, "it was larger at each look")
        single, told = lasting.swelling([], single)
        self.assertEqual((single, told), ({"tuple t.state": (40, 3.0)}, []), "in the midst of a change")
        single, told = lasting.swelling([{"path": "tuple t.state", "bytes": 40, "count": 2}], single)
        self.assertEqual((single, told), ({"tuple t.state": (40, 0)}, []), "no larger")

    def test_what_the_survey_notes_itself_did_not_come(self):
        self.held, self.process.heap_now = (10 << 20, 50 << 20), lambda: 53 << 20
        self.surveys.take(self.process, [self.framework])
        self.held = (10 << 20, 53 << 20)
        self.assertFalse(self.looks(3))

    def test_nor_is_one_without_steps_and_device_after_a_look_that_compared(self):
        self.held = (10 << 20, 50 << 20)
        self.assertTrue(self.looks(3), "it notes")
        self.assertTrue(self.looks(7), "it compares")
        self.assertTrue(self.looks(30), "of a device others may hold more")
        self.process.frameworks = []
        self.assertFalse(self.looks(70))
        self.held = (10 << 20, 52 << 20)
        self.assertTrue(self.looks(72))

    def test_what_a_look_notes_itself_did_not_come(self):
        heap = [50 << 20]
        self.held = (None, heap[0])
        self.process.heap_now = lambda: heap[0]

        def look_now(*_):
            heap[0] += 2 << 20
            return True

        with unittest.mock.patch.object(self.surveys, "look_now", look_now):
            self.assertTrue(self.looks(3))
        self.held = (None, heap[0])
        self.assertTrue(self.surveys._explains(self.process, []), "nothing else came")
        self.held = (None, heap[0] + (2 << 20))
        self.assertFalse(self.surveys._held.grew((None, heap[0])))
        self.assertTrue(self.surveys._held.grew(self.held))

    def test_what_is_unknown_does_not_keep_from_a_look(self):
        self.surveys.take(self.process, [self.framework])
        self.assertTrue(self.looks(3))
        self.held = (1, None)
        self.assertTrue(self.looks(10))
        self.process.steps.known = False
        self.assertTrue(self.looks(50))

    def test_a_heap_that_was_unknown_at_the_survey_counts_from_its_first_reading(self):
        self.held = (10 << 20, None)
        self.surveys.take(self.process, [self.framework])
        self.held = (10 << 20, 50 << 20)
        self.assertFalse(self.looks(3), "no more than it was first known to hold")
        self.held = (10 << 20, 90 << 20)
        self.assertTrue(self.looks(5))

    def test_what_a_compiler_took_before_the_first_look_hides_nothing(self):
        self.surveys._base.came(self.process.held())
        self.held = (None, 395 << 20)
        self.surveys._base.came(self.process.held())
        self.assertFalse(self.surveys._host_grew(395 << 20, None))
        self.assertFalse(self.surveys._host_grew(337 << 20, None), "it is given back")
        self.assertTrue(self.surveys._host_grew(349 << 20, None))
        self.held = (None, 349 << 20)
        self.assertEqual(self.surveys._base.came(self.process.held()), [None, 12 << 20])
        self.assertTrue(self.surveys._host_grew(360 << 20, None))
        self.assertFalse(self.surveys._host_grew(None, None), "unknown")

    def test_what_a_function_held_is_told_after_its_return(self):
        self.framework.now = {"train.py:3 model": [100, 1]}
        self.surveys.take(self.process, [self.framework])
        self.framework.now = {"train.py:3 model": [100, 1], "train.py:9 step": [4000, 40]}
        soon = self.surveys._begun
        self.surveys.look_at_sites(self.process, soon)
        at_end = {"train.py:3 model": [100, 1]}
        self.assertEqual(self.surveys.sites.at_most(at_end), at_end, "a look before its time")
        self.surveys.look_at_sites(self.process, soon + surveys.FIRST_SECONDS)
        self.assertEqual(self.surveys.sites.at_most(at_end), self.framework.now)
        self.assertIsNone(self.surveys.sites.at_most(None))
        more = {"train.py:9 step": [9000, 90]}
        self.assertEqual(self.surveys.sites.at_most(more), more)

    def test_what_a_look_at_a_program_that_winds_up_finds_no_more_is_told(self):
        held = [{"path": "dict serve() local inflight", "bytes": 10 << 20, "count": 8}]
        now = time.monotonic()
        self.surveys._told, self.surveys._lost = [], (now - 1, held)
        self.assertEqual(self.surveys.lately, held)
        self.surveys._lost = (now - 60, held)
        self.assertEqual(self.surveys.lately, [])
        self.surveys._told = [{"path": "list t.kept", "bytes": 1 << 20, "count": 2}]
        self.surveys._lost = (now - 1, held)
        self.assertEqual(self.surveys.lately, self.surveys._told)

    def test_holders_explain_what_came_where_the_first_has_a_line(self):
        process = types.SimpleNamespace(held=lambda: (None, 40 << 20))
        self.surveys._base = gains.Held(None, 10 << 20)
        self.assertFalse(self.surveys.explains(process))
        self.surveys._told = [{"path": "list t.kept", "bytes": 25 << 20, "count": 8, "host": True}]
        self.assertFalse(self.surveys.explains(process))
        self.surveys._told[0]["filled"] = "t.py:7 keep"
        self.assertTrue(self.surveys.explains(process))
        for path in ("Node objects", "Node objects below t.root", "Node objects: a reference cycle"):
            self.surveys._told[0]["path"] = path  # made there, and grown elsewhere
            self.assertFalse(self.surveys.explains(process), path)
        self.surveys._told[0]["path"] = "list objects.kept"
        self.assertTrue(self.surveys.explains(process))
        self.surveys._told[0]["bytes"] = 5 << 20
        self.assertFalse(self.surveys.explains(process))
