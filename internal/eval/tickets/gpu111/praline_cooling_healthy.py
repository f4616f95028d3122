"""Moulded pralines run through the cooling tunnel of a chocolate factory and go on to set in the store behind it.
A monitor works out, several times a second, how far every tray laid since the shift began has crystallised, along
a set of depths through the shell, and from that how many trays are ready to be knocked out of their moulds.

ticket: practice
class: pool-growth
holder: -
cause: outgrown-blocks
"""
import os
import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DEPTHS = 256
TRAYS_AT_START = 10_400
TRAYS_PER_ROUND = 144
TRAYS_PER_SHIFT = 240_000
ROUND = 0.2
REPORT_EVERY = 14
SET_LEVEL = 0.97


class Tunnel:
    """Temperature of the tunnel, zone by zone, which wanders a little."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.zones = torch.full((6,), 11.0, device=DEVICE)

    def drift(self):
        push = torch.randn(6, device=DEVICE, generator=self.generator).mul_(0.05)
        self.zones.add_(push).sub_((self.zones - 11.0) * 0.02)
        return self.zones

    def crystal_rates(self, depths):
        """How fast the shell crystallises at each depth, in shares for a tray of the belt."""
        cold = (18.0 - self.zones.mean()) / 7.0
        return (1.0 - 0.6 * depths) * cold * 1.2e-3


class Shift:
    """How many trays have been laid on the belt so far."""

    def __init__(self):
        self.trays = TRAYS_AT_START

    def lay(self):
        self.trays = min(self.trays + TRAYS_PER_ROUND, TRAYS_PER_SHIFT)
        return self.trays


class SettingMonitor:
    """Works out the state of all trays of the shift."""

    def __init__(self):
        self.age = torch.arange(TRAYS_PER_SHIFT, device=DEVICE, dtype=torch.float32)
        self.depths = torch.linspace(0.0, 1.0, DEPTHS, device=DEVICE)
        self.unset_by_depth = torch.zeros(DEPTHS, device=DEVICE)
        self.grid = torch.empty((TRAYS_PER_SHIFT, DEPTHS), device=DEVICE)

    def survey(self, trays, tunnel):
        rates = tunnel.crystal_rates(self.depths)
        grid = self.grid[:trays]
        torch.outer(self.age[:trays], rates, out=grid)
        grid.neg_().exp_()
        self.unset_by_depth = grid.mean(dim=0)  # grows
        core = grid[:, -1]
        ready = int((core < 1.0 - SET_LEVEL).sum())
        return ready, float(grid[-1].mean())

    def slowest_depth(self):
        return int(self.unset_by_depth.argmax())


class Foreman:
    """Sends trays to the knocking table and says what stands in the store."""

    def __init__(self):
        self.knocked = 0
        self.idle_rounds = 0

    def take(self, ready):
        fresh = ready - self.knocked
        if fresh <= 0:
            self.idle_rounds += 1
            return 0
        taken = min(fresh, 2 * TRAYS_PER_ROUND)
        self.knocked += taken
        return taken


def main():
    seconds = float(os.environ.get("SECONDS", "120"))
    torch.set_num_threads(1)
    tunnel = Tunnel(seed=901)
    shift = Shift()
    monitor = SettingMonitor()
    foreman = Foreman()
    began = time.monotonic()
    rounds = 0
    while time.monotonic() - began < seconds:
        tunnel.drift()
        trays = shift.lay()
        ready, oldest = monitor.survey(trays, tunnel)
        foreman.take(ready)
        rounds += 1
        if rounds % REPORT_EVERY == 0:
            print(f"round {rounds}: {trays} trays laid, {ready} set, {foreman.knocked} knocked out, oldest tray "
                  f"{oldest:.4f} unset, slowest depth {monitor.slowest_depth()}", flush=True)
        time.sleep(max(0.0, began + rounds * ROUND - time.monotonic()))
    print(f"shift ends after {rounds} rounds with {foreman.knocked} trays out of the moulds", flush=True)


if __name__ == "__main__":
    main()
