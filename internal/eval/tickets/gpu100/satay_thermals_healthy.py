"""Thermal cameras over the satay grills of a night market tell the cooks which skewers to turn.

A patrol goes from grill to grill and takes a frame of each. Where smoke or fat on the lens spoils the frame, the
inspection is given up with a fault and the patrol walks on; the notice for the market office names the newest fault.
From good frames come the number of hot skewers and the evenness of the coals.

    ticket: practice
    class: none
"""
import os
import random
import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
HEIGHT, WIDTH = 640, 1024
ROUND = 1.0 / 7.0
GRILLS = ("north gate", "well", "tea house", "steps", "fountain", "east gate", "bus stop", "temple")
SKEWERS = 32
TURN_AT = 182.0
SMOKE_LIMIT = 0.05

torch.set_num_threads(1)


class LensFault(Exception):
    """A frame that cannot be judged."""

    def __init__(self, grill, share):
        super().__init__(f"{share:.0%} of the frame clouded at {grill}")
        self.grill = grill
        self.share = share


class Camera:
    """A thermal camera above one grill; some evenings the smoke hangs low."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.rng = random.Random(seed)
        self.coals = torch.linspace(-1.0, 1.0, WIDTH, device=DEVICE).square().mul(-20.0)

    def frame(self):
        heat = torch.randn(HEIGHT, WIDTH, device=DEVICE, generator=self.generator)
        heat.mul_(9.0).add_(180.0).add_(self.coals)
        if self.rng.random() < 0.4:
            clouded = self.rng.randrange(60, 200)
            heat[:clouded].fill_(35.0)
        return heat


class Grill:
    """What is known of one grill: the last good reading."""

    def __init__(self, place, seed):
        self.place = place
        self.camera = Camera(seed)
        self.hot = 0
        self.evenness = 0.0

    def note(self, hot, evenness):
        self.hot = hot
        self.evenness = evenness


class Patrol:
    def __init__(self):
        self.grills = [Grill(place, seed) for seed, place in enumerate(GRILLS)]
        self.turn = 0
        self.good = 0
        self.clouded = 0
        self.last_fault = None

    def clear_frame(self, grill):
        """A frame with an open view of the coals."""
        heat = grill.camera.frame()
        share = float((heat < 60.0).float().mean())
        if share > SMOKE_LIMIT:
            raise LensFault(grill.place, share)
        return heat

    def inspect(self, grill):
        heat = self.clear_frame(grill)
        lanes = heat.view(HEIGHT, SKEWERS, WIDTH // SKEWERS).mean(dim=(0, 2))
        hot = int((lanes > TURN_AT - 8.0).sum())
        grill.note(hot, float(lanes.std()))

    def step(self):
        grill = self.grills[self.turn % len(self.grills)]
        self.turn += 1
        try:
            self.inspect(grill)
        except LensFault as fault:
            self.clouded += 1
            self.last_fault = fault
        else:
            self.good += 1

    def notice(self):
        hottest = max(self.grills, key=lambda grill: grill.hot)
        fault = str(self.last_fault) if self.last_fault is not None else "no lens to wipe"
        return f"{self.good} good, {self.clouded} clouded; {hottest.place}: turn {hottest.hot} skewers; {fault}"


def main():
    patrol = Patrol()
    end = time.time() + SECONDS
    spoken = time.time()
    while time.time() < end:
        started = time.time()
        patrol.step()
        if time.time() - spoken > 3.0:
            spoken = time.time()
            print(patrol.notice(), flush=True)
        time.sleep(max(0.01, ROUND - (time.time() - started)))
    print(f"coals out after {patrol.turn} inspections on {DEVICE}", flush=True)


if __name__ == "__main__":
    main()
