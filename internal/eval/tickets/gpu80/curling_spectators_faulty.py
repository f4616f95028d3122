"""A game of curling between two bots, shown live. The stones slide on the device, where each frame is drawn too; a
frame goes into the queue of each spectator, who looks at it in their own time. Spectators come and go during the game.

ticket: practice
class: host-growth
holder: spectators frames Queue _queue
cause: unbounded-queue entries-left
"""

import asyncio
import os
import random
import time

import torch

STONES, HEIGHT, WIDTH = 8, 320, 960
COLOURS = ((230, 60, 50), (250, 210, 60))


class Sheet:
    """The ice, the stones on it, and how they look from above."""

    def __init__(self, device):
        self.rows = torch.arange(HEIGHT, device=device, dtype=torch.float32)[:, None]
        self.columns = torch.arange(WIDTH, device=device, dtype=torch.float32)[None]
        self.colours = torch.tensor(COLOURS, device=device, dtype=torch.float32)
        self.device = device
        self.clear()

    def clear(self):
        self.places = torch.zeros(0, 2, device=self.device)
        self.speeds = torch.zeros(0, 2, device=self.device)

    def throw(self):
        if len(self.places) == STONES:
            self.clear()
        place = torch.tensor([[HEIGHT / 2, 20.0]], device=self.device)
        speed = torch.tensor([[random.uniform(-4, 4), random.uniform(60, 90)]], device=self.device)
        self.places = torch.cat((self.places, place))
        self.speeds = torch.cat((self.speeds, speed))

    def slide(self):
        self.places = self.places + self.speeds
        self.speeds = 0.9 * self.speeds
        self.places[:, 1].clamp_(max=WIDTH - 20)

    def draw(self):
        picture = torch.full((HEIGHT, WIDTH, 3), 235.0, device=self.device)
        for number, (row, column) in enumerate(self.places.tolist()):
            inside = (self.rows - row) ** 2 + (self.columns - column) ** 2 < 14**2
            picture[inside] = self.colours[number % 2]
        return picture.to(torch.uint8)


class Rink:
    def __init__(self, sheet):
        self.sheet, self.spectators, self.shown, self.looked = sheet, [], 0, 0

    async def watch(self, seconds):
        """One spectator, who looks at frames until they have had enough."""
        frames = asyncio.Queue()
        self.spectators.append(frames)
        leaves = time.time() + seconds
        while time.time() < leaves:
            frame = await frames.get()
            self.looked += int(frame[HEIGHT // 2].min() < 230)
            await asyncio.sleep(0)

    async def play(self, end):
        while time.time() < end:
            if self.shown % 12 == 0:
                self.sheet.throw()
            self.sheet.slide()
            frame = self.sheet.draw().cpu().numpy()  # grows
            for frames in self.spectators:
                frames.put_nowait(frame)  # keeps
            self.shown += 1
            if self.shown % 40 == 0:
                print(f"{self.shown} frames, {len(self.sheet.places)} stones, looked at {self.looked}", flush=True)
            await asyncio.sleep(random.uniform(0.03, 0.07))

    async def doors(self, end):
        """Lets spectators in."""
        inside = set()
        while time.time() < end:
            spectator = asyncio.create_task(self.watch(random.uniform(1, 4)))
            inside.add(spectator)
            spectator.add_done_callback(inside.discard)
            await asyncio.sleep(random.uniform(0.3, 1.0))
        for spectator in inside:
            spectator.cancel()


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    rink = Rink(Sheet(device))
    end = time.time() + float(os.environ.get("SECONDS", "45"))

    async def game():
        await asyncio.gather(rink.play(end), rink.doors(end))

    asyncio.run(game())


if __name__ == "__main__":
    main()
