"""Tells the whistles of otters apart by kind. Recordings that the model finds hard are drawn more often: after each
short epoch some recordings are scored again, and the smoothed difficulty of each is the weight that it is drawn with.

ticket: practice
class: app-leak
holder: smoothed difficulty Difficulty
cause: uncut-autograd-graph
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler

RECORDINGS, KINDS, MELS, FRAMES = 240, 6, 64, 160
EPOCH, BATCH, SCORED = 48, 12, 16


class Whistles(Dataset):
    """Spectrograms with a tone that rises or falls as the kind of the whistle wants it."""

    def __len__(self):
        return RECORDINGS

    def __getitem__(self, index):
        kind = index % KINDS
        sound = 0.3 * torch.rand(1, MELS, FRAMES)
        start, slope = random.randrange(8, 24), 0.04 * (kind + 1)
        for frame in range(random.randrange(20), FRAMES):
            sound[0, int(start + slope * frame) % MELS, frame] += 1.0
        return sound, kind, index


class Difficulty:
    def __init__(self, count, device):
        self.smoothed = [torch.ones((), device=device) for _ in range(count)]

    def note(self, indices, losses):
        for index, loss in zip(indices.tolist(), losses):
            self.smoothed[index] = 0.8 * self.smoothed[index] + 0.2 * loss  # keeps

    def weights(self):
        return torch.stack(self.smoothed).detach().cpu().double() + 0.1


def whistle_model():
    return nn.Sequential(
        nn.Conv2d(1, 8, 5, padding=2), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(512, KINDS),
    )


def train(model, optimizer, loader, device):
    model.train()
    mean = 0.0
    for sounds, kinds, _ in loader:
        loss = F.cross_entropy(model(sounds.to(device)), kinds.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean += loss.item() / len(loader)
        time.sleep(0.02)
    return mean


def score(model, whistles, difficulty, device):
    """Scores some recordings, each of which is as likely as any other."""
    model.eval()
    chosen = random.sample(range(RECORDINGS), SCORED)
    sounds, kinds, indices = next(iter(DataLoader(whistles, batch_size=SCORED, sampler=chosen)))
    losses = F.cross_entropy(model(sounds.to(device)), kinds.to(device), reduction="none")  # grows
    difficulty.note(indices, losses)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    whistles, difficulty = Whistles(), Difficulty(RECORDINGS, device)
    model = whistle_model().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    epoch = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        sampler = WeightedRandomSampler(difficulty.weights(), EPOCH)
        loss = train(model, optimizer, DataLoader(whistles, batch_size=BATCH, sampler=sampler), device)
        score(model, whistles, difficulty, device)
        epoch += 1
        if epoch % 5 == 0:
            hardest = int(difficulty.weights().argmax())
            print(f"epoch {epoch}: loss {loss:.3f}, recording {hardest} is the hardest", flush=True)
        time.sleep(0.3)


if __name__ == "__main__":
    main()
