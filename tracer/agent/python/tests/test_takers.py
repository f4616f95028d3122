"""Lines of a program that take something out of what it fills."""

import os
import tempfile
import unittest
from unittest import mock

from gpumem_agent.holders import ages, takers

HEAD = """class Day(Shop):
    def __init__(self):
        self.bands, self.opened = [], 0

    def enter(self, band):
        self.bands.append(band)

    def settle(self):
"""
# The body of close(), and what is told of the bands: a line of it, that they are only added to, or nothing.
BODIES = (
    ("        return sum(self.bands)\n", "added"),
    ("        return torch.stack([b.mean() for b in self.bands[self.opened:]]).mean().item()\n", "added"),
    ("        for band in self.bands:\n            print(band, len(self.bands))\n", "added"),
    ("        last = self.bands[-1]\n", "added"),
    ("        # self.bands.clear()\n        return 0\n", "added"),
    ("        other = Shelf()\n        other.bands_of.pop(0)\n", "added"),
    ("        self.bands.clear()\n", 9),
    ("        del self.bands[:]\n", 9),
    ("        del self.bands[:-8]\n", 9),
    ("        self.opened = 0\n        self.bands = []\n", 10),
    ("        self.bands: list[float] = list()\n", 9),
    ("        today, self.bands = self.bands, []\n", 9),
    ("        self.bands = [band for band in self.bands if band.open]\n", 9),
    ("        self.bands = [band for band in self.bands if band is not None]\n", 9),
    ("        self.bands = [band for band in self.bands if band is not gone]\n", "taken 9"),
    ("        self.bands = [band for band in self.bands if band.name != gone.name]\n", "taken 9"),
    ("        self.bands[:] = [band for band in self.bands if band.open]\n", 9),
    ("        self.bands = list(one for one in self.bands if one.open)\n", 9),
    ("        self.bands = self.bands[-8:]\n", 9),
    ("        self.bands = list(self.bands[-8:])\n", 9),
    ("        bands = self.bands[self.opened:]\n", "added"),
    ("        kept = [band for band in self.bands if band.open]\n        self.open = 0\n"
     "        self.bands = kept\n", 9),
    ("        kept = [band for band in self.bands if band.open]\n        self.bands = others\n", None),
    ("        kept = [band for band in self.bands if band.open]\n        return kept\n", "added"),
    ("        while self.bands[0].at < now - 20:\n            self.bands.pop(0)\n", 10),
    ("        while self.order and time.monotonic() - self.order[0] > SPAN:\n            del self.bands[0]\n", 10),
    ("        while len(self.bands) > self.limit:\n            self.bands.pop(0)\n", 10),
    ("        if len(self.bands) > self.opened:\n            self.bands.pop().leave()\n", None),
    ("        for old in [k for k, b in self.bands.items() if b.at < time.time() - 2]:\n"
     "            self.bands.pop(old)\n", 10),
    ("        done = [n for n, b in self.bands.items() if b.open]\n        for n in done:\n"
     "            del self.bands[n]\n", 11),
    ("        for n, b in list(self.bands.items()):\n            if b.open:\n                self.bands.pop(n)\n", 11),
    ("        band = self.bands.get(n)\n        if band is not None and band.deadline <= due:\n"
     "            del self.bands[n]\n", 11),
    ("        if self.deadline <= due:\n            del self.bands[0]\n", "taken 10"),
    ("        return self.bands.get(timeout=0.5)\n", "taken 9"),
    ("        return self.bands.get(name)\n", "added"),
    ("        for n in self.called_off:\n            self.bands.pop(n)\n", "taken 10"),
    ("        while time.monotonic() - started < SECONDS:\n            self.bands.pop(0)\n", "taken 10"),
    ("        if band.is_old:\n            self.bands.remove(band)\n", "taken 10"),
    ("        self.bands.pop(0)\n", "taken 9"),
    ("        self.bands.remove(self.bands[0])\n", "taken 9"),
    ("        del self.bands[0]\n", "taken 9"),
    ("        heapq.heappop(self.bands)\n", "taken 9"),
    ("        trim(self.bands, 8)\n", None),
    ("        publish(day=self.day, bands=self.bands)\n", None),
    ("        mine = self.bands\n        mine.pop()\n", "taken 10"),
    ("        mine = self.bands\n        while mine and mine[0].at < now - 20:\n            mine.pop(0)\n", 11),
    ("        mine = self.bands  # of today\n        while mine[0].at < now - 20:\n            mine.pop(0)\n", 11),
    ("        for band in self.bands:\n            while band[0].at < horizon:\n                band.popleft()\n", 11),
    ("        self.expire(self.bands)\n\n    def expire(self, old):\n        while old[0].at < horizon:\n"
     "            old.popleft()\n", "13 expire"),
    ("        expire(9, self.bands['a'])\n\ndef expire(most, old: list):\n    if len(old) > most:\n"
     "        old.pop(0)\n", "13 expire"),
    ("        expire(9, self.bands['a'])\n\ndef expire(old, most):\n    if len(old) > most:\n"
     "        old.pop(0)\n", "added"),
    ("        return self.bands\n", None),
    ("        self.bands = latest(self.bands, 8)\n", 9),
    ("        self.bands = helpers.latest(self.bands)\n", 9),
    ("        self.bands = sorted(self.bands)\n", None),
    ("        self.bands = np.append(self.bands, self.band)\n", None),
)


