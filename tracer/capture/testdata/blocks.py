"""Keeps and works while the interposer samples a device's blocks, as the agent has it do.

Usage: blocks.py FILES-OF-THE-AGENT FOLDER-OF-THE-STUBS. Prints the sites that are told,
"BYTES COUNT FILE:LINE NAME", and "ok" at its end.
"""

import ctypes
import os
import sys
import threading
import time

sys.path.insert(0, sys.argv[1])
from gpumem_agent.blocksites import BlockSites  # noqa: E402
from gpumem_agent.native import Native  # noqa: E402
from gpumem_agent.sitewindows import Doors  # noqa: E402
from opens import Process  # noqa: E402

KIB = 1 << 10


process = Process()
doors = BlockSites().open_doors(process)
assert not doors.open(), "a window on no allocator"
host = Doors(Native(), "gpumem_tensors")
assert not host.open(), "a window on no tensors"
profiler = ctypes.CDLL(os.path.join(sys.argv[2], "libc10.so"))
pool = ctypes.CDLL(os.path.join(sys.argv[2], "libc10_cuda.so"))
pool.hand_out.restype = ctypes.c_void_p
pool.hand_out.argtypes = ctypes.c_size_t, ctypes.c_int
pool.take_back.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
profiler.profiled.restype = profiler.profiler_calls.restype = ctypes.c_int64

profiler.tensor.restype = ctypes.c_void_p
profiler.tensor.argtypes = (ctypes.c_size_t,)
profiler.drop.argtypes = (ctypes.c_void_p,)

kept = []



def small(n):
    for _ in range(n):
        kept.append((pool.hand_out(6 * KIB, 0), 6 * KIB, 0))  # keeps small


def large(n):
    for _ in range(n):
        kept.append((pool.hand_out(3000 * KIB, 0), 3000 * KIB, 0))  # keeps large


def works(n, device=0):
    for i in range(n):
        block = pool.hand_out(i * KIB + 1, device)
        pool.take_back(block, i * KIB + 1, device)


def told(sites):
    for site in sites:
        print(site["bytes"], site["count"], site["site"], flush=True)
        assert site["caller"].startswith("%s:" % __file__), site


def live():
    return sum(size for _, size, device in kept if device == 0)


works(10)  # binds the word, where that is done at the first call
assert doors.open(), "no window"
assert not doors.open(), "two windows at once"
small(6000)
large(10)
threads = [threading.Thread(target=works, args=(2000, device)) for device in (0, 1, 0, 1)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert doors.calls() > 6010, doors.calls()
child = os.fork()
if child == 0:  # it has a window that nobody closes
    works(100)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0, "the child did not end well"
sites = doors.close(60)
told(sites)
assert all(site["caller"].endswith(" <module>") for site in sites), sites
assert doors.close(60) == [], "a window that is closed"
assert profiler.profiled(0) == live() and profiler.profiled(1) == 0, "the profiler was told less"
assert profiler.profiler_calls() == 6010 + 2 * (10 + 4 * 2000), profiler.profiler_calls()
before = doors.calls()
works(10)
assert doors.calls() == before, "hooks after the window"

# What is given back in the window, or asked for after its first seconds, is not told.
assert doors.open()
large(20)
for block in kept:
    pool.take_back(*block)
time.sleep(0.2)
kept.clear()
large(20)
assert doors.close(0.1) == [], "what came late"
assert profiler.profiled(0) == live()


def computes(n):
    tensors = [profiler.tensor(300 * KIB) for _ in range(n)]  # keeps tensors
    for i in range(n):
        profiler.drop(profiler.tensor(400 * KIB))
    return tensors


computes(1)
assert host.open(), "no window on tensors"
tensors = computes(100)
for tensor in computes(100):
    profiler.drop(tensor)
told(host.close(60))
assert host.close(60) == []
assert host.open()
for tensor in tensors + computes(20):
    profiler.drop(tensor)
assert host.close(60) == [], "what was given back"
print("ok")
