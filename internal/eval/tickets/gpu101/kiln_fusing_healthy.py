"""Firing of painted panes for stained glass in a row of kilns.

Each pane is followed through its firing: heat creeps inwards from the elements, the enamel fuses, and tension is
locked in where the pane cools unevenly. The fields of a pane lie in a memory pool of their own, so that panes of
different kilns do not get in one another's way. After its firing a pane is judged and put in the rack.

ticket: practice
class: none
"""
import contextlib
import os
import time

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
ROUNDS_PER_SECOND = 8
KILNS = ("small", "round", "tunnel")
STEPS = 32
SIDE = 640
PIGMENTS = (0.35, 0.55, 0.75)


class PoolBook:
    """Hands out the memory pools in which the fields of panes are laid."""

    def __init__(self):
        self._pools = {}

    def pool(self, key):
        if key not in self._pools:
            self._pools[key] = torch.cuda.MemPool()
        return self._pools[key]

    def within(self, key):
        if DEVICE != "cuda":
            return contextlib.nullcontext()
        return torch.cuda.use_mem_pool(self.pool(key))


class Pane:
    """The fields of one pane during its firing."""

    def __init__(self, paint):
        self.step = 0
        self.heat = torch.full((SIDE, SIDE), 20.0, device=DEVICE)
        self.fused = torch.zeros(SIDE, SIDE, device=DEVICE)
        self.tension = torch.zeros(SIDE, SIDE, device=DEVICE)
        self.paint = paint.clone()


class Kiln:
    """A kiln with its schedule and one pane at a time."""

    def __init__(self, name, stagger):
        self.name = name
        self.peak = 620.0 + 15 * stagger
        self.flow = torch.empty(SIDE, SIDE, device=DEVICE)
        self.rest = stagger * STEPS // len(KILNS)
        self.pane = None

    def element_heat(self, step):
        share = step / STEPS
        return 20 + (self.peak - 20) * min(1.0, 2.5 * share, 3.2 * (1 - share))

    def advance(self):
        pane = self.pane
        heat, flow = pane.heat, self.flow
        target = self.element_heat(pane.step)
        heat[0].fill_(target)
        heat[-1].fill_(target)
        for _ in range(3):
            flow.copy_(heat).mul_(-4)
            flow[1:].add_(heat[:-1])
            flow[:-1].add_(heat[1:])
            flow[:, 1:].add_(heat[:, :-1])
            flow[:, :-1].add_(heat[:, 1:])
            heat.add_(flow, alpha=0.2)
        heat.lerp_(torch.full((), target, device=DEVICE), 0.25)
        flow.copy_(heat).sub_(540).div_(40).sigmoid_().mul_(pane.paint)
        torch.maximum(pane.fused, flow, out=pane.fused)
        pane.tension.add_(flow.copy_(heat).sub_(target).abs_(), alpha=0.01)
        pane.step += 1


class Workshop:
    def __init__(self, seed):
        generator = torch.Generator().manual_seed(seed)
        motifs = [torch.rand(SIDE, SIDE, generator=generator).pow(1 / share) for share in PIGMENTS]
        self.motifs = [motif.to(DEVICE) for motif in motifs]
        self.book = PoolBook()
        self.kilns = [Kiln(name, stagger) for stagger, name in enumerate(KILNS)]
        self.next_serial = 1
        self.racked = 0
        self.quality = 0.0

    def load(self, kiln):
        serial = self.next_serial
        self.next_serial += 1
        paint = self.motifs[serial % len(self.motifs)]
        with self.book.within(kiln.name):
            kiln.pane = Pane(paint)

    def judge(self, pane):
        fused = (pane.fused.sum() / pane.paint.sum()).item()
        strain = pane.tension.mean().item()
        return fused / (1 + 0.01 * strain)

    def round(self):
        for kiln in self.kilns:
            if kiln.rest > 0:
                kiln.rest -= 1
                continue
            if kiln.pane is None:
                self.load(kiln)
            kiln.advance()
            if kiln.pane.step >= STEPS:
                self.quality += 0.2 * (self.judge(kiln.pane) - self.quality)
                kiln.pane = None
                self.racked += 1


def main():
    workshop = Workshop(seed=1220)
    started = time.monotonic()
    number = 0
    while time.monotonic() - started < SECONDS:
        workshop.round()
        if number % 24 == 0:
            print(f"round {number:4d}  racked {workshop.racked:3d}  quality {workshop.quality:.3f}", flush=True)
        number += 1
        time.sleep(1 / ROUNDS_PER_SECOND)
    print(f"kilns off, {workshop.racked} panes racked, quality {workshop.quality:.3f}", flush=True)


if __name__ == "__main__":
    main()
