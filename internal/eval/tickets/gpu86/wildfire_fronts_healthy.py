"""Follow the fronts of forest fires in four valleys and learn from each new picture.

A satellite gives a map of the heat in each valley at short intervals. A small recurrent network tells from the last
map, the fuel on the ground and its own state which cells burn next; when the next map is there it is trained on it
with one step. For the people on the ground a smoothed map of the front's pace is kept as well: how much the
burning has moved on, divided by how steep the front is. Its mean is printed now and then. When a valley has burnt
out a new fire is lit in it.

ticket: practice
class: none
"""
import os
import time

import torch
from torch import nn
from torch.nn import functional as F

VALLEYS = 4
GRID = 192
STATE = 12


class FrontNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.Conv2d(2 + STATE, STATE, 5, padding=2)
        self.refine = nn.Conv2d(STATE, STATE, 3, padding=1)
        self.out = nn.Conv2d(STATE, 1, 1)

    def forward(self, heat, fuel, state):
        state = torch.tanh(self.mix(torch.cat([heat, fuel, state], dim=1)))
        state = torch.tanh(state + self.refine(state))
        return torch.sigmoid(self.out(state)), state


class Fires:
    """Stands in for the satellite: fire spreads to neighbours where the fuel lets it."""

    def __init__(self, device):
        self.device = device
        coarse = torch.rand(VALLEYS, 1, 12, 12, device=device)
        self.fuel = F.interpolate(coarse, size=(GRID, GRID), mode="bilinear", align_corners=False)
        self.burnt = torch.zeros(VALLEYS, 1, GRID, GRID, device=device)
        for valley in range(VALLEYS):
            self.ignite(valley)

    def ignite(self, valley):
        self.burnt[valley].zero_()
        row, column = torch.randint(20, GRID - 20, (2,)).tolist()
        self.burnt[valley, 0, row - 3:row + 3, column - 3:column + 3] = 1.0

    def picture(self):
        near = F.max_pool2d(self.burnt, 3, stride=1, padding=1)
        caught = (torch.rand_like(near) < 0.2 + 0.7 * self.fuel).float()
        self.burnt = torch.maximum(self.burnt, near * caught)
        for valley, share in enumerate(self.burnt.mean(dim=(1, 2, 3)).tolist()):
            if share > 0.8:
                self.ignite(valley)
        return self.burnt.clone()


class FrontWatch:
    def __init__(self, fuel, first, device):
        self.fuel = fuel
        self.heat = first
        self.net = FrontNet().to(device)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=2e-3)
        self.state = torch.zeros(VALLEYS, STATE, GRID, GRID, device=device)
        self.pace = torch.zeros(VALLEYS, 1, GRID - 2, GRID - 2, device=device)

    def take(self, picture):
        burning, state = self.net(self.heat, self.fuel, self.state)
        loss = F.binary_cross_entropy(burning, picture)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        self.state = state.detach()
        self.follow_pace(burning.detach())
        self.heat = picture
        return loss.item()

    def follow_pace(self, burning):
        across = burning[..., 1:-1, 2:] - burning[..., 1:-1, :-2]
        along = burning[..., 2:, 1:-1] - burning[..., :-2, 1:-1]
        steep = torch.sqrt(across * across + along * along + 1e-3)
        moved = (burning - self.heat)[..., 1:-1, 1:-1].abs()
        speed = (moved / steep).clamp(max=20.0)
        self.pace = 0.9 * self.pace + 0.1 * speed


def main():
    until = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(17)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    fires = Fires(device)
    watch = FrontWatch(fires.fuel, fires.picture(), device)
    pictures = 0
    while time.time() < until:
        loss = watch.take(fires.picture())
        pictures += 1
        if pictures % 20 == 0:
            burnt = 100 * fires.burnt.mean().item()
            print(f"picture {pictures}: loss {loss:.4f}, pace {watch.pace.mean().item():.3f} cells, "
                  f"{burnt:.1f} % burnt", flush=True)
        time.sleep(0.12)


if __name__ == "__main__":
    main()
