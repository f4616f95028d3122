"""Cooking control for the digester of a paper mill.

Chips sink through a tall digester while liquor takes the lignin out of them. A model of the vessel on the device
follows heat, alkali and lignin; at every round the field of lignin is turned into kappa numbers on the host, where
the laboratory's calibration is at home. At the end of each watch the cooking temperature is set anew.

ticket: practice
class: none
"""
import os
import time

import numpy as np
import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
LEVELS, CHIPS = 384, 512
ROUNDS_PER_SECOND = 8
ROUNDS_PER_WATCH = 20


class Digester:
    """Vessel with chips sinking from the top (level 0) to the blow line (last level)."""

    def __init__(self, seed):
        self._generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.lignin = torch.full((LEVELS, CHIPS), 0.27, device=DEVICE)
        self.alkali = torch.linspace(1.0, 0.3, LEVELS, device=DEVICE).unsqueeze(1).repeat(1, CHIPS)
        self.temperature = 168.0

    def step(self):
        wood = 0.27 + 0.01 * torch.randn(4, CHIPS, generator=self._generator, device=DEVICE)
        self.lignin = torch.cat([wood, self.lignin[:-4]])
        self.alkali = torch.cat([torch.ones(4, CHIPS, device=DEVICE), self.alkali[:-4]])
        rate = 0.03 * 2.0 ** ((self.temperature - 168.0) / 8.0)
        taken = rate * self.alkali * self.lignin
        self.lignin.sub_(taken)
        self.alkali.sub_(0.25 * taken).clamp_(0.05, 1.0)


class Laboratory:
    """Calibration of lignin to kappa numbers, from hand samples of the blow line."""

    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)
        self.slope = np.float32(680.0)
        self.offset = np.float32(1.5)

    def kappa(self, lignin):
        return lignin.cpu().numpy() * self.slope + self.offset

    def recalibrate(self):
        self.slope = np.float32(680.0 + self._rng.normal(0.0, 2.0))


class Watch:
    """Maps of one watch, and what its leader reads from them."""

    def __init__(self, target):
        self.target = target
        self.kappa_maps = []
        self.begin = 0
        self.closed = 0
        self.mean = target
        self.spread = 0.0

    def enter(self, kappa):
        self.kappa_maps.append(kappa)

    def full(self):
        return len(self.kappa_maps) - self.begin >= ROUNDS_PER_WATCH

    def close(self):
        """Mean and spread at the blow line since the watch began; the next one begins here."""
        ours = self.kappa_maps[self.begin:]
        blow = np.stack([kappa[-8:].mean(axis=0) for kappa in ours])
        self.mean = float(blow.mean())
        self.spread = float(blow.std())
        self.kappa_maps.clear()
        self.begin = len(self.kappa_maps)
        self.closed += 1


class Cook:
    """Sets the temperature by the kappa number of the last watch."""

    def __init__(self, digester, gain=0.05):
        self.digester = digester
        self.gain = gain

    def correct(self, watch):
        change = self.gain * (watch.mean - watch.target)
        temperature = self.digester.temperature + max(-1.0, min(1.0, change))
        self.digester.temperature = max(155.0, min(178.0, temperature))


def main():
    torch.set_num_threads(1)
    seconds = float(os.environ.get("SECONDS", "120"))
    digester = Digester(seed=3)
    laboratory = Laboratory(seed=4)
    watch = Watch(target=28.0)
    cook = Cook(digester)

    start = time.monotonic()
    rounds = 0
    while time.monotonic() - start < seconds:
        digester.step()
        watch.enter(laboratory.kappa(digester.lignin))
        rounds += 1
        if watch.full():
            watch.close()
            laboratory.recalibrate()
            cook.correct(watch)
            print(
                f"watch {watch.closed}: kappa {watch.mean:.1f} +- {watch.spread:.1f}, "
                f"cooking at {digester.temperature:.1f} C",
                flush=True,
            )
        time.sleep(max(0.0, start + rounds / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"cooked {rounds} rounds in {watch.closed} watches", flush=True)


if __name__ == "__main__":
    main()
