"""Learns how strongly a panel of noses will rate a blend, from the raw materials in its formula.

A formula is a bag of raw materials with amounts. The odour table comes from the supplier, with one row per material;
a small head on top of the blended row predicts six notes (green, woody, powdery and so on). The panel's sheets arrive
as a stream, and the head follows the panel of the day.

ticket: practice
class: host-growth
holder: table
cause: gradients-never-zeroed
"""
import os
import time
from collections import deque

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

MATERIALS = 9000
ODOUR = 96
NOTES = 6
FORMULA = 14
SHEETS = 170
PAUSE = 0.13


class PanelSheets(IterableDataset):
    """An endless stream of formulas with the notes that the panel smelled in them."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.character = self.rng.normal(size=(MATERIALS, NOTES)).astype(np.float32)

    def __iter__(self):
        while True:
            materials = self.rng.integers(0, MATERIALS, size=FORMULA)
            amounts = self.rng.dirichlet(np.full(FORMULA, 0.7)).astype(np.float32)
            smelled = amounts @ self.character[materials] + self.rng.normal(0.0, 0.05, NOTES)
            yield materials, amounts, smelled.astype(np.float32)


class BlendNose(nn.Module):
    """Odour table and the head that reads the notes from a blended row."""

    def __init__(self):
        super().__init__()
        self.table = nn.EmbeddingBag(MATERIALS, ODOUR, mode="sum", sparse=True)
        self.head = nn.Sequential(nn.Linear(ODOUR, 128), nn.GELU(), nn.Linear(128, NOTES))

    def forward(self, materials, amounts):
        return self.head(self.table(materials, per_sample_weights=amounts))


def supplier_table(character):
    """The supplier's rows: a projection of what each material smells like, with some noise."""
    character = torch.from_numpy(character)
    projection = torch.randn(NOTES, ODOUR) / NOTES ** 0.5
    return character @ projection + 0.1 * torch.randn(MATERIALS, ODOUR)


class Apprentice:
    def __init__(self, nose):
        self.nose = nose
        self.optimizer = torch.optim.AdamW(nose.head.parameters(), lr=2e-3, weight_decay=1e-3)
        self.schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, step_size=60, gamma=0.9)
        self.errors = deque(maxlen=25)
        self.steps = 0

    def study(self, materials, amounts, smelled):
        self.optimizer.zero_grad(set_to_none=True)
        guess = self.nose(materials, amounts)
        loss = nn.functional.smooth_l1_loss(guess, smelled)
        loss.backward()  # grows keeps
        nn.utils.clip_grad_norm_(self.nose.head.parameters(), 1.0)
        self.optimizer.step()
        self.schedule.step()
        self.errors.append(loss.item())
        self.steps += 1

    def mean_error(self):
        return sum(self.errors) / max(len(self.errors), 1)


def strongest_note(nose, materials, amounts):
    """Index of the note that the head finds strongest in the first formula of a batch."""
    with torch.no_grad():
        return int(nose(materials[:1], amounts[:1]).argmax())


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(8)
    sheets = PanelSheets(seed=8)
    nose = BlendNose()
    with torch.no_grad():
        nose.table.weight.copy_(supplier_table(sheets.character))
    apprentice = Apprentice(nose)
    for materials, amounts, smelled in DataLoader(sheets, batch_size=SHEETS):
        if time.time() >= end:
            break
        apprentice.study(materials, amounts, smelled)
        if apprentice.steps % 15 == 0:
            note = strongest_note(nose, materials, amounts)
            print(f"step {apprentice.steps}: error {apprentice.mean_error():.4f}, note {note}", flush=True)
        time.sleep(PAUSE)
    print(f"{apprentice.steps} batches of {SHEETS} sheets", flush=True)


if __name__ == "__main__":
    main()
