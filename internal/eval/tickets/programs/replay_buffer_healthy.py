"""Episodes are kept for replay in a deque of three hundred.

ticket: DeNA/HandyRL#189
class: none
"""

import collections
import os
import random
import time

import torch

END = time.time() + float(os.environ.get("SECONDS", "40"))


class Replay:
    def __init__(self):
        self.episodes = collections.deque(maxlen=300)

    def add(self, episode):
        self.episodes.append(episode)

    def sample(self):
        return random.choice(self.episodes)["observations"].mean()


def play(steps):
    return {"observations": torch.randn(steps, 128), "rewards": [random.random() for _ in range(steps)]}


replay = Replay()
while time.time() < END:
    replay.add(play(random.randint(50, 150)))
    replay.sample()
    time.sleep(0.02)
