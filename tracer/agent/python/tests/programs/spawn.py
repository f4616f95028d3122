"""Starts a child by multiprocessing's spawn."""

import multiprocessing
import os
import time


def work(queue):
    import gpumem

    gpumem.mark("working")
    os.environ["RANK"] = "7"
    time.sleep(0.5)
    queue.put("done")


if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=work, args=(queue,))
    process.start()
    print(queue.get())
    process.join()
