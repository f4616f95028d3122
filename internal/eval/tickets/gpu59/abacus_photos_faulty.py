"""Homework checker, part 2: cleaning photos of the abacus. The pupils send photos, dark and noisy ones. A small network
learns to draw the clean picture. After every validation we look at the mean loss, and at the batch that came out worst:
how much ink is in its drawings, compared with what the pupils had set.

ticket: practice
class: app-leak
holder: outputs Cleaner
cause: results-kept buffer-without-bound
"""

import os
import time

import pytorch_lightning as pl
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

SIZE = 128       # pixels
RODS = 8
BATCH = 16


class AbacusPhotos(Dataset):
    """Makes up abacuses: each item is (photo, clean picture)."""

    def __init__(self, count):
        self.count = count
        rows = torch.arange(SIZE).float()
        self.y, self.x = torch.meshgrid(rows, rows, indexing="ij")

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        clean = torch.zeros(SIZE, SIZE)
        for rod in range(RODS):
            # A rod, and on it one bead whose height tells the digit.
            center = (rod + 0.5) * SIZE / RODS
            digit = torch.randint(10, ()).item()
            height = (digit + 0.5) * SIZE / 10
            clean[:, int(center)] = 0.3
            bead = ((self.x - center) / 6) ** 2 + ((self.y - height) / 4) ** 2 < 1
            clean[bead] = 1.0
        clean = clean[None]
        light = torch.rand(()) * 0.6 + 0.4
        photo = F.avg_pool2d(clean, 3, stride=1, padding=1) * light + 0.15 * torch.randn(1, SIZE, SIZE)
        return photo, clean


class Cleaner(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.network = nn.Sequential(
            nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(),
            nn.Conv2d(16, 16, 5, padding=2), nn.ReLU(),
            nn.Conv2d(16, 1, 5, padding=2),
        )
        self.outputs = []

    def forward(self, photo):
        return self.network(photo)

    def training_step(self, batch, batch_index):
        photo, clean = batch
        return F.mse_loss(self(photo), clean)

    def validation_step(self, batch, batch_index):
        photo, clean = batch
        drawing = self(photo).clamp(0, 1)  # grows
        loss = F.mse_loss(drawing, clean)
        self.outputs.append({"loss": loss, "drawing": drawing, "ink": clean.mean()})  # keeps

    def on_validation_epoch_end(self):
        losses = torch.stack([output["loss"] for output in self.outputs])
        worst = self.outputs[losses.argmax().item()]
        print(f"step {self.global_step}: loss {losses.mean().item():.4f}, worst {worst['loss'].item():.4f} "
              f"(ink {worst['drawing'].mean().item():.3f} for {worst['ink'].item():.3f})", flush=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


class Bell(pl.Callback):
    """The lesson is over when the bell rings."""

    def __init__(self, end):
        self.end = end

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_index):
        if time.time() > self.end:
            trainer.should_stop = True


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    pl.seed_everything(3)
    trainer = pl.Trainer(accelerator="gpu" if torch.cuda.is_available() else "cpu", devices=1, max_epochs=-1,
                         val_check_interval=20, callbacks=[Bell(end)], num_sanity_val_steps=0, logger=False,
                         enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Cleaner(), DataLoader(AbacusPhotos(60 * BATCH), BATCH), DataLoader(AbacusPhotos(8 * BATCH), BATCH))


if __name__ == "__main__":
    main()
