"""Dampers for the cabins of a ropeway.

A controller network sees the swing of a cabin, the wind and the line speed, and sets the damper of the hanger. It is
trained against a simple model of the hanger. Every few seconds it is tried on a fixed set of rides; the best two
versions stand by, so that the controller can go back to the better one if training has spoilt it.

ticket: practice
class: app-leak
holder: weights
cause: snapshots-kept
"""
import os
import time

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_A_SECOND = 5
TRIAL_EVERY = 6 * ROUNDS_A_SECOND
FIRST_TRIAL = 3 * ROUNDS_A_SECOND
SIGNALS = 40
WIDTH = 2528
RIDES = 8
STANDBY = 2


class DamperNet(nn.Module):
    """From the last signals of a ride to the force of the damper."""

    def __init__(self):
        super().__init__()
        self.sense = nn.Linear(SIGNALS, WIDTH)
        self.mix = nn.Linear(WIDTH, WIDTH)
        self.force = nn.Linear(WIDTH, 1)

    def forward(self, signals):
        hidden = torch.relu(self.sense(signals))
        hidden = torch.relu(self.mix(hidden))
        return self.force(hidden).squeeze(1)


class Hanger:
    """How the cabin swings on after one stretch of the ride under a given force."""

    def __init__(self):
        self.response = torch.randn(SIGNALS, device=DEVICE) / SIGNALS ** 0.5

    def rides(self, count, generator=None):
        return torch.randn(count, SIGNALS, generator=generator).to(DEVICE)

    def swing(self, signals, force):
        push = torch.tanh(signals @ self.response) + 0.3 * signals[:, 0] * signals[:, 1]
        return (push - force) ** 2 + 0.01 * force ** 2


class Versions:
    """Versions of the controller that have been tried, by the round of the trial."""

    def __init__(self, standby):
        self.standby = standby
        self.scores = {}
        self.weights = {}

    def add(self, number, score, net):
        self.scores[number] = score
        copies = {name: value.detach().clone() for name, value in net.state_dict().items()}  # grows
        self.weights[number] = copies  # keeps
        for old in sorted(self.scores, key=self.scores.get)[self.standby:]:
            del self.scores[old]

    def best(self):
        number = min(self.scores, key=self.scores.get)
        return number, self.scores[number], self.weights[number]


class Workshop:
    def __init__(self):
        self.hanger = Hanger()
        self.net = DamperNet().to(DEVICE)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.01, momentum=0.9)
        self.versions = Versions(STANDBY)
        self.fixed = self.hanger.rides(48, torch.Generator().manual_seed(7))

    def train(self):
        signals = self.hanger.rides(RIDES)
        loss = self.hanger.swing(signals, self.net(signals)).mean()
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def trial(self, number):
        score = self.hanger.swing(self.fixed, self.net(self.fixed)).mean().item()
        self.versions.add(number, score, self.net)
        best_number, best_score, weights = self.versions.best()
        if score > 1.5 * best_score:
            self.net.load_state_dict(weights)
        return score, best_number


def main():
    torch.manual_seed(1866)
    torch.set_num_threads(1)
    workshop = Workshop()
    workshop.trial(0)
    rounds = 0
    start = due = time.monotonic()
    while time.monotonic() - start < SECONDS:
        loss = workshop.train()
        rounds += 1
        if rounds % TRIAL_EVERY == FIRST_TRIAL:
            score, best = workshop.trial(rounds)
            print(f"round {rounds}: loss {loss:.4f}, swing in trial {score:.4f}, best of round {best}", flush=True)
        due = max(due + 1 / ROUNDS_A_SECOND, time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))
    number, score, _ = workshop.versions.best()
    print(f"{rounds} rounds, best swing {score:.4f} of round {number}", flush=True)


if __name__ == "__main__":
    main()
