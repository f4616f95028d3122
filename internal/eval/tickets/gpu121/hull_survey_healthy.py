"""Survey of a ship's hull in dry dock. A camera crane goes along the side and delivers tiles of paint
thickness; an inspector looks through them for rust, evens out the lighting, and notes the plates that need
blasting. Crane and inspector work side by side, each at its own pace.

ticket: practice
class: none
"""
import os
import queue
import threading
import time
from dataclasses import dataclass

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))

CRANE_PERIOD = 0.1
LOOK_PERIOD = 0.25
TILE = 512
PLATES = 60
LIGHTS = 32
RACK = 8
RUST_SHARE = 0.01


@dataclass
class Tile:
    plate: int
    frame: int
    thickness: torch.Tensor


class Crane(threading.Thread):
    """Goes along the hull and puts a tile on the rack at every stop."""

    def __init__(self, tiles, seed):
        super().__init__(name="crane", daemon=True)
        self.tiles = tiles
        self.halt = threading.Event()
        self.frame = 0
        self._generator = torch.Generator(device=DEVICE).manual_seed(seed)

    def shoot(self):
        thickness = torch.randn(TILE, TILE, generator=self._generator, device=DEVICE)
        thickness.mul_(0.3).add_(1.0 + 0.02 * (self.frame % PLATES) / PLATES)
        return Tile(self.frame % PLATES, self.frame, thickness)

    def run(self):
        due = time.monotonic()
        while not self.halt.is_set():
            self.tiles.put(self.shoot())
            self.frame += 1
            due = max(due + CRANE_PERIOD, time.monotonic())
            self.halt.wait(max(0.0, due - time.monotonic()))


class Inspector:
    """Evens out the light on a tile and judges it."""

    def __init__(self, seed):
        gen = torch.Generator().manual_seed(seed)
        self.lights = (torch.rand(LIGHTS, TILE, TILE, generator=gen) * 0.1 + 0.95).to(DEVICE)
        self.rust = [0.0] * PLATES
        self.seen = 0
        self.last_frame = 0

    @torch.no_grad()
    def look(self, tile):
        even = tile.thickness / self.lights[tile.frame % LIGHTS]
        local = torch.nn.functional.avg_pool2d(even[None, None], 9, stride=4)
        thin = float((local < 0.93).float().mean())
        self.rust[tile.plate] += 0.3 * (thin - self.rust[tile.plate])
        self.seen += 1
        self.last_frame = tile.frame
        return thin

    def to_blast(self):
        return [plate for plate, share in enumerate(self.rust) if share > RUST_SHARE]


class Report:
    def __init__(self, every):
        self.every = every
        self.last = time.monotonic()

    def maybe(self, inspector, thin):
        now = time.monotonic()
        if now - self.last < self.every:
            return
        self.last = now
        print(
            f"frame {inspector.last_frame}: thin paint on {thin:.1%}, {inspector.seen} tiles seen, "
            f"{len(inspector.to_blast())} plates to blast",
            flush=True,
        )


def main():
    tiles = queue.Queue(maxsize=RACK)
    crane = Crane(tiles, seed=101)
    inspector = Inspector(seed=102)
    report = Report(every=3.0)
    crane.start()
    began = time.monotonic()
    due = began
    while time.monotonic() - began < SECONDS:
        tile = tiles.get()
        thin = inspector.look(tile)
        del tile
        report.maybe(inspector, thin)
        due = max(due + LOOK_PERIOD, time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))
    crane.halt.set()
    while crane.is_alive():
        try:
            tiles.get(timeout=0.1)
        except queue.Empty:
            continue
    print(f"survey over: {inspector.seen} tiles seen, plates to blast: {inspector.to_blast()[:8]}", flush=True)


if __name__ == "__main__":
    main()
