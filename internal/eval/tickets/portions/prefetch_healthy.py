"""A loader reads ahead into a queue of sixteen batches while the consumer is slow at times.

ticket: none, a queue with a bound
class: none
"""

import os
import queue
import random
import threading
import time

END = time.time() + float(os.environ.get("SECONDS", "40"))
random.seed(41)
batches = queue.Queue(maxsize=16)


def load():
    while time.time() < END:
        batch = bytearray(random.randrange(1 << 20, 3 << 20))
        batch[::4096] = b"z" * len(batch[::4096])
        try:
            batches.put(batch, timeout=1)
        except queue.Full:
            pass
        time.sleep(random.uniform(0.01, 0.1))


loader = threading.Thread(target=load)
loader.start()
used = 0
while time.time() < END:
    used += len(batches.get())
    time.sleep(random.choice((0.01, 0.05, 0.3)))
loader.join()
print(used)
