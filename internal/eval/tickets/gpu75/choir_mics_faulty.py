"""A choir rehearses over the network: every singer has a microphone at home and a session here. The sound comes in
pieces of half a second; a network hears how far the singer is off the pitch. A session keeps its sound until the song
is over, when the loudness of the whole take is worked out. Each session is pinged so that no router forgets it.

ticket: practice
class: host-growth
holder: Session session ping sound heartbeat scheduled
cause: timers-left sessions-kept
"""

import asyncio
import itertools
import os
import random
import time

import numpy as np
import torch
from torch import nn

RATE, PIECE = 48_000, 0.5
SINGERS = 5
PING = 1.0


class PitchEar(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(2, 16, 64, stride=32), nn.ReLU(),
            nn.Conv1d(16, 32, 16, stride=8), nn.ReLU(),
            nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(32, 1),
        )

    def forward(self, sound):
        return 100 * torch.tanh(self.layers(sound))[:, 0]


class Session:
    """A singer on the line."""

    def __init__(self, singer):
        self.singer, self.pings = singer, 0
        self.sound, self.cents = [], []
        self.loop = asyncio.get_running_loop()
        self.ping()

    def ping(self):
        self.pings += 1
        self.heartbeat = self.loop.call_later(PING, self.ping)  # keeps

    def hear(self, piece, cents):
        self.sound.append(piece)  # keeps
        self.cents.append(cents)

    def close(self):
        """The song is over: how loud was it, and how far off?"""
        take = np.concatenate(self.sound, axis=1)
        return float(np.sqrt(np.mean(take**2))), sum(self.cents) / len(self.cents)


def microphone(random_numbers):
    return random_numbers.standard_normal((2, int(RATE * PIECE)), dtype=np.float32)  # grows


@torch.no_grad()
def off_pitch(model, piece, device):
    return model(torch.from_numpy(piece)[None].to(device)).item()


async def song(singer, model, device, random_numbers):
    session = Session(singer)
    for _ in range(random.randint(8, 20)):
        piece = microphone(random_numbers)
        session.hear(piece, off_pitch(model, piece, device))
        await asyncio.sleep(random.uniform(0.05, 0.2))
    return session.close()


async def place(model, device, end, numbers):
    """At each place in the choir, one singer comes after the other."""
    random_numbers = np.random.default_rng()
    while time.time() < end:
        singer = next(numbers)
        loudness, cents = await song(singer, model, device, random_numbers)
        if singer % 10 == 0:
            print(f"singer {singer}: loudness {loudness:.2f}, {cents:+.1f} cents off", flush=True)


async def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    model, numbers = PitchEar().to(device).eval(), itertools.count(1)
    await asyncio.gather(*(place(model, device, end, numbers) for _ in range(SINGERS)))


if __name__ == "__main__":
    asyncio.run(main())
