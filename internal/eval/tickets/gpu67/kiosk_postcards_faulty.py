"""Backend of the postcard kiosk. Orders come in as JSON, each is handled in a task of its own so that the event loop
never blocks: the generator paints the card from the mood and the seed, and the card is sent to the printer.

ticket: practice
class: app-leak
holder: pending tasks Task
cause: futures-kept results-kept
"""

import asyncio
import json
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

MOODS = ["sunny", "stormy", "retro", "pastel"]
CARD = (360, 512)


class Painter(nn.Module):
    def __init__(self):
        super().__init__()
        self.mood = nn.Embedding(len(MOODS), 64)
        self.grow = nn.Sequential(
            nn.ConvTranspose2d(64, 32, 4, stride=2, padding=1), nn.ReLU(),
            nn.ConvTranspose2d(32, 16, 4, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 3, 3, padding=1), nn.Sigmoid(),
        )

    def forward(self, mood, noise):
        return self.grow(noise + self.mood(mood)[:, :, None, None])


class Kiosk:
    def __init__(self, device):
        self.device = device
        self.painter = Painter().to(device).eval()
        self.pending = set()
        self.stats = {"received": 0, "printed": 0}

    @torch.no_grad()
    def paint(self, order):
        generator = torch.Generator().manual_seed(order["seed"])
        noise = torch.randn(1, 64, 22, 32, generator=generator).to(self.device)
        mood = torch.tensor([MOODS.index(order["mood"])], device=self.device)
        small = self.painter(mood, noise)
        return F.interpolate(small, size=CARD, mode="bilinear", align_corners=False)[0]  # grows

    async def send_to_printer(self, card):
        pixels = card.mul(255).byte().cpu().numpy().tobytes()
        for start in range(0, len(pixels), 65_536):
            _ = pixels[start : start + 65_536]
            await asyncio.sleep(0.01)

    async def handle(self, body):
        order = json.loads(body)
        card = self.paint(order)
        await self.send_to_printer(card)
        self.stats["printed"] += 1
        return {"id": order["id"], "card": card}

    def on_order(self, body):
        self.stats["received"] += 1
        task = asyncio.create_task(self.handle(body))
        self.pending.add(task)  # keeps


async def visitors(kiosk, end):
    """Visitors come in small groups."""
    number = 0
    while time.time() < end:
        for _ in range(random.randint(1, 4)):
            number += 1
            order = {"id": number, "mood": random.choice(MOODS), "seed": random.randrange(1 << 31)}
            kiosk.on_order(json.dumps(order))
        await asyncio.sleep(random.uniform(0.2, 0.5))


async def dashboard(kiosk):
    while True:
        await asyncio.sleep(2)
        print(json.dumps(kiosk.stats), flush=True)


async def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    kiosk = Kiosk("cuda" if torch.cuda.is_available() else "cpu")
    board = asyncio.create_task(dashboard(kiosk))
    await visitors(kiosk, end)
    await asyncio.gather(*kiosk.pending)
    board.cancel()
    print("closed:", json.dumps(kiosk.stats), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
