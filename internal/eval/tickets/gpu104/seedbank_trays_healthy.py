"""The seed bank of a botanic garden tests its lots on germination trays. A network looks at the photograph of each
tray and tells how many of its seeds have come up; trays are on the bench of the curator from the look until the count
is confirmed, and doubtful ones are sown anew as new trays. Trays are made at random as they come.

ticket: practice
class: none
"""
import os
import time
import warnings
from datetime import timedelta

import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
SIDE = 96
CELLS = 36
TRAYS = 8
WIDTH = 16
BATCHES_A_SECOND = 4.0
DOUBT = 0.10


class TrayStream(IterableDataset):
    """Batches of trays with their serial numbers and the true share of seeds that are up."""

    def __init__(self, seed):
        super().__init__()
        self._dice = torch.Generator().manual_seed(seed)
        self.next_serial = 1

    def _photographs(self):
        vigour = torch.rand(TRAYS, 1, generator=self._dice)
        up = (torch.rand(TRAYS, CELLS, generator=self._dice) < vigour).float()
        side = int(CELLS ** 0.5)
        cells = up.view(TRAYS, 1, side, side)
        image = nn.functional.interpolate(cells, size=(SIDE, SIDE), mode="nearest")
        soil = 0.3 * torch.randn(TRAYS, 1, SIDE, SIDE, generator=self._dice)
        return image * 0.6 + soil, up.mean(dim=1)

    def __iter__(self):
        while True:
            photographs, share = self._photographs()
            serials = list(range(self.next_serial, self.next_serial + TRAYS))
            self.next_serial += TRAYS
            time.sleep(1.0 / BATCHES_A_SECOND)
            yield {"photographs": photographs, "share": share, "serials": torch.tensor(serials)}


class GerminationCounter(pl.LightningModule):
    """Counts seedlings from the photograph and lays each tray's sight on the bench until confirmed."""

    def __init__(self):
        super().__init__()
        self.eye = nn.Sequential(
            nn.Conv2d(1, WIDTH, 5, padding=2), nn.ReLU(),
            nn.Conv2d(WIDTH, WIDTH, 3, padding=1), nn.ReLU(),
        )
        self.head = nn.Linear(WIDTH, 1)
        self.confirmed = 0
        self.resown = 0
        self.brightest = 0.0
        self._bench = {}
        self._next_line = time.monotonic() + 2.0

    def forward(self, photographs):
        sight = self.eye(photographs)
        return sight, torch.sigmoid(self.head(sight.mean(dim=(2, 3)))).squeeze(1)

    def training_step(self, batch, batch_idx):
        sight, share = self(batch["photographs"])
        for row, serial in enumerate(batch["serials"].tolist()):
            self._bench[serial] = sight[row].detach().clone()
        error = (share - batch["share"]).abs().detach()
        self.settle(batch["serials"].tolist(), error.tolist())
        return nn.functional.mse_loss(share, batch["share"])

    def settle(self, serials, errors):
        """Confirm the counts that agree with the curator's; sow the doubtful lots anew."""
        for serial, error in zip(serials, errors):
            sight = self._bench.pop(serial)
            if error > DOUBT:
                self.resown += 1
                continue
            self.brightest = max(self.brightest, sight.max().item())
            self.confirmed += 1

    def on_train_batch_end(self, outputs, batch, batch_idx):
        if time.monotonic() >= self._next_line:
            print(f"batch {batch_idx}: {self.confirmed} trays confirmed, {self.resown} sown anew, "
                  f"brightest {self.brightest:.2f}", flush=True)
            self._next_line = time.monotonic() + 3.0

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=2e-3)


def main():
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    pl.seed_everything(58)
    counter = GerminationCounter()
    trainer = pl.Trainer(
        accelerator="gpu" if DEVICE == "cuda" else "cpu",
        devices=1,
        max_epochs=-1,
        max_time=timedelta(seconds=SECONDS),
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(counter, DataLoader(TrayStream(seed=58), batch_size=None, num_workers=0))
    print(f"season over: {counter.confirmed} trays confirmed, {counter.resown} sown anew", flush=True)


if __name__ == "__main__":
    main()
