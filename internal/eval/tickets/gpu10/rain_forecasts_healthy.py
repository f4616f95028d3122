"""A convolutional network learns to forecast rain from the radar pictures before. After each epoch it is validated, and
a record of the epoch goes into the history, of which the best one is looked for. A record is made of plain numbers.

ticket: practice
class: none
"""

import dataclasses
import os
import random
import time

import torch
from torch import nn

SIZE, PAST = 48, 4


@dataclasses.dataclass
class EpochRecord:
    """What is known of an epoch."""

    epoch: int
    train_loss: float
    val_loss: float
    seconds: float


def radar(batch, device):
    """Pictures of showers that drift with the wind: some of the past, and the one to be forecast."""
    line = torch.arange(SIZE, device=device, dtype=torch.float32)
    place = torch.rand(batch, 5, 2, device=device) * SIZE
    wind = torch.randn(batch, 1, 2, device=device) * 2
    width = 3 + 5 * torch.rand(batch, 5, 1, 1, device=device)
    frames = []
    for hour in range(PAST + 1):
        at = place + hour * wind
        far = (line - at[..., :1])[:, :, None].square() + (line - at[..., 1:])[..., None].square()
        frames.append(torch.exp(-far / (2 * width * width)).sum(1))
    frames = torch.stack(frames, 1)
    return frames[:, :PAST], frames[:, PAST:]


class Nowcast(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(PAST, width, 5, padding=2), nn.GELU(), nn.Conv2d(width, width, 3, 2, 1))
        self.middle = nn.Sequential(nn.GELU(), nn.Conv2d(width, width, 3, padding=1), nn.GroupNorm(4, width), nn.GELU())
        self.up = nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(width, 1, 3, padding=1))

    def forward(self, past):
        return past[:, -1:] + self.up(self.middle(self.down(past)))


def train_epoch(model, optimizer, device):
    model.train()
    total, steps = 0.0, random.randint(9, 15)
    for _ in range(steps):
        past, target = radar(8, device)
        loss = nn.functional.l1_loss(model(past), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        time.sleep(random.uniform(0.02, 0.06))
    return total / steps


@torch.no_grad()
def validate(model, batches):
    model.eval()
    loss = 0.0
    for past, target in batches:
        loss += nn.functional.l1_loss(model(past), target).item()
    return loss / len(batches)


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Nowcast().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    batches, history = [radar(4, device) for _ in range(2)], []
    while time.time() < end:
        start = time.time()
        train_loss = train_epoch(model, optimizer, device)
        record = EpochRecord(len(history), train_loss, validate(model, batches), time.time() - start)
        history.append(record)
        if len(history) % 5 == 0:
            best = min(history, key=lambda record: record.val_loss)
            print(f"epoch {record.epoch} train {record.train_loss:.4f} val {record.val_loss:.4f}",
                  f"best {best.val_loss:.4f} in epoch {best.epoch}", flush=True)


if __name__ == "__main__":
    main()
