"""Winegrowers photograph leaves with their phones and get a map of where mildew is. The service is asyncio: a photo's
look-up is a task of its own, as the phone may go on meanwhile. The loop has weak references to tasks only, so that they
are kept in a set while they run, lest one is collected before it is done.

ticket: practice
class: none
"""

import asyncio
import os
import random
import time

import torch
from torch import nn

SIZES = (384, 448, 512)


def network():
    layers, before = [], 3
    for wide in (12, 12):
        layers += [nn.Conv2d(before, wide, 3, padding=1), nn.ReLU()]
        before = wide
    return nn.Sequential(*layers, nn.Conv2d(before, 1, 1))


class Service:
    def __init__(self, device):
        self.device, self.model = device, network().to(device).eval()
        self.turn = asyncio.Semaphore(2)
        self.tasks = set()
        self.done = 0

    async def find_mildew(self, photo):
        """A map of a leaf: how likely there is mildew."""
        async with self.turn:
            await asyncio.sleep(0)
            with torch.inference_mode():
                seen = self.model(torch.as_tensor(photo, device=self.device)[None])[0, 0]
                found = torch.sigmoid(seen).cpu().numpy()
            self.done += 1
            return found

    def submit(self, photo):
        task = asyncio.create_task(self.find_mildew(photo))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task


class Phone:
    """A winegrower who walks through the rows and takes photos."""

    def __init__(self, service):
        self.service, self.sick, self.leaves = service, 0, 0

    def photo(self):
        size = random.choice(SIZES)
        leaf = torch.rand(3, size, size)
        leaf[1] += 0.5
        for _ in range(random.randrange(6)):
            row, column = random.randrange(size - 40), random.randrange(size - 40)
            leaf[:, row:row + 40, column:column + 40] = 0.9
        return leaf.numpy()

    async def walk(self, end):
        while time.time() < end:
            found = self.service.submit(self.photo())
            await asyncio.sleep(random.uniform(0.2, 0.9))
            share = float(((await found) > 0.5).mean())
            self.leaves += 1
            self.sick += share > 0.5


async def report(service, phones, end):
    while time.time() < end:
        await asyncio.sleep(3)
        print("photos", service.done, "sick", sum(phone.sick for phone in phones), "by phone",
              [phone.leaves for phone in phones], flush=True)


async def main():
    torch.set_num_threads(1)
    service = Service("cuda" if torch.cuda.is_available() else "cpu")
    phones = [Phone(service) for _ in range(4)]
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    await asyncio.gather(report(service, phones, end), *(phone.walk(end) for phone in phones))


if __name__ == "__main__":
    asyncio.run(main())
