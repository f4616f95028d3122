"""Learns to tell the stamps that potters pressed into their tiles. After each epoch the held-out stamps are embedded,
and a callback prints how far their features have moved since the epoch before: when they rest, training may stop.

ticket: practice
class: app-leak
holder: features Drift callbacks
cause: snapshots-kept results-kept entries-left
"""

import os
import time
from collections import defaultdict

import pytorch_lightning as pl
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

POTTERS, SIDE, BATCH = 20, 32, 64


class Stamps(Dataset):
    """Batches of stamps, each a potter's pattern that is worn and shifted."""

    def __init__(self, batches, seconds):
        self.batches, self.seconds = batches, seconds
        self.patterns = torch.rand(POTTERS, 1, SIDE, SIDE, generator=torch.Generator().manual_seed(7))

    def __len__(self):
        return self.batches

    def __getitem__(self, index):
        time.sleep(self.seconds)
        noise = torch.Generator().manual_seed(index)
        potters = torch.randint(POTTERS, (BATCH,), generator=noise)
        images = self.patterns[potters] + 0.3 * torch.randn(BATCH, 1, SIDE, SIDE, generator=noise)
        return torch.roll(images, index % 5, dims=3), potters


class StampNet(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 32, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(32, 96, 3, stride=2, padding=1), nn.ReLU()
        )
        self.head = nn.Linear(96, POTTERS)

    def training_step(self, batch, index):
        images, potters = batch
        return F.cross_entropy(self.head(self.body(images).mean(dim=(2, 3))), potters)

    def validation_step(self, batch, index):
        images, potters = batch
        features = self.body(images)  # grows
        return {"features": features, "loss": F.cross_entropy(self.head(features.mean(dim=(2, 3))), potters)}

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


class Drift(pl.Callback):
    def __init__(self, end):
        self.end = end
        self.features = defaultdict(list)

    def on_validation_batch_end(self, trainer, module, outputs, batch, batch_idx, dataloader_idx=0):
        self.features[trainer.current_epoch].append(outputs["features"])  # keeps

    def on_validation_epoch_end(self, trainer, module):
        epoch = trainer.current_epoch
        if epoch - 1 in self.features:
            pairs = zip(self.features[epoch], self.features[epoch - 1])
            moved = sum((now - before).norm().item() / before.norm().item() for now, before in pairs)
            print(f"epoch {epoch}: features moved by {moved / len(self.features[epoch]):.4f}", flush=True)

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        if time.time() > self.end:
            trainer.should_stop = True


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    trainer = pl.Trainer(
        accelerator="gpu" if torch.cuda.is_available() else "cpu", devices=1, max_epochs=-1, num_sanity_val_steps=0,
        logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        callbacks=[Drift(end)],
    )
    train = DataLoader(Stamps(12, 0.04), batch_size=None)
    held_out = DataLoader(Stamps(4, 0.01), batch_size=None)
    trainer.fit(StampNet(), train, held_out)


if __name__ == "__main__":
    main()
