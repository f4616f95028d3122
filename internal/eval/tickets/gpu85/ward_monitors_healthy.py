"""Early warning for a step-down ward: sixty-four beds, eight vital signs each.

Twice a second the bedside monitors hand over the latest window of every bed
(heart rate, blood pressures, oxygen, breathing, temperature and two ECG
summaries).  A small convolutional encoder turns each window into a code.  The
risk of a bed is read from how far its present code lies from the slow trend of
that bed, so that a patient who is always a little fast does not ring all day.
Between the ticks the nurses' reviewed episodes are used to keep the encoder and
the risk head tuned to the ward.

ticket: practice
class: none
"""
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

BEDS = 64
SIGNS = 8
WINDOW = 512
CODE = 48
TICK = 0.5

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class VitalsEncoder(nn.Module):
    """One code for each window of vital signs."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(SIGNS, 32, 9, padding=4)
        self.norm = nn.GroupNorm(4, 32)
        self.second = nn.Conv1d(32, 64, 9, stride=4, padding=4)
        self.out = nn.Linear(64, CODE)

    def forward(self, windows):
        x = F.gelu(self.norm(self.first(windows)))
        x = F.gelu(self.second(x))
        return self.out(x.mean(dim=2))


class BedsideFeed:
    """Plays the part of the monitors' gateway."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)
        self.rest = torch.randn(BEDS, SIGNS, 1, generator=self.generator)
        self.time = torch.linspace(0.0, 12.0, WINDOW).view(1, 1, WINDOW)
        self.clock = 0.0

    def windows(self):
        self.clock += TICK
        pace = 1.0 + 0.1 * self.rest
        wave = torch.sin(pace * (self.time + self.clock))
        noise = 0.2 * torch.randn(BEDS, SIGNS, WINDOW, generator=self.generator)
        return self.rest + wave + noise


class WardWatch:
    """Scores every bed against its own slow trend and keeps the model tuned."""

    def __init__(self, smoothing=0.03):
        torch.manual_seed(5)
        self.encoder = VitalsEncoder().to(device)
        self.head = nn.Sequential(nn.Linear(CODE, 32), nn.Tanh(), nn.Linear(32, 1)).to(device)
        weights = list(self.encoder.parameters()) + list(self.head.parameters())
        self.optimizer = torch.optim.AdamW(weights, lr=2e-4)
        self.smoothing = smoothing
        self.trend = torch.zeros(BEDS, CODE, device=device)

    @torch.no_grad()
    def tick(self, windows):
        """Risk of each bed at this moment, as a list of floats."""
        code = self.encoder(windows.to(device))
        self.trend = (1.0 - self.smoothing) * self.trend + self.smoothing * code
        risk = torch.sigmoid(self.head(code - self.trend)).squeeze(1)
        return risk.tolist()

    def review(self, windows, outcomes):
        """One step on episodes that the nurses have marked."""
        code = self.encoder(windows)
        centred = code - code.mean(dim=0, keepdim=True)
        loss = F.binary_cross_entropy_with_logits(self.head(centred).squeeze(1), outcomes)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return float(loss)


def reviewed_episodes(feed, count=6):
    """A small library of episodes with their outcome."""
    episodes = []
    for number in range(count):
        windows = feed.windows()
        outcomes = (windows[:, 0].mean(dim=1) > 0.1 * number).float()
        episodes.append((windows.to(device), outcomes.to(device)))
    return episodes


def main():
    deadline = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    feed = BedsideFeed(seed=11)
    watch = WardWatch()
    episodes = reviewed_episodes(feed)

    ticks = 0
    alarms = 0
    next_tick = time.time()
    while time.time() < deadline:
        risks = watch.tick(feed.windows())
        loud = [bed for bed, risk in enumerate(risks) if risk > 0.55]
        alarms += len(loud)

        windows, outcomes = episodes[ticks % len(episodes)]
        loss = watch.review(windows, outcomes)

        ticks += 1
        if ticks % 10 == 0:
            highest = max(range(BEDS), key=risks.__getitem__)
            print(f"tick {ticks}: highest bed {highest} at {risks[highest]:.2f}, "
                  f"{alarms} alarms so far, review loss {loss:.3f}", flush=True)
        next_tick += TICK
        time.sleep(max(0.0, next_tick - time.time()))

    print(f"shift over after {ticks} ticks and {alarms} alarms", flush=True)


if __name__ == "__main__":
    main()
