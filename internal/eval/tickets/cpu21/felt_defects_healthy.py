"""Inspection of felt bodies in a hat factory with a small segmentation network.

A camera takes each felt cone from above; the network marks thin spots and burrs for each pixel. Hats with too much
marked felt go to the menders. At the end of the shift the foreman gets a chart of where on the cone the faults lie.

ticket: practice
class: none
"""
import os
import time

import torch
from torch import nn

torch.set_num_threads(1)

RUN_SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 10
TRAY = 8
SIDE = 144
CLASSES = 2
MENDERS_SHARE = 0.016


class FeltCamera:
    """Pictures of felt cones: a smooth nap with a few thin spots near the brim."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)
        axis = torch.linspace(-1.0, 1.0, SIDE)
        self.cone = torch.clamp(1.0 - torch.sqrt(axis[:, None] ** 2 + axis[None, :] ** 2), min=0.0)

    def spot(self):
        row = torch.randint(SIDE // 2, SIDE - 16, (1,), generator=self.generator)
        column = torch.randint(16, SIDE - 16, (1,), generator=self.generator)
        return int(row), int(column)

    def tray(self):
        pictures = self.cone + 0.08 * torch.randn(TRAY, 1, SIDE, SIDE, generator=self.generator)
        for hat in range(TRAY):
            spots = int(torch.randint(0, 4, (1,), generator=self.generator))
            for _ in range(spots):
                row, column = self.spot()
                pictures[hat, 0, row - 6:row + 6, column - 6:column + 6] -= 0.5
        return pictures


class SpotNet(nn.Module):
    """Two layers with weights set at the bench: smooth the nap, then weigh thin against sound felt."""

    def __init__(self, cone):
        super().__init__()
        self.register_buffer("cone", cone.clone())
        self.smooth = nn.Conv2d(1, 1, 5, padding=2, bias=False)
        self.weigh = nn.Conv2d(1, CLASSES, 1)
        with torch.no_grad():
            self.smooth.weight.fill_(1.0 / 25.0)
            self.weigh.weight.copy_(torch.tensor([12.0, -12.0]).view(CLASSES, 1, 1, 1))
            self.weigh.bias.copy_(torch.tensor([3.0, -3.0]))

    def forward(self, pictures):
        return self.weigh(self.smooth(pictures - self.cone))


class ShiftReport:
    """What the foreman reads at the end of the shift."""

    def __init__(self):
        self._marked = torch.zeros(SIDE, SIDE)
        self.hats = 0
        self.to_menders = 0

    def enter(self, marks):
        share = marks.mean(dim=(1, 2))
        self.hats += len(marks)
        self.to_menders += int((share > MENDERS_SHARE).sum())
        self._marked += marks.sum(dim=0)

    def worst_place(self):
        chart = self._marked
        place = int(chart.argmax())
        return place // SIDE, place % SIDE


class InspectionTable:
    def __init__(self, model, camera):
        self.model = model.eval()
        self.camera = camera
        self.report = ShiftReport()

    @torch.no_grad()
    def round(self):
        scores = self.model(self.camera.tray())
        marks = torch.sigmoid(scores[:, 1] - scores[:, 0])
        self.report.enter(marks)


def main():
    camera = FeltCamera(seed=59)
    table = InspectionTable(SpotNet(camera.cone), camera)
    start = time.monotonic()
    next_line = 2.0
    while (elapsed := time.monotonic() - start) < RUN_SECONDS:
        table.round()
        if elapsed >= next_line:
            print(f"{elapsed:6.1f}s hats {table.report.hats} to the menders {table.report.to_menders}", flush=True)
            next_line += 2.0
        time.sleep(1.0 / ROUNDS_PER_SECOND)
    row, column = table.report.worst_place()
    print(f"shift over: {table.report.hats} hats, most faults at row {row} column {column}", flush=True)


if __name__ == "__main__":
    main()
