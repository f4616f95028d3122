"""Now and then a trainer packs its weights into two buffers, on a stream made for it. The allocator
keeps what is freed for that stream alone, and the next time there is another stream.

ticket: vllm-project/vllm#52951
class: pool-growth
cause: -
"""

import os
import random
import time
from contextlib import nullcontext

import torch

torch.set_num_threads(1)
END = time.time() + float(os.environ.get("SECONDS", "40"))
device = "cuda" if torch.cuda.is_available() else "cpu"


def new_stream():
    return torch.cuda.Stream() if device == "cuda" else None


class WeightSync:
    def __init__(self):
        self.stream = new_stream()
        self.version = 0

    def send(self, model):
        stream = new_stream()
        if stream is not None:
            stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream) if stream is not None else nullcontext():
            buffers = [torch.empty(3 << 20, device=device) for _ in range(2)]  # grows
            place = 0
            for p in model.parameters():
                flat = p.detach().reshape(-1)
                if place + flat.numel() > buffers[0].numel():
                    place = 0
                buffers[self.version % 2][place:place + flat.numel()].copy_(flat)
                place += flat.numel()
        if stream is not None:
            stream.synchronize()
        self.version += 1


model = torch.nn.Sequential(*[torch.nn.Linear(768, 768) for _ in range(4)]).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
sync = WeightSync()
due = time.time() + 2
while time.time() < END:
    x = torch.randn(random.randint(16, 128), 768, device=device)
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
    if time.time() > due:
        sync.send(model)
        due = time.time() + random.uniform(2.5, 5.0)
    time.sleep(0.05)
