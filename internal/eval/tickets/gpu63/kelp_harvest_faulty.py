"""Serves the cutters of a kelp farm: each sends what its camera sees, is told where it is ripe, and reports when the
cut is made. A cut that was not reported within half an hour is shown to the crew together with the scores it was
made by; an answer and its deadline go through one event loop.

ticket: practice
class: app-leak
holder: _scheduled TimerHandle missed
cause: timers-left
"""

import asyncio
import os
import random
import time

import torch
from torchvision.models.segmentation import lraspp_mobilenet_v3_large

CUTTERS, HEIGHT, WIDTH = 4, 224, 320
KINDS = "water", "rock", "young", "ripe"
DEADLINE = 1800.0


class Server:
    def __init__(self, device):
        self.device = device
        self.model = lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=len(KINDS))
        self.model = self.model.to(device).eval()
        self.open = set()
        self.asked = self.cut = 0

    @torch.inference_mode()
    def scores(self, frame):
        logits = self.model(frame.to(self.device)[None])["out"]
        return torch.softmax(logits, dim=1)[0]  # grows

    async def ask(self, frame):
        """Where the ripe kelp is, and the number under which its cut is to be reported."""
        scores = self.scores(frame)
        self.asked += 1
        number = self.asked
        self.open.add(number)
        asyncio.get_running_loop().call_later(DEADLINE, self.missed, number, scores)  # keeps
        ripe = scores[KINDS.index("ripe")]
        row, column = divmod(ripe.argmax().item(), WIDTH)
        return number, row, column, ripe.mean().item()

    def report(self, number):
        self.open.remove(number)
        self.cut += 1

    def missed(self, number, scores):
        """Shows the crew a cut that was never reported."""
        if number in self.open:
            self.open.remove(number)
            share = scores.argmax(dim=0).eq(KINDS.index("ripe")).float().mean().item()
            print(f"cut {number} was not reported, ripe share {share:.2f}", flush=True)


class Cutter:
    """Drifts along a line of kelp and cuts where it is told to."""

    def __init__(self, name, server):
        self.name, self.server = name, server
        self.line = torch.rand(3, HEIGHT, 3 * WIDTH)
        self.place = 0

    def look(self):
        self.place = (self.place + 9) % (2 * WIDTH)
        view = self.line[:, :, self.place:self.place + WIDTH]
        return (view + 0.1 * torch.randn_like(view)).clamp(0.0, 1.0)

    async def work(self, end):
        await asyncio.sleep(random.uniform(0.0, 0.4))
        while time.time() < end:
            number, row, column, share = await self.server.ask(self.look())
            await asyncio.sleep(random.uniform(0.1, 0.3))
            self.server.report(number)
            if number % 40 == 0:
                print(f"{self.name} cut {number} at {row}, {column}; ripe {share:.3f}", flush=True)
            await asyncio.sleep(random.uniform(0.1, 0.2))


async def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    server = Server(device)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    cutters = [Cutter(name, server) for name in ("north", "east", "south", "west")[:CUTTERS]]
    await asyncio.gather(*(cutter.work(end) for cutter in cutters))
    print(f"{server.asked} asked, {server.cut} cut", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
