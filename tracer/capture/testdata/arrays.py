"""Keeps and works with arrays while the interposer samples NumPy's data, as the agent has it do.

Usage: arrays.py FILES-OF-THE-AGENT. Prints the sites that are told, "BYTES DATA FILE:LINE NAME",
and "ok" at its end.
"""

import ctypes
import os
import sys
import threading
import tracemalloc

sys.path.insert(0, sys.argv[1])
from gpumem_agent import arraydata, heapsites  # noqa: E402
from gpumem_agent.native import Native  # noqa: E402
from opens import Process  # noqa: E402

FUNCTIONS = 17  # words of a handler before its functions
MIB = 1 << 20


doors = heapsites.open_doors(Process())
assert doors.open() and doors.close(60) is not None
assert "numpy" not in sys.modules, "NumPy was imported"

import numpy as np  # noqa: E402

kept = []


def keeps(n):
    for i in range(n):
        kept.append(np.arange(40000) + i)  # keeps large


def keeps_small(n):
    for _ in range(n):
        kept.append(np.zeros(90))  # keeps small


def keeps_zeros(n):
    for i in range(n):
        kept.append(np.zeros(100000 + i))  # keeps zeros


def grows():
    grown = np.zeros(1000)
    for i in range(1, 17):
        grown.resize(i * 131072, refcheck=False)  # keeps grown
    kept.append(grown)


def works(n):
    for i in range(n):
        some = np.arange(5000.0) * i + 1
        some.sort()
    return some


def in_threads(n):
    def run():
        for _ in range(n):
            kept.append(np.arange(500000) * 2)  # keeps threads
            records.argsort()  # compares without the interpreter's lock, where NumPy does

    records = np.zeros(300, dtype=[("a", "<i1"), ("b", ">i8"), ("c", "<f8")])
    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def told(sites):
    for site in sites:
        print(site["bytes"], site.get("array_bytes", 0), site["site"], flush=True)


def arrays_of(sites):
    return sum(site.get("array_bytes", 0) for site in sites)


# So much that what is told is off by less than two fifths in all but one of 10,000 runs: it is
# told from samples, one for each 512 KiB.
assert doors.open(), "no window"
keeps(160)
keeps_small(80000)
keeps_zeros(40)
grows()
in_threads(2)
works(3000)
child = os.fork()
if child == 0:  # it has a window that nobody closes
    works(100)
    kept.clear()
    keeps(10)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0, "the child did not end well"
told(doors.close(60))
kept.clear()  # what was sampled is given back without a window
works(100)

# What another tool has NumPy's data traced with sees it as before.
tracemalloc.start()
before = tracemalloc.get_traced_memory()[0]
assert doors.open()
keeps(100)
assert arrays_of(doors.close(60)) > 2 * MIB, "beside a tool"
assert tracemalloc.get_traced_memory()[0] - before > 2 * MIB
kept.clear()
assert tracemalloc.get_traced_memory()[0] - before < MIB
tracemalloc.stop()

# The functions of the handler, which a window puts its own in place of.
address = arraydata.find_handler(Native())
words = (ctypes.c_size_t * 4).from_address(address + FUNCTIONS * 8)
theirs = list(words)
assert doors.open()
assert not set(words) & set(theirs), "NumPy's own functions are in a window's place"
ours = list(words)
doors.close(60)
assert list(words) == theirs, "NumPy's functions are not back"

# A tool that has its own there: it stays, and nobody knows what goes by.
arguments = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t
theirs_malloc = ctypes.PYFUNCTYPE(*arguments)(theirs[0])
strange = ctypes.CFUNCTYPE(*arguments)(lambda context, size: theirs_malloc(context, size))
other = ctypes.cast(strange, ctypes.c_void_p).value
assert doors.open()
keeps(100)
words[3] = theirs[3]  # within a window
assert arrays_of(doors.close(60)) == 0, "what is given back goes by"
assert list(words) == theirs
words[0] = other  # before one
assert doors.open()
keeps(100)
assert list(words) == [other] + theirs[1:], "another's function was replaced"
assert arrays_of(doors.close(60)) == 0
words[0] = theirs[0]
kept.clear()

# A tool that kept ours, and calls them when there is no window.
words[:] = ours
keeps(100)
kept.clear()
assert doors.open()
keeps(100)
assert arrays_of(doors.close(60)) > 2 * MIB, "ours were there already"
assert list(words) == theirs
kept.clear()

# Calls without the interpreter's lock: what they ask for is not told, and nor is what they give back.
assert doors.open()
unlocked_malloc = ctypes.CFUNCTYPE(*arguments)(words[0])
locked_malloc = ctypes.PYFUNCTYPE(*arguments)(words[0])
unlocked_realloc = ctypes.CFUNCTYPE(*arguments[:2], *arguments[1:])(words[2])
unlocked_free = ctypes.CFUNCTYPE(None, *arguments[1:])(words[3])
given_back = [locked_malloc(None, 2 * MIB) for _ in range(10)]  # keeps none
for block in given_back:
    unlocked_free(None, block, 2 * MIB)


def without_the_lock():
    for _ in range(20000):
        unlocked_free(None, unlocked_malloc(None, 4096), 4096)


threads = [threading.Thread(target=without_the_lock) for _ in range(3)]
for thread in threads:
    thread.start()
works(2000)
for thread in threads:
    thread.join()
blocks = [unlocked_realloc(None, unlocked_malloc(None, 2 * MIB), 3 * MIB) for _ in range(10)]
assert arrays_of(doors.close(60)) < MIB, "what was called without the lock"
for block in blocks:
    unlocked_free(None, block, 2 * MIB)

# An interpreter that says of every thread that it has the lock.
try:
    import _interpreters as others
except ImportError:
    import _xxsubinterpreters as others
others.destroy(others.create())
assert arraydata.find_handler(Native()) == 0, "who has the lock is not known"
print("ok")
