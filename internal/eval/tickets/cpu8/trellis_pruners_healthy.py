"""Vineyard robot that learns to prune: it looks at a vine on its trellis and picks where to cut.

The view of a vine is a small picture of canes and buds. The network gives the value of a cut at each
place for every kind of shears. Transitions go into a replay buffer of fixed size; each step draws a
batch of it and takes one step of learning. For every cultivar and season there is a diary of how far
the learner was off, from which the vintner sees which vines are hard.

ticket: practice
class: none
"""
import os
import time
from collections import defaultdict, deque
from functools import partial

import torch
from torch import nn

torch.set_num_threads(1)

SIDE, SHEARS, BATCH, CAPACITY = 28, 4, 32, 240
CULTIVARS = ("grenache", "mourvedre", "syrah")
STEP = 0.08
SEASON_STEPS = 60


class Vineyard:
    """Draws vines and answers cuts: the reward is the sum of weak wood that the cut removes."""

    def __init__(self, seed):
        self.gen = torch.Generator().manual_seed(seed)

    def vines(self, count):
        return torch.rand(count, 2, SIDE, SIDE, generator=self.gen)

    def cut(self, views, places):
        rows, cols = places // SIDE, places % SIDE
        return 1.0 - 2.0 * views[torch.arange(len(views)), 1, rows, cols]


class Replay:
    def __init__(self):
        self.views = torch.empty(CAPACITY, 2, SIDE, SIDE)
        self.actions = torch.empty(CAPACITY, 2, dtype=torch.long)
        self.rewards = torch.empty(CAPACITY)
        self.written = 0

    def add(self, views, actions, rewards):
        at = torch.arange(self.written, self.written + len(views)) % CAPACITY
        self.views[at], self.actions[at], self.rewards[at] = views, actions, rewards
        self.written += len(views)

    def batch(self, gen):
        pick = torch.randint(min(self.written, CAPACITY), (BATCH,), generator=gen)
        return self.views[pick], self.actions[pick], self.rewards[pick]


class CutNet(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Conv2d(2, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, SHEARS, 3, padding=1))


class Learner:
    def __init__(self, seed):
        torch.manual_seed(seed)
        self.gen = torch.Generator().manual_seed(seed)
        self.net = CutNet()
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=2e-3)

    @torch.no_grad()
    def act(self, views):
        values = self.net(views).flatten(1)
        best = values.argmax(dim=1)
        loose = torch.rand(len(views), generator=self.gen) < 0.2
        best[loose] = torch.randint(values.shape[1], (int(loose.sum()),), generator=self.gen)
        return torch.stack((best // SIDE ** 2, best % SIDE ** 2), dim=1)

    def learn(self, views, actions, rewards):
        values = self.net(views).flatten(2)
        chosen = values[torch.arange(BATCH), actions[:, 0], actions[:, 1]]
        self.optimizer.zero_grad(set_to_none=True)
        nn.functional.smooth_l1_loss(chosen, rewards).backward()
        self.optimizer.step()
        return (values.detach() - rewards[:, None, None]).abs()


def hardest(diary):
    """The cultivar whose last entries are furthest off."""
    last = {name: list(seasons.values())[-1][-1] for name, seasons in diary.items()}
    name = max(last, key=last.get)
    return name, last[name]


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    vineyard, replay, learner = Vineyard(3), Replay(), Learner(4)
    diary = defaultdict(lambda: defaultdict(partial(deque, maxlen=SEASON_STEPS)))
    step, talk = 0, time.time() + 3.0
    while True:
        began = time.time()
        if began >= end:
            break
        season, cultivar = step // SEASON_STEPS, CULTIVARS[step % len(CULTIVARS)]
        views = vineyard.vines(6)
        actions = learner.act(views)
        replay.add(views, actions, vineyard.cut(views, actions[:, 1]))
        off = learner.learn(*replay.batch(learner.gen))
        diary[cultivar][season].append(float(off.mean()))
        diary[cultivar].pop(season - 3, None)
        step += 1
        if began > talk:
            talk = began + 3.0
            name, value = hardest(diary)
            print(f"step {step}, season {season}, replay {min(replay.written, CAPACITY)}, "
                  f"hardest {name} ({value:.3f})", flush=True)
        time.sleep(max(0.0, STEP - (time.time() - began)))
    print(f"pruned {6 * step} vines", flush=True)


if __name__ == "__main__":
    main()
