"""Germination panels of a seed bank.

A camera above the germination chamber photographs sixteen seeds at a time, ten times a second. After thirty shots a
panel of 480 seeds is complete: its shots become trait features, of which the first four (radicle, hypocotyl, colour,
mould) are set down for the viability report, together with the share of seeds that have sprouted.

ticket: practice
class: none
"""
import os
import time
from dataclasses import dataclass

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))

SHOTS_PER_S = 10
SHOTS_PER_PANEL = 30
SEEDS_PER_SHOT = 16
PIXELS = 512
FEATURES = 8192
TRAITS = ("radicle", "hypocotyl", "colour", "mould")


@dataclass
class PanelRecord:
    panel: int
    species: str
    sprouted: float
    traits: torch.Tensor


class Camera:
    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)

    def shoot(self):
        return torch.randn(SEEDS_PER_SHOT, PIXELS, generator=self.generator, device=DEVICE)


class TraitModel:
    """A random projection with a soft limit, as fitted on reference lots."""

    def __init__(self, seed):
        generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.weights = torch.randn(PIXELS, FEATURES, generator=generator, device=DEVICE) / PIXELS**0.5
        self.vigour = torch.randn(FEATURES, generator=generator, device=DEVICE) / FEATURES**0.5

    def features(self, shots):
        return torch.mm(shots, self.weights).tanh_()

    def sprouted(self, features):
        return float((torch.mv(features, self.vigour) > -0.5).float().mean())


class GerminationReport:
    """The panels of this session with their main traits, for the viability curve."""

    def __init__(self):
        self.records = []

    def add(self, record):
        self.records.append(record)

    def viability(self, species):
        shares = [record.sprouted for record in self.records if record.species == species]
        return sum(shares) / len(shares) if shares else float("nan")

    def means(self):
        last = self.records[-1]
        return dict(zip(TRAITS, last.traits.mean(dim=0).tolist()))


class Chamber:
    species = ("Aegilops", "Vicia", "Papaver")

    def __init__(self, seed=31):
        self.camera = Camera(seed)
        self.model = TraitModel(seed + 1)
        self.report = GerminationReport()
        self.shots = []
        self.panels = 0

    def round(self):
        self.shots.append(self.camera.shoot())
        if len(self.shots) < SHOTS_PER_PANEL:
            return None
        record = self.close_panel(torch.cat(self.shots))
        self.shots.clear()
        return record

    def close_panel(self, shots):
        features = self.model.features(shots)
        self.panels += 1
        record = PanelRecord(
            panel=self.panels,
            species=self.species[self.panels % len(self.species)],
            sprouted=self.model.sprouted(features),
            traits=features[:, : len(TRAITS)].clone(),
        )
        self.report.add(record)
        return record


def describe(chamber, record):
    means = " ".join(f"{name} {value:+.3f}" for name, value in chamber.report.means().items())
    viability = chamber.report.viability(record.species)
    return f"panel {record.panel} {record.species}: sprouted {record.sprouted:.1%} (all {viability:.1%}), {means}"


def main():
    torch.set_num_threads(1)
    chamber = Chamber()
    start = time.monotonic()
    due = start
    while time.monotonic() - start < SECONDS:
        record = chamber.round()
        if record is not None:
            print(describe(chamber, record), flush=True)
        due += 1.0 / SHOTS_PER_S
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"chamber closed after {chamber.panels} panels", flush=True)


if __name__ == "__main__":
    main()
