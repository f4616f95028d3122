"""Read the postcodes on envelopes in a post office and send what cannot be read to the hand desk.

Letters come past the scanner in lots of eight. A network reads the five figures of the postcode from each scan; a
letter that is read with enough trust goes to its bag. The rule of the house says that no letter may lie about
for longer than ten minutes, so each letter that comes in is also put on the clock: when its time is up and it has no
postcode, someone keys it in by hand. Letters the network is unsure of are scanned again with the next lots, three
times at most, and then put into the nearest bag.

ticket: practice
class: none
"""
import asyncio
import os
import time

import numpy as np
import torch
from torch import nn

HEIGHT, WIDTH = 512, 768
LOT = 8
FIGURES = 5
TEN_MINUTES = 600.0


class Letter:
    def __init__(self, number, raster):
        self.number = number
        self.raster = raster
        self.passes = 0
        self.code = None


class PostcodeReader(nn.Module):
    def __init__(self):
        super().__init__()
        self.shrink = nn.AvgPool2d(4)
        self.stem = nn.Conv2d(1, 16, 5, stride=2, padding=2)
        self.body = nn.Conv2d(16, 32, 3, stride=2, padding=1)
        self.pool = nn.AdaptiveAvgPool2d((4, 8))
        self.figures = nn.Linear(32 * 4 * 8, FIGURES * 10)

    def forward(self, scans):
        hidden = torch.relu(self.stem(self.shrink(scans)))
        hidden = self.pool(torch.relu(self.body(hidden))).flatten(1)
        return self.figures(hidden).reshape(-1, FIGURES, 10).softmax(dim=-1)


class Clock:
    """Ten minutes for each letter that has come in."""

    def __init__(self, loop, hand_desk):
        self.loop = loop
        self.hand_desk = hand_desk
        self.waiting = {}

    def start(self, letter):
        self.waiting[letter.number] = self.loop.call_later(TEN_MINUTES, self.hand_desk.key_in, letter)

    def stop(self, letter):
        self.waiting.pop(letter.number).cancel()


class HandDesk:
    def __init__(self):
        self.keyed = 0

    def key_in(self, letter):
        if letter.code is None:
            letter.code = "00000"
            self.keyed += 1


class Scanner:
    def __init__(self):
        self.rng = np.random.default_rng(8)
        self.count = 0

    def scan(self):
        self.count += 1
        raster = self.rng.integers(170, 256, size=(HEIGHT, WIDTH), dtype=np.uint8)
        top, left = self.rng.integers(40, 300, size=2).tolist()
        raster[top:top + 60, left:left + 240] //= 3
        return Letter(self.count, raster)


async def work(until, device):
    hand_desk = HandDesk()
    clock = Clock(asyncio.get_running_loop(), hand_desk)
    scanner = Scanner()
    reader = PostcodeReader().to(device).eval()
    again = []
    bagged = 0
    lots = 0
    while time.time() < until:
        lot, again = again, []
        while len(lot) < LOT:
            letter = scanner.scan()
            clock.start(letter)
            lot.append(letter)
        scans = torch.from_numpy(np.stack([letter.raster for letter in lot])).to(device)
        with torch.no_grad():
            trust, figures = reader(scans[:, None].float() / 255).max(dim=-1)
        for letter, sure, code in zip(lot, trust.mean(dim=1).tolist(), figures.tolist()):
            letter.passes += 1
            if letter.number % 10 == 0 and letter.passes < 3:
                again.append(letter)
                continue
            letter.code = "".join(str(figure) for figure in code)
            clock.stop(letter)
            bagged += 1
        lots += 1
        if lots % 20 == 0:
            print(f"lot {lots}: {bagged} letters bagged, {len(again)} to be scanned again, trust {sure:.3f}, "
                  f"{hand_desk.keyed} keyed by hand", flush=True)
        await asyncio.sleep(0.15)


def main():
    until = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(2)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    asyncio.run(work(until, device))


if __name__ == "__main__":
    main()
