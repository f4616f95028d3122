"""Judge the plates of a canteen kitchen against the menu that hangs out.

The kitchen hangs out a new menu for every service. Each plate that comes back to the hatch is weighed and
photographed, and a vector of features tells what was on it and what was left. One trunk serves all menus; on top
of it a fresh head is put for each menu, which scores the dishes of that menu, and both are trained while the
service goes on. At the end of a service the share of plates that were told right is printed.

ticket: practice
class: app-leak
holder: param_groups optimizer
cause: optimizer-groups-added
"""
import os
import time

import torch
from torch import nn
from torch.nn import functional as F

FEATURES = 256
WIDTH = 768
DISHES = 1536
PLATES = 128
ROUNDS_PER_SERVICE = 28


class Trunk(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Linear(FEATURES, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.middle = nn.Linear(WIDTH, WIDTH)

    def forward(self, plates):
        hidden = F.gelu(self.norm(self.enter(plates)))
        return hidden + F.gelu(self.middle(hidden))


class Hatch:
    """The returning hatch: a trunk for all services and the head of the menu that hangs out now."""

    def __init__(self, device):
        self.device = device
        self.trunk = Trunk().to(device)
        self.optimizer = torch.optim.Adam(self.trunk.parameters(), lr=3e-4)
        self.head = None
        self.menu = 0

    def hang_menu(self):
        self.menu += 1
        self.head = nn.Linear(WIDTH, DISHES).to(self.device)  # grows
        self.optimizer.add_param_group({"params": list(self.head.parameters()), "lr": 2e-3})  # keeps

    def learn(self, plates, dishes):
        scores = self.head(self.trunk(plates))
        loss = F.cross_entropy(scores, dishes)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        right = (scores.argmax(dim=1) == dishes).float().mean()
        return loss.item(), right.item()


class Kitchen:
    """Stands in for the real one: dishes have a mean plate, and guests leave some of it."""

    def __init__(self, device):
        self.device = device
        self.popular = 40
        self.plain = torch.randn(self.popular, FEATURES, device=device)

    def new_menu(self):
        swapped = torch.randint(0, self.popular, (8,), device=self.device)
        self.plain[swapped] = torch.randn(8, FEATURES, device=self.device)

    def plates(self):
        dishes = torch.randint(0, self.popular, (PLATES,), device=self.device)
        eaten = torch.rand(PLATES, 1, device=self.device)
        plates = self.plain[dishes] * (1.0 - 0.6 * eaten) + 0.3 * torch.randn(PLATES, FEATURES, device=self.device)
        return plates, dishes


def serve(hatch, kitchen, until):
    """One service under one menu; returns the mean loss and the share told right."""
    losses = 0.0
    rights = 0.0
    count = 0
    for _ in range(ROUNDS_PER_SERVICE):
        plates, dishes = kitchen.plates()
        loss, right = hatch.learn(plates, dishes)
        losses += loss
        rights += right
        count += 1
        time.sleep(0.025)
        if time.time() >= until:
            break
    return losses / count, rights / count


def main():
    until = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(11)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    hatch = Hatch(device)
    kitchen = Kitchen(device)
    while time.time() < until:
        kitchen.new_menu()
        hatch.hang_menu()
        loss, right = serve(hatch, kitchen, until)
        print(f"menu {hatch.menu}: loss {loss:.3f}, {100 * right:.1f} % of the plates told right", flush=True)


if __name__ == "__main__":
    main()
