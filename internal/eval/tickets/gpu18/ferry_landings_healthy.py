"""A ferry learns to come to its landing in wind and current. It sees the harbour from above as a few channels of
pictures. What happened is put away by voyages and replayed for learning (Q-learning); old voyages, from when it knew
nothing yet, are not much use, so that only the last ones are drawn from.

ticket: practice
class: none
"""

import collections
import os
import random
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

SIDE, MOVES, RECENT, BATCH = 48, 5, 8, 16
STEPS = np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]], np.float32)


class Harbour:
    def reset(self):
        self.ferry = np.random.uniform(5, SIDE - 5, 2)
        self.landing = np.array([SIDE - 3, np.random.uniform(8, SIDE - 8)])
        self.current = np.random.normal(0, 0.3, 2)
        self.left = random.choice((24, 32, 40))
        return self.look()

    def look(self):
        rows, columns = np.mgrid[:SIDE, :SIDE].astype(np.float32)
        seen = np.zeros((4, SIDE, SIDE), np.float32)
        seen[0] = np.exp(-((rows - self.ferry[0]) ** 2 + (columns - self.ferry[1]) ** 2) / 8)
        seen[1] = np.exp(-((rows - self.landing[0]) ** 2 + (columns - self.landing[1]) ** 2) / 8)
        seen[2:] = self.current[:, None, None]
        return seen

    def step(self, move):
        before = np.linalg.norm(self.ferry - self.landing)
        self.ferry = np.clip(self.ferry + 2 * STEPS[move] + self.current, 0, SIDE - 1)
        self.left -= 1
        after = np.linalg.norm(self.ferry - self.landing)
        return self.look(), float(before - after), after < 2 or self.left == 0


class Replay:
    """What happened on the last voyages."""

    def __init__(self):
        self.episodes, self.current = collections.deque(maxlen=RECENT), []

    def add(self, *transition):
        self.current.append(transition)

    def end_episode(self):
        self.episodes.append(self.current)
        self.current = []

    def sample(self, size):
        recent = [transition for episode in self.episodes for transition in episode]
        return [np.stack(values) for values in zip(*random.choices(recent, k=size))]


class Learner:
    def __init__(self, device):
        self.device = device
        self.model = nn.Sequential(nn.Conv2d(4, 16, 5, 3), nn.ReLU(), nn.Conv2d(16, 16, 3, 2), nn.ReLU(), nn.Flatten(),
                                   nn.Linear(16 * 7 * 7, 64), nn.ReLU(), nn.Linear(64, MOVES)).to(device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), 1e-3)

    @torch.no_grad()
    def move(self, seen):
        if random.random() < 0.2:
            return random.randrange(MOVES)
        return int(self.model(torch.from_numpy(seen)[None].to(self.device)).argmax())

    def learn(self, batch):
        seen, moves, gains, after, over = [torch.as_tensor(values, device=self.device) for values in batch]
        with torch.no_grad():
            aim = gains.float() + 0.95 * self.model(after).amax(-1) * (~over)
        loss = F.smooth_l1_loss(self.model(seen).gather(1, moves[:, None])[:, 0], aim)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main():
    torch.set_num_threads(1)
    harbour, replay, voyages = Harbour(), Replay(), 0
    learner = Learner("cuda" if torch.cuda.is_available() else "cpu")
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        seen, over, gained = harbour.reset(), False, 0.0
        while not over:
            move = learner.move(seen)
            after, gain, over = harbour.step(move)
            replay.add(seen, move, gain, after, over)
            seen, gained = after, gained + gain
            time.sleep(random.uniform(0, 0.006))
        replay.end_episode()
        loss, voyages = learner.learn(replay.sample(BATCH)), voyages + 1
        if voyages % 5 == 0:
            print("voyage", voyages, "gained", round(gained, 1), "loss", round(loss, 3), flush=True)


if __name__ == "__main__":
    main()
