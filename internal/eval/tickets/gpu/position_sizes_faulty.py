"""A detector keeps the position embeddings of each size of image that it has seen, and images come
in any size.

ticket: LibreYOLO/libreyolo#541
class: app-leak
holder: _pos_embed_cache pos_embed
cause: cache-without-bound
"""

import os
import random
import time

import torch

torch.set_num_threads(1)
END = time.time() + float(os.environ.get("SECONDS", "40"))
device = "cuda" if torch.cuda.is_available() else "cpu"


class Encoder(torch.nn.Module):
    def __init__(self, dim=320):
        super().__init__()
        self.patch = torch.nn.Conv2d(3, dim, 16, stride=16)
        self.mix = torch.nn.Linear(dim, dim)
        self.boxes = torch.nn.Linear(dim, 6)
        self.dim = dim
        self._pos_embed_cache = {}

    def pos_embed(self, h, w, device):
        key = (h, w)
        if key not in self._pos_embed_cache:
            omega = 1.0 / 10000 ** (torch.arange(self.dim // 4, device=device) / (self.dim / 4))
            y, x = torch.meshgrid(torch.arange(h, device=device), torch.arange(w, device=device), indexing="ij")
            y, x = y.reshape(-1, 1) * omega, x.reshape(-1, 1) * omega
            self._pos_embed_cache[key] = torch.cat([x.sin(), x.cos(), y.sin(), y.cos()], 1)  # grows
        return self._pos_embed_cache[key]

    def forward(self, image):
        patches = self.patch(image)
        h, w = patches.shape[-2:]
        tokens = patches.flatten(2).transpose(1, 2) + self.pos_embed(h, w, image.device)
        return self.boxes(torch.relu(self.mix(tokens)))


def place(patches):
    return patches


model = Encoder().to(device).eval()
found = 0
with torch.no_grad():
    while time.time() < END:
        for _ in range(random.choice((1, 1, 3))):
            h, w = place(random.randint(17, 64)), place(random.randint(17, 64))
            image = torch.rand(1, 3, 16 * h, 16 * w, device=device)
            found += int((model(image)[..., 4] > 0.5).sum())
        time.sleep(random.uniform(0.3, 1.0))
print("found", found)
