"""Camera over the delivery of a printing press.

A line camera photographs each printed sheet as it leaves the press. The
picture is put into a page-locked buffer as large as the biggest sheet, goes
up to the device in one piece and is compared with the approved sheet of
that format. Sheets that differ too much are sent to the waste pile.

ticket: practice
class: host-growth
holder: _free
cause: pinned-kept
"""

import os
import time

import numpy as np
import torch

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
PINNED = torch.cuda.is_available()
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUND = 1.0 / 3.0
LARGEST = (1024, 2048)
FORMATS = {"B2": (1000, 1414), "C2": (916, 1296), "A2": (842, 1188)}


class LineCamera:
    """Pictures of the sheets as the press delivers them."""

    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)
        self._prints = {
            name: self._rng.integers(60, 200, shape, dtype=np.uint8) for name, shape in FORMATS.items()
        }

    def approved(self, name):
        return self._prints[name]

    def picture(self, name):
        picture = self._prints[name].copy()
        if self._rng.random() < 0.2:
            row, column = self._rng.integers(0, 700, 2)
            picture[row:row + 80, column:column + 200] = 20
        return picture


class StagingBuffers:
    """Page-locked buffers between camera and device, used in turn."""

    def __init__(self):
        self._free = {}

    def acquire(self, shape):
        free = self._free.get(shape)
        if free:
            return free.pop()
        return torch.empty(shape, dtype=torch.uint8, pin_memory=PINNED)  # grows

    def release(self, buffer, view):
        shape = tuple(view.shape)
        self._free.setdefault(shape, []).append(buffer)  # keeps


class SheetInspector:
    """Compares pictures with the approved sheet of their format."""

    def __init__(self, camera):
        self._masters = {}
        for name, shape in FORMATS.items():
            master = torch.zeros(LARGEST, device=DEVICE)
            master[:shape[0], :shape[1]] = torch.from_numpy(camera.approved(name)).to(DEVICE)
            self._masters[name] = master

    def difference(self, name, sheet):
        rows, columns = FORMATS[name]
        master = self._masters[name][:rows, :columns]
        return float((sheet[:rows, :columns].float() - master).abs().mean())


class Delivery:
    """Takes sheets from the camera to the inspector and sorts them."""

    def __init__(self, camera, inspector, limit):
        self.camera = camera
        self.inspector = inspector
        self.limit = limit
        self.buffers = StagingBuffers()
        self.good = 0
        self.waste = 0

    def upload(self, picture):
        buffer = self.buffers.acquire(LARGEST)
        rows, columns = picture.shape
        view = buffer[:rows, :columns]
        view.copy_(torch.from_numpy(picture))
        sheet = buffer.to(DEVICE, non_blocking=True)
        return buffer, view, sheet

    def deliver(self, name):
        buffer, view, sheet = self.upload(self.camera.picture(name))
        try:
            difference = self.inspector.difference(name, sheet)
        finally:
            self.buffers.release(buffer, view)
        if difference > self.limit:
            self.waste += 1
        else:
            self.good += 1
        return difference


def main():
    camera = LineCamera(seed=51)
    delivery = Delivery(camera, SheetInspector(camera), limit=0.5)
    names = list(FORMATS)
    start = time.monotonic()
    sheets = 0
    while time.monotonic() - start < SECONDS:
        name = names[sheets // 25 % len(names)]
        difference = delivery.deliver(name)
        sheets += 1
        if sheets % 9 == 0:
            print(f"{name}  good {delivery.good:4d}  waste {delivery.waste:4d}  last {difference:.3f}", flush=True)
        time.sleep(max(0.0, start + sheets * ROUND - time.monotonic()))
    print(f"run ends: {delivery.good} good sheets, {delivery.waste} waste", flush=True)


if __name__ == "__main__":
    main()
