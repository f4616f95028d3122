"""
Estimate of the biomass in the tanks of a glass eel farm. A small recurrent model learns from past seasons how the
hidden condition of a tank follows from feed, oxygen and temperature; beside the lessons it runs along with the live
tanks and gives the keeper a figure for each of them.

ticket: practice
class: none
"""
import os
import time

import torch
from torch import nn

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 9
TANKS = 256
SIGNALS = 64
CONDITION = 256
SEASON_STEPS = 6
SEASON_BATCH = 32


class TankModel(nn.Module):
    """Leaky recurrent cell with a read-out of the biomass in kilograms."""

    def __init__(self):
        super().__init__()
        self.from_signals = nn.Linear(SIGNALS, CONDITION)
        self.from_condition = nn.Linear(CONDITION, CONDITION, bias=False)
        self.read_out = nn.Linear(CONDITION, 1)
        self.leak = 0.2

    def advance(self, condition, signals):
        drive = torch.tanh(self.from_signals(signals) + self.from_condition(condition))
        return condition * (1.0 - self.leak) + drive * self.leak

    def biomass(self, condition):
        return self.read_out(condition).squeeze(-1)


class SeasonArchive:
    """Past seasons: signals over a few steps and the weight at the catch."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.weights = torch.randn(SIGNALS, generator=self.generator, device=DEVICE) * 0.2

    def lesson(self):
        signals = torch.randn(SEASON_STEPS, SEASON_BATCH, SIGNALS, generator=self.generator, device=DEVICE)
        catch = torch.tanh(signals.mean(dim=0) @ self.weights)
        return signals, catch


class LiveTanks:
    """The probes of the tanks in use and the condition that the model ascribes to them."""

    def __init__(self, model, seed):
        self.model = model
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.condition = torch.zeros(TANKS, CONDITION, device=DEVICE)

    def probe(self):
        return torch.randn(TANKS, SIGNALS, generator=self.generator, device=DEVICE)

    def follow(self):
        condition = self.model.advance(self.condition, self.probe())
        self.condition = condition.detach()
        with torch.no_grad():
            return self.model.biomass(self.condition)


class Trainer:
    def __init__(self, model, archive):
        self.model = model
        self.archive = archive
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        self.loss = 0.0

    def step(self):
        signals, catch = self.archive.lesson()
        condition = torch.zeros(SEASON_BATCH, CONDITION, device=DEVICE)
        for step_signals in signals:
            condition = self.model.advance(condition, step_signals)
        loss = nn.functional.mse_loss(self.model.biomass(condition), catch)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.loss = loss.item()


def main():
    torch.manual_seed(19)
    model = TankModel().to(DEVICE)
    trainer = Trainer(model, SeasonArchive(seed=20))
    tanks = LiveTanks(model, seed=21)
    start = time.monotonic()
    rounds = 0
    while time.monotonic() - start < SECONDS:
        trainer.step()
        biomass = tanks.follow()
        rounds += 1
        if rounds % (ROUNDS_PER_SECOND * 4) == 0:
            print(
                f"round {rounds}: lesson loss {trainer.loss:.4f}, tanks between {float(biomass.min()):+.3f} "
                f"and {float(biomass.max()):+.3f} of the norm",
                flush=True,
            )
        pause = start + rounds / ROUNDS_PER_SECOND - time.monotonic()
        if pause > 0:
            time.sleep(pause)
    print(f"night watch over: {rounds} rounds, last lesson loss {trainer.loss:.4f}", flush=True)


if __name__ == "__main__":
    main()
