"""Coaching of a simulated ski jumper.

A small network chooses lean, knee angle and ski spread from what the jumper feels on the inrun and in the air.
It is trained on a differentiable flight over the hill, a batch of gusts at a time. The coach enters the
network at trial jumps, keeps a table of the best ones, and blends them when the form of the jumper drops.

ticket: practice
class: app-leak
holder: _weights
cause: snapshots-kept
"""
import os
import time
from dataclasses import dataclass

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 12
SENSES = 24
HIDDEN = 512
BATCH = 128
FLIGHT_STEPS = 6
TRIAL_EVERY = 2
TABLE_SIZE = 8


class JumperNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(SENSES, HIDDEN), nn.Tanh(),
            nn.Linear(HIDDEN, HIDDEN), nn.Tanh(),
        )
        self.joints = nn.Linear(HIDDEN, 3)

    def forward(self, senses):
        return torch.tanh(self.joints(self.body(senses)))


class Hill:
    """A flight in steps of half a second, with lift and drag by posture."""

    def __init__(self, generator):
        self._generator = generator
        self._mapping = torch.randn(6, SENSES, generator=generator).to(DEVICE) * 0.5

    def gusts(self):
        return torch.randn(BATCH, 2, generator=self._generator).to(DEVICE)

    def fly(self, net, gusts):
        speed = torch.full((BATCH, 1), 2.55, device=DEVICE) + 0.05 * gusts[:, :1]
        fall = torch.zeros(BATCH, 1, device=DEVICE)
        length = torch.zeros(BATCH, 1, device=DEVICE)
        posture = torch.zeros(BATCH, 1, device=DEVICE)
        for _ in range(FLIGHT_STEPS):
            state = torch.cat([speed, fall, length, posture, gusts], dim=1)
            lean, knee, spread = net(torch.sin(state @ self._mapping)).chunk(3, dim=1)
            posture = 0.6 * lean + 0.4 * spread
            lift = 0.35 - (posture - 0.45).square() + 0.04 * gusts[:, 1:]
            drag = 0.03 + 0.05 * knee.square() + 0.02 * posture.square()
            speed = speed - drag * speed
            fall = fall + 0.3 - lift
            length = length + speed - 0.1 * fall
        return length.squeeze(1) * 8.0


@dataclass(frozen=True)
class TrialJump:
    number: int
    metres: float


class Coach:
    """The table of trial jumps and the networks that belong to it."""

    def __init__(self, net):
        self.net = net
        self.table = []
        self._weights = {}
        self.trials = 0

    def enter(self, metres):
        self.trials += 1
        jump = TrialJump(self.trials, metres)
        state = self.net.state_dict()
        self._weights[jump.number] = {name: value.detach().clone() for name, value in state.items()}  # grows keeps
        ranked = sorted(self.table + [jump], key=lambda entry: entry.metres, reverse=True)
        self.table = ranked[:TABLE_SIZE]
        return self.table[0]

    def blend(self):
        best = [self._weights[jump.number] for jump in self.table]
        mean = {name: torch.stack([weights[name] for weights in best]).mean(dim=0) for name in best[0]}
        self.net.load_state_dict(mean)


def train_round(net, hill, optimizer):
    lengths = hill.fly(net, hill.gusts())
    loss = -lengths.mean() + 0.2 * lengths.std()
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    return float(lengths.detach().mean())


def main():
    torch.set_num_threads(1)
    torch.manual_seed(87)
    hill = Hill(torch.Generator().manual_seed(88))
    net = JumperNet().to(DEVICE)
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-4)
    coach = Coach(net)
    started = time.monotonic()
    said = started
    rounds = blends = 0
    form = 0.0
    while time.monotonic() - started < SECONDS:
        metres = train_round(net, hill, optimizer)
        form = metres if rounds == 0 else 0.9 * form + 0.1 * metres
        rounds += 1
        if rounds % TRIAL_EVERY == 0:
            best = coach.enter(metres)
            if form < best.metres - 6.0 and len(coach.table) == TABLE_SIZE:
                coach.blend()
                blends += 1
        if time.monotonic() - said >= 3.0:
            said = time.monotonic()
            print(f"round {rounds}: form {form:.1f} m, best trial {coach.table[0].metres:.1f} m", flush=True)
        time.sleep(1.0 / ROUNDS_PER_SECOND)
    print(f"season over: {rounds} rounds, {coach.trials} trials, {blends} blends", flush=True)


if __name__ == "__main__":
    main()
