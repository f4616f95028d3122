"""Files of all sizes are read through one buffer, which is replaced by a larger one when a file does not fit.

ticket: none, a buffer that a larger one replaces
class: none
"""

import os
import random
import time

END = time.time() + float(os.environ.get("SECONDS", "40"))
random.seed(11)


class Reader:
    def __init__(self):
        self.buffer = bytearray(1 << 16)

    def read(self, size):
        if size > len(self.buffer):
            self.buffer = bytearray(1 << (size - 1).bit_length())
        view = memoryview(self.buffer)[:size]
        view[::4096] = b"x" * len(view[::4096])
        return sum(view[:512])


reader = Reader()
done = total = 0
while time.time() < END:
    total += reader.read(min(96 << 20, int(random.paretovariate(0.6) * 40_000)))
    done += 1
    time.sleep(0.03)
print(done, total, len(reader.buffer))
