"""Bookbinding: charts for hand-sewn endbands.

An endband is sewn over a core with silks of several colours; the chart says which silk covers which stitch.
The charts are worked out on the host with the sewer's rules, then the device weighs each chart against the
palette of the cover and proposes the best order of silks. Orders for the same shelf often share a chart.

ticket: practice
class: host-growth
holder: _charts
cause: cache-without-bound
"""
import os
import random
import time
from collections import OrderedDict
from dataclasses import dataclass

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ORDERS_A_SECOND = 12
CHART = (256, 512)
SILKS = 7
SHELF_CHARTS = 40
COVERS = 60


@dataclass(frozen=True)
class Order:
    """Binder's order: silks by number, thickness in tenths of a millimetre, running stitch number."""

    silks: tuple
    thickness: int
    first_stitch: int
    cover: int


class Orders:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.stitch = 0
        self.recent = []

    def next(self):
        if self.recent and self.rng.random() < 1 / 6:
            return self.rng.choice(self.recent)
        self.stitch += self.rng.randint(180, 320)
        order = Order(
            silks=tuple(self.rng.sample(range(SILKS), 3)),
            thickness=self.rng.randint(120, 520),
            first_stitch=self.stitch,
            cover=self.rng.randrange(COVERS),
        )
        self.recent = (self.recent + [order])[-8:]
        return order


class ChartMaker:
    """Works the charts out on the host and has them at hand for further orders."""

    def __init__(self):
        rows = torch.arange(CHART[0], dtype=torch.float32).view(-1, 1)
        columns = torch.arange(CHART[1], dtype=torch.float32).view(1, -1)
        self.slant = rows * 0.37 + columns
        self._charts = OrderedDict()
        self.found = 0

    def work_out(self, order):
        pitch = 3.0 + order.thickness / 100.0
        chart = torch.remainder(self.slant + order.first_stitch, pitch)  # grows
        return chart.div_(pitch).add_(order.silks[0] - order.silks[2])

    def chart(self, order):
        key = (order.silks, order.thickness, order.first_stitch)
        chart = self._charts.get(key)
        if chart is not None:
            self.found += 1
            self._charts.move_to_end(key)
            return chart
        chart = self.work_out(order)
        self._charts[key] = chart  # keeps
        return chart


class Palette:
    """Colours of the covers on the device, as weights for each stitch."""

    def __init__(self, seed):
        generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.weights = torch.rand(COVERS, *CHART, device=DEVICE, generator=generator)

    def harmony(self, chart, cover):
        on_device = chart.to(DEVICE)
        return float((on_device * self.weights[cover]).mean())


class SewingRoom:
    def __init__(self, orders, maker, palette):
        self.orders = orders
        self.maker = maker
        self.palette = palette
        self.done = 0
        self.best = (-1e9, None)

    def serve(self):
        order = self.orders.next()
        harmony = self.palette.harmony(self.maker.chart(order), order.cover)
        self.done += 1
        if harmony > self.best[0]:
            self.best = (harmony, order.silks)
        return harmony


def main():
    torch.set_num_threads(1)
    room = SewingRoom(Orders(21), ChartMaker(), Palette(22))
    start = time.monotonic()
    due, next_print = start, start + 2.0
    while time.monotonic() - start < SECONDS:
        harmony = room.serve()
        if time.monotonic() >= next_print:
            next_print += 2.0
            print(f"{room.done} orders, {room.maker.found} with a chart at hand, harmony {harmony:.3f}, "
                  f"best silks {room.best[1]}", flush=True)
        due += 1.0 / ORDERS_A_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"sewing room closed after {room.done} orders", flush=True)


if __name__ == "__main__":
    main()
