"""A program with an audit hook in Python, which is looked at while other threads make tuples: who
holds one that is not whole yet makes it fail. Prints whether the hook was noticed, and what failed."""

import sys
import threading
import time

from gpumem_agent import atomic
from gpumem_agent.holders import downward, living

SECONDS = 2.0


def hook(event, arguments):
    if event == "nothing":
        print(arguments)


def main():
    told = [atomic.is_told()]
    sys.addaudithook(hook)
    told.append(atomic.is_told())
    heap = [{"rows": [number]} for number in range(50000)]
    failed, ended = [], threading.Event()

    def work():
        while not ended.is_set():
            try:
                tuple([number] for number in range(300))
            except SystemError as error:
                failed.append(str(error))

    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    looks, end = 0, time.monotonic() + SECONDS
    while time.monotonic() < end or looks < 4:
        living.census()
        living.generators()
        living.containers()
        downward.Reach((threading.Thread,))
        looks += 1
    ended.set()
    for worker in workers:
        worker.join()
    print("told %s, %d tuples failed: %s" % (told, len(failed), failed[:1]))
    del heap


if __name__ == "__main__":
    main()
