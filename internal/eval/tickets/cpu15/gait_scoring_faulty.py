"""
At a dog show the movement of each dog is recorded by markers on its legs and scored by a network that
learns from the marks of the judges. Training goes in stages of five seconds, one for each ring. After a
stage the weights are compared with those at its beginning, which tells how far the taste of a ring's
judge lies from that of the one before.

ticket: practice
class: host-growth
holder: stage_weights
cause: snapshots-kept
"""
import os
import time

import torch

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 6
STAGE_SECONDS = 5.0
MARKERS = 16
FRAMES = 64
HIDDEN = 1536
BATCH = 12


class GaitNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stride = torch.nn.Linear(MARKERS * FRAMES, HIDDEN)
        self.balance = torch.nn.Linear(HIDDEN, 1000)
        self.mark = torch.nn.Linear(1000, 1)

    def forward(self, tracks):
        hidden = torch.tanh(self.stride(tracks.flatten(1)))
        hidden = torch.relu(self.balance(hidden))
        return self.mark(hidden).squeeze(1)


class ShowRing:
    """One ring with its judge, who weighs reach, drive and a level back in a way of his own."""

    def __init__(self, number, seed):
        self.number = number
        self.generator = torch.Generator().manual_seed(seed + number)
        self.taste = torch.rand(3, generator=self.generator)

    def dogs(self):
        time_axis = torch.linspace(0.0, 6.28, FRAMES)
        pace = 1.0 + torch.rand((BATCH, 1, 1), generator=self.generator)
        phase = torch.rand((BATCH, MARKERS, 1), generator=self.generator) * 6.28
        lift = torch.rand((BATCH, MARKERS, 1), generator=self.generator)
        tracks = lift * torch.sin(pace * time_axis + phase)
        return tracks + 0.05 * torch.randn(tracks.shape, generator=self.generator)

    def marks(self, tracks):
        reach = tracks.amax(dim=(1, 2))
        drive = tracks.diff(dim=2).abs().mean(dim=(1, 2))
        level = -tracks[:, :4].std(dim=(1, 2))
        return torch.stack([reach, drive, level], dim=1) @ self.taste


class GaitTrainer:
    def __init__(self, seed=77):
        torch.manual_seed(seed)
        self.net = GaitNet()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=1e-3, momentum=0.9)
        self.seed = seed
        self.ring = ShowRing(0, seed)
        self.stage_weights = {}
        self.loss = 0.0
        self.begin_stage(0)

    def begin_stage(self, number):
        self.ring = ShowRing(number, self.seed)
        weights = {name: value.detach().clone() for name, value in self.net.state_dict().items()}  # grows
        self.stage_weights[number] = weights  # keeps

    def train_step(self):
        tracks = self.ring.dogs()
        marks = self.ring.marks(tracks)
        self.optimizer.zero_grad()
        loss = torch.nn.functional.smooth_l1_loss(self.net(tracks), marks)
        loss.backward()
        self.optimizer.step()
        self.loss = 0.9 * self.loss + 0.1 * float(loss)

    @torch.no_grad()
    def drift(self):
        before = self.stage_weights[self.ring.number]
        total = 0.0
        for name, value in self.net.state_dict().items():
            total += float((value - before[name]).square().sum())
        return total ** 0.5

    @torch.no_grad()
    def rank(self):
        scores = self.net(self.ring.dogs())
        return scores.argsort(descending=True)[:3].tolist()


def main():
    torch.set_num_threads(1)
    trainer = GaitTrainer()
    start = time.monotonic()
    next_stage = start + STAGE_SECONDS
    next_line = start + 2.0
    steps = 0
    while time.monotonic() - start < SECONDS:
        begun = time.monotonic()
        trainer.train_step()
        steps += 1
        if begun >= next_stage:
            next_stage += STAGE_SECONDS
            ring = trainer.ring.number
            print(f"ring {ring} done: drift {trainer.drift():.4f}  first three {trainer.rank()}", flush=True)
            trainer.begin_stage(ring + 1)
        if begun >= next_line:
            next_line += 3.0
            print(f"{begun - start:6.1f} s  step {steps}  loss {trainer.loss:.4f}", flush=True)
        spent = time.monotonic() - begun
        time.sleep(max(0.01, 1.0 / ROUNDS_PER_SECOND - spent))
    print(f"{steps} steps over {trainer.ring.number + 1} rings, loss {trainer.loss:.4f}", flush=True)


if __name__ == "__main__":
    main()
