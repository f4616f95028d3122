"""Calls the driver from lines that a test knows by their words "asks for N MiB", in functions that
lines call which it knows by theirs."""

import ctypes
import gc
import os
import sys
import threading

sys.path.insert(0, sys.argv[1])  # of the agent's files
from gpumem_agent import callers

MIB = 1 << 20
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
gc.disable()
told = callers.open_callers()
gc.collect()
assert told.are_wanted()
told.tell()
assert not told.are_wanted()
assert gc.collect() == 0, "the program's collector finds what was used for it"
gc.enable()

# A layout that is wrong in one place is found out, and reads nothing that is no memory.
for name in callers.OFFSETS:
    if name == "padding" or name == "first" and told._layout.unit:
        continue
    if name == "hop" and told._layout.hop >> 31:  # there is none
        continue
    # A few instructions further it is often the same line.
    for change in (8, 24, 1 << 12, 1 << 31)[2 * (name == "first") :]:
        wrong = type(told._layout).from_buffer_copy(told._layout)
        setattr(wrong, name, getattr(wrong, name) ^ change)
        assert not told._is_right(wrong), (name, change)


def take(mib):
    return cuda.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(mib * MIB))  # asks for 3 MiB


def lazily():
    address = ctypes.byref(ctypes.c_uint64())
    yield cuda.cuMemAlloc_v2(address, ctypes.c_size_t(4 * MIB))  # asks for 4 MiB


def in_a_thread():
    cuda.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(5 * MIB))  # asks for 5 MiB


def as_a_package():
    """A function in a package that calls what it is given."""
    folder = os.path.join(sys.argv[2], "site-packages")
    os.makedirs(folder)
    with open(os.path.join(folder, "package.py"), "w") as f:
        f.write("def call(function, *arguments):\n    return function(*arguments)\n")
    sys.path.insert(0, folder)
    import package

    return package.call


def by_a_package():
    return call(cuda.cuMemAlloc_v2, ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(6 * MIB))  # asks for 6 MiB


def in_a_child():
    cuda.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(7 * MIB))  # asks for 7 MiB


for _ in range(3):
    take(1)  # calls take
list(lazily())  # calls lazily
thread = threading.Thread(target=in_a_thread)
thread.start()
thread.join()
call = as_a_package()
by_a_package()  # calls by_a_package
child = os.fork()
if child == 0:
    assert told.are_wanted()
    told.tell()
    in_a_child()  # calls in_a_child
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
told.stop()
assert not told.are_wanted()
cuda.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(9 * MIB))  # its line is not told any more
