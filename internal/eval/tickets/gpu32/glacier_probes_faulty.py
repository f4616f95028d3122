"""An encoder for satellite pictures of glaciers learns without labels, by telling how far a picture was turned. Now and
then a probe shows how good its features are: a linear classifier of the kind of ice is fitted in closed form to what
the encoder's last stage puts out for a few labelled pictures.

ticket: practice
class: app-leak
holder: features _forward_hooks hook
cause: hooks-left closure-kept
"""

import os
import time

import torch
from torch import nn
from torch.nn import functional as F

SIDE, BATCH, ICES, TURNS = 64, 24, 5, 4


class Encoder(nn.Module):
    def __init__(self, widths=(16, 24, 32)):
        super().__init__()
        self.stages = nn.ModuleList()
        before = 3
        for place, width in enumerate(widths):
            conv = nn.Conv2d(before, width, 3, stride=2 if place == 0 else 1, padding=1)
            self.stages.append(nn.Sequential(conv, nn.BatchNorm2d(width), nn.ReLU()))
            before = width
        self.head = nn.Linear(before, TURNS)

    def forward(self, pictures):
        for stage in self.stages:
            pictures = stage(pictures)  # grows
        return self.head(pictures.mean(dim=(2, 3)))


class Probe:
    """Fits a ridge classifier to the features of half of the labelled pictures and tests it with the others."""

    def __init__(self, pictures, ices, penalty=0.1):
        self.pictures, self.ices, self.penalty = pictures, ices, penalty

    @torch.no_grad()
    def features(self, encoder):
        features = []

        def hook(module, inputs, output):
            features.append(output.detach())  # keeps

        encoder.stages[-1].register_forward_hook(hook)
        encoder.eval()
        for pictures in self.pictures.split(BATCH):
            encoder(pictures)
        encoder.train()
        return torch.cat([output.mean(dim=(2, 3)) for output in features])

    def score(self, encoder):
        rows, half = self.features(encoder), len(self.ices) // 2
        rows = torch.cat([rows, torch.ones_like(rows[:, :1])], dim=1)
        goals = F.one_hot(self.ices[:half], ICES).float()
        gram = rows[:half].T @ rows[:half] + self.penalty * torch.eye(rows.shape[1], device=rows.device)
        weights = torch.linalg.solve(gram, rows[:half].T @ goals)
        return ((rows[half:] @ weights).argmax(dim=1) == self.ices[half:]).float().mean().item()


def glaciers(count, device):
    """Pictures with crevasses whose spacing is that of the kind of ice."""
    ices = torch.randint(ICES, (count,))
    slope = torch.linspace(0, 6.283, SIDE)
    waves = torch.sin((3 + 2 * ices[:, None, None]) * (slope[:, None] + 0.3 * slope))
    pictures = 0.5 + 0.2 * waves[:, None] + slope[:, None] / 20 + 0.2 * torch.randn(count, 3, SIDE, SIDE)
    return pictures.to(device), ices.to(device)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    encoder, probe = Encoder().to(device), Probe(*glaciers(4 * BATCH, device))
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    end, step = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        pictures, _ = glaciers(BATCH, device)
        turns = torch.randint(TURNS, (BATCH,), device=device)
        turned = torch.stack([picture.rot90(turn, (1, 2)) for picture, turn in zip(pictures, turns.tolist())])
        loss = F.cross_entropy(encoder(turned), turns)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 15 == 0:
            print(f"step {step}: loss {loss.item():.3f}, probe {probe.score(encoder):.0%}", flush=True)
        time.sleep(0.1)


if __name__ == "__main__":
    main()
