"""Oven control of a night bakery that bakes rye loaves on a stone deck.

Each batch of loaves is a field of temperatures through the crumb, heated from the deck below and the vault above. A
timer tells the baker when to turn the batch, and a second one, set an hour ahead, calls for help when a batch is still
in the oven by then. A batch comes out when the core of its loaves has reached the temperature for rye.

ticket: practice
class: app-leak
holder: timers
cause: timers-left
"""
import os
import sched
import time
from collections import deque

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
LAYERS = 8
DECK = 192
PLACES = 8
CORE_DONE = 97.0
OVERDUE_AFTER = 3600.0
TURN_AFTER = 0.5
ROUNDS_PER_SECOND = 12


class Batch:
    """Loaves on one place of the deck, with the temperatures of the crumb by layer."""

    def __init__(self, number, generator):
        self.number = number
        self.crumb = torch.rand(LAYERS, DECK, DECK, generator=generator, device=DEVICE)  # grows
        self.crumb.mul_(4.0).add_(26.0)
        self.rate = 0.30 + 0.02 * (number % 5)
        self.turned = False
        self.overdue = None

    def core(self):
        middle = LAYERS // 2
        return self.crumb[middle - 1 : middle + 1].mean()

    def heat(self, deck, vault):
        """Explicit diffusion between layers, with the deck and the vault as the two ends."""
        below = torch.cat((deck.expand(1, DECK, DECK), self.crumb[:-1]))
        above = torch.cat((self.crumb[1:], vault.expand(1, DECK, DECK)))
        for _ in range(2):
            self.crumb.add_(self.rate * (below + above - 2.0 * self.crumb))
        self.crumb.clamp_(max=240.0)


class StoneOven:
    """Deck and vault, which lose heat to the loaves and are fired again."""

    def __init__(self):
        self.deck = torch.full((DECK, DECK), 225.0, device=DEVICE)
        self.vault = torch.full((DECK, DECK), 240.0, device=DEVICE)

    def fire(self, batches):
        cooling = 0.2 * len(batches)
        self.deck.add_(0.10 * (228.0 - self.deck) - 0.05 * cooling)
        self.vault.add_(0.12 * (242.0 - self.vault) - 0.04 * cooling)


class NightShift:
    """Loads, turns and unloads the batches of one night."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.oven = StoneOven()
        self.timers = sched.scheduler(time.monotonic, time.sleep)
        self.baking = deque()
        self.loaded = 0
        self.unloaded = 0
        self.turns = 0
        self.calls = 0

    def load(self):
        batch = Batch(self.loaded, self.generator)
        self.loaded += 1
        self.timers.enter(TURN_AFTER, 2, self.turn, (batch,))
        batch.overdue = self.timers.enter(OVERDUE_AFTER, 1, self.call_baker, (batch,))  # keeps
        self.baking.append(batch)

    def turn(self, batch):
        batch.crumb.copy_(batch.crumb.flip(-1))
        batch.turned = True
        self.turns += 1

    def call_baker(self, batch):
        self.calls += 1
        print(f"batch {batch.number} is still in the oven", flush=True)

    def unload(self, batch):
        batch.overdue = None
        self.baking.remove(batch)
        self.unloaded += 1

    def work(self):
        """One round of the shift."""
        self.timers.run(blocking=False)
        if len(self.baking) < PLACES:
            self.load()
        self.oven.fire(self.baking)
        for batch in self.baking:
            batch.heat(self.oven.deck, self.oven.vault)
        cores = torch.stack([batch.core() for batch in self.baking]).tolist()
        ready = [batch for batch, core in zip(self.baking, cores) if core >= CORE_DONE and batch.turned]
        for batch in ready:
            self.unload(batch)
        return max(cores)


def main():
    torch.set_num_threads(1)
    shift = NightShift(seed=5)
    started = time.monotonic()
    next_print = started + 2.0
    while time.monotonic() - started < SECONDS:
        beat = time.monotonic()
        hottest = shift.work()
        if beat >= next_print:
            print(
                f"loaded {shift.loaded}, out {shift.unloaded}, turned {shift.turns},"
                f" {len(shift.baking)} on the deck, hottest core {hottest:.1f} C",
                flush=True,
            )
            next_print += 3.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - beat)))
    print(f"end of the shift: {shift.unloaded} batches of rye, {shift.calls} calls for help", flush=True)


if __name__ == "__main__":
    main()
