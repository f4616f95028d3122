"""A server for stamp albums. Collectors send photographs of stamps, a small network says which country each is from,
and the certificate with the enlarged stamp is made in the background, so that nobody waits for it. A few collectors
stay to see theirs.

ticket: practice
class: host-growth
holder: background Albums Task _result
cause: futures-kept entries-left
"""

import asyncio
import os
import random
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

SIDE, PRINTED, FRAME = 96, 640, 20
COUNTRIES = "Tonga", "Bhutan", "Samoa", "San Marino", "Nauru", "Tuva"


class Namer(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1), nn.ReLU(),
                                  nn.Conv2d(64, 96, 3, 2, 1), nn.ReLU())
        self.head = nn.Linear(96, len(COUNTRIES))

    def forward(self, stamps):
        return self.head(self.body(stamps).mean((2, 3)))


class Albums:
    def __init__(self, device):
        self.model, self.device = Namer().to(device).eval(), device
        self.background = set()
        self.named = self.archived = 0

    @torch.no_grad()
    def name(self, stamp):
        return COUNTRIES[self.model(stamp).argmax(1).item()]

    def enlarge(self, stamp):
        """The stamp as it is printed, with a dark frame."""
        large = F.interpolate(stamp, size=(PRINTED, PRINTED), mode="bicubic", align_corners=False)
        large = (255 * large.clamp(0, 1)).to(torch.uint8)[0].permute(1, 2, 0).cpu().numpy()
        printed = np.pad(large, ((FRAME, FRAME), (FRAME, FRAME), (0, 0)), constant_values=40)  # grows
        return printed

    async def certificate(self, stamp):
        printed = await asyncio.to_thread(self.enlarge, stamp)
        await asyncio.sleep(random.uniform(0.05, 0.3))
        self.archived += 1
        return printed

    async def upload(self, photo, stays):
        """The country of the stamp, and the certificate for whoever stays."""
        stamp = photo.to(self.device)
        country = self.name(stamp)
        self.named += 1
        task = asyncio.create_task(self.certificate(stamp))
        self.background.add(task)  # keeps
        return country, await task if stays else None


async def collector(albums, end):
    bright = 0.0
    while time.time() < end:
        photo = torch.rand(1, 3, SIDE, SIDE)
        country, printed = await albums.upload(photo, stays=random.random() < 0.2)
        if printed is not None:
            bright = float(printed[::8, ::8].mean())
        if albums.named % 10 == 0:
            print(f"{albums.named} stamps, {albums.archived} certificates, last from {country}, mean {bright:.0f}",
                  flush=True)
        await asyncio.sleep(random.choice((0.2, 0.4, 0.4, 1.2)))


async def serve(device, end):
    albums = Albums(device)
    await asyncio.gather(*(collector(albums, end) for _ in range(4)))


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    asyncio.run(serve(device, end))


if __name__ == "__main__":
    main()
