"""Blemishes on the rinds of cheese wheels.

A dairy photographs each wheel in its ripening cellar. A small convolutional network marks
four kinds of blemish on the rind (crack, mite, blue spot, soft patch), pixel by pixel. It
is trained on painted photographs, in short epochs of one shelf each; at the end of an
epoch the share of every blemish on the shelf is worked out from the maps of its steps.

ticket: practice
class: app-leak
holder: rind_maps
cause: results-kept
"""
import os
import time

import torch
import torch.nn.functional as F
import pytorch_lightning as pl
from torch import nn
from torch.utils.data import DataLoader, Dataset

KINDS = ("crack", "mite", "blue spot", "soft patch")
SIDE = 128
BATCH = 16
SHELF = 8 * BATCH
PACE = 0.22


class PaintedRinds(Dataset):
    """Photographs with discs of four brightnesses, drawn anew from the wheel's number."""

    def __init__(self):
        axis = torch.linspace(-1.0, 1.0, SIDE)
        self.y, self.x = torch.meshgrid(axis, axis, indexing="ij")

    def __len__(self):
        return SHELF

    def __getitem__(self, wheel):
        dice = torch.Generator().manual_seed(wheel)
        photo = 0.5 + 0.05 * torch.randn(SIDE, SIDE, generator=dice)
        marks = torch.zeros(len(KINDS), SIDE, SIDE)
        for kind in range(len(KINDS)):
            cx, cy, radius = torch.rand(3, generator=dice).tolist()
            inside = (self.x - 1.6 * cx + 0.8) ** 2 + (self.y - 1.6 * cy + 0.8) ** 2 < (0.1 + 0.2 * radius) ** 2
            marks[kind][inside] = 1.0
            photo[inside] += (-0.4, -0.2, 0.2, 0.4)[kind]
        return photo.unsqueeze(0), marks


class RindInspector(pl.LightningModule):
    def __init__(self, width=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, width, 5, padding=2),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(width, len(KINDS), 3, padding=1),
        )
        self.rind_maps = []
        self.shares = torch.zeros(len(KINDS))

    def forward(self, photos):
        return self.net(photos)

    def training_step(self, batch, batch_idx):
        photos, marks = batch
        logits = self(photos)
        loss = F.binary_cross_entropy_with_logits(logits, marks)
        maps = torch.sigmoid(logits.detach())  # grows
        self.rind_maps.append(maps)  # keeps
        return loss

    def on_train_epoch_end(self):
        steps = [maps.mean(dim=(0, 2, 3)) for maps in self.rind_maps]
        self.shares = torch.stack(steps).mean(dim=0).cpu()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.2, momentum=0.9)


class Shift(pl.Callback):
    """Paces the steps, reports, and sends everybody home when the shift is over."""

    def __init__(self, end):
        self.end = end
        self.next_line = time.time() + 2

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        time.sleep(PACE)
        now = time.time()
        if now >= self.end:
            trainer.should_stop = True
        elif now >= self.next_line:
            self.next_line = now + 3
            loss = outputs["loss"].item()
            shares = ", ".join(f"{kind} {share:.1%}" for kind, share in zip(KINDS, pl_module.shares.tolist()))
            print(f"shelf {trainer.current_epoch} step {trainer.global_step} loss {loss:.4f}: {shares}", flush=True)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    pl.seed_everything(8)
    shelf = DataLoader(PaintedRinds(), batch_size=BATCH, shuffle=True, num_workers=0, drop_last=True)
    trainer = pl.Trainer(
        accelerator="auto",
        devices=1,
        max_epochs=-1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[Shift(end)],
    )
    trainer.fit(RindInspector(), shelf)


if __name__ == "__main__":
    main()
