"""A generator of pictures is trained, and now and then it is measured how much of the real pictures lies near the
drawn ones, of which there are more at each time. The distances among the drawn ones need a larger block than before.

ticket: practice
class: pool-growth
holder:
cause: outgrown-blocks pool-never-trims
"""

import os
import random
import time

import torch
from torch import nn

FEATURES = 16


class Generator(nn.Module):
    def __init__(self, noise=32):
        super().__init__()
        self.noise = noise
        self.net = nn.Sequential(nn.Linear(noise, 256), nn.ReLU(), nn.Linear(256, 3 * 16 * 16), nn.Sigmoid())

    def forward(self, amount):
        device = self.net[0].weight.device
        return self.net(torch.randn(amount, self.noise, device=device)).view(amount, 3, 16, 16)


class Coverage:
    """Where the drawn pictures lie, and how much of the real ones is near them."""

    def __init__(self, eye, real, device):
        self.eye, self.device, self.drawn = eye, device, []
        self.real = eye(real)

    @torch.no_grad()
    def add(self, pictures):
        self.drawn.append(self.eye(pictures).cpu())

    @torch.no_grad()
    def measure(self, neighbour=4):
        drawn = torch.cat(self.drawn).to(self.device)
        radius = torch.cdist(drawn, drawn).kthvalue(neighbour, 1).values  # grows
        near = torch.cdist(self.real, drawn) < radius
        return len(drawn), float(near.any(1).float().mean()), float(radius.mean())


def real_pictures(amount, device):
    """Soft spots of a colour, somewhere."""
    place = torch.rand(amount, 2, 1, 1, device=device)
    grid = torch.linspace(0, 1, 16, device=device)
    far = (grid[None, :, None] - place[:, 0]) ** 2 + (grid[None, None, :] - place[:, 1]) ** 2
    return torch.exp(-far * 20)[:, None] * torch.rand(amount, 3, 1, 1, device=device)


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    generator = Generator().to(device)
    critic = nn.Sequential(nn.Flatten(), nn.Linear(768, 256), nn.LeakyReLU(0.2), nn.Linear(256, 1)).to(device)
    eye = nn.Sequential(nn.Flatten(), nn.Linear(768, 128), nn.Tanh(), nn.Linear(128, FEATURES)).to(device)
    eye.requires_grad_(False)
    coverage = Coverage(eye, real_pictures(256, device), device)
    with torch.no_grad():
        for _ in range(20):
            coverage.add(generator(100))
    of_generator = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.9))
    of_critic = torch.optim.Adam(critic.parameters(), lr=2e-4, betas=(0.5, 0.9))
    step, due = 0, random.randint(12, 20)
    while time.time() < end:
        amount = random.choice((32, 48, 64))
        drawn = generator(amount)
        loss = (torch.relu(1 - critic(real_pictures(amount, device))) + torch.relu(1 + critic(drawn.detach()))).mean()
        of_critic.zero_grad()
        loss.backward()
        of_critic.step()
        of_generator.zero_grad()
        (-critic(drawn).mean()).backward()
        of_generator.step()
        step += 1
        if step == due:
            coverage.add(generator(random.randint(50, 80)))
            amount, covered, radius = coverage.measure()
            due = step + random.randint(12, 20)
            print("step", step, "drawn", amount, "covered", round(covered, 3), "radius", round(radius, 3), flush=True)
        time.sleep(random.uniform(0.04, 0.08))


if __name__ == "__main__":
    main()
