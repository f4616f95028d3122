"""Three swarms of asteroids on their way round the Sun, moved by the Sun and the five heaviest planets with a
leapfrog. Every few steps the whole swarm is copied to the host and given to a writer thread, which packs it tightly
with LZMA and puts it into the archive, so that the integration need not stop for the disk.

ticket: practice
class: host-growth
holder: waiting Archive archive queue
cause: unbounded-queue
"""

import lzma
import math
import os
import queue
import tempfile
import threading
import time

import torch

SWARM, EVERY, DT = 40_000, 4, 0.004
MASSES = 1.0, 9.5e-4, 2.9e-4, 5.2e-5, 4.4e-5, 3.0e-6
ORBITS = 0.0, 5.20, 9.58, 30.1, 19.2, 1.0
SUN = 4 * math.pi ** 2


class Archive:
    """Packs snapshots and writes them, in a thread of its own."""

    def __init__(self):
        self.file = tempfile.TemporaryFile()
        self.waiting = queue.Queue()
        self.written = 0
        threading.Thread(target=self.work, daemon=True).start()

    def add(self, year, places, speeds):
        snapshot = torch.cat([places, speeds], dim=1).cpu().numpy()  # grows
        self.waiting.put((year, snapshot))  # keeps

    def work(self):
        while True:
            year, snapshot = self.waiting.get()
            packed = lzma.compress(snapshot.tobytes(), preset=6)
            self.file.write(f"{year:.3f} {len(packed)}\n".encode() + packed)
            self.written += 1


def planets(year, device):
    """Where the Sun and the planets are, on circles."""
    places = []
    for orbit in ORBITS:
        angle = 2 * math.pi * year / orbit ** 1.5 if orbit else 0.0
        places.append((orbit * math.cos(angle), orbit * math.sin(angle), 0.0))
    return torch.tensor(places, device=device)


def pull(places, heavy, masses):
    gaps = heavy[None] - places[:, None]
    distance = gaps.square().sum(dim=-1, keepdim=True).add(1e-4)
    return (SUN * masses * gaps / distance ** 1.5).sum(dim=1)


def swarms(device):
    """The main belt, the Trojans and some that come near the Earth."""
    radius = torch.cat([torch.empty(SWARM // 2).uniform_(2.1, 3.3), torch.empty(SWARM // 4).normal_(5.2, 0.05),
                        torch.empty(SWARM // 4).uniform_(0.9, 1.6)])
    angle = 2 * math.pi * torch.rand(SWARM)
    tilt = 0.05 * torch.randn(SWARM)
    speed = torch.sqrt(SUN / radius) * (1 + 0.03 * torch.randn(SWARM))
    places = torch.stack([radius * angle.cos(), radius * angle.sin(), radius * tilt], dim=1)
    speeds = torch.stack([-speed * angle.sin(), speed * angle.cos(), speed * tilt], dim=1)
    return places.to(device), speeds.to(device)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    archive, (places, speeds) = Archive(), swarms(device)
    masses = torch.tensor(MASSES, device=device).view(1, -1, 1)
    steps, year = 0, 0.0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        speeds = speeds + 0.5 * DT * pull(places, planets(year, device), masses)
        places = places + DT * speeds
        year += DT
        speeds = speeds + 0.5 * DT * pull(places, planets(year, device), masses)
        steps += 1
        if steps % EVERY == 0:
            archive.add(year, places, speeds)
        if steps % 40 == 0:
            near = (places.norm(dim=1) < 1.3).sum().item()
            print(f"year {year:.2f}: {near} near the Earth's orbit, {archive.written} snapshots written", flush=True)
        time.sleep(0.02)


if __name__ == "__main__":
    main()
