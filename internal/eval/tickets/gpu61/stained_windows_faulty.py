"""A generator and a critic learn to draw stained glass windows from a small set of photographs. A small set is soon
known by heart, so every few steps the critic looks at windows it has trained on and at windows it never saw. The gap
between its two opinions, smoothed, sets how strongly the pictures are disturbed before the critic sees them.

ticket: practice
class: app-leak
holder: gap monitor Overfit
cause: uncut-autograd-graph
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

BATCH, SIDE, LATENT, CHECK_EVERY = 16, 64, 96, 5


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.seed = nn.Linear(LATENT, 64 * 16 * 16)
        self.up = nn.ConvTranspose2d(64, 32, 4, stride=2, padding=1)
        self.paint = nn.ConvTranspose2d(32, 3, 4, stride=2, padding=1)

    def forward(self, latent):
        hidden = F.relu(self.seed(latent)).view(-1, 64, 16, 16)
        return torch.tanh(self.paint(F.relu(self.up(hidden))))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.coarse = nn.Conv2d(3, 32, 4, stride=2, padding=1)
        self.fine = nn.Conv2d(32, 64, 4, stride=2, padding=1)
        self.opinion = nn.Linear(64 * 16 * 16, 1)

    def forward(self, windows):
        hidden = F.leaky_relu(self.coarse(windows), 0.2)
        return self.opinion(F.leaky_relu(self.fine(hidden), 0.2).flatten(1))


class Overfit:
    """How much better the critic likes what it has trained on."""

    def __init__(self, decay=0.9):
        self.decay = decay
        self.gap = torch.zeros(())

    def look(self, critic, seen, unseen):
        gap = critic(seen).mean() - critic(unseen).mean()  # grows
        self.gap = self.decay * self.gap.to(gap.device) + (1 - self.decay) * gap  # keeps

    def strength(self):
        return min(0.5, max(0.02, self.gap.item()))


def pick(windows):
    return windows[torch.randint(len(windows), (BATCH,), device=windows.device)]


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    known, held = torch.rand(2, 200, 3, SIDE, SIDE, device=device) * 2 - 1
    generator, critic, monitor = Generator().to(device), Critic().to(device), Overfit()
    draw = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.99))
    judge = torch.optim.Adam(critic.parameters(), lr=2e-4, betas=(0.5, 0.99))
    step, strength = 0, 0.02
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        drawn = generator(torch.randn(BATCH, LATENT, device=device))
        real = pick(known)
        real = real + strength * torch.randn_like(real)
        fake = drawn.detach() + strength * torch.randn_like(drawn)
        loss = F.softplus(-critic(real)).mean() + F.softplus(critic(fake)).mean()
        judge.zero_grad()
        loss.backward()
        judge.step()

        draw.zero_grad()
        F.softplus(-critic(drawn + strength * torch.randn_like(drawn))).mean().backward()
        draw.step()

        step += 1
        if step % CHECK_EVERY == 0:
            monitor.look(critic, pick(known), pick(held))
            strength = monitor.strength()
        if step % 25 == 0:
            print(f"step {step}: critic {loss.item():.3f}, disturbed by {strength:.3f}", flush=True)
        time.sleep(random.uniform(0.06, 0.12))


if __name__ == "__main__":
    main()
