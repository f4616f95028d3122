"""The reception of a bicycle workshop, for punctures.

A customer leaves a wheel; a camera over the counter photographs the tyre and a network says what it is: a thorn, a
pinch, a cut, a worn casing or a leaking valve. A job card with the photograph is made out, the wheel is mended, and
the customer comes back for it after a short while. Whoever has not come within half an hour gets a message with the
photograph. Reception, workbench and counter run side by side in one event loop.

ticket: practice
class: host-growth
holder: _scheduled photograph
cause: timers-left
"""
import asyncio
import collections
import os
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

SIDE = 1024
SMALL = 192
KINDS = ("thorn", "pinch", "cut", "worn casing", "leaking valve")
REMIND_AFTER = 1800.0
WHEELS_A_SECOND = 6
ON_THE_RACK = 8


class TyreNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 5, stride=2, padding=2),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(4),
            nn.Flatten(),
        )
        self.kind = nn.Linear(32 * 16, len(KINDS))

    def forward(self, pictures):
        return self.kind(self.features(pictures))


class CounterCamera:
    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def photograph(self):
        picture = self.random.integers(0, 256, (3, SIDE, SIDE), dtype=np.uint8)  # grows
        across = int(self.random.integers(0, SIDE - 64))
        picture[:, :, across:across + 64] //= 4
        return picture


class JobCard:
    def __init__(self, number, photograph):
        self.number = number
        self.photograph = photograph
        self.kind = None
        self.mended = False


class Workshop:
    def __init__(self, device):
        self.device = device
        self.network = TyreNetwork().to(device).eval()
        self.camera = CounterCamera(5)
        self.rack = collections.OrderedDict()
        self.counts = collections.Counter()
        self.messages = 0
        self.taken_in = 0
        self.handed_back = 0

    @torch.no_grad()
    def judge(self, photograph):
        picture = torch.from_numpy(photograph).to(self.device)[None].float() / 255
        picture = F.interpolate(picture, size=(SMALL, SMALL), mode="area")
        return KINDS[int(self.network(picture).argmax())]

    def take_in(self):
        self.taken_in += 1
        card = JobCard(self.taken_in, self.camera.photograph())
        card.kind = self.judge(card.photograph)
        self.counts[card.kind] += 1
        self.rack[card.number] = card
        asyncio.get_running_loop().call_later(REMIND_AFTER, self.remind, card)  # keeps

    def remind(self, card):
        if card.number in self.rack:
            thumbnail = card.photograph[:, ::16, ::16]
            self.messages += 1
            print(f"message to the owner of wheel {card.number} ({card.kind}), "
                  f"picture of {thumbnail.shape[1]} by {thumbnail.shape[2]}", flush=True)

    def hand_back(self):
        for number, card in self.rack.items():
            if card.mended:
                del self.rack[number]
                self.handed_back += 1
                return

    async def reception(self, deadline):
        while time.time() < deadline:
            self.take_in()
            await asyncio.sleep(1 / WHEELS_A_SECOND)

    async def workbench(self, deadline):
        while time.time() < deadline:
            for card in self.rack.values():
                if not card.mended:
                    card.mended = True
                    break
            await asyncio.sleep(0.05)

    async def counter(self, deadline):
        while time.time() < deadline:
            while len(self.rack) > ON_THE_RACK and time.time() < deadline:
                self.hand_back()
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)

    async def slate(self, deadline):
        while time.time() < deadline:
            await asyncio.sleep(2.0)
            common = self.counts.most_common(1)
            print(f"{self.taken_in} wheels in, {self.handed_back} handed back, most often: {common}", flush=True)


async def open_shop(workshop, deadline):
    await asyncio.gather(
        workshop.reception(deadline),
        workshop.workbench(deadline),
        workshop.counter(deadline),
        workshop.slate(deadline),
    )


def main():
    deadline = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(5)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    workshop = Workshop(device)
    print(f"the shop is open, on {device}", flush=True)
    asyncio.run(open_shop(workshop, deadline))
    print(f"closed: {workshop.taken_in} in, {workshop.handed_back} handed back", flush=True)


if __name__ == "__main__":
    main()
