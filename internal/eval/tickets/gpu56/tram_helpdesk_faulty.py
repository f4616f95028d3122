"""A helpdesk for tram riders. Each rider writes now and then; the desk encodes the dialogue so far, keeps that
encoding with the rider's session and picks the reply that fits best. A session that is silent for a day is closed, and
what its last encoding says is counted as its subject.

ticket: practice
class: app-leak
holder: TimerHandle _scheduled timer call_later expiry encoding
cause: timers-left callbacks-left
"""

import asyncio
import os
import random
import time
from collections import Counter

import torch
from torch import nn

WORDS, WIDTH, REPLIES, SUBJECTS = 5_000, 384, 400, 12
SPAN, RIDERS, IDLE = 256, 14, 24 * 3600.0


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 512, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.replies = nn.Linear(WIDTH, REPLIES)
        self.subjects = nn.Linear(WIDTH, SUBJECTS)

    def forward(self, tokens):
        return self.layers(self.words(tokens))


class Session:
    def __init__(self):
        self.tokens = [0] * SPAN
        self.encoding = None
        self.expiry = None


class Helpdesk:
    def __init__(self, model, device):
        self.model, self.device = model, device
        self.sessions, self.subjects, self.answered = {}, Counter(), 0

    async def answer(self, rider, message):
        session = self.sessions.setdefault(rider, Session())
        session.tokens = (session.tokens + message)[-SPAN:]
        with torch.inference_mode():
            session.encoding = self.model(torch.tensor([session.tokens], device=self.device))  # grows
            reply = self.model.replies(session.encoding[:, -len(message):].mean(dim=1)).argmax().item()
        loop = asyncio.get_running_loop()
        session.expiry = loop.call_later(IDLE, self.expire, rider, session.encoding)  # keeps
        self.answered += 1
        return reply

    def expire(self, rider, encoding):
        with torch.inference_mode():
            self.subjects[self.model.subjects(encoding.mean(dim=1)).argmax().item()] += 1
        self.sessions.pop(rider, None)


async def ride(desk, rider, end):
    """A rider who writes, waits for the reply and thinks about it."""
    while time.time() < end:
        await asyncio.sleep(random.uniform(0.4, 1.2))
        message = [random.randrange(1, WORDS) for _ in range(random.randint(4, 24))]
        reply = await desk.answer(rider, message)
        if reply == 0:
            print("rider", rider, "is put through to the control room", flush=True)


async def report(desk, end):
    while time.time() < end:
        await asyncio.sleep(2.0)
        print(desk.answered, "replies,", len(desk.sessions), "sessions open", flush=True)


async def serve():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    desk = Helpdesk(Encoder().to(device).eval(), device)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    await asyncio.gather(report(desk, end), *(ride(desk, rider, end) for rider in range(RIDERS)))


if __name__ == "__main__":
    torch.set_num_threads(1)
    asyncio.run(serve())
