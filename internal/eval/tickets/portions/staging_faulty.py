"""Files of all sizes are read through buffers, of which one for each size is kept.

ticket: none, a buffer for each size
class: host-growth
holder: buffers
cause: results-kept cache-without-bound size-class-misses
"""

import os
import random
import time

END = time.time() + float(os.environ.get("SECONDS", "40"))
random.seed(11)


class Reader:
    def __init__(self):
        self.buffers = {}

    def read(self, size):
        if size not in self.buffers:
            self.buffers[size] = bytearray(size)  # grows
        view = memoryview(self.buffers[size])
        view[::4096] = b"x" * len(view[::4096])
        return sum(view[:512])


reader = Reader()
done = total = 0
while time.time() < END:
    total += reader.read(min(1 << 20, int(random.paretovariate(0.9) * 40_000)))
    done += 1
    time.sleep(0.03)
print(done, total, len(reader.buffers))
