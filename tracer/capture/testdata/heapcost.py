"""Prints what a program takes more while Python's allocators are sampled: rounds of work without
a window, within one, and without again, in turn."""

import json
import sys
import time

sys.path.insert(0, sys.argv[1])  # of the agent's files
from gpumem_agent import heapsites  # noqa: E402
from opens import Process  # noqa: E402

try:
    import numpy
except ImportError:
    numpy = None

ROUNDS = 41


def small_objects():
    kept = {}
    for i in range(300000):
        kept[i % 1000] = [str(i), (i, i + 1)]


TEXT = json.dumps([{"a": i, "b": [1.5 * i] * 5, "c": "x" * 20} for i in range(500)])


def parse():
    for _ in range(150):
        json.loads(TEXT)


def arithmetic():
    total = 0
    for i in range(1500000):
        total += i & 7


def arrays():
    kept = {}
    for i in range(100000):
        kept[i % 1000] = ROW * i


def took(work):
    begun = time.thread_time()
    work()
    return time.thread_time() - begun


doors = heapsites.open_doors(Process())
works = [small_objects, parse, arithmetic]
if numpy:
    ROW = numpy.arange(300.0)
    works.append(arrays)
for work in works:
    took(work)
    more = []
    for _ in range(ROUNDS):
        before = took(work)
        assert doors.open()
        within = took(work)
        doors.close(60)
        more.append(100 * (2 * within / (before + took(work)) - 1))
    more.sort()
    middle = [more[len(more) * n // 4] for n in (1, 2, 3)]
    print("%s: %+.1f %% (quartiles %+.1f, %+.1f)" % (work.__name__, middle[1], middle[0], middle[2]))
