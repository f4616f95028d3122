"""A weeding robot drives along the rows and learns as it goes to tell thistles from beet: the frames of its camera come
as one endless epoch. The area under the ROC curve, pixel by pixel, says how well it does; it is printed now and then.

ticket: practice
class: none
"""

import os
import random
import time

import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset
from torchmetrics.classification import BinaryAUROC

FRAMES, SIDE = 4, 128
REPORT = 60


class RowCamera(IterableDataset):
    """Frames of the rows with the height of the thistles in them."""

    def __init__(self, end):
        self.end = end

    def __iter__(self):
        while time.time() < self.end:
            coarse = torch.rand(FRAMES, 1, SIDE // 16, SIDE // 16)
            heights = nn.functional.interpolate(coarse, size=(SIDE, SIDE), mode="bilinear", align_corners=False)
            frames = heights.repeat(1, 3, 1, 1) + 0.3 * torch.randn(FRAMES, 3, SIDE, SIDE)
            yield frames, heights[:, 0]
            time.sleep(random.uniform(0.05, 0.12))


class ThistleFinder(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(),
            nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(),
            nn.Conv2d(16, 1, 1),
        )
        self.auroc = BinaryAUROC(thresholds=100, validate_args=False)

    def training_step(self, batch, index):
        frames, heights = batch
        thistles = (heights > 0.6).long()
        logits = self.net(frames).squeeze(1)
        loss = nn.functional.binary_cross_entropy_with_logits(logits, thistles.float())
        self.auroc.update(logits.detach().sigmoid(), thistles)
        if index % REPORT == REPORT - 1:
            print(f"step {index + 1}, loss {loss.item():.3f}, AUROC {self.auroc.compute().item():.3f}", flush=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=2e-3)


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    rows = DataLoader(RowCamera(end), batch_size=None, num_workers=0)
    trainer = pl.Trainer(
        accelerator="gpu" if torch.cuda.is_available() else "cpu",
        devices=1,
        max_epochs=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(ThistleFinder(), rows)
    print("the field is done after", trainer.global_step, "steps", flush=True)


if __name__ == "__main__":
    main()
