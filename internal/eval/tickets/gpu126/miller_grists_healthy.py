"""The counter of a tide mill, where farmers bring their grain and agree on the grist.

A farmer states the coarseness wanted, the counter answers with samples from a model of the stones, and the farmer
corrects it a few times until the grist is right. The mill grinds only while the tide runs out, so a farmer who does
not answer for a while loses the turn, and the next one is served.

ticket: practice
class: none
"""

import asyncio
import itertools
import os
import time

import torch

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ARRIVALS_PER_SECOND = 12
PATIENCE = 0.4
FURROWS = 512
KERNELS = 512


class Farmer:
    """Brings grain of a certain hardness and knows by feel what the meal should be like."""

    def __init__(self, number):
        self.number = number
        self.hardness = 0.3 + 0.05 * (number % 11)
        self.wanted = 0.2 + 0.06 * (number % 7)
        self.answers = 1 if number % 2 else 4
        self.words = asyncio.Queue()

    async def talk(self):
        for step in range(self.answers):
            await self.words.put(self.wanted + 0.1 / (step + 1))
            await asyncio.sleep(0.06)
        if self.answers > 1:
            await self.words.put(None)


class Turn:
    """A farmer's turn at the counter: the grain between the stones as it stands now."""

    def __init__(self, farmer, generator):
        self.farmer = farmer
        self.opened = time.monotonic()
        self.grain = torch.empty(FURROWS, KERNELS, device=DEVICE)
        self.grain.normal_(1.0, 0.2, generator=generator)

    def grind(self, stones, gap):
        self.grain.sub_(self.farmer.hardness * stones * (self.grain - gap))
        return self.grain.mean().item()


class Counter:
    """Serves the farmers side by side and keeps the list of those whose turn it is."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.stones = torch.rand(FURROWS, KERNELS, device=DEVICE, generator=self.generator)
        self.tides = torch.rand(24, 512, 512, device=DEVICE, generator=self.generator)
        self._turns = {}
        self.agreed = 0
        self.lapsed = 0
        self.meal = 0.0

    def open(self, farmer):
        turn = Turn(farmer, self.generator)
        self._turns[farmer.number] = turn
        return turn

    def close(self, turn):
        self._turns.pop(turn.farmer.number, None)

    def longest_wait(self):
        now = time.monotonic()
        served = [turn for turn in self._turns.values() if now - turn.opened < 10 * PATIENCE]
        return max((now - turn.opened for turn in served), default=0.0)

    async def serve(self, farmer):
        turn = self.open(farmer)
        try:
            while True:
                wish = await asyncio.wait_for(farmer.words.get(), PATIENCE)
                if wish is None:
                    break
                self.meal = turn.grind(self.stones, wish)
        except asyncio.TimeoutError:
            self.lapsed += 1
            self.close(turn)
            return
        self.agreed += 1
        self.close(turn)

    def draw_tide(self, hour):
        return self.tides[hour % 24].mean().item()


async def report(counter):
    for hour in itertools.count():
        await asyncio.sleep(3.0)
        print(
            f"tide {hour}: head {counter.draw_tide(hour):.3f}, agreed {counter.agreed}, lapsed {counter.lapsed}, "
            f"meal {counter.meal:.3f}, wait {counter.longest_wait():.2f} s",
            flush=True,
        )


async def run_mill():
    counter = Counter(seed=63)
    reporter = asyncio.create_task(report(counter))
    busy = set()
    start = time.monotonic()
    for number in itertools.count():
        if time.monotonic() - start >= SECONDS:
            break
        farmer = Farmer(number)
        for work in (counter.serve(farmer), farmer.talk()):
            task = asyncio.create_task(work)
            busy.add(task)
            task.add_done_callback(busy.discard)
        await asyncio.sleep(max(0.0, start + (number + 1) / ARRIVALS_PER_SECOND - time.monotonic()))
    reporter.cancel()
    await asyncio.gather(*busy)
    print(f"sluice shut: {counter.agreed} grists agreed, {counter.lapsed} turns lapsed", flush=True)


if __name__ == "__main__":
    asyncio.run(run_mill())
