"""A bridge inspector's network marks rust on pictures of girders. It is trained on synthetic rust, and after each short
stretch of training the area under the ROC curve over all pixels of two test batches is printed.

ticket: practice
class: none
"""

import os
import time

import torch
from torch import nn
from torch.nn import functional as F
from torchmetrics.classification import BinaryAUROC

SIDE, BATCH, TRAINED, TESTED = 160, 4, 8, 2


class Spotter(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1))
        self.up = nn.ConvTranspose2d(16, 1, 2, stride=2)

    def forward(self, pictures):
        return self.up(F.relu(self.down(pictures)))[:, 0]


def girders(device):
    """Grey steel with brown blots, and where these are."""
    blots = F.interpolate(torch.rand(BATCH, 1, 10, 10, device=device), SIDE, mode="bilinear", align_corners=False)
    rust = (blots > 0.7).float()
    tint = torch.tensor([0.25, -0.05, -0.2], device=device).view(1, 3, 1, 1)
    steel = 0.5 + 0.15 * torch.randn(BATCH, 3, SIDE, SIDE, device=device)
    return steel + rust * tint, rust[:, 0].long()


class Trainer:
    def __init__(self, device):
        self.device, self.model = device, Spotter().to(device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.area = BinaryAUROC().to(device)

    def train(self):
        self.model.train()
        for _ in range(TRAINED):
            pictures, rust = girders(self.device)
            loss = F.binary_cross_entropy_with_logits(self.model(pictures), rust.float())
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            time.sleep(0.06)
        return loss.item()

    @torch.no_grad()
    def test(self):
        self.model.eval()
        for _ in range(TESTED):
            pictures, rust = girders(self.device)
            self.area.update(torch.sigmoid(self.model(pictures)), rust)
        area = self.area.compute().item()
        self.area.reset()
        return area


def main():
    torch.set_num_threads(1)
    torch.manual_seed(4)
    trainer, stretch = Trainer("cuda" if torch.cuda.is_available() else "cpu"), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        loss, stretch = trainer.train(), stretch + 1
        print(f"stretch {stretch}: loss {loss:.3f}, area {trainer.test():.3f}", flush=True)


if __name__ == "__main__":
    main()
