"""Controller gains for a harbour crane are searched for: the load on its rope shall come to the goal without swinging.
A small network on the device guesses what each of many candidates would cost, and the most promising ones are tried in
a simulation in worker threads, each with many loads and rope lengths. A simulation in which a load swings too far is
broken off. The search prints how many were, and which of them went worst.

ticket: practice
class: host-growth
holder: overswings Bench
cause: tracebacks-kept exception-kept
"""

import os
import random
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import nn

GAINS, CANDIDATES, TRIED, LOADS, STEPS, LIMIT = 4, 512, 6, 160, 400, 0.9


class Overswing(Exception):
    def __init__(self, step, angle):
        super().__init__(f"{angle:.2f} rad in step {step}")
        self.angle = angle


def simulate(gains, seed):
    """The mean cost over all loads of one set of gains."""
    dice = np.random.default_rng(seed)
    ropes = dice.uniform(4, 12, LOADS).astype(np.float32)
    track = np.full((STEPS, 4, LOADS), np.nan, np.float32)  # grows
    track[0] = 0
    track[0, 0] = dice.uniform(-6, 6, LOADS)
    for step in range(1, STEPS):
        place, speed, angle, turning = track[step - 1]
        push = np.clip(-gains[0] * place - gains[1] * speed - gains[2] * angle - gains[3] * turning, -4, 4)
        pull = -(push * np.cos(angle) + 9.81 * np.sin(angle)) / ropes
        track[step] = track[step - 1] + 0.05 * np.stack([speed, push, turning, pull])
        widest = float(np.abs(track[step, 2]).max())
        if widest > LIMIT:
            raise Overswing(step, widest)
    return float(np.square(track[:, 0]).mean() + 5 * np.square(track[:, 2]).mean())


class Bench:
    def __init__(self):
        self.pool = ThreadPoolExecutor(2)
        self.overswings = []
        self.tried = 0

    def attempt(self, gains):
        try:
            return simulate(gains, random.randrange(1000))
        except Overswing as error:
            self.overswings.append(error)  # keeps
            return 60.0

    def costs(self, candidates):
        self.tried += len(candidates)
        return list(self.pool.map(self.attempt, candidates))

    def report(self):
        worst = max(self.overswings, key=lambda error: error.angle, default="none")
        return f"{self.tried} tried, {len(self.overswings)} broken off, worst: {worst}"


class Guess:
    """What the candidates cost, learnt from those that were tried."""

    def __init__(self, device):
        self.device = device
        self.net = nn.Sequential(nn.Linear(GAINS, 512), nn.SiLU(), nn.Linear(512, 1)).to(device)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-3)

    @torch.no_grad()
    def promising(self, mean, spread):
        candidates = mean + spread * torch.randn(CANDIDATES, GAINS, device=self.device)
        best = self.net(candidates)[:, 0].topk(TRIED, largest=False).indices
        return candidates[best]

    def learn(self, candidates, costs):
        targets = torch.tensor(costs, device=self.device).log1p()
        loss = (self.net(candidates)[:, 0] - targets).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return targets.argmin()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    bench, guess = Bench(), Guess(device)
    mean, spread = torch.tensor([0.5, 1.0, 0.0, 0.0], device=device), 1.5
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        candidates = guess.promising(mean, spread)
        best = guess.learn(candidates, bench.costs(candidates.cpu().numpy()))
        mean = 0.9 * mean + 0.1 * candidates[best]
        if bench.tried % (10 * TRIED) == 0:
            print(bench.report(), flush=True)
        time.sleep(random.uniform(0.05, 0.2))
    bench.pool.shutdown()


if __name__ == "__main__":
    main()
