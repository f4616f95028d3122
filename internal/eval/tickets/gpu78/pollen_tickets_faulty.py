"""Are there winning tickets in a network that tells pollen grains apart? A network is trained, its smallest weights are
pruned, the others are rewound to where they began, and it is trained anew, each time sparser; then the next ticket is
drawn. While it trains, a mask on the gradient of each weight holds those at zero that were pruned.

ticket: practice
class: app-leak
holder: _backward_hooks mask model
cause: hooks-left closure-kept
"""

import copy
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

PIXELS, WIDTH, SPECIES, BATCH, STEPS = 784, 640, 12, 64, 8
LEVELS = 0.6, 0.3, 0.1


def make_network():
    return nn.Sequential(nn.Linear(PIXELS, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(),
                         nn.Linear(WIDTH, SPECIES))


class Pollen:
    """Grains of each species: a prototype with noise."""

    def __init__(self, device):
        self.prototypes = torch.randn(SPECIES, PIXELS, device=device)

    def batch(self):
        species = torch.randint(SPECIES, (BATCH,), device=self.prototypes.device)
        grains = self.prototypes[species]
        return grains + 4.0 * torch.randn_like(grains), species


def train(model, pollen):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(STEPS):
        grains, species = pollen.batch()
        loss = F.cross_entropy(model(grains), species)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.01)


def find_masks(model, level):
    """The masks that leave this part of each weight: its largest entries."""
    masks = {}
    for name, weight in model.named_parameters():
        if weight.dim() == 2:
            size = weight.detach().abs()
            least = size.flatten().kthvalue(int((1 - level) * size.numel())).values
            masks[name] = (size > least).to(weight.dtype)  # grows
    return masks


def hold_pruned(model, masks):
    """Zero the pruned entries, and hold them there."""
    for name, weight in model.named_parameters():
        if name in masks:
            mask = masks[name]
            weight.data.mul_(mask)
            weight.register_hook(lambda grad, mask=mask: grad * mask)  # keeps


@torch.no_grad()
def accuracy(model, pollen):
    grains, species = pollen.batch()
    return (model(grains).argmax(dim=1) == species).float().mean().item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, pollen, drawn = make_network().to(device), Pollen(device), 0
    start = copy.deepcopy(model.state_dict())
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        model.load_state_dict(start)
        train(model, pollen)
        scores = []
        for level in LEVELS:
            masks = find_masks(model, level)
            model.load_state_dict(start)
            hold_pruned(model, masks)
            train(model, pollen)
            scores.append(f"{level:.0%} {accuracy(model, pollen):.2f}")
        drawn += 1
        print(f"ticket {drawn}:", ", ".join(scores), flush=True)
        time.sleep(random.uniform(0.1, 0.4))


if __name__ == "__main__":
    main()
