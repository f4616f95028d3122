"""A network learns to sort threads of saffron by grade from their colour spectra. The labels come from many hands and
some batches are all wrong, so a callback can take the last moves of the weights back: it notes by how much they moved
and undoes that when the loss jumps far above its running mean.

ticket: practice
class: app-leak
holder: moves TakeBack
cause: snapshots-kept buffer-without-bound
"""

import logging
import os
import random
import time
import warnings

import pytorch_lightning as pl
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

BANDS, HIDDEN, GRADES, BACK = 256, 640, 5, 6


class Threads(Dataset):
    """Batches of spectra; one in forty is labelled by somebody who guessed."""

    def __init__(self):
        self.centres = torch.randn(GRADES, BANDS)

    def __len__(self):
        return 40

    def __getitem__(self, index):
        time.sleep(random.uniform(0.08, 0.2))
        grades = torch.randint(GRADES, (64,))
        spectra = self.centres[grades] + torch.randn(64, BANDS)
        if random.random() < 1 / 40:
            grades = torch.randint(GRADES, (64,))
        return spectra, grades


class Sorter(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(BANDS, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, GRADES)
        )

    def training_step(self, batch, index):
        spectra, grades = batch
        return F.cross_entropy(self.layers(spectra), grades)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01, momentum=0.9)


class TakeBack(pl.Callback):
    def __init__(self):
        self.moves = []
        self.mean, self.taken = None, 0

    @torch.no_grad()
    def on_train_batch_start(self, trainer, module, batch, index):
        self.before = [weight.clone() for weight in module.parameters()]

    @torch.no_grad()
    def on_train_batch_end(self, trainer, module, outputs, batch, index):
        moved = [weight - old for weight, old in zip(module.parameters(), self.before)]  # grows
        self.moves.append(moved)  # keeps
        loss = outputs["loss"].item()
        if self.mean is not None and loss > 3 * self.mean + 0.5:
            for _ in range(min(BACK, len(self.moves))):
                for weight, move in zip(module.parameters(), self.moves.pop()):
                    weight.sub_(move)
            self.taken += 1
        self.mean = loss if self.mean is None else 0.95 * self.mean + 0.05 * loss


class Clock(pl.Callback):
    def __init__(self, take_back, seconds):
        self.take_back, self.end = take_back, time.time() + seconds

    def on_train_batch_end(self, trainer, module, outputs, batch, index):
        if index % 20 == 0:
            print(f"step {trainer.global_step}: loss {self.take_back.mean:.3f}, {self.take_back.taken} taken back")
        if time.time() > self.end:
            trainer.should_stop = True


def main():
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    take_back = TakeBack()
    clock = Clock(take_back, float(os.environ.get("SECONDS", "45")))
    trainer = pl.Trainer(
        accelerator="gpu" if torch.cuda.is_available() else "cpu", devices=1, max_epochs=-1, logger=False,
        callbacks=[take_back, clock], enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Sorter(), DataLoader(Threads(), batch_size=None))


if __name__ == "__main__":
    main()
