"""A thread is started for each client, and waits for more from it for good; each has a buffer of its own.

ticket: none, threads that do not end
class: host-growth
cause: threads-left results-kept
"""

import os
import queue
import random
import threading
import time

END = time.time() + float(os.environ.get("SECONDS", "40"))
random.seed(13)


def serve(inbox):
    buffer = bytearray(256 << 10)  # grows
    while True:
        size = inbox.get()
        buffer[:size] = bytes(size)


clients = 0
while time.time() < END:
    inbox = queue.Queue()
    threading.Thread(target=serve, args=(inbox,), daemon=True).start()  # keeps
    for _ in range(3):
        inbox.put(random.randrange(1000, 60_000))
    clients += 1
    time.sleep(0.1)
print(clients, threading.active_count())