class TakersTest(unittest.TestCase):
    def told(self, text, name="bands", of_object=True, others=(), line=6, function="enter"):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "day.py")
            files = [file, *(os.path.join(folder, "other%d.py" % i) for i in range(len(others)))]
            for path, content in zip(files, (text, *others)):
                with open(path, "w", encoding="utf-8") as out:
                    out.write(content)
            of_program = [mock.patch.object(module, "program_files", lambda: files) for module in (takers, ages)]
            with of_program[0], of_program[1]:
                found = takers.told(name, of_object, ["%s:%d %s" % (file, line, function)])
            return {k: v.replace(file, "day.py") if k in ("emptied", "taken") else v for k, v in found.items()}

    def test_lines_that_take_something_out_are_found(self):
        for body, expected in BODIES:
            at = expected if type(expected) is str else "%s settle" % expected
            want = {"added": {"only_added": True}, None: {}}.get(expected, {"emptied": "day.py:" + at})
            if at.startswith("taken "):
                want = {"taken": "day.py:%s settle" % at.partition(" ")[2]}
            told = self.told(HEAD + body)
            told.pop("emptied_after", None)
            self.assertEqual(told, want, body)

    def test_the_age_that_a_line_compares_with_is_told(self):
        early = (
            "horizon = now - SPAN\n        while self.bands:\n            if self.bands[0].taken > horizon:\n"
            "                %s"
        )
        for line, age in (
            ("while self.bands[0].at < now - 20:", 20.0),
            ("while self.bands and time.monotonic() - self.bands[0].at > SPAN:", 12.5),
            ("horizon = time.time() - SPAN\n        while self.bands[0].at < horizon:", 12.5),
            ("while self.bands[0].at < now - MOST_AGE:", 30_000.0),
            ("while self.bands[0].at < now - self.span:", None),
            ("while self.bands[0].at < now - OTHER:", None),
            ("while self.bands[0].at < now - HOURS * 3600:", None),
            ("while self.bands[0].at < now - HOURS * 60:", 240.0),
            ("while self.bands[0].at < now - 2.2 * 1000:", 2200.0),
            ("while self.bands[0].at < now - 9 * 1000:", 9000.0),
            ("while self.bands[0].at < now - MOST_AGE / 1000:", 30.0),
            ("while self.bands[0].at < now - 3 * SPAN:", 37.5),
            ("while self.bands[0].at < now - MOST_AGE / 0:", None),
            ("while now - self.bands[0].at > SPAN + 3:", None),
            ("while len(self.bands) > 20:", None),
            ("while (now - self.bands[0].at) * 1e-3 > SPAN:", 12.5),
            ("while self.bands[0].at < now - 5e3:", 5000.0),
            ("while self.bands[0].at < now - 1e99 * 1e99 * 1e99 * 1e99:", None),
            ("print('def f(', 'age, at) < now')\n        while self.bands[0].at < now - age:", None),
            (early % "break", 12.5),
            (early % "pass", None),
        ):
            text = HEAD + "        %s\n            self.bands.pop(0)\n\n\nHOURS = 4\n" % line
            text += "SPAN = 12.5\nMOST_AGE: int = 30_000\n"
            self.assertEqual(self.told(text).get("emptied_after"), age, line)

    def test_the_age_of_an_attribute_is_told_where_the_program_says_it(self):
        line = "        while now - self.bands[0].at > self.span:\n            self.bands.pop(0)\n"
        cutoff = "        cutoff = now - self.span\n" + line.replace("now - self.bands[0].at > self.span",
                                                                       "self.bands[0].at < cutoff")
        swept = "        limit = %s\n        for n in [n for n, b in self.bands.items() if b.used < limit]:\n"
        swept += "            del self.bands[n]\n"
        made = "\n\nclass Base:\n    def __init__(self%s):\n        self.span = %s\n"
        for text, others, age in (
            (line + made % ("", "8"), (), 8.0),
            (cutoff + made % ("", "8"), (), 8.0),
            (line + made % (", seconds=9.0", "seconds"), (), 9.0),
            (line + made % (", span: float = 9.0", "span"), (), 9.0),
            (line + made % (", span", "span"), ("shop = Shop(span=4)\n",), 4.0),
            (line + made % (", span", "span") + "\nSPAN = 2\nshop = Shop(\n    span=SPAN * 3,\n)\n", (), 6.0),
            (line + made % (", span", "span"), ("a = Shop(span=4)\n", "b = Shop(span=5)\n"), None),
            (line + made % (", name, span", "span"), ("base = Base('a', 3)\n",), 3.0),
            (line + made % (", name, span", "span"), ("base = Base('a', LONGEST)\n",), None),
            (cutoff.replace("< cutoff", "< cutoff * 1000") + made % ("", "8"), (), 8000.0),
            (cutoff.replace("< cutoff", "< cutoff * speed") + made % ("", "8"), (), None),
            (line + made % (", span", "other") + made % (", other", "span"), (), None),
            (line + made % (", name, span", "span"), ("base = Base(name('a', 2), 3)\n",), 3.0),
            (swept % "time.monotonic() - self.span" + made % ("", "8"), (), 8.0),
            (swept % "time.monotonic() + self.span" + made % ("", "8"), (), None),
            (swept % "self.span - 2" + made % ("", "8"), (), None),
        ):
            self.assertEqual(self.told(HEAD + text, others=others).get("emptied_after"), age, text)

    def test_the_age_may_be_part_of_an_argument(self):
        text = HEAD + (
            "        self._drop_before(self.now - self.span)\n\n    def _drop_before(self, limit):\n"
            "        while self.bands and self.bands[0][0] < limit:\n            self.bands.pop(0)\n\n"
            "def run():\n    day = Day(20.0)\n"
        ).replace("settle(self)", "settle(self, band)")
        text = text.replace("__init__(self):\n", "__init__(self, span):\n        self.span = span\n")
        self.assertEqual(self.told(text, line=7), {"emptied": "day.py:14 _drop_before", "emptied_after": 20.0})
        for other in ("if self.bands[0][0] < limit:", "while self.bands[0][0] != limit:", "while self.bands:"):
            told = self.told(text.replace("while self.bands and self.bands[0][0] < limit:", other), line=7)
            self.assertEqual(told, {"taken": "day.py:14 _drop_before"}, other)

    def test_what_takes_a_single_element_out_may_stand_where_it_came_in(self):
        text = "class Day:\n    def serve(self, band):\n        self.bands[band.id] = band\n        try:\n"
        text += "            band.play()\n        finally:\n            self.bands.pop(band.id)\n"
        self.assertEqual(self.told(text, line=3, function="serve"), {"taken": "day.py:7 serve"})
        bound = text.replace("finally", "if len(self.bands) > 9").replace("try", "if band")
        self.assertEqual(self.told(bound, line=3, function="serve"), {})

    def test_a_line_counts_whose_function_is_called_before_the_end(self):
        body = HEAD.replace("(Shop)", "") + "        self.bands = [b for b in self.bands if b.open]\n"
        ended = body + "\n    def close(self):\n        self.settle()\n"
        called = ended + "\n    def run(self):\n        while True:\n            self.settle()\n"
        handed = ended + "\n    def run(self, loop):\n        loop.call_later(2, self.settle)\n"
        self.assertEqual([self.told(text) for text in (body, ended)], [{}, {}])
        for text in (called, handed):
            self.assertEqual(self.told(text), {"emptied": "day.py:9 settle"}, text)
        based = ended.replace("class Day:", "class Day(Handler):")
        marked = ended.replace("    def settle", "    @property\n    def settle")
        self.assertEqual(self.told(based), {"emptied": "day.py:9 settle"}, "a library may call it")
        self.assertEqual(self.told(marked), {"emptied": "day.py:10 settle"}, "likewise")
        self.assertEqual(self.told(ended, others=["def run(day):\n    day.settle()\n"]), {"emptied": "day.py:9 settle"})

    def test_a_bound_beside_the_line_that_fills_is_told_elsewhere(self):
        bounded = HEAD.replace(
            "append(band)\n", "append(band)\n        while len(self.bands) > LIMIT:\n            self.bands.pop(0)\n"
        )
        self.assertEqual(self.told(bounded + "        return 0\n"), {})

    def test_the_other_files_of_the_program_count_as_well(self):
        body = HEAD + "        return sum(self.bands)\n"
        self.assertEqual(self.told(body, others=["def trim(day):\n    day.bands.pop(0)\n"]), {})
        self.assertEqual(self.told(body, others=["def look(day):\n    return len(day.bands)\n"]), {"only_added": True})

    def test_a_variable_is_made_once(self):
        body = "def main():\n    bands = []\n    while True:\n        bands.append(measure())\n"
        self.assertEqual(self.told(body, of_object=False, line=4), {"only_added": True})
        again = body.replace("    while", "    for _ in days:\n        bands = []\n    while")
        self.assertEqual(self.told(again, of_object=False, line=5), {})
        empties = body + "        if full():\n            bands.clear()\n"
        self.assertEqual(self.told(empties, of_object=False, line=4, function="main"), {"emptied": "day.py:6 main"})

    def test_a_program_of_very_many_files_is_not_searched_through(self):
        with mock.patch.object(takers, "MOST_FILES", 1):
            self.assertEqual(self.told(HEAD + "        return 0\n"), {})

    def test_the_container_of_a_path_is_meant_where_its_elements_have_the_arrays(self):
        with mock.patch.object(takers, "told", lambda *asked: asked):
            for path, name, of_object in (
                ("dict main() local board.sightings[…].values", "sightings", True),
                ("deque main() local strips[…][…]", "strips", False),
                ("dict main() local board.sightings", None, None),
                ("dict main() local a.rooms[…].tables[…].view", None, None),
            ):
                self.assertEqual(takers.of_path(path, ["s"]), (name, of_object, ["s"]) if name else {}, path)

    def test_how_a_container_is_made_empties_nothing(self):
        made = "def work():\n    log.kept = []\n    while True:\n        log.kept.append(measure())\n"
        self.assertEqual(self.told(made, "kept", line=4), {"only_added": True})
        one_line = made.replace("    log.kept = ", "    log = Log(); log.kept = ")
        self.assertEqual(self.told(one_line, "kept", line=4), {"only_added": True})
        again = made + "        if full():\n            log.kept = []\n"
        self.assertEqual(self.told(again, "kept", line=4, function="work"), {"emptied": "day.py:6 work"})
        declared = "@dataclass\nclass Log:\n    kept: list = field(default_factory=list)\n\n    def reset(self):\n"
        declared += "        self.kept = []\n\n    def add(self, one):\n        self.kept.append(one)\n\n"
        declared += "def run(log):\n    log.reset()\n"
        self.assertEqual(self.told(declared, "kept", line=9), {"emptied": "day.py:6 reset"})

    def test_what_has_no_name_is_told_nothing_of(self):
        self.assertEqual(takers.told("", False, ["a.py:1 f"]), {})
        self.assertEqual(takers.told("records of a log", False, ["a.py:1 f"]), {})
        self.assertEqual(takers.told("bands", True, []), {})


if __name__ == "__main__":
    unittest.main()
