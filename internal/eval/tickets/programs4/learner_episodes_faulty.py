"""A learner keeps the episodes that its workers played, and drops the oldest when memory is nearly full.

ticket: DeNA/HandyRL#189
class: host-growth
holder: episodes
cause: results-kept unbounded-queue queue-without-bound
"""

import bz2
import collections
import os
import pickle
import random
import threading
import time

import numpy as np


class Trainer:
    def __init__(self, most):
        self.episodes, self.most, self.steps = collections.deque(), most, 0

    def feed(self, episodes):
        self.episodes.extend(episodes)  # keeps
        while len(self.episodes) > self.most:
            self.episodes.popleft()

    def batch(self):
        chosen = random.choices(self.episodes, k=4)
        moments = [pickle.loads(bz2.decompress(random.choice(episode["moments"]))) for episode in chosen]
        return np.stack([moment["seen"] for moment in moments])


def play():
    moments = []
    for _ in range(random.randint(4, 12)):
        seen = np.random.randint(0, 255, (6, 40, 40), dtype=np.uint8)
        moments.append(bz2.compress(pickle.dumps({"seen": seen, "reward": random.random()})))  # grows
    return {"moments": moments, "outcome": random.choice([-1, 1])}


def worker(played, lock, end):
    while time.time() < end:
        episode = play()
        with lock:
            played.append(episode)
        time.sleep(random.uniform(0.02, 0.1))


def main():
    end, played, lock = time.time() + float(os.environ.get("SECONDS", "45")), [], threading.Lock()
    trainer = Trainer(10 ** 15)
    workers = [threading.Thread(target=worker, args=(played, lock, end)) for _ in range(2)]
    for thread in workers:
        thread.start()
    while time.time() < end:
        with lock:
            new, played[:] = list(played), []
        trainer.feed(new)
        if trainer.episodes:
            trainer.steps += 1
            value = trainer.batch().mean()
            if trainer.steps % 50 == 0:
                print("step %d value %.2f" % (trainer.steps, value), flush=True)
        time.sleep(random.uniform(0.03, 0.08))
    for thread in workers:
        thread.join()


if __name__ == "__main__":
    main()
