"""Visitors of a lantern festival upload photographs and get them back in the colours of the evening. Each request is a
task of its own in the event loop. The stages of a request leave spans with what they worked on, in a context variable
so that none must be passed along; the slowest one is looked at when a request took longer than it should.

ticket: practice
class: host-growth
holder: SPANS spans Span payload
cause: buffer-without-bound log-records-kept
"""

import asyncio
import os
import random
import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Optional

import numpy as np
import torch
from torch import nn

SIDES = (192, 224, 256)
SLOW = 0.15


@dataclass
class Span:
    stage: str
    seconds: float = 0.0
    payload: Optional[np.ndarray] = None


SPANS = ContextVar("SPANS", default=[])


@contextmanager
def span(stage):
    this, start = Span(stage), time.perf_counter()
    SPANS.get().append(this)  # keeps
    yield this
    this.seconds = time.perf_counter() - start


class Dusk(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 3, 3, padding=1))

    def forward(self, picture):
        return torch.sigmoid(self.layers(picture))


class Festival:
    def __init__(self, device):
        self.device, self.model = device, Dusk().to(device).eval()
        self.served, self.slow, self.last = 0, 0, None
        self.gate = asyncio.Semaphore(4)

    async def handle(self, side):
        with span("decode") as decode:
            picture = decode.payload = np.random.rand(3, side, side).astype(np.float32)  # grows
            await asyncio.sleep(random.uniform(0.0, 0.1))
        async with self.gate:
            evening = self.paint(picture)
        with span("encode"):
            body = (evening * 255).astype(np.uint8).tobytes()
            await asyncio.sleep(random.uniform(0.0, 0.1))
        self.served += 1
        spans = SPANS.get()
        if sum(one.seconds for one in spans) > SLOW:
            self.slow += 1
            worst = max(spans, key=lambda one: one.seconds)
            shape = None if worst.payload is None else worst.payload.shape
            self.last = f"{worst.stage} of {shape}"
        if self.served % 40 == 0:
            print(f"{self.served} served, {self.slow} slow, the last in {self.last}", flush=True)
        return body

    @torch.inference_mode()
    def paint(self, picture):
        with span("paint") as paint:
            result = self.model(torch.from_numpy(picture)[None].to(self.device))[0]
            paint.payload = result.cpu().numpy()  # grows
        return paint.payload


async def main():
    festival, visitors = Festival("cuda" if torch.cuda.is_available() else "cpu"), set()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        visitor = asyncio.create_task(festival.handle(random.choice(SIDES)))
        visitors.add(visitor)
        visitor.add_done_callback(visitors.discard)
        await asyncio.sleep(random.uniform(0.05, 0.15))
    await asyncio.gather(*visitors)
    print(f"{festival.served} pictures served", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    asyncio.run(main())
