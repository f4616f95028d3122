"""Each request has a thread of its own, and each thread a buffer, kept under the thread's name until it ends.

ticket: common practice: a dictionary by thread
class: none
"""

import os
import random
import threading
import time

by_thread = {}


def buffer():
    name = threading.current_thread().name
    if name not in by_thread:
        by_thread[name] = bytearray(random.randint(8000, 24000))
    return by_thread[name]


def handle(number):
    memory = buffer()
    memory[:8] = number.to_bytes(8, "little")
    time.sleep(random.uniform(0.001, 0.02))
    by_thread.pop(threading.current_thread().name, None)


def main():
    end, number = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        number += 1
        threading.Thread(target=handle, args=(number,), name="request-%d" % number).start()
        if number % 500 == 0:
            print(number, threading.active_count(), flush=True)
        time.sleep(random.uniform(0.004, 0.02))


if __name__ == "__main__":
    main()
