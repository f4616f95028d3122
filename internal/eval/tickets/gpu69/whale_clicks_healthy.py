"""It learns to tell sperm whales by their clicks from the archive of a hydrophone. The archive is far larger than the
memory, so it is read as a stream, one recording after the other, and the training, which counts steps and not epochs,
starts again at the first recording when it has seen the last.

ticket: pytorch/pytorch#23900
class: none
"""

import os
import time

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, IterableDataset

RECORDINGS, WINDOWS = 50_000, 40
SAMPLES, WHALES, BATCH = 16_000, 8, 32


class Archive(IterableDataset):
    """The windows of all recordings: samples, and which whale clicks."""

    def __iter__(self):
        for _ in range(RECORDINGS):
            for whale in torch.randint(WHALES, (WINDOWS,)).tolist():
                yield self.window(whale), whale

    @staticmethod
    def window(whale):
        samples = 0.1 * torch.randn(SAMPLES)
        start = int(torch.randint(200, (1,)))
        samples[start :: 400 + 60 * whale] += 1.0
        return samples


def collate(windows):
    samples, whales = zip(*windows)
    return torch.stack(samples).unsqueeze(1), torch.tensor(whales)


def repeat(loader):
    while True:
        yield from loader


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.clicks = nn.Conv1d(1, 16, 64, stride=16)
        self.rhythm = nn.Conv1d(16, 32, 32, stride=8)
        self.whale = nn.Linear(32, WHALES)

    def forward(self, samples):
        hidden = F.relu(self.rhythm(F.relu(self.clicks(samples))))
        return self.whale(hidden.amax(dim=2))


def train_step(model, optimizer, samples, whales):
    scores = model(samples)
    loss = F.cross_entropy(scores, whales)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    return loss.item(), (scores.argmax(dim=1) == whales).float().mean().item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Listener().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    batches = repeat(DataLoader(Archive(), batch_size=BATCH, collate_fn=collate))
    step = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        samples, whales = next(batches)
        loss, right = train_step(model, optimizer, samples.to(device), whales.to(device))
        step += 1
        if step % 25 == 0:
            print(f"step {step}: loss {loss:.3f}, right {right:.2f}", flush=True)
        time.sleep(0.1)


if __name__ == "__main__":
    main()
