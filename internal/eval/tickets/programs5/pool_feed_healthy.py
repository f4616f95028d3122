"""Documents are worked off by a pool of two processes, at most twenty ahead of a slower writer.

ticket: python/cpython#64497
class: none
"""

import itertools
import os
import random
import threading
import time
from multiprocessing import Pool

ahead = threading.Semaphore(20)


def documents(end):
    for number in itertools.count():
        if time.time() > end:
            return
        while not ahead.acquire(timeout=0.1):
            if time.time() > end:
                return
        yield number, random.randint(4000, 12000)


def work(document):
    number, size = document
    time.sleep(random.uniform(0.005, 0.02))
    return number, os.urandom(size)


def main():
    end, done = time.time() + float(os.environ.get("SECONDS", "45")), 0
    with Pool(2) as pool:
        for number, text in pool.imap(work, documents(end)):
            ahead.release()
            done += 1
            time.sleep(random.uniform(0.01, 0.04))
            if done % 100 == 0:
                print(number, len(text), flush=True)
            if time.time() > end:
                break


if __name__ == "__main__":
    main()
