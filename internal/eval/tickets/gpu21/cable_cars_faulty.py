"""A camera looks up the cable of a cable car, a network marks where the cars are, and on a page one can watch that.
Each open page gets the pictures through a queue of its own. People look for a few seconds, close the page, and then
their connection is cancelled, but the hub goes on to put pictures into their queues.

ticket: practice
class: host-growth
holder: subscribers hub Hub _queue
cause: unbounded-queue buffer-without-bound callbacks-left
"""

import asyncio
import os
import random
import time

import numpy as np
import torch
from torch import nn

HIGH, WIDE, CARS = 540, 800, 5


class Spotter(nn.Module):
    """Where on a coarse grid there are cars."""

    def __init__(self):
        super().__init__()
        self.look = nn.Sequential(nn.Conv2d(3, 8, 8, 5), nn.ReLU(), nn.AdaptiveAvgPool2d((9, 16)), nn.Conv2d(8, 1, 1))

    @torch.no_grad()
    def forward(self, picture):
        device = next(self.parameters()).device
        seen = torch.from_numpy(picture).to(device).permute(2, 0, 1)[None].float() / 255
        return torch.sigmoid(self.look(seen))[0, 0].cpu().numpy()


def take_picture(moment):
    """Snow, the cable, and cars that go up along it."""
    picture = np.empty((HIGH, WIDE, 3), np.uint8)  # grows
    picture[:] = np.linspace(250, 190, HIGH, dtype=np.uint8)[:, None, None]
    for car in range(CARS):
        place = (moment * 0.02 + car / CARS) % 1
        row, column = int((1 - place) * (HIGH - 40)), int(place * (WIDE - 50))
        picture[row:row + 40, column:column + 50] = 200, 30, 40
    return picture


class Hub:
    """All who watch get all pictures."""

    def __init__(self):
        self.subscribers = set()

    def subscribe(self):
        queue = asyncio.Queue()
        self.subscribers.add(queue)
        return queue

    def unsubscribe(self, queue):
        self.subscribers.discard(queue)

    def publish(self, picture):
        for queue in self.subscribers:
            queue.put_nowait(picture)  # keeps


async def page(hub, sent):
    """Sends pictures over a connection, until it is closed."""
    queue = hub.subscribe()
    while True:
        picture = await queue.get()
        await asyncio.sleep(random.uniform(0.01, 0.04))  # the network
        sent["bytes"] += picture[::4, ::4].nbytes
    hub.unsubscribe(queue)


async def camera(hub, spotter, cars):
    moment = 0
    while True:
        picture = take_picture(moment)
        found = spotter(picture)
        for row, column in np.argwhere(found > np.quantile(found, 0.95)):
            picture[row * 60:row * 60 + 4, column * 50:column * 50 + 50] = 20, 200, 60
        cars["seen"] += int((found > 0.5).sum())
        hub.publish(picture)
        moment += 1
        await asyncio.sleep(random.uniform(0.1, 0.25))


async def main():
    spotter = Spotter().to("cuda" if torch.cuda.is_available() else "cpu").eval()
    hub, sent, cars, pages, opened = Hub(), {"bytes": 0}, {"seen": 0}, [], 0
    filming, said = asyncio.create_task(camera(hub, spotter, cars)), time.time()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        if len(pages) < 4:
            pages.append(asyncio.create_task(page(hub, sent)))
            opened += 1
        if random.random() < 0.3:
            pages.pop(random.randrange(len(pages))).cancel()
        if time.time() - said > 2:
            said = time.time()
            print("pages", opened, "sent", sent["bytes"] >> 10, "KiB, seen", cars["seen"], flush=True)
        await asyncio.sleep(random.uniform(0.2, 0.6))
    filming.cancel()


if __name__ == "__main__":
    torch.set_num_threads(1)
    asyncio.run(main())
