"""A service names parrots by their calls. A microphone in the forest opens a session and streams its clips; the session
has the last seconds of spectrogram, so a call that is cut by the end of a clip is still heard whole. The far
microphones often lose their connection, and come back later as a new session.

ticket: practice
class: none
"""

import asyncio
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

BANDS, CLIP, WINDOW, KINDS, MICROPHONES = 256, 64, 2048, 24, 10


class Namer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(BANDS, 64, 9, stride=4), nn.ReLU(), nn.Conv1d(64, 64, 9, stride=4), nn.ReLU(),
            nn.AdaptiveMaxPool1d(1), nn.Flatten(), nn.Linear(64, KINDS),
        )

    def forward(self, spectrogram):
        return F.softmax(self.layers(spectrogram), dim=-1)


class Session:
    def __init__(self, place, device):
        self.place, self.clips = place, 0
        self.window = torch.zeros(1, BANDS, WINDOW, device=device)

    def push(self, clip):
        self.window.copy_(torch.roll(self.window, -CLIP, dims=2))
        self.window[:, :, -CLIP:] = clip
        self.clips += 1


class Service:
    def __init__(self, device):
        self.device, self.model = device, Namer().to(device).eval()
        self.sessions, self.opened, self.lost, self.named = {}, 0, 0, 0

    async def listen(self, place, clips):
        """Follows one microphone until it says goodbye."""
        self.opened += 1
        name = f"{place}-{self.opened}"
        self.sessions[name] = session = Session(place, self.device)
        try:
            async for clip in clips:
                session.push(clip.to(self.device))
                self.name(session)
        finally:
            del self.sessions[name]

    @torch.inference_mode()
    def name(self, session):
        chance, kind = self.model(session.window).max(dim=-1)
        self.named += int(chance.item() > 1.2 / KINDS)


async def stream(end):
    """The clips of one connection, which may break."""
    for _ in range(random.randint(3, 8)):
        await asyncio.sleep(random.uniform(0.1, 0.3))
        if time.time() > end:
            return
        if random.random() < 0.12:
            raise ConnectionResetError("the microphone is gone")
        yield torch.rand(1, BANDS, CLIP)


async def microphone(service, place, end):
    while time.time() < end:
        try:
            await service.listen(place, stream(end))
        except ConnectionResetError:
            service.lost += 1
            await asyncio.sleep(0.2)


async def report(service, end):
    while time.time() < end:
        await asyncio.sleep(1)
        print(f"{service.opened} sessions opened, {service.lost} lost, {service.named} calls named", flush=True)


async def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    service = Service("cuda" if torch.cuda.is_available() else "cpu")
    await asyncio.gather(*(microphone(service, f"tree {n}", end) for n in range(MICROPHONES)), report(service, end))


if __name__ == "__main__":
    asyncio.run(main())
