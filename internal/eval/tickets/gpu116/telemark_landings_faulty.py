"""Follows the posture of ski jumpers from the last metres of flight into the telemark landing.

Pose sensors in the suits of a field of jumpers send joint angles in short strips. A recurrent network follows
each jumper through the strips, is trained on the go to foresee the marks for style, and carries its view of
each jumper from one strip into the next.

ticket: practice
class: app-leak
holder: _posture
cause: uncut-autograd-graph
"""
import os
import time

import torch
from torch import nn
from torch.nn import functional as F

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
JUMPERS = 32
JOINTS = 54
HIDDEN = 192
STRIP = 8
ROUNDS_PER_SECOND = 5


class SuitSensors:
    """Joint angles and the marks of the judges, drawn from a slowly turning pattern."""

    def __init__(self, seed):
        self.rng = torch.Generator().manual_seed(seed)
        self.weights = torch.randn(JOINTS, generator=self.rng) / JOINTS ** 0.5
        self.phase = torch.rand(JUMPERS, 1, generator=self.rng) * 6.28
        self.clock = 0

    def strip(self):
        frames = []
        for _ in range(STRIP):
            self.clock += 1
            swing = torch.sin(self.phase + self.clock * 0.11 + torch.linspace(0, 3, JOINTS))
            frames.append(swing + 0.1 * torch.randn(JUMPERS, JOINTS, generator=self.rng))
        angles = torch.stack(frames)
        marks = 17.0 + 1.5 * torch.tanh(angles.mean(0) @ self.weights)
        return angles.to(DEVICE), marks.to(DEVICE)


class PostureNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(JOINTS, HIDDEN)
        self.cell = nn.GRUCell(HIDDEN, HIDDEN)
        self.style = nn.Linear(HIDDEN, 1)

    def follow(self, angles, state):
        for frame in angles:
            state = self.cell(torch.relu(self.embed(frame)), state)  # grows
        return state

    def marks(self, state):
        return 17.0 + self.style(state).squeeze(1)


class LandingJudge:
    """Trains on every strip and holds where each jumper stands at its end."""

    def __init__(self):
        self.net = PostureNet().to(DEVICE)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=2e-3)
        self._posture = torch.zeros(JUMPERS, HIDDEN, device=DEVICE)
        self.error = 0.0

    def learn(self, angles, marks):
        state = self.net.follow(angles, self._posture.detach())
        loss = F.smooth_l1_loss(self.net.marks(state), marks)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.optimizer.step()
        self.error = 0.9 * self.error + 0.1 * loss.item()

    def advance(self, angles):
        """Goes through the strip once more, with the weights as they are after the step."""
        self._posture = self.net.follow(angles, self._posture)  # keeps

    @torch.no_grad()
    def standings(self):
        marks = self.net.marks(self._posture)
        order = torch.argsort(marks, descending=True)[:3]
        return [(int(bib) + 1, round(float(marks[bib]), 1)) for bib in order]


def main():
    torch.set_num_threads(1)
    torch.manual_seed(41)
    sensors = SuitSensors(seed=7)
    judge = LandingJudge()
    begun = time.monotonic()
    next_line = begun + 2.0
    strips = 0
    while time.monotonic() - begun < SECONDS:
        started = time.monotonic()
        angles, marks = sensors.strip()
        judge.learn(angles, marks)
        judge.advance(angles)
        strips += 1
        if started >= next_line:
            leaders = ", ".join(f"bib {bib}: {mark}" for bib, mark in judge.standings())
            print(f"strip {strips}: error {judge.error:.3f}; {leaders}", flush=True)
            next_line += 3.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - started)))
    print(f"hill closed after {strips} strips, error {judge.error:.3f}", flush=True)


if __name__ == "__main__":
    main()
