"""A loader reads ahead into a queue without a bound while the consumer is slow.

ticket: none, a queue without a bound
class: host-growth
holder: batches queue
cause: unbounded-queue
"""

import os
import queue
import random
import threading
import time

END = time.time() + float(os.environ.get("SECONDS", "40"))
random.seed(41)
batches = queue.Queue()


def load():
    while time.time() < END:
        batch = bytearray(random.randrange(1 << 19, 3 << 19))
        batch[::4096] = b"z" * len(batch[::4096])
        batches.put(batch)  # grows
        time.sleep(random.uniform(0.02, 0.1))


loader = threading.Thread(target=load)
loader.start()
used = 0
while time.time() < END:
    used += len(batches.get())
    time.sleep(random.choice((0.1, 0.3)))
loader.join()
print(used)
