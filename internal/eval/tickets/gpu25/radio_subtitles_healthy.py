"""Live subtitles for radio stations. Each programme that a listener turns on is a stream: its sound comes in pieces,
and a small model says the words, with regard to the frames before, which are the state of the stream. Streams run side
by side in one event loop. When the service closes, those that still run are told to end after the piece they are at.

ticket: practice
class: none
"""

import asyncio
import os
import random
import time

import torch
from torch import nn

BANDS, CHANNELS, WORDS = 40, 256, 3000
STATIONS = "Fjord 1", "Skyline", "Kanal 7", "Northern"


class Ears(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(BANDS, CHANNELS)
        self.mix = nn.Linear(CHANNELS, CHANNELS)
        self.words = nn.Linear(CHANNELS, WORDS)

    def forward(self, piece, past):
        """The word of each frame; the past is moved on by the piece in place."""
        frames = torch.tanh(self.first(piece))
        past.copy_(torch.cat([past[len(frames):], frames]))
        context = self.mix(past.mean(dim=0))
        return self.words(frames + context).argmax(dim=-1)


class Stream:
    def __init__(self, station, pieces, past, device):
        self.station, self.pieces, self.device = station, pieces, device
        self.state = torch.zeros(past, CHANNELS, device=device)
        self.running = True

    def stop(self, closing):
        self.running = False

    async def run(self, ears):
        """Yields the number of different words of each piece."""
        while self.running and self.pieces > 0:
            piece = torch.randn(random.choice((20, 40, 80)), BANDS).to(self.device)
            with torch.inference_mode():
                words = ears(piece, self.state)
            yield len(set(words.tolist()))
            self.pieces -= 1
            await asyncio.sleep(random.uniform(0.1, 0.3))


class Service:
    def __init__(self, device):
        self.device = device
        self.ears = Ears().to(device).eval()
        self.closing = asyncio.get_running_loop().create_future()
        self.streams = self.words = 0

    async def listen(self, station):
        stream = Stream(station, random.randint(3, 9), random.choice((1024, 2048, 3072)), self.device)
        self.closing.add_done_callback(stream.stop)
        self.streams += 1
        if self.streams % 20 == 0:
            print(f"{self.streams} streams, {self.words} different words", flush=True)
        try:
            async for words in stream.run(self.ears):
                self.words += words
        finally:
            self.closing.remove_done_callback(stream.stop)


async def serve():
    service = Service("cuda" if torch.cuda.is_available() else "cpu")
    listeners = set()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        if len(listeners) < 8:
            task = asyncio.create_task(service.listen(random.choice(STATIONS)))
            listeners.add(task)
            task.add_done_callback(listeners.discard)
        await asyncio.sleep(random.uniform(0.05, 0.2))
    service.closing.set_result(None)
    await asyncio.gather(*listeners)
    print("closed after", service.streams, "streams", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    asyncio.run(serve())
