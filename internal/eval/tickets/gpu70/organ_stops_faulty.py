"""A pipe organ is synthesized block by block: each key sounds with sixteen partials, which the swell box and the
tremulant colour. A block is many small kernels, so it is recorded as a CUDA graph and replayed. The pedals are plain
numbers in the recording; a setting of the pedals that was played before has its recording already.

ticket: practice
class: pool-growth
holder: recordings Organ organ
cause: captured-graphs-kept cache-without-bound pool-never-trims
"""

import functools
import math
import os
import random
import time

import torch

KEYS, PARTIALS, BLOCK, RATE = 20, 16, 2048, 44_100


class Organ:
    def __init__(self, device):
        self.device = device
        self.touched = torch.zeros(KEYS, device=device)
        self.clock = torch.zeros((), device=device)
        self.pitches = 130.8 * 2 ** (torch.arange(KEYS, device=device) / 12)
        self.partials = torch.arange(1, PARTIALS + 1, device=device)
        self.times = torch.arange(BLOCK, device=device) / RATE
        self.recordings = {}

    def block(self, swell, tremulant):
        """A block of sound of the keys that are touched."""
        times = self.clock + self.times
        tones = self.pitches[:, None] * self.partials
        phases = 2 * math.pi * (tones[..., None] * times + 0.002 * tremulant * tones[..., None] * torch.sin(38 * times))
        weights = self.partials.pow(-1.0) * torch.exp(-tones / (800 + 4000 * swell))
        sound = (phases.sin() * weights[..., None]).sum(dim=1)
        return torch.tanh((self.touched[:, None] * sound).sum(dim=0))

    def record(self, swell, tremulant):
        """What plays the next block with the pedals set like this."""
        if self.device == "cpu":
            return functools.partial(self.block, swell, tremulant)
        self.block(swell, tremulant)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            sound = self.block(swell, tremulant)  # grows

        def replay():
            graph.replay()
            return sound

        return replay

    def play(self, swell, tremulant):
        pedals = swell, tremulant
        if pedals not in self.recordings:
            self.recordings[pedals] = self.record(swell, tremulant)  # keeps
        sound = self.recordings[pedals]()
        self.clock += BLOCK / RATE
        return sound.abs().max().item()


class Organist:
    """Changes the chord every bar, and the pedals some times in a bar."""

    def __init__(self, organ):
        self.organ, self.swell, self.tremulant, self.blocks = organ, 0.5, 0.2, 0

    def next(self):
        if self.blocks % 40 == 0:
            chord = [key + random.randrange(8) for key in (0, 4, 7, 12)]
            self.organ.touched.zero_()
            self.organ.touched[chord] = 0.4
        if self.blocks % 12 == 0:
            self.swell = min(1.0, max(0.0, self.swell + random.gauss(0, 0.1)))
            self.tremulant = random.random()
        self.blocks += 1
        return self.organ.play(self.swell, self.tremulant)


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    organist = Organist(Organ("cuda" if torch.cuda.is_available() else "cpu"))
    loudest = 0.0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        loudest = max(loudest, organist.next())
        if organist.blocks % 50 == 0:
            print(f"{organist.blocks} blocks, swell {organist.swell:.2f}, loudest {loudest:.3f}", flush=True)
        time.sleep(BLOCK / RATE)


if __name__ == "__main__":
    main()
