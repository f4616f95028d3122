"""A server of images: an executor draws them on the device and puts them down on the host, where the handler
of the request takes them.
Where the client went away, the handler has them thrown away.

ticket: vllm-project/vllm-omni#6462
class: none
"""

import asyncio
import dataclasses
import itertools
import logging
import os
import queue
import random
import threading
import time

import numpy as np
import torch
from torch import nn

log = logging.getLogger("images")


@dataclasses.dataclass
class Output:
    number: int
    image: np.ndarray
    seconds: float
    info: dict


class Denoiser(nn.Module):
    def __init__(self, channels=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(4, channels, 3, 1, 1), nn.SiLU(), nn.Conv2d(channels, 4, 3, 1, 1))
        self.decode = nn.ConvTranspose2d(4, 3, 8, 8)

    @torch.inference_mode()
    def draw(self, steps, device):
        latents = torch.randn(1, 4, 64, 64, device=device)
        for _ in range(steps):
            latents = latents - 0.1 * self.net(latents)
        return torch.tanh(self.decode(latents))


class Executor(threading.Thread):
    """Takes requests in turn and keeps what it drew until it is claimed."""

    def __init__(self, device):
        super().__init__(daemon=True)
        self.device, self.model = device, Denoiser().to(device).eval()
        self.requests, self.completed_outputs = queue.Queue(maxsize=64), {}
        self.lock = threading.Lock()
        self.aborted = set()

    def run(self):
        while True:
            number, prompt, steps = self.requests.get()
            start = time.time()
            image = self.model.draw(steps, self.device).cpu().numpy()
            output = Output(number, image, time.time() - start, {"prompt": prompt})
            with self.lock:
                if number in self.aborted:
                    self.aborted.discard(number)
                else:
                    self.completed_outputs[number] = output
            del image, output
            time.sleep(0.02)

    def claim(self, number):
        with self.lock:
            return self.completed_outputs.pop(number, None)

    def abort(self, number):
        with self.lock:
            if self.completed_outputs.pop(number, None) is None:
                self.aborted.add(number)


class Frontend:
    def __init__(self, executor):
        self.executor, self.numbers = executor, itertools.count()
        self.served, self.gone = 0, 0

    async def generate(self, prompt, steps):
        number = next(self.numbers)
        self.executor.requests.put((number, prompt, steps))
        try:
            while (output := self.executor.claim(number)) is None:
                await asyncio.sleep(0.02)
        except asyncio.CancelledError:
            self.gone += 1
            self.executor.abort(number)
            raise
        self.served += 1
        return output.image.mean(axis=(0, 2, 3)).tolist()


async def client(frontend, end):
    while time.time() < end:
        prompt = " ".join(random.choices(["cat", "sea", "hill", "lamp", "rain"], k=6))
        patience = 5.0 if random.random() < 0.6 else random.uniform(0.0, 0.03)
        try:
            await asyncio.wait_for(frontend.generate(prompt, random.randint(4, 12)), patience)
        except asyncio.TimeoutError:
            pass
        await asyncio.sleep(random.choice([0.1, 0.3, 1.2]))


async def report(frontend, end):
    while time.time() < end:
        await asyncio.sleep(2.0)
        log.info("served %d, gone %d", frontend.served, frontend.gone)


async def serve():
    end = time.time() + float(os.environ.get("SECONDS", "40"))
    executor = Executor("cuda" if torch.cuda.is_available() else "cpu")
    executor.start()
    frontend = Frontend(executor)
    await asyncio.gather(report(frontend, end), *[client(frontend, end) for _ in range(6)])


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    asyncio.run(serve())
