"""Stride analysis for the handlers' class of a dog show.

Every dog in the class trots once around the ring with motion markers on its legs. The ring clerk sends each track to a
small pool of analysts, who turn it into a spectrum of the gait, and the show system waits for the spectrum to judge how
steady the pair of dog and handler moves. A running ideal gait of the class is kept to compare the dogs with.

    ticket: practice
    class: app-leak
    holder: _sent
    cause: futures-kept
"""
import asyncio
import os
import random
import time
from concurrent.futures import ThreadPoolExecutor

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
MARKERS = 256
SAMPLES = 4096
ROUND = 0.25
HANDLERS = ("Ames", "Birtwell", "Cho", "Duarte", "Eklund", "Farrow", "Guedes")

torch.set_num_threads(1)


class Trot:
    """One dog's way around the ring."""

    def __init__(self, number, handler, tempo, unrest):
        self.number = number
        self.handler = handler
        self.tempo = tempo
        self.unrest = unrest

    def track(self, generator):
        clock = torch.linspace(0.0, 40.0, SAMPLES, device=DEVICE)
        phases = torch.linspace(0.0, 6.28, MARKERS, device=DEVICE).unsqueeze(1)
        noise = torch.randn(MARKERS, SAMPLES, device=DEVICE, generator=generator)
        return torch.sin(self.tempo * clock + phases) + self.unrest * noise


def gait_spectrum(track):
    wave = torch.fft.rfft(track - track.mean(dim=1, keepdim=True))
    return wave.abs()  # grows


class RingClerk:
    """Sends tracks to the analysts and brings their spectra back to the judge."""

    def __init__(self):
        self._pool = ThreadPoolExecutor(max_workers=2, thread_name_prefix="analyst")
        self._sent = set()

    async def analyse(self, track):
        slip = self._pool.submit(gait_spectrum, track)
        self._sent.add(slip)  # keeps
        answer = asyncio.wrap_future(slip)
        answer.add_done_callback(self._sent.discard)
        return await answer

    def close(self):
        for slip in self._sent:
            slip.cancel()
        self._pool.shutdown(wait=True)


class Judge:
    """Marks a gait by how close it is to the ideal of the class."""

    def __init__(self):
        self.ideal = torch.zeros(MARKERS, SAMPLES // 2 + 1, device=DEVICE)
        self.best = ("nobody", 0.0)
        self.judged = 0

    def mark(self, trot, spectrum):
        shape = spectrum / spectrum.norm()
        likeness = float((shape * self.ideal).sum())
        self.ideal.lerp_(shape, 0.05)
        self.judged += 1
        if likeness > self.best[1]:
            self.best = (f"{trot.handler} with dog {trot.number}", likeness)
        return likeness


class HandlersClass:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.clerk = RingClerk()
        self.judge = Judge()

    async def one_dog(self, number):
        trot = Trot(number, self.rng.choice(HANDLERS), self.rng.uniform(9.0, 14.0), self.rng.uniform(0.1, 0.6))
        spectrum = await self.clerk.analyse(trot.track(self.generator))
        return self.judge.mark(trot, spectrum)

    async def run(self):
        end = time.time() + SECONDS
        spoken = time.time()
        number = 1
        while time.time() < end:
            started = time.time()
            likeness = await self.one_dog(number)
            if time.time() - spoken > 3.0:
                spoken = time.time()
                print(f"dog {number}: likeness {likeness:.3f}; first place: {self.judge.best[0]}", flush=True)
            number += 1
            await asyncio.sleep(max(0.01, ROUND - (time.time() - started)))
        self.clerk.close()
        print(f"{self.judge.judged} dogs judged on {DEVICE}, rosette to {self.judge.best[0]}", flush=True)


if __name__ == "__main__":
    asyncio.run(HandlersClass(seed=17).run())
