"""A toll road counts axles with laser scanners above its lanes. Each sweep covers the queue before the plaza,
which gets longer as the rush hour builds, and the axles are found by comparing every row with the mean of the
reference profiles. Once a second the nearest rows of a sweep become a new reference and the oldest one goes,
so that the reference follows rain and light.

ticket: practice
class: pool-growth
holder: _profiles
cause: fragmentation
"""
import os
import time
from collections import Counter, deque

import torch
from torch import nn

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
SWEEPS_PER_SECOND = 5
BEAMS = 1024
EMPTY_LANE_ROWS = 264
PROFILE_ROWS = 272
REFERENCES = 95
SHORTEST_QUEUE, LONGEST_QUEUE = 2566, 2788
VEHICLES = ("motorcycle", "car", "van", "lorry", "articulated lorry")


class Scanner:
    """Simulates the sweeps of one lane; the queue lengthens by two rows a second."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.queue_rows = SHORTEST_QUEUE

    def lengthen(self):
        self.queue_rows = min(LONGEST_QUEUE, self.queue_rows + 2)

    def empty_lane(self):
        return torch.rand(EMPTY_LANE_ROWS, BEAMS, generator=self.generator, device=DEVICE)

    def sweep(self):
        return torch.rand(self.queue_rows, BEAMS, generator=self.generator, device=DEVICE)  # grows


class ReferenceSet:
    """The profiles that a sweep is compared with, oldest first."""

    def __init__(self, scanner):
        self._profiles = deque((scanner.empty_lane() for _ in range(REFERENCES)), maxlen=REFERENCES)
        self.level = 0.5
        self.renewals = 0

    def renew(self, sweep):
        profile = sweep[:PROFILE_ROWS].clone()  # grows
        self._profiles.append(profile)  # keeps
        self.renewals += 1

    def settle(self):
        newest = self._profiles[-1]
        self.level = 0.8 * self.level + 0.2 * newest.mean().item()
        return self.level


class AxleClassifier(nn.Module):
    """Names the vehicle from the depth of its rows."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, len(VEHICLES)))

    @torch.no_grad()
    def forward(self, rows):
        return self.layers(rows).argmax(dim=1)


class Lane:
    def __init__(self, seed=59):
        torch.manual_seed(seed)
        self.scanner = Scanner(seed)
        self.references = ReferenceSet(self.scanner)
        self.classifier = AxleClassifier().to(DEVICE)
        self.counts = Counter()
        self.sweeps = 0
        self.depth = 0.0

    def observe(self):
        renewing = self.sweeps % SWEEPS_PER_SECOND == 0
        if renewing:
            self.scanner.lengthen()
        sweep = self.scanner.sweep()
        if renewing:
            self.references.renew(sweep)
        depths = sweep.mean(dim=1)
        self.depth = (depths - self.references.level).abs().mean().item()
        named = self.classifier(sweep[:32, :64])
        self.counts.update(VEHICLES[index] for index in named.tolist())
        self.sweeps += 1

    def describe(self):
        level = self.references.settle()
        vehicle, number = self.counts.most_common(1)[0]
        return (f"queue {self.scanner.queue_rows} rows  depth {self.depth:.4f}  level {level:.4f}  "
                f"mostly {vehicle} ({number})")


def main():
    lane = Lane()
    started = spoken = time.monotonic()
    while time.monotonic() - started < SECONDS:
        begun = time.monotonic()
        lane.observe()
        if begun - spoken >= 3.0:
            spoken = begun
            print(f"{begun - started:5.1f} s  sweep {lane.sweeps:4d}  {lane.describe()}", flush=True)
        time.sleep(max(0.005, 1.0 / SWEEPS_PER_SECOND - (time.monotonic() - begun)))
    print(f"lane closed after {lane.sweeps} sweeps, {lane.references.renewals} renewals", flush=True)


if __name__ == "__main__":
    main()
