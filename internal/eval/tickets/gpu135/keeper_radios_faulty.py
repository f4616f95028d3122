"""Radio desk of a zoo.

Keepers call the desk from their houses and paddocks. For each call the desk takes in the sound, filters it and guesses
what the call is about. Routine calls are answered by the desk itself; calls about a sick or loose animal are passed
on to the vet on duty, who speaks with the keeper on a channel of her own. Several calls run at the same time.

ticket: practice
class: app-leak
holder: _calls
cause: entries-left
"""
import asyncio
import itertools
import os
import random
import time
from dataclasses import dataclass, field

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
CALLS_PER_SECOND = 10
SAMPLES = 384 * 1024
HOUSES = ("aviary", "reptile house", "ape house", "elephant barn", "penguin pool", "nocturnal house")


@dataclass
class Call:
    number: int
    house: str
    urgent: bool
    sound: torch.Tensor
    opened: float = field(default_factory=time.monotonic)


class Microphone:
    """Makes the sound of a call: a tone for the voice under the noise of the house."""

    def __init__(self, seed):
        self._generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self._time = torch.linspace(0.0, 8.0, SAMPLES, device=DEVICE)

    def record(self, pitch):
        sound = torch.rand(SAMPLES, device=DEVICE, generator=self._generator)  # grows
        sound.sub_(0.5).mul_(0.4)
        return sound.add_(torch.sin(self._time * pitch))


class Vet:
    def __init__(self, name):
        self.name = name
        self._inbox = asyncio.Queue()
        self.visits = 0

    def ask(self, number, house, loudness):
        self._inbox.put_nowait((number, house, loudness))

    async def work(self):
        while True:
            await self._inbox.get()
            await asyncio.sleep(0.02)
            self.visits += 1


class RadioDesk:
    def __init__(self, vet, seed):
        self.vet = vet
        self._microphone = Microphone(seed)
        self._random = random.Random(seed)
        self._numbers = itertools.count(1)
        self._calls = {}
        self._tasks = set()
        self._window = torch.hann_window(1024, device=DEVICE)
        self.answered = 0
        self.passed_on = 0

    def ring(self):
        urgent = self._random.random() < 0.4
        pitch = self._random.uniform(900.0, 1400.0) if urgent else self._random.uniform(200.0, 600.0)
        number = next(self._numbers)
        call = Call(number, self._random.choice(HOUSES), urgent, self._microphone.record(pitch))
        self._calls[number] = call  # keeps
        task = asyncio.create_task(self._attend(number))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _attend(self, number):
        await asyncio.sleep(self._random.uniform(0.1, 0.6))
        call = self._calls[number]
        loudness, pitch = self._analyse(call.sound)
        if call.urgent:
            self._pass_on(call, loudness)
            return
        await asyncio.sleep(0.05 if pitch < 40.0 else 0.1)
        self._hang_up(number)

    def _analyse(self, sound):
        frames = sound.view(-1, 1024)[::4] * self._window
        power = torch.fft.rfft(frames).abs().mean(dim=0)
        return sound.abs().mean().item(), float(power.argmax().item())

    def _pass_on(self, call, loudness):
        self.vet.ask(call.number, call.house, loudness)
        self.passed_on += 1

    def _hang_up(self, number):
        del self._calls[number]
        self.answered += 1

    async def drain(self):
        if self._tasks:
            await asyncio.gather(*self._tasks)


async def main():
    vet = Vet("Dr Okafor")
    desk = RadioDesk(vet, seed=404)
    duty = asyncio.create_task(vet.work())
    started = time.monotonic()
    told = started
    count = 0
    while time.monotonic() - started < SECONDS:
        desk.ring()
        count += 1
        if time.monotonic() - told > 3.0:
            told = time.monotonic()
            print(f"{count} calls, {desk.answered} answered, {desk.passed_on} to {vet.name}", flush=True)
        await asyncio.sleep(max(0.0, started + count / CALLS_PER_SECOND - time.monotonic()))
    await desk.drain()
    duty.cancel()
    print(f"desk closed: {desk.answered} answered, {desk.passed_on} passed on, {vet.visits} visits", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
