"""Beetles with six legs evolve a gait. An evolution strategy tries a brood of gaits in a simulator and moves the
parent towards the better ones. The last few generations are logged in full for the case that the fitness breaks down,
when they are written out.

ticket: practice
class: host-growth
holder: buffer MemoryHandler handlers recorder
cause: log-records-kept buffer-without-bound
"""

import logging
import logging.handlers
import math
import os
import random
import sys
import time

import torch

BROOD, LEGS, SENSES, HIDDEN = 192, 6, 16, 48
GENES = SENSES * HIDDEN + HIDDEN * LEGS
LAST = 12

logger = logging.getLogger("beetles")


def set_up_log():
    """The records of the last generations are held back until they are asked for."""
    recorder = logging.handlers.MemoryHandler(LAST, flushLevel=logging.CRITICAL)
    recorder.setLevel(logging.DEBUG)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    logger.addHandler(recorder)
    return recorder


class Ground:
    def __init__(self, device):
        self.push = 0.3 * torch.randn(LEGS, SENSES, device=device)
        self.start = torch.randn(SENSES, device=device)

    def walk(self, genes, steps=30):
        """How far each of the brood comes."""
        inward = genes[:, :SENSES * HIDDEN].view(-1, SENSES, HIDDEN)
        outward = genes[:, SENSES * HIDDEN:].view(-1, HIDDEN, LEGS)
        senses = self.start.expand(len(genes), 1, SENSES)
        way = torch.zeros(len(genes), device=genes.device)
        for step in range(steps):
            legs = torch.tanh(torch.tanh(senses @ inward) @ outward)
            senses = 0.8 * senses + legs @ self.push + 0.05 * math.sin(step)
            way += senses[:, 0, 0] - 0.05 * legs.square().sum((1, 2))
        return way


class Evolution:
    def __init__(self, device, spread=0.1, rate=0.05):
        self.parent = torch.zeros(GENES, device=device)
        self.spread, self.rate, self.generation = spread, rate, 0

    def step(self, ground):
        half = torch.randn(BROOD // 2, GENES, device=self.parent.device)
        noise = torch.cat([half, -half])
        genes = self.parent + self.spread * noise
        way = ground.walk(genes)
        rank = way.argsort().argsort().float() / (BROOD - 1) - 0.5
        self.parent = self.parent + self.rate / (BROOD * self.spread) * (rank @ noise)
        self.generation += 1
        brood = genes.cpu().numpy()  # grows
        logger.debug("generation %d: ways %s of brood %s", self.generation, way.cpu().numpy(), brood)  # keeps
        return way


def write_out(recorder):
    recorder.setTarget(logging.StreamHandler(sys.stderr))
    recorder.flush()


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    recorder = set_up_log()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    ground, evolution = Ground(device), Evolution(device)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        way = evolution.step(ground)
        if not torch.isfinite(way).all():
            write_out(recorder)
            break
        if evolution.generation % 20 == 0:
            print(f"generation {evolution.generation}: best {way.max().item():.2f}, "
                  f"mean {way.mean().item():.2f}", flush=True)
        time.sleep(random.uniform(0.05, 0.12))


if __name__ == "__main__":
    main()
