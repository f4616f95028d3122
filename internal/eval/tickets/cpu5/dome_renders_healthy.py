"""Frame server of a planetarium's dome.

The show's desk orders frames ahead of time: each order names a moment of the night, and the
renderer turns the catalogue of stars to it, projects it on the dome as a fisheye and lays the
stars down as points with a glow. Orders go through a short queue to the renderer's thread and the
tickets come back when their frame is done; between the two they stand in a table, where the desk
can look up what is on its way and repeat what took too long. The frames go on to the projector.

ticket: practice
class: none
"""
import dataclasses
import math
import os
import queue
import threading
import time

import torch
import torch.nn.functional as F

SIZE = 256
STARS = 4000
FRAMES_A_SECOND = 10
AHEAD = 5


@dataclasses.dataclass
class Order:
    ticket: int
    sidereal: float
    placed: float
    frame: torch.Tensor = None
    ready: bool = False


class Catalogue:
    def __init__(self, seed):
        source = torch.Generator().manual_seed(seed)
        self.ascension = 2 * math.pi * torch.rand(STARS, generator=source)
        self.declination = torch.asin(2 * torch.rand(STARS, generator=source) - 1)
        brightness = torch.rand(STARS, generator=source) ** 6
        warmth = torch.rand(STARS, generator=source)
        self.colour = torch.stack([0.7 + 0.3 * warmth, torch.full_like(warmth, 0.85), 1.0 - 0.3 * warmth])
        self.light = self.colour * (0.1 + brightness)

    def above(self, sidereal, latitude=math.radians(52)):
        """Azimuth, zenith distance and light of the stars that are up."""
        hour = sidereal - self.ascension
        height = (math.sin(latitude) * self.declination.sin()
                  + math.cos(latitude) * self.declination.cos() * hour.cos())
        azimuth = torch.atan2(hour.sin(), hour.cos() * math.sin(latitude)
                              - self.declination.tan() * math.cos(latitude))
        up = height > 0
        return azimuth[up], torch.acos(height[up].clamp(max=1.0)), self.light[:, up]


class Renderer(threading.Thread):
    def __init__(self, catalogue, inbox, outbox):
        super().__init__(name="renderer", daemon=True)
        self.catalogue, self.inbox, self.outbox = catalogue, inbox, outbox
        ring = torch.arange(5) - 2.0
        glow = torch.exp(-(ring[:, None] ** 2 + ring[None, :] ** 2) / 1.5)
        self.glow = (glow / glow.sum()).expand(3, 1, 5, 5).contiguous()

    def run(self):
        for order in iter(self.inbox.get, None):
            order.frame = self.render(order.sidereal)
            order.ready = True
            self.outbox.put(order.ticket)

    @torch.no_grad()
    def render(self, sidereal):
        azimuth, zenith, light = self.catalogue.above(sidereal)
        radius = zenith / (math.pi / 2) * (SIZE / 2 - 2)
        rows = (SIZE / 2 + radius * azimuth.cos()).long()
        columns = (SIZE / 2 + radius * azimuth.sin()).long()
        points = torch.zeros(3, SIZE * SIZE)
        points.index_add_(1, rows * SIZE + columns, light)
        sky = points.view(1, 3, SIZE, SIZE)
        return (sky + F.conv2d(sky, self.glow, padding=2, groups=3)).clamp_(0, 4)[0]


class Desk:
    def __init__(self, inbox, outbox):
        self.inbox, self.outbox = inbox, outbox
        self.orders = {}
        self.ticket = 0
        self.slowest = 0.0

    def place(self, sidereal):
        self.ticket += 1
        order = Order(self.ticket, sidereal, time.time())
        self.orders[order.ticket] = order
        self.inbox.put(order)

    def collect(self):
        ticket = self.outbox.get()
        order = self.orders.pop(ticket)
        self.slowest = max(self.slowest, time.time() - order.placed)
        return order.frame

    def late(self, patience=2.0):
        now = time.time()
        return [t for t, order in self.orders.items() if not order.ready and now - order.placed > patience]


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    inbox, outbox = queue.Queue(maxsize=AHEAD), queue.Queue(maxsize=AHEAD)
    desk = Desk(inbox, outbox)
    Renderer(Catalogue(seed=9), inbox, outbox).start()
    for ahead in range(AHEAD):
        desk.place(sidereal=0.01 * ahead)
    shown, light = 0, 0.0
    while time.time() < end:
        frame = desk.collect()
        desk.place(sidereal=0.01 * desk.ticket)
        light = 0.9 * light + 0.1 * float(frame.mean())
        shown += 1
        if shown % 35 == 0:
            print(f"frame {shown}: mean light {light:.4f}, late {desk.late()}, "
                  f"slowest {desk.slowest:.2f} s", flush=True)
        time.sleep(1 / FRAMES_A_SECOND)
    inbox.put(None)


if __name__ == "__main__":
    main()
