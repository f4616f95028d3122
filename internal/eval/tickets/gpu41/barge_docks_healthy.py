"""Three barges learn to dock in a harbour. Each has a thread that plays with the newest policy and puts its rollouts in
a queue; the learner takes them out, trains the policy on each, and publishes the weights to the fleet.

ticket: practice
class: none
"""

import os
import queue
import random
import threading
import time

import numpy as np
import torch
from torch import nn

SIDE, STEPS, ACTIONS, BARGES = 72, 24, 5, 3
DISCOUNT = 0.97


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.see = nn.Sequential(nn.Conv2d(2, 12, 8, 4), nn.ReLU(), nn.Conv2d(12, 12, 4, 2), nn.ReLU(), nn.Flatten())
        self.hidden = nn.Linear(12 * 7 * 7, 96)
        self.action, self.value = nn.Linear(96, ACTIONS), nn.Linear(96, 1)

    def forward(self, charts):
        hidden = torch.relu(self.hidden(self.see(charts)))
        return self.action(hidden), self.value(hidden).squeeze(-1)


class Harbour:
    """A chart has the barge in its first channel, and the dock with the currents in its second."""

    def __init__(self, rng):
        self.rng = rng
        self.barge, self.dock = rng.integers(4, SIDE - 4, (2, 2))
        self.currents = rng.random((SIDE, SIDE), dtype=np.float32) * 0.3

    def chart(self):
        chart = np.zeros((2, SIDE, SIDE), np.float32)
        chart[1] = self.currents
        for channel, (y, x) in enumerate((self.barge, self.dock)):
            chart[channel, y - 2:y + 3, x - 2:x + 3] = 1.0
        return chart

    def step(self, action):
        before = np.abs(self.barge - self.dock).sum()
        move = ((0, 0), (0, 2), (0, -2), (2, 0), (-2, 0))[action]
        self.barge = np.clip(self.barge + move, 4, SIDE - 4)
        return float(before - np.abs(self.barge - self.dock).sum()) / 2


def play(policy, device, rollouts, end):
    rng = np.random.default_rng()
    while time.time() < end:
        harbour, charts, actions, rewards = Harbour(rng), [], [], []
        for _ in range(STEPS):
            charts.append(harbour.chart())
            with torch.no_grad():
                logits, _ = policy(torch.from_numpy(charts[-1])[None].to(device))
            actions.append(int(torch.distributions.Categorical(logits=logits).sample()))
            rewards.append(harbour.step(actions[-1]))
            time.sleep(0.005)
        rollouts.put((np.stack(charts), np.array(actions), np.array(rewards, np.float32)))


def learn(policy, optimizer, device, charts, actions, rewards):
    later, returns = 0.0, np.zeros_like(rewards)
    for step in reversed(range(STEPS)):
        returns[step] = later = rewards[step] + DISCOUNT * later
    returns = torch.from_numpy(returns).to(device)
    logits, values = policy(torch.from_numpy(charts).to(device))
    chosen = torch.distributions.Categorical(logits=logits).log_prob(torch.from_numpy(actions).to(device))
    loss = -(chosen * (returns - values.detach())).mean() + 0.5 * (returns - values).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return float(rewards.sum())


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    policy, fleet, learned = Policy().to(device), Policy().to(device), 0
    optimizer, rollouts = torch.optim.RMSprop(policy.parameters(), lr=3e-4), queue.Queue(maxsize=8)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    barges = [threading.Thread(target=play, args=(fleet, device, rollouts, end)) for _ in range(BARGES)]
    for barge in barges:
        barge.start()
    while time.time() < end:
        gain = learn(policy, optimizer, device, *rollouts.get())
        fleet.load_state_dict(policy.state_dict())
        learned += 1
        if learned % 10 == 0:
            print(f"{learned} rollouts learned, gain {gain:.1f}", flush=True)
        time.sleep(random.uniform(0.2, 0.4))  # the weights travel to the fleet
    while any(barge.is_alive() for barge in barges) or not rollouts.empty():
        try:
            rollouts.get(timeout=0.1)
        except queue.Empty:
            pass


if __name__ == "__main__":
    main()
