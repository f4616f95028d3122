"""An observatory's server tells from a seismogram how a glacier calves. New weights come often: a standby is built from
them, warmed up and promoted, and the old primary goes. Each replica looks after its own health: every two seconds it
answers a reference trace and notes whether the answer is sound.

ticket: practice
class: app-leak
holder: handles _scheduled loop Replica check
cause: timers-left callbacks-left
"""

import asyncio
import os
import random
import time

import torch
from torch import nn

SAMPLES, HIDDEN, KINDS, EVERY = 1024, 1280, 12, 2.0


def network():
    return nn.Sequential(nn.Linear(SAMPLES, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, HIDDEN // 2), nn.GELU(),
                         nn.Linear(HIDDEN // 2, KINDS))


class Replica:
    """A model that serves or is about to, and its health."""

    def __init__(self, version, device):
        self.version, self.device, self.healthy = version, device, False
        self.model = network().to(device).eval()  # grows
        self.reference = torch.sin(torch.linspace(0, 60, SAMPLES)).repeat(4, 1).to(device)

    @torch.inference_mode()
    def answer(self, traces):
        return self.model(traces.to(self.device)).argmax(dim=1).tolist()

    @torch.inference_mode()
    def check(self):
        self.healthy = bool(self.model(self.reference).isfinite().all())
        self.timer = asyncio.get_running_loop().call_later(EVERY, self.check)  # keeps


class Service:
    def __init__(self, device):
        self.device, self.primary, self.answered, self.refused = device, None, 0, 0

    def roll(self, version):
        standby = Replica(version, self.device)  # grows
        for _ in range(3):
            standby.answer(torch.randn(16, SAMPLES))
        standby.check()
        self.primary = standby

    def handle(self, traces):
        if self.primary.healthy:
            self.answered += len(self.primary.answer(traces))
        else:
            self.refused += len(traces)

    async def traffic(self, end):
        while time.time() < end:
            self.handle(torch.randn(random.randint(1, 24), SAMPLES))
            await asyncio.sleep(random.uniform(0.01, 0.06))


async def main():
    torch.set_num_threads(1)
    service = Service("cuda" if torch.cuda.is_available() else "cpu")
    service.roll(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    traffic = asyncio.create_task(service.traffic(end))
    while time.time() < end:
        await asyncio.sleep(random.uniform(0.3, 0.6))
        service.roll(service.primary.version + 1)
        version = service.primary.version
        if version % 6 == 0:
            print(f"version {version}: {service.answered} answered, {service.refused} refused", flush=True)
    await traffic


if __name__ == "__main__":
    asyncio.run(main())
