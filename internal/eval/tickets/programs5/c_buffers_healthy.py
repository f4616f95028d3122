"""Frames go to a library of C through buffers that are freed after it.

ticket: common practice: malloc through ctypes
class: none
"""

import ctypes
import os
import random
import time

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
libc.memcpy.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]


def encode(frame):
    size = len(frame)
    buffer = libc.malloc(size)
    libc.memcpy(buffer, frame, size)
    first = ctypes.string_at(buffer, 16)
    libc.free(buffer)
    return first


def main():
    end, frames = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        first = encode(os.urandom(random.randint(8000, 40000)))
        frames += 1
        if frames % 500 == 0:
            print(frames, first.hex(), flush=True)
        time.sleep(random.uniform(0.005, 0.03))


if __name__ == "__main__":
    main()
