"""Guidance service for the kiosks on a ferry quay.

Passengers step up to a kiosk and ask about lanes, gangways and sailings. The service reads each question into the
passenger's context, attends over what was asked before and picks the sign that the kiosk shows. Some passengers say
goodbye, others simply walk off when their ferry is called.

ticket: practice
class: app-leak
holder: live
cause: sessions-kept
"""
import asyncio
import os
import random
import time

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))

KIOSKS = 6
WIDTH = 1024
CONTEXT = 512
QUESTION_WORDS = 24
SIGNS = 96


class PassengerLeft(Exception):
    """The passenger walked off in the middle of a dialogue."""


class Session:
    """Dialogue of one passenger, with the context of all words so far."""

    def __init__(self, number, kiosk):
        self.number = number
        self.kiosk = kiosk
        self.context = torch.zeros(CONTEXT, WIDTH, device=DEVICE)  # grows
        self.filled = 0
        self.signs = []

    def extend(self, words):
        end = min(CONTEXT, self.filled + len(words))
        self.context[self.filled:end] = words[: end - self.filled]
        self.filled = end


class SignPicker:
    """Attention over the context, then scores of the signs on the quay."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.query = self._weights(WIDTH, WIDTH)
        self.mix = self._weights(WIDTH, WIDTH)
        self.signs = self._weights(WIDTH, SIGNS)

    def _weights(self, rows, columns):
        return torch.randn(rows, columns, device=DEVICE, generator=self.generator) / rows ** 0.5

    def question(self):
        return torch.randn(QUESTION_WORDS, WIDTH, device=DEVICE, generator=self.generator)

    @torch.no_grad()
    def pick(self, session, words):
        session.extend(words)
        known = session.context[: session.filled]
        wanted = words.mean(0) @ self.query
        weights = torch.softmax(known @ wanted / WIDTH ** 0.5, 0)
        summary = torch.tanh((weights @ known) @ self.mix)
        return int((summary @ self.signs).argmax())


class GuidanceService:
    def __init__(self, seed=5):
        self.picker = SignPicker(seed)
        self.dice = random.Random(seed)
        self.live = {}
        self.opened = 0
        self.goodbyes = 0
        self.walk_offs = 0

    def open(self, kiosk):
        self.opened += 1
        session = Session(self.opened, kiosk)
        self.live[session.number] = session  # keeps
        return session

    def close(self, session):
        del self.live[session.number]

    async def ask(self, session):
        """One question: the passenger thinks, speaks, and reads the sign."""
        await asyncio.sleep(self.dice.uniform(0.08, 0.2))
        if session.signs and self.dice.random() < 0.16:
            raise PassengerLeft(session.kiosk)
        sign = self.picker.pick(session, self.picker.question())
        session.signs.append(sign)
        return sign

    async def attend(self, kiosk, until):
        """A kiosk serves one passenger after the other."""
        while time.monotonic() < until:
            session = self.open(kiosk)
            try:
                for _ in range(self.dice.randint(3, 6)):
                    await self.ask(session)
            except PassengerLeft:
                self.walk_offs += 1
            else:
                self.goodbyes += 1
                self.close(session)
            await asyncio.sleep(self.dice.uniform(0.02, 0.1))

    async def report(self, until):
        while True:
            await asyncio.sleep(max(0.0, min(3.0, until - time.monotonic())))
            if time.monotonic() >= until:
                return
            print(f"passengers {self.opened}  goodbyes {self.goodbyes}  walked off {self.walk_offs}", flush=True)


async def run_quay():
    service = GuidanceService()
    until = time.monotonic() + SECONDS
    kiosks = [service.attend(kiosk, until) for kiosk in range(KIOSKS)]
    await asyncio.gather(service.report(until), *kiosks)
    print(f"kiosks closed, {service.opened} passengers, {service.goodbyes} goodbyes", flush=True)


if __name__ == "__main__":
    asyncio.run(run_quay())
