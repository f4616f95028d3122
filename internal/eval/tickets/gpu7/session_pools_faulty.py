"""So that sessions of an image service do not tear holes into each other's memory, the memory for the work of a session
comes from a pool of its own. The pool of a session is kept for when it comes back, which hardly one does.

ticket: practice
class: pool-growth
holder: pools
cause: pool-never-trims cache-without-bound sessions-kept
"""

import contextlib
import os
import random
import time

import torch
from torch import nn


class Memory:
    """Pools of the allocator, by session."""

    def __init__(self, device):
        self.device, self.pools = device, {}

    def of(self, session):
        if self.device != "cuda":
            return contextlib.nullcontext()
        if session not in self.pools:
            self.pools[session] = torch.cuda.MemPool()  # keeps
        return torch.cuda.use_mem_pool(self.pools[session])


class Enhancer(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 12, 3, padding=1), nn.ReLU(),
                                 nn.Conv2d(12, 3, 3, padding=1))

    def forward(self, picture):
        return (picture + 0.1 * self.net(picture)).clamp(0, 1)


@torch.inference_mode()
def serve(session, memory, model, device):
    bright = []
    with memory.of(session):
        for _ in range(random.randint(2, 5)):
            height, width = random.choice(((256, 256), (256, 384), (320, 320)))
            picture = torch.rand(1, 3, height, width).to(device)  # grows
            bright.append(float(model(picture).mean()))
            del picture
            time.sleep(0.05)
    return bright


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, memory = Enhancer().to(device).eval(), Memory(device)
    with torch.inference_mode():
        model(torch.rand(1, 3, 320, 320, device=device))
    sessions = served = 0
    while time.time() < end:
        again = sessions > 0 and random.random() < 0.1
        session = random.randrange(sessions) if again else sessions
        sessions += not again
        bright = serve(session, memory, model, device)
        served += 1
        if served % 10 == 0:
            print(served, "visits of", sessions, "sessions", round(sum(bright) / len(bright), 3), flush=True)
        time.sleep(random.uniform(0.4, 1.2))


if __name__ == "__main__":
    main()
