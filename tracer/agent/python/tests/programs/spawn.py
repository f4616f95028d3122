"""Starts a child by multiprocessing's spawn."""

import multiprocessing
import time


def work(queue):
    import gpumem

    gpumem.mark("working")
    time.sleep(0.3)
    queue.put("done")


if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=work, args=(queue,))
    process.start()
    print(queue.get())
    process.join()
