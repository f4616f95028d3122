"""Rolling wagons below the hump of a classification yard.

A wagon let go from the hump passes the retarder and rolls on to its track, faster or slower with its load, its bearings
and the wind. A model learns the whole speed profile of a roll from what is known at the crest, and after each turn of
the yard it is told how far the profiles were out near the coupling point.

ticket: practice
class: app-leak
holder: _rolls
cause: results-kept
"""
import os
import time

import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)

SECONDS = float(os.environ.get("SECONDS", "45"))
BATCHES_A_SECOND = 8.0
CUTS = 256
BATCHES_A_TURN = 14
POINTS = 768
FACTS = 12


def make_rolls(seed):
    """Facts at the crest and speed profiles in metres a second, for one turn of the yard."""
    random = torch.Generator().manual_seed(seed)
    facts = torch.randn(CUTS * BATCHES_A_TURN, FACTS, generator=random)
    way = torch.linspace(0.0, 1.0, POINTS)
    load, bearings, wind = facts[:, 0:1], facts[:, 1:2], facts[:, 2:3]
    speed = 5.0 + 0.4 * load - (2.0 + 0.3 * bearings) * way + 0.2 * wind * way ** 2
    speed = speed - 1.5 * torch.sigmoid(40.0 * (way - 0.3))
    return TensorDataset(facts, speed)


class RollModel(pl.LightningModule):
    """Speed profile of a roll from the facts at the crest."""

    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(FACTS, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.profile = nn.Linear(64, POINTS)
        self._rolls = []
        self._turn_start = 0

    def forward(self, facts):
        return self.profile(self.trunk(facts))

    def training_step(self, batch, batch_index):
        facts, speed = batch
        predicted = self(facts)
        error = predicted - speed
        self._rolls.append(error.detach().abs())  # grows keeps
        return nn.functional.smooth_l1_loss(predicted, speed)

    def on_train_epoch_start(self):
        self._turn_start = len(self._rolls)

    def coupling_error(self):
        """Mean error over the last tenth of the way, in this turn of the yard."""
        last = POINTS // 10
        rolls = self._rolls[self._turn_start:]
        return float(torch.stack([roll[:, -last:].mean() for roll in rolls]).mean())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=2e-3)


class YardShift(pl.Callback):
    """Paces the batches, prints a line for each turn and ends the shift on time."""

    def __init__(self, seconds):
        self._end = time.monotonic() + seconds
        self._began = time.monotonic()
        self.turns = 0

    def on_train_batch_start(self, trainer, module, batch, batch_index):
        self._began = time.monotonic()

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_index):
        if time.monotonic() >= self._end:
            trainer.should_stop = True
        time.sleep(max(0.0, 1.0 / BATCHES_A_SECOND - (time.monotonic() - self._began)))

    def on_train_epoch_end(self, trainer, module):
        self.turns += 1
        print(f"turn {self.turns:3d}: {module.coupling_error():.3f} m/s out at the coupling point", flush=True)


def main():
    pl.seed_everything(1891)
    loader = DataLoader(make_rolls(seed=5), batch_size=CUTS, shuffle=True, num_workers=0)
    model = RollModel()
    shift = YardShift(SECONDS)
    trainer = pl.Trainer(
        accelerator="gpu" if torch.cuda.is_available() else "cpu",
        devices=1,
        max_epochs=-1,
        logger=False,
        callbacks=[shift],
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, loader)
    print(f"shift over after {shift.turns} turns and {trainer.global_step} batches", flush=True)


if __name__ == "__main__":
    main()
