"""Microphones in a forest record owls. A convolutional network learns which of eight owls calls in a clip. After every
few steps it is scored on held-out clips; when their smoothed loss no longer falls, the learning rate is halved, and
after the last halving the last layer starts afresh.

ticket: practice
class: app-leak
holder: smoothed EarlyStopping stopper
cause: uncut-autograd-graph
"""

import os
import time

import torch
from torch import nn
from torch.nn import functional as F

OWLS, SAMPLES, BATCH = 8, 8_000, 16


class OwlNet(nn.Module):
    def __init__(self):
        super().__init__()
        layers, width = [], 1
        for wider in (16, 32, 48):
            layers += [nn.Conv1d(width, wider, 9, stride=4, padding=4), nn.BatchNorm1d(wider), nn.ReLU()]
            width = wider
        self.layers = nn.Sequential(*layers)
        self.head = nn.Linear(width, OWLS)

    def forward(self, waves):
        hidden = self.layers(waves[:, None])  # grows
        return self.head(hidden.mean(dim=2))


class EarlyStopping:
    """Watches the smoothed validation loss and says when it has not improved for some evaluations."""

    def __init__(self, patience=4, smoothing=0.7, margin=1e-3):
        self.patience, self.smoothing, self.margin = patience, smoothing, margin
        self.smoothed, self.best, self.waited = None, float("inf"), 0

    def update(self, loss):
        if self.smoothed is None:
            self.smoothed = loss
        else:
            self.smoothed = self.smoothing * self.smoothed + (1 - self.smoothing) * loss  # keeps
        if self.smoothed < self.best - self.margin:
            self.best, self.waited = self.smoothed.item(), 0
        else:
            self.waited += 1
        if self.waited < self.patience:
            return False
        self.waited = 0
        return True


def clips(count, device):
    """Calls of random owls: each has its own pitch and rhythm, and the wind blows."""
    owls = torch.randint(OWLS, (count,))
    seconds = torch.arange(SAMPLES) / SAMPLES
    pitch, rhythm = 200 + 60 * owls[:, None], 2 + owls[:, None] % 3
    waves = torch.sin(6.283 * pitch * seconds) * torch.sin(3.142 * rhythm * seconds).abs()
    return (waves + 2 * torch.randn(count, SAMPLES)).to(device), owls.to(device)


def evaluate(model, batches):
    model.eval()
    losses, right = [], 0
    for waves, owls in batches:
        logits = model(waves)
        losses.append(F.cross_entropy(logits, owls))
        right += (logits.argmax(dim=1) == owls).sum().item()
    model.train()
    return torch.stack(losses).mean(), right / (BATCH * len(batches))


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, stopper = OwlNet().to(device), EarlyStopping()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    held_out = [clips(BATCH, device) for _ in range(4)]
    end, step = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        waves, owls = clips(BATCH, device)
        loss = F.cross_entropy(model(waves), owls)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 12 == 0:
            validation_loss, accuracy = evaluate(model, held_out)
            held = f"{validation_loss.item():.3f}, {accuracy:.0%} right"
            print(f"step {step}: loss {loss.item():.3f}, held out {held}", flush=True)
            if stopper.update(validation_loss):
                for group in optimizer.param_groups:
                    group["lr"] = group["lr"] / 2 if group["lr"] > 1e-4 else 3e-3
                if group["lr"] == 3e-3:
                    model.head.reset_parameters()
        time.sleep(0.06)


if __name__ == "__main__":
    main()
