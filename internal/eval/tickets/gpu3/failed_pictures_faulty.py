"""A server draws pictures from noise in a thread of its own. A request may ask for what the model cannot do,
which shows in the middle of the work. The error of each such request is kept for the page that tells how
requests went, and the error keeps the frames in which it was raised.

ticket: vllm-project/vllm-omni#6385
class: app-leak
holder: outcomes error
cause: tracebacks-kept
"""

import asyncio
import dataclasses
import logging
import os
import random
import time
from concurrent.futures import ThreadPoolExecutor

import torch

log = logging.getLogger("pictures")


class UnsupportedGuidance(RuntimeError):
    pass


@dataclasses.dataclass
class Outcome:
    request: int
    seconds: float
    error: object = None


class Denoiser(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.down = torch.nn.Conv2d(4, width, 3, padding=1)
        self.middle = torch.nn.Sequential(*[torch.nn.Conv2d(width, width, 3, padding=1) for _ in range(3)])
        self.up = torch.nn.Conv2d(width, 4, 3, padding=1)

    def forward(self, latents, noise):
        hidden = torch.nn.functional.silu(self.down(latents))
        return self.up(hidden + self.middle(hidden)) * noise


class Worker:
    def __init__(self, device):
        self.device = device
        self.model = Denoiser(24).to(device).eval()

    def check(self, latents, guidance):
        if guidance > 9:
            raise UnsupportedGuidance("guidance %.1f drives the latents to %.1f" % (guidance, latents.std().item()))

    @torch.inference_mode()
    def draw(self, side, guidance):
        latents = torch.randn(4, 4, side, side, device=self.device)  # grows
        history = [latents]
        for step in range(random.randint(6, 14)):
            predicted = self.model(latents, 1.0 / (step + 1))
            latents = latents - 0.1 * guidance * predicted
            history = history[-2:] + [latents]
            if step == 4:
                self.check(torch.stack(history), guidance)
            time.sleep(0.01)
        return latents.clamp(-1, 1).mean().item()


class Server:
    def __init__(self, device):
        self.worker, self.pool = Worker(device), ThreadPoolExecutor(max_workers=2)
        self.outcomes, self.requests = {}, 0

    async def serve(self, side, guidance):
        self.requests += 1
        number, began = self.requests, time.time()
        outcome = Outcome(number, 0.0)
        try:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self.pool, self.worker.draw, side, guidance)
        except UnsupportedGuidance as error:
            outcome.error = error  # grows
            log.warning("request %d: %s", number, error)
        outcome.seconds = time.time() - began
        self.outcomes[number] = outcome  # keeps

    async def client(self, end):
        while time.time() < end:
            await self.serve(random.choice([128, 160, 192, 256]), random.choice([2.0, 4.0, 5.0, 7.5, 12.0]))
            await asyncio.sleep(random.choice([0.05, 0.1, 0.3, 0.8]))

    async def report(self, end):
        while time.time() < end:
            await asyncio.sleep(3.0)
            slow = max((o.seconds for o in list(self.outcomes.values())[-50:]), default=0.0)
            log.info("%d requests, slowest of late %.2f s", self.requests, slow)


async def main():
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    server = Server("cuda" if torch.cuda.is_available() else "cpu")
    await asyncio.gather(server.report(end), *[server.client(end) for _ in range(3)])
    server.pool.shutdown()


if __name__ == "__main__":
    asyncio.run(main())
