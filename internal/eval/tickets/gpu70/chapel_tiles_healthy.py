"""A small render server: visitors ask for tiles of a picture of a chapel's pillars in candle light, each with the
number of passes that they want. All jobs share one device and take turns between their passes. A job that is still not
done after a day is given up, and the visitor gets what there is.

ticket: practice
class: none
"""

import asyncio
import os
import random
import time

import torch

TILE, PATIENCE, VISITORS = 384, 24 * 3600.0, 4


class Job:
    def __init__(self, corner, passes, device):
        self.corner, self.passes, self.late = corner, passes, False
        self.film = torch.zeros(3, TILE, TILE, device=device)

    def give_up(self):
        self.late = True


class Chapel:
    def __init__(self, device):
        self.device = device
        self.pillars = torch.rand(5, 2, device=device) * 8
        self.candle = torch.tensor([4.0, 4.0], device=device)
        self.warmth = torch.tensor([1.0, 0.7, 0.35], device=device)[:, None, None]
        self.served = 0

    def light(self, corner):
        """One pass: the floor of the tile, lit by a flickering candle, with the pillars' shadows on it."""
        line = torch.arange(TILE, device=self.device) / TILE
        x = corner[0] + line + torch.rand((), device=self.device) / TILE
        y = corner[1] + line[:, None] + torch.rand((), device=self.device) / TILE
        flame = self.candle + 0.1 * torch.randn(2, device=self.device)
        to_x, to_y = (flame[0] - x).expand(TILE, TILE), (flame[1] - y).expand(TILE, TILE)
        far = to_x**2 + to_y**2
        lit = 1 / (0.5 + far)
        for pillar in self.pillars:
            along = ((pillar[0] - x) * to_x + (pillar[1] - y) * to_y) / far
            along = along.clamp(0, 1)
            off = (x + along * to_x - pillar[0]) ** 2 + (y + along * to_y - pillar[1]) ** 2
            lit = lit * (off > 0.05)
        return self.warmth * lit

    async def serve(self, corner, passes):
        loop = asyncio.get_running_loop()
        job = Job(corner, passes, self.device)
        timer = loop.call_later(PATIENCE, job.give_up)
        done = 0
        while done < job.passes and not job.late:
            job.film += self.light(job.corner)
            done += 1
            await asyncio.sleep(0.005)
        timer.cancel()
        self.served += 1
        return (job.film / done).mean(dim=(1, 2)).tolist()


async def visit(chapel, end):
    while time.time() < end:
        corner = random.uniform(0, 7), random.uniform(0, 7)
        red, green, blue = await chapel.serve(corner, random.choice((2, 4, 6)))
        if chapel.served % 20 == 0:
            print(f"{chapel.served} tiles, the last one {red:.2f} {green:.2f} {blue:.2f}", flush=True)
        await asyncio.sleep(random.uniform(0.1, 0.5))


async def main():
    torch.set_num_threads(1)
    chapel = Chapel("cuda" if torch.cuda.is_available() else "cpu")
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    await asyncio.gather(*(visit(chapel, end) for _ in range(VISITORS)))
    print(f"{chapel.served} tiles in all", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
