"""A model is trained with Lightning on data that are drawn anew for every epoch. The data module reads the days of an
epoch into host memory and notes the data set in a list, for statistics; the device stays flat.

ticket: practice
class: host-growth
holder: datasets seen
cause: results-kept snapshots-kept cache-without-bound
"""

import logging
import os
import random
import time
import warnings

import numpy as np
import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

warnings.filterwarnings("ignore")
logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)


class Days(Dataset):
    """Loads of a power grid for some days, with the hours before as inputs."""

    def __init__(self, first, count, stations=160, rng=np.random.default_rng(3)):
        hours = np.arange(first * 24, (first + count) * 24)[:, None]
        daily = np.sin(hours * 2 * np.pi / 24 + rng.uniform(0, 6, stations))
        self.loads = (daily + 0.2 * rng.normal(size=daily.shape)).astype(np.float32)  # grows

    def __len__(self):
        return len(self.loads) - 24

    def __getitem__(self, index):
        return self.loads[index:index + 24], self.loads[index + 24]


class GridData(pl.LightningDataModule):
    def __init__(self):
        super().__init__()
        self.datasets = []

    def train_dataloader(self):
        dataset = Days(random.randrange(10000), random.randint(100, 260))
        self.datasets.append(dataset)  # keeps
        return DataLoader(dataset, 64, shuffle=True)


class Forecaster(pl.LightningModule):
    def __init__(self, stations=160):
        super().__init__()
        self.rnn = nn.GRU(stations, 96, batch_first=True)
        self.head = nn.Linear(96, stations)

    def training_step(self, batch, number):
        x, y = batch
        time.sleep(0.02)
        return nn.functional.mse_loss(self.head(self.rnn(x)[0][:, -1]), y)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=1e-3)
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.999)}


class Deadline(pl.Callback):
    def __init__(self, end):
        self.end = end

    def on_train_batch_end(self, trainer, module, outputs, batch, number):
        trainer.should_stop = trainer.should_stop or time.time() > self.end

    def on_train_epoch_end(self, trainer, module):
        if trainer.current_epoch % 10 == 0:
            print("epoch", trainer.current_epoch, flush=True)


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    data = GridData()
    trainer = pl.Trainer(max_epochs=-1, accelerator="auto", devices=1, logger=False, enable_checkpointing=False,
                         enable_progress_bar=False, enable_model_summary=False, limit_train_batches=12,
                         reload_dataloaders_every_n_epochs=1, callbacks=[Deadline(end)])
    trainer.fit(Forecaster(), datamodule=data)


if __name__ == "__main__":
    main()
