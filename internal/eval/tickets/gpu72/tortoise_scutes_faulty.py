"""Tells tortoise species by a photograph of one scute, with few labels. In each round of self-training the model labels
a heap of new photographs, and the half it is surest of is laid beside the labelled photographs, for the next round of
training to draw from.

ticket: practice
class: app-leak
holder: training_set datasets ConcatDataset
cause: buffer-without-bound entries-left
"""

import os
import time

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import ConcatDataset, DataLoader, RandomSampler, TensorDataset

SPECIES, SIDE, LABELLED, UNLABELLED = 9, 48, 240, 320
BATCH, BATCHES = 24, 6


class ScuteNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 12, 5, stride=3), nn.ReLU(),
            nn.Conv2d(12, 24, 3, stride=2), nn.ReLU(),
            nn.AdaptiveAvgPool2d(2), nn.Flatten(),
        )
        self.classify = nn.Linear(96, SPECIES)

    def forward(self, photos):
        return self.classify(self.features(photos))


def photographs(count, device):
    """New photographs from the reserve's cameras, and the species on them."""
    species = torch.randint(SPECIES, (count,), device=device)
    tint = torch.linspace(0.0, 1.0, SPECIES, device=device)[species]
    photos = 0.5 * torch.rand(count, 3, SIDE, SIDE, device=device)
    photos[:, 0] += 0.5 * tint[:, None, None]
    return photos, species


@torch.no_grad()
def guess_labels(model, photos):
    """The photographs that the model is surest of, with the species it sees."""
    sureness, species = F.softmax(model(photos), dim=1).max(dim=1)
    surest = sureness.topk(len(photos) // 2).indices
    return TensorDataset(photos[surest], species[surest])  # grows


def train(model, optimizer, dataset):
    """A few batches, drawn at random from the data set; returns the mean loss."""
    sampler = RandomSampler(dataset, replacement=True, num_samples=BATCH * BATCHES)
    total = 0.0
    for photos, species in DataLoader(dataset, batch_size=BATCH, sampler=sampler):
        loss = F.cross_entropy(model(photos), species, label_smoothing=0.1)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / BATCHES


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = ScuteNet().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    labelled = TensorDataset(*photographs(LABELLED, device))
    training_set, rounds = labelled, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        loss = train(model, optimizer, training_set)
        photos, species = photographs(UNLABELLED, device)
        guesses = guess_labels(model, photos)
        training_set = ConcatDataset([training_set, guesses])  # keeps
        rounds += 1
        if rounds % 5 == 0:
            with torch.no_grad():
                right = (model(photos).argmax(1) == species).float().mean().item()
            print(f"round {rounds}: loss {loss:.3f}, right {right:.2f}", flush=True)
        time.sleep(0.15)


if __name__ == "__main__":
    main()
