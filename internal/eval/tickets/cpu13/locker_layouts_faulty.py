"""Layout planning for banks of parcel lockers.

For each site a few layouts are drafted: columns of small, medium and large compartments are drawn at random, the
day's parcels are dropped into the compartments that fit them best, and the layout that turns away the fewest parcels
wins. Clearances inside each compartment are noted on a fine grid, as odd parcels share a compartment. Answers are due
at even times.

ticket: practice
class: host-growth
holder: bank compartments
cause: reference-cycle
"""
import gc
import os
import random
import time

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 6
DRAFTS_PER_SITE = 3
SIZES = {"small": (24, 40), "medium": (48, 40), "large": (96, 40)}
COLUMNS = 8
COLUMN_HEIGHT = 192


class Parcel:
    __slots__ = ("height", "width")

    def __init__(self, height, width):
        self.height = height
        self.width = width


class Compartment:
    """One door of a bank, with a grid of the clearance that is left behind it."""

    def __init__(self, bank, size):
        self.bank = bank  # keeps
        self.size = size
        rows, columns = SIZES[size]
        self.clearance = np.full((rows, columns), 60.0, dtype=np.float32)  # grows
        self.parcels = 0

    def fits(self, parcel):
        rows, columns = self.clearance.shape
        if parcel.height > rows or parcel.width > columns:
            return False
        return bool((self.clearance[-parcel.height:, :parcel.width] >= 25.0).all())

    def store(self, parcel):
        self.clearance[-parcel.height:, :parcel.width] -= 25.0
        self.parcels += 1
        self.bank.note_stored(self)


class LockerBank:
    """A draft of one bank: compartments from the ground up, column by column."""

    def __init__(self, site, mix):
        self.site = site
        self.mix = mix
        self.compartments = []
        self.stored = {size: 0 for size in SIZES}
        self.turned_away = 0

    def build(self, chooser):
        for _ in range(COLUMNS):
            height = 0
            while height < COLUMN_HEIGHT:
                size = chooser.choices(list(SIZES), weights=self.mix)[0]
                if height + SIZES[size][0] > COLUMN_HEIGHT:
                    size = "small"
                self.compartments.append(Compartment(self, size))  # keeps
                height += SIZES[size][0]
        self.compartments.sort(key=lambda compartment: SIZES[compartment.size])

    def note_stored(self, compartment):
        self.stored[compartment.size] += 1

    def receive(self, parcel):
        for compartment in self.compartments:
            if compartment.fits(parcel):
                compartment.store(parcel)
                return
        self.turned_away += 1


class Planner:
    def __init__(self, seed):
        self.chooser = random.Random(seed)
        self.sites = 0
        self.refused = 0

    def parcels_of_day(self, count):
        scale = self.chooser.uniform(0.7, 1.3)
        parcels = []
        for _ in range(count):
            height = int(min(96, max(4, self.chooser.lognormvariate(3.0, 0.6) * scale)))
            parcels.append(Parcel(height, self.chooser.randrange(8, 40)))
        return parcels

    def draft(self, parcels):
        mix = [self.chooser.uniform(0.2, 1.0) for _ in SIZES]
        bank = LockerBank(self.sites, mix)
        bank.build(self.chooser)
        for parcel in parcels:
            bank.receive(parcel)
        return bank

    def plan_site(self):
        self.sites += 1
        parcels = self.parcels_of_day(70)
        best = min((self.draft(parcels) for _ in range(DRAFTS_PER_SITE)), key=lambda bank: bank.turned_away)
        self.refused += best.turned_away
        return [round(share, 2) for share in best.mix], best.turned_away


def main():
    gc.disable()
    planner = Planner(seed=58)
    started = time.monotonic()
    report_due = started + 2.0
    while time.monotonic() - started < SECONDS:
        round_start = time.monotonic()
        mix, turned_away = planner.plan_site()
        if time.monotonic() >= report_due:
            print(f"site {planner.sites}: mix {mix}, turned away {turned_away}", flush=True)
            report_due += 2.0
        time.sleep(max(0.02, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - round_start)))
    print(f"{planner.sites} sites planned, {planner.refused} parcels refused in all", flush=True)


if __name__ == "__main__":
    main()
