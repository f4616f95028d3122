"""Members of a choir send in a recording and get back how loud each voice is in it. The desk parts a recording into
soprano, alto, tenor and bass on the GPU, one at a time in a worker thread, and any number of members may wait. A task
that nobody refers to may be collected before it is done, so the desk refers to each until then.

ticket: practice
class: none
"""

import asyncio
import os
import random
import time
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn

VOICES, RATE, WINDOW = ("soprano", "alto", "tenor", "bass"), 16_000, 1024
BINS = WINDOW // 2 + 1


class Separator(nn.Module):
    """Gives a mask for each voice from the loudness of each frequency."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Conv1d(BINS, 96, 5, padding=2)
        self.outer = nn.Conv1d(96, len(VOICES) * BINS, 1)

    def forward(self, loudness):
        masks = self.outer(torch.relu(self.inner(loudness.log1p())))
        return masks.view(len(VOICES), BINS, -1).softmax(dim=0)


class Desk:
    def __init__(self, device):
        self.device = device
        self.model = Separator().to(device).eval()
        self.window = torch.hann_window(WINDOW, device=device)
        self.worker = ThreadPoolExecutor(1)
        self.tasks = set()

    @torch.inference_mode()
    def separate(self, recording):
        wave = recording.to(self.device)
        spectrum = torch.stft(wave, WINDOW, WINDOW // 2, window=self.window, return_complex=True)
        masks = self.model(spectrum.abs()[None])
        parts = [torch.istft(mask * spectrum, WINDOW, WINDOW // 2, window=self.window) for mask in masks]
        return torch.stack(parts)

    async def part(self, recording):
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.worker, self.separate, recording)

    def submit(self, recording):
        task = asyncio.create_task(self.part(recording))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task


class Tally:
    def __init__(self):
        self.count, self.loudest = 0, dict.fromkeys(VOICES, 0)

    def add(self, levels):
        self.count += 1
        self.loudest[VOICES[levels.index(max(levels))]] += 1
        if self.count % 20 == 0:
            print(f"{self.count} recordings, loudest voice: {self.loudest}", flush=True)


async def member(desk, tally, end):
    """Sends a recording now and then and waits for the voices."""
    while time.time() < end:
        await asyncio.sleep(random.uniform(0.2, 1.0))
        recording = torch.randn(RATE * random.randint(4, 10))
        voices = await desk.submit(recording)
        tally.add(voices.square().mean(dim=1).tolist())


async def serve(device, end):
    desk, tally = Desk(device), Tally()
    await asyncio.gather(*(member(desk, tally, end) for _ in range(4)))
    desk.worker.shutdown()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    asyncio.run(serve(device, end))


if __name__ == "__main__":
    main()
