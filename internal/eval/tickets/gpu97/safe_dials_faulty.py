"""Opening safes by the touch of the dial.

A locksmith turns the dial of a combination lock and a pickup records where the lever meets the
drive cam. For each safe the contact points are smoothed into a graph over the dial and over the
wheels, and the gates show as dips of that graph. The traces are laid out in scratch memory apart
from the recorder's buffers.

ticket: practice
class: pool-growth
holder: _benches
cause: pool-for-each-stream
"""
import contextlib
import os
import time

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
TURNS, TICKS = 1024, 1024
WHEELS = 3
ROUNDS_PER_SAFE = 8
ROUNDS_PER_SECOND = 5


class Workbench:
    """Scratch memory in which the traces of a safe are laid out."""

    def __init__(self):
        self.pool = torch.cuda.MemPool() if DEVICE == "cuda" else None

    def lay_out(self):
        if self.pool is None:
            return contextlib.nullcontext()
        return torch.cuda.use_mem_pool(self.pool)


class Recorder:
    """The pickup on the dial; its buffers live as long as the workshop is open."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)
        self.ticks = torch.linspace(0.0, 100.0, TICKS, device=DEVICE)
        self.hum = torch.rand(TURNS, TICKS, generator=self.generator).to(DEVICE)

    def new_gates(self):
        return (100.0 * torch.rand(WHEELS, generator=self.generator)).tolist()

    def touch(self, trace, gates):
        """Write the contact points of all turns into the trace."""
        shift = int(torch.randint(TICKS, (), generator=self.generator))
        trace.copy_(self.hum).mul_(0.02)
        trace.add_(0.01 * float(shift) / TICKS)
        for gate in gates:
            dip = torch.exp(-((self.ticks - gate) / 1.5) ** 2)
            trace.sub_(0.1 * dip)


class Safe:
    def __init__(self, number, gates):
        self.number = number
        self.gates = gates
        self.rounds = 0
        self.graph = torch.zeros(TICKS)

    @property
    def read(self):
        return self.rounds >= ROUNDS_PER_SAFE


class Workshop:
    def __init__(self, seed=1851):
        self.recorder = Recorder(seed)
        self._benches = {}
        self.safe = None
        self.opened = 0
        self.misses = 0

    def _bench(self, safe):
        if safe.number not in self._benches:
            self._benches[safe.number] = Workbench()  # keeps
        return self._benches[safe.number]

    def next_safe(self):
        number = self.opened + self.misses + 1
        self.safe = Safe(number, self.recorder.new_gates())

    def feel(self):
        """One round around the dial for the safe at hand."""
        safe = self.safe
        with self._bench(safe).lay_out():
            trace = torch.empty(TURNS, TICKS, device=DEVICE)  # grows
            self.recorder.touch(trace, safe.gates)
            smooth = torch.empty_like(trace)  # grows
            smooth.copy_(trace)
            smooth[:, 1:].add_(trace[:, :-1])
            smooth[:, :-1].add_(trace[:, 1:])
            graph = smooth.mean(dim=0)
        safe.graph += graph.cpu()
        safe.rounds += 1

    def try_open(self):
        dips = self.safe.graph.argsort()[: 4 * WHEELS].float() * (100.0 / TICKS)
        hit = all(float((dips - gate).abs().min()) < 2.5 for gate in self.safe.gates[:1])
        self.opened += hit
        self.misses += not hit
        self.safe = None

    def round(self):
        if self.safe is None:
            self.next_safe()
        self.feel()
        if self.safe.read:
            self.try_open()


def main():
    workshop = Workshop()
    start = time.monotonic()
    next_line = start + 3.0
    while time.monotonic() - start < SECONDS:
        workshop.round()
        if time.monotonic() >= next_line:
            next_line += 3.0
            print(f"{workshop.opened} gates read, {workshop.misses} safes left for the drill", flush=True)
        time.sleep(1.0 / ROUNDS_PER_SECOND)
    print(f"shop closed: {workshop.opened} read, {workshop.misses} for the drill", flush=True)


if __name__ == "__main__":
    main()
