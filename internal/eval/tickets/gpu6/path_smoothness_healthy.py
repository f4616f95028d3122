"""A generator is trained; every few seconds the smoothness of its latent space is evaluated, without gradients, and a
running mean of it is kept on the device.

ticket: practice
class: none
"""

import argparse
import os
import random
import time

import torch
from torch import nn


class Generator(nn.Module):
    def __init__(self, latent=64):
        super().__init__()
        self.start = nn.Linear(latent, 64 * 8 * 8)
        self.ups = nn.ModuleList(nn.Conv2d(a, b, 3, padding=1) for a, b in ((64, 48), (48, 32), (32, 16)))
        self.rgb = nn.Conv2d(16, 3, 1)

    def forward(self, z):
        x = self.start(z).view(-1, 64, 8, 8)
        for conv in self.ups:
            x = nn.functional.leaky_relu(conv(nn.functional.interpolate(x, scale_factor=2)), 0.2)
        return torch.tanh(self.rgb(x))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 16, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(16, 32, 4, 2, 1),
                                  nn.LeakyReLU(0.2), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(512, 1))

    def forward(self, x):
        return self.body(x)[:, 0]


class GanTrainer:
    def __init__(self, options, device):
        self.options, self.device, self.steps = options, device, 0
        self.generator, self.critic = Generator().to(device), Critic().to(device)
        self.g_optim = torch.optim.Adam(self.generator.parameters(), 1e-4, betas=(0.0, 0.99))
        self.d_optim = torch.optim.Adam(self.critic.parameters(), 1e-4, betas=(0.0, 0.99))
        self.smoothness = torch.zeros((), device=device)

    def step(self, real):
        z = torch.randn(len(real), 64, device=self.device)
        fake = self.generator(z)
        wrong, right = self.critic(fake.detach()), -self.critic(real)
        d_loss = (nn.functional.softplus(wrong) + nn.functional.softplus(right)).mean()
        self.d_optim.zero_grad()
        d_loss.backward()
        self.d_optim.step()
        g_loss = nn.functional.softplus(-self.critic(fake)).mean()
        self.g_optim.zero_grad()
        g_loss.backward()
        self.g_optim.step()
        self.steps += 1

    @torch.no_grad()
    def evaluate(self, epsilon=1e-2):
        self.generator.eval()
        for _ in range(random.randint(3, 6)):
            a, b = torch.randn(2, 4, 64, device=self.device)
            t = torch.rand(4, 1, device=self.device)
            first, second = (self.generator(torch.lerp(a, b, at)) for at in (t, t + epsilon))
            distance = (first - second).square().mean() / epsilon ** 2
            self.smoothness = self.smoothness + 0.05 * (distance - self.smoothness)
        self.generator.train()
        print(f"step {self.steps}: smoothness {self.smoothness.item():.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--every", type=float, default=4.0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    trainer = GanTrainer(options, "cuda" if torch.cuda.is_available() else "cpu")
    due = time.time() + 2
    while time.time() < end:
        trainer.step(torch.rand(options.batch, 3, 64, 64, device=trainer.device) * 2 - 1)
        time.sleep(0.1)
        if time.time() > due:
            trainer.evaluate()
            due = time.time() + options.every * random.uniform(0.7, 1.3)


if __name__ == "__main__":
    main()
