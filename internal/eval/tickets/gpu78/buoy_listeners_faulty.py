"""A station listens to buoys with hydrophones. When a buoy surfaces it opens a session and sends sound for a second or
so; the spectra are computed on the device, and at the end of the session a network says whether a whale was heard.
The session pings its buoy every second, and the board of the station shows which of them answer.

ticket: practice
class: host-growth
holder: _scheduled TimerHandle Session heartbeat spectra
cause: timers-left callbacks-left
"""

import asyncio
import os
import random
import time

import numpy as np
import torch
from torch import nn

BUOYS = "alder", "birch", "cedar", "dogwood", "elm"
CHUNKS, FRAMES, BINS, PING = 20, 72, 513, 1.0


class Whale(nn.Module):
    """Says from the loudest and the mean spectrum how likely a whale is."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2 * BINS, 128), nn.GELU(), nn.Linear(128, 1))

    def forward(self, spectra):
        summary = torch.cat([spectra.mean(dim=0), spectra.amax(dim=0)])
        return self.layers(summary).sigmoid()


class Station:
    def __init__(self, device):
        self.device, self.model = device, Whale().to(device).eval()
        self.window = torch.hann_window(2 * BINS - 2, device=device)
        self.board, self.sessions, self.whales = {}, 0, 0

    @torch.no_grad()
    def spectra(self, sound):
        """The log spectra of the frames of one chunk, on the host."""
        frames = torch.from_numpy(sound).to(self.device).view(FRAMES, -1)
        return torch.fft.rfft(frames * self.window).abs().log1p().cpu().numpy()

    @torch.no_grad()
    def judge(self, spectra):
        return self.model(torch.from_numpy(spectra).to(self.device)).item()


class Session:
    def __init__(self, station, buoy):
        self.station, self.buoy = station, buoy
        self.spectra = np.empty((CHUNKS, FRAMES, BINS), np.float32)  # grows
        self.heartbeat()

    def heartbeat(self):
        self.station.board[self.buoy] = time.time()
        asyncio.get_running_loop().call_later(PING, self.heartbeat)  # keeps

    async def listen(self):
        for chunk in range(CHUNKS):
            sound = np.random.standard_normal(FRAMES * (2 * BINS - 2)).astype(np.float32)
            self.spectra[chunk] = self.station.spectra(sound)
            await asyncio.sleep(random.uniform(0.03, 0.08))
        return self.station.judge(self.spectra.reshape(-1, BINS))


async def surface(station, buoy, end):
    """The buoy opens one session after the other."""
    while time.time() < end:
        session = Session(station, buoy)  # grows
        chance = await session.listen()
        station.sessions += 1
        station.whales += chance > 0.5
        if station.sessions % 10 == 0:
            answering = sum(time.time() - ping < 2 * PING for ping in station.board.values())
            print(f"{station.sessions} sessions, {station.whales} whales, {answering} buoys answer", flush=True)


async def serve(end):
    station = Station("cuda" if torch.cuda.is_available() else "cpu")
    await asyncio.gather(*(surface(station, buoy, end) for buoy in BUOYS))


def main():
    torch.set_num_threads(1)
    asyncio.run(serve(time.time() + float(os.environ.get("SECONDS", "45"))))


if __name__ == "__main__":
    main()
