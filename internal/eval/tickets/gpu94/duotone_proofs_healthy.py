"""Duotone soft proofs for a print shop.

Grey photographs come in from customers and are separated into two inks with a tone curve for each; the inks are
screened at two angles and laid over each other in a simulated impression. A proof is judged by the ink that
goes onto the paper and by the contrast that is left of the photograph. Separations are made by two workers, so
that the desk can take in the next photograph in the meantime; the console shows the state of the shift.

ticket: practice
class: none
"""
import os
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import torch
import torch.nn.functional as F

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
SHEET = (640, 768)
SCREEN_PITCH = 6.0
SHEETS_PER_SECOND = 5.0
LOOKAHEAD = 3


class Ink(NamedTuple):
    name: str
    angle: float
    gamma: float
    absorbs: tuple


BLACK = Ink("black", 45.0, 1.7, (0.95, 0.95, 0.93))
SPOTS = [
    Ink("sepia", 75.0, 0.8, (0.25, 0.45, 0.65)),
    Ink("petrol", 75.0, 0.9, (0.75, 0.40, 0.35)),
    Ink("claret", 15.0, 0.7, (0.30, 0.75, 0.60)),
]


class Proof(NamedTuple):
    sheet: int
    spot: str
    impression: torch.Tensor
    coverage: float
    contrast: float


def photograph(number):
    """Clouds at four scales, the way most photographs look from afar."""
    gen = torch.Generator().manual_seed(number)
    picture = torch.zeros(1, 1, *SHEET, device=device)
    for level in range(4):
        cells = torch.rand(1, 1, 5 * 2 ** level, 6 * 2 ** level, generator=gen).to(device)
        picture += F.interpolate(cells, size=SHEET, mode="bilinear", align_corners=False) / 2 ** level
    low, high = picture.min(), picture.max()
    return (picture - low) / (high - low)


def screen(angle):
    """Threshold pattern of round dots, turned by an angle."""
    turn = torch.deg2rad(torch.tensor(angle, device=device))
    rows = torch.arange(SHEET[0], device=device, dtype=torch.float32).view(-1, 1)
    columns = torch.arange(SHEET[1], device=device, dtype=torch.float32).view(1, -1)
    across = torch.cos(turn) * columns + torch.sin(turn) * rows
    along = torch.cos(turn) * rows - torch.sin(turn) * columns
    step = 2 * torch.pi / SCREEN_PITCH
    return 0.5 + 0.25 * (torch.cos(step * across) + torch.cos(step * along))


@torch.no_grad()
def separate(sheet, spot):
    """One photograph to a proof of two inks on white paper."""
    tones = 1.0 - photograph(sheet)
    impression = torch.ones(3, *SHEET, device=device)
    coverage = 0.0
    for ink in (BLACK, spot):
        dots = torch.sigmoid(24.0 * (tones[0, 0] ** ink.gamma - screen(ink.angle)))
        coverage += dots.mean().item()
        for channel, absorbed in enumerate(ink.absorbs):
            impression[channel] *= 1.0 - absorbed * dots
    soft = F.avg_pool2d(impression.unsqueeze(0), 12)
    return Proof(sheet, spot.name, impression, coverage, soft.std().item())


class ProofDesk:
    def __init__(self, workers=2):
        self.workers = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="separation")
        self.on_table = deque()
        self.ready = 0
        self.ink_used = dict.fromkeys((spot.name for spot in SPOTS), 0.0)

    def take_in(self, sheet):
        receipt = self.workers.submit(separate, sheet, SPOTS[sheet % len(SPOTS)])
        self.on_table.append(receipt)
        receipt.add_done_callback(self.count)

    def count(self, receipt):
        self.ready += 1

    def hand_out(self):
        """The oldest proof on the table, as soon as it is ready."""
        proof = self.on_table.popleft().result()
        self.ink_used[proof.spot] += proof.coverage
        return proof

    def summary(self):
        inks = ", ".join(f"{name} {used:.1f}" for name, used in self.ink_used.items())
        return f"{self.ready} proofs ready, ink {inks}"


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    desk = ProofDesk()
    sheet, shown = 0, time.time()
    with desk.workers:
        while (now := time.time()) < end:
            desk.take_in(sheet)
            sheet += 1
            if len(desk.on_table) >= LOOKAHEAD:
                proof = desk.hand_out()
                if now - shown > 3.5:
                    shown = now
                    print(f"sheet {proof.sheet} ({proof.spot}): contrast {proof.contrast:.3f}; {desk.summary()}",
                          flush=True)
            time.sleep(max(0.0, 1.0 / SHEETS_PER_SECOND - (time.time() - now)))


if __name__ == "__main__":
    main()
