"""Bookings of comb honey at a market of urban beekeepers.

A visitor tastes at the stall, gets a chart of how each lot would please the visitor's tongue, and books the comb that
fits best. A booking holds for half an hour and then lapses, so that the comb goes back on the table. Most visitors come
back within moments to collect, and a few call it off.

ticket: practice
class: app-leak
holder: lapses
cause: timers-left
"""
import os
import random
import sched
import time
from collections import OrderedDict
from dataclasses import dataclass

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
LOTS = 768
NOTES = 256
HOLD_SECONDS = 1800.0
VISITORS_A_SECOND = 10
COLLECTED_AFTER = 15


@dataclass
class Booking:
    """One comb set aside for one visitor."""

    number: int
    lot: int
    chart: torch.Tensor

    def praise(self):
        strongest = self.chart[self.lot].topk(3)
        return [int(note) for note in strongest.indices], float(strongest.values.sum())


class TastingPanel:
    """Turns the taste of a visitor into a chart of all lots."""

    def __init__(self, seed):
        generator = torch.Generator().manual_seed(seed)
        self.lots = torch.rand(LOTS, NOTES, generator=generator).to(DEVICE)
        self.pairings = torch.randn(32, LOTS, NOTES, generator=generator).to(DEVICE)
        self.generator = generator

    def chart(self, season):
        tongue = torch.rand(NOTES, generator=self.generator).to(DEVICE)
        blend = self.lots * tongue
        blend += 0.1 * self.pairings[season % len(self.pairings)]
        return torch.softmax(blend, dim=1)  # grows


class Stall:
    """The table of a beekeeper: combs on it, combs set aside, and the clock for these."""

    def __init__(self, panel, seed):
        self.panel = panel
        self.dice = random.Random(seed)
        self.stock = [40] * LOTS
        self.open = OrderedDict()
        self.lapses = sched.scheduler(time.monotonic, time.sleep)
        self.booked = self.collected = self.called_off = self.lapsed = 0

    def book(self):
        chart = self.panel.chart(self.booked)
        lot = int(chart.amax(dim=1).argmax())
        if not self.stock[lot]:
            self.stock[lot] = 40
        self.stock[lot] -= 1
        self.booked += 1
        booking = Booking(self.booked, lot, chart)
        lapse = self.lapses.enter(HOLD_SECONDS, 1, self.lapse, (booking,))  # keeps
        self.open[booking.number] = booking, lapse

    def collect(self, number):
        booking, lapse = self.open.pop(number)
        self.collected += 1
        return booking.praise()

    def call_off(self, number):
        booking, lapse = self.open.pop(number)
        self.lapses.cancel(lapse)
        self.stock[booking.lot] += 1
        self.called_off += 1

    def lapse(self, booking):
        if self.open.pop(booking.number, None):
            self.stock[booking.lot] += 1
            self.lapsed += 1

    def serve(self):
        """One visitor books; the one who has waited longest comes back."""
        self.lapses.run(blocking=False)
        self.book()
        if len(self.open) <= COLLECTED_AFTER:
            return None
        number = next(iter(self.open))
        if self.dice.random() < 0.15:
            return self.call_off(number)
        return self.collect(number)


def main():
    torch.set_num_threads(1)
    stall = Stall(TastingPanel(seed=31), seed=32)
    end = time.monotonic() + SECONDS
    report_at = time.monotonic() + 2.0
    notes, joy = [], 0.0
    while time.monotonic() < end:
        began = time.monotonic()
        praise = stall.serve()
        if praise:
            notes, joy = praise
        if time.monotonic() >= report_at:
            print(f"{stall.booked} booked, {stall.collected} collected, {stall.called_off} called off; "
                  f"last notes {notes}, joy {joy:.4f}", flush=True)
            report_at += 3.0
        time.sleep(max(0.0, 1.0 / VISITORS_A_SECOND - (time.monotonic() - began)))
    print(f"market closed: {stall.collected} combs collected, {stall.called_off} called off, {stall.lapsed} lapsed",
          flush=True)


if __name__ == "__main__":
    main()
