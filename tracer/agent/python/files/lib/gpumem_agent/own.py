"""The system's functions as they were when the interpreter started.

Tests of programs put others in their place (freezegun, unittest.mock), and some
leave None behind. Here the functions are a class's attributes, because tools that
replace functions everywhere go through the attributes of modules.
"""

import os
import sys
import time
import _thread


def _original(module, name):
    """A function as it was before gevent or eventlet put another in its place: an agent
    that comes into a program which runs comes later than these. What they put there
    would run our thread within the program's, and hold it up."""
    saved = getattr(sys.modules.get("gevent.monkey"), "saved", None)
    if isinstance(saved, dict) and name in saved.get(module.__name__, ()):
        return saved[module.__name__][name]
    patcher = sys.modules.get("eventlet.patcher")
    if patcher is not None:
        try:
            module = patcher.original(module.__name__)
        except Exception:
            pass
    return getattr(module, name)


class own:
    monotonic = time.monotonic
    perf_counter = time.perf_counter
    clock_gettime_ns = time.clock_gettime_ns
    CLOCK_MONOTONIC = time.CLOCK_MONOTONIC
    thread_time = time.thread_time
    sleep = _original(time, "sleep")
    getpid = os.getpid
    stat = os.stat
    fstat = os.fstat
    close = _original(os, "close")
    start_new_thread = _original(_thread, "start_new_thread")
    allocate_lock = _original(_thread, "allocate_lock")
    get_ident = _original(_thread, "get_ident")
