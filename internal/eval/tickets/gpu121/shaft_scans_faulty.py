"""Laser scans of lift shafts before rails are set. A carriage goes up a shaft and stops at segments; each stop
gives a block of echoes, which is brought onto the device, set against the plan of the shaft and boiled down to
a profile of the walls. The scans have lanes of their own on the device, so that one shaft does not wait for the
other.

ticket: practice
class: pool-growth
holder: _lanes
cause: pool-for-each-stream
"""
import contextlib
import ctypes
import os
import time

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))

PERIOD = 0.25
SHAFTS = ("north", "south", "goods")
SEGMENTS = 6
BEAMS = 3072
RETURNS = 1024
TOLERANCE_MM = 2.0


class Lane:
    """An order of work on the device."""

    def __init__(self):
        self.stream = None
        if DEVICE == "cuda":
            handle = ctypes.c_void_p()
            torch.cuda.check_error(torch.cuda.cudart().cudaStreamCreate(ctypes.addressof(handle)))
            self.stream = torch.cuda.ExternalStream(handle.value)

    def __enter__(self):
        self._context = torch.cuda.stream(self.stream) if self.stream else contextlib.nullcontext()
        self._context.__enter__()
        return self

    def __exit__(self, *exc):
        if self.stream:
            self.stream.synchronize()
        return self._context.__exit__(*exc)


class Carriage:
    """The scanner's side: where it stands, and the echoes that come from there."""

    def __init__(self, seed):
        gen = torch.Generator().manual_seed(seed)
        self.echoes = torch.randn(BEAMS, RETURNS, generator=gen)
        self.shaft = 0
        self.segment = 0
        self.ascent = 1

    def advance(self):
        self.segment += 1
        if self.segment == SEGMENTS:
            self.segment = 0
            self.shaft = (self.shaft + 1) % len(SHAFTS)
            self.ascent += 1

    def drift(self):
        return 0.3 * self.segment + 0.1 * (self.ascent % 7)


class Surveyor:
    def __init__(self, seed):
        gen = torch.Generator().manual_seed(seed)
        self.plans = {name: torch.randn(BEAMS, RETURNS, generator=gen).to(DEVICE) for name in SHAFTS}
        self.worst = dict.fromkeys(SHAFTS, 0.0)
        self.beyond = 0
        self._lanes = {}

    def lane(self, shaft, ascent):
        key = (shaft, ascent)
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = Lane()  # keeps
        return lane

    def measure(self, carriage):
        shaft = SHAFTS[carriage.shaft]
        with self.lane(shaft, carriage.ascent):
            deviation = self.profile(shaft, carriage)
        self.worst[shaft] = max(self.worst[shaft], deviation)
        self.beyond += deviation > TOLERANCE_MM
        return deviation

    def profile(self, shaft, carriage):
        echo = torch.empty(BEAMS, RETURNS, device=DEVICE)  # grows
        echo.copy_(carriage.echoes)
        echo.add_(carriage.drift()).sub_(self.plans[shaft]).abs_()
        walls = echo.mean(dim=1)  # grows
        return float(walls.max())


def main():
    carriage = Carriage(seed=11)
    surveyor = Surveyor(seed=12)
    if DEVICE == "cuda":
        torch.cuda.synchronize()
    began = time.monotonic()
    due = began
    shown = began
    stops = 0
    while time.monotonic() - began < SECONDS:
        deviation = surveyor.measure(carriage)
        stops += 1
        carriage.advance()
        if time.monotonic() - shown >= 4.0:
            shown = time.monotonic()
            print(
                f"stop {stops}, ascent {carriage.ascent}: deviation {deviation:.2f} mm, "
                f"beyond tolerance {surveyor.beyond}",
                flush=True,
            )
        due += PERIOD
        time.sleep(max(0.0, due - time.monotonic()))
    text = ", ".join(f"{name} {value:.2f} mm" for name, value in surveyor.worst.items())
    print(f"survey done, {stops} stops; worst: {text}", flush=True)


if __name__ == "__main__":
    main()
