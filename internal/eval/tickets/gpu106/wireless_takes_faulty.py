"""Recording of the takes of a radio play with several booths.

Actors in their booths speak one line after the other. Each take waits for the director, who hears a cleaned version
and either airs it or sends the actor back for another one; a take that nobody has decided on lapses after a
quarter of an hour. Aired takes are laid onto the master track of the episode.

ticket: practice
class: app-leak
holder: _scheduled loop
cause: timers-left
"""
import asyncio
import os
import random
import time

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
RATE = 48_000
LINE_SECONDS = 5
LAPSE_AFTER = 900.0
BOOTHS = ["detective", "widow", "butler"]


class Take:
    """One reading of one line."""

    def __init__(self, number, role, waveform):
        self.number = number
        self.role = role
        self.waveform = waveform
        self.verdict = None
        self.timer = None


class Microphone:
    def __init__(self, role, seed):
        self.role = role
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.clock = torch.arange(RATE * LINE_SECONDS, device=DEVICE) / RATE
        self.pitch = 110.0 + 30.0 * seed

    def record(self):
        hum = 0.02 * torch.sin(2.0 * torch.pi * 50.0 * self.clock)
        breath = torch.randn(RATE * LINE_SECONDS, device=DEVICE, generator=self.generator)
        voice = torch.sin(2.0 * torch.pi * self.pitch * self.clock) * torch.sin(9.0 * self.clock).abs()
        return 0.5 * voice + 0.05 * breath + hum  # grows


class Director:
    """Hears takes, and lets about two of three of them on the air."""

    def __init__(self, seed):
        self.rng = random.Random(seed)

    async def hear(self, take):
        await asyncio.sleep(self.rng.uniform(0.03, 0.12))
        cleaned = take.waveform - take.waveform.mean()
        loudness = float(cleaned.square().mean().sqrt())
        return loudness > 0.01 and self.rng.random() < 0.67


class EpisodeStudio:
    def __init__(self, director):
        self.director = director
        self.loop = asyncio.get_running_loop()
        self.open_takes = {}
        self.master = torch.zeros(RATE * 60, device=DEVICE)
        self.head = 0
        self.recorded = 0
        self.lapsed = 0
        self.broadcast_seconds = 0

    def submit(self, role, waveform):
        self.recorded += 1
        take = Take(self.recorded, role, waveform)
        take.timer = self.loop.call_later(LAPSE_AFTER, self.lapse, take)  # keeps
        self.open_takes[take.number] = take
        return take

    def lapse(self, take):
        if self.open_takes.pop(take.number, None) is not None:
            take.verdict = "lapsed"
            self.lapsed += 1

    def reject(self, take):
        take.verdict = "again"
        take.timer.cancel()
        del self.open_takes[take.number]

    def air(self, take):
        """Lays a take onto the master track, which starts over each minute."""
        take.verdict = "aired"
        count = take.waveform.shape[0]
        if self.head + count > self.master.shape[0]:
            self.head = 0
        self.master[self.head:self.head + count] = take.waveform
        self.head += count
        del self.open_takes[take.number]
        self.broadcast_seconds += LINE_SECONDS

    async def booth(self, role, seed):
        rng = random.Random(seed)
        microphone = Microphone(role, seed)
        while True:
            await asyncio.sleep(rng.uniform(0.1, 0.2))
            take = self.submit(role, microphone.record())
            if await self.director.hear(take):
                self.air(take)
            else:
                self.reject(take)


async def evening():
    studio = EpisodeStudio(Director(seed=2))
    booths = [asyncio.create_task(studio.booth(role, seed)) for seed, role in enumerate(BOOTHS, start=1)]
    begun = time.monotonic()
    while time.monotonic() - begun < SECONDS:
        await asyncio.sleep(min(2.0, max(0.05, SECONDS - (time.monotonic() - begun))))
        level = float(studio.master.abs().mean())
        print(f"{studio.recorded} takes, {studio.broadcast_seconds} s on the air, {len(studio.open_takes)} undecided, "
              f"{studio.lapsed} lapsed, level {level:.3f}", flush=True)
    for task in booths:
        task.cancel()
    await asyncio.gather(*booths, return_exceptions=True)
    print(f"done: {studio.recorded} takes, {studio.broadcast_seconds} s on the air", flush=True)


if __name__ == "__main__":
    asyncio.run(evening())
