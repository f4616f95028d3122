"""Entry of ceramics into a museum depot: turntables take pictures, a matcher looks for the sherd in the catalogue.

Two turntables photograph sherd after sherd and lay the views on a belt. The matcher takes a view from the belt,
describes it by a histogram of gradients and of colours and compares it with the descriptors of the catalogue; what it
is sure of is given a shelf mark.

ticket: practice
class: none
"""
import asyncio
import os
import time

import torch

SIZE = 288
BINS = 12
CATALOGUE = 2000
VIEW_EVERY = 0.125
LOOKUP = 0.09


def glaze(pattern, generator):
    """View of a sherd: bands of a period of its own below a craquelure of noise."""
    axis = torch.linspace(0, 1, SIZE)
    period, tilt, tone = pattern
    bands = torch.sin(6.28 * period * (axis[:, None] + tilt * axis[None, :]))
    view = torch.rand(3, SIZE, SIZE, generator=generator)
    view.mul_(0.3).add_(0.35 * bands * torch.tensor([tone, 0.5, 1 - tone])[:, None, None]).add_(0.35)
    return view


def describe(view):
    """Gradient directions weighted by strength, and a coarse histogram per colour."""
    grey = torch.nn.functional.avg_pool2d(view.mean(dim=0)[None, None], 4)[0, 0]
    down, right = grey[1:, :-1] - grey[:-1, :-1], grey[:-1, 1:] - grey[:-1, :-1]
    direction = (torch.atan2(down, right) / 6.2832 + 0.5).mul(BINS).long().clamp(0, BINS - 1)
    gradients = torch.zeros(BINS).index_add_(0, direction.flatten(), (down ** 2 + right ** 2).sqrt().flatten())
    colours = torch.cat([torch.histc(plane, bins=BINS, min=0, max=1) for plane in view])
    found = torch.cat([gradients / gradients.sum(), colours / colours.sum()])
    return found / found.norm()


class Turntable:
    def __init__(self, name, seed):
        self.name = name
        self.generator = torch.Generator().manual_seed(seed)
        self.views = 0

    def pattern(self):
        period, tilt, tone = torch.rand(3, generator=self.generator).tolist()
        return 3 + 20 * period, tilt, tone

    async def photograph(self, belt):
        """Four views of each sherd, a little turned."""
        while True:
            period, tilt, tone = self.pattern()
            for turn in range(4):
                view = glaze((period, tilt + 0.02 * turn, tone), self.generator)
                await belt.put((self.name, view))
                self.views += 1
                await asyncio.sleep(VIEW_EVERY)


class Matcher:
    def __init__(self, seed):
        generator = torch.Generator().manual_seed(seed)
        entries = torch.rand(CATALOGUE, 4 * BINS, generator=generator)
        self.entries = entries / entries.norm(dim=1, keepdim=True)
        self.marks = {}
        self.looked_up = 0

    def place(self, found):
        likeness, number = (self.entries @ found).max(dim=0)
        number = int(number)
        self.entries[number] = torch.nn.functional.normalize(0.9 * self.entries[number] + 0.1 * found, dim=0)
        return number, float(likeness)

    async def work(self, belt):
        while True:
            table, view = await belt.get()
            number, likeness = self.place(describe(view))
            if likeness > 0.8:
                self.marks[number] = table
            self.looked_up += 1
            await asyncio.sleep(LOOKUP)
            belt.task_done()


async def bulletin(tables, matcher):
    while True:
        await asyncio.sleep(3)
        taken = ", ".join(f"{table.name} {table.views}" for table in tables)
        print(f"views: {taken}; looked up {matcher.looked_up}, shelf marks {len(matcher.marks)}", flush=True)


async def entry(end):
    belt = asyncio.Queue(maxsize=16)
    tables = [Turntable("table-1", 21), Turntable("table-2", 22)]
    matcher = Matcher(seed=1754)
    jobs = [table.photograph(belt) for table in tables] + [matcher.work(belt), bulletin(tables, matcher)]
    try:
        async with asyncio.timeout(end - time.time()):
            await asyncio.gather(*jobs)
    except TimeoutError:
        print(f"done, looked up {matcher.looked_up}", flush=True)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    asyncio.run(entry(end))


if __name__ == "__main__":
    main()
