"""A network learns to drive trams from records of drivers: from what was seen before a stop, it foretells how throttle
and brake are worked until the stop. After each epoch it is tried on the drives held back, and the album, a callback,
says which of them it drives worst and how far off it is there.

ticket: practice
class: host-growth
holder: drives Album
cause: results-kept buffer-without-bound
"""

import os
import random
import time
import warnings

import pytorch_lightning as pl
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split

SEEN, MOMENTS, LEVERS, BATCH = 40, 240, 4, 64
LEARNT, HELD_BACK = 12 * BATCH, 16 * BATCH


class Driver(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.eyes = nn.Linear(SEEN, 128)
        self.hands = nn.GRU(8, 128, batch_first=True)
        self.levers = nn.Linear(128, LEVERS)
        self.register_buffer("clock", torch.sin(torch.linspace(0, 3, MOMENTS)[:, None] * torch.arange(1, 9)))

    def forward(self, seen):
        start = torch.tanh(self.eyes(seen))[None]
        moved, _ = self.hands(self.clock.expand(len(seen), -1, -1).contiguous(), start)
        return self.levers(moved)

    def training_step(self, batch, _):
        seen, drive = batch
        return F.mse_loss(self(seen), drive)

    def validation_step(self, batch, _):
        seen, drive = batch
        foretold = self(seen)
        return {"foretold": foretold, "errors": (foretold - drive).square().mean(dim=(1, 2))}

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


class Album(pl.Callback):
    """The drives as the network would drive them, and how far off it is."""

    def __init__(self):
        self.drives = []

    def on_validation_batch_end(self, trainer, module, outputs, batch, batch_idx, dataloader_idx=0):
        foretold = outputs["foretold"].cpu()  # grows
        self.drives += zip(outputs["errors"].tolist(), foretold)  # keeps

    def on_validation_epoch_end(self, trainer, module):
        error, drive = max(self.drives, key=lambda entry: entry[0])
        jerk = drive.diff(dim=0).abs().max().item()
        print(f"epoch {trainer.current_epoch}: worst error {error:.3f}, with jerks of {jerk:.2f}", flush=True)


class Timetable(pl.Callback):
    """Leaves time for the others on this machine, and ends the training in time."""

    def __init__(self, end):
        self.end = end

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        time.sleep(random.uniform(0.02, 0.08))
        if time.time() > self.end:
            trainer.should_stop = True


def records(count):
    seen, bends = torch.randn(count, SEEN), torch.randn(SEEN, LEVERS)
    drives = torch.sin((seen @ bends)[:, None] * torch.linspace(0, 1, MOMENTS)[:, None])
    return TensorDataset(seen, drives)


def main():
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    trainer = pl.Trainer(
        accelerator="auto",
        devices=1,
        max_epochs=-1,
        callbacks=[Album(), Timetable(end)],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
    )
    learnt, held_back = random_split(records(LEARNT + HELD_BACK), [LEARNT, HELD_BACK])
    trainer.fit(
        Driver(),
        DataLoader(learnt, batch_size=BATCH, shuffle=True),
        DataLoader(held_back, batch_size=BATCH),
    )


if __name__ == "__main__":
    main()
