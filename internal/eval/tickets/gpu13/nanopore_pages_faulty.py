"""Strands of DNA are read by the current through pores; what the pores say is gathered in pages on the device and
turned into bases read by read. The store of pages notes what has been put into new ones, so that a second device can
be kept in step, which fetches the notes from time to time. There is no second device here.

ticket: vllm-project/vllm#44490
class: host-growth
holder: new_pages
cause: buffer-without-bound unbounded-queue
"""

import os
import random
import time

import numpy as np
import torch
from torch import nn

PAGE, PAGES, PORES = 8192, 512, 24


class Store:
    """Pages of signal on the device, for the reads that are under way."""

    def __init__(self, device):
        self.signal = torch.zeros(PAGES, PAGE, dtype=torch.int16, device=device)
        self.free, self.pages, self.new_pages = list(range(PAGES)), {}, []

    def append(self, read, signal):
        """Puts more of a read into a page of its own."""
        page = self.free.pop()
        self.signal[page] = torch.from_numpy(signal).to(self.signal.device)
        self.pages.setdefault(read, []).append(page)
        self.new_pages.append((read, page, signal.copy()))  # grows keeps

    def gather(self, read):
        return self.signal[self.pages[read]].flatten()

    def release(self, read):
        self.free += self.pages.pop(read)

    def take_new_pages(self):
        taken, self.new_pages = self.new_pages, []
        return taken


class Caller(nn.Module):
    """Bases, or nothing, for each few values of the signal."""

    def __init__(self, width=32):
        super().__init__()
        self.body = nn.Sequential(nn.Conv1d(1, width, 11, stride=4, padding=5), nn.SiLU(),
                                  nn.Conv1d(width, width, 9, stride=2, padding=4), nn.SiLU(),
                                  nn.Conv1d(width, 5, 5, padding=2))

    @torch.inference_mode()
    def forward(self, signal):
        signal = nn.functional.layer_norm(signal.float(), signal.shape)
        said = self.body(signal[None, None])[0].argmax(0)
        return said[(said != 0) & (said != torch.roll(said, 1))]


class Sequencer:
    """Reads in pores, a page of each at a time."""

    def __init__(self, device, replica=None):
        self.store, self.replica, self.caller = Store(device), replica, Caller().to(device).eval()
        self.reads, self.left, self.begun, self.bases, self.called = {}, {}, 0, 0, 0

    def step(self):
        for pore in random.sample(range(PORES), random.randint(8, PORES)):
            if pore not in self.reads:
                self.reads[pore], self.left[pore] = f"read{self.begun}", random.randint(2, 14)
                self.begun += 1
            level = np.repeat(np.random.randint(300, 900, PAGE // 8), 8)
            self.store.append(self.reads[pore], (level + np.random.normal(0, 12, PAGE)).astype(np.int16))
            self.left[pore] -= 1
            if not self.left[pore]:
                self.finish(pore)
        if self.replica is not None:
            for _, page, signal in self.store.take_new_pages():
                self.replica[page] = torch.from_numpy(signal)

    def finish(self, pore):
        read = self.reads.pop(pore)
        self.bases += len(self.caller(self.store.gather(read)))
        self.called += 1
        self.store.release(read)


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    replica = torch.zeros(PAGES, PAGE, dtype=torch.int16) if os.environ.get("REPLICA") else None
    sequencer, said = Sequencer("cuda" if torch.cuda.is_available() else "cpu", replica), time.time()
    while time.time() < end:
        sequencer.step()
        if time.time() - said > 2:
            said = time.time()
            print(sequencer.called, "reads,", sequencer.bases, "bases,", len(sequencer.store.free), "pages free",
                  flush=True)
        time.sleep(random.uniform(0.01, 0.07))


if __name__ == "__main__":
    main()
