"""The system's functions as they were when the interpreter started.

Tests of programs put others in their place (freezegun, unittest.mock), and some
leave None behind. Here the functions are a class's attributes, because tools that
replace functions everywhere go through the attributes of modules.
"""

import os
import time


class own:
    monotonic = time.monotonic
    perf_counter = time.perf_counter
    clock_gettime_ns = time.clock_gettime_ns
    CLOCK_MONOTONIC = time.CLOCK_MONOTONIC
    thread_time = time.thread_time
    sleep = time.sleep
    getpid = os.getpid
    stat = os.stat
    fstat = os.fstat
    close = os.close
