"""Three processes of one job, each with a rank, by multiprocessing's spawn: rank
1 keeps what it reads."""

import multiprocessing
import os
import time


def work(rank, seconds):
    os.environ["RANK"] = str(rank)
    kept = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        batch = bytearray(200_000)
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
