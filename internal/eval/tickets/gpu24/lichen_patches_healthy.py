"""Outlines lichen on photographs of gravestones with a small U-shaped network and Lightning. After each epoch the dice
score is taken over the whole of the validation set, not batch by batch, so the outlines of its batches are gathered
until the epoch's end.

ticket: practice
class: none
"""

import os
import time
import warnings

import pytorch_lightning as pl
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

SIDE, BATCH, TRAINED, HELD_BACK = 128, 12, 72, 36


class Outliner(pl.LightningModule):
    def __init__(self, rate=1e-3):
        super().__init__()
        self.rate = rate
        self.down = nn.Conv2d(3, 12, 3, stride=2, padding=1)
        self.middle = nn.Conv2d(12, 12, 3, padding=1)
        self.up = nn.ConvTranspose2d(12, 8, 2, stride=2)
        self.out = nn.Conv2d(8 + 3, 1, 3, padding=1)
        self.validation_outputs = []

    def forward(self, photos):
        hidden = F.relu(self.middle(F.relu(self.down(photos))))
        return self.out(torch.cat([F.relu(self.up(hidden)), photos], dim=1))

    def training_step(self, batch, index):
        photos, outlines = batch
        time.sleep(0.03)
        return F.binary_cross_entropy_with_logits(self(photos), outlines.float())

    def validation_step(self, batch, index):
        photos, outlines = batch
        likely = torch.sigmoid(self(photos))
        truth = outlines.float()
        self.validation_outputs.append((likely, truth))

    def on_validation_epoch_end(self):
        both = total = 0.0
        for likely, truth in self.validation_outputs:
            both = both + 2 * (likely * truth).sum()
            total = total + likely.sum() + truth.sum()
        self.validation_outputs.clear()
        dice = both / total
        self.log("dice", dice)
        if self.current_epoch % 10 == 0:
            print(f"epoch {self.current_epoch}: dice {dice.item():.3f}", flush=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.rate)


class Deadline(pl.Callback):
    """Ends the run when its time is up."""

    def __init__(self, end):
        self.end = end

    def on_train_batch_end(self, trainer, module, outputs, batch, index):
        if time.time() > self.end:
            trainer.should_stop = True


def gravestones(count):
    """Photographs, and where there is lichen on them."""
    blobs = F.interpolate(torch.randn(count, 1, 16, 16), size=SIDE, mode="bilinear", align_corners=False)
    outlines = blobs > 0.2
    photos = 0.5 * torch.rand(count, 3, SIDE, SIDE) + outlines * torch.tensor([0.3, 0.4, 0.1]).view(1, 3, 1, 1)
    return TensorDataset(photos, outlines)


def main():
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    trainer = pl.Trainer(
        accelerator="auto", devices=1, max_epochs=-1, logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0, callbacks=[Deadline(end)],
    )
    trainer.fit(
        Outliner(),
        DataLoader(gravestones(TRAINED), batch_size=BATCH, shuffle=True),
        DataLoader(gravestones(HELD_BACK), batch_size=BATCH),
    )


if __name__ == "__main__":
    main()
