"""A pool starts a thread when all are busy, up to twelve; each has a buffer of its own.

ticket: none, threads that start late
class: none
"""

import concurrent.futures
import os
import random
import threading
import time

END = time.time() + float(os.environ.get("SECONDS", "40"))
random.seed(13)
local = threading.local()


def work(size):
    if not hasattr(local, "buffer"):
        local.buffer = bytearray(2 << 20)
    parts = [bytes(size) for _ in range(20)]
    local.buffer[: len(parts[0])] = parts[0]
    time.sleep(random.random() * 0.2)
    return len(parts)


with concurrent.futures.ThreadPoolExecutor(max_workers=12) as pool:
    done, level = 0, 1.0
    while time.time() < END:
        level = min(12.0, level + 0.03)  # the load rises for a while
        futures = [pool.submit(work, random.randrange(1000, 60_000)) for _ in range(int(level))]
        done += sum(f.result() for f in futures)
        time.sleep(0.02)
print(done, threading.active_count())
