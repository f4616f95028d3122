"""Runs the copper stills of a lavender distillery, one charge of flowers after the other.

For each charge the vapour in the column is worked out over height and time, and the share of linalyl acetate in
the oil follows from it. A charge that would scorch or flood the column is refused, and the master distiller
sees for each still what was refused and why.

ticket: practice
class: none
"""
import os
import random
import time
from collections import Counter
from dataclasses import dataclass

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
STILLS = ("Annot", "Banon", "Cotignac", "Digne", "Entrevaux", "Forcalquier")
HEIGHTS = 384
MOMENTS = 640
ROUNDS_PER_SECOND = 12


class ChargeRefused(Exception):
    reason = "refused"

    def __init__(self, number, text):
        super().__init__(f"charge {number}: {text}")
        self.number = number


class Scorched(ChargeRefused):
    reason = "scorched"


class Flooded(ChargeRefused):
    reason = "flooded"


@dataclass
class Charge:
    number: int
    still: str
    kilos: float
    steam: float
    moisture: float


class Column:
    """Vapour over height and time in a packed column."""

    def __init__(self):
        self.height = torch.linspace(0, 1, HEIGHTS, device=DEVICE).unsqueeze(1)
        self.moment = torch.linspace(0, 1, MOMENTS, device=DEVICE).unsqueeze(0)

    def vapour(self, charge):
        front = charge.steam * self.moment - charge.moisture * self.height
        rise = torch.sigmoid(9.0 * front)
        return rise

    def distil(self, charge):
        vapour = self.vapour(charge)
        heat = float(vapour[0].mean()) * charge.steam
        load = float(vapour[:, -1].mean()) * charge.kilos / 100
        if heat > 1.35:
            raise Scorched(charge.number, f"bottom at {heat:.2f}")
        if load > 1.2:
            raise Flooded(charge.number, f"load of {load:.2f}")
        oil = (vapour.mean(0) * torch.exp(-3.0 * self.moment[0])).sum() / MOMENTS
        return float(oil) * charge.kilos


class Distillery:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.column = Column()
        self.number = 0
        self.oil = Counter()
        self.reasons = Counter()
        self._refused = {}

    def next_charge(self):
        self.number += 1
        return Charge(
            number=self.number,
            still=STILLS[self.number % len(STILLS)],
            kilos=self.rng.uniform(60, 140),
            steam=self.rng.uniform(0.8, 1.9),
            moisture=self.rng.uniform(0.2, 0.7),
        )

    def run(self, charge):
        try:
            self.oil[charge.still] += self.column.distil(charge)
        except ChargeRefused as refusal:
            self.reasons[refusal.reason] += 1
            self._refused[charge.still] = refusal

    def last_refusal(self):
        if not self._refused:
            return "none refused"
        return str(max(self._refused.values(), key=lambda refusal: refusal.number))

    def board(self):
        best, litres = self.oil.most_common(1)[0]
        counts = ", ".join(f"{count} {reason}" for reason, count in sorted(self.reasons.items()))
        return f"{best} leads with {litres / 100:.2f} l; {counts}; {self.last_refusal()}"


def main():
    torch.set_num_threads(1)
    distillery = Distillery(seed=17)
    begun = time.monotonic()
    next_line = begun + 2.0
    while time.monotonic() - begun < SECONDS:
        started = time.monotonic()
        distillery.run(distillery.next_charge())
        if started >= next_line:
            print(f"charge {distillery.number}: {distillery.board()}", flush=True)
            next_line += 3.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - started)))
    total = sum(distillery.oil.values()) / 100
    print(f"fires out after {distillery.number} charges, {total:.2f} l of oil", flush=True)


if __name__ == "__main__":
    main()
