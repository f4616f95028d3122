"""Sound recorders stand in meadows; a network tells from the spectrum of each second which of forty animals are heard.
How good it is is followed while it learns: the average precision of each batch, and at the end of an epoch that of the
epoch, after which the metric starts anew. Calling a metric of torchmetrics gives the value of the batch and counts it
in for compute(), in one go.

ticket: Lightning-AI/torchmetrics#3294
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torchmetrics.classification import MultilabelAveragePrecision

ANIMALS, BANDS, WIDTH = 40, 128, 256
SECONDS_IN_BATCH = (3072, 4096, 5120)


class Listener(nn.Module):
    """Which animals are heard in a second of sound."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(BANDS, WIDTH), nn.GELU(), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH),
                                    nn.GELU(), nn.Linear(WIDTH, ANIMALS))

    def forward(self, spectra):
        return self.layers(spectra)


class Meadow:
    """An animal has some bands of its own; there is wind in the low ones."""

    def __init__(self, device):
        self.device = device
        self.voices = (torch.rand(ANIMALS, BANDS, device=device) < 0.06).float() * 2
        self.wind = torch.linspace(1.5, 0.3, BANDS, device=device)

    def recording(self, seconds):
        heard = (torch.rand(seconds, ANIMALS, device=self.device) < 0.08).long()
        spectra = heard.float() @ self.voices
        return spectra + self.wind * torch.randn(seconds, BANDS, device=self.device).abs(), heard


class Training:
    def __init__(self, device):
        self.meadow, self.listener = Meadow(device), Listener().to(device)
        self.optimizer = torch.optim.AdamW(self.listener.parameters(), lr=2e-3)
        self.loss = nn.BCEWithLogitsLoss()
        self.precision = MultilabelAveragePrecision(num_labels=ANIMALS).to(device)

    def step(self):
        spectra, heard = self.meadow.recording(random.choice(SECONDS_IN_BATCH))
        scores = self.listener(spectra)
        loss = self.loss(scores, heard.float())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        precision = self.precision(scores.detach(), heard)
        return loss.item(), precision.item()

    def epoch(self, end):
        for step in range(random.choice((10, 12, 14))):
            loss, precision = self.step()
            if step % 5 == 0:
                print("  loss", round(loss, 4), "precision of the batch", round(precision, 3), flush=True)
            time.sleep(random.uniform(0.05, 0.25))
            if time.time() > end:
                break
        precision = self.precision.compute().item()
        self.precision.reset()
        return precision


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    end, epochs = time.time() + float(os.environ.get("SECONDS", "45")), 0
    training = Training(device)
    while time.time() < end:
        precision = training.epoch(end)
        epochs += 1
        print("epoch", epochs, "average precision", round(precision, 3), flush=True)


if __name__ == "__main__":
    main()
