"""A pipe organ is synthesized block by block: each key sounds with sixteen partials, which the swell box and the
tremulant colour. A block is many small kernels, so it is recorded as a CUDA graph once and then replayed. The
pedals are a tensor that the recording reads.

ticket: practice
class: none
"""

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
        self.pedals = torch.zeros(2, device=device)
        self.recording = None

    def block(self):
        """A block of sound of the keys that are touched."""
        swell, tremulant = self.pedals
        times = self.clock + self.times
        tones = self.pitches[:, None] * self.partials
        phases = 2 * math.pi * (tones[..., None] * times + 0.002 * tremulant * tones[..., None] * torch.sin(38 * times))
        weights = self.partials.pow(-1.0) * torch.exp(-tones / (800 + 4000 * swell))
        sound = (phases.sin() * weights[..., None]).sum(dim=1)
        return torch.tanh((self.touched[:, None] * sound).sum(dim=0))

    def record(self):
        """What plays the next block."""
        if self.device == "cpu":
            return self.block
        self.block()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            sound = self.block()

        def replay():
            graph.replay()
            return sound

        return replay

    def play(self, swell, tremulant):
        self.pedals.copy_(torch.tensor((swell, tremulant)))
        if self.recording is None:
            self.recording = self.record()
        sound = self.recording()
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
