"""A network learns which land is field, wood, water, town or bare, from tiles of satellite pictures. An evaluator
gathers what the network says of held-out tiles, and works out scores from it. There is one evaluator for the whole
training; it is reset before each evaluation.

ticket: practice
class: none
"""

import os
import random
import time

import numpy as np
import torch
from torch import nn

KINDS = ("field", "wood", "water", "town", "bare")
SIZE, BANDS = 96, 6


class Land:
    """Tiles with soft borders between the kinds of land, seen in some bands."""

    def __init__(self, device):
        self.device, self.colour = device, torch.rand(len(KINDS), BANDS, device=device)

    def tiles(self, count):
        coarse = torch.randn(count, len(KINDS), 7, 7, device=self.device)
        labels = nn.functional.interpolate(coarse, SIZE, mode="bicubic", align_corners=False).argmax(1)
        seen = self.colour[labels].permute(0, 3, 1, 2)
        return seen + 0.3 * torch.randn_like(seen), labels


class Evaluator:
    """Scores of a network over all tiles that it has been asked about."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.predictions, self.labels = [], []

    def update(self, logits, labels):
        probabilities = logits.softmax(1).cpu().numpy()
        self.predictions.append(probabilities)
        self.labels.append(labels.cpu().numpy().astype(np.uint8))

    def compute(self):
        counts, sure, right, pixels = np.zeros((len(KINDS), len(KINDS))), 0.0, 0, 0
        for probabilities, labels in zip(self.predictions, self.labels):
            said = probabilities.argmax(1)
            pairs = labels.astype(np.int64) * len(KINDS) + said
            counts += np.bincount(pairs.ravel(), minlength=counts.size).reshape(counts.shape)
            sure += probabilities.max(1).sum(dtype=np.float64)
            right += int((said == labels).sum())
            pixels += labels.size
        common = np.diag(counts)
        overlap = common / np.maximum(counts.sum(0) + counts.sum(1) - common, 1)
        return {"miou": overlap.mean(), "worst": KINDS[int(overlap.argmin())], "overconfident": (sure - right) / pixels}


@torch.no_grad()
def evaluate(model, evaluator, land, batches):
    model.eval()
    evaluator.reset()
    for _ in range(batches):
        tiles, labels = land.tiles(4)
        evaluator.update(model(tiles), labels)
        time.sleep(random.uniform(0, 0.03))
    model.train()
    return evaluator.compute()


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = nn.Sequential(nn.Conv2d(BANDS, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
                          nn.Conv2d(16, 16, 3, padding=2, dilation=2), nn.BatchNorm2d(16), nn.ReLU(),
                          nn.Conv2d(16, len(KINDS), 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    land, evaluator, step = Land(device), Evaluator(), 0
    while time.time() < end:
        tiles, labels = land.tiles(random.choice((4, 6)))
        loss = nn.functional.cross_entropy(model(tiles), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 12 == 0:
            scores = evaluate(model, evaluator, land, random.randint(6, 10))
            print(f"step {step} loss {float(loss):.3f} miou {scores['miou']:.3f} worst {scores['worst']}",
                  f"overconfident {scores['overconfident']:.3f}", flush=True)
        time.sleep(random.uniform(0.02, 0.08))


if __name__ == "__main__":
    main()
