"""Photos from attics are restored, in a number of small steps, by a network of timm. Each customer says how strongly:
between nearly untouched and as new. As the steps have hundreds of small kernels, they are captured as a CUDA graph; the
graph for a number of steps reads from a tensor how strongly, and is kept.

ticket: practice
class: none
"""

import os
import random
import time

import timm
import torch
from torch import nn

SIDE, PATCH, WIDTH = 48, 8, 96
STEPS = (16, 20)


class Cleaner(nn.Module):
    """What is to be taken away from a photo in a step."""

    def __init__(self):
        super().__init__()
        self.body = timm.create_model("vit_tiny_patch16_224", img_size=SIDE, patch_size=PATCH, embed_dim=WIDTH,
                                      num_heads=3, num_classes=0)
        self.out = nn.Linear(WIDTH, 3 * PATCH * PATCH)

    def forward(self, photo):
        patches = self.out(self.body.forward_features(photo)[:, 1:])
        across = SIDE // PATCH
        patches = patches.view(-1, across, across, 3, PATCH, PATCH).permute(0, 3, 1, 4, 2, 5)
        return patches.reshape(-1, 3, SIDE, SIDE)


class Restorer:
    def __init__(self, device):
        torch.manual_seed(4)
        self.cuda, self.cleaner = device == "cuda", Cleaner().to(device).eval()
        self.photo = torch.zeros(1, 3, SIDE, SIDE, device=device)
        self.pool = torch.cuda.graph_pool_handle() if self.cuda else None
        self.strength = torch.full((), 0.5, device=device)
        self.graphs = {}
        if self.cuda:
            aside = torch.cuda.Stream()
            aside.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(aside):
                for steps in STEPS:
                    self.clean(steps)
            torch.cuda.current_stream().wait_stream(aside)

    @torch.no_grad()
    def clean(self, steps):
        photo = self.photo
        for step in range(steps):
            photo = photo - self.strength * (1 - step / steps) / steps * torch.tanh(self.cleaner(photo))
        self.photo.copy_(photo)

    def capture(self, steps):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            self.clean(steps)
        return graph

    def restore(self, photo, steps, strength):
        self.photo.copy_(photo)
        self.strength.fill_(strength)
        if not self.cuda:
            self.clean(steps)
        else:
            if steps not in self.graphs:
                self.graphs[steps] = self.capture(steps)
            self.graphs[steps].replay()
        return self.photo.clone()


def old_photo(device):
    """A face, roughly, with scratches and a brown cast."""
    line = torch.linspace(-1, 1, SIDE, device=device)
    face = ((line[:, None] ** 2 + 1.4 * line ** 2) < random.uniform(0.3, 0.7)).float()
    scratches = (torch.rand(SIDE, device=device) < 0.06).float()
    cast = torch.tensor([0.3, 0.2, 0.05], device=device)[:, None, None]
    return (0.6 * face + scratches + cast + 0.1 * torch.randn(3, SIDE, SIDE, device=device))[None]


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    end, restored = time.time() + float(os.environ.get("SECONDS", "45")), 0
    restorer = Restorer(device)
    while time.time() < end:
        strength = random.uniform(0.1, 1)
        photo = old_photo(device)
        changed = (restorer.restore(photo, random.choice(STEPS), strength) - photo).abs().mean().item()
        restored += 1
        if restored % 4 == 0:
            print("photos", restored, "strength", round(strength, 2), "changed", round(changed, 4), flush=True)
        time.sleep(random.uniform(0.1, 0.5))


if __name__ == "__main__":
    main()
