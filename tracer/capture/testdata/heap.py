"""Keeps and works while the interposer samples Python's allocators, as the agent has it do.

Usage: heap.py FILES-OF-THE-AGENT. Prints the sites that are told, "BYTES COUNT FILE:LINE NAME",
and "ok" at its end.
"""

import os
import sys
import time
import tracemalloc

sys.path.insert(0, sys.argv[1])
from gpumem_agent import heapsites  # noqa: E402
from opens import Process  # noqa: E402


kept = {}


def small(n):
    for i in range(n):
        kept[i] = "%d" % i * 50  # keeps small


def large(n):
    for i in range(n):
        kept["large", i] = bytes(300000 + i)  # keeps large


def grown():
    parts = bytearray()
    for _ in range(64):
        parts += bytes(1 << 18)  # keeps grown
    kept["grown"] = parts


def works(n):
    for i in range(n):
        words = [str(i + k) for k in range(100)]
        text = bytes(200000)
    return words, text


def told(sites):
    for site in sites:
        print(site["bytes"], site["count"], site["site"], flush=True)


doors = heapsites.open_doors(Process())
assert doors.open(), "no window"
assert not doors.open(), "two windows at once"
small(100000)
large(100)
grown()
works(5000)
child = os.fork()
if child == 0:  # it has a window that nobody closes
    works(100)
    kept.clear()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0, "the child did not end well"
told(doors.close(60))
assert doors.close(60) == [], "a window that is closed"

# A tool that comes on top of a window, and one that a window comes on top of.
assert doors.open()
tracemalloc.start()
large(40)
assert doors.close(60), "below another tool"
works(100)
assert tracemalloc.get_traced_memory()[0] > 1 << 20
tracemalloc.stop()
tracemalloc.start()
works(100)
if doors.open():  # not where our hooks are still below
    large(40)
    tracemalloc.stop()
    doors.close(60)
tracemalloc.stop()
works(100)

# What was asked for after the first seconds is not told.
assert doors.open()
time.sleep(0.2)
large(40)
assert doors.close(0.1) == [], "what came late"
# Nor is anything, beside an interpreter that may have a lock of its own.
try:
    import _interpreters as others
except ImportError:
    import _xxsubinterpreters as others
other = others.create()
assert not doors.open(), "beside another interpreter"
others.destroy(other)
assert doors.open(), "alone again"
doors.close(60)
print("ok")
