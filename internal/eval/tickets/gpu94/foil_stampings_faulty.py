"""Heat control of a hot foil press in a print shop.

Each order comes with line art of a cover. The art is turned into a relief plate (rounded shoulders of the
letters), the plate is warmed up on the press bed, and a short run of covers is stamped with it. From the
temperatures over the plate the press derives the dwell time for the run and the share of covers on which the
foil sits well. A ledger counts the plates that were mounted and the plates that went back to the shelf.

ticket: practice
class: app-leak
holder: finalize _registry
cause: registered-for-the-end
"""
import os
import random
import time
import weakref
from collections import Counter

import torch
import torch.nn.functional as F

device = "cuda" if torch.cuda.is_available() else "cpu"
SIDE = 1024
WARMUP_PASSES = 6
ORDERS_PER_SECOND = 4.0


class Ledger:
    """What the foreman reads at the end of the shift."""

    def __init__(self):
        self.counts = Counter()
        self.covers = 0
        self.rejects = 0

    def mounted(self, foil):
        self.counts[foil] += 1

    def shelved(self, foil):
        self.counts[foil] -= 1

    def stamped(self, covers, rejects):
        self.covers += covers
        self.rejects += rejects


def gaussian_kernel(width, sigma):
    axis = torch.arange(width, dtype=torch.float32) - width // 2
    line = torch.exp(-0.5 * (axis / sigma) ** 2)
    square = torch.outer(line, line)
    return (square / square.sum()).view(1, 1, width, width).to(device)


class FoilPlate:
    """A relief plate on the bed of the press, from mounting until it is taken off."""

    def __init__(self, art, foil, ledger, shoulder):
        self.foil = foil
        self.ledger = ledger
        self.relief = F.conv2d(art, shoulder, padding=shoulder.shape[-1] // 2).clamp_(0.0, 1.0)  # grows
        self.melting_point = {"gold": 0.80, "silver": 0.76, "copper": 0.84}[foil]
        ledger.mounted(foil)
        self._closer = weakref.finalize(self, self.take_off)  # keeps

    def take_off(self):
        self.ledger.shelved(self.foil)

    def warm_up(self, bed):
        """Let the heat of the bed spread through the plate; returns the temperatures on its face."""
        face = torch.full_like(self.relief, 0.2)
        for _ in range(WARMUP_PASSES):
            spread = F.avg_pool2d(face, 5, stride=1, padding=2)
            face = spread + 0.35 * (bed - spread) * (0.5 + 0.5 * self.relief)
        return face


class FoilPress:
    def __init__(self, ledger):
        self.ledger = ledger
        self.shoulder = gaussian_kernel(9, 1.8)
        ramp = torch.linspace(0.75, 0.95, SIDE, device=device)
        self.bed = ramp.view(1, 1, 1, SIDE).expand(1, 1, SIDE, SIDE).contiguous()
        self.art_board = torch.empty(1, 1, SIDE, SIDE, device=device)

    def draw_art(self, lines):
        """Rules and blocks of a cover, drawn onto the art board that all orders share."""
        self.art_board.zero_()
        for _ in range(lines):
            top, left = random.randrange(SIDE - 64), random.randrange(SIDE - 256)
            height, width = random.randrange(4, 64), random.randrange(32, 256)
            self.art_board[:, :, top:top + height, left:left + width] = 1.0
        return self.art_board

    def stamp(self, order):
        plate = FoilPlate(self.draw_art(order["lines"]), order["foil"], self.ledger, self.shoulder)
        face = plate.warm_up(self.bed)
        letters = plate.relief > 0.5
        hot = (face > plate.melting_point) & letters
        share = (hot.sum() / letters.sum().clamp(min=1)).item()
        dwell = 0.4 + 1.2 * (1.0 - share)
        rejects = round(order["covers"] * max(0.0, 0.04 * dwell + random.gauss(0.0, 0.005)))
        self.ledger.stamped(order["covers"], rejects)
        return dwell, share


def order_book(seed):
    rng = random.Random(seed)
    number = 0
    while True:
        number += 1
        yield {"number": number, "foil": rng.choice(("gold", "silver", "copper")),
               "lines": rng.randrange(20, 40), "covers": rng.randrange(50, 400)}


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    random.seed(11)
    ledger = Ledger()
    press = FoilPress(ledger)
    due, shown = time.time(), time.time()
    for order in order_book(5):
        dwell, share = press.stamp(order)
        if time.time() - shown > 4:
            shown = time.time()
            print(f"order {order['number']}: {order['foil']} dwell {dwell:.2f} s, foil on {share:.1%}, "
                  f"{ledger.covers} covers, {ledger.rejects} rejects", flush=True)
        if time.time() > end:
            break
        due = max(due + 1.0 / ORDERS_PER_SECOND, time.time() - 0.5)
        time.sleep(max(0.0, due - time.time()))


if __name__ == "__main__":
    main()
