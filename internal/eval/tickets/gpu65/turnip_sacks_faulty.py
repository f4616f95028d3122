"""A camera above the belt sees sacks of turnips, and a network estimates their weight. It learns in cycles with a warm
restart, and at the end of each cycle a snapshot of it is judged on sacks that were weighed by hand. The five best
snapshots are the ensemble, whose mean is the estimate.

ticket: practice
class: app-leak
holder: members Snapshots snapshots
cause: snapshots-kept
"""

import os
import time

import pytorch_lightning as pl
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, IterableDataset

PIXELS, BATCH, CYCLE, ENSEMBLE = 32 * 32, 64, 20, 5


def sacks(count):
    """Pictures of sacks and their weights."""
    weights = torch.rand(count, 1) + 0.5
    return weights * torch.rand(count, PIXELS) + 0.1 * torch.randn(count, PIXELS), weights


class Belt(IterableDataset):
    def __iter__(self):
        for _ in range(CYCLE):
            time.sleep(0.012)
            yield sacks(BATCH)


class Estimator(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(PIXELS, 768), nn.ReLU(), nn.Linear(768, 256), nn.ReLU(), nn.Linear(256, 1)
        )

    def forward(self, pictures):
        return self.layers(pictures)

    def training_step(self, batch, batch_index):
        pictures, weights = batch
        return F.mse_loss(self(pictures), weights)

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.02)
        schedule = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, CYCLE)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


class Snapshots(pl.Callback):
    def __init__(self, end):
        self.end = end
        self.members = []
        self.pictures, self.weights = sacks(256)

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_index):
        if time.time() > self.end:
            trainer.should_stop = True

    @torch.no_grad()
    def on_train_epoch_end(self, trainer, module):
        pictures, weights = self.pictures.to(module.device), self.weights.to(module.device)
        error = F.mse_loss(module(pictures), weights).item()
        state = {name: value.clone() for name, value in module.state_dict().items()}  # grows
        self.members.append((error, state))  # keeps
        self.members.sort(key=lambda member: member[0])
        if trainer.current_epoch % 5 == 4:
            best = self.members[:ENSEMBLE]
            estimates = [torch.func.functional_call(module, state, (pictures,)) for _, state in best]
            together = F.mse_loss(torch.stack(estimates).mean(dim=0), weights).item()
            print(f"cycle {trainer.current_epoch + 1}: best {best[0][0]:.4f}, ensemble {together:.4f}", flush=True)


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    trainer = pl.Trainer(
        accelerator="gpu" if torch.cuda.is_available() else "cpu",
        devices=1,
        max_epochs=-1,
        callbacks=[Snapshots(end)],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Estimator(), DataLoader(Belt(), batch_size=None))


if __name__ == "__main__":
    main()
