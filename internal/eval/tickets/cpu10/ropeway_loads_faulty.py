"""Load watch of a ropeway.

Every cabin weighs its riders; the service smooths the weights along the rope, looks for spans that carry too much and
writes each pass to the operations log. The log goes through a memory handler to a tally that the shift leader reads.

ticket: practice
class: host-growth
holder: buffer MemoryHandler
cause: log-records-kept
"""
import logging
import logging.handlers
import os
import time

import torch

LINES = ("valley", "summit", "glacier")
CABINS = 110
SAMPLES = 1900
PASSES_A_SECOND = 8
LIMIT_KG = 640.0

log = logging.getLogger("ropeway")


class LoadTally(logging.Handler):
    """Target of the log: adds up what the records of the passes say."""

    def __init__(self):
        super().__init__()
        self.records = 0
        self.heaviest = 0.0
        self.warnings = 0

    def emit(self, record):
        self.records += 1
        self.warnings += record.levelno >= logging.WARNING
        loads = getattr(record, "loads", None)
        if loads is not None:
            self.heaviest = max(self.heaviest, float(loads.max()))


def open_log():
    tally = LoadTally()
    memory = logging.handlers.MemoryHandler(capacity=100_000, flushLevel=logging.CRITICAL, target=tally)
    log.addHandler(memory)
    log.setLevel(logging.INFO)
    log.propagate = False
    return tally, memory


class RopeLine:
    """Cabins of one line; riders get on and off at the stations."""

    def __init__(self, name, seed):
        self.name = name
        self.noise = torch.Generator().manual_seed(seed)
        self.riders = torch.randint(0, 8, (CABINS,), generator=self.noise).float()

    def exchange(self):
        change = torch.randint(-2, 3, (CABINS,), generator=self.noise).float()
        self.riders = (self.riders + change).clamp_(0, 8)

    def weigh(self):
        """Samples of the load cell of each cabin over one pass."""
        swing = torch.sin(torch.linspace(0.0, 40.0, SAMPLES)) * 6.0
        jitter = torch.randn(CABINS, SAMPLES, generator=self.noise)
        return 75.0 * self.riders.unsqueeze(1) + swing + 4.0 * jitter


class SpanModel:
    """Smooths the loads of neighbouring cabins, as the rope spreads them."""

    def __init__(self):
        self.spread = torch.tensor([0.1, 0.2, 0.4, 0.2, 0.1])

    def loads(self, weights):
        padded = torch.cat([weights[-2:], weights, weights[:2]])
        total = torch.zeros_like(weights)  # grows
        for k, part in enumerate(self.spread):
            total.add_(padded[k:k + CABINS], alpha=float(part))
        return total


def one_pass(line, model):
    line.exchange()
    loads = model.loads(line.weigh())
    over = int((loads.mean(dim=1) > LIMIT_KG).sum())
    level = logging.WARNING if over else logging.INFO
    log.log(level, "line %s, %d spans over the limit", line.name, over, extra={"loads": loads})  # keeps
    return over, float(loads.mean())


def serve(end):
    lines = [RopeLine(name, seed) for seed, name in enumerate(LINES, start=40)]
    model = SpanModel()
    passes = 0
    while time.time() < end:
        over, mean = one_pass(lines[passes % len(lines)], model)
        passes += 1
        yield passes, over, mean
        time.sleep(1.0 / PASSES_A_SECOND)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    tally, memory = open_log()
    for passes, over, mean in serve(end):
        if passes % 20 == 0:
            print(f"pass {passes}: mean load {mean:.0f} kg, {over} spans over the limit", flush=True)
    memory.flush()
    print(f"shift over: {tally.records} records, {tally.warnings} warnings, heaviest {tally.heaviest:.0f} kg",
          flush=True)


if __name__ == "__main__":
    main()
