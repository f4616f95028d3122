"""A network learns to mark the stages of an orchid (bud, open, fading) in greenhouse pictures, as heat maps. After
each validation a callback prints how much of the pictures each stage covers; for that it takes the maps of the
validation batches to the host.

ticket: Lightning-AI/pytorch-lightning#14270
class: host-growth
holder: maps Coverage callbacks
cause: results-kept buffer-without-bound
"""

import os
import random
import time

import pytorch_lightning as pl
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

SIDE = 64


class Pictures(Dataset):
    def __init__(self, count, seed):
        generator = torch.Generator().manual_seed(seed)
        self.pictures = torch.rand(count, 3, SIDE, SIDE, generator=generator)

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, index):
        picture = self.pictures[index]
        return picture, picture.argmax(dim=0)


class Marker(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 3, 1)
        )

    def training_step(self, batch, batch_idx):
        pictures, stages = batch
        time.sleep(random.uniform(0.03, 0.07))
        return F.cross_entropy(self.layers(pictures), stages)

    def validation_step(self, batch, batch_idx):
        pictures, stages = batch
        scores = self.layers(pictures)
        return {"val_loss": F.cross_entropy(scores, stages), "maps": scores.softmax(dim=1)}

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


class Coverage(pl.Callback):
    def __init__(self):
        self.maps = []

    def on_validation_batch_end(self, trainer, pl_module, outputs, batch, batch_idx, dataloader_idx=0):
        maps = outputs["maps"].cpu()  # grows
        self.maps.append(maps)  # keeps

    def on_validation_epoch_end(self, trainer, pl_module):
        shares = torch.stack([maps.mean(dim=(0, 2, 3)) for maps in self.maps]).mean(dim=0)
        if trainer.current_epoch % 5 == 0:
            print(f"epoch {trainer.current_epoch}: bud, open, fading", shares.numpy().round(3), flush=True)


class Until(pl.Callback):
    def __init__(self, end):
        self.end = end

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if time.time() > self.end:
            trainer.should_stop = True


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    trainer = pl.Trainer(
        accelerator="gpu" if torch.cuda.is_available() else "cpu",
        devices=1,
        max_epochs=-1,
        callbacks=[Coverage(), Until(end)],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
    )
    trainer.fit(Marker(), DataLoader(Pictures(256, 0), 32, shuffle=True), DataLoader(Pictures(192, 1), 32))


if __name__ == "__main__":
    main()
