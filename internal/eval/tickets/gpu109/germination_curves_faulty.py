"""A seed library sows a sample of every lot it lends and counts the seedlings day by day.

The program trains a small network that foretells the whole germination curve of a lot from its age, moisture and
storage record. Every few seconds the network is tried on lots that it has not been shown, and the curves of the
first few lots are put aside so that the librarians can see how the forecast of one lot has changed.

ticket: practice
class: app-leak
holder: showcase
cause: results-kept
"""

import os
import time

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
FEATURES = 24
DAYS = 512
TRAIN_LOTS = 8192
TRIAL_LOTS = 6144
BATCH = 128
STEPS_A_SECOND = 12
TRIAL_EVERY = 6.0
SHOWN = 4


def make_lots(count, seed):
    """Records of seed lots and the share of seeds that have come up on each day."""
    source = torch.Generator().manual_seed(seed)
    records = torch.randn(count, FEATURES, generator=source)
    midpoint = 120.0 + 60.0 * torch.tanh(records[:, :4].sum(1, keepdim=True) * 0.4)
    vigour = torch.sigmoid(records[:, 4:8].sum(1, keepdim=True))
    days = torch.arange(DAYS, dtype=torch.float32)[None, :]
    curves = vigour * torch.sigmoid((days - midpoint) / 18.0)
    return records.to(DEVICE), curves.to(DEVICE)


class CurveForecaster(nn.Module):
    """From the record of a lot to its curve, which can only rise."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(FEATURES, 96), nn.GELU(), nn.Linear(96, 96), nn.GELU())
        self.rises = nn.Linear(96, DAYS)
        self.vigour = nn.Linear(96, 1)

    def forward(self, records):
        hidden = self.body(records)
        shares = torch.softmax(self.rises(hidden), dim=1)
        return torch.cumsum(shares, dim=1) * torch.sigmoid(self.vigour(hidden))


class Trial:
    """Tries the forecaster on the lots held back and keeps a few curves to be shown."""

    def __init__(self, records, curves):
        self.records = records
        self.curves = curves
        self.errors = []
        self.showcase = []

    @torch.no_grad()
    def run(self, forecaster, step):
        forecaster.eval()
        forecasts = self.forecast(forecaster)
        error = float((forecasts - self.curves).abs().mean())
        self.errors.append(error)
        self.showcase.append((step, forecasts[:SHOWN]))  # keeps
        forecaster.train()
        return error

    def forecast(self, forecaster):
        parts = [forecaster(chunk) for chunk in self.records.split(1024)]
        return torch.cat(parts)  # grows

    def shift(self):
        """How far the shown curves have moved since the trial before."""
        if len(self.showcase) < 2:
            return 0.0
        (_, before), (_, after) = self.showcase[-2:]
        return float((after - before).abs().max())


class Trainer:
    def __init__(self):
        self.records, self.curves = make_lots(TRAIN_LOTS, seed=7)
        self.forecaster = CurveForecaster().to(DEVICE)
        self.optimizer = torch.optim.AdamW(self.forecaster.parameters(), lr=2e-3)
        self.source = torch.Generator().manual_seed(11)
        self.steps = 0

    def step(self):
        chosen = torch.randint(TRAIN_LOTS, (BATCH,), generator=self.source).to(DEVICE)
        loss = nn.functional.mse_loss(self.forecaster(self.records[chosen]), self.curves[chosen])
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        self.steps += 1
        return loss.item()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(5)
    trainer = Trainer()
    trial = Trial(*make_lots(TRIAL_LOTS, seed=8))
    start = time.monotonic()
    next_trial = start
    while time.monotonic() - start < SECONDS:
        loss = trainer.step()
        if time.monotonic() >= next_trial:
            next_trial += TRIAL_EVERY
            error = trial.run(trainer.forecaster, trainer.steps)
            print(
                f"step {trainer.steps}: loss {loss:.5f}, error on lots held back {error:.4f}, "
                f"shift {trial.shift():.4f}",
                flush=True,
            )
        time.sleep(1.0 / STEPS_A_SECOND)
    print(f"trained {trainer.steps} steps, best error {min(trial.errors):.4f}", flush=True)


if __name__ == "__main__":
    main()
