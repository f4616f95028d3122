"""Inspection of loam moulds in a bell foundry.

Before the metal is poured, a scanner turns once round the core and once round the cope of each mould. The gap between
the two is what the bell's wall will be. The inspector compares it with the strickle board's curve, writes each mould
into the workshop's log, and passes the mould or has it scraped again.

ticket: practice
class: none
"""
import logging
import logging.handlers
import os
import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
HEIGHTS = 384
BEARINGS = 512
MOULDS_A_SECOND = 8
TOLERANCE = 0.55

log = logging.getLogger("foundry.moulding")


class BatchSheet(logging.handlers.BufferingHandler):
    """Writes one line on the sheet for each dozen of moulds."""

    def __init__(self, capacity):
        super().__init__(capacity)
        self.sheets = 0
        self.spread = 0.0

    def flush(self):
        self.acquire()
        try:
            dozen = [record.args for record in self.buffer[-self.capacity:]]
            if dozen:
                means = torch.stack([deviation.mean() for _, deviation in dozen])
                self.spread = float(means.max() - means.min())
                self.sheets += 1
            super().flush()
        finally:
            self.release()


class Strickle:
    """The board whose edge gives core and cope their curve."""

    def __init__(self):
        height = torch.linspace(0.0, 1.0, HEIGHTS, device=DEVICE)
        self.inner = 0.5 - 0.3 * height.pow(0.6)
        self.wall = 0.03 + 0.05 * torch.exp(-((height - 0.1) / 0.08) ** 2)

    def core(self):
        return self.inner[:, None]

    def cope(self):
        return (self.inner + self.wall)[:, None]


class Scanner:
    """Rotating probe with a slow wobble of its arm."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.bearing = torch.linspace(0.0, 6.28318, BEARINGS, device=DEVICE)
        self.grain = torch.randn(48, HEIGHTS, BEARINGS, generator=self.generator, device=DEVICE) * 2e-4

    def turn(self, surface, number):
        offset = torch.randn(2, generator=self.generator, device=DEVICE) * 2e-4
        wobble = offset[0] * torch.cos(self.bearing) + offset[1] * torch.sin(self.bearing)
        return surface + wobble + self.grain[number % len(self.grain)]


class Inspector:
    """Passes a mould or sends it back to be scraped."""

    def __init__(self, strickle, scanner):
        self.strickle = strickle
        self.scanner = scanner
        self.moulds = 0
        self.scraped = 0

    def inspect(self):
        self.moulds += 1
        core = self.scanner.turn(self.strickle.core(), self.moulds * 2)
        cope = self.scanner.turn(self.strickle.cope(), self.moulds * 2 + 1)
        deviation = (cope - core - self.strickle.wall[:, None]) * 1000.0
        log.debug("mould %d: wall off by %s mm", self.moulds, deviation)
        worst = float(deviation.abs().mean(dim=1).max())
        if worst > TOLERANCE:
            self.scraped += 1
        return worst


def open_log():
    sheet = BatchSheet(capacity=12)
    log.setLevel(logging.DEBUG)
    log.propagate = False
    log.addHandler(sheet)
    return sheet


def main():
    torch.set_num_threads(1)
    sheet = open_log()
    inspector = Inspector(Strickle(), Scanner(seed=64))
    end = time.monotonic() + SECONDS
    report_at = time.monotonic() + 2.0
    while time.monotonic() < end:
        began = time.monotonic()
        worst = inspector.inspect()
        if time.monotonic() >= report_at:
            print(f"mould {inspector.moulds}: worst ring {worst:.3f} mm, spread of the dozen {sheet.spread:.4f} mm",
                  flush=True)
            report_at += 3.0
        time.sleep(max(0.0, 1.0 / MOULDS_A_SECOND - (time.monotonic() - began)))
    print(f"{inspector.moulds} moulds inspected, {inspector.scraped} to be scraped again", flush=True)


if __name__ == "__main__":
    main()
