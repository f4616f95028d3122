"""Arrays are sorted by a function of C that calls back. The callback lives as long as the call.

ticket: common practice: CFUNCTYPE objects kept alive
class: none
"""

import ctypes
import os
import random
import time

libc = ctypes.CDLL(None)
COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
_alive = []


def order(count):
    table = [random.random() for _ in range(count)]
    numbers = (ctypes.c_int * 32)(*random.sample(range(count), 32))

    def compare(a, b):
        x, y = table[a[0]], table[b[0]]
        return (x > y) - (x < y)

    callback = COMPARE(compare)
    libc.qsort(numbers, 32, ctypes.sizeof(ctypes.c_int), callback)
    return table[numbers[0]]


def main():
    end, sorted_ = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        least = order(random.randint(500, 2000))
        sorted_ += 1
        if sorted_ % 200 == 0:
            print(sorted_, least, flush=True)
        time.sleep(random.uniform(0.02, 0.08))


if __name__ == "__main__":
    main()
