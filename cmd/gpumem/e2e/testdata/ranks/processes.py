"""Three processes of one job, each with a rank, by multiprocessing's spawn: rank
1 keeps what it reads. Forked workers read for rank 0, as those of a DataLoader."""

import multiprocessing
import os
import time


# A busy machine gives a rank less in its time: then it goes on until it has read so many.
BATCHES = 500


def load(queue):
    while True:
        queue.put(bytearray(200_000))


def reader(rank):
    """A function that reads a batch."""
    if rank != 0:
        return lambda: bytearray(200_000)
    context = multiprocessing.get_context("fork")
    queue = context.Queue(2)
    for _ in range(2):
        context.Process(target=load, args=(queue,), daemon=True).start()
    return queue.get


def work(rank, seconds):
    os.environ["RANK"] = str(rank)
    read = reader(rank)
    kept, batches = [], 0
    end = time.monotonic() + seconds
    while time.monotonic() < end or batches < BATCHES:
        batch = read()
        batches += 1
        if rank == 1:
            kept.append(batch)
        time.sleep(0.01)


if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    ranks = [context.Process(target=work, args=(r, 8.0), name="rank-%d" % r) for r in range(3)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join()
