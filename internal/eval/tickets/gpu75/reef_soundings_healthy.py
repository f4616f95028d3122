"""Survey boats send the soundings of their sonar, swath by swath, and get back how deep the reef lies in it. The swaths
of a boat are all of the same width, but the boats differ; so that their blocks don't mix on the device, the work for
each boat is done in a memory pool of its own. A boat sends a few swaths, then it sails on, and the next calls.

ticket: practice
class: none
"""

import os
import random
import time
from contextlib import nullcontext

import torch
from torch import nn

PINGS, WIDTHS = 512, (448, 576, 704)


class Smoother(nn.Module):
    """Takes the fish and the bubbles out of a swath."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(),
            nn.Conv2d(4, 1, 3, padding=1),
        )

    def forward(self, swath):
        return swath - self.layers(swath)


class Boat:
    def __init__(self, number):
        self.name = f"boat-{number}"
        self.beams = random.choice(WIDTHS)
        self.swaths = random.randint(5, 10)

    def soundings(self):
        return 30 + 5 * torch.randn(1, 1, PINGS, self.beams)


class Harbour:
    def __init__(self, device):
        self.device = device
        self.model = Smoother().to(device).eval()
        self.pools = {}
        self.depth(torch.zeros(1, 1, 64, 64))

    def scratch(self, boat):
        """The memory in which the work for this boat is done."""
        if self.device == "cpu":
            return nullcontext()
        if boat.name not in self.pools:
            self.pools[boat.name] = torch.cuda.MemPool()
        return torch.cuda.use_mem_pool(self.pools[boat.name])

    @torch.inference_mode()
    def depth(self, swath):
        """How deep the shallowest twentieth of the reef lies."""
        clean = self.model(swath.to(self.device))
        count = max(clean.numel() // 20, 1)
        return clean.flatten().topk(count, largest=False).values.mean().item()

    def serve(self, boat):
        depths = []
        for _ in range(boat.swaths):
            swath = boat.soundings()
            with self.scratch(boat):
                depths.append(self.depth(swath))
            time.sleep(random.uniform(0.1, 0.3))
        self.pools.pop(boat.name, None)
        torch.cuda.empty_cache()
        return min(depths)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    harbour, number = Harbour(device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        number += 1
        boat = Boat(number)
        shallowest = harbour.serve(boat)
        print(f"{boat.name}: {boat.swaths} swaths of {boat.beams} beams, {shallowest:.1f} m", flush=True)


if __name__ == "__main__":
    main()
