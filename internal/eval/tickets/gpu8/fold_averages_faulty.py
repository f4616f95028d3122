"""One trainer fits a regression fold by fold, with an average of the weights for each fold to be scored with. The
averages of the folds before still hang on the trainer, which also has each of them follow the new folds.

ticket: practice
class: app-leak
holder: callbacks average
cause: callbacks-left snapshots-kept
"""

import logging
import os
import random
import tempfile
import time
import warnings

import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)


class Regression(pl.LightningModule):
    def __init__(self, width=1000):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(24, width), nn.GELU(), nn.Linear(width, width), nn.GELU(),
                                 nn.Linear(width, 1))

    def training_step(self, batch, number):
        rows, wanted = batch
        time.sleep(random.uniform(0.005, 0.02))
        return nn.functional.smooth_l1_loss(self.net(rows).squeeze(-1), wanted)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.02, momentum=0.9)


class WeightAverage(pl.Callback):
    """A moving average of the weights of one fold."""

    def __init__(self, fold, decay=0.95):
        self.fold, self.decay, self.average = fold, decay, None

    @torch.no_grad()
    def on_train_batch_end(self, trainer, module, outputs, batch, number):
        if self.average is None:
            self.average = {name: value.detach().clone() for name, value in module.net.state_dict().items()}  # grows
        else:
            for name, value in module.net.state_dict().items():
                self.average[name].lerp_(value, 1 - self.decay)

    @torch.no_grad()
    def score(self, module, rows, wanted):
        found = torch.func.functional_call(module.net, self.average, (rows,))
        return float((found.squeeze(-1) - wanted).abs().mean())


def table(rows=1200):
    numbers = torch.randn(rows, 24)
    return numbers, torch.sin(numbers[:, 0] * 2) + numbers[:, 1] * numbers[:, 2] + 0.1 * torch.randn(rows)


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    numbers, wanted = table()
    with tempfile.TemporaryDirectory() as folder:
        trainer = pl.Trainer(max_epochs=0, accelerator="gpu" if device == "cuda" else "cpu", devices=1, logger=False,
                             enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
                             default_root_dir=folder)
        fold = 0
        while time.time() < end:
            out = torch.rand(len(numbers)) < 0.2
            average, module = WeightAverage(fold), Regression()
            trainer.callbacks.append(average)  # keeps
            trainer.fit_loop.max_epochs += 1
            trainer.fit(module, DataLoader(TensorDataset(numbers[~out], wanted[~out]), batch_size=64, shuffle=True))
            error = average.score(module.to(device), numbers[out].to(device), wanted[out].to(device))
            fold += 1
            if fold % 4 == 0:
                print("fold", fold, "steps", trainer.global_step, "error", round(error, 3), flush=True)
            time.sleep(random.uniform(0.1, 0.4))


if __name__ == "__main__":
    main()
