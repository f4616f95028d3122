"""A pattern studio serves many yarn shops with one model. Each shop has its own low-rank adapters, which hook onto the
layers of the base and speak up only for their shop. Whenever a shop has trained anew, its next revision takes over from
the last one while the studio goes on serving.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn

WIDTH, RANK, DEPTH = 1024, 64, 4
SHOPS = "moss", "purl", "granny", "shell", "picot", "bobble"


class Adapter:
    """One layer's low-rank change for one shop."""

    def __init__(self, studio, shop, device):
        self.studio, self.shop = studio, shop
        self.down = torch.randn(WIDTH, RANK, device=device) / WIDTH**0.5
        self.up = 0.05 * torch.randn(RANK, WIDTH, device=device)

    def __call__(self, layer, args, output):
        if self.studio.shop != self.shop:
            return None
        return output + args[0] @ self.down @ self.up


class Studio:
    def __init__(self, device):
        self.device = device
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(DEPTH)).to(device)
        self.adapters, self.revisions = {}, dict.fromkeys(SHOPS, 0)
        self.shop = None

    def revise(self, shop):
        """The shop's new adapters take over."""
        for adapter in self.adapters.get(shop, ()):
            adapter.hook.remove()
        self.adapters[shop] = [Adapter(self, shop, self.device) for _ in self.layers]
        for layer, adapter in zip(self.layers, self.adapters[shop]):
            adapter.hook = layer.register_forward_hook(adapter)
        self.revisions[shop] += 1

    @torch.no_grad()
    def draft(self, shop, swatches):
        self.shop, hidden = shop, swatches.to(self.device)
        for layer in self.layers:
            hidden = torch.tanh(layer(hidden))
        self.shop = None
        return hidden.mean(dim=1).cpu()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    studio, served, printed = Studio(device), 0, time.time()
    for shop in SHOPS:
        studio.revise(shop)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for shop in random.choices(SHOPS, k=random.randint(1, 4)):
            studio.draft(shop, torch.randn(random.randint(4, 16), WIDTH))
            served += 1
        studio.revise(random.choice(SHOPS))
        if time.time() - printed > 3:
            print(f"{served} drafts,", *(f"{shop} r{number}" for shop, number in studio.revisions.items()), flush=True)
            printed = time.time()
        time.sleep(random.uniform(0.05, 0.25))


if __name__ == "__main__":
    main()
