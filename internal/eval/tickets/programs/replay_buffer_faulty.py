"""Episodes are kept for replay in a deque, which was given no length.

ticket: DeNA/HandyRL#189
class: host-growth
holder: episodes
cause: results-kept
"""

import collections
import os
import random
import time

import torch

END = time.time() + float(os.environ.get("SECONDS", "40"))


class Replay:
    def __init__(self):
        self.episodes = collections.deque()

    def add(self, episode):
        self.episodes.append(episode)  # grows

    def sample(self):
        return random.choice(self.episodes)["observations"].mean()


def play(steps):
    return {"observations": torch.randn(steps, 128), "rewards": [random.random() for _ in range(steps)]}


replay = Replay()
while time.time() < END:
    replay.add(play(random.randint(50, 150)))
    replay.sample()
    time.sleep(0.02)
