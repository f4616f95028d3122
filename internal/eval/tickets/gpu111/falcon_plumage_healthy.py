"""A falconry centre photographs its birds at the moult and rates the plumage, feather tract by feather tract. The
loader crops the photographs on the host, puts each batch into a page-locked staging buffer and copies it to the
device while the rater still works on the batch before.

ticket: practice
class: none
"""
import os
import time

import numpy as np
import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
PINNED = DEVICE == "cuda"
BATCH = 8
CROP = 144
SHEET = 512
ROUNDS_A_SECOND = 4
TRACTS = ("crown", "mantle", "primaries", "tail")


class PhotoBook:
    """Sheets with the photographs of the birds, from which batches are cropped."""

    def __init__(self, seed, sheets=10):
        self.dice = np.random.default_rng(seed)
        self.sheets = self.dice.random((sheets, 3, SHEET, SHEET), dtype=np.float32)

    def crops(self):
        for _ in range(BATCH):
            sheet = self.sheets[self.dice.integers(len(self.sheets))]
            top, left = self.dice.integers(0, SHEET - CROP, size=2)
            yield sheet[:, top:top + CROP, left:left + CROP]


class Upload:
    """One copy to the device that may be under way still."""

    def __init__(self, buffer, stream):
        self.buffer = buffer
        self.photos = None
        self.done = None
        if stream is None:
            self.photos = buffer.clone()
            return
        with torch.cuda.stream(stream):
            self.photos = buffer.to(DEVICE, non_blocking=True)
            self.done = torch.cuda.Event()
            self.done.record(stream)

    def finished(self):
        return self.done is None or self.done.query()

    def collect(self):
        if self.done is not None:
            torch.cuda.current_stream().wait_event(self.done)
            self.photos.record_stream(torch.cuda.current_stream())
        photos, self.photos = self.photos, None
        return photos


class StagedLoader:
    """Hands out batches on the device, one ahead of the rater."""

    def __init__(self, book):
        self.book = book
        self.stream = torch.cuda.Stream() if PINNED else None
        self._staged = []
        self._next = self._stage()

    def _stage(self):
        buffer = torch.empty((BATCH, 3, CROP, CROP), pin_memory=PINNED)
        for slot, crop in zip(buffer, self.book.crops()):
            slot.copy_(torch.from_numpy(crop))
        upload = Upload(buffer, self.stream)
        self._staged.append(upload)
        return upload

    def _retire(self):
        """Forgets the uploads whose copies are through."""
        self._staged = [upload for upload in self._staged if not upload.finished()]

    def next_batch(self):
        self._retire()
        upload, self._next = self._next, self._stage()
        return upload.collect()

    def close(self):
        if self.stream is not None:
            self.stream.synchronize()
        self._retire()


class PlumageRater(nn.Module):
    def __init__(self):
        super().__init__()
        self.barbs = nn.Conv2d(3, 8, 5, stride=4)
        self.vanes = nn.Conv2d(8, 12, 3, stride=2)
        self.tracts = nn.Linear(12, len(TRACTS))

    def forward(self, photos):
        vanes = torch.relu(self.vanes(torch.relu(self.barbs(photos))))
        return torch.sigmoid(self.tracts(vanes.mean(dim=(2, 3))))


def main():
    seconds = float(os.environ.get("SECONDS", "120"))
    torch.set_num_threads(1)
    torch.manual_seed(14)
    rater = PlumageRater().to(DEVICE).eval()
    loader = StagedLoader(PhotoBook(seed=15))
    means = torch.zeros(len(TRACTS), device=DEVICE)
    until = time.monotonic() + seconds
    batches = 0
    while time.monotonic() < until:
        photos = loader.next_batch()
        with torch.no_grad():
            ratings = rater(photos)
        means.lerp_(ratings.mean(dim=0), 0.1)
        batches += 1
        if batches % 10 == 0:
            marks = ", ".join(f"{tract} {mark:.3f}" for tract, mark in zip(TRACTS, means.tolist()))
            print(f"batch {batches}: {marks}", flush=True)
        time.sleep(1.0 / ROUNDS_A_SECOND)
    loader.close()
    print(f"rated {batches * BATCH} photographs", flush=True)


if __name__ == "__main__":
    main()
